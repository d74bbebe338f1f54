/* The host's end of the guest protocol: one connection to one agent, many streams on it. Untrusted: what the guest
 * sends. Every frame is length-checked, bounded and typed; a bad one breaks the link. May include: base/, loop/,
 * guest/.
 *
 * Flow control: each stream of data has a window (GUEST_WINDOW bytes). The producer stops at its end; the consumer
 * returns credit with *_credit() after it has passed the bytes on. So a slow reader fills the guest's pipe, never our
 * memory. Callbacks never run inside the call that caused them. After on_exit, on_done or on_failed the object is
 * freed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "loop/loop.h"

struct guest_link;
struct guest_exec;
struct guest_reader;
struct guest_writer;
struct guest_tunnel;
struct guest_watch;

#define GUEST_WINDOW (256u * 1024)

/* Errors of calls that return int (the callback is never called then): -EPIPE the link is broken, -ENOSYS its agent is
 * older than the call, -EBUSY 8 MiB are queued or 65,536 calls are open (ERR_CAPACITY), -EINVAL a relative or too long
 * path, tag or text, -E2BIG more than 1 MiB for put or input. An on_writable function stays until replaced; it runs
 * when there is room again after a send that was cut short. */

/* Takes fd (on failure the caller keeps it). on_gone: the agent has exited or broke the protocol (err tells which);
 * every pending call has failed before. */
typedef void guest_gone_fn(void *arg, const struct err *err);
int guest_link_new(struct loop *l, int fd, guest_gone_fn *on_gone, void *arg, struct guest_link **ret);
struct guest_link *guest_link_free(struct guest_link *g); /* pending calls fail; no on_gone */
/* When the sandbox was last used (monotonic): a call started, or data went over an open one. The host's own calls
 * (ping, usage, seed, clock) do not count. */
int64_t guest_link_used_ms(const struct guest_link *g);
bool guest_link_is_busy(const struct guest_link *g); /* a call is open: a command, a terminal, a tunnel, a file */
/* Breaks the link for an external reason: pending calls fail with it, then on_gone is called. */
void guest_link_fail(struct guest_link *g, const struct err *err);
/* fn may add to why the link ends, before pending calls fail; it gets the arg of on_gone. */
typedef void guest_why_fn(void *arg, struct err *err);
void guest_link_on_why(struct guest_link *g, guest_why_fn *fn);
/* The agent may have been taken over by what it runs, so no call waits for it forever: a command's time limit and
 * grace_ms, then it counts as timed out; other calls fail with ERR_TIMEOUT after answer_ms, mere queries after
 * grace_ms. Time in which the caller does not take data, or the sandbox is paused, does not count. Tunnels and
 * commands without a limit are timed only until they have started; guest_job_wait() never. */
void guest_link_patience(struct guest_link *g, uint32_t answer_ms, uint32_t grace_ms);
void guest_link_stand_still(struct guest_link *g, bool is_still);
unsigned
guest_link_version(const struct guest_link *g); /* of the protocol; 0: the agent has not sent its HANDSHAKE yet */

/* --- exec --- */
enum {
    GUEST_EXEC_STDIN = 1, /* keep stdin open for guest_exec_write(); else /dev/null */
    GUEST_EXEC_PTY = 2,   /* a terminal of cols x rows; output all on 1 */
    GUEST_EXEC_LOG = 4,   /* durable: the agent logs the output under `tag`, and the command outlives the link */
    GUEST_EXEC_MERGE = 8, /* stderr into stdout */
    GUEST_EXEC_WAIT_EOF =
        16, /* report the exit only when stdout and stderr are closed as well (default: short drain after exit) */
    GUEST_EXEC_MARKS =
        32, /* with LOG: each line of the log begins with the byte 1 (stdout) or 2 (stderr); see log_mark.h.
             * An agent of an older release does not know it and writes the lines as they are */
    GUEST_EXEC_SFTP = 64, /* the agent itself serves SFTP, in the place of a program; argv only names it */
};
struct guest_exec_plan {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH of env */
    const char *const *env;  /* NULL-terminated "K=V", the whole environment; NULL = the agent's default */
    const char *cwd;         /* absolute; NULL = "/" */
    const char *user;        /* "", NULL = root of the sandbox; "uid[:gid]" or a name of its /etc/passwd */
    unsigned flags;
    uint16_t cols, rows;
    uint32_t timeout_ms; /* 0 = none; then the whole process tree is killed and exit.is_timeout set */
    const char *tag;     /* id of a durable command, at most 63 bytes */
};
struct guest_exit {
    int code;   /* exit code, or 128 + signal */
    int signal; /* 0 when it exited on its own */
    bool is_timeout, is_oom;
    bool is_silent; /* with is_timeout: the agent did not report it, so its processes may still exist */
    uint64_t user_us, system_us, max_rss_kb, wall_us;
};
struct guest_exec_events {
    void (*on_started)(void *arg, int pid); /* may be NULL; pid in the sandbox's pid namespace */
    void (*on_output)(void *arg, int fd, const char *data, size_t len); /* 1 or 2; credit it */
    void (*on_exit)(void *arg, const struct guest_exit *ex);
    void (*on_failed)(void *arg, const struct err *err); /* not started, or the link broke */
};
int guest_exec_start(struct guest_link *g, const struct guest_exec_plan *plan, const struct guest_exec_events *ev,
                     void *arg, struct guest_exec **ret, struct err *err);
