/* outbox.c - see outbox.h. */
#include "outbox.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static char *take(struct outbox *o, size_t i)
{
    char *text = o->texts[i];
    memmove(o->texts + i, o->texts + i + 1, (--o->n - i) * sizeof *o->texts);
    return text;
}

void outbox_add(struct outbox *o, const char *text)
{
    o->texts = mem_resize(o->texts, o->n + 1, sizeof *o->texts);
    o->texts[o->n++] = mem_string(text);
}

char *outbox_take_first(struct outbox *o)
{
    return o->n ? take(o, 0) : NULL;
}

char *outbox_take_last(struct outbox *o, const char *text)
{
    for (size_t i = o->n; i > 0; i--)
        if (strcmp(o->texts[i - 1], text) == 0)
            return take(o, i - 1);
    return NULL;
}

void outbox_free(struct outbox *o)
{
    for (size_t i = 0; i < o->n; i++)
        free(o->texts[i]);
    free(o->texts);
    *o = (struct outbox){0};
}
