/* The wire format between the host and the agent inside a sandbox, shared by both programs. libc only, no allocation.
 *
 * The stream is a sequence of frames, all numbers little-endian:
 *   u32 length   payload bytes, at most PROTO_PAYLOAD_MAX
 *   u32 stream   0: the connection itself; else an id the host chose, which rises by one with each request
 *   u16 type     enum proto_type
 *   u16 flags    PROTO_MORE or 0
 *   payload      laid out as said beside each type
 * Fields: u8 u16 u32 u64 i64; str = u32 n, n bytes that hold no NUL, one NUL (so it is read in place as C text);
 * strs = u32 count, count x str; data = the rest of the payload, any bytes.
 *
 * Rules both sides keep:
 * 1. Each side sends HANDSHAKE first and at once, and need not wait for the other's before it sends more. It names the
 *    newest and the oldest version it speaks; both then use the lower of the two newest ones (proto_agree), and only
 *    frames of their own oldest version until they know it. So a server of a later version continues with the agents of
 *    boxes that an earlier one made.
 * 2. A request opens its stream; DONE, ERROR, EXEC_EXIT or a reply without PROTO_MORE ends it. After DROP (host) or an
 *    end (agent) nothing more is sent on the stream; what the other side had under way for it is ignored. The agent
 *    ignores every frame but a request for a stream it does not know.
 * 3. A request above one payload is cut into frames of one stream and type, all but the last with PROTO_MORE, with no
 *    other frame between them; the payloads are joined, at most PROTO_REQUEST_MAX bytes in all. A request without
 *    PROTO_MORE is complete in its one frame.
 * 4. A long reply (FS_STATS, PROC_LIST_REPLY, JOB_LOG_REPLY) is several frames, all but the last with PROTO_MORE; each
 *    frame holds whole records; other streams' frames may come between.
 * 5. Flow control: each direction of a stream's data (EXEC_OUTPUT, EXEC_STDIN, FS_DATA, FS_CHANGES, TUNNEL_DATA) starts
 * with PROTO_WINDOW bytes of credit, the window (some requests have PROTO_WINDOW_WIDE). Only the bytes of `data` count.
 *    The receiver gives credit back with CREDIT as it passes bytes on. Sending beyond the credit, or crediting beyond
 *    the window, is a protocol error.
 * 6. A protocol error by the guest ends the link; one by the host makes the agent close the connection. */
#pragma once
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

#define PROTO_MAGIC         0x47696969u /* "iiiG" */
#define PROTO_VERSION       1
#define PROTO_OLDEST        1 /* the oldest version that this program still supports */
#define PROTO_HEADER        12u
#define PROTO_PAYLOAD_MAX   65536u
#define PROTO_FRAME_MAX     (PROTO_HEADER + PROTO_PAYLOAD_MAX)
#define PROTO_REQUEST_MAX   (4u * 1024 * 1024) /* joined payload of one request */
#define PROTO_WINDOW        (256u * 1024)
#define PROTO_WINDOW_WIDE   (1024u * 1024) /* of FS_OPEN, FS_STORE, FS_PACK and FS_UNPACK: fewer, larger turns */
#define PROTO_PUT_MAX       (1024u * 1024) /* data of FS_PUT and JOB_INPUT; most bytes of one JOB_LOG */
#define PROTO_TAG_MAX       LIMIT_MAX(EXEC_ID_BYTES)
#define PROTO_PATH_MAX      4095u            /* longest path, without its NUL */
#define PROTO_ARGS_MAX      32768u           /* argv entries; env entries too */
#define PROTO_STAT_MAX      4096u            /* paths of one FS_STAT */
#define PROTO_LIST_MAX      LIMIT_MAX(FILES) /* entries of one FS_LIST; more is ERROR E2BIG */
#define PROTO_SEARCH_MAX    10000u           /* results of one FS_SEARCH; the agent stops there */
#define PROTO_PROC_MAX      4096u
#define PROTO_ADDRESS_MAX   45u /* of a listener */
#define PROTO_PROGRAM_MAX   64u
#define PROTO_LISTENERS_MAX 128u        /* records of one LISTENING; those of higher ports are left out */
#define PROTO_COMMAND_MAX   4096u       /* longest command line of a process; the agent cuts it */
#define PROTO_NO_STRS       0xffffffffu /* a count of strs that means "not given" */