void guest_exec_credit(struct guest_exec *x, size_t bytes);
/* Returns bytes accepted (0 when the window is full: on_writable later). */
size_t guest_exec_write(struct guest_exec *x, const char *data, size_t len);
void guest_exec_on_writable(struct guest_exec *x, loop_fn *fn, void *arg);
void guest_exec_close_stdin(struct guest_exec *x);
void guest_exec_signal(struct guest_exec *x, int signo); /* to the whole process group */
void guest_exec_resize(struct guest_exec *x, uint16_t cols, uint16_t rows);
/* No more callbacks. Not durable: killed with its process tree. Durable: continues. */
void guest_exec_drop(struct guest_exec *x);

/* Durable commands by tag. state: running, exit as far as known, log size. */
struct guest_job {
    bool is_running;
    int pid;
    uint64_t log_bytes, log_start; /* log_start: first byte still kept */
    struct guest_exit exit;        /* when not running */
};
typedef void guest_job_fn(void *arg, const struct guest_job *job, const struct err *err);
int guest_job_state(struct guest_link *g, const char *tag, guest_job_fn *fn, void *arg);
typedef void guest_bytes_fn(void *arg, const char *data, size_t len, const struct err *err);
/* Log bytes from offset, at most max (<= 1 MiB). ERR_GONE when offset is below log_start. */
int guest_job_log(struct guest_link *g, const char *tag, uint64_t offset, size_t max, guest_bytes_fn *fn, void *arg);
typedef void guest_done_fn(void *arg, const struct err *err); /* err NULL: done */
int guest_job_signal(struct guest_link *g, const char *tag, int signo, guest_done_fn *fn, void *arg);
int guest_job_input(struct guest_link *g, const char *tag, const char *data, size_t len, bool is_last,
                    guest_done_fn *fn, void *arg);
/* fn is called once the log has bytes past offset, or the command has ended. */
int guest_job_wait(struct guest_link *g, const char *tag, uint64_t offset, guest_done_fn *fn, void *arg);
int guest_job_forget(struct guest_link *g, const char *tag, guest_done_fn *fn, void *arg);
/* Calls fn each time a durable command ends, also for those started before this link. One handler per link. */
void guest_on_job_exit(struct guest_link *g, void (*fn)(void *arg, const char *tag, const struct guest_exit *ex),
                       void *arg);

/* Services: commands that the agent keeps running (PROTO_SERVICE_DEFINE). Their logs are those of jobs with the tag
 * PROTO_SERVICE_TAG and the name. */
struct guest_service_plan {
    const char *name;
    uint8_t policy, ready; /* PROTO_RESTART_*, PROTO_READY_* */
    uint16_t port;
    const char *path;
    uint32_t max_restarts, pause_ms, stop_ms, interval_ms, timeout_ms;
    const char *const *check, *const *after; /* NULL-terminated, or NULL */
    struct guest_exec_plan exec;             /* its argv, env, cwd and user */
};
/* -EOPNOTSUPP: an agent of an older release, or its handshake has not come yet. err says why it failed otherwise. */
int guest_service_define(struct guest_link *g, const struct guest_service_plan *plan, guest_done_fn *fn, void *arg,
                         struct err *err);
int guest_service_act(struct guest_link *g, const char *name, uint8_t act, guest_done_fn *fn,
                      void *arg); /* PROTO_ACT_* */
struct guest_service {
    const char *name, *error; /* text of the guest's choice */
    uint8_t state;            /* PROTO_SERVICE_* */
    int pid;                  /* 0: it does not run */
    uint32_t restarts;
    int code; /* of its last process; -1: none has exited */
    uint64_t age_ms;
};
/* Calls fn at each change of a service, and once before the answer of the calls above. One handler per link. */
void guest_on_service(struct guest_link *g, void (*fn)(void *arg, const struct guest_service *s), void *arg);

