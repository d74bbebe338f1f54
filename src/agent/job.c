/* Theory of operation. A struct agent_job is a durable command: its tag, its log file, its exit block and the hosts
 * that wait for more log. The agent owns the jobs in a list; a running job also points to its agent_exec, which appends
 * output and reports the exit.
 *
 * States: running → ended → forgotten. A job that is forgotten while it runs leaves the list, is killed, and is freed
 * with its command. An exit is sent to all links; when no host is connected, is_untold keeps it until the next one.
 *
 * The log is a ring in /tmp/TAG.log that is written and read by its descriptor: the sandbox may truncate, replace or
 * remove the file, and the job then only loses bytes. A full disk loses log bytes, never the command. */
#include "agent/job.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/exec.h"
#include "agent/log_mark.h"

#define JOBS_MAX 4096

/* A host that waits for the log to grow. Its link may be gone meanwhile, so it is named by serial, not by pointer. */
struct waiter {
    struct waiter *next;
    uint64_t conn_serial, offset;
    uint32_t stream;
};

struct agent_job {
    struct agent_job *next;
    struct agent *agent;
    struct waiter *waiters;
    struct agent_exec *exec; /* NULL: ended */
    bool is_forgotten;       /* not in the list; freed with its command */
    bool is_untold;          /* ended while no host was connected */
    bool is_service;         /* of a service: hosts read it and are not told of an exit; there may be a next process */
    bool has_marks;          /* each line starts with the number of its stream */
    struct agent_log_mark mark;
    int fd; /* the log */
    uint32_t pid;
    uint64_t log_bytes;
    struct proto_exit end;
    char tag[PROTO_TAG_MAX + 1];
};

static bool is_tag(const char *tag)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t len = strlen(tag);

    return len > 0 && len <= PROTO_TAG_MAX && tag[0] != '.' && strspn(tag, allowed) == len;
}

static void log_path(const char *tag, char *path, size_t size)
{
    (void)snprintf(path, size, "/tmp/%s.log", tag);
}

static struct agent_job *job_find(struct agent *a, const char *tag)
{
    for (struct agent_job *job = a->jobs; job; job = job->next)
        if (strcmp(job->tag, tag) == 0)
            return job;
    return NULL;
}

static int new_job(struct agent *a, const char *tag, bool is_service, struct agent_job **ret)
{
    size_t n = 0;

    if (job_find(a, tag))
        return -EEXIST;
    for (const struct agent_job *other = a->jobs; other; other = other->next)
        n++;
    if (n >= JOBS_MAX)
        return -EBUSY;
    struct agent_job *job = calloc(1, sizeof(*job));
    if (!job)
        return -ENOMEM;
    char path[PROTO_TAG_MAX + 16], former[PROTO_TAG_MAX + 24];
    log_path(tag, path, sizeof(path));
    (void)snprintf(former, sizeof(former), "%s.old", path);
    if (is_service)
        (void)rename(path, former); /* of an earlier start of the sandbox; or there is none */
    if (mkdir("/tmp", 01777) == 0)
        (void)chmod("/tmp", 01777); /* mkdir's mode was reduced by the umask */
    (void)unlink(path);             /* left by an earlier command, or planted: never written through */
    job->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (job->fd < 0) {
        int r = -errno;
        free(job);
        return r;
    }
    job->agent = a;
    job->is_service = is_service;
    memcpy(job->tag, tag, strlen(tag));
    job->next = a->jobs;
    a->jobs = job;
    *ret = job;
    return 0;
}

int agent_job_new(struct agent *a, const char *tag, bool has_marks, struct agent_job **ret)
{
    if (!is_tag(tag))
        return -EINVAL;
    int r = new_job(a, tag, false, ret);
    if (r == 0)
        (*ret)->has_marks = has_marks;
    return r;
}

int agent_job_new_service(struct agent *a, const char *name, struct agent_job **ret)
{
    char tag[PROTO_TAG_MAX + 1];

    if (!is_tag(name) || (size_t)snprintf(tag, sizeof(tag), PROTO_SERVICE_TAG "%s", name) >= sizeof(tag))
        return -EINVAL;
    return new_job(a, tag, true, ret);
}

