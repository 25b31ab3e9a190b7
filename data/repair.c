/* repair.c - see repair.h. */
#include "repair.h"

#include "../src/base/mem.h"

#include "carve.h"
#include "db_file.h"
#include "owner.h"
#include "schema.h"
#include "search_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool repair_is_ours(const char *path, const struct salvage_report *report)
{
    return report->messages || report->conversations || carve_has_application(path, SCHEMA_APPLICATION_ID);
}

char *repair_notice(const char *path, const struct salvage_report *report, const char *aside)
{
    char *lost = report->lost ? mem_printf("; %d more could not be read", report->lost) : mem_string("");
    char *text = mem_printf("%s was damaged. Saved: %d message%s of %d conversation%s%s. The damaged file %s%s.",
                            path, report->messages, report->messages == 1 ? "" : "s", report->conversations,
                            report->conversations == 1 ? "" : "s", lost, aside ? "is kept as " : "was left as it was",
                            aside ? aside : "");
    free(lost);
    return text;
}

/* Fills the new file `fresh` with what can be read of the damaged file. */
static int fill(const char *path, const char *fresh, struct salvage_report *report, char *err, size_t cap)
{
    sqlite3 *into = NULL;
    int rc = sqlite3_open_v2(fresh, &into, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(into, "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = schema_prepare(into, fresh, err, cap);
    if (rc == SQLITE_OK)
        rc = salvage(path, into, report);
    if (rc == SQLITE_OK)
        rc = search_index_build(into);
    if (rc != SQLITE_OK)
        snprintf(err, cap, "%s: is damaged, and what can be read of it cannot be written to a new file: %s", path,
                 sqlite3_errstr(rc & 0xff));
    sqlite3_close(into);
    return rc;
}

/* The caller holds the lock of owner_exclude. */
static int replace(const char *path, char **notice, char *err, size_t cap)
{
    struct salvage_report report = {0};
    char *aside = NULL, *fresh = db_file_create_beside(path, err, cap);
    if (!fresh)
        return SQLITE_CANTOPEN;
    int rc = fill(path, fresh, &report, err, cap);
    if (rc == SQLITE_OK && !db_file_replace(path, fresh, &aside, err, cap))
        rc = SQLITE_IOERR;
    if (rc == SQLITE_OK)
        *notice = repair_notice(path, &report, aside);
    else
        unlink(fresh);
    free(fresh);
    free(aside);
    return rc;
}

/* Whether a file without a readable header contains chinwag rows. Called before any file is created beside it. */
static bool holds_rows_of_ours(const char *path)
{
    char ignored[512];
    struct salvage_report report = {0};
    sqlite3 *memory = NULL;
    bool ours = sqlite3_open(":memory:", &memory) == SQLITE_OK &&
                schema_prepare(memory, path, ignored, sizeof ignored) == SQLITE_OK &&
                salvage(path, memory, &report) == SQLITE_OK && repair_is_ours(path, &report);
    sqlite3_close(memory);
    return ours;
}

int repair_file(const char *path, char **notice, char *err, size_t cap)
{
    if (!carve_has_application(path, SCHEMA_APPLICATION_ID) && !holds_rows_of_ours(path)) {
        snprintf(err, cap, REPAIR_NOT_OURS, path);
        return SQLITE_NOTADB;
    }
    bool busy;
    char *real = realpath(path, NULL); /* the lock and the new file belong beside the target of a symbolic link */
    int lock = owner_open(real ? real : path, store_new_id(), &busy, err, cap);
    int rc = lock >= 0 ? SQLITE_OK : busy ? SQLITE_BUSY : SQLITE_CANTOPEN;
    if (rc == SQLITE_OK && !owner_exclude(lock))
        rc = SQLITE_BUSY;
    if (rc == SQLITE_BUSY)
        snprintf(err, cap, "%s: is damaged, and another program has it open; it is repaired once that is closed",
                 path);
    if (rc == SQLITE_OK)
        rc = replace(real ? real : path, notice, err, cap);
    if (lock >= 0)
        close(lock);
    free(real);
    return rc;
}