enum { PROTO_MORE = 1 }; /* frame flags */

/* What an agent can do beyond version 1. The host ignores bits it does not know. CONTENT: FS_OPEN to FS_UNPACKED. END:
 * PROC_END. WATCH: FS_WATCH. SFTP: that flag of
 * EXEC_START. DENIED, of a host: it takes DENIED. LISTENING, of a host: it takes LISTENING; of an agent: TUNNEL_AWAIT.
 * SERVICES: SERVICE_DEFINE and SERVICE_ACT, of a host: SERVICE_STATE.
 */
enum {
    PROTO_CAP_NONE = 0,
    PROTO_CAP_CONTENT = 1,
    PROTO_CAP_END = 2,
    PROTO_CAP_WATCH = 8,
    PROTO_CAP_DENIED = 16,
    PROTO_CAP_SFTP = 32,
    PROTO_CAP_LISTENING = 64,
    PROTO_CAP_SERVICES = 128,
};

/* flags of EXEC_START; the same values as GUEST_EXEC_* of guest/link.h, which says what they mean */
enum {
    PROTO_WITH_STDIN = 1,
    PROTO_WITH_PTY = 2,
    PROTO_WITH_LOG = 4,
    PROTO_WITH_MERGE = 8,
    PROTO_WITH_WAIT_EOF = 16,
    PROTO_WITH_MARKS = 32,
    PROTO_WITH_SFTP = 64,
};

/* flags of FS_WRITE. REPLACE: replaces what is there, even a symlink (default: written through it) */
enum { PROTO_WRITE_PARENTS = 1, PROTO_WRITE_REPLACE = 2 };
/* flags of FS_STORE: what must be true of the file that is there, at the beginning and when it is replaced. EXISTS:
 * there is one; ABSENT: there is none; MATCH: its version is one of the list; OTHER: it is none of the list */
enum { PROTO_STORE_EXISTS = 1, PROTO_STORE_ABSENT = 2, PROTO_STORE_MATCH = 4, PROTO_STORE_OTHER = 8 };
#define PROTO_STORE_FLAGS    15u
#define PROTO_STORE_VERSIONS 64u       /* in the list of one FS_STORE */
#define PROTO_UNMET          ECANCELED /* errno of an ERROR: such a condition is not met. No file operation fails with it */
/* flags of FS_GREP and FS_SED */
enum {
    PROTO_TEXT_RECURSIVE = 1,
    PROTO_TEXT_ICASE = 2,
    PROTO_TEXT_LITERAL = 4,
    PROTO_TEXT_FIRST_ONLY = 8,
    PROTO_TEXT_ROOT = 16 /* FS_SED: the one path is a root to walk, its failure is an ERROR; else it is a file */
};
#define PROTO_ROW_TEXT_MAX 32768u /* longest text of a row; the agent cuts lines to it */

/* kind of a change record. MOVED: text is the old path. OVERFLOW: changes at and below path were lost, list it again.
 * LIMIT: what is not watched, text is why. GONE: the watched folder is not there any more; BACK: it is there again,
 * list it. READY: from now on changes are reported. */
enum {
    PROTO_CHANGE_CREATED = 1,
    PROTO_CHANGE_MODIFIED,
    PROTO_CHANGE_DELETED,
    PROTO_CHANGE_MOVED,
    PROTO_CHANGE_ATTRIBUTES,
    PROTO_CHANGE_OVERFLOW,
    PROTO_CHANGE_LIMIT,
    PROTO_CHANGE_GONE,
    PROTO_CHANGE_BACK,
    PROTO_CHANGE_READY,
    PROTO_CHANGE_LAST = PROTO_CHANGE_READY
};