/* --- waiting for the log --- */
static void job_wake(struct agent_job *job, bool is_over)
{
    for (struct waiter **at = &job->waiters; *at;) {
        struct waiter *w = *at;
        if (!is_over && w->offset >= job->log_bytes) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        struct agent_reply r = { .agent = job->agent,
                                 .conn = agent_conn_by_serial(job->agent, w->conn_serial),
                                 .pipe_fd = -EBADF,
                                 .stream = w->stream };
        free(w);
        if (r.conn)
            agent_reply_done(&r);
    }
}

static void wait_for_more(struct agent_reply *r, struct agent_job *job, uint64_t offset)
{
    if ((!job->exec && !job->is_service) || offset < job->log_bytes) {
        agent_reply_done(r);
        return;
    }
    struct waiter *w = malloc(sizeof(*w));
    if (!w) {
        agent_reply_error(r, ENOMEM, "wait for job %s", job->tag);
        return;
    }
    *w = (struct waiter){
        .next = job->waiters, .conn_serial = agent_conn_serial(r->conn), .offset = offset, .stream = r->stream
    };
    job->waiters = w;
}

static void unlink_job(struct agent *a, struct agent_job *job)
{
    char path[PROTO_TAG_MAX + 16];

    for (struct agent_job **at = &a->jobs; *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            break;
        }
    log_path(job->tag, path, sizeof(path));
    (void)unlink(path); /* the sandbox may have removed it */
}

static void free_job(struct agent_job *job)
{
    job_wake(job, true);
    (void)close(job->fd);
    agent_log_mark_done(&job->mark);
    free(job);
}

void agent_job_abandon(struct agent *a, struct agent_job *job)
{
    unlink_job(a, job);
    free_job(job);
}

void agent_job_started(struct agent_job *job, struct agent_exec *x)
{
    job->exec = x;
    job->pid = (uint32_t)agent_exec_pid(x);
}

static void log_append(struct agent_job *job, const uint8_t *data, size_t len)
{
    while (len > 0) {
        uint64_t at = job->log_bytes % AGENT_JOB_LOG_MAX;
        size_t piece = AGENT_JOB_LOG_MAX - at < len ? (size_t)(AGENT_JOB_LOG_MAX - at) : len;
        ssize_t n = pwrite(job->fd, data, piece, (off_t)at);
        if (n <= 0)
            return; /* disk full: the command continues, its log lacks these bytes */
        job->log_bytes += (uint64_t)n;
        data += n;
        len -= (size_t)n;
    }
    job_wake(job, false);
}

void agent_job_append(struct agent_job *job, uint8_t number, const uint8_t *data, size_t len)
{
    size_t n = 0;

    if (!job->has_marks) {
        log_append(job, data, len);
        return;
    }
    uint8_t *lines = agent_log_mark_lines(&job->mark, number, data, len, &n);
    if (n > 0)
        log_append(job, lines, n);
    free(lines);
}

static void send_exit(struct agent_job *job, struct agent_conn *c)
{
    uint8_t frame[PROTO_HEADER + PROTO_TAG_MAX + 80];
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_str(&w, job->tag);
    proto_put_exit(&w, &job->end);
    int len = proto_frame_end(&w, 0, PROTO_JOB_EXIT, 0);
    assert(len > 0);
    agent_conn_send(c, frame, (size_t)len);
}

void agent_job_ended(struct agent *a, struct agent_job *job, const struct proto_exit *end)
{
    size_t n = 0;
    uint8_t *lines = agent_log_mark_rest(&job->mark, &n);

    if (n > 0)
        log_append(job, lines, n);
    free(lines);
    job->exec = NULL;
    job->end = *end;
    if (job->is_service)
        return; /* its supervisor tells the hosts */
    if (job->is_forgotten) {
        free_job(job);
        return;
    }
    job->is_untold = true;
    for (struct agent_conn *c = a->conns; c; c = agent_conn_next(c)) {
        if (!agent_conn_has_handshake(c))
            continue;
        send_exit(job, c);
        job->is_untold = false;
    }
    job_wake(job, true); /* after the notice, so that a woken reader knows of the exit */
}

void agent_job_tell(struct agent *a, struct agent_conn *c)
{
    for (struct agent_job *job = a->jobs; job; job = job->next)
        if (job->is_untold) {
            send_exit(job, c);
            job->is_untold = false;
        }
}

void agent_job_end_all(struct agent *a)
{
    while (a->jobs) {
        struct agent_job *job = a->jobs;
        a->jobs = job->next;
        free_job(job);
    }
}

