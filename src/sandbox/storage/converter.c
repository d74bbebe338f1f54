/* Theory of operation. A conversion is one process of `iii --archive-tool` behind a SEQPACKET socket: input goes out
 * and output comes in as packets (archive/archive_tool.h). The socket's buffers are all that is under way: a send that
 * the socket does not take is cut short, and while the output is held no packet is received.
 *
 * A conversion is running, or over: finished, failed or dropped. Then its socket is closed, its process is killed
 * unless it has exited, and it waits in the list until the process can be reaped. So it stays valid for a callback in
 * which it is dropped. */
#include "sandbox/storage/converter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "archive/archive_tool.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/share.h"
#include "loop/helper.h"

#define PACKETS_A_TURN 8 /* others have their turn, too */

struct converter {
    struct converter *next;
    struct converters *all;
    struct helper helper;
    struct converter_events ev;
    void *arg;
    char *tenant;
    bool is_over, is_held, is_short, is_end_due;
};

struct converters {
    struct loop *loop;
    struct keeper *keeper;
    unsigned job;
    struct share *running;
    struct converter *list;
    uint8_t packet[1 + ARCHIVE_TOOL_PIECE];
};

struct converters *converters_new(struct loop *l, struct keeper *keeper, unsigned job)
{
    struct converters *all = xzalloc(sizeof(*all));
    *all = (struct converters){ .loop = l, .keeper = keeper, .job = job };
    all->running = share_new(CONVERTERS_MAX);
    return all;
}

static void converter_free(struct converter *c)
{
    helper_stop(&c->helper, 0);
    LIST_TAKE(c->all->list, c);
    share_give(c->all->running, c->tenant, 1);
    free(c->tenant);
    free(c);
}

struct converters *converters_free(struct converters *all)
{
    if (!all)
        return NULL;
    while (all->list)
        converter_free(all->list);
    share_free(all->running);
    free(all);
    return NULL;
}

static void on_exit_of(void *arg)
{
    struct converter *c = arg;
    if (c->is_over)
        converter_free(c);
    else
        watch_set(c->helper.exit_watch, 0); /* its last packets are still to be received */
}

/* No more callbacks; its process is terminated. */
static void converter_end_all(struct converter *c)
{
    c->is_over = true;
    helper_close(&c->helper);
    helper_kill(&c->helper);
    watch_set(c->helper.exit_watch, LOOP_READ);
}

static void finish(struct converter *c, const struct err *err)
{
    converter_end_all(c);
    c->ev.on_done(c->arg, err);
}

static void watch_for(struct converter *c)
{
    if (!c->is_over)
        watch_set(c->helper.watch, (c->is_held ? 0 : LOOP_READ) | (c->is_short || c->is_end_due ? LOOP_WRITE : 0));
}

static bool send_end(struct converter *c)
{
    const uint8_t end = ARCHIVE_TOOL_END;
    return send(c->helper.sock, &end, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 || (errno != EAGAIN && errno != EINTR);
}

/* One packet. False: none is there, or it is over. */
static bool take_packet(struct converter *c)
{
    struct err err = ERR_INIT;
    uint8_t *packet = c->all->packet;
    ssize_t n = recv(c->helper.sock, packet, sizeof(c->all->packet), MSG_DONTWAIT);
    if (n < 0 && errno == ECONNRESET) /* it exited with input unread; what it had to say is behind that */
        n = recv(c->helper.sock, packet, sizeof(c->all->packet), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n > 1 && packet[0] == ARCHIVE_TOOL_DATA) {
        c->ev.on_output(c->arg, (const char *)packet + 1, (size_t)n - 1);
        return !c->is_over && !c->is_held;
    }
    if (n == 1 && packet[0] == ARCHIVE_TOOL_DONE) {
        finish(c, NULL);
        return false;
    }
    if (n > 1 && packet[0] == ARCHIVE_TOOL_FAILED)
        (void)err_set(&err, ERR_INVALID, 0, "archive: %.*s", (int)(n - 1), (const char *)packet + 1);
    else
        (void)err_set(&err, ERR_INTERNAL, 0,
                      "archive: the process that converts it has ended; it may need more memory "
                      "than it is given");
    finish(c, &err);
    return false;
}

static void on_message(void *arg, int events)
{
    struct converter *c = arg;
    if (events & LOOP_WRITE && !c->is_over) {
        if (c->is_end_due)
            c->is_end_due = !send_end(c);
        bool was_short = c->is_short;
        c->is_short = false;
        if (was_short)
            c->ev.on_room(c->arg);
    }
    for (int i = 0; i < PACKETS_A_TURN && !c->is_over && !c->is_held && take_packet(c); i++)
        continue;
    watch_for(c);
}

static enum archive_format format_of(const char *name)
{
    return strcmp(name, "tar.gz") == 0 ? ARCHIVE_GZIP : strcmp(name, "tar.zst") == 0 ? ARCHIVE_ZSTD : ARCHIVE_ZIP;
}

int converter_start(struct converters *all, const struct converter_plan *plan, const struct converter_events *ev,
                    void *arg, struct converter **ret, struct err *err)
{
    const struct archive_tool_order order = { .format = format_of(plan->format), .is_packing = plan->is_packing };
    if (!all->keeper)
        return err_set(err, ERR_UNSUPPORTED, 0, "this server cannot start the process that converts archives: use tar");
    if (!share_has_room(all->running, "", 1) || !share_has_room(all->running, plan->tenant, 1))
        return err_set(
            err, ERR_CAPACITY, 0,
            "limit of %d concurrent conversions of archives, or %d of one tenant, reached: try again, or use tar",
            CONVERTERS_MAX, CONVERTERS_MAX / SHARE_PARTS);
    struct converter *c = xzalloc(sizeof(*c));
    *c = (struct converter){ .all = all, .helper = HELPER_INIT(all->keeper, all->job), .ev = *ev, .arg = arg };
    c->helper.is_blocking = true;
    c->tenant = xstrdup(plan->tenant);
    LIST_APPEND(all->list, c);
    share_add(all->running, plan->tenant, 1);
    int r = helper_start(&c->helper, "the archive tool", err);
    if (r == 0)
        r = helper_watch(&c->helper, all->loop, on_message, on_exit_of, c, err);
    if (r == 0 && send(c->helper.sock, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order))
        r = err_sys(err, -errno, "start the archive tool");
    if (r < 0) {
        converter_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

size_t converter_send(struct converter *c, const char *data, size_t len)
{
    size_t done = 0;
    while (!c->is_over && done < len) {
        char kind = ARCHIVE_TOOL_DATA;
        size_t n = len - done < ARCHIVE_TOOL_PIECE ? len - done : ARCHIVE_TOOL_PIECE;
        struct iovec parts[2] = { { &kind, 1 }, { (void *)(uintptr_t)(data + done), n } };
        struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
        if (sendmsg(c->helper.sock, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
            if (errno == EINTR)
                continue;
            if (errno == EAGAIN) {
                c->is_short = true;
                break;
            }
            return len; /* it has ended early: its last packet says why */
        }
        done += n;
    }
    watch_for(c);
    return done;
}

void converter_end(struct converter *c)
{
    c->is_end_due = !c->is_over && !send_end(c);
    watch_for(c);
}

void converter_hold(struct converter *c, bool is_held)
{
    c->is_held = is_held;
    watch_for(c);
}

void converter_drop(struct converter *c)
{
    converter_end_all(c);
}
