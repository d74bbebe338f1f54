/* iii_sandbox.h: client of an iii-sandbox server, version 0.1.0. Link with -liiisandbox (pkg-config iiisandbox).
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
        III_INVALID_ARGUMENT = 400, /* A field is missing, of the wrong type or out of its limits */
    III_UNAUTHORIZED = 401, /* No Authorization header */
    III_FORBIDDEN = 403, /* Wrong token, or something that is not allowed */
    III_NOT_FOUND = 404, /* Something the request names does not exist */
    III_METHOD_NOT_ALLOWED = 405, /* The path takes other methods; see the Allow header */
    III_CONFLICT = 409, /* Not possible in the present state */
    III_GONE = 410, /* It is gone */
    III_PRECONDITION_FAILED = 412, /* The file is not in the state that If-Match or If-None-Match wants */
    III_TOO_LARGE = 413, /* The body is larger than the server takes */
    III_RANGE_NOT_SATISFIABLE = 416, /* The range lies outside of the file; see the Content-Range header */
    III_RATE_LIMITED = 429, /* Too many requests (see the Retry-After header), or a quota is used up */
    III_INTERNAL = 500, /* The server or the sandbox failed */
    III_UNSUPPORTED = 501, /* The sandbox's backend cannot do this */
    III_BAD_GATEWAY = 502, /* Another server did not answer as it should */
    III_NO_CAPACITY = 503, /* No room: a limit of the server is reached */
    III_TIMED_OUT = 504, /* It took longer than allowed */
    III_NO_SPACE = 507, /* No space left */
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

/* A change of a file. moved: it was at oldPath. overflow: changes at and below path were lost, list it again. limit:
 * path is not watched, message says why. gone: the watched folder is not there any more; back: it is there again,
 * list it */
struct iii_file_event {
    /* One of: ready, created, modified, deleted, moved, attributes, overflow, limit, gone, back, error */
    const char *type;
    size_t type_len;
    const char *path;
    size_t path_len;
    const bool *directory;
    const char *old_path;
    size_t old_path_len;
    const char *message;
    size_t message_len;
    const char *error;
    size_t error_len;
    const char *code;
    size_t code_len;
    int64_t timestamp;
};