/* What a service does, when it is restarted, how its readiness is checked, and what is done to it. */
enum {
    PROTO_SERVICE_WAITING = 1, /* for services that it depends on */
    PROTO_SERVICE_STARTING,    /* it runs, and is not ready yet */
    PROTO_SERVICE_RUNNING,
    PROTO_SERVICE_RESTARTING, /* it has exited, and its next start waits */
    PROTO_SERVICE_STOPPING,
    PROTO_SERVICE_STOPPED, /* on request */
    PROTO_SERVICE_EXITED,  /* with code 0, and is not to be restarted */
    PROTO_SERVICE_FAILED,
    PROTO_SERVICE_LAST = PROTO_SERVICE_FAILED
};
enum { PROTO_RESTART_NO, PROTO_RESTART_ON_FAILURE, PROTO_RESTART_ALWAYS };
enum { PROTO_READY_NONE, PROTO_READY_PORT, PROTO_READY_HTTP, PROTO_READY_COMMAND };
enum { PROTO_ACT_START, PROTO_ACT_STOP, PROTO_ACT_RESTART };
#define PROTO_SERVICE_TAG \
    ".service-" /* before the name of a service: tag of its log for JOB_STATE, JOB_LOG and JOB_WAIT */

enum { PROTO_EXIT_TIMEOUT = 1, PROTO_EXIT_OOM = 2 }; /* flags of an exit block */

/* H>G is sent by the host, G>H by the agent. "-> X" names the reply; every request may be answered by ERROR instead. */
enum proto_type {
    /* stream 0, both ways: u32 PROTO_MAGIC, u16 PROTO_VERSION, u16 PROTO_OLDEST (0: the same), u32 caps */
    PROTO_HANDSHAKE = 1,
    PROTO_DONE = 2,   /* G>H: empty. Done well; ends the stream */
    PROTO_ERROR = 3,  /* G>H: u32 errno (1..4095), str step ("open /x": no errno text in it). Ends the stream */
    PROTO_CREDIT = 4, /* both ways: u32 bytes (> 0) of the other side's data were passed on */
    /* H>G: empty. The host forgot the stream: a command that is not durable is killed with its tree, a durable one
     * continues, a reader stops, a writer removes its unfinished file, a tunnel closes. Nothing is answered. */
    PROTO_DROP = 5,
    PROTO_PING = 6,     /* H>G: empty -> DONE */
    PROTO_HOSTNAME = 7, /* H>G: str name -> DONE */
    PROTO_RESEED = 8,   /* H>G: u64 wall clock in us since the epoch, data seed -> DONE. Mix in seed, step the clock */
    PROTO_USAGE = 9,    /* H>G: empty -> USAGE_REPLY; ERROR ENOSYS where the host knows that itself */
    PROTO_USAGE_REPLY = 10, /* G>H: u32 processes and threads, u64 bytes of memory, u64 OOM kills */
    /* G>H on stream 0, to a host with PROTO_CAP_DENIED: u32 number of a system call that the box's filter denied, u32
     * AUDIT_ARCH_*, u32 errno, u32 pid (0 unknown), u64 count, u64 further ones that are in no frame, str program */
    PROTO_DENIED = 11,
    /* G>H on stream 0, to a host with PROTO_CAP_LISTENING: listener records to the end of the payload, at most
     * PROTO_LISTENERS_MAX: all sockets that listen for TCP now. After its HANDSHAKE, and when they have changed */
    PROTO_LISTENING = 12,

