/* Theory of operation. An agent that runs in the test's process. Frames of the host come joined and checked from
 * agent_end.c and are answered at once, except three kinds that stay as a struct task under their stream: a command,
 * which may sleep and then has output; a file being read; a file being written. The agent owns its tasks and the
 * socket. Output is sent within the host's credit; the reply that ends the stream follows the last byte. A frozen agent
 * reads nothing, and its sleeping commands do not wake. An invalid frame or a closed socket ends the agent and its
 * tasks. */
#include "runtime/fake/fakeagent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "guest/proto.h"
#include "runtime/agent_end.h"

#define PIECE_MAX 32768u

enum task_kind { TASK_COMMAND, TASK_READER, TASK_WRITER };

struct task {
    struct task *next;
    struct fakeagent *a;
    enum task_kind kind;
    uint32_t stream, credit;
    struct buf data; /* what goes out from at on; what came in, of a writer */
    size_t at;
    char *path;     /* of a writer */
    uint8_t out_fd; /* of a command: 1 or 2 */
    struct proto_exit exit;
    struct timer *timer; /* it sleeps; NULL: its output has started */
    bool is_due;         /* its sleep ended while frozen */
};

struct fakeagent {
    struct loop *loop;
    struct map *files;
    char *hostname;
    size_t hostname_size;
    struct agent_end end;
    struct task *tasks;
    uint32_t last_pid;
};

static void send_reply(struct fakeagent *a, uint32_t stream, int sys, const char *step)
{
    if (sys)
        agent_end_send_error(&a->end, stream, sys, step);
    else
        agent_end_send_done(&a->end, stream);
}

/* --- files --- */

void fakeagent_put(struct map *files, const char *path, const char *data, size_t len)
{
    struct buf *b = map_get(files, path);
    if (!b) {
        b = xzalloc(sizeof(*b));
        buf_init(b, FAKEAGENT_FILE_MAX);
        map_set(files, path, b);
    }
    buf_clear(b);
    (void)buf_add(b, data, len); /* no larger than what brought it */
}

static void remove_file(struct map *files, const char *path)
{
    struct buf *b = map_remove(files, path);
    if (b)
        buf_done(b);
    free(b);
}

struct map *fakeagent_files_free(struct map *files)
{
    for (struct map_iter it = map_iter(files); map_next(&it);)
        remove_file(files, it.key);
    return map_free(files);
}

/* Whether path lies below folder. */
static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    while (n && folder[n - 1] == '/')
        n--;
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

static bool is_folder(const struct fakeagent *a, const char *path)
{
    for (struct map_iter it = map_iter(a->files); map_next(&it);)
        if (is_below(it.key, path))
            return true;
    return strcmp(path, "/") == 0;
}

static struct proto_stat stat_of(const struct fakeagent *a, const char *path, const char *shown)
{
    const struct buf *b = map_get(a->files, path);
    return (struct proto_stat){ .path = shown,
                                .size = b ? b->len : 0,
                                .mode = b ? S_IFREG | 0644 : S_IFDIR | 0755,
                                .owner = "root",
                                .group = "root",
                                .mtime_ms = clock_wall_ms() };
}