/* --- requests --- */
static uint64_t log_start(const struct agent_job *job)
{
    return job->log_bytes > AGENT_JOB_LOG_MAX ? job->log_bytes - AGENT_JOB_LOG_MAX : 0;
}

static void reply_state(struct agent_reply *r, const struct agent_job *job)
{
    uint8_t frame[PROTO_HEADER + 96];
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_u8(&w, job->exec != NULL);
    proto_put_u32(&w, job->pid);
    proto_put_u64(&w, job->log_bytes);
    proto_put_u64(&w, log_start(job));
    proto_put_exit(&w, &job->end);
    int len = proto_frame_end(&w, r->stream, PROTO_JOB_STATE_REPLY, 0);
    assert(len > 0);
    agent_reply_frame(r, frame, (size_t)len);
}

/* The sandbox may have truncated the file: then fewer bytes are sent than were logged. */
static void reply_log(struct agent_reply *r, const struct agent_job *job, uint64_t offset, uint64_t max)
{
    struct proto_writer w;

    if (offset < log_start(job)) {
        agent_reply_error(r, ERANGE, "log of %s: bytes before %llu are gone", job->tag,
                          (unsigned long long)log_start(job));
        return;
    }
    uint64_t left = offset < job->log_bytes ? job->log_bytes - offset : 0;
    left = left < max ? left : max;
    for (bool has_more = true; has_more;) {
        uint64_t at = offset % AGENT_JOB_LOG_MAX;
        size_t piece = left < PROTO_PAYLOAD_MAX ? (size_t)left : PROTO_PAYLOAD_MAX;
        piece = AGENT_JOB_LOG_MAX - at < piece ? (size_t)(AGENT_JOB_LOG_MAX - at) : piece;
        proto_frame_begin(&w, agent_conn_scratch(r->agent), PROTO_FRAME_MAX);
        ssize_t n = piece ? pread(job->fd, w.data + w.len, piece, (off_t)at) : 0;
        n = n > 0 ? n : 0;
        w.len += (size_t)n;
        offset += (uint64_t)n;
        left = n > 0 ? left - (uint64_t)n : 0;
        has_more = left > 0;
        int len = proto_frame_end(&w, r->stream, PROTO_JOB_LOG_REPLY, has_more ? PROTO_MORE : 0);
        assert(len > 0);
        agent_reply_frame(r, w.data, (size_t)len);
    }
    r->agent->is_scratch_dirty = true;
}

void agent_job_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    bool is_last = type == PROTO_JOB_INPUT && proto_get_u8(&in);
    const char *tag = proto_get_str(&in, PROTO_TAG_MAX);
    struct agent_job *job = job_find(r->agent, tag);
    if (!job) {
        agent_reply_error(r, ENOENT, "job %s", tag);
    } else if (job->is_service && type != PROTO_JOB_STATE && type != PROTO_JOB_LOG && type != PROTO_JOB_WAIT) {
        agent_reply_error(r, EPERM, "job %s is a service", tag);
    } else if (type == PROTO_JOB_STATE) {
        reply_state(r, job);
    } else if (type == PROTO_JOB_LOG) {
        uint64_t offset = proto_get_u64(&in);
        uint32_t max = proto_get_u32(&in);
        reply_log(r, job, offset, max < PROTO_PUT_MAX ? max : PROTO_PUT_MAX);
    } else if (type == PROTO_JOB_SIGNAL) {
        uint32_t signo = proto_get_u32(&in);
        if (!job->exec) {
            agent_reply_error(r, ESRCH, "signal job %s", job->tag);
        } else if (signo < 1 || signo > 64) {
            agent_reply_error(r, EINVAL, "signal %u", signo);
        } else {
            agent_exec_signal(job->exec, (int)signo);
            agent_reply_done(r);
        }
    } else if (type == PROTO_JOB_INPUT) {
        size_t n;
        const uint8_t *input = proto_get_rest(&in, &n);
        if (!job->exec)
            agent_reply_error(r, EPIPE, "write to job %s", job->tag);
        else
            agent_exec_input(job->exec, r, input, n, is_last);
    } else if (type == PROTO_JOB_WAIT) {
        wait_for_more(r, job, proto_get_u64(&in));
    } else { /* PROTO_JOB_FORGET */
        unlink_job(r->agent, job);
        if (job->exec) {
            job->is_forgotten = true;
            agent_exec_signal(job->exec, SIGKILL);
        } else {
            free_job(job);
        }
        agent_reply_done(r);
    }
}