    /* H>G: u32 PROTO_WITH_* flags, u16 cols, u16 rows, u32 timeout_ms (0 none), str cwd ("" = "/"), str user ("" =
     * root; "uid[:gid]" or a name of /etc/passwd), str tag ("" unless PROTO_WITH_LOG), strs argv (at least one), strs
     * env (count PROTO_NO_STRS = the agent's default) -> EXEC_STARTED, EXEC_OUTPUT..., EXEC_EXIT; ERROR when it never
     * started. A durable command sends no EXEC_OUTPUT (its output is in the log) but STARTED and EXIT like any other;
     * its input is JOB_INPUT or EXEC_STDIN. */
    PROTO_EXEC_START = 16,
    PROTO_EXEC_STARTED = 17,     /* G>H: u32 pid in the sandbox's pid namespace */
    PROTO_EXEC_OUTPUT = 18,      /* G>H: u8 1 or 2, data (not empty); both share one window */
    PROTO_EXEC_EXIT = 19,        /* G>H: exit block. Ends the stream; all output was sent before */
    PROTO_EXEC_STDIN = 20,       /* H>G: data (not empty); the agent credits what the pipe or terminal took */
    PROTO_EXEC_STDIN_CLOSE = 21, /* H>G: empty. After all input: close the pipe; on a terminal send ^D */
    PROTO_EXEC_SIGNAL = 22,      /* H>G: u32 signo, to the whole process group */
    PROTO_EXEC_RESIZE = 23,      /* H>G: u16 cols, u16 rows */

    PROTO_JOB_STATE = 32, /* H>G: str tag -> JOB_STATE_REPLY; unknown tag: ERROR ENOENT (so for all JOB_*) */
    /* G>H: u8 is_running, u32 pid, u64 log_bytes (end offset of the log), u64 log_start (first offset still kept),
     * exit block (zeros while running) */
    PROTO_JOB_STATE_REPLY = 33,
    /* H>G: str tag, u64 offset, u32 max -> JOB_LOG_REPLY; offset below log_start: ERROR ERANGE; at the end: no bytes */
    PROTO_JOB_LOG = 34,
    PROTO_JOB_LOG_REPLY = 35, /* G>H: data; at most max bytes over all frames */
    PROTO_JOB_SIGNAL = 36,    /* H>G: str tag, u32 signo -> DONE; ended already: ERROR ESRCH */
    PROTO_JOB_INPUT = 37,     /* H>G: u8 is_last, str tag, data -> DONE when taken; no open stdin: ERROR EPIPE */
    PROTO_JOB_FORGET = 38,    /* H>G: str tag -> DONE. Running: killed with its tree. Its log is deleted */
    /* G>H on stream 0: str tag, exit block. Each durable command's end, after its EXEC_EXIT if that stream is open. One
     * that ended while no host was connected is told after the next HANDSHAKE. */
    PROTO_JOB_EXIT = 39,
    PROTO_JOB_WAIT =
        40, /* H>G: str tag, u64 offset -> DONE once the log has bytes past offset, or the command has ended */

    PROTO_FS_STAT = 48,   /* H>G: strs paths -> FS_STATS with one record each; the first failure is an ERROR. lstat */
    PROTO_FS_LIST = 49,   /* H>G: str dir -> FS_STATS, path = entry name, sorted by strcmp, no "." and ".." */
    PROTO_FS_SEARCH = 50, /* H>G: str dir, str glob (fnmatch on the base name) -> FS_STATS, absolute paths */
    PROTO_FS_STATS = 51,  /* G>H: stat records to the end of the payload */
    PROTO_FS_MOVE = 52,   /* H>G: str from, str to -> DONE */
    PROTO_FS_MKDIR = 53,  /* H>G: str path, u8 has_parents, u32 mode (0 = 0755) -> DONE */
    PROTO_FS_REMOVE = 54, /* H>G: str path, u8 is_recursive, u8 is_forced (absent is fine) -> DONE */
    PROTO_FS_CHMOD = 55,  /* H>G: str path, str mode ("" = keep), str owner ("" = keep), u8 is_recursive -> DONE */
    /* H>G: str path, u32 mode (0 = the old file's, or 0644), data (at most PROTO_PUT_MAX) -> DONE */
    PROTO_FS_PUT = 56,
    /* H>G: str path, u64 offset, u64 max (UINT64_MAX = to the end) -> FS_OPENED, FS_DATA..., DONE */
    PROTO_FS_READ = 57,
    PROTO_FS_OPENED = 58, /* G>H: one stat record, path as asked (symlinks followed) */
    PROTO_FS_DATA = 59,   /* G>H of FS_READ, H>G of FS_WRITE: data (not empty) */
    /* H>G: str path, u32 mode (as FS_PUT), u8 PROTO_WRITE_* flags; then FS_DATA..., FS_END -> DONE when it is in place
     */
    PROTO_FS_WRITE = 60,
    PROTO_FS_END = 61, /* H>G: empty */