static void stat_files(struct fakeagent *a, uint32_t stream, struct proto_reader *in)
{
    uint8_t mem[PROTO_FRAME_MAX];
    struct proto_writer w;
    uint32_t n = proto_get_count(in, PROTO_STAT_MAX);
    proto_frame_begin(&w, mem, sizeof(mem));
    for (uint32_t i = 0; i < n; i++) {
        const char *path = proto_get_str(in, PROTO_PATH_MAX);
        if (!map_get(a->files, path) && !is_folder(a, path)) {
            agent_end_send_error(&a->end, stream, ENOENT, path);
            return;
        }
        struct proto_stat st = stat_of(a, path, path);
        proto_put_stat(&w, &st);
    }
    agent_end_send(&a->end, &w, stream, PROTO_FS_STATS);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* As many entries as one frame holds. */
static void list_folder(struct fakeagent *a, uint32_t stream, const char *folder)
{
    uint8_t mem[PROTO_FRAME_MAX];
    struct proto_writer w;
    size_t n = 0, skip = strlen(folder) + (strcmp(folder, "/") != 0);
    CLEANUP(free_p) char **paths = xzalloc((map_count(a->files) + 1) * sizeof(char *));
    for (struct map_iter it = map_iter(a->files); map_next(&it);)
        if (is_below(it.key, folder))
            paths[n++] = xstrndup(it.key, skip + strcspn(it.key + skip, "/"));
    qsort(paths, n, sizeof(*paths), compare_names);
    proto_frame_begin(&w, mem, sizeof(mem));
    for (size_t i = 0; i < n; i++) {
        struct proto_stat st = stat_of(a, paths[i], paths[i] + skip);
        if (i == 0 || strcmp(paths[i], paths[i - 1]) != 0)
            proto_put_stat(&w, &st);
    }
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    agent_end_send(&a->end, &w, stream, PROTO_FS_STATS);
}

static int remove_path(struct fakeagent *a, const char *path, bool is_recursive, bool is_forced)
{
    bool has_file = map_get(a->files, path), has_folder = !has_file && is_folder(a, path);
    if (!has_file && !has_folder)
        return is_forced ? 0 : ENOENT;
    if (has_folder && !is_recursive)
        return ENOTEMPTY;
    for (struct map_iter it = map_iter(a->files); map_next(&it);)
        if (strcmp(it.key, path) == 0 || is_below(it.key, path))
            remove_file(a->files, it.key);
    return 0;
}

/* --- tasks --- */

static struct task *task_new(struct fakeagent *a, enum task_kind kind, uint32_t stream)
{
    struct task *t = xzalloc(sizeof(*t));
    *t = (struct task){ .next = a->tasks, .a = a, .kind = kind, .stream = stream, .credit = PROTO_WINDOW };
    buf_init(&t->data, FAKEAGENT_FILE_MAX);
    t->out_fd = 1;
    a->tasks = t;
    return t;
}

static void task_free(struct task *t)
{
    LIST_TAKE(t->a->tasks, t);
    timer_free(t->timer);
    buf_done(&t->data);
    free(t->path);
    free(t);
}

static void finish_task(struct task *t)
{
    uint8_t mem[128];
    struct proto_writer w;
    if (t->kind == TASK_COMMAND) {
        proto_frame_begin(&w, mem, sizeof(mem));
        proto_put_exit(&w, &t->exit);
        agent_end_send(&t->a->end, &w, t->stream, PROTO_EXEC_EXIT);
    } else {
        agent_end_send_done(&t->a->end, t->stream);
    }
    task_free(t);
}

/* Sends as far as the host's credit reaches. */
static void pump(struct task *t)
{
    uint8_t mem[PROTO_HEADER + 1 + PIECE_MAX];
    struct proto_writer w;
    while (t->at < t->data.len && t->credit) {
        size_t n = t->data.len - t->at;
        n = n < t->credit ? n : t->credit;
        n = n < PIECE_MAX ? n : PIECE_MAX;
        proto_frame_begin(&w, mem, sizeof(mem));
        if (t->kind == TASK_COMMAND)
            proto_put_u8(&w, t->out_fd);
        proto_put_data(&w, t->data.data + t->at, n);
        agent_end_send(&t->a->end, &w, t->stream, t->kind == TASK_COMMAND ? PROTO_EXEC_OUTPUT : PROTO_FS_DATA);
        t->at += n;
        t->credit -= (uint32_t)n;
    }
    if (t->at == t->data.len)
        finish_task(t);
}

static void on_slept(void *arg)
{
    struct task *t = arg;
    if (t->a->end.is_frozen) {
        t->is_due = true;
        return;
    }
    t->timer = timer_free(t->timer);
    pump(t);
}

/* One that sleeps; the others have ended. */
static void end_command(struct task *t, uint32_t signo)
{
    if (!t->timer)
        return;
    t->exit = (struct proto_exit){ .code = 128 + signo, .signal = signo };
    t->timer = timer_free(t->timer);
    pump(t);
}

static void end_all(struct fakeagent *a, uint32_t stream, uint32_t signo)
{
    for (struct task *t = a->tasks, *next; t; t = next) {
        next = t->next;
        end_command(t, signo);
    }
    agent_end_send_done(&a->end, stream);
}

/* What one command line does. */
static void run_line(struct task *t, const char *line, uint32_t timeout_ms)
{
    size_t n = strcspn(line, " ");
    const char *rest = line[n] ? line + n + 1 : "";
    const struct buf *file = map_get(t->a->files, rest);
    if (strncmp(line, "echo", n) == 0 && n == 4) {
        (void)buf_addf(&t->data, "%s\n", rest);
    } else if (strncmp(line, "exit", n) == 0 && n == 4) {
        t->exit.code = (uint32_t)strtoul(rest, NULL, 10) & 255;
    } else if (strncmp(line, "sleep", n) == 0 && n == 5) {
        int64_t ms = (int64_t)(strtod(rest, NULL) * 1000);
        bool is_late = timeout_ms && ms > (int64_t)timeout_ms;
        if (is_late)
            t->exit = (struct proto_exit){ .code = 128 + SIGKILL, .signal = SIGKILL, .flags = PROTO_EXIT_TIMEOUT };
        t->timer = timer_new(t->a->loop, is_late ? (int64_t)timeout_ms : ms, 0, on_slept, t);
    } else if (strncmp(line, "cat", n) == 0 && n == 3 && file) {
        (void)buf_add(&t->data, buf_text(file), file->len);
    } else if (strcmp(line, "false") == 0) {
        t->exit.code = 1;
    } else if (strcmp(line, "true") != 0) {
        t->exit.code = 127;
        t->out_fd = 2;
        (void)buf_addf(&t->data,
                       "fake: %s: not found: the fake backend runs nothing, it only answers echo, cat FILE, sleep, "
                       "exit, true and false\n",
                       line);
    }
}

static void start_command(struct fakeagent *a, uint32_t stream, struct proto_reader *in)
{
    uint32_t flags = proto_get_u32(in);
    (void)proto_get_u32(in); /* size of a terminal */
    uint32_t timeout_ms = proto_get_u32(in);
    (void)proto_get_str(in, PROTO_PATH_MAX); /* cwd */
    (void)proto_get_str(in, PROTO_PATH_MAX); /* user */
    (void)proto_get_str(in, PROTO_TAG_MAX);
    CLEANUP(buf_done) struct buf line = BUF_INIT(PROTO_REQUEST_MAX); /* the arguments; of `sh -c TEXT` the text */
    uint32_t n = proto_get_count(in, PROTO_ARGS_MAX);
    for (uint32_t i = 0; i < n; i++) {
        const char *word = proto_get_str(in, PROTO_REQUEST_MAX);
        if (n == 3 && i < 2 && (strcmp(word, "sh") == 0 || strcmp(word, "/bin/sh") == 0 || strcmp(word, "-c") == 0))
            continue;
        (void)buf_addf(&line, "%s%s", line.len ? " " : "", word); /* no longer than the request */
    }
    struct task *t = task_new(a, TASK_COMMAND, stream);
    run_line(t, buf_text(&line), timeout_ms);
    if (flags & PROTO_WITH_MERGE)
        t->out_fd = 1;
    if (flags & PROTO_WITH_LOG)
        buf_clear(&t->data); /* it would be in a log, which this agent does not keep */
    agent_end_send_number(&a->end, stream, PROTO_EXEC_STARTED, ++a->last_pid);
    if (!t->timer)
        pump(t);
}

static void read_file(struct fakeagent *a, uint32_t stream, struct proto_reader *in)
{
    uint8_t mem[PROTO_HEADER + PROTO_PATH_MAX + 256];
    struct proto_writer w;
    const char *path = proto_get_str(in, PROTO_PATH_MAX);
    uint64_t offset = proto_get_u64(in), max = proto_get_u64(in);
    const struct buf *b = map_get(a->files, path);
    if (!b) {
        agent_end_send_error(&a->end, stream, is_folder(a, path) ? EISDIR : ENOENT, path);
        return;
    }
    struct proto_stat st = stat_of(a, path, path);
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_stat(&w, &st);
    agent_end_send(&a->end, &w, stream, PROTO_FS_OPENED);
    struct task *t = task_new(a, TASK_READER, stream);
    size_t from = offset < b->len ? (size_t)offset : b->len, n = b->len - from;
    (void)buf_add(&t->data, buf_text(b) + from, n < max ? n : (size_t)max);
    pump(t);
}

static void list_processes(struct fakeagent *a, uint32_t stream)
{
    uint8_t mem[PROTO_FRAME_MAX];
    struct proto_writer w;
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_u64(&w, 1024 * 1024);
    for (const struct task *t = a->tasks; t; t = t->next) {
        struct proto_process p = { .pid = 1 + t->stream, .ppid = 1, .user = "root", .command = "fake", .state = 'S' };
        if (t->kind == TASK_COMMAND)
            proto_put_process(&w, &p);
    }
    agent_end_send(&a->end, &w, stream, PROTO_PROC_LIST_REPLY);
}

/* --- frames of the host --- */

static void take_request(struct fakeagent *a, uint32_t stream, uint16_t type, struct proto_reader *in)
{
    const char *path, *other;
    const struct buf *moved;
    const uint8_t *data;
    size_t len;
    switch (type) {
    case PROTO_PING:
    case PROTO_RESEED:
        agent_end_send_done(&a->end, stream);
        break;
    case PROTO_HOSTNAME:
        (void)snprintf(a->hostname, a->hostname_size, "%s", proto_get_str(in, PROTO_PATH_MAX));
        agent_end_send_done(&a->end, stream);
        break;
    case PROTO_EXEC_START:
        start_command(a, stream, in);
        break;
    case PROTO_FS_STAT:
        stat_files(a, stream, in);
        break;
    case PROTO_FS_LIST:
        path = proto_get_str(in, PROTO_PATH_MAX);
        if (is_folder(a, path))
            list_folder(a, stream, path);
        else
            agent_end_send_error(&a->end, stream, map_get(a->files, path) ? ENOTDIR : ENOENT, path);
        break;
    case PROTO_FS_MOVE:
        path = proto_get_str(in, PROTO_PATH_MAX);
        other = proto_get_str(in, PROTO_PATH_MAX);
        moved = map_get(a->files, path);
        if (moved)
            fakeagent_put(a->files, other, buf_text(moved), moved->len);
        if (moved && strcmp(path, other) != 0)
            remove_file(a->files, path);
        send_reply(a, stream, moved ? 0 : ENOENT, path);
        break;
    case PROTO_FS_MKDIR: /* a folder is there as soon as something is in it */
        agent_end_send_done(&a->end, stream);
        break;
    case PROTO_FS_REMOVE: {
        path = proto_get_str(in, PROTO_PATH_MAX);
        bool is_recursive = proto_get_u8(in), is_forced = proto_get_u8(in);
        send_reply(a, stream, remove_path(a, path, is_recursive, is_forced), path);
        break;
    }
    case PROTO_FS_PUT:
        path = proto_get_str(in, PROTO_PATH_MAX);
        (void)proto_get_u32(in); /* mode */
        data = proto_get_rest(in, &len);
        fakeagent_put(a->files, path, (const char *)data, len);
        agent_end_send_done(&a->end, stream);
        break;
    case PROTO_FS_READ:
        read_file(a, stream, in);
        break;
    case PROTO_FS_WRITE:
        task_new(a, TASK_WRITER, stream)->path = xstrdup(proto_get_str(in, PROTO_PATH_MAX));
        break;
    case PROTO_PROC_LIST:
        list_processes(a, stream);
        break;
    case PROTO_PROC_END:
        end_all(a, stream, proto_get_u32(in));
        break;
    case PROTO_TUNNEL_OPEN:
        agent_end_send_error(&a->end, stream, ECONNREFUSED, "connect");
        break;
    case PROTO_JOB_STATE:
    case PROTO_JOB_LOG:
    case PROTO_JOB_SIGNAL:
    case PROTO_JOB_INPUT:
    case PROTO_JOB_FORGET:
    case PROTO_JOB_WAIT:
        agent_end_send_error(&a->end, stream, ENOENT, "job");
        break;
    default:
        agent_end_send_error(&a->end, stream, ENOSYS, "the agent of the fake backend, which runs nothing");
    }
}

static void take_more(struct task *t, uint16_t type, struct proto_reader *in)
{
    size_t len;
    const uint8_t *data;
    if (type == PROTO_CREDIT) {
        t->credit += proto_get_u32(in);
        if (!t->timer && t->kind != TASK_WRITER)
            pump(t);
    } else if (type == PROTO_DROP) {
        task_free(t);
    } else if (type == PROTO_EXEC_SIGNAL) {
        end_command(t, proto_get_u32(in));
    } else if (type == PROTO_FS_DATA && t->kind == TASK_WRITER) {
        data = proto_get_rest(in, &len);
        (void)buf_add(&t->data, (const char *)data, len); /* past its maximum the file is short */
        agent_end_send_number(&t->a->end, t->stream, PROTO_CREDIT, (uint32_t)len);
    } else if (type == PROTO_FS_END && t->kind == TASK_WRITER) {
        fakeagent_put(t->a->files, t->path, buf_text(&t->data), t->data.len);
        finish_task(t);
    }
}

static void on_frame(void *arg, const struct proto_header *h, struct proto_reader *in)
{
    struct fakeagent *a = arg;
    struct task *t = a->tasks;
    while (t && t->stream != h->stream)
        t = t->next;
    if (proto_is_request(h->type))
        take_request(a, h->stream, h->type, in);
    else if (t)
        take_more(t, h->type, in);
}

void fakeagent_freeze(struct fakeagent *a, bool is_frozen)
{
    agent_end_freeze(&a->end, is_frozen);
    for (struct task *t = a->tasks, *next; t && !is_frozen; t = next) {
        next = t->next;
        if (t->is_due)
            on_slept(t);
    }
}

size_t fakeagent_running(const struct fakeagent *a)
{
    size_t n = 0;
    for (const struct task *t = a->tasks; t; t = t->next)
        n += t->kind == TASK_COMMAND;
    return n;
}

// NOLINTNEXTLINE(readability-non-const-parameter): written when the host names the box
int fakeagent_new(struct loop *l, struct map *files, char *hostname, size_t size, struct fakeagent **ret, int *ret_fd,
                  struct err *err)
{
    struct fakeagent *a = xzalloc(sizeof(*a));
    *a = (struct fakeagent){ .loop = l, .files = files, .hostname = hostname, .hostname_size = size };
    int r = agent_end_open(&a->end, l, on_frame, a, ret_fd, err);
    if (r < 0)
        free(a);
    else
        *ret = a;
    return r;
}

struct fakeagent *fakeagent_free(struct fakeagent *a)
{
    if (!a)
        return NULL;
    while (a->tasks)
        task_free(a->tasks);
    agent_end_close(&a->end);
    free(a);
    return NULL;
}
