/* cmd_list.c - `chinwag --list`. See cmd_list.h. */
#include "cmd_list.h"

#include "../data/store.h"
#include "base/mem.h"
#include "commands.h"
#include "conversation.h"
#include "resume.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void print_line(const struct store_conversation *c, const char *number)
{
    time_t seconds = (time_t)(c->updated_ms / 1000);
    struct tm local = {0}; /* remains 1900 for a time out of range */
    char when[32];
    localtime_r(&seconds, &local);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    char *title = conversation_title_of(c->title); /* a renamed one may hold anything */
    printf("%s  %s  %s\n", number, when, title);
    free(title);
}

static int print_all(struct store *store)
{
    char err[512];
    store_list(store, 1);
    struct store_event *e = command_await(store, 1, err, sizeof err);
    if (!e)
        return command_fail(1, "%s", err);
    char(*numbers)[RESUME_NUMBER_MAX] = mem_new(e->n, sizeof *numbers);
    resume_numbers(e->conversations, e->n, numbers);
    for (size_t i = 0; i < e->n; i++)
        print_line(&e->conversations[i], numbers[i]);
    free(numbers);
    store_event_free(e);
    return 0;
}

int cmd_list(const struct settings *settings)
{
    char err[512];
    char *db = settings_database(settings);
    bool none = access(db, F_OK) != 0 && errno == ENOENT; /* opening it would make one */
    struct store *store = none ? NULL : command_open_store(db, err, sizeof err);
    int status = store ? print_all(store) : none ? 0 : command_fail(1, "%s", err);
    store_close(store, err, sizeof err);
    free(db);
    return status;
}