    PROTO_PROC_LIST = 64,       /* H>G: empty -> PROC_LIST_REPLY */
    PROTO_PROC_LIST_REPLY = 65, /* G>H: u64 total_memory_kb, process records to the end of the payload */
    PROTO_PROC_KILL = 66,       /* H>G: u32 pid (> 1), u32 signo -> DONE */
    PROTO_PROC_INTERRUPT = 67,  /* H>G: empty -> DONE. SIGINT to the groups of all non-durable, non-terminal execs */
    /* H>G: u32 signo, to every process but the agent -> DONE once none is left and, in a VM, the disk has everything
     * that was written. Only with PROTO_CAP_END: an agent without it closes the link */
    PROTO_PROC_END = 68,

    /* H>G: u8 is_udp, u16 port, str host ("" = 127.0.0.1, then ::1) -> TUNNEL_OPENED, TUNNEL_DATA..., DONE when both
     * directions ended well, ERROR when refused or broken. Data may be sent before TUNNEL_OPENED. */
    PROTO_TUNNEL_OPEN = 80,
    PROTO_TUNNEL_OPENED = 81, /* G>H: empty */
    PROTO_TUNNEL_DATA = 82,   /* both ways: data (not empty on TCP); UDP: one datagram each */
    PROTO_TUNNEL_EOF = 83,    /* both ways, TCP, once: empty. No more data from this side */
    /* H>G: u32 wait_ms, then as TUNNEL_OPEN, only TCP: while the port refuses, it is tried again for so long. Only with
     * PROTO_CAP_LISTENING */
    PROTO_TUNNEL_AWAIT = 84,

    /* H>G: u32 PROTO_TEXT_* flags, u64 most matches (0 all), u32 most bytes of a line (0 PROTO_ROW_TEXT_MAX), str path,
     * str pattern, strs include, strs exclude (PROTO_NO_STRS none) -> FS_ROWS: path, line number, is_set = the line was
     * cut, line. A last row without a path: there may be more matches. A bad pattern: ERROR EBADMSG. */
    PROTO_FS_GREP = 96,
    /* H>G: u32 PROTO_TEXT_* flags, str pattern, strs include, strs exclude, strs paths, data replacement -> FS_ROWS:
     * path, replacements, is_set = it went well, else why not. */
    PROTO_FS_SED = 97,
    /* H>G: str path, u32 mode, u32 uid, u32 gid (UINT32_MAX keeps), u8 is_recursive -> FS_ROWS: one with the number of
     * entries changed. Links are followed, but not descended through. */
    PROTO_FS_CHANGE = 98,
    PROTO_FS_ROWS = 99, /* G>H: row records to the end of the payload */

    /* Contents of files with the rights of a user ("" = root, else as in EXEC_START). A version is a number that
     * differs when the file was changed or replaced. */

    /* H>G: str path, str user -> FS_CONTENT; then FS_RANGE -> FS_DATA..., DONE. A regular file, else ERROR */
    PROTO_FS_OPEN = 104,
    PROTO_FS_CONTENT = 105, /* G>H: u64 version, u8 has_size (0: only its end shows it), one stat record */
    PROTO_FS_RANGE = 106,   /* H>G, once: u64 offset, u64 max (UINT64_MAX = to the end) */
    /* H>G: str path, str user, u32 mode (0 = the old file's, or 0644), u32 PROTO_STORE_* flags, versions to the end of
     * the payload; then FS_DATA..., FS_END -> FS_STORED when it is in place. Makes missing parents */
    PROTO_FS_STORE = 107,
    PROTO_FS_STORED = 108, /* G>H: u64 version, u8 is_new (there was none), one stat record. Ends the stream */
    /* H>G: str path, str user, u8 is_plain (a file with several names is stored once for each) -> FS_DATA..., DONE: a
     * file or folder as a tar archive */
    PROTO_FS_PACK = 109,
    /* H>G: str path, str user; then FS_DATA..., FS_END -> FS_UNPACKED: a tar archive into a folder, which is made when
     * it is missing. ERROR may come before FS_END */
    PROTO_FS_UNPACK = 110,
    PROTO_FS_UNPACKED = 111, /* G>H: u64 entries, u64 bytes of their contents. Ends the stream */