/* System calls that the filter of the box denied (PROTO_DENIED). program is text of the guest's choice: any bytes, at
 * most GUEST_PROGRAM_MAX. One handler per link. */
#define GUEST_PROGRAM_MAX 64
struct guest_denied {
    uint32_t nr, arch, error, pid;
    uint64_t count, lost; /* neither is more than 2^53 */
    const char *program;
};
void guest_on_denied(struct guest_link *g, void (*fn)(void *arg, const struct guest_denied *d), void *arg);

/* The sockets of the sandbox that listen for TCP (PROTO_LISTENING): all of them, each time they have changed. address
 * is numeric; program is text of the guest's choice: any bytes, at most GUEST_PROGRAM_MAX, "" unknown. One handler per
 * link. */
#define GUEST_LISTENERS_MAX 128
struct guest_listener {
    uint16_t port;
    uint32_t pid; /* 0: unknown */
    const char *address, *program;
};
typedef void guest_listening_fn(void *arg, const struct guest_listener *rows, size_t n);
void guest_on_listening(struct guest_link *g, guest_listening_fn *fn, void *arg);

/* --- files: paths are absolute inside the sandbox; errors carry the guest's errno as kind (404, 400, 403, 409, 507)
 * --- */
struct guest_stat {
    const char *path; /* as asked, or the entry's name for list */
    uint64_t size;
    uint32_t mode; /* st_mode */
    uint32_t uid, gid;
    const char *owner, *group; /* names, or the number as text */
    int64_t mtime_ms;
    const char *target; /* of a symlink, else NULL */
};
typedef void guest_stats_fn(void *arg, const struct guest_stat *st, size_t n, const struct err *err);
int guest_fs_stat(struct guest_link *g, const char *const *paths, size_t n, guest_stats_fn *fn, void *arg);
int guest_fs_list(struct guest_link *g, const char *dir, guest_stats_fn *fn,
                  void *arg); /* sorted by name; max 100,000 */
/* Regular files below dir whose base name matches the glob; absolute paths in st[i].path; max 10,000. */
int guest_fs_search(struct guest_link *g, const char *dir, const char *glob, guest_stats_fn *fn, void *arg);
int guest_fs_move(struct guest_link *g, const char *from, const char *to, guest_done_fn *fn, void *arg);
int guest_fs_mkdir(struct guest_link *g, const char *path, bool has_parents, uint32_t mode, guest_done_fn *fn,
                   void *arg);
int guest_fs_remove(struct guest_link *g, const char *path, bool is_recursive, bool is_forced, guest_done_fn *fn,
                    void *arg);
/* mode: octal "755" or one symbolic clause "u+x"; owner: "uid[:gid]"/name or NULL. */
int guest_fs_chmod(struct guest_link *g, const char *path, const char *mode, const char *owner, bool is_recursive,
                   guest_done_fn *fn, void *arg);
/* Writes a small file in one round trip (<= 1 MiB): makes its parents, writes beside the target and renames. */
int guest_fs_put(struct guest_link *g, const char *path, const char *data, size_t len, uint32_t mode, guest_done_fn *fn,
                 void *arg);
/* A file as it was opened or put in place. version differs when the file was changed or replaced. */
struct guest_content {
    struct guest_stat stat;
    uint64_t version;
    bool has_size; /* opened: else its size is not known before its end (/proc) */
    bool is_new;   /* put in place: there was none */
};
/* Streams. max 0 = to the end. The reader calls on_open (size known) first, then data to be credited, then on_done.
 * Directories, FIFOs and devices are rejected with ERR_INVALID without blocking. */
struct guest_read_events {
    void (*on_open)(void *arg, const struct guest_stat *st); /* may be NULL, and is for guest_content_open() */
    void (*on_content)(void *arg, const struct guest_content *content); /* guest_content_open() only */
    void (*on_data)(void *arg, const char *data, size_t len);
    void (*on_done)(void *arg, const struct err *err);
};
int guest_fs_read(struct guest_link *g, const char *path, uint64_t offset, uint64_t max,
                  const struct guest_read_events *ev, void *arg, struct guest_reader **ret);
/* The same with the rights of a user, in two steps: on_content, then guest_reader_range() once, and data follows. */
int guest_content_open(struct guest_link *g, const char *path, const char *user, const struct guest_read_events *ev,
                       void *arg, struct guest_reader **ret);
void guest_reader_range(struct guest_reader *r, uint64_t offset, uint64_t max); /* max UINT64_MAX: to the end */
void guest_reader_credit(struct guest_reader *r, size_t bytes);
void guest_reader_drop(struct guest_reader *r);
/* Writes beside the target and renames at the end, so a broken upload leaves the old file. */
int guest_fs_write(struct guest_link *g, const char *path, uint32_t mode, bool has_parents, guest_done_fn *fn,
                   void *arg, struct guest_writer **ret);
