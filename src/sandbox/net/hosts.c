#include "sandbox/net/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define PATH  "/etc/hosts"
#define FIRST "# iii networks: written by the sandbox server\n"
#define LAST  "# iii networks end\n"

struct hosts {
    struct sandbox *s; /* a reference */
    struct hosts_plan plan;
    struct guest_reader *reader;
    struct buf text;
};

bool hosts_is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return n > 0 && n <= 63 && name[n] == '\0' && name[0] != '.' && name[0] != '-' &&
           strcasecmp(name, "localhost") != 0;
}

static bool is_line(const char *at, size_t len, const char *line)
{
    size_t want = strlen(line); /* the last line of a file may lack its end */
    return (len == want || len + 1 == want) && memcmp(at, line, len) == 0;
}

/* Removes every block, from the nearest begin mark before an end mark, and single marks: marks that the sandbox itself
 * wrote harm only the sandbox, and never make a second block stay. */
int hosts_merge(const char *text, size_t len, const char *block, struct buf *out)
{
    size_t begun = SIZE_MAX; /* where in out the block began */
    int r = 0;
    for (const char *at = text, *end = text + len; at < end && r == 0;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((newline ? newline + 1 : end) - at);
        if (is_line(at, n, FIRST)) {
            begun = out->len;
        } else if (!is_line(at, n, LAST)) {
            r = buf_add(out, at, n);
        } else if (begun != SIZE_MAX) {
            out->len = begun;
            begun = SIZE_MAX;
        }
        at += n;
    }
    if (r == 0 && out->len && out->data[out->len - 1] != '\n')
        r = buf_add_char(out, '\n');
    if (r == 0)
        r = *block ? buf_addf(out, "%s%s%s", FIRST, block, LAST) : buf_add(out, "", 0); /* ends it with its NUL again */
    return r;
}

static void hosts_finish(struct hosts *h, const struct err *err)
{
    h->plan.done(h->plan.done_arg, err);
    buf_done(&h->text);
    sandbox_unref(h->s);
    free(h);
}

static void on_put(void *arg, const struct err *err)
{
    hosts_finish(arg, err);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct hosts *h = arg;
    (void)buf_add(&h->text, data, len); /* no more than the read's own maximum comes */
    guest_reader_credit(h->reader, len);
}

static void on_read(void *arg, const struct err *err)
{
    struct hosts *h = arg;
    struct err why = ERR_INIT;
    CLEANUP(buf_done) struct buf block = BUF_INIT(HOSTS_MAX);
    CLEANUP(buf_done) struct buf out = BUF_INIT(2 * HOSTS_MAX);
    h->reader = NULL;
    if (err && err->code != ERR_NOT_FOUND) {
        hosts_finish(h, err);
        return;
    }
    if (!h->s->link || h->s->is_gone) {
        (void)err_set(&why, ERR_GONE, 0, "sandbox %s is gone", h->s->id);
        hosts_finish(h, &why);
        return;
    }
    h->plan.lines(h->plan.lines_arg, h->s, &block);
    int r = hosts_merge(buf_text(&h->text), h->text.len, buf_text(&block), &out);
    if (r == 0)
        r = guest_fs_put(h->s->link, PATH, buf_text(&out), out.len, 0644, on_put, h);
    if (r < 0) {
        (void)err_sys(&why, r, "write %s", PATH);
        hosts_finish(h, &why);
    }
}

int hosts_update(struct sandbox *s, const struct hosts_plan *plan)
{
    static const struct guest_read_events events = { .on_data = on_data, .on_done = on_read };
    if (!s->link)
        return -EPIPE;
    struct hosts *h = xzalloc(sizeof(*h));
    h->s = sandbox_ref(s);
    h->plan = *plan;
    h->text = (struct buf)BUF_INIT(HOSTS_MAX);
    int r = guest_fs_read(s->link, PATH, 0, HOSTS_MAX, &events, h, &h->reader);
    if (r < 0) {
        sandbox_unref(h->s);
        free(h);
    }
    return r;
}