    /* H>G: str path of a folder, str user, u8 is_recursive, strs exclude (globs; PROTO_NO_STRS none) -> FS_CHANGES...
     * with READY first, until DROP; ERROR when it cannot be watched (any more) */
    PROTO_FS_WATCH = 117,
    PROTO_FS_CHANGES = 118, /* G>H: change records to the end of the payload, at least one; all of it is `data` */

    /* H>G: str name, u8 PROTO_RESTART_*, u32 most restarts in a row, u32 ms before the first of them, u32 ms from
     * SIGTERM to SIGKILL, u8 PROTO_READY_*, u16 port, str path, u32 ms between two checks, u32 ms until it must be
     * ready, strs command of the check, strs names of services that must be ready before (both PROTO_NO_STRS: none),
     * then the fields of EXEC_START -> DONE after a SERVICE_STATE. A new service starts; one that exists has the new
     * definition from its next start on. */
    PROTO_SERVICE_DEFINE = 128,
    PROTO_SERVICE_ACT = 129, /* H>G: str name, u8 PROTO_ACT_* -> DONE after a SERVICE_STATE: it has begun */
    /* G>H on stream 0, to a host with PROTO_CAP_SERVICES, at each change: str name, u8 PROTO_SERVICE_*, u32 pid (0: it
     * does not run), u32 automatic restarts, u8 has_exited, u32 exit code of its last process, u64 ms since the change,
     * str error ("": none) */
    PROTO_SERVICE_STATE = 130,
};

/* exit block: u32 code, u32 signal (0 = on its own), u32 PROTO_EXIT_* flags, u64 user_us, u64 system_us, u64
 * max_rss_kb, u64 wall_us */
struct proto_exit {
    uint32_t code, signal, flags;
    uint64_t user_us, system_us, max_rss_kb, wall_us;
};

/* stat record: str path, u64 size, u32 st_mode, u32 uid, u32 gid, str owner, str group (name, or the number as text),
 * i64 mtime_ms, str target ("" unless a symlink) */
struct proto_stat {
    const char *path, *owner, *group, *target; /* never NULL after a read; NULL is written as "" */
    uint64_t size;
    int64_t mtime_ms;
    uint32_t mode, uid, gid;
};

/* process record: u32 pid, u32 ppid, str user, str command, u32 cpu since start in 1/100 percent, u64 rss_kb,
 * u64 vsz_kb, u8 state letter */
struct proto_process {
    uint32_t pid, ppid, cpu_centi;
    uint64_t rss_kb, vsz_kb;
    const char *user, *command;
    char state;
};

/* listener record: u16 port, u32 pid (0 unknown), str numeric address, str program ("" unknown; any bytes) */
struct proto_listener {
    const char *address, *program;
    uint32_t pid;
    uint16_t port;
};

/* row record: str path, u64 number, u8 is_set, str text (at most PROTO_ROW_TEXT_MAX) */
struct proto_row {
    const char *path, *text;
    uint64_t number;
    bool is_set;
};

/* change record: u8 kind, u8 is_folder, str path, str text */
struct proto_change {
    const char *path, *text;
    uint8_t kind;
    bool is_folder;
};

struct proto_handshake {
    uint32_t magic, caps;
    uint16_t version, oldest;
};

struct proto_header {
    uint32_t length, stream;
    uint16_t type, flags;
};

/* --- frames --- */
void proto_header_put(uint8_t out[PROTO_HEADER], const struct proto_header *h);
/* 0, or -EMSGSIZE when length is above PROTO_PAYLOAD_MAX, -EBADMSG when flags has unknown bits. */
int proto_header_get(const uint8_t in[PROTO_HEADER], struct proto_header *ret);

/* --- writing: into memory of the caller; a field that does not fit sets is_full and writes nothing --- */
struct proto_writer {
    uint8_t *data;
    size_t len, cap;
    bool is_full;
};