/* The same, but mode is used as it is (even 0), and a symlink at path is replaced, not followed. */
#define GUEST_MODE_GIVEN 0100000u /* or'ed to a mode: it is explicit, even when it is 0 */
int guest_fs_replace(struct guest_link *g, const char *path, uint32_t mode, bool has_parents, guest_done_fn *fn,
                     void *arg, struct guest_writer **ret);
/* What must be true of the file that is there, when the write begins and when it is put in place; else ERR_UNMET. */
enum {
    GUEST_STORE_EXISTS = 1,
    GUEST_STORE_ABSENT = 2,
    GUEST_STORE_MATCH = 4,
    GUEST_STORE_OTHER = 8
}; /* PROTO_STORE_* */
#define GUEST_STORE_VERSIONS 64
struct guest_store_plan {
    const char *path, *user; /* user: as in guest_exec_plan */
    uint32_t mode;           /* 0: the old file's, or 0644 */
    unsigned flags;
    const uint64_t *versions; /* of MATCH (one of them) and OTHER (none of them) */
    size_t n_versions;
};
typedef void guest_content_fn(void *arg, const struct guest_content *content,
                              const struct err *err); /* err or content */
/* With the rights of a user; makes missing parents, and removes them again when the write fails. */
int guest_content_store(struct guest_link *g, const struct guest_store_plan *plan, guest_content_fn *fn, void *arg,
                        struct guest_writer **ret);
/* A file or folder as a tar archive, and one into a folder, with the rights of a user. The reader calls on_data and
 * on_done. */
struct guest_pack_plan {
    const char *path, *user;
    bool is_plain; /* without hard links: a file with several names is stored once for each */
};
int guest_tree_pack(struct guest_link *g, const struct guest_pack_plan *plan, const struct guest_read_events *ev,
                    void *arg, struct guest_reader **ret);
struct guest_unpacked {
    uint64_t entries, bytes;
};
typedef void guest_unpacked_fn(void *arg, const struct guest_unpacked *done, const struct err *err); /* err or done */
int guest_tree_unpack(struct guest_link *g, const char *path, const char *user, guest_unpacked_fn *fn, void *arg,
                      struct guest_writer **ret);
size_t guest_writer_send(struct guest_writer *w, const char *data, size_t len); /* accepted bytes */
void guest_writer_on_writable(struct guest_writer *w, loop_fn *fn, void *arg);
void guest_writer_end(struct guest_writer *w);  /* fn is called when the file is in place */
void guest_writer_drop(struct guest_writer *w); /* leaves nothing behind; no callback */

/* --- the text of files: see PROTO_FS_GREP, PROTO_FS_SED and PROTO_FS_CHANGE in guest/proto.h --- */
struct guest_row {
    const char *path, *text;
    uint64_t number;
    bool is_set;
};
typedef void guest_rows_fn(void *arg, const struct guest_row *rows, size_t n, const struct err *err);
/* the same values as PROTO_TEXT_*; ROOT: sed's one path is a root to walk, else its paths are files */
enum {
    GUEST_TEXT_RECURSIVE = 1,
    GUEST_TEXT_ICASE = 2,
    GUEST_TEXT_LITERAL = 4,
    GUEST_TEXT_FIRST_ONLY = 8,
    GUEST_TEXT_ROOT = 16,
};
struct guest_text_plan {
    unsigned flags;
    const char *pattern, *replacement;           /* replacement: sed only */
    const char *const *include, *const *exclude; /* globs, NULL-terminated, or NULL */
    const char *const *paths;                    /* NULL-terminated; grep uses the first */
    uint64_t max_matches;                        /* 0: all */
    uint32_t max_line_bytes;                     /* 0: 32 KiB */
};
/* -EINVAL: a path is relative or too long, or there are too many. */
int guest_fs_grep(struct guest_link *g, const struct guest_text_plan *plan, guest_rows_fn *fn, void *arg);
int guest_fs_sed(struct guest_link *g, const struct guest_text_plan *plan, guest_rows_fn *fn, void *arg);
struct guest_change {
    uint32_t mode, uid, gid; /* UINT32_MAX: keep */
    bool is_recursive;
};
int guest_fs_change(struct guest_link *g, const char *path, const struct guest_change *what, guest_rows_fn *fn,
                    void *arg);

/* --- changes of files below a folder, with the rights of a user: see PROTO_FS_WATCH and PROTO_CHANGE_* in
 * guest/proto.h
 * --- */