/* A signed URL: send this method to it, without a token. once: the first request uses it up */
struct iii_file_url {
    const char *url;
    size_t url_len;
    const char *method;
    size_t method_len;
    const char *path;
    size_t path_len;
    int64_t expires_at;
    bool once;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* What was written. A file: size, mode, ETag, time, and whether there was none before. An archive: entries, and size
 * of their contents. A form: its files */
struct iii_file_content {
    const char *path;
    size_t path_len;
    int64_t size;
    const char *mode;
    size_t mode_len;
    const char *etag;
    size_t etag_len;
    const int64_t *modified_at;
    const bool *created;
    const int64_t *entries;
    const struct iii_file_content *files;
    size_t files_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* What shows that a service is ready */
struct iii_service_ready {
    const int64_t *port;
    const char *http;
    size_t http_len;
    struct iii_command command;
    const int64_t *interval_ms;
    const int64_t *timeout;
};

/* A command that is kept running */
struct iii_service_config {
    const char *name;
    size_t name_len;
    struct iii_command command;
    const struct iii_pair *env;
    size_t env_count;
    const char *user;
    size_t user_len;
    const char *cwd;
    size_t cwd_len;
    const struct iii_service_ready *ready;
    /* One of: always, on-failure, no */
    const char *restart;
    size_t restart_len;
    const int64_t *max_restarts;
    const int64_t *backoff_ms;
    const int64_t *stop_timeout;
    const char *const *depends_on;
    size_t depends_on_count;
};

/* A service. state: waiting for those that it depends on, starting until it is ready, restarting while a pause lasts
 * after its exit, exited with code 0 and not restarted, failed for good; since: of that state, milliseconds since
 * the epoch; restarts: automatic ones; exitCode: of its last process */
struct iii_service {
    const char *name;
    size_t name_len;
    /* One of: unknown, waiting, starting, running, restarting, stopping, stopped, exited, failed */
    const char *state;
    size_t state_len;
    const int64_t *pid;
    int64_t restarts;
    int64_t since;
    const int64_t *exit_code;
    const char *error;
    size_t error_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Services in the order of the configuration */
struct iii_service_list {
    const struct iii_service *services;
    size_t services_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Output from the requested offset, and the next offset in bytes */
struct iii_service_output {
    const char *output;
    size_t output_len;
    int64_t offset;
    bool running;
    /* One of: utf8, base64 */
    const char *encoding;
    size_t encoding_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A piece of output and the offset after it; the last event is end: the sandbox has stopped */
struct iii_service_output_event {
    /* One of: output, end, error */
    const char *type;
    size_t type_len;
    const char *data;
    size_t data_len;
    const int64_t *offset;
    const char *error;
    size_t error_len;
    const char *code;
    size_t code_len;
    int64_t timestamp;
    const char *tenant;
    size_t tenant_len;
};

/* A public key that may log in by SSH, with the rights of the token that added it */
struct iii_ssh_key {
    const char *id;
    size_t id_len;
    const char *name;
    size_t name_len;
    const char *type;
    size_t type_len;
    const char *fingerprint;
    size_t fingerprint_len;
    int64_t bits;
    const char *token;
    size_t token_len;
    int64_t created_at;
    const char *sandbox;
    size_t sandbox_len;
    const int64_t *expires;
    const char *tenant;
    size_t tenant_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* SSH keys */
struct iii_ssh_key_list {
    const struct iii_ssh_key *keys;
    size_t keys_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Where SSH is served: ssh SANDBOX@host -p port. hostKey: fingerprint of the server's key */
struct iii_ssh_info {
    bool enabled;
    const char *host;
    size_t host_len;
    const int64_t *port;
    const char *host_key;
    size_t host_key_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A webhook. failingSince: of the first failure since a success; pending, dead: messages that wait, dead letters;
 * dropped: events since the start that found no room; secret: whsec_ and a key in base64, only when it was made or
 * rotated */
struct iii_webhook {
    const char *id;
    size_t id_len;
    const char *url;
    size_t url_len;
    const char *const *events;
    size_t events_count;
    const char *sandbox_id;
    size_t sandbox_id_len;
    const struct iii_pair *metadata;
    size_t metadata_count;
    const char *description;
    size_t description_len;
    bool enabled;
    const char *disabled_reason;
    size_t disabled_reason_len;
    const int64_t *failing_since;
    int64_t pending;
    int64_t dead;
    int64_t dropped;
    int64_t created_at;
    const int64_t *updated_at;
    const char *secret;
    size_t secret_len;
    const char *tenant;
    size_t tenant_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Webhooks */
struct iii_webhook_list {
    const struct iii_webhook *webhooks;
    size_t webhooks_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Outcome of one attempt; status: that of the response, if there was one */
struct iii_webhook_test {
    bool delivered;
    const int64_t *status;
    int64_t duration_ms;
    const char *error;
    size_t error_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A message that is not delivered; id is its header webhook-id */
struct iii_webhook_delivery {
    const char *id;
    size_t id_len;
    const char *webhook_id;
    size_t webhook_id_len;
    const char *topic;
    size_t topic_len;
    /* One of: pending, dead */
    const char *status;
    size_t status_len;
    int64_t attempts;
    int64_t created_at;
    const int64_t *next_attempt_at;
    const int64_t *last_attempt_at;
    const int64_t *last_status;
    const char *last_error;
    size_t last_error_len;
};

/* Messages */
struct iii_webhook_delivery_page {
    const struct iii_webhook_delivery *deliveries;
    size_t deliveries_count;
    int64_t total;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* How many wait for delivery again */
struct iii_webhook_retried {
    int64_t retried;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* How many were removed */
struct iii_webhook_purged {
    int64_t purged;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Configuration of a sandbox: times in seconds, memory in MB; 0 means no limit */
struct iii_sandbox_config {
    const char *image;
    size_t image_len;
    const char *name;
    size_t name_len;
    const int64_t *timeout;
    const int64_t *idle_timeout;
    const int64_t *memory;
    const double *cpu;
    const bool *network;
    const struct iii_pair *env;
    size_t env_count;
    const char *workdir;
    size_t workdir_len;
    const struct iii_pair *metadata;
    size_t metadata_count;
    const char *const *entrypoint;
    size_t entrypoint_count;
    const int64_t *disk_mb;
    const int64_t *inodes;
    const int64_t *pids;
    const int64_t *open_files;
    const int64_t *shm_mb;
    const int64_t *net_mbps;
    /* One of: kill, stop, pause, hibernate */
    const char *on_timeout;
    size_t on_timeout_len;
    /* One of: kill, stop, pause, hibernate */
    const char *on_idle;
    size_t on_idle_len;
    /* One of: no, always */
    const char *restart;
    size_t restart_len;
    const bool *auto_resume;
    /* One of: default, strict */
    const char *seccomp;
    size_t seccomp_len;
    const struct iii_service_config *services;
    size_t services_count;
};

/* One sandbox; times are milliseconds since the epoch. expiresAt 0: it has no expiry. resolvedImage: what the name
 * in image stands for, a full reference or host (this host's own programs); imageVersion: the real version of a
 * preset's program there. withoutAgent: why the container has no agent and runs commands by the engine's exec.
 * stopReason, of a stopped or hibernated one: request, timeout, idle, shutdown (of the server), died (its agent did)
 * or lost (its processes were gone when the server started: a reboot); error: what was found then */
struct iii_sandbox_info {
    const char *id;
    size_t id_len;
    const char *name;
    size_t name_len;
    const char *image;
    size_t image_len;
    /* One of: running, paused, expired, stopped, hibernated */
    const char *status;
    size_t status_len;
    int64_t created_at;
    int64_t expires_at;
    const struct iii_sandbox_config *config;
    const struct iii_pair *metadata;
    size_t metadata_count;
    const char *const *entrypoint;
    size_t entrypoint_count;
    const char *parent_id;
    size_t parent_id_len;
    const char *worker_id;
    size_t worker_id_len;
    const char *backend;
    size_t backend_len;
    const char *tenant;
    size_t tenant_len;
    const char *without_agent;
    size_t without_agent_len;
    const char *resolved_image;
    size_t resolved_image_len;
    const char *image_digest;
    size_t image_digest_len;
    const char *image_version;
    size_t image_version_len;
    const int64_t *stopped_at;
    const char *stop_reason;
    size_t stop_reason_len;
    const char *error;
    size_t error_len;
    const struct iii_service *services;
    size_t services_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The new sandboxes; parentId is their origin */
struct iii_sandbox_fork {
    const struct iii_sandbox_info *sandboxes;
    size_t sandboxes_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* One page of sandboxes; total counts all that match */
struct iii_sandbox_page {
    const struct iii_sandbox_info *items;
    size_t items_count;
    int64_t total;
    int64_t page;
    int64_t page_size;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Result of a command; times in milliseconds. signal: the one that ended it (KILL); its exitCode is 128 and its
 * number */
struct iii_exec_result {
    int64_t exit_code;
    const char *stdout_;
    size_t stdout_len;
    const char *stderr_;
    size_t stderr_len;
    int64_t duration;
    const int64_t *user_ms;
    const int64_t *system_ms;
    const int64_t *max_rss_kb;
    const bool *stdout_truncated;
    const bool *stderr_truncated;
    const char *signal;
    size_t signal_len;
    const bool *timed_out;
    const bool *oom_killed;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A piece of output; the last event is exit with the exit code as a string (-1: it timed out or did not run),
 * duration (ms) and how it ended */
struct iii_exec_stream_chunk {
    /* One of: stdout, stderr, exit, error */
    const char *type;
    size_t type_len;
    const char *data;
    size_t data_len;
    const char *error;
    size_t error_len;
    const char *code;
    size_t code_len;
    const int64_t *duration;
    const char *signal;
    size_t signal_len;
    const bool *timed_out;
    const bool *oom_killed;
    int64_t timestamp;
    const char *tenant;
    size_t tenant_len;
};

/* One line of output; the last event is end */
struct iii_log_event {
    /* One of: stdout, stderr, end, error */
    const char *type;
    size_t type_len;
    const char *data;
    size_t data_len;
    const char *error;
    size_t error_len;
    const char *code;
    size_t code_len;
    int64_t timestamp;
    const char *tenant;
    size_t tenant_len;
};

/* A command in the background */
struct iii_background_exec {
    const char *id;
    size_t id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    const char *command;
    size_t command_len;
    const int64_t *pid;
    bool running;
    const int64_t *exit_code;
    int64_t started_at;
    const int64_t *finished_at;
    const bool *stdin_;
    const int64_t *log_bytes;
    const bool *truncated;
    const int64_t *user_ms;
    const int64_t *system_ms;
    const int64_t *max_rss_kb;
    const char *signal;
    size_t signal_len;
    const bool *oom_killed;
    const bool *timed_out;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Output from the requested offset, and the next offset in bytes */
struct iii_background_logs {
    const char *output;
    size_t output_len;
    int64_t cursor;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A durable command; truncated: the oldest bytes of its output were dropped */
struct iii_durable_exec {
    const char *id;
    size_t id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    const char *command;
    size_t command_len;
    const int64_t *pid;
    bool running;
    const int64_t *exit_code;
    int64_t started_at;
    const int64_t *finished_at;
    bool stdin_;
    int64_t log_bytes;
    bool truncated;
    const int64_t *user_ms;
    const int64_t *system_ms;
    const int64_t *max_rss_kb;
    const char *signal;
    size_t signal_len;
    const bool *oom_killed;
    const bool *timed_out;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Commands, oldest first */
struct iii_durable_exec_list {
    const struct iii_durable_exec *execs;
    size_t execs_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Output from the requested offset, and the next offset in bytes; it is complete when running is false and output is
 * empty */
struct iii_exec_output {
    const char *output;
    size_t output_len;
    int64_t offset;
    bool running;
    /* One of: utf8, base64 */
    const char *encoding;
    size_t encoding_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A piece of output and the offset after it; the last event is exit with the exit code as a string */
struct iii_exec_output_event {
    /* One of: output, exit, error */
    const char *type;
    size_t type_len;
    const char *data;
    size_t data_len;
    const int64_t *offset;
    const char *error;
    size_t error_len;
    const char *code;
    size_t code_len;
    int64_t timestamp;
    const char *tenant;
    size_t tenant_len;
};

/* Bytes written, and whether standard input was closed */
struct iii_exec_written {
    int64_t written;
    bool closed;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Id of the command, and the signal */
struct iii_exec_signalled {
    const char *signalled;
    size_t signalled_len;
    const char *signal;
    size_t signal_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A queued command */
struct iii_queue_job_info {
    const char *id;
    size_t id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    const char *command;
    size_t command_len;
    /* One of: pending, running, completed, failed, cancelled */
    const char *status;
    size_t status_len;
    const struct iii_exec_result *result;
    const char *error;
    size_t error_len;
    int64_t retries;
    int64_t max_retries;
    const bool *retry_on_exit;
    int64_t created_at;
    const int64_t *started_at;
    const int64_t *completed_at;
    const char *tenant;
    size_t tenant_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Id of the job */
struct iii_queue_cancelled {
    const char *cancelled;
    size_t cancelled_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Queued commands; total counts all that match */
struct iii_queue_job_page {
    const struct iii_queue_job_info *jobs;
    size_t jobs_count;
    int64_t total;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* An entry of a folder */
struct iii_file_info {
    const char *name;
    size_t name_len;
    const char *path;
    size_t path_len;
    int64_t size;
    bool is_directory;
    int64_t modified_at;
};

/* Entries of a folder */
struct iii_file_info_list {
    const struct iii_file_info *items;
    size_t items_count;
};

/* A file; permissions like -rw-r--r-- */
struct iii_file_metadata {
    const char *path;
    size_t path_len;
    int64_t size;
    const char *permissions;
    size_t permissions_len;
    const char *owner;
    size_t owner_len;
    const char *group;
    size_t group_len;
    bool is_directory;
    bool is_symlink;
    int64_t modified_at;
};

/* An array for paths, one object for path */
struct iii_file_info_reply {
    const struct iii_file_metadata *items;
    size_t items_count;
    bool is_list;
};

/* Absolute paths */
struct iii_path_list {
    const char *const *items;
    size_t items_count;
};

/* Content of a file; bytes that are not UTF-8 are replaced */
struct iii_text {
    const char *value;
    size_t value_len;
};

/* Content of a file in padded standard base64 */
struct iii_base64 {
    const char *value;
    size_t value_len;
};

/* The operation succeeded */
struct iii_success {
    bool success;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* One variable */
struct iii_env_value {
    const char *key;
    size_t key_len;
    const char *value;
    size_t value_len;
    bool exists;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Names that were set */
struct iii_env_set {
    const char *const *set;
    size_t set_count;
    int64_t count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The effective environment */
struct iii_env_list {
    const struct iii_pair *vars;
    size_t vars_count;
    int64_t count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Name of the variable */
struct iii_env_deleted {
    const char *deleted;
    size_t deleted_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A changed file; status is git's two-letter code */
struct iii_git_file {
    const char *status;
    size_t status_len;
    const char *path;
    size_t path_len;
};

/* Branch and changed files */
struct iii_git_status {
    const char *branch;
    size_t branch_len;
    bool clean;
    const struct iii_git_file *files;
    size_t files_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A unified diff */
struct iii_git_diff {
    const char *diff;
    size_t diff_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A commit; date is ISO 8601 */
struct iii_git_log_entry {
    const char *hash;
    size_t hash_len;
    const char *message;
    size_t message_len;
    const char *author;
    size_t author_len;
    const char *date;
    size_t date_len;
};

/* Commits, newest first */
struct iii_git_log {
    const struct iii_git_log_entry *entries;
    size_t entries_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* All branches, including remote ones; error: git's message when it failed */
struct iii_git_branches {
    const char *const *branches;
    size_t branches_count;
    const char *current;
    size_t current_len;
    const char *error;
    size_t error_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A process; cpu and memory in percent, as strings */
struct iii_process_info {
    int64_t pid;
    const char *user;
    size_t user_len;
    const char *cpu;
    size_t cpu_len;
    const char *memory;
    size_t memory_len;
    const char *command;
    size_t command_len;
};

/* Processes */
struct iii_process_list {
    const struct iii_process_info *processes;
    size_t processes_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A process; cpu and mem in percent, as strings; vsz and rss in KiB */
struct iii_process_top_info {
    int64_t pid;
    const char *cpu;
    size_t cpu_len;
    const char *mem;
    size_t mem_len;
    int64_t vsz;
    int64_t rss;
    const char *command;
    size_t command_len;
};

/* Processes */
struct iii_process_top {
    const struct iii_process_top_info *processes;
    size_t processes_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Process id and signal */
struct iii_process_killed {
    int64_t killed;
    const char *signal;
    size_t signal_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A snapshot; snapshotId equals id */
struct iii_snapshot_info {
    const char *id;
    size_t id_len;
    const char *snapshot_id;
    size_t snapshot_id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    const char *name;
    size_t name_len;
    const char *image_id;
    size_t image_id_len;
    int64_t size;
    int64_t created_at;
    const struct iii_sandbox_config *config;
    const char *const *entrypoint;
    size_t entrypoint_count;
    const struct iii_pair *metadata;
    size_t metadata_count;
    const char *tenant;
    size_t tenant_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Snapshots */
struct iii_snapshot_list {
    const struct iii_snapshot_info *snapshots;
    size_t snapshots_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Id of the deleted object */
struct iii_deleted {
    const char *deleted;
    size_t deleted_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* An image; source is its origin: a registry, an archive, a sandbox, this host, or a Docker engine; tenant: whose it
 * is, none: the operator's; signedBy: whose signature was accepted */
struct iii_image {
    const char *name;
    size_t name_len;
    const char *id;
    size_t id_len;
    int64_t size;
    int64_t layers;
    int64_t created_at;
    /* One of: oci, tar, layer, host, docker */
    const char *source;
    size_t source_len;
    const char *tenant;
    size_t tenant_len;
    const char *signed_by;
    size_t signed_by_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* What the policy says of an image: whether it requires a signature, whose it has, and the digest that was pulled */
struct iii_image_verification {
    const char *name;
    size_t name_len;
    bool verified;
    bool required;
    const char *signed_by;
    size_t signed_by_len;
    const char *pattern;
    size_t pattern_len;
    const char *digest;
    size_t digest_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Progress of a pull in bytes and layers; the last event is done with the image */
struct iii_image_event {
    /* One of: progress, done, error */
    const char *type;
    size_t type_len;
    const int64_t *done;
    const int64_t *total;
    const int64_t *layers_done;
    const int64_t *layers;
    const struct iii_image *image;
    const char *error;
    size_t error_len;
    const char *code;
    size_t code_len;
    const int64_t *timestamp;
    const char *tenant;
    size_t tenant_len;
};

/* The image that a build made */
struct iii_built_image {
    const char *name;
    size_t name_len;
    const char *id;
    size_t id_len;
    int64_t size;
    int64_t layers;
    int64_t created_at;
    const char *source;
    size_t source_len;
    const char *tenant;
    size_t tenant_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The log of a build: an instruction (its number, of how many, its line and text), that it came from the cache,
 * notes, progress of a pull, output of a command; the last event is done with the image */
struct iii_built_image_event {
    /* One of: step, cached, note, progress, stdout, stderr, done, error */
    const char *type;
    size_t type_len;
    const int64_t *step;
    const int64_t *steps;
    const int64_t *line;
    const char *text;
    size_t text_len;
    const char *data;
    size_t data_len;
    const int64_t *done;
    const int64_t *total;
    const int64_t *layers_done;
    const int64_t *layers;
    const struct iii_built_image *image;
    const char *error;
    size_t error_len;
    const char *code;
    size_t code_len;
    const int64_t *timestamp;
    const char *tenant;
    size_t tenant_len;
};

/* A layer of an image, by the digest that it has in this store; size: bytes of its files */
struct iii_image_layer {
    const char *digest;
    size_t digest_len;
    int64_t size;
};

/* An image of the store with its layers, the lowest first, and what it states: env, entrypoint, cmd, user, workdir,
 * labels, exposedPorts, history and others */
struct iii_image_details {
    const char *name;
    size_t name_len;
    const char *id;
    size_t id_len;
    /* One of: oci, tar, layer, host */
    const char *source;
    size_t source_len;
    int64_t created_at;
    int64_t size;
    const char *tenant;
    size_t tenant_len;
    const char *signed_by;
    size_t signed_by_len;
    const struct iii_image_layer *layers;
    size_t layers_count;
    /* JSON text */
    const char *config;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Images by name */
struct iii_image_list {
    const struct iii_image *images;
    size_t images_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A template */
struct iii_sandbox_template {
    const char *id;
    size_t id_len;
    const char *name;
    size_t name_len;
    const char *description;
    size_t description_len;
    const struct iii_sandbox_config *config;
    bool builtin;
    int64_t created_at;
    const char *tenant;
    size_t tenant_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Templates */
struct iii_template_list {
    const struct iii_sandbox_template *templates;
    size_t templates_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* An exposed port; url: its address on the host, of TCP */
struct iii_port_mapping {
    int64_t container_port;
    int64_t host_port;
    /* One of: tcp, udp */
    const char *protocol;
    size_t protocol_len;
    /* One of: mapped, active */
    const char *state;
    size_t state_len;
    const char *url;
    size_t url_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The address of a port's server, an origin of its own. signedUrl: opens a private one, once, until expiresAt; none
 * on a server without tokens */
struct iii_preview {
    int64_t port;
    const char *url;
    size_t url_len;
    bool public_;
    bool rewrite_host;
    const char *signed_url;
    size_t signed_url_len;
    const int64_t *expires_at;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A TCP port that a process of the sandbox listens at; pid, process: whose it is, where the agent may see it; url:
 * its preview address */
struct iii_listening_port {
    int64_t port;
    const char *address;
    size_t address_len;
    const int64_t *pid;
    const char *process;
    size_t process_len;
    const char *url;
    size_t url_len;
};

/* Exposed ports, and those that listen inside, exposed or not; none of one that sleeps */
struct iii_port_list {
    const struct iii_port_mapping *ports;
    size_t ports_count;
    const struct iii_listening_port *listening;
    size_t listening_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The port */
struct iii_port_removed {
    int64_t removed;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* One direction of a terminal's WebSocket channel */
struct iii_terminal_channel {
    const char *channel_id;
    size_t channel_id_len;
    const char *access_key;
    size_t access_key_len;
    /* One of: read, write */
    const char *direction;
    size_t direction_len;
};

/* The channels for keys and for output */
struct iii_terminal_channels {
    const struct iii_terminal_channel *writer;
    const struct iii_terminal_channel *reader;
};

/* A terminal */
struct iii_terminal_session {
    const char *session_id;
    size_t session_id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    const char *exec_id;
    size_t exec_id_len;
    int64_t cols;
    int64_t rows;
    const char *shell;
    size_t shell_len;
    const char *status;
    size_t status_len;
    const char *backend;
    size_t backend_len;
    int64_t created_at;
    const struct iii_terminal_channels *channel;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Size of a terminal */
struct iii_terminal_size {
    int64_t cols;
    int64_t rows;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Id of the session */
struct iii_terminal_closed {
    const char *closed;
    size_t closed_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Response of the server in the sandbox */
struct iii_proxy_reply {
    int64_t status_code;
    const struct iii_pair *headers;
    size_t headers_count;
    const char *body;
    size_t body_len;
    const char *url;
    size_t url_len;
    const char *proxied_via;
    size_t proxied_via_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Settings of the proxy; timeout in milliseconds */
struct iii_proxy_config {
    const char *sandbox_id;
    size_t sandbox_id_len;
    const char *proxy_base;
    size_t proxy_base_len;
    const char *cors;
    size_t cors_len;
    bool require_auth;
    int64_t timeout;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Standard output, and the error text when the code failed */
struct iii_code_result {
    const char *output;
    size_t output_len;
    const char *error;
    size_t error_len;
    int64_t execution_time;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Output of the package manager */
struct iii_install_result {
    const char *output;
    size_t output_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* An interpreter whose variables live between calls; default: it is that of its language; why: why it is dead or
 * lost. A restart makes it usable again */
struct iii_context {
    const char *id;
    size_t id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    /* One of: python, javascript */
    const char *language;
    size_t language_len;
    const char *cwd;
    size_t cwd_len;
    int64_t created_at;
    int64_t execution_count;
    /* One of: starting, idle, busy, dead, lost */
    const char *state;
    size_t state_len;
    const bool *default_;
    const char *why;
    size_t why_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Contexts of a sandbox */
struct iii_context_list {
    const struct iii_context *contexts;
    size_t contexts_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A value as text, html, markdown, svg, latex, json, or as png or jpeg in base64 */
struct iii_rich_result {
    const char *type;
    size_t type_len;
    /* JSON text */
    const char *data;
};

/* Output and results of the code; output equals stdout; state: whether the context still exists */
struct iii_context_result {
    const char *output;
    size_t output_len;
    const char *error;
    size_t error_len;
    int64_t execution_time;
    const struct iii_rich_result *results;
    size_t results_count;
    const char *stdout_;
    size_t stdout_len;
    const char *stderr_;
    size_t stderr_len;
    const char *error_name;
    size_t error_name_len;
    const char *error_value;
    size_t error_value_len;
    const char *const *traceback;
    size_t traceback_count;
    int64_t execution_count;
    bool timed_out;
    bool truncated;
    /* One of: starting, idle, busy, dead, lost */
    const char *state;
    size_t state_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A piece of output or a result; the last event is end */
struct iii_context_event {
    /* One of: stdout, stderr, result, error, end */
    const char *type;
    size_t type_len;
    const char *data;
    size_t data_len;
    const struct iii_rich_result *result;
    const char *error_name;
    size_t error_name_len;
    const char *error_value;
    size_t error_value_len;
    const char *const *traceback;
    size_t traceback_count;
    const int64_t *execution_time;
    const int64_t *execution_count;
    const bool *timed_out;
    const bool *truncated;
    /* One of: starting, idle, busy, dead, lost */
    const char *state;
    size_t state_len;
    int64_t timestamp;
};

/* Whether code was running */
struct iii_context_interrupted {
    bool interrupted;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Id of the context */
struct iii_context_deleted {
    const char *deleted;
    size_t deleted_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A language */
struct iii_kernel {
    const char *name;
    size_t name_len;
    const char *language;
    size_t language_len;
    const char *display_name;
    size_t display_name_len;
};

/* Languages */
struct iii_kernel_list {
    const struct iii_kernel *items;
    size_t items_count;
};

/* Resource use of a sandbox, and its limits; 0: none */
struct iii_sandbox_metrics {
    const char *sandbox_id;
    size_t sandbox_id_len;
    double cpu_percent;
    int64_t memory_usage_mb;
    int64_t memory_limit_mb;
    int64_t network_rx_bytes;
    int64_t network_tx_bytes;
    int64_t pids;
    double cpu_limit;
    int64_t pids_limit;
    int64_t disk_usage_mb;
    int64_t disk_limit_mb;
    int64_t inodes_limit;
    int64_t open_files_limit;
    int64_t shm_limit_mb;
    int64_t network_limit_mbps;
    int64_t oom_kills;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* An isolation backend, what it can do here, and why it cannot do the rest */
struct iii_backend {
    const char *name;
    size_t name_len;
    /* JSON text */
    const char *can;
    const struct iii_pair *lacks;
    size_t lacks_count;
};

/* Counters of the server; statuses: how many sandboxes there are of each status */
struct iii_global_metrics {
    int64_t active_sandboxes;
    int64_t total_created;
    int64_t total_killed;
    int64_t total_expired;
    int64_t uptime_seconds;
    const struct iii_count *statuses;
    size_t statuses_count;
    const struct iii_backend *backends;
    size_t backends_count;
    const struct iii_amount *usage;
    size_t usage_count;
    const struct iii_amount *quota;
    size_t quota_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The server answers; problems: what an operator should check; missing: features of its backend that this host does
 * not provide */
struct iii_health {
    const char *status;
    size_t status_len;
    const char *const *problems;
    size_t problems_count;
    const char *const *missing;
    size_t missing_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A call that changed something or was denied; seq: its number, prev and hash: the chain; status 0: it was about to
 * begin */
struct iii_audit_line {
    int64_t seq;
    int64_t time;
    const char *request_id;
    size_t request_id_len;
    const char *token;
    size_t token_len;
    const char *name;
    size_t name_len;
    const char *issuer;
    size_t issuer_len;
    const char *subject;
    size_t subject_len;
    const char *tenant;
    size_t tenant_len;
    const char *remote;
    size_t remote_len;
    const char *operation;
    size_t operation_len;
    /* JSON text */
    const char *target;
    int64_t status;
    const char *code;
    size_t code_len;
    const int64_t *refused_before;
    const char *prev;
    size_t prev_len;
    const char *hash;
    size_t hash_len;
};

/* Lines, newest first; total counts all that match */
struct iii_audit_page {
    const struct iii_audit_line *lines;
    size_t lines_count;
    int64_t total;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Whether the chain is intact, and its first and last line; trimmed: older files were removed; problem: the first
 * line that breaks it */
struct iii_audit_verdict {
    bool intact;
    const int64_t *lines;
    const int64_t *first;
    const int64_t *last;
    const char *head;
    size_t head_len;
    const bool *trimmed;
    const char *problem;
    size_t problem_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* What the function answered; none: nothing */
struct iii_function_result {
    /* JSON text */
    const char *result;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Entries of the warm pool */
struct iii_pool_status {
    int64_t total;
    int64_t ready;
    const struct iii_count *by_profile;
    size_t by_profile_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Number of removed sandboxes */
struct iii_swept {
    int64_t swept;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* An OpenAPI 3.1 document */
struct iii_open_api {
    /* JSON text */
    const char *value;
};

/* An event */
struct iii_sandbox_event {
    const char *id;
    size_t id_len;
    const char *topic;
    size_t topic_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    /* JSON text */
    const char *data;
    int64_t timestamp;
    const char *tenant;
    size_t tenant_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Events; total counts all that match */
struct iii_event_page {
    const struct iii_sandbox_event *events;
    size_t events_count;
    int64_t total;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* One call */
struct iii_trace_record {
    const char *id;
    size_t id_len;
    const char *function_id;
    size_t function_id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    int64_t duration;
    /* One of: ok, error */
    const char *status;
    size_t status_len;
    const char *error;
    size_t error_len;
    int64_t timestamp;
    const char *tenant;
    size_t tenant_len;
};

/* Traces; total counts all that match */
struct iii_trace_page {
    const struct iii_trace_record *traces;
    size_t traces_count;
    int64_t total;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Numbers over all traces; durations in milliseconds */
struct iii_observability_metrics {
    int64_t total_requests;
    int64_t total_errors;
    double avg_duration;
    const double *p50_duration;
    double p95_duration;
    const double *p99_duration;
    int64_t active_sandboxes;
    const struct iii_count *function_counts;
    size_t function_counts_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Number of deleted traces */
struct iii_cleared {
    int64_t cleared;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* An alert */
struct iii_resource_alert {
    const char *id;
    size_t id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    /* One of: cpu, memory, pids, deniedCalls */
    const char *metric;
    size_t metric_len;
    double threshold;
    /* One of: notify, pause, kill */
    const char *action;
    size_t action_len;
    bool triggered;
    const int64_t *last_checked;
    const int64_t *last_triggered;
    int64_t created_at;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Alerts */
struct iii_alert_list {
    const struct iii_resource_alert *alerts;
    size_t alerts_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* An alert that fired */
struct iii_alert_event {
    const char *alert_id;
    size_t alert_id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    const char *metric;
    size_t metric_len;
    double value;
    double threshold;
    const char *action;
    size_t action_len;
    int64_t timestamp;
};

/* Alerts that fired; total counts all */
struct iii_alert_event_page {
    const struct iii_alert_event *events;
    size_t events_count;
    int64_t total;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A network and its members */
struct iii_sandbox_network {
    const char *id;
    size_t id_len;
    const char *name;
    size_t name_len;
    const char *docker_network_id;
    size_t docker_network_id_len;
    const char *const *sandboxes;
    size_t sandboxes_count;
    int64_t created_at;
    const char *tenant;
    size_t tenant_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Networks */
struct iii_network_list {
    const struct iii_sandbox_network *networks;
    size_t networks_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The sandbox is a member */
struct iii_network_connected {
    bool connected;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The sandbox is no longer a member */
struct iii_network_disconnected {
    bool disconnected;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* One rule of an egress policy */
struct iii_egress_rule {
    /* One of: allow, deny */
    const char *action;
    size_t action_len;
    const char *cidr;
    size_t cidr_len;
    const char *domain;
    size_t domain_len;
    /* JSON text */
    const char *ports;
};

/* An open connection of a sandbox to the outside; name: a name that it looked up and that has this address */
struct iii_egress_flow {
    const char *address;
    size_t address_len;
    int64_t port;
    const char *name;
    size_t name_len;
    int64_t opened_at;
};

/* What a sandbox may connect to; active: it has egress; connections: how many are open; flows: up to 100 of them */
struct iii_egress_policy {
    /* One of: allow, deny */
    const char *default_;
    size_t default_len;
    const struct iii_egress_rule *rules;
    size_t rules_count;
    bool active;
    int64_t connections;
    const struct iii_egress_flow *flows;
    size_t flows_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A volume; sizeMb: its limit, usedMb: what it takes of the host's disk, as last counted */
struct iii_sandbox_volume {
    const char *id;
    size_t id_len;
    const char *name;
    size_t name_len;
    const char *docker_volume_name;
    size_t docker_volume_name_len;
    const char *mount_path;
    size_t mount_path_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    const bool *read_only;
    const char *size;
    size_t size_len;
    const int64_t *size_mb;
    const int64_t *used_mb;
    int64_t created_at;
    const char *tenant;
    size_t tenant_len;
    const char *backend;
    size_t backend_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Volumes */
struct iii_volume_list {
    const struct iii_sandbox_volume *volumes;
    size_t volumes_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The volume is mounted */
struct iii_volume_attached {
    bool attached;
    const char *mount_path;
    size_t mount_path_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The volume is unmounted */
struct iii_volume_detached {
    bool detached;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* A worker */
struct iii_worker_info {
    const char *worker_id;
    size_t worker_id_len;
    const char *hostname;
    size_t hostname_len;
    int64_t active_sandboxes;
    int64_t max_sandboxes;
    double cpu_percent;
    int64_t last_heartbeat;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Workers */
struct iii_worker_list {
    const struct iii_worker_info *workers;
    size_t workers_count;
    int64_t alive;
    int64_t dead;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* The worker */
struct iii_worker_selected {
    const char *worker_id;
    size_t worker_id_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Numbers of sandboxes taken over */
struct iii_workers_reaped {
    int64_t reaped;
    int64_t reassigned;
    int64_t expired;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Number of sandboxes that got an owner */
struct iii_workers_migrated {
    int64_t migrated;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* Why a request failed; result: what a command that timed out had printed, with the exitCode -1 */
struct iii_error_body {
    const char *error;
    size_t error_len;
    const struct iii_exec_result *result;
};

/* An API token; only the response that created it has the secret */
struct iii_token {
    const char *id;
    size_t id_len;
    const char *name;
    size_t name_len;
    /* One of: admin, user, read-only */
    const char *role;
    size_t role_len;
    const char *tenant;
    size_t tenant_len;
    const char *sandbox;
    size_t sandbox_len;
    const char *const *operations;
    size_t operations_count;
    int64_t created;
    const int64_t *expires;
    const int64_t *last_used;
    bool revoked;
    const int64_t *revoked_at;
    const struct iii_amount *quota;
    size_t quota_count;
    const struct iii_amount *usage;
    size_t usage_count;
    const char *secret;
    size_t secret_len;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* All tokens, oldest first */
struct iii_token_list {
    const struct iii_token *tokens;
    size_t tokens_count;
    /* Fields of the request that were ignored or changed, and why */
    const char *const *warnings;
    size_t warnings_count;
};

/* What shows that it is ready: port, port and http, or command; default: that it was started */
struct iii_sandbox_create_service_ready {
    /* Port inside the sandbox that must accept TCP connections */
    const int64_t *port;
    /* Path at that port that must answer GET with a status from 200 to 399 */
    const char *http;
    size_t http_len;
    /* Instead of a port: shell command, or an array that is run without a shell, that must exit with 0 */
    struct iii_command command;
    /* Longest time between two checks, milliseconds */
    const int64_t *interval_ms;
    /* Time until it must be ready, seconds; then it is killed */
    const int64_t *timeout;
};

struct iii_sandbox_create_service {
    /* Name: letters, digits, - and _ */
    const char *name;
    size_t name_len;
    /* Shell command, or an array that is run without a shell; it stays in the foreground */
    struct iii_command command;
    /* Variables added to the sandbox's own */
    const struct iii_pair *env;
    size_t env_count;
    /* User inside the sandbox, as for a command; default: the image's */
    const char *user;
    size_t user_len;
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
    /* What shows that it is ready: port, port and http, or command; default: that it was started */
    const struct iii_sandbox_create_service_ready *ready;
    /* When it is restarted after it exited: always, on-failure, no */
    const char *restart;
    size_t restart_len;
    /* Restarts in a row, without a run of 10 s between them, before it has failed */
    const int64_t *max_restarts;
    /* Pause before the first of them, milliseconds; it doubles up to 60000 */
    const int64_t *backoff_ms;
    /* Time to exit after SIGTERM, seconds; then it is killed */
    const int64_t *stop_timeout;
    /* Names of services that must be ready before it starts */
    const char *const *depends_on;
    size_t depends_on_count;
};

struct iii_fs_move_move {
    /* Path to move */
    const char *from;
    size_t from_len;
    /* New path */
    const char *to;
    size_t to_len;
};

/* What shows that it is ready: port, port and http, or command; default: that it was started */
struct iii_template_create_config_service_ready {
    /* Port inside the sandbox that must accept TCP connections */
    const int64_t *port;
    /* Path at that port that must answer GET with a status from 200 to 399 */
    const char *http;
    size_t http_len;
    /* Instead of a port: shell command, or an array that is run without a shell, that must exit with 0 */
    struct iii_command command;
    /* Longest time between two checks, milliseconds */
    const int64_t *interval_ms;
    /* Time until it must be ready, seconds; then it is killed */
    const int64_t *timeout;
};

struct iii_template_create_config_service {
    /* Name: letters, digits, - and _ */
    const char *name;
    size_t name_len;
    /* Shell command, or an array that is run without a shell; it stays in the foreground */
    struct iii_command command;
    /* Variables added to the sandbox's own */
    const struct iii_pair *env;
    size_t env_count;
    /* User inside the sandbox, as for a command; default: the image's */
    const char *user;
    size_t user_len;
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
    /* What shows that it is ready: port, port and http, or command; default: that it was started */
    const struct iii_template_create_config_service_ready *ready;
    /* When it is restarted after it exited: always, on-failure, no */
    const char *restart;
    size_t restart_len;
    /* Restarts in a row, without a run of 10 s between them, before it has failed */
    const int64_t *max_restarts;
    /* Pause before the first of them, milliseconds; it doubles up to 60000 */
    const int64_t *backoff_ms;
    /* Time to exit after SIGTERM, seconds; then it is killed */
    const int64_t *stop_timeout;
    /* Names of services that must be ready before it starts */
    const char *const *depends_on;
    size_t depends_on_count;
};

/* Configuration of sandboxes made from it; image is required in it */
struct iii_template_create_config {
    /* Image to start from */
    const char *image;
    size_t image_len;
    /* Name; default: the new id */
    const char *name;
    size_t name_len;
    /* Time to live, seconds; a create moves it into 60 to III_MAX_TIMEOUT; default: III_DEFAULT_TIMEOUT */
    const int64_t *timeout;
    /* Memory, MB; a create moves it into 64 to III_MAX_MEMORY; default: III_DEFAULT_MEMORY */
    const int64_t *memory;
    /* CPUs; a create moves it into 0.5 to III_MAX_CPUS; default: III_DEFAULT_CPU */
    const double *cpu;
    /* Size of its own disk, MB; 0: no own disk; a create moves it into 16 to III_MAX_DISK; default: III_DEFAULT_DISK */
    const int64_t *disk_mb;
    /* Files and folders on that disk; a create moves it into 1024 to 256 for each MB; default: 64 for each MB */
    const int64_t *inodes;
    /* Processes and threads; a create moves it into 16 to III_MAX_PIDS; default: III_PIDS_MAX */
    const int64_t *pids;
    /* Open files of one process; a create moves it into 64 to III_MAX_OPEN_FILES; default: III_OPEN_FILES */
    const int64_t *open_files;
    /* Size of /dev/shm, MB; a create moves it into 1 to III_MAX_SHM_MB; default: III_SHM_MB */
    const int64_t *shm_mb;
    /* Network rate each way, Mbit/s; 0: no limit; a create moves it into 1 to III_MAX_NET_MBPS; default:
     * III_NET_MBPS */
    const int64_t *net_mbps;
    /* Idle time after which onIdle is done, seconds; a create moves it into 1 to III_MAX_TIMEOUT; default: none */
    const int64_t *idle_timeout;
    /* What its expiry does: remove it, stop it, pause it or hibernate it: kill, stop, pause, hibernate */
    const char *on_timeout;
    size_t on_timeout_len;
    /* What its idle time does: the same choices: kill, stop, pause, hibernate */
    const char *on_idle;
    size_t on_idle_len;
    /* Whether it is restarted after a reboot of the host, a stop of the server or its own death: no, always */
    const char *restart;
    size_t restart_len;
    /* Whether a call to it while it sleeps wakes it; default: III_AUTO_RESUME */
    const bool *auto_resume;
    /* Whether the sandbox has a network */
    const bool *network;
    /* Environment variables */
    const struct iii_pair *env;
    size_t env_count;
    /* System calls that programs may make: all but a deny list, or only an allow list: default, strict */
    const char *seccomp;
    size_t seccomp_len;
    /* Working folder; default: III_WORKSPACE_DIR */
    const char *workdir;
    size_t workdir_len;
    /* Strings stored with the sandbox */
    const struct iii_pair *metadata;
    size_t metadata_count;
    /* Commands that are kept running; default: none */
    const struct iii_template_create_config_service *services;
    size_t services_count;
    /* Command of the main process */
    const char *const *entrypoint;
    size_t entrypoint_count;
};

struct iii_egress_set_rule {
    /* Action for a matching connection: allow, deny */
    const char *action;
    size_t action_len;
    /* IPv4 address or range; default: any */
    const char *cidr;
    size_t cidr_len;
    /* Name that the sandbox looked up; *.name for all names below it; default: any */
    const char *domain;
    size_t domain_len;
    /* Array of up to 32 ports, or ranges like "8000-8100"; default: all; JSON text */
    const char *ports;
};

/* Optional fields of iii_sandbox_create() */
struct iii_sandbox_create_options {
    /* Image to start from; default: III_DEFAULT_IMAGE */
    const char *image;
    size_t image_len;
    /* Name; default: the new id */
    const char *name;
    size_t name_len;
    /* Time to live, seconds; a create moves it into 60 to III_MAX_TIMEOUT; default: III_DEFAULT_TIMEOUT */
    const int64_t *timeout;
    /* Memory, MB; a create moves it into 64 to III_MAX_MEMORY; default: III_DEFAULT_MEMORY */
    const int64_t *memory;
    /* CPUs; a create moves it into 0.5 to III_MAX_CPUS; default: III_DEFAULT_CPU */
    const double *cpu;
    /* Size of its own disk, MB; 0: no own disk; a create moves it into 16 to III_MAX_DISK; default: III_DEFAULT_DISK */
    const int64_t *disk_mb;
    /* Files and folders on that disk; a create moves it into 1024 to 256 for each MB; default: 64 for each MB */
    const int64_t *inodes;
    /* Processes and threads; a create moves it into 16 to III_MAX_PIDS; default: III_PIDS_MAX */
    const int64_t *pids;
    /* Open files of one process; a create moves it into 64 to III_MAX_OPEN_FILES; default: III_OPEN_FILES */
    const int64_t *open_files;
    /* Size of /dev/shm, MB; a create moves it into 1 to III_MAX_SHM_MB; default: III_SHM_MB */
    const int64_t *shm_mb;
    /* Network rate each way, Mbit/s; 0: no limit; a create moves it into 1 to III_MAX_NET_MBPS; default:
     * III_NET_MBPS */
    const int64_t *net_mbps;
    /* Idle time after which onIdle is done, seconds; a create moves it into 1 to III_MAX_TIMEOUT; default: none */
    const int64_t *idle_timeout;
    /* What its expiry does: remove it, stop it, pause it or hibernate it: kill, stop, pause, hibernate */
    const char *on_timeout;
    size_t on_timeout_len;
    /* What its idle time does: the same choices: kill, stop, pause, hibernate */
    const char *on_idle;
    size_t on_idle_len;
    /* Whether it is restarted after a reboot of the host, a stop of the server or its own death: no, always */
    const char *restart;
    size_t restart_len;
    /* Whether a call to it while it sleeps wakes it; default: III_AUTO_RESUME */
    const bool *auto_resume;
    /* Whether the sandbox has a network */
    const bool *network;
    /* Environment variables */
    const struct iii_pair *env;
    size_t env_count;
    /* System calls that programs may make: all but a deny list, or only an allow list: default, strict */
    const char *seccomp;
    size_t seccomp_len;
    /* Working folder; default: III_WORKSPACE_DIR */
    const char *workdir;
    size_t workdir_len;
    /* Strings stored with the sandbox */
    const struct iii_pair *metadata;
    size_t metadata_count;
    /* Commands that are kept running; default: none */
    const struct iii_sandbox_create_service *services;
    size_t services_count;
    /* Command of the main process */
    const char *const *entrypoint;
    size_t entrypoint_count;
    /* Isolation backend, one that III_BACKENDS allows; default: III_ISOLATION_BACKEND */
    const char *backend;
    size_t backend_len;
    /* Name or id of a template whose configuration is the base */
    const char *template_;
    size_t template_len;
    /* When the caller has a sandbox of that name: create another one, or connect to it: create, connect */
    const char *if_exists;
    size_t if_exists_len;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_sandbox_list() */
struct iii_sandbox_list_options {
    /* Only sandboxes with this status */
    const char *status;
    size_t status_len;
    /* Page, from 1 on */
    const int64_t *page;
    /* Sandboxes on a page */
    const int64_t *page_size;
    /* Only sandboxes with all these pairs */
    const struct iii_pair *metadata;
    size_t metadata_count;
    /* Only clones and forks of this sandbox */
    const char *parent_id;
    size_t parent_id_len;
};

/* Optional fields of iii_sandbox_stop() */
struct iii_sandbox_stop_options {
    /* Time for its processes to exit after SIGTERM, seconds; then they are killed */
    const int64_t *timeout;
};

/* Optional fields of iii_sandbox_restart() */
struct iii_sandbox_restart_options {
    /* Time for its processes to exit after SIGTERM, seconds; then they are killed */
    const int64_t *timeout;
};

/* Optional fields of iii_sandbox_policy() */
struct iii_sandbox_policy_options {
    /* Idle time after which onIdle is done, seconds; 0: none (0 to III_MAX_TIMEOUT); default: as it is */
    const int64_t *idle_timeout;
    /* What its expiry does: remove it, stop it, pause it or hibernate it: kill, stop, pause, hibernate */
    const char *on_timeout;
    size_t on_timeout_len;
    /* What its idle time does: the same choices: kill, stop, pause, hibernate */
    const char *on_idle;
    size_t on_idle_len;
    /* Whether it is restarted after a reboot of the host, a stop of the server or its own death: no, always */
    const char *restart;
    size_t restart_len;
    /* Whether a call to it while it sleeps wakes it; default: as it is */
    const bool *auto_resume;
};

/* Optional fields of iii_sandbox_resize() */
struct iii_sandbox_resize_options {
    /* Memory, MB; moved into 64 to III_MAX_MEMORY; default: unchanged */
    const int64_t *memory;
    /* CPUs; moved into 0.5 to III_MAX_CPUS; default: unchanged */
    const double *cpu;
    /* Processes and threads; moved into 16 to III_MAX_PIDS; default: unchanged */
    const int64_t *pids;
    /* Size of its own disk, MB, not less than it has; at most III_MAX_DISK; default: unchanged */
    const int64_t *disk_mb;
};

/* Optional fields of iii_sandbox_label() */
struct iii_sandbox_label_options {
    /* Pairs to set */
    const struct iii_pair *metadata;
    size_t metadata_count;
    /* Keys to remove */
    const char *const *remove;
    size_t remove_count;
};

/* Optional fields of iii_sandbox_clone() */
struct iii_sandbox_clone_options {
    /* Name of the new sandbox; default: the new id */
    const char *name;
    size_t name_len;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_sandbox_fork() */
struct iii_sandbox_fork_options {
    /* Number of sandboxes (1 to III_MAX_FORK) */
    const int64_t *count;
    /* Name of the new sandbox; several are called name-1, name-2, …; default: the new ids */
    const char *name;
    size_t name_len;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_cmd_run() */
struct iii_cmd_run_options {
    /* Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
    /* Variables added to the sandbox's own */
    const struct iii_pair *env;
    size_t env_count;
    /* User inside the sandbox: a name or uid, or with a group name:group, uid:gid; default: the image's */
    const char *user;
    size_t user_len;
    /* Standard input; what is larger goes into a file, or to exec::input; default: empty */
    const char *stdin_;
    size_t stdin_len;
    /* Encoding of stdin: utf8, base64 */
    const char *stdin_encoding;
    size_t stdin_encoding_len;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_cmd_run_stream() */
struct iii_cmd_run_stream_options {
    /* Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
    /* Variables added to the sandbox's own */
    const struct iii_pair *env;
    size_t env_count;
    /* User inside the sandbox: a name or uid, or with a group name:group, uid:gid; default: the image's */
    const char *user;
    size_t user_len;
    /* Standard input; what is larger goes into a file, or to exec::input; default: empty */
    const char *stdin_;
    size_t stdin_len;
    /* Encoding of stdin: utf8, base64 */
    const char *stdin_encoding;
    size_t stdin_encoding_len;
};

/* Optional fields of iii_cmd_background() */
struct iii_cmd_background_options {
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
    /* Variables added to the sandbox's own */
    const struct iii_pair *env;
    size_t env_count;
    /* User inside the sandbox: a name or uid, or with a group name:group, uid:gid; default: the image's */
    const char *user;
    size_t user_len;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_cmd_background_logs() */
struct iii_cmd_background_logs_options {
    /* Byte offset to read from */
    const int64_t *cursor;
};

/* Optional fields of iii_cmd_interrupt() */
struct iii_cmd_interrupt_options {
    /* Process id inside the sandbox; default: every running command */
    const int64_t *pid;
};

/* Optional fields of iii_exec_start() */
struct iii_exec_start_options {
    /* Id for the command: 1 to 63 letters, digits, _ - .; default: a new one */
    const char *exec_id;
    size_t exec_id_len;
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
    /* Variables added to the sandbox's own */
    const struct iii_pair *env;
    size_t env_count;
    /* User inside the sandbox: a name or uid, or with a group name:group, uid:gid; default: the image's */
    const char *user;
    size_t user_len;
    /* Timeout, seconds; default: none */
    const int64_t *timeout;
    /* Keep standard input open for exec::input */
    const bool *stdin_;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_exec_output() */
struct iii_exec_output_options {
    /* Byte offset to read from */
    const int64_t *offset;
    /* Stream events until the command exits */
    const bool *follow;
    /* Encoding of the output: utf8, base64 */
    const char *encoding;
    size_t encoding_len;
};

/* Optional fields of iii_exec_input() */
struct iii_exec_input_options {
    /* Data to write; default: nothing */
    const char *data;
    size_t data_len;
    /* Encoding of data: utf8, base64 */
    const char *encoding;
    size_t encoding_len;
    /* Close standard input afterwards */
    const bool *close;
};

/* Optional fields of iii_exec_signal() */
struct iii_exec_signal_options {
    /* Signal, without SIG: TERM, KILL, INT, HUP, USR1, USR2, STOP, CONT */
    const char *signal;
    size_t signal_len;
};

/* Optional fields of iii_queue_submit() */
struct iii_queue_submit_options {
    /* Attempts in all when the command cannot run or times out */
    const int64_t *max_retries;
    /* Whether a non-zero exit code is a failure, too: retried, then a dead letter */
    const bool *retry_on_exit;
    /* Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_queue_list() */
struct iii_queue_list_options {
    /* Which: pending, running, completed, failed, cancelled, all */
    const char *status;
    size_t status_len;
    /* At most this many */
    const int64_t *limit;
    /* Skip this many */
    const int64_t *offset;
};

/* Optional fields of iii_queue_dlq() */
struct iii_queue_dlq_options {
    /* Maximum number of entries */
    const int64_t *limit;
    /* Entries to skip */
    const int64_t *offset;
};

/* Optional fields of iii_fs_list() */
struct iii_fs_list_options {
    /* Folder; default: III_WORKSPACE_DIR */
    const char *path;
    size_t path_len;
    /* Maximum number of entries (moved into 0 to 100000) */
    const int64_t *limit;
    /* Entries to skip */
    const int64_t *offset;
};

/* Optional fields of iii_fs_search() */
struct iii_fs_search_options {
    /* Folder to search below; default: III_WORKSPACE_DIR */
    const char *dir;
    size_t dir_len;
};

/* Optional fields of iii_fs_info() */
struct iii_fs_info_options {
    /* Paths */
    const char *const *paths;
    size_t paths_count;
    /* One path, instead of paths */
    const char *path;
    size_t path_len;
};

/* Optional fields of iii_fs_mkdir() */
struct iii_fs_mkdir_options {
    /* Paths */
    const char *const *paths;
    size_t paths_count;
    /* One path, instead of paths */
    const char *path;
    size_t path_len;
};

/* Optional fields of iii_fs_rmdir() */
struct iii_fs_rmdir_options {
    /* Paths */
    const char *const *paths;
    size_t paths_count;
    /* One path, instead of paths */
    const char *path;
    size_t path_len;
};

/* Optional fields of iii_fs_watch() */
struct iii_fs_watch_options {
    /* Folder to watch */
    const char *path;
    size_t path_len;
    /* Also the folders below it */
    const bool *recursive;
    /* Globs of what is left out, separated by commas: names (node_modules,.git,*.pyc), or with a slash paths below
     * the folder */
    const char *exclude;
    size_t exclude_len;
};

/* Optional fields of iii_fs_sign() */
struct iii_fs_sign_options {
    /* get: the URL downloads; put: it uploads: get, put */
    const char *method;
    size_t method_len;
    /* How long the URL is valid, seconds */
    const int64_t *ttl;
    /* Whether the first request uses it up */
    const bool *once;
    /* Longest body of an upload, bytes */
    const int64_t *max_bytes;
    /* Content-Type that the upload must have */
    const char *content_type;
    size_t content_type_len;
    /* Download the file or folder as an archive of this format: tar, tar.gz, tar.zst, zip */
    const char *format;
    size_t format_len;
};

/* Optional fields of iii_proc_kill() */
struct iii_proc_kill_options {
    /* Signal, without SIG: TERM, KILL, INT, HUP, USR1, USR2, STOP, CONT */
    const char *signal;
    size_t signal_len;
};

/* Optional fields of iii_service_list() */
struct iii_service_list_options {
    /* Answer when none is about to start, to be ready or to stop, or after so many seconds */
    const int64_t *wait;
};

/* Optional fields of iii_service_logs() */
struct iii_service_logs_options {
    /* Byte offset to read from */
    const int64_t *offset;
    /* Stream events until the sandbox stops */
    const bool *follow;
    /* Encoding of the output: utf8, base64 */
    const char *encoding;
    size_t encoding_len;
};

/* Optional fields of iii_git_clone() */
struct iii_git_clone_options {
    /* Folder to clone into */
    const char *path;
    size_t path_len;
    /* Branch */
    const char *branch;
    size_t branch_len;
    /* Commits of history to fetch */
    const int64_t *depth;
};

/* Optional fields of iii_git_status() */
struct iii_git_status_options {
    /* Folder of the repository */
    const char *path;
    size_t path_len;
};

/* Optional fields of iii_git_commit() */
struct iii_git_commit_options {
    /* Folder of the repository; default: the sandbox's workdir */
    const char *path;
    size_t path_len;
    /* Stage everything first */
    const bool *all;
};

/* Optional fields of iii_git_diff() */
struct iii_git_diff_options {
    /* Folder of the repository */
    const char *path;
    size_t path_len;
    /* Show staged changes */
    const bool *staged;
    /* Only this file */
    const char *file;
    size_t file_len;
};

/* Optional fields of iii_git_log() */
struct iii_git_log_options {
    /* Folder of the repository */
    const char *path;
    size_t path_len;
    /* Commits to show */
    const int64_t *count;
};

/* Optional fields of iii_git_branch() */
struct iii_git_branch_options {
    /* Folder of the repository; default: the sandbox's workdir */
    const char *path;
    size_t path_len;
    /* Branch to create and switch to, or to delete */
    const char *name;
    size_t name_len;
    /* Delete the branch */
    const bool *delete_;
};

/* Optional fields of iii_git_checkout() */
struct iii_git_checkout_options {
    /* Folder of the repository; default: the sandbox's workdir */
    const char *path;
    size_t path_len;
};

/* Optional fields of iii_git_push() */
struct iii_git_push_options {
    /* Folder of the repository; default: the sandbox's workdir */
    const char *path;
    size_t path_len;
    /* Remote */
    const char *remote;
    size_t remote_len;
    /* Branch */
    const char *branch;
    size_t branch_len;
    /* Force the push */
    const bool *force;
};

/* Optional fields of iii_git_pull() */
struct iii_git_pull_options {
    /* Folder of the repository; default: the sandbox's workdir */
    const char *path;
    size_t path_len;
    /* Remote */
    const char *remote;
    size_t remote_len;
    /* Branch */
    const char *branch;
    size_t branch_len;
};

/* Optional fields of iii_template_create() */
struct iii_template_create_options {
    /* What it is for; default: empty */
    const char *description;
    size_t description_len;
};

/* Optional fields of iii_snapshot_create() */
struct iii_snapshot_create_options {
    /* Name of the snapshot; default: its id */
    const char *name;
    size_t name_len;
};

/* Optional fields of iii_snapshot_clone() */
struct iii_snapshot_clone_options {
    /* Name of the new sandbox; default: the new id */
    const char *name;
    size_t name_len;
};

/* Optional fields of iii_snapshot_create_short() */
struct iii_snapshot_create_short_options {
    /* Name of the snapshot; default: comment, or its id */
    const char *name;
    size_t name_len;
    /* Name of the snapshot, as older clients send it */
    const char *comment;
    size_t comment_len;
};

/* Optional fields of iii_interp_execute() */
struct iii_interp_execute_options {
    /* Language: python, javascript, typescript, go, bash */
    const char *language;
    size_t language_len;
};

/* Optional fields of iii_interp_install() */
struct iii_interp_install_options {
    /* Package manager or language: python, pip, javascript, typescript, npm, go, bash, apt */
    const char *manager;
    size_t manager_len;
};

/* Optional fields of iii_context_create() */
struct iii_context_create_options {
    /* Language: python, javascript */
    const char *language;
    size_t language_len;
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
    /* Variables added to the sandbox's own */
    const struct iii_pair *env;
    size_t env_count;
};

/* Optional fields of iii_context_execute() */
struct iii_context_execute_options {
    /* Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
};

/* Optional fields of iii_context_execute_stream() */
struct iii_context_execute_stream_options {
    /* Timeout, seconds (moved into 1 to III_MAX_CMD_TIMEOUT); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
};

/* Optional fields of iii_port_expose() */
struct iii_port_expose_options {
    /* Port of the host; 0 picks a free one; default: containerPort */
    const int64_t *host_port;
    /* Protocol: tcp, udp */
    const char *protocol;
    size_t protocol_len;
};

/* Optional fields of iii_preview_open() */
struct iii_preview_open_options {
    /* Whether anyone who can reach this server may open it; remembered */
    const bool *public_;
    /* Whether the server inside sees Host and Origin as localhost:port; remembered */
    const bool *rewrite_host;
    /* How long the signed link and its cookie are valid, seconds */
    const int64_t *ttl;
};

/* Optional fields of iii_proxy_request() */
struct iii_proxy_request_options {
    /* Method */
    const char *method;
    size_t method_len;
    /* Path, starting with / */
    const char *path;
    size_t path_len;
    /* Headers; values that are not strings are ignored; JSON text */
    const char *headers;
    /* Body, not sent with GET and HEAD */
    const char *body;
    size_t body_len;
};

/* Optional fields of iii_proxy_config() */
struct iii_proxy_config_options {
    /* Allowed origin; default: * */
    const char *cors;
    size_t cors_len;
    /* Whether raw requests need the bearer token */
    const bool *require_auth;
    /* Timeout of a request, milliseconds */
    const int64_t *timeout;
};

/* Optional fields of iii_terminal_create() */
struct iii_terminal_create_options {
    /* Columns */
    const int64_t *cols;
    /* Rows */
    const int64_t *rows;
    /* /bin/sh, /bin/bash, /bin/zsh or /bin/ash */
    const char *shell;
    size_t shell_len;
};

/* Optional fields of iii_token_create() */
struct iii_token_create_options {
    /* Role of the token: admin, user, read-only */
    const char *role;
    size_t role_len;
    /* Tenant whose objects it sees: letters, digits and ._-; * with read-only for all tenants; default: a user's own
     * id */
    const char *tenant;
    size_t tenant_len;
    /* The one sandbox that it is for: id, or name; its tenant is the token's; default: all of its tenant */
    const char *sandbox;
    size_t sandbox_len;
    /* What it may call: groups (exec, files) and ids of operations; default: all of its role */
    const char *const *operations;
    size_t operations_count;
    /* Expiry, milliseconds since the epoch; default: never */
    const int64_t *expires;
    /* Limits: sandboxes, memoryMb, cpus, volumes, snapshots, ports, webhooks, diskMb, requestsPerMinute. Missing
     * ones are unlimited; default: none; JSON text */
    const char *quota;
};

/* Optional fields of iii_ssh_key_add() */
struct iii_ssh_key_add_options {
    /* What to call it; default: the comment in the key */
    const char *name;
    size_t name_len;
    /* The one sandbox that it opens: id, or name; default: all of its tenant */
    const char *sandbox;
    size_t sandbox_len;
    /* Expiry, milliseconds since the epoch; default: never */
    const int64_t *expires;
};

/* Optional fields of iii_event_history() */
struct iii_event_history_options {
    /* Only events of this sandbox */
    const char *sandbox_id;
    size_t sandbox_id_len;
    /* Only events of this topic */
    const char *topic;
    size_t topic_len;
    /* Maximum number of entries */
    const int64_t *limit;
    /* Entries to skip */
    const int64_t *offset;
};

/* Optional fields of iii_event_publish() */
struct iii_event_publish_options {
    /* Data of the event; JSON text */
    const char *data;
};

/* Optional fields of iii_observability_traces() */
struct iii_observability_traces_options {
    /* Only traces of this sandbox */
    const char *sandbox_id;
    size_t sandbox_id_len;
    /* Only traces of this function */
    const char *function_id;
    size_t function_id_len;
    /* Maximum number of entries */
    const int64_t *limit;
    /* Entries to skip */
    const int64_t *offset;
};

/* Optional fields of iii_observability_clear() */
struct iii_observability_clear_options {
    /* Delete traces older than this, milliseconds since the epoch; default: now */
    const int64_t *before;
};

/* Optional fields of iii_stream_logs() */
struct iii_stream_logs_options {
    /* Lines to start with */
    const int64_t *tail;
    /* Continue with new lines */
    const bool *follow;
};

/* Optional fields of iii_stream_metrics() */
struct iii_stream_metrics_options {
    /* Seconds between samples */
    const int64_t *interval;
};

/* Optional fields of iii_stream_events() */
struct iii_stream_events_options {
    /* Only events of this topic */
    const char *topic;
    size_t topic_len;
    /* Put an id line before each event, for a browser's EventSource */
    const bool *ids;
};

/* Optional fields of iii_alert_set() */
struct iii_alert_set_options {
    /* Action when the threshold is reached: notify, pause, kill */
    const char *action;
    size_t action_len;
};

/* Optional fields of iii_alert_history() */
struct iii_alert_history_options {
    /* Maximum number of entries */
    const int64_t *limit;
};

/* Optional fields of iii_webhook_create() */
struct iii_webhook_create_options {
    /* Patterns of topics, * matches any text: sandbox.* */
    const char *const *events;
    size_t events_count;
    /* Only events of this sandbox */
    const char *sandbox_id;
    size_t sandbox_id_len;
    /* Only events of sandboxes with these pairs of metadata */
    const struct iii_pair *metadata;
    size_t metadata_count;
    /* Text for people */
    const char *description;
    size_t description_len;
    /* Whether it gets events; those that wait stay */
    const bool *enabled;
};

/* Optional fields of iii_webhook_list() */
struct iii_webhook_list_options {
    /* Only webhooks for events of this sandbox */
    const char *sandbox_id;
    size_t sandbox_id_len;
};

/* Optional fields of iii_webhook_update() */
struct iii_webhook_update_options {
    /* https:// address that receives POST requests; http:// if III_WEBHOOK_PLAIN allows it */
    const char *url;
    size_t url_len;
    /* Patterns of topics, * matches any text: sandbox.* */
    const char *const *events;
    size_t events_count;
    /* Only events of this sandbox */
    const char *sandbox_id;
    size_t sandbox_id_len;
    /* Only events of sandboxes with these pairs of metadata */
    const struct iii_pair *metadata;
    size_t metadata_count;
    /* Text for people */
    const char *description;
    size_t description_len;
    /* Whether it gets events; those that wait stay */
    const bool *enabled;
};

/* Optional fields of iii_webhook_rotate() */
struct iii_webhook_rotate_options {
    /* How long the former secret also signs, seconds */
    const int64_t *overlap;
};

/* Optional fields of iii_webhook_deliveries() */
struct iii_webhook_deliveries_options {
    /* Which: pending, dead, or all: pending, dead, all */
    const char *status;
    size_t status_len;
    /* At most this many */
    const int64_t *limit;
    /* Skip this many */
    const int64_t *offset;
};

/* Optional fields of iii_webhook_purge() */
struct iii_webhook_purge_options {
    /* Which: pending, dead, or all: pending, dead, all */
    const char *status;
    size_t status_len;
};

/* Optional fields of iii_webhook_retry() */
struct iii_webhook_retry_options {
    /* The one to retry; default: every dead letter */
    const char *delivery_id;
    size_t delivery_id_len;
};

/* Optional fields of iii_egress_set() */
struct iii_egress_set_options {
    /* Action when no rule matches: allow, deny */
    const char *default_;
    size_t default_len;
    /* Rules; the first match decides; default: none */
    const struct iii_egress_set_rule *rules;
    size_t rules_count;
};

/* Optional fields of iii_network_create() */
struct iii_network_create_options {
    /* Driver; there is one; default: bridge */
    const char *driver;
    size_t driver_len;
};

/* Optional fields of iii_volume_create() */
struct iii_volume_create_options {
    /* Driver; there is one; default: local */
    const char *driver;
    size_t driver_len;
    /* Size, MB, at most III_MAX_DISK; III_VOLUME_MB when it is not given */
    const int64_t *size_mb;
};

/* Optional fields of iii_volume_attach() */
struct iii_volume_attach_options {
    /* Mount it read-only */
    const bool *read_only;
};

/* Optional fields of iii_audit_list() */
struct iii_audit_list_options {
    /* Only operations that begin with this */
    const char *operation;
    size_t operation_len;
    /* Only calls of the token with this id or name */
    const char *by;
    size_t by_len;
    /* Only calls of this tenant */
    const char *tenant;
    size_t tenant_len;
    /* Only this status */
    const int64_t *status;
    /* Only lines from this time on, milliseconds since the epoch */
    const int64_t *since;
    /* Only lines with a lower number */
    const int64_t *before;
    /* At most this many */
    const int64_t *limit;
};

/* Optional fields of iii_function_call() */
struct iii_function_call_options {
    /* What it gets; JSON text */
    const char *payload;
    /* How long to wait for its answer, seconds (moved into 1 to 300) */
    const int64_t *timeout;
};

typedef int iii_exec_stream_chunk_fn(const struct iii_exec_stream_chunk *event, void *arg);
typedef int iii_exec_output_event_fn(const struct iii_exec_output_event *event, void *arg);
typedef int iii_file_event_fn(const struct iii_file_event *event, void *arg);
typedef int iii_service_output_event_fn(const struct iii_service_output_event *event, void *arg);
typedef int iii_image_event_fn(const struct iii_image_event *event, void *arg);
typedef int iii_context_event_fn(const struct iii_context_event *event, void *arg);
typedef int iii_log_event_fn(const struct iii_log_event *event, void *arg);
typedef int iii_sandbox_metrics_fn(const struct iii_sandbox_metrics *event, void *arg);
typedef int iii_sandbox_event_fn(const struct iii_sandbox_event *event, void *arg);

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

/* Create and start a sandbox from an image or a template */
III_API int iii_sandbox_create(iii_client *client, const struct iii_sandbox_create_options *options,
                               struct iii_sandbox_info **ret, struct iii_error *err);
/* List sandboxes, page by page */
III_API int iii_sandbox_list(iii_client *client, const struct iii_sandbox_list_options *options,
                             struct iii_sandbox_page **ret, struct iii_error *err);
/* Get one sandbox */
III_API int iii_sandbox_get(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err);
/* Stop a sandbox and remove it */
III_API int iii_sandbox_kill(const iii_sandbox *sandbox, struct iii_success **ret, struct iii_error *err);
/* Freeze all processes of a running sandbox */
III_API int iii_sandbox_pause(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err);
/* Resume a paused sandbox */
III_API int iii_sandbox_resume(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err);
/* End the processes of a sandbox; its files and settings are kept */
III_API int iii_sandbox_stop(const iii_sandbox *sandbox, const struct iii_sandbox_stop_options *options,
                             struct iii_sandbox_info **ret, struct iii_error *err);
/* Start a stopped or hibernated sandbox again, or resume a paused one */
III_API int iii_sandbox_start(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err);
/* Stop a sandbox and start it again with its files */
III_API int iii_sandbox_restart(const iii_sandbox *sandbox, const struct iii_sandbox_restart_options *options,
                                struct iii_sandbox_info **ret, struct iii_error *err);
/* Save memory and files of a sandbox to disk and end it; a start continues its processes */
III_API int iii_sandbox_hibernate(const iii_sandbox *sandbox, struct iii_sandbox_info **ret, struct iii_error *err);
/* Change what a sandbox does when it expires, when it is idle and when it is called asleep */
III_API int iii_sandbox_policy(const iii_sandbox *sandbox, const struct iii_sandbox_policy_options *options,
                               struct iii_sandbox_info **ret, struct iii_error *err);
/* Set the expiry of a sandbox */
III_API int iii_sandbox_renew(const iii_sandbox *sandbox, int64_t expires_at, struct iii_sandbox_info **ret,
                              struct iii_error *err);
/* Change the limits of a sandbox while it runs; its disk only grows */
III_API int iii_sandbox_resize(const iii_sandbox *sandbox, const struct iii_sandbox_resize_options *options,
                               struct iii_sandbox_info **ret, struct iii_error *err);
/* Change the metadata of a sandbox: keys are removed, then pairs are set */
III_API int iii_sandbox_label(const iii_sandbox *sandbox, const struct iii_sandbox_label_options *options,
                              struct iii_sandbox_info **ret, struct iii_error *err);
/* Start a new sandbox with the files and configuration of this one */
III_API int iii_sandbox_clone(const iii_sandbox *sandbox, const struct iii_sandbox_clone_options *options,
                              struct iii_sandbox_info **ret, struct iii_error *err);
/* Start several new sandboxes with the files and configuration of this one */
III_API int iii_sandbox_fork(const iii_sandbox *sandbox, const struct iii_sandbox_fork_options *options,
                             struct iii_sandbox_fork **ret, struct iii_error *err);
/* Run a command and wait for it */
III_API int iii_cmd_run(const iii_sandbox *sandbox, struct iii_command command,
                        const struct iii_cmd_run_options *options, struct iii_exec_result **ret,
                        struct iii_error *err);
/* Run a command and stream its output */
III_API int iii_cmd_run_stream(const iii_sandbox *sandbox, struct iii_command command,
                               const struct iii_cmd_run_stream_options *options, iii_exec_stream_chunk_fn *on_event,
                               void *arg, struct iii_error *err);
/* Start a command in the background */
III_API int iii_cmd_background(const iii_sandbox *sandbox, struct iii_command command,
                               const struct iii_cmd_background_options *options, struct iii_background_exec **ret,
                               struct iii_error *err);
/* State of a background command */
III_API int iii_cmd_background_status(iii_client *client, const char *id, struct iii_background_exec **ret,
                                      struct iii_error *err);
/* Output of a background command from a byte offset */
III_API int iii_cmd_background_logs(iii_client *client, const char *id,
                                    const struct iii_cmd_background_logs_options *options,
                                    struct iii_background_logs **ret, struct iii_error *err);
/* Send SIGINT to one process, or to every running command */
III_API int iii_cmd_interrupt(const iii_sandbox *sandbox, const struct iii_cmd_interrupt_options *options,
                              struct iii_success **ret, struct iii_error *err);
/* Start a durable command, which outlives the connection */
III_API int iii_exec_start(const iii_sandbox *sandbox, struct iii_command command,
                           const struct iii_exec_start_options *options, struct iii_durable_exec **ret,
                           struct iii_error *err);
/* Durable commands of a sandbox, including those that have exited */
III_API int iii_exec_list(const iii_sandbox *sandbox, struct iii_durable_exec_list **ret, struct iii_error *err);
/* State of a durable command */
III_API int iii_exec_get(iii_client *client, const char *exec_id, struct iii_durable_exec **ret, struct iii_error *err);
/* Output of a durable command from a byte offset; as server-sent events with follow or Accept: text/event-stream */
III_API int iii_exec_output(iii_client *client, const char *exec_id, const struct iii_exec_output_options *options,
                            struct iii_exec_output **ret, struct iii_error *err);
/* Output of a durable command from a byte offset; as server-sent events with follow or Accept: text/event-stream:
 * each event as it comes */
III_API int iii_exec_output_events(iii_client *client, const char *exec_id,
                                   const struct iii_exec_output_options *options, iii_exec_output_event_fn *on_event,
                                   void *arg, struct iii_error *err);
/* Write to the standard input of a durable command, or close it */
III_API int iii_exec_input(iii_client *client, const char *exec_id, const struct iii_exec_input_options *options,
                           struct iii_exec_written **ret, struct iii_error *err);
/* Send a signal to the process group of a durable command */
III_API int iii_exec_signal(iii_client *client, const char *exec_id, const struct iii_exec_signal_options *options,
                            struct iii_exec_signalled **ret, struct iii_error *err);
/* Queue a command */
III_API int iii_queue_submit(const iii_sandbox *sandbox, struct iii_command command,
                             const struct iii_queue_submit_options *options, struct iii_queue_job_info **ret,
                             struct iii_error *err);
/* Queued commands of a sandbox, oldest first, with those that have finished */
III_API int iii_queue_list(const iii_sandbox *sandbox, const struct iii_queue_list_options *options,
                           struct iii_queue_job_page **ret, struct iii_error *err);
/* State of a queued command */
III_API int iii_queue_status(iii_client *client, const char *job_id, struct iii_queue_job_info **ret,
                             struct iii_error *err);
/* Cancel a waiting command, or terminate a running one */
III_API int iii_queue_cancel(iii_client *client, const char *job_id, struct iii_queue_cancelled **ret,
                             struct iii_error *err);
/* Retry a command that finally failed */
III_API int iii_queue_retry(iii_client *client, const char *job_id, struct iii_queue_job_info **ret,
                            struct iii_error *err);
/* Dead letters: commands that finally failed */
III_API int iii_queue_dlq(iii_client *client, const struct iii_queue_dlq_options *options,
                          struct iii_queue_job_page **ret, struct iii_error *err);
/* Read a text file */
III_API int iii_fs_read(const iii_sandbox *sandbox, const char *path, struct iii_text **ret, struct iii_error *err);
/* Write a text file; missing parent folders are created */
III_API int iii_fs_write(const iii_sandbox *sandbox, const char *path, const char *content, struct iii_success **ret,
                         struct iii_error *err);
/* Delete a file; a missing one is not an error */
III_API int iii_fs_delete(const iii_sandbox *sandbox, const char *path, struct iii_success **ret,
                          struct iii_error *err);
/* List a folder; a missing one is empty */
III_API int iii_fs_list(const iii_sandbox *sandbox, const struct iii_fs_list_options *options,
                        struct iii_file_info_list **ret, struct iii_error *err);
/* Find regular files by a glob on their name */
III_API int iii_fs_search(const iii_sandbox *sandbox, const char *pattern, const struct iii_fs_search_options *options,
                          struct iii_path_list **ret, struct iii_error *err);
/* Write a file from base64 */
III_API int iii_fs_upload(const iii_sandbox *sandbox, const char *path, const char *content, struct iii_success **ret,
                          struct iii_error *err);
/* Read a file as base64 */
III_API int iii_fs_download(const iii_sandbox *sandbox, const char *path, struct iii_base64 **ret,
                            struct iii_error *err);
/* Describe files: an array for paths, one object for path */
III_API int iii_fs_info(const iii_sandbox *sandbox, const struct iii_fs_info_options *options,
                        struct iii_file_info_reply **ret, struct iii_error *err);
/* Move files in order, up to the first failure */
III_API int iii_fs_move(const iii_sandbox *sandbox, const struct iii_fs_move_move *moves, size_t moves_count,
                        struct iii_success **ret, struct iii_error *err);
/* Create folders with their parents */
III_API int iii_fs_mkdir(const iii_sandbox *sandbox, const struct iii_fs_mkdir_options *options,
                         struct iii_success **ret, struct iii_error *err);
/* Remove folders with everything in them */
III_API int iii_fs_rmdir(const iii_sandbox *sandbox, const struct iii_fs_rmdir_options *options,
                         struct iii_success **ret, struct iii_error *err);
/* Change the mode of a file */
III_API int iii_fs_chmod(const iii_sandbox *sandbox, const char *path, const char *mode, struct iii_success **ret,
                         struct iii_error *err);
/* Changes of the files below a folder, as they occur; the first event is ready */
III_API int iii_fs_watch(const iii_sandbox *sandbox, const struct iii_fs_watch_options *options,
                         iii_file_event_fn *on_event, void *arg, struct iii_error *err);
/* Get a URL that downloads or uploads one file without a token, until it expires */
III_API int iii_fs_sign(const iii_sandbox *sandbox, const char *path, const struct iii_fs_sign_options *options,
                        struct iii_file_url **ret, struct iii_error *err);
/* Replace the key that signs links: every file URL, preview link and preview cookie made before ends */
III_API int iii_link_rotate(iii_client *client, struct iii_success **ret, struct iii_error *err);
/* Get one variable */
III_API int iii_env_get(const iii_sandbox *sandbox, const char *key, struct iii_env_value **ret, struct iii_error *err);
/* Set variables */
III_API int iii_env_set(const iii_sandbox *sandbox, const struct iii_pair *vars, size_t vars_count,
                        struct iii_env_set **ret, struct iii_error *err);
/* List the effective environment */
III_API int iii_env_list(const iii_sandbox *sandbox, struct iii_env_list **ret, struct iii_error *err);
/* Delete a variable; a missing one is not an error */
III_API int iii_env_delete(const iii_sandbox *sandbox, const char *key, struct iii_env_deleted **ret,
                           struct iii_error *err);
/* List processes */
III_API int iii_proc_list(const iii_sandbox *sandbox, struct iii_process_list **ret, struct iii_error *err);
/* List processes with their use of CPU and memory */
III_API int iii_proc_top(const iii_sandbox *sandbox, struct iii_process_top **ret, struct iii_error *err);
/* Send a signal to a process */
III_API int iii_proc_kill(const iii_sandbox *sandbox, int64_t pid, const struct iii_proc_kill_options *options,
                          struct iii_process_killed **ret, struct iii_error *err);
/* Services of a sandbox and their states */
III_API int iii_service_list(const iii_sandbox *sandbox, const struct iii_service_list_options *options,
                             struct iii_service_list **ret, struct iii_error *err);
/* Start a service that does not run */
III_API int iii_service_start(const iii_sandbox *sandbox, const char *name, struct iii_service **ret,
                              struct iii_error *err);
/* Stop a service; a request starts it, or the next start of its sandbox */
III_API int iii_service_stop(const iii_sandbox *sandbox, const char *name, struct iii_service **ret,
                             struct iii_error *err);
/* Stop a service and start it again, with the environment that the sandbox has now */
III_API int iii_service_restart(const iii_sandbox *sandbox, const char *name, struct iii_service **ret,
                                struct iii_error *err);
/* Output of a service from a byte offset; as server-sent events with follow or Accept: text/event-stream */
III_API int iii_service_logs(const iii_sandbox *sandbox, const char *name,
                             const struct iii_service_logs_options *options, struct iii_service_output **ret,
                             struct iii_error *err);
/* Output of a service from a byte offset; as server-sent events with follow or Accept: text/event-stream: each event
 * as it comes */
III_API int iii_service_logs_events(const iii_sandbox *sandbox, const char *name,
                                    const struct iii_service_logs_options *options,
                                    iii_service_output_event_fn *on_event, void *arg, struct iii_error *err);
/* Clone a repository */
III_API int iii_git_clone(const iii_sandbox *sandbox, const char *url, const struct iii_git_clone_options *options,
                          struct iii_exec_result **ret, struct iii_error *err);
/* Branch and changed files */
III_API int iii_git_status(const iii_sandbox *sandbox, const struct iii_git_status_options *options,
                           struct iii_git_status **ret, struct iii_error *err);
/* Commit; with all, stage everything first */
III_API int iii_git_commit(const iii_sandbox *sandbox, const char *message,
                           const struct iii_git_commit_options *options, struct iii_exec_result **ret,
                           struct iii_error *err);
/* Changes of the working tree, or staged changes */
III_API int iii_git_diff(const iii_sandbox *sandbox, const struct iii_git_diff_options *options,
                         struct iii_git_diff **ret, struct iii_error *err);
/* Commits, newest first */
III_API int iii_git_log(const iii_sandbox *sandbox, const struct iii_git_log_options *options, struct iii_git_log **ret,
                        struct iii_error *err);
/* List branches; with a name, create or delete that branch first */
III_API int iii_git_branch(const iii_sandbox *sandbox, const struct iii_git_branch_options *options,
                           struct iii_git_branches **ret, struct iii_error *err);
/* Check out a branch, tag or commit */
III_API int iii_git_checkout(const iii_sandbox *sandbox, const char *ref,
                             const struct iii_git_checkout_options *options, struct iii_exec_result **ret,
                             struct iii_error *err);
/* Push to a remote */
III_API int iii_git_push(const iii_sandbox *sandbox, const struct iii_git_push_options *options,
                         struct iii_exec_result **ret, struct iii_error *err);
/* Pull from a remote */
III_API int iii_git_pull(const iii_sandbox *sandbox, const struct iii_git_pull_options *options,
                         struct iii_exec_result **ret, struct iii_error *err);
/* Save a template */
III_API int iii_template_create(iii_client *client, const char *name, const struct iii_template_create_config *config,
                                const struct iii_template_create_options *options, struct iii_sandbox_template **ret,
                                struct iii_error *err);
/* List templates */
III_API int iii_template_list(iii_client *client, struct iii_template_list **ret, struct iii_error *err);
/* Get one template */
III_API int iii_template_get(iii_client *client, const char *id, struct iii_sandbox_template **ret,
                             struct iii_error *err);
/* Delete a template that is not built in */
III_API int iii_template_delete(iii_client *client, const char *id, struct iii_deleted **ret, struct iii_error *err);
/* Images in the store, and the presets this host can run */
III_API int iii_image_list(iii_client *client, struct iii_image_list **ret, struct iii_error *err);
/* Remove an image named in the query */
III_API int iii_image_delete_query(iii_client *client, const char *name, struct iii_deleted **ret,
                                   struct iii_error *err);
/* Pull an image from its registry; with Accept: text/event-stream the progress is streamed */
III_API int iii_image_pull(iii_client *client, const char *image, struct iii_image **ret, struct iii_error *err);
/* Pull an image from its registry; with Accept: text/event-stream the progress is streamed: each event as it comes */
III_API int iii_image_pull_events(iii_client *client, const char *image, iii_image_event_fn *on_event, void *arg,
                                  struct iii_error *err);
/* Check the stored signature of an image against the policy again; 403 when the policy denies the image */
III_API int iii_image_verify(iii_client *client, const char *name, struct iii_image_verification **ret,
                             struct iii_error *err);
/* Layers, sizes and configuration of an image in the store */
III_API int iii_image_inspect(iii_client *client, const char *name, struct iii_image_details **ret,
                              struct iii_error *err);
/* Remove an image of the caller's tenant; those of the operator need an admin. The name is percent-encoded. Running
 * sandboxes of it continue */
III_API int iii_image_delete(iii_client *client, const char *name, struct iii_deleted **ret, struct iii_error *err);
/* Take a snapshot */
III_API int iii_snapshot_create(const iii_sandbox *sandbox, const struct iii_snapshot_create_options *options,
                                struct iii_snapshot_info **ret, struct iii_error *err);
/* List the snapshots of a sandbox */
III_API int iii_snapshot_list(const iii_sandbox *sandbox, struct iii_snapshot_list **ret, struct iii_error *err);
/* Restore a sandbox to a snapshot */
III_API int iii_snapshot_restore(const iii_sandbox *sandbox, const char *snapshot_id, struct iii_sandbox_info **ret,
                                 struct iii_error *err);
/* Start a new sandbox from a snapshot */
III_API int iii_snapshot_clone(iii_client *client, const char *snapshot_id,
                               const struct iii_snapshot_clone_options *options, struct iii_sandbox_info **ret,
                               struct iii_error *err);
/* Delete a snapshot */
III_API int iii_snapshot_delete(iii_client *client, const char *snapshot_id, struct iii_deleted **ret,
                                struct iii_error *err);
/* Take a snapshot (the path of older clients) */
III_API int iii_snapshot_create_short(const iii_sandbox *sandbox,
                                      const struct iii_snapshot_create_short_options *options,
                                      struct iii_snapshot_info **ret, struct iii_error *err);
/* Resource use of one sandbox */
III_API int iii_metrics_sandbox(const iii_sandbox *sandbox, struct iii_sandbox_metrics **ret, struct iii_error *err);
/* Counters of the server */
III_API int iii_metrics_global(iii_client *client, struct iii_global_metrics **ret, struct iii_error *err);
/* Whether the server answers */
III_API int iii_health(iii_client *client, struct iii_health **ret, struct iii_error *err);
/* State of the warm pool */
III_API int iii_pool_status(iii_client *client, struct iii_pool_status **ret, struct iii_error *err);
/* Remove expired sandboxes now */
III_API int iii_ttl_sweep(iii_client *client, struct iii_swept **ret, struct iii_error *err);
/* This API as an OpenAPI 3.1 document */
III_API int iii_openapi(iii_client *client, struct iii_open_api **ret, struct iii_error *err);
/* Run source code */
III_API int iii_interp_execute(const iii_sandbox *sandbox, const char *code,
                               const struct iii_interp_execute_options *options, struct iii_code_result **ret,
                               struct iii_error *err);
/* Install packages */
III_API int iii_interp_install(const iii_sandbox *sandbox, const char *const *packages, size_t packages_count,
                               const struct iii_interp_install_options *options, struct iii_install_result **ret,
                               struct iii_error *err);
/* List the languages */
III_API int iii_interp_kernels(const iii_sandbox *sandbox, struct iii_kernel_list **ret, struct iii_error *err);
/* Start a context: an interpreter whose variables live between calls */
III_API int iii_context_create(const iii_sandbox *sandbox, const struct iii_context_create_options *options,
                               struct iii_context **ret, struct iii_error *err);
/* List the contexts of a sandbox */
III_API int iii_context_list(const iii_sandbox *sandbox, struct iii_context_list **ret, struct iii_error *err);
/* One context */
III_API int iii_context_get(const iii_sandbox *sandbox, const char *context_id, struct iii_context **ret,
                            struct iii_error *err);
/* Delete a context */
III_API int iii_context_delete(const iii_sandbox *sandbox, const char *context_id, struct iii_context_deleted **ret,
                               struct iii_error *err);
/* Run source code in a context */
III_API int iii_context_execute(const iii_sandbox *sandbox, const char *context_id, const char *code,
                                const struct iii_context_execute_options *options, struct iii_context_result **ret,
                                struct iii_error *err);
/* Run source code in a context and stream its output and results */
III_API int iii_context_execute_stream(const iii_sandbox *sandbox, const char *context_id, const char *code,
                                       const struct iii_context_execute_stream_options *options,
                                       iii_context_event_fn *on_event, void *arg, struct iii_error *err);
/* Interrupt the code that a context runs; its variables stay */
III_API int iii_context_interrupt(const iii_sandbox *sandbox, const char *context_id,
                                  struct iii_context_interrupted **ret, struct iii_error *err);
/* Restart a context: same id, no variables */
III_API int iii_context_restart(const iii_sandbox *sandbox, const char *context_id, struct iii_context **ret,
                                struct iii_error *err);
/* Expose a port */
III_API int iii_port_expose(const iii_sandbox *sandbox, int64_t container_port,
                            const struct iii_port_expose_options *options, struct iii_port_mapping **ret,
                            struct iii_error *err);
/* List exposed ports, and those that listen inside */
III_API int iii_port_list(const iii_sandbox *sandbox, struct iii_port_list **ret, struct iii_error *err);
/* Stop exposing a port, for every protocol */
III_API int iii_port_unexpose(const iii_sandbox *sandbox, int64_t container_port, struct iii_port_removed **ret,
                              struct iii_error *err);
/* Get the preview address of a port, and a signed link to it */
III_API int iii_preview_open(const iii_sandbox *sandbox, int64_t port, const struct iii_preview_open_options *options,
                             struct iii_preview **ret, struct iii_error *err);
/* Send an HTTP request to an exposed port */
III_API int iii_proxy_request(const iii_sandbox *sandbox, int64_t port, const struct iii_proxy_request_options *options,
                              struct iii_proxy_reply **ret, struct iii_error *err);
/* Change the given proxy settings and return all of them */
III_API int iii_proxy_config(const iii_sandbox *sandbox, const struct iii_proxy_config_options *options,
                             struct iii_proxy_config **ret, struct iii_error *err);
/* Open a terminal */
III_API int iii_terminal_create(const iii_sandbox *sandbox, const struct iii_terminal_create_options *options,
                                struct iii_terminal_session **ret, struct iii_error *err);
/* Change the size of a terminal */
III_API int iii_terminal_resize(const iii_sandbox *sandbox, const char *session_id, int64_t cols, int64_t rows,
                                struct iii_terminal_size **ret, struct iii_error *err);
/* Close a terminal and terminate its shell */
III_API int iii_terminal_close(const iii_sandbox *sandbox, const char *session_id, struct iii_terminal_closed **ret,
                               struct iii_error *err);
/* Create a token; only this response has its secret */
III_API int iii_token_create(iii_client *client, const char *name, const struct iii_token_create_options *options,
                             struct iii_token **ret, struct iii_error *err);
/* List tokens */
III_API int iii_token_list(iii_client *client, struct iii_token_list **ret, struct iii_error *err);
/* One token with its quota and its tenant's usage */
III_API int iii_token_get(iii_client *client, const char *token_id, struct iii_token **ret, struct iii_error *err);
/* Revoke a token at once and close its open streams */
III_API int iii_token_revoke(iii_client *client, const char *token_id, struct iii_token **ret, struct iii_error *err);
/* Give a token a new secret; the old one is revoked */
III_API int iii_token_rotate(iii_client *client, const char *token_id, struct iii_token **ret, struct iii_error *err);
/* Let a public key log in by SSH, with the rights of the calling token */
III_API int iii_ssh_key_add(iii_client *client, const char *public_key, const struct iii_ssh_key_add_options *options,
                            struct iii_ssh_key **ret, struct iii_error *err);
/* List SSH keys */
III_API int iii_ssh_key_list(iii_client *client, struct iii_ssh_key_list **ret, struct iii_error *err);
/* Delete an SSH key and end the connections that it opened */
III_API int iii_ssh_key_delete(iii_client *client, const char *key_id, struct iii_deleted **ret, struct iii_error *err);
/* Where the server listens for SSH, if it does */
III_API int iii_ssh_info(iii_client *client, struct iii_ssh_info **ret, struct iii_error *err);
/* Past events, newest first */
III_API int iii_event_history(iii_client *client, const struct iii_event_history_options *options,
                              struct iii_event_page **ret, struct iii_error *err);
/* Publish an event */
III_API int iii_event_publish(iii_client *client, const char *topic, const char *sandbox_id,
                              const struct iii_event_publish_options *options, struct iii_sandbox_event **ret,
                              struct iii_error *err);
/* Traces, newest first */
III_API int iii_observability_traces(iii_client *client, const struct iii_observability_traces_options *options,
                                     struct iii_trace_page **ret, struct iii_error *err);
/* Counts and durations over all traces */
III_API int iii_observability_metrics(iii_client *client, struct iii_observability_metrics **ret,
                                      struct iii_error *err);
/* Delete traces older than a time */
III_API int iii_observability_clear(iii_client *client, const struct iii_observability_clear_options *options,
                                    struct iii_cleared **ret, struct iii_error *err);
/* Output of the sandbox's main process, line by line */
III_API int iii_stream_logs(const iii_sandbox *sandbox, const struct iii_stream_logs_options *options,
                            iii_log_event_fn *on_event, void *arg, struct iii_error *err);
/* Resource use at an interval */
III_API int iii_stream_metrics(const iii_sandbox *sandbox, const struct iii_stream_metrics_options *options,
                               iii_sandbox_metrics_fn *on_event, void *arg, struct iii_error *err);
/* Events as they occur */
III_API int iii_stream_events(iii_client *client, const struct iii_stream_events_options *options,
                              iii_sandbox_event_fn *on_event, void *arg, struct iii_error *err);
/* Set an alert */
III_API int iii_alert_set(const iii_sandbox *sandbox, const char *metric, double threshold,
                          const struct iii_alert_set_options *options, struct iii_resource_alert **ret,
                          struct iii_error *err);
/* List alerts */
III_API int iii_alert_list(const iii_sandbox *sandbox, struct iii_alert_list **ret, struct iii_error *err);
/* Delete an alert */
III_API int iii_alert_delete(iii_client *client, const char *alert_id, struct iii_deleted **ret, struct iii_error *err);
/* Alerts that fired, newest first */
III_API int iii_alert_history(const iii_sandbox *sandbox, const struct iii_alert_history_options *options,
                              struct iii_alert_event_page **ret, struct iii_error *err);
/* Send events to a URL; only this response and that of a rotation have the secret */
III_API int iii_webhook_create(iii_client *client, const char *url, const struct iii_webhook_create_options *options,
                               struct iii_webhook **ret, struct iii_error *err);
/* List webhooks */
III_API int iii_webhook_list(iii_client *client, const struct iii_webhook_list_options *options,
                             struct iii_webhook_list **ret, struct iii_error *err);
/* Get one webhook */
III_API int iii_webhook_get(iii_client *client, const char *webhook_id, struct iii_webhook **ret,
                            struct iii_error *err);
/* Change the given settings of a webhook; enabled: true ends a disablement */
III_API int iii_webhook_update(iii_client *client, const char *webhook_id,
                               const struct iii_webhook_update_options *options, struct iii_webhook **ret,
                               struct iii_error *err);
/* Delete a webhook with all messages that wait */
III_API int iii_webhook_delete(iii_client *client, const char *webhook_id, struct iii_deleted **ret,
                               struct iii_error *err);
/* Send one message webhook.test now, without retries, and report the outcome */
III_API int iii_webhook_test(iii_client *client, const char *webhook_id, struct iii_webhook_test **ret,
                             struct iii_error *err);
/* Give a webhook a new secret; messages are signed with both until the overlap ends */
III_API int iii_webhook_rotate(iii_client *client, const char *webhook_id,
                               const struct iii_webhook_rotate_options *options, struct iii_webhook **ret,
                               struct iii_error *err);
/* Messages of a webhook that wait, and dead letters; delivered ones are not kept */
III_API int iii_webhook_deliveries(iii_client *client, const char *webhook_id,
                                   const struct iii_webhook_deliveries_options *options,
                                   struct iii_webhook_delivery_page **ret, struct iii_error *err);
/* Remove the dead letters of a webhook, or also what waits */
III_API int iii_webhook_purge(iii_client *client, const char *webhook_id,
                              const struct iii_webhook_purge_options *options, struct iii_webhook_purged **ret,
                              struct iii_error *err);
/* Send a dead letter again, or all of them */
III_API int iii_webhook_retry(iii_client *client, const char *webhook_id,
                              const struct iii_webhook_retry_options *options, struct iii_webhook_retried **ret,
                              struct iii_error *err);
/* What the sandbox may connect to */
III_API int iii_egress_get(const iii_sandbox *sandbox, struct iii_egress_policy **ret, struct iii_error *err);
/* Change what the sandbox may connect to; open connections that the new policy denies are closed */
III_API int iii_egress_set(const iii_sandbox *sandbox, const struct iii_egress_set_options *options,
                           struct iii_egress_policy **ret, struct iii_error *err);
/* Create a network */
III_API int iii_network_create(iii_client *client, const char *name, const struct iii_network_create_options *options,
                               struct iii_sandbox_network **ret, struct iii_error *err);
/* List networks */
III_API int iii_network_list(iii_client *client, struct iii_network_list **ret, struct iii_error *err);
/* Connect a sandbox */
III_API int iii_network_connect(iii_client *client, const char *network_id, const char *sandbox_id,
                                struct iii_network_connected **ret, struct iii_error *err);
/* Disconnect a sandbox */
III_API int iii_network_disconnect(iii_client *client, const char *network_id, const char *sandbox_id,
                                   struct iii_network_disconnected **ret, struct iii_error *err);
/* Disconnect all members and delete the network */
III_API int iii_network_delete(iii_client *client, const char *network_id, struct iii_deleted **ret,
                               struct iii_error *err);
/* Create a volume */
III_API int iii_volume_create(iii_client *client, const char *name, const struct iii_volume_create_options *options,
                              struct iii_sandbox_volume **ret, struct iii_error *err);
/* List volumes */
III_API int iii_volume_list(iii_client *client, struct iii_volume_list **ret, struct iii_error *err);
/* Delete a volume */
III_API int iii_volume_delete(iii_client *client, const char *volume_id, struct iii_deleted **ret,
                              struct iii_error *err);
/* Mount a volume in a sandbox */
III_API int iii_volume_attach(iii_client *client, const char *volume_id, const char *sandbox_id, const char *mount_path,
                              const struct iii_volume_attach_options *options, struct iii_volume_attached **ret,
                              struct iii_error *err);
/* Unmount a volume */
III_API int iii_volume_detach(iii_client *client, const char *volume_id, struct iii_volume_detached **ret,
                              struct iii_error *err);
/* List workers */
III_API int iii_worker_list(iii_client *client, struct iii_worker_list **ret, struct iii_error *err);
/* The worker with the most free capacity */
III_API int iii_worker_select(iii_client *client, struct iii_worker_selected **ret, struct iii_error *err);
/* Take over sandboxes of dead workers */
III_API int iii_worker_reap(iii_client *client, struct iii_workers_reaped **ret, struct iii_error *err);
/* Take ownership of local sandboxes that have no owner */
III_API int iii_worker_migrate(iii_client *client, struct iii_workers_migrated **ret, struct iii_error *err);
/* Write this worker's heartbeat now */
III_API int iii_worker_heartbeat(iii_client *client, struct iii_worker_info **ret, struct iii_error *err);
/* Lines of the audit log, newest first */
III_API int iii_audit_list(iii_client *client, const struct iii_audit_list_options *options,
                           struct iii_audit_page **ret, struct iii_error *err);
/* Check that no line of the audit log was changed, removed or inserted */
III_API int iii_audit_verify(iii_client *client, struct iii_audit_verdict **ret, struct iii_error *err);
/* Call a function of the engine: one of a worker, of the engine, or of this server */
III_API int iii_function_call(iii_client *client, const char *function_id,
                              const struct iii_function_call_options *options, struct iii_function_result **ret,
                              struct iii_error *err);

#ifdef __cplusplus
}
#endif

#endif
