/* A Content-Type line, then a form. The same parts come out however the body is cut, and whatever the receiver takes.
 */
#include "../feed.h"

#include <errno.h>

#include "base/cleanup.h"
#include "http/multipart.h"

struct seen {
    uint64_t sum; /* of names, contents and ends, in order */
    size_t step;  /* most bytes that are taken at once; 0: all */
    bool is_slow, was_late;
};

static void add(struct seen *s, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        s->sum = (s->sum ^ (unsigned char)data[i]) * 0x100000001b3u;
}

static int on_part(void *arg, const char *name, const char *filename)
{
    add(arg, name, strlen(name) + 1);
    add(arg, filename ? filename : "-", filename ? strlen(filename) + 1 : 1);
    return 0;
}

static size_t on_data(void *arg, const char *data, size_t len)
{
    struct seen *s = arg;
    size_t n = s->step && len > s->step ? s->step : len;
    add(s, data, n);
    return n;
}

static int on_part_end(void *arg)
{
    struct seen *s = arg;
    s->was_late = s->is_slow && !s->was_late;
    if (s->was_late)
        return -EAGAIN;
    add(s, "|", 1);
    return 0;
}

/* The result of the last feed; the body comes in pieces of `piece` bytes. */
static int feed_all(const char *boundary, const char *data, size_t len, size_t piece, struct seen *s, bool *ret_whole)
{
    const struct multipart_events ev = { on_part, on_data, on_part_end, s };
    struct multipart *m = multipart_new(boundary, &ev);
    int r = 0, idle = 0;
    for (size_t at = 0, used; r == 0 && at < len; at += used) {
        size_t n = len - at < piece ? len - at : piece;
        CLEANUP(free_p) char *copy = feed_bytes(data + at, n);
        r = multipart_feed(m, copy, n, &used);
        MUST(used <= n);
        idle = used ? 0 : idle + 1;
        MUST(idle < 1000);
    }
    *ret_whole = multipart_is_whole(m);
    (void)multipart_free(m);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    char boundary[MULTIPART_BOUNDARY_MAX + 1];
    if (!end)
        return 0;
    CLEANUP(free_p) char *type = feed_text(data, (size_t)(end - data));
    if (!multipart_boundary(type, boundary))
        return 0;
    MUST(multipart_is_form(type) && strlen(boundary) > 0);
    const char *body = (const char *)end + 1;
    size_t len = size - (size_t)(end - data) - 1;
    struct seen whole = { 0 }, cut = { 0 }, slow = { .step = 3, .is_slow = true };
    bool is_whole, is_cut_whole, is_slow_whole;
    int r = feed_all(boundary, body, len, len ? len : 1, &whole, &is_whole);
    int r_cut = feed_all(boundary, body, len, 1, &cut, &is_cut_whole);
    int r_slow = feed_all(boundary, body, len, 7, &slow, &is_slow_whole);
    MUST(r == r_cut && r == r_slow && is_whole == is_cut_whole && is_whole == is_slow_whole);
    MUST(r < 0 || whole.sum == cut.sum);
    if (r == 0 && is_whole)
        MUST(whole.sum == slow.sum);
    return 0;
}
