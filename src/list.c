/* list.c - see list.h. */
#include "list.h"

#include "../data/store.h"
#include "commands.h"
#include "conversation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STORE_MS 20000 /* longest wait for the store: longer than its own for a lock */

static void print_line(const struct store_conversation *c)
{
    time_t seconds = (time_t)(c->updated_ms / 1000);
    struct tm local = {0}; /* stays so for a time out of its reach */
    char when[32];
    localtime_r(&seconds, &local);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
    char *title = conversation_title_of(c->title); /* what was given as a title may be anything */
    printf("%lld  %s  %s\n", (long long)c->id, when, title);
    free(title);
}

static int print_all(struct store *store)
{
    struct store_event *e;
    store_list(store);
    while ((e = store_wait(store, STORE_MS)) && e->type != STORE_LIST && e->type != STORE_ERROR)
        store_event_free(e);
    int status = 0;
    if (!e || e->type == STORE_ERROR)
        status = command_fail(1, "%s", e && e->text ? e->text : "the database does not answer");
    else
        for (size_t i = 0; i < e->n; i++)
            print_line(&e->conversations[i]);
    store_event_free(e);
    return status;
}

int list_run(const struct settings *settings)
{
    char err[512];
    char *db = settings_database(settings);
    bool none = access(db, F_OK) != 0 && errno == ENOENT; /* opening it would make one */
    struct store *store = none ? NULL : store_open(db, NULL, NULL, err, sizeof err);
    int status = store ? print_all(store) : none ? 0 : command_fail(1, "%s", err);
    store_close(store, err, sizeof err);
    free(db);
    return status;
}
