/* iii_sandbox.h: client of an iii-sandbox server, version @VERSION@. Link with -liiisandbox (pkg-config iiisandbox).
 *
 * Every call blocks until its answer is there; streams call a function for each event. A call returns 0 or the code of
 * its failure, which `err` (may be NULL) then explains. What a call gives (`ret`) belongs to the caller, who frees it
 * whole with iii_free(); after a failure *ret is NULL. Strings are UTF-8 and end with a NUL byte; `x_len` also counts
 * NUL bytes that are part of the text (0 in what is sent: up to the NUL). NULL stands for what is absent. A client may
 * be used by several threads, a terminal by one at a time.
 * What is installed is generated from sdk/c/src/header.h by `./dev sdkgen`. */
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
    /* @CODES@ */
};

struct iii_error {
    int code;          /* enum iii_code */
    int status;        /* HTTP status of the answer; 0 without one */
    char message[512]; /* what the server or the library says about it */
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
    const char *base_url; /* NULL: http://localhost:3111 */
    const char *token;    /* NULL: none */
    const char *ca_file;  /* PEM certificates to trust instead of the system's; NULL: the system's */
    int timeout_ms;  /* longest time for one answer; 0: 30000, negative: no limit. Streams and long calls have none */
    int max_retries; /* how often a call that may be sent twice is sent again; 0: 2, negative: never */
};

/* config may be NULL. Makes no connection yet. */
III_API int iii_client_new(const struct iii_config *config, iii_client **ret, struct iii_error *err);
III_API void iii_client_free(iii_client *client); /* after its sandboxes and terminals; NULL is fine */
III_API void iii_free(const void *result);        /* any `ret` of a call; NULL is fine */

/* Sandboxes */

/* Creates and starts one. options may be NULL; without an image and a template: the server's default image,
 * python. */
III_API int iii_create(iii_client *client, const struct iii_sandbox_create_options *options, iii_sandbox **ret,
                       struct iii_error *err);
/* Asks the server for a sandbox. */
III_API int iii_open(iii_client *client, const char *id, iii_sandbox **ret, struct iii_error *err);
/* A handle for an id, without asking. */
III_API int iii_handle(iii_client *client, const char *id, iii_sandbox **ret, struct iii_error *err);

III_API const char *iii_sandbox_id(const iii_sandbox *sandbox);
III_API iii_client *iii_sandbox_client(const iii_sandbox *sandbox);
/* As of the last answer that described it: iii_create(), iii_open() or iii_refresh(). NULL for a mere handle. */
III_API const struct iii_sandbox_info *iii_sandbox_details(const iii_sandbox *sandbox);
III_API int iii_refresh(iii_sandbox *sandbox, struct iii_error *err);

/* Kills the sandbox and frees the handle, also after a failure. */
III_API int iii_close(iii_sandbox *sandbox, struct iii_error *err);
/* Frees the handle only: the sandbox lives on. NULL is fine. */
III_API void iii_release(iii_sandbox *sandbox);
/* From now on the end of a III_AUTO_SANDBOX only frees the handle. */
III_API void iii_keep(iii_sandbox *sandbox);

/* Variables that are cleaned up at the end of their scope: III_AUTO_SANDBOX iii_sandbox *box = NULL; kills the sandbox.
 * Declare a client before what uses it. */
III_API void iii_auto_sandbox(iii_sandbox **sandbox);
III_API void iii_auto_client(iii_client **client);
III_API void iii_auto_tty(iii_tty **tty);
III_API void iii_auto_result(void *result); /* a pointer to any pointer that a call gave */
#define III_AUTO_SANDBOX __attribute__((cleanup(iii_auto_sandbox)))
#define III_AUTO_CLIENT  __attribute__((cleanup(iii_auto_client)))
#define III_AUTO_TTY     __attribute__((cleanup(iii_auto_tty)))
#define III_AUTO         __attribute__((cleanup(iii_auto_result)))

/* Runs a shell line and waits for its end, at most timeout_s seconds (0: the server's own limit). */
III_API int iii_exec(const iii_sandbox *sandbox, const char *line, int timeout_s, struct iii_exec_result **ret,
                     struct iii_error *err);
/* Runs a shell line; on_event gets its output as it comes, at last an event "exit" with the code as text. A callback
 * that returns anything but 0 leaves the stream, which kills the command; the call then returns 0. */
III_API int iii_exec_stream(const iii_sandbox *sandbox, const char *line, iii_exec_stream_chunk_fn *on_event, void *arg,
                            struct iii_error *err);

/* Any bytes, to and from a file. *ret is freed with iii_free(). */
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
