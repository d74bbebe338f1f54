/* iii_sandbox.h: client of an iii-sandbox server, version @VERSION@. Link with -liiisandbox (pkg-config iiisandbox).
 *
 * Every call blocks until its answer is there; streams call a function for each event. A call returns 0 or the code of
 * its failure, which `err` (may be NULL) then explains. What a call gives (`ret`) belongs to the caller, who frees it
 * whole with iii_free(); after a failure *ret is NULL, unless the function says otherwise. Strings are UTF-8 and end
 * with a NUL byte; `x_len` also counts NUL bytes that are part of the text (0 in what is sent: up to the NUL). NULL
 * stands for what is absent. A client may be used by several threads, a terminal by one at a time. What is installed is
 * generated from sdk/c/src/header.h by `./dev sdkgen`. */
#ifndef III_SANDBOX_H
#define III_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define III_API __attribute__((visibility("default")))

/* Codes of failures: those of the server have its HTTP status as their number. */
enum iii_code {
    III_OK = 0,
    III_ARGUMENT = 1,   /* an argument that cannot be sent */
    III_CONNECTION = 2, /* no answer: the connection could not be made, or broke */
    III_DEADLINE = 3,   /* no answer within the time */
    III_PROTOCOL = 4,   /* an answer that is not what the interface says */
    III_NO_MEMORY = 5,
    III_OTHER = 6,   /* the server failed with a status that has no code here */
    III_COMMAND = 7, /* the call's command in the sandbox exited with another code than 0 */
    III_LOCAL = 8,   /* a file or a function of this program failed */
    /* @CODES@ */
};

struct iii_error {
    int code;          /* enum iii_code */
    int status;        /* HTTP status of the answer; 0 without one */
    char message[512]; /* the address that was tried, and what the server or the library says about it; no token */
};

/* Name of a code, as in the server's documentation: "not_found". */
III_API const char *iii_code_name(int code);

typedef struct iii_client iii_client;
typedef struct iii_sandbox iii_sandbox;
typedef struct iii_tty iii_tty;

/* What to run: a line for the shell, or words that are run without one. */
struct iii_command {
    const char *shell;
    const char *const *words;
    size_t count;
};

#define III_SHELL(line) ((struct iii_command){ .shell = (line) })
#define III_WORDS(...)                                                    \
    ((struct iii_command){ .words = (const char *const[]){ __VA_ARGS__ }, \
                           .count = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *) })

/* Optional numbers of options are pointers: {.timeout = III_INT(5)}. */
#define III_INT(n)  (&(const int64_t){ (n) })
#define III_NUM(n)  (&(const double){ (n) })
#define III_BOOL(b) (&(const bool){ (b) })

struct iii_pair {
    const char *name;
    const char *value;
};

/* Variables of a command or a sandbox, in options: {III_ENV({"A", "1"}, {"B", "2"})}. */
#define III_ENV(...)                                 \
    .env = (const struct iii_pair[]){ __VA_ARGS__ }, \
    .env_count = sizeof((const struct iii_pair[]){ __VA_ARGS__ }) / sizeof(struct iii_pair)

struct iii_count {
    const char *name;
    int64_t value;
};

struct iii_amount {
    const char *name;
    double value;
};

/* Types of the interface */

/* @TYPES@ */
/* Clients */

struct iii_config {
    const char *base_url; /* NULL: III_SANDBOX_URL, otherwise http://localhost:3111 */
    const char *token;    /* NULL: III_SANDBOX_TOKEN, otherwise III_AUTH_TOKEN; "": none */
    const char *ca_file;  /* PEM certificates to trust instead of the system's; NULL: III_CA_CERT; "": the system's */
    int timeout_ms;  /* longest time for one answer; 0: 30000, negative: no limit. Streams and long calls have none */
    int max_retries; /* how often a call that may be sent twice is sent again; 0: 2, negative: never */
};

/* config may be NULL: all from the environment. Makes no connection yet. */
III_API int iii_client_new(const struct iii_config *config, iii_client **ret, struct iii_error *err);
III_API void iii_client_free(iii_client *client); /* its sandboxes may be used further; NULL is fine */
III_API void iii_free(const void *result);        /* any `ret` of a call; NULL is fine */

/* Sandboxes. Here a client that is NULL stands for the server of the environment. */

/* Creates and starts one. options may be NULL; without an image and a template: the server's default image,
 * python. */
III_API int iii_create(iii_client *client, const struct iii_sandbox_create_options *options, iii_sandbox **ret,
                       struct iii_error *err);
/* Finds a sandbox by its id, its name or the beginning of its id. */
III_API int iii_connect(iii_client *client, const char *id_or_name, iii_sandbox **ret, struct iii_error *err);
/* The sandbox of this name, awake if it was paused or stopped; or a new one, for which the options are. However many
 * ask at once, all get the same. The end of a III_AUTO_SANDBOX does not kill it. */
III_API int iii_connect_or_create(iii_client *client, const char *name,
                                  const struct iii_sandbox_create_options *options, iii_sandbox **ret,
                                  struct iii_error *err);
