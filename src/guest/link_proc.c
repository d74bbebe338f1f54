/* Processes of the sandbox: the list, kill, interrupt and end. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "guest/link_core.h"

#define PROC_BYTES_MAX (PROTO_PROC_MAX * 4608u) /* every record with its longest strings */

struct proc_call {
    struct link_stream s;
    guest_processes_fn *fn;
    void *arg;
    uint64_t memory_kb;
    size_t count;
    struct buf bytes; /* records of all frames, without the total at the start */
};

static void proc_fail(struct link_stream *s, const struct err *err)
{
    struct proc_call c = *(struct proc_call *)s;
    free(s);
    buf_done(&c.bytes);
    c.fn(c.arg, NULL, 0, 0, err);
}

static void proc_done(struct proc_call *c)
{
    struct err err = ERR_INIT;
    CLEANUP(free_p) struct guest_process *list = try_alloc((c->count + 1) * sizeof(*list));
    link_close(&c->s);
    if (!list) {
        (void)err_set(&err, ERR_CAPACITY, ENOMEM, "list %zu processes", c->count);
        proc_fail(&c->s, &err);
        return;
    }
    struct proto_reader r;
    struct proto_process p;
    proto_reader_init(&r, buf_text(&c->bytes), c->bytes.len);
    for (size_t i = 0; i < c->count; i++) {
        proto_get_process(&r, &p);
        list[i] = (struct guest_process){
            .pid = (int)p.pid,
            .ppid = (int)p.ppid,
            .user = p.user,
            .command = p.command,
            .cpu_percent = p.cpu_centi / 100.0,
            .rss_kb = p.rss_kb,
            .vsz_kb = p.vsz_kb,
            .state = p.state,
        };
    }
    struct proc_call over = *c;
    free(c);
    over.fn(over.arg, list, over.count, over.memory_kb, NULL);
    buf_done(&over.bytes);
}

static int proc_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct proc_call *c = (struct proc_call *)s;
    struct err err = ERR_INIT;
    struct proto_reader r;
    struct proto_process p;
    size_t n = 0, len;
    if (link_failed(s, h, payload))
        return 0;
    if (h->type != PROTO_PROC_LIST_REPLY)
        return -EBADMSG;
    proto_reader_init(&r, payload, h->length);
    c->memory_kb = proto_get_u64(&r);
    for (struct proto_reader ahead = r; ahead.left; n++) {
        proto_get_process(&ahead, &p);
        if (ahead.is_bad || p.pid == 0 || p.pid > INT_MAX || p.ppid > INT_MAX || p.state < 'A' || p.state > 'z')
            return -EBADMSG;
    }
    if (n > PROTO_PROC_MAX - c->count)
        return -EBADMSG;
    c->count += n;
    const uint8_t *records = proto_get_rest(&r, &len);
    if (buf_add(&c->bytes, records, len) < 0) {
        link_drop(s);
        (void)err_set(&err, ERR_CAPACITY, ENOMEM, "list %zu processes", c->count);
        proc_fail(s, &err);
        return 0;
    }
    if (!(h->flags & PROTO_MORE))
        proc_done(c);
    return 0;
}

static const struct link_kind proc_kind = { .name = "processes", .on_frame = proc_frame, .on_fail = proc_fail };

int guest_processes(struct guest_link *g, guest_processes_fn *fn, void *arg)
{
    struct proc_call *c = xzalloc(sizeof(*c));
    *c = (struct proc_call){ .s.kind = &proc_kind, .fn = fn, .arg = arg };
    buf_init(&c->bytes, PROC_BYTES_MAX);
    int r = link_request(g, &c->s, PROTO_PROC_LIST, NULL, NULL, 0);
    if (r < 0)
        free(c);
    return r;
}

int guest_kill(struct guest_link *g, int pid, int signo, guest_done_fn *fn, void *arg)
{
    if (pid <= 1 || signo < 0 || signo > 64)
        return -EINVAL;
    uint8_t mem[8];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, (uint32_t)pid);
    proto_put_u32(&w, (uint32_t)signo);
    return link_simple(g, PROTO_PROC_KILL, &w, (struct link_then){ fn, arg });
}

int guest_end(struct guest_link *g, int signo, guest_done_fn *fn, void *arg)
{
    uint8_t mem[4];
    struct proto_writer w;
    if (!link_can(g, PROTO_CAP_END))
        return -EOPNOTSUPP;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, (uint32_t)signo);
    return link_simple(g, PROTO_PROC_END, &w, (struct link_then){ fn, arg });
}

int guest_interrupt(struct guest_link *g, guest_done_fn *fn, void *arg)
{
    return link_simple(g, PROTO_PROC_INTERRUPT, NULL, (struct link_then){ fn, arg });
}