void proto_writer_init(struct proto_writer *w, void *mem, size_t cap);
void proto_put_u8(struct proto_writer *w, uint8_t v);
void proto_put_u16(struct proto_writer *w, uint16_t v);
void proto_put_u32(struct proto_writer *w, uint32_t v);
void proto_put_u64(struct proto_writer *w, uint64_t v);
void proto_put_str(struct proto_writer *w, const char *s); /* NULL as "" */
void proto_put_data(struct proto_writer *w, const void *data, size_t len);
void proto_put_exit(struct proto_writer *w, const struct proto_exit *x);
void proto_put_stat(struct proto_writer *w, const struct proto_stat *st);        /* whole or nothing */
void proto_put_process(struct proto_writer *w, const struct proto_process *p);   /* whole or nothing */
void proto_put_change(struct proto_writer *w, const struct proto_change *c);     /* whole or nothing */
void proto_put_row(struct proto_writer *w, const struct proto_row *row);         /* whole or nothing */
void proto_put_listener(struct proto_writer *w, const struct proto_listener *l); /* whole or nothing */
void proto_put_handshake(struct proto_writer *w, uint32_t caps);

/* One frame in place: begin leaves room for the header, end fills it in. mem of PROTO_FRAME_MAX holds any frame. */
void proto_frame_begin(struct proto_writer *w, void *mem, size_t cap);
/* Bytes of the whole frame, or -EMSGSIZE when it was full or above PROTO_PAYLOAD_MAX. */
int proto_frame_end(struct proto_writer *w, uint32_t stream, uint16_t type, uint16_t flags);

/* --- reading: the first incomplete field sets is_bad; from then on numbers are 0 and strings "" --- */
struct proto_reader {
    const uint8_t *data;
    size_t left;
    bool is_bad;
};

void proto_reader_init(struct proto_reader *r, const void *payload, size_t len);
uint8_t proto_get_u8(struct proto_reader *r);
uint16_t proto_get_u16(struct proto_reader *r);
uint32_t proto_get_u32(struct proto_reader *r);
uint64_t proto_get_u64(struct proto_reader *r);
/* A string inside the payload, valid as long as it. Longer than max, or with a NUL inside or none at its end: bad.
 * Never NULL. */
const char *proto_get_str(struct proto_reader *r, size_t max);
const uint8_t *proto_get_rest(struct proto_reader *r, size_t *ret_len); /* never fails; may be empty */
/* A count of strs: bad above max, or when that many cannot be in what is left; PROTO_NO_STRS is returned as it is. */
uint32_t proto_get_count(struct proto_reader *r, uint32_t max);
void proto_get_exit(struct proto_reader *r, struct proto_exit *ret);
void proto_get_stat(struct proto_reader *r, struct proto_stat *ret);
void proto_get_process(struct proto_reader *r, struct proto_process *ret);
void proto_get_change(struct proto_reader *r, struct proto_change *ret); /* an unknown kind is bad */
void proto_get_row(struct proto_reader *r, struct proto_row *ret);
void proto_get_listener(struct proto_reader *r, struct proto_listener *ret);
void proto_get_handshake(struct proto_reader *r, struct proto_handshake *ret);
/* The version to use with this peer, 0 when there is none in common. */
unsigned proto_agree(const struct proto_handshake *peer);
int proto_reader_end(const struct proto_reader *r); /* 0 when no field was bad and nothing is left; else -EBADMSG */

/* --- checking a complete message at once, so that the reads after it cannot fail --- */
enum proto_side { PROTO_FROM_HOST, PROTO_FROM_GUEST };
/* 0 when the (joined) payload has exactly the layout of type and that side may send it; else -EBADMSG. */
int proto_check(enum proto_side from, uint16_t type, const void *payload, size_t len);
bool proto_is_request(uint16_t type);    /* opens a stream */
bool proto_can_have_more(uint16_t type); /* may carry PROTO_MORE */
const char *proto_name(uint16_t type);   /* "EXEC_START", or "?" */