/* A new sandbox as a snapshot has it. name may be NULL. */
III_API int iii_from_snapshot(iii_client *client, const char *snapshot_id, const char *name, iii_sandbox **ret,
                              struct iii_error *err);
/* A handle for an id, without asking. */
III_API int iii_handle(iii_client *client, const char *id, iii_sandbox **ret, struct iii_error *err);

/* New sandboxes with the files and configuration of this one. name may be NULL; ret of iii_forks() is an array of count
 * elements, of which a failure leaves none. */
III_API int iii_clone(const iii_sandbox *sandbox, const char *name, iii_sandbox **ret, struct iii_error *err);
III_API int iii_fork(const iii_sandbox *sandbox, iii_sandbox **ret, struct iii_error *err);
III_API int iii_forks(const iii_sandbox *sandbox, size_t count, iii_sandbox **ret, struct iii_error *err);

III_API const char *iii_sandbox_id(const iii_sandbox *sandbox);
III_API iii_client *iii_sandbox_client(const iii_sandbox *sandbox);
/* As of the last answer that described it. NULL for a mere handle. */
III_API const struct iii_sandbox_info *iii_sandbox_details(const iii_sandbox *sandbox);
III_API int iii_refresh(iii_sandbox *sandbox, struct iii_error *err);

/* A link that opens a web server on this port of the sandbox in a browser. On a server with tokens it works once, and
 * becomes a cookie of that browser; iii_preview_open() has more. */
III_API int iii_get_url(const iii_sandbox *sandbox, int port, char **ret, struct iii_error *err);

/* Kills the sandbox and frees the handle, also after a failure. */
III_API int iii_close(iii_sandbox *sandbox, struct iii_error *err);
/* Frees the handle only: the sandbox lives on. NULL is fine. */
III_API void iii_release(iii_sandbox *sandbox);
/* From now on the end of a III_AUTO_SANDBOX only frees the handle. So it is from the beginning for those that
 * iii_connect() and iii_connect_or_create() give. */
III_API void iii_keep(iii_sandbox *sandbox);

/* Variables that are cleaned up at the end of their scope: III_AUTO_SANDBOX iii_sandbox *box = NULL; kills the sandbox
 * that it created. */
III_API void iii_auto_sandbox(iii_sandbox **sandbox);
III_API void iii_auto_client(iii_client **client);
III_API void iii_auto_tty(iii_tty **tty);
III_API void iii_auto_result(void *result); /* a pointer to any pointer that a call gave */
#define III_AUTO_SANDBOX __attribute__((cleanup(iii_auto_sandbox)))
#define III_AUTO_CLIENT  __attribute__((cleanup(iii_auto_client)))
#define III_AUTO_TTY     __attribute__((cleanup(iii_auto_tty)))
#define III_AUTO         __attribute__((cleanup(iii_auto_result)))

/* Commands */

/* A piece of output as it comes. Anything but 0 leaves: the command is killed, code goes on; the call then returns 0,
 * with what came so far. */
typedef int iii_output_fn(const char *data, size_t size, void *arg);

struct iii_exec_options {
    const struct iii_pair *env; /* beside those of the sandbox; III_ENV() */
    size_t env_count;
    const char *user;   /* a name or uid inside the sandbox, or with a group name:group; NULL: the image's */
    const char *cwd;    /* NULL: that of the sandbox */
    int timeout_s;      /* 0: the server's own limit */
    const void *stdin_; /* at most 1 MiB; NULL: empty */
    size_t stdin_size;  /* 0: up to the NUL */
    iii_output_fn *on_stdout, *on_stderr; /* the result has the output, too: its first 10 MiB */
    void *arg;
    bool check; /* another exit code than 0 is III_COMMAND */
};

/* Runs a shell line, or a command, and waits for its end. options may be NULL. A command that takes too long is
 * III_TIMED_OUT; then, and with III_COMMAND, *ret has its output. */
III_API int iii_exec(const iii_sandbox *sandbox, const char *line, const struct iii_exec_options *options,
                     struct iii_exec_result **ret, struct iii_error *err);
III_API int iii_exec_command(const iii_sandbox *sandbox, struct iii_command command,
                             const struct iii_exec_options *options, struct iii_exec_result **ret,
                             struct iii_error *err);

enum iii_exit {
    III_EXITED,
    III_KILLED, /* by the result's signal; its exit code is 128 and the number */
    III_OUT_OF_TIME,
    III_OUT_OF_MEMORY,
};
/* How a command ended. */
III_API enum iii_exit iii_exit_of(const struct iii_exec_result *result);

/* Code */

typedef int iii_rich_result_fn(const struct iii_rich_result *result, void *arg);

struct iii_code_options {
    const char *language;   /* NULL: python */
    const char *context_id; /* of iii_context_create(); NULL: the sandbox's own context of the language */
    int timeout_s;          /* code that takes longer is interrupted; 0: the server's own limit. For contexts only */
    iii_output_fn *on_stdout, *on_stderr; /* the result has the output, too */
    iii_rich_result_fn *on_result;        /* as of iii_output_fn */
    void *arg;
};

