#include "http/ws_closing.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "http/ws_conn.h"

struct parting {
    struct parting *prev, *next;
    struct ws_closing *bye;
    struct ws *ws;
};

struct ws_closing {
    struct parting *first;
};

struct ws_closing *ws_closing_new(void)
{
    return xzalloc(sizeof(struct ws_closing));
}

static void closing_forget(struct parting *p)
{
    *(p->prev ? &p->prev->next : &p->bye->first) = p->next;
    if (p->next)
        p->next->prev = p->prev;
    free(p);
}

struct ws_closing *ws_closing_free(struct ws_closing *b)
{
    if (!b)
        return NULL;
    while (b->first) {
        ws_drop(b->first->ws);
        closing_forget(b->first);
    }
    free(b);
    return NULL;
}

size_t ws_closing_count(const struct ws_closing *b)
{
    size_t n = 0;
    for (const struct parting *p = b->first; p; p = p->next)
        n++;
    return n;
}

static void closing_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    (void)arg, (void)w, (void)is_text, (void)data, (void)len; /* messages are ignored */
}

static void closing_done(void *arg, struct ws *w, int code, const char *reason)
{
    (void)w, (void)code, (void)reason;
    closing_forget(arg);
}

void ws_closing_add(struct ws_closing *b, struct ws *w, int code, const char *reason)
{
    struct parting *p = xzalloc(sizeof(*p));
    *p = (struct parting){ .next = b->first, .bye = b, .ws = w };
    if (p->next)
        p->next->prev = p;
    b->first = p;
    w->events = (struct ws_events){ .on_message = closing_message, .on_close = closing_done };
    w->arg = p;
    ws_close(w, code, reason);
}
