#include "main/takeover.h"

#include <errno.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "main/data_dir.h"
#include "main/handover.h"
#include "store/store.h"

#define READY_S  60    /* half of what the old server waits */
#define CLOSE_MS 60000 /* for the old server, beyond the time of its requests */
#define LOCK_US  10000000

static int takeover_check(const struct settings *s, const char *dir, struct err *err)
{
    CLEANUP(free_p) char *db = xasprintf("%s/state.db", dir);
    (void)s;
    struct stat st;
    bool is_others = geteuid() == 0 && stat(db, &st) == 0 && st.st_uid != 0;
    if (is_others) { /* as the file's owner: in a folder of several owners root may not open what it does not own */
        (void)setfsgid(st.st_gid); /* these two only return the former value */
        (void)setfsuid(st.st_uid);
    }
    int r = store_probe(db, err);
    if (is_others) {
        (void)setfsuid(0);
        (void)setfsgid(0);
    }
    return r < 0 ? err_wrap(err, r, "not taking over, the running server continues") : 0;
}

/* The kernel closes the connection of a server that was killed before its lock. */
static int take_free_lock(const char *dir, struct inherit *to, struct err *err)
{
    int fd = NO_FD, r;
    for (int64_t end_us = clock_mono_us() + LOCK_US; (r = data_dir_lock(dir, &fd, err)) < 0;) {
        if (err->code != ERR_CONFLICT || clock_mono_us() > end_us)
            return r;
        (void)usleep(10000);
    }
    inherit_add(to, INHERIT_LOCK, fd);
    return 0;
}

int takeover_begin(const struct settings *s, const char *dir, struct inherit *to, int *ret_conn, struct err *err)
{
    CLEANUP(close_fd_p) int conn = NO_FD;
    struct handover_note offer;
    char count[16];
    int r = handover_ask(dir, &conn, &offer, err);
    if (r == 0 && conn >= 0)
        r = takeover_check(s, dir, err);
    if (r < 0 || conn < 0) {
        *ret_conn = NO_FD;
        return r;
    }
    (void)snprintf(count, sizeof(count), "%u", offer.sandboxes);
    log_event(LOG_INFO, "takeover.begin", "from", offer.program, "sandboxes", count, NULL);
    (void)alarm(READY_S + (unsigned)(s->takeover_grace_ms / 1000));
    r = handover_go(conn, s->takeover_grace_ms + CLOSE_MS, to, err);
    if (r > 0) {
        log_event(LOG_WARN, "takeover.alone", "why", "the other server exited before it handed over", NULL);
        (void)close(steal_fd(&conn));
        r = take_free_lock(dir, to, err);
    }
    *ret_conn = r < 0 ? NO_FD : steal_fd(&conn);
    return r;
}

void takeover_ready(int *conn)
{
    struct handover_note done = handover_note(HANDOVER_DONE);
    (void)alarm(0);
    if (*conn < 0)
        return;
    (void)handover_send(*conn, &done, NULL); /* a server that has exited needs no message */
    (void)close(steal_fd(conn));
}