/* Runs code where the variables of earlier calls still are: in the sandbox's own context of python or javascript, or in
 * that of the options. typescript, go and bash start anew each time. An error of the code is no failure of the call:
 * see error_name. options may be NULL. */
III_API int iii_run_code(const iii_sandbox *sandbox, const char *code, const struct iii_code_options *options,
                         struct iii_context_result **ret, struct iii_error *err);
/* The value of the code's last line as text, as long as the result lives; NULL when there is none. */
III_API const char *iii_code_text(const struct iii_context_result *result);

/* Files of any size and bytes, as they are. Paths are absolute or below the workspace. */

/* Puts at most size bytes into buf. Their count; 0: that was all; negative: -errno. */
typedef int64_t iii_source_fn(void *buf, size_t size, void *arg);
/* Takes all bytes. 0: go on; negative: -errno; positive: enough, the call returns 0. */
typedef int iii_sink_fn(const void *data, size_t size, void *arg);
/* total: -1 while nobody knows it. */
typedef void iii_progress_fn(int64_t done, int64_t total, void *arg);

struct iii_upload_options {
    const char *mode;   /* octal digits; NULL: that of the old file, or 0644 */
    const char *format; /* "tar": unpack an archive into the folder at path; NULL: a file */
    const char
        *if_match; /* write only over this version: the etag of an earlier answer; else III_PRECONDITION_FAILED */
    bool is_new;   /* write only a new file; else III_PRECONDITION_FAILED */
    int64_t
        size; /* how much the source is asked for, no less and no more; 0: all it has. iii_upload_fd() asks the file */
    iii_progress_fn *on_progress;
    void *progress_arg;
};

struct iii_download_options {
    const char *format;     /* "tar": a folder as an archive; NULL: a file */
    const char *if_match;   /* read only this version; else III_PRECONDITION_FAILED */
    int64_t offset, length; /* of the first byte, and how many; length 0: up to the end */
    iii_progress_fn *on_progress;
    void *progress_arg;
};

/* The file is in place, with the folders above it, when all bytes have arrived. options and ret may be NULL. */
III_API int iii_upload(const iii_sandbox *sandbox, const char *path, iii_source_fn *source, void *arg,
                       const struct iii_upload_options *options, struct iii_file_content **ret, struct iii_error *err);
III_API int iii_upload_fd(const iii_sandbox *sandbox, const char *path, int fd,
                          const struct iii_upload_options *options, struct iii_file_content **ret,
                          struct iii_error *err);
/* *ret: path, size of what was read, and of a file its mode and etag. options and ret may be NULL. */
III_API int iii_download(const iii_sandbox *sandbox, const char *path, iii_sink_fn *sink, void *arg,
                         const struct iii_download_options *options, struct iii_file_content **ret,
                         struct iii_error *err);
III_API int iii_download_fd(const iii_sandbox *sandbox, const char *path, int fd,
                            const struct iii_download_options *options, struct iii_file_content **ret,
                            struct iii_error *err);

/* Bytes in memory. *ret is freed with iii_free(); a NUL that *ret_size does not count follows it. */
III_API int iii_write_file(const iii_sandbox *sandbox, const char *path, const void *data, size_t size,
                           struct iii_error *err);
III_API int iii_read_file(const iii_sandbox *sandbox, const char *path, unsigned char **ret, size_t *ret_size,
                          struct iii_error *err);

/* Terminals with live input and output */

enum iii_tty_end {
    III_TTY_OPEN,
    III_TTY_EXITED, /* the shell ended, see exit_code */
    III_TTY_CLOSED, /* somebody closed the session */
    III_TTY_GONE,   /* the sandbox is gone, or the server stops */
};

/* Starts a shell and connects to it. options may be NULL. */
III_API int iii_tty_open(const iii_sandbox *sandbox, const struct iii_terminal_create_options *options, iii_tty **ret,
                         struct iii_error *err);
/* Connects to a session; the first output is what the last viewers saw. */
III_API int iii_tty_attach(const iii_sandbox *sandbox, const char *session_id, iii_tty **ret, struct iii_error *err);
III_API const char *iii_tty_session(const iii_tty *tty);
III_API int iii_tty_send(iii_tty *tty, const void *keys, size_t size, struct iii_error *err);
III_API int iii_tty_resize(iii_tty *tty, int cols, int rows, struct iii_error *err);
/* Waits at most timeout_ms (negative: for ever) for output, puts it into buf and its size into *ret_size. 0 with size
 * 0: the terminal ended, see iii_tty_how(). III_DEADLINE: nothing came. */
III_API int iii_tty_read(iii_tty *tty, void *buf, size_t size, int timeout_ms, size_t *ret_size, struct iii_error *err);
III_API enum iii_tty_end iii_tty_how(const iii_tty *tty, int *exit_code);
/* Leaves; the session lives on until iii_terminal_close(). NULL is fine. */
III_API void iii_tty_free(iii_tty *tty);

/* Every operation of the server, see its API reference. `options` may be NULL. */

/* @OPERATIONS@ */

#ifdef __cplusplus
}
#endif

#endif