struct guest_file_change {
    uint8_t kind; /* PROTO_CHANGE_* */
    bool is_folder;
    const char *path, *text;
};
struct guest_watch_plan {
    const char *path, *user;
    const char *const *exclude; /* globs, NULL-terminated, or NULL; LIMIT WATCH_EXCLUDES at most */
    bool is_recursive;
};
struct guest_watch_events {
    /* The first is READY. bytes are to be credited: until then no more come than the window holds, and what happens is
     * merged by the agent. */
    void (*on_changes)(void *arg, const struct guest_file_change *changes, size_t n, size_t bytes);
    void (*on_done)(void *arg, const struct err *err); /* it failed, or the link broke */
};
int guest_watch_start(struct guest_link *g, const struct guest_watch_plan *plan, const struct guest_watch_events *ev,
                      void *arg, struct guest_watch **ret);
void guest_watch_credit(struct guest_watch *w, size_t bytes);
void guest_watch_drop(struct guest_watch *w);

/* Counts that only the agent of a VM has. ERR_UNSUPPORTED from others. */
struct guest_usage {
    uint32_t pids; /* processes and threads */
    uint64_t memory_bytes, oom_kills;
};
typedef void guest_usage_fn(void *arg, const struct guest_usage *usage, const struct err *err);
int guest_usage(struct guest_link *g, guest_usage_fn *fn, void *arg);

/* --- processes --- */
struct guest_process {
    int pid, ppid;
    const char *user, *command;
    double cpu_percent; /* since its start */
    uint64_t rss_kb, vsz_kb;
    char state;
};
typedef void guest_processes_fn(void *arg, const struct guest_process *p, size_t n, uint64_t total_memory_kb,
                                const struct err *err);
int guest_processes(struct guest_link *g, guest_processes_fn *fn,
                    void *arg); /* the agent itself is not listed; max 4,096 */
int guest_kill(struct guest_link *g, int pid, int signo, guest_done_fn *fn,
               void *arg); /* ERR_NOT_FOUND; never pid <= 1 */
/* Sends signo to every process of the sandbox. fn is called once none is left, and a VM's disk has what they wrote: it
 * may never be. -EOPNOTSUPP: an agent of an older release, or its handshake has not come yet. */
int guest_end(struct guest_link *g, int signo, guest_done_fn *fn, void *arg);
/* SIGINT to the process groups of all running non-durable, non-terminal execs. */
int guest_interrupt(struct guest_link *g, guest_done_fn *fn, void *arg);

/* --- tunnels: a TCP connection or UDP socket to 127.0.0.1:port inside the sandbox --- */
struct guest_tunnel_events {
    void (*on_open)(void *arg);
    void (*on_data)(void *arg, const char *data, size_t len); /* credit it; UDP: one datagram each */
    void (*on_eof)(void *arg);                                /* TCP: peer sent FIN */
    void (*on_closed)(void *arg, const struct err *err);      /* err NULL: ended well; ERR_UPSTREAM: refused */
};
int guest_tunnel_open(struct guest_link *g, bool is_udp, const char *host, uint16_t port,
                      const struct guest_tunnel_events *ev, void *arg,
                      struct guest_tunnel **ret); /* host NULL = 127.0.0.1, then ::1 */
/* For so long from now TCP tunnels wait for a port that refuses, because its server is being started. The agent must
 * be new, or have sent its handshake. */
void guest_await_ports(struct guest_link *g, int64_t ms);
int64_t guest_ports_wait_ms(const struct guest_link *g); /* what is left of it; 0: tunnels do not wait */
/* Replaces the callbacks. Allowed inside its own callbacks. */
void guest_tunnel_redirect(struct guest_tunnel *t, const struct guest_tunnel_events *ev, void *arg);
void guest_tunnel_credit(struct guest_tunnel *t, size_t bytes);
size_t guest_tunnel_send(struct guest_tunnel *t, const char *data, size_t len); /* accepted bytes */
void guest_tunnel_on_writable(struct guest_tunnel *t, loop_fn *fn, void *arg);
void guest_tunnel_shutdown(struct guest_tunnel *t); /* FIN */
void guest_tunnel_drop(struct guest_tunnel *t);

/* --- the box itself --- */
int guest_ping(struct guest_link *g, guest_done_fn *fn, void *arg);
int guest_set_hostname(struct guest_link *g, const char *name, guest_done_fn *fn, void *arg);
/* Mixes in new entropy and steps the clock: after a fork or restore. */
int guest_reseed(struct guest_link *g, const void *seed, size_t len, guest_done_fn *fn, void *arg);
