#include "main/config/config_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "loop/helper.h"
#include "main/config/config_reader.h"
#include "os/seqsock.h"

enum { WELL_MS = 10000, END_MS = 500, BATCH = 8 };

struct config_keeper {
    struct loop *loop;
    struct config_keeper_events events;
    struct helper reader;
    struct helper_retry retry;
    int64_t begun_ms;
    bool is_asked, is_moved;
    char told[CONFIG_READER_TEXT_MAX + 64]; /* the last problem reported; "": none */
};

static void report_trouble(struct config_keeper *k, const char *text)
{
    if (strcmp(k->told, text) == 0 && !k->is_asked)
        return;
    (void)snprintf(k->told, sizeof(k->told), "%s", text);
    k->events.on_trouble(k->events.arg, text);
}

/* --- messages from the reader --- */

/* Only a sealed memory file is read: nobody can change it any more. */
static void take_file(struct config_keeper *k, int fd)
{
    const int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & sealed) != sealed || fstat(fd, &st) < 0 || st.st_size > CONFIG_READER_FILE_MAX)
        return;
    size_t len = (size_t)st.st_size;
    CLEANUP(free_p) char *text = xzalloc(len + 1);
    if (pread(fd, text, len, 0) != (ssize_t)len)
        return;
    bool is_asked = k->is_asked;
    k->is_asked = false;
    k->told[0] = '\0';
    k->events.on_file(k->events.arg, text, len, is_asked);
}

/* False: no more messages now, or the reader is no longer trusted. */
static bool take_message(struct config_keeper *k)
{
    struct config_reader_msg m;
    size_t n_fds = 0;
    int fd = NO_FD;
    ssize_t n = seqsock_recv(k->reader.sock, &m, sizeof(m), &fd, 1, &n_fds);
    CLEANUP(close_fd_p) int owned = n_fds ? fd : NO_FD;
    if (n == -EAGAIN || n == -EBADMSG) /* the second: no descriptor was free for it */
        return n == -EBADMSG;
    if (n != (ssize_t)sizeof(m)) {
        k->reader.watch = watch_free(k->reader.watch);
        helper_kill(&k->reader); /* it has exited, or sends invalid messages: its exit is next */
        return false;
    }
    m.text[sizeof(m.text) - 1] = '\0';
    if (m.kind == CONFIG_READER_FILE && owned >= 0) {
        take_file(k, owned);
    } else if (m.kind == CONFIG_READER_TROUBLE) {
        report_trouble(k, m.text);
        k->is_asked = false;
    } else if (m.kind == CONFIG_READER_MOVED) {
        k->is_moved = true;
    }
    return true;
}

static void reader_message(void *arg, int events)
{
    struct config_keeper *k = arg;
    (void)events;
    for (int i = 0; i < BATCH && k->reader.watch && take_message(k); i++) {
    }
}

/* --- life of the reader --- */

static void reader_start(struct config_keeper *k);

static void reader_restart(void *arg)
{
    reader_start(arg);
}

/* A reader that ran for long, or that exited because the operator moved files, is not a sign of trouble. */
static void start_later(struct config_keeper *k)
{
    if (k->is_moved || (k->begun_ms && loop_now_ms(k->loop) - k->begun_ms >= WELL_MS))
        k->retry.pause_ms = 0;
    helper_retry_later(&k->retry, k->loop, reader_restart, k);
}

static void on_exit_seen(void *arg)
{
    struct config_keeper *k = arg;
    siginfo_t info = { 0 };
    reader_message(k, LOOP_READ); /* messages it sent before it exited */
    bool was_moved = k->is_moved;
    (void)waitid(P_PID, (id_t)k->reader.pid, &info, WEXITED | WNOWAIT);
    helper_stop(&k->reader, 0);
    if (!was_moved && info.si_code != CLD_EXITED)
        report_trouble(k, "its reader was killed; it is restarted");
    else if (!was_moved && !k->told[0])
        report_trouble(k, "its reader exited; it is restarted");
    start_later(k);
}

static void reader_start(struct config_keeper *k)
{
    struct err err = ERR_INIT;
    k->is_moved = false;
    k->begun_ms = loop_now_ms(k->loop);
    if (helper_start(&k->reader, "the configuration reader", &err) == 0 &&
        helper_watch(&k->reader, k->loop, reader_message, on_exit_seen, k, &err) == 0)
        return;
    helper_stop(&k->reader, 0);
    report_trouble(k, err.msg);
    start_later(k);
}

struct config_keeper *config_keeper_new(struct loop *l, struct keeper *keeper, unsigned job,
                                        const struct config_keeper_events *events)
{
    struct config_keeper *k = xzalloc(sizeof(*k));
    *k = (struct config_keeper){ .loop = l, .events = *events, .reader = HELPER_INIT(keeper, job) };
    reader_start(k);
    return k;
}

void config_keeper_ask(struct config_keeper *k)
{
    struct config_reader_msg m = { .kind = CONFIG_READER_ASK };
    struct iovec parts[2] = { { &m, sizeof(m) }, { NULL, 0 } };
    k->is_asked = true;
    if (k->reader.sock >= 0)
        (void)seqsock_send(k->reader.sock, parts, NULL,
                           0); /* a reader that has exited is restarted and sends the file */
}

struct config_keeper *config_keeper_free(struct config_keeper *k)
{
    if (k) {
        helper_stop(&k->reader, END_MS); /* a file system that hangs does not block the server */
        helper_retry_done(&k->retry);
        free(k);
    }
    return NULL;
}
