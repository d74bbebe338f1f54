/* iii_sandbox.h: client of an iii-sandbox server, version 0.1.0. Link with -liiisandbox (pkg-config iiisandbox).
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
        III_INVALID_ARGUMENT = 400, /* A field is missing, of the wrong type or out of its limits */
    III_UNAUTHORIZED = 401, /* No Authorization header */
    III_FORBIDDEN = 403, /* Wrong token, or something that is not allowed */
    III_NOT_FOUND = 404, /* Something the request names does not exist */
    III_METHOD_NOT_ALLOWED = 405, /* The path takes other methods; see the Allow header */
    III_CONFLICT = 409, /* Not possible in the present state */
    III_GONE = 410, /* It is gone */
    III_TOO_LARGE = 413, /* The body is larger than the server takes */
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
};

/* One sandbox; times are milliseconds since the epoch. expiresAt 0: it has no expiry. resolvedImage: what the name
 * in image stands for, a full reference or host (this host's own programs); imageVersion: the real version of a
 * preset's program there. withoutAgent: why the container has no agent and runs commands by the engine's exec */
struct iii_sandbox_info {
    const char *id;
    size_t id_len;
    const char *name;
    size_t name_len;
    const char *image;
    size_t image_len;
    /* One of: running, paused, expired */
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
};

/* The new sandboxes; parentId is their origin */
struct iii_sandbox_fork {
    const struct iii_sandbox_info *sandboxes;
    size_t sandboxes_count;
};

/* One page of sandboxes; total counts all that match */
struct iii_sandbox_page {
    const struct iii_sandbox_info *items;
    size_t items_count;
    int64_t total;
    int64_t page;
    int64_t page_size;
};

/* Result of a command; times in milliseconds */
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
    const bool *oom_killed;
};

/* A piece of output; the last event is exit with the exit code as a string */
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
    const bool *oom_killed;
    const bool *timed_out;
};

/* Output from the requested offset, and the next offset in bytes */
struct iii_background_logs {
    const char *output;
    size_t output_len;
    int64_t cursor;
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
    const bool *oom_killed;
    const bool *timed_out;
};

/* Commands, oldest first */
struct iii_durable_exec_list {
    const struct iii_durable_exec *execs;
    size_t execs_count;
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
};

/* Id of the command, and the signal */
struct iii_exec_signalled {
    const char *signalled;
    size_t signalled_len;
    const char *signal;
    size_t signal_len;
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
};

/* Id of the job */
struct iii_queue_cancelled {
    const char *cancelled;
    size_t cancelled_len;
};

/* Queued commands; total counts all that match */
struct iii_queue_job_page {
    const struct iii_queue_job_info *jobs;
    size_t jobs_count;
    int64_t total;
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
};

/* One variable */
struct iii_env_value {
    const char *key;
    size_t key_len;
    const char *value;
    size_t value_len;
    bool exists;
};

/* Names that were set */
struct iii_env_set {
    const char *const *set;
    size_t set_count;
    int64_t count;
};

/* The effective environment */
struct iii_env_list {
    const struct iii_pair *vars;
    size_t vars_count;
    int64_t count;
};

/* Name of the variable */
struct iii_env_deleted {
    const char *deleted;
    size_t deleted_len;
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
};

/* A unified diff */
struct iii_git_diff {
    const char *diff;
    size_t diff_len;
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
};

/* All branches, including remote ones; error: git's message when it failed */
struct iii_git_branches {
    const char *const *branches;
    size_t branches_count;
    const char *current;
    size_t current_len;
    const char *error;
    size_t error_len;
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
};

/* Process id and signal */
struct iii_process_killed {
    int64_t killed;
    const char *signal;
    size_t signal_len;
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
};

/* Snapshots */
struct iii_snapshot_list {
    const struct iii_snapshot_info *snapshots;
    size_t snapshots_count;
};

/* Id of the deleted object */
struct iii_deleted {
    const char *deleted;
    size_t deleted_len;
};

/* An image; source is its origin: a registry, an archive, a sandbox, this host, or a Docker engine */
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

/* Images by name */
struct iii_image_list {
    const struct iii_image *images;
    size_t images_count;
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
};

/* Templates */
struct iii_template_list {
    const struct iii_sandbox_template *templates;
    size_t templates_count;
};

/* An exposed port */
struct iii_port_mapping {
    int64_t container_port;
    int64_t host_port;
    /* One of: tcp, udp */
    const char *protocol;
    size_t protocol_len;
    /* One of: mapped, active */
    const char *state;
    size_t state_len;
};

/* Exposed ports */
struct iii_port_list {
    const struct iii_port_mapping *ports;
    size_t ports_count;
};

/* The port */
struct iii_port_removed {
    int64_t removed;
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
};

/* Size of a terminal */
struct iii_terminal_size {
    int64_t cols;
    int64_t rows;
};

/* Id of the session */
struct iii_terminal_closed {
    const char *closed;
    size_t closed_len;
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
};

/* Standard output, and the error text when the code failed */
struct iii_code_result {
    const char *output;
    size_t output_len;
    const char *error;
    size_t error_len;
    int64_t execution_time;
};

/* Output of the package manager */
struct iii_install_result {
    const char *output;
    size_t output_len;
};

/* An interpreter whose variables live between calls; why: why it is dead or lost. A restart makes it usable again */
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
    const char *why;
    size_t why_len;
};

/* Contexts of a sandbox */
struct iii_context_list {
    const struct iii_context *contexts;
    size_t contexts_count;
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
};

/* Id of the context */
struct iii_context_deleted {
    const char *deleted;
    size_t deleted_len;
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

/* Counters of the server */
struct iii_global_metrics {
    int64_t active_sandboxes;
    int64_t total_created;
    int64_t total_killed;
    int64_t total_expired;
    int64_t uptime_seconds;
    const struct iii_backend *backends;
    size_t backends_count;
    const struct iii_amount *usage;
    size_t usage_count;
    const struct iii_amount *quota;
    size_t quota_count;
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
};

/* Entries of the warm pool */
struct iii_pool_status {
    int64_t total;
    int64_t ready;
    const struct iii_count *by_profile;
    size_t by_profile_count;
};

/* Number of removed sandboxes */
struct iii_swept {
    int64_t swept;
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
};

/* Events; total counts all that match */
struct iii_event_page {
    const struct iii_sandbox_event *events;
    size_t events_count;
    int64_t total;
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
};

/* Numbers over all traces; durations in milliseconds */
struct iii_observability_metrics {
    int64_t total_requests;
    int64_t total_errors;
    double avg_duration;
    double p95_duration;
    int64_t active_sandboxes;
    const struct iii_count *function_counts;
    size_t function_counts_count;
};

/* Number of deleted traces */
struct iii_cleared {
    int64_t cleared;
};

/* An alert */
struct iii_resource_alert {
    const char *id;
    size_t id_len;
    const char *sandbox_id;
    size_t sandbox_id_len;
    /* One of: cpu, memory, pids */
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
};

/* Alerts */
struct iii_alert_list {
    const struct iii_resource_alert *alerts;
    size_t alerts_count;
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
};

/* Networks */
struct iii_network_list {
    const struct iii_sandbox_network *networks;
    size_t networks_count;
};

/* The sandbox is a member */
struct iii_network_connected {
    bool connected;
};

/* The sandbox is no longer a member */
struct iii_network_disconnected {
    bool disconnected;
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

/* What a sandbox may connect to; active: it has egress; connections: open connections */
struct iii_egress_policy {
    /* One of: allow, deny */
    const char *default_;
    size_t default_len;
    const struct iii_egress_rule *rules;
    size_t rules_count;
    bool active;
    int64_t connections;
};

/* A volume */
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
    int64_t created_at;
    const char *tenant;
    size_t tenant_len;
    const char *backend;
    size_t backend_len;
};

/* Volumes */
struct iii_volume_list {
    const struct iii_sandbox_volume *volumes;
    size_t volumes_count;
};

/* The volume is mounted */
struct iii_volume_attached {
    bool attached;
    const char *mount_path;
    size_t mount_path_len;
};

/* The volume is unmounted */
struct iii_volume_detached {
    bool detached;
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
};

/* Workers */
struct iii_worker_list {
    const struct iii_worker_info *workers;
    size_t workers_count;
    int64_t alive;
    int64_t dead;
};

/* The worker */
struct iii_worker_selected {
    const char *worker_id;
    size_t worker_id_len;
};

/* Numbers of sandboxes taken over */
struct iii_workers_reaped {
    int64_t reaped;
    int64_t reassigned;
    int64_t expired;
};

/* Number of sandboxes that got an owner */
struct iii_workers_migrated {
    int64_t migrated;
};

/* Why a request failed */
struct iii_error_body {
    const char *error;
    size_t error_len;
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
};

/* All tokens, oldest first */
struct iii_token_list {
    const struct iii_token *tokens;
    size_t tokens_count;
};

struct iii_fs_move_move {
    /* Path to move */
    const char *from;
    size_t from_len;
    /* New path */
    const char *to;
    size_t to_len;
};

/* Configuration of sandboxes made from it; image is required in it */
struct iii_template_create_config {
    /* Image to start from */
    const char *image;
    size_t image_len;
    /* Name; default: the new id */
    const char *name;
    size_t name_len;
    /* Time to live, seconds; a create moves it into 60 to 86400; default: III_DEFAULT_TIMEOUT */
    const int64_t *timeout;
    /* Memory, MB; a create moves it into 64 to 4096; default: III_DEFAULT_MEMORY */
    const int64_t *memory;
    /* CPUs; a create moves it into 0.5 to 4; default: III_DEFAULT_CPU */
    const double *cpu;
    /* Size of its own disk, MB; 0: no own disk (moved into 0 to 16777216); default: III_DEFAULT_DISK */
    const int64_t *disk_mb;
    /* Files and folders on that disk (moved into 0 to 268435456); default: 64 for each MB */
    const int64_t *inodes;
    /* Processes and threads; a create moves it into 16 to 65536; default: III_PIDS_MAX */
    const int64_t *pids;
    /* Open files of one process; a create moves it into 64 to 1048576; default: III_OPEN_FILES */
    const int64_t *open_files;
    /* Size of /dev/shm, MB; a create moves it into 1 to 1048576; default: III_SHM_MB */
    const int64_t *shm_mb;
    /* Network rate each way, Mbit/s; 0: no limit (moved into 0 to 1000000); default: III_NET_MBPS */
    const int64_t *net_mbps;
    /* Idle time after which the sandbox is removed, seconds; a create moves it into 1 to 86400; default: none */
    const int64_t *idle_timeout;
    /* Whether the sandbox has a network */
    const bool *network;
    /* Environment variables */
    const struct iii_pair *env;
    size_t env_count;
    /* Working folder; default: III_WORKSPACE_DIR */
    const char *workdir;
    size_t workdir_len;
    /* Strings stored with the sandbox */
    const struct iii_pair *metadata;
    size_t metadata_count;
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
    /* Time to live, seconds (moved into 60 to 86400); default: III_DEFAULT_TIMEOUT */
    const int64_t *timeout;
    /* Memory, MB (moved into 64 to 4096); default: III_DEFAULT_MEMORY */
    const int64_t *memory;
    /* CPUs (moved into 0.5 to 4); default: III_DEFAULT_CPU */
    const double *cpu;
    /* Size of its own disk, MB; 0: no own disk (moved into 0 to 16777216); default: III_DEFAULT_DISK */
    const int64_t *disk_mb;
    /* Files and folders on that disk (moved into 0 to 268435456); default: 64 for each MB */
    const int64_t *inodes;
    /* Processes and threads (moved into 16 to 65536); default: III_PIDS_MAX */
    const int64_t *pids;
    /* Open files of one process (moved into 64 to 1048576); default: III_OPEN_FILES */
    const int64_t *open_files;
    /* Size of /dev/shm, MB (moved into 1 to 1048576); default: III_SHM_MB */
    const int64_t *shm_mb;
    /* Network rate each way, Mbit/s; 0: no limit (moved into 0 to 1000000); default: III_NET_MBPS */
    const int64_t *net_mbps;
    /* Idle time after which the sandbox is removed, seconds (moved into 1 to 86400); default: none */
    const int64_t *idle_timeout;
    /* Whether the sandbox has a network */
    const bool *network;
    /* Environment variables */
    const struct iii_pair *env;
    size_t env_count;
    /* Working folder; default: III_WORKSPACE_DIR */
    const char *workdir;
    size_t workdir_len;
    /* Strings stored with the sandbox */
    const struct iii_pair *metadata;
    size_t metadata_count;
    /* Command of the main process */
    const char *const *entrypoint;
    size_t entrypoint_count;
    /* Isolation backend, one that III_BACKENDS allows; default: III_ISOLATION_BACKEND */
    const char *backend;
    size_t backend_len;
    /* Name or id of a template whose configuration is the base */
    const char *template_;
    size_t template_len;
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
    /* Number of sandboxes, at most III_MAX_FORK */
    const int64_t *count;
    /* Name of the new sandbox; several are called name-1, name-2, …; default: the new ids */
    const char *name;
    size_t name_len;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_cmd_run() */
struct iii_cmd_run_options {
    /* Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
};

/* Optional fields of iii_cmd_run_stream() */
struct iii_cmd_run_stream_options {
    /* Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
    /* Absolute working folder inside the sandbox; default: the sandbox's workdir */
    const char *cwd;
    size_t cwd_len;
};

/* Optional fields of iii_cmd_background() */
struct iii_cmd_background_options {
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
    /* Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
    /* The same call with the same key is carried out once; with it a call is tried again when the connection fails. */
    const char *idempotency_key;
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

/* Optional fields of iii_proc_kill() */
struct iii_proc_kill_options {
    /* Signal, without SIG: TERM, KILL, INT, HUP, USR1, USR2, STOP, CONT */
    const char *signal;
    size_t signal_len;
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
    /* Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT */
    const int64_t *timeout;
};

/* Optional fields of iii_context_execute_stream() */
struct iii_context_execute_stream_options {
    /* Timeout, seconds; at most III_MAX_CMD_TIMEOUT (moved into 1 to 86400); default: III_MAX_CMD_TIMEOUT */
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
    /* Expiry, milliseconds since the epoch; default: never */
    const int64_t *expires;
    /* Limits: sandboxes, memoryMb, cpus, volumes, snapshots, ports, requestsPerMinute. Missing ones are unlimited;
     * default: none; JSON text */
    const char *quota;
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
    /* Driver; default: bridge */
    const char *driver;
    size_t driver_len;
};

/* Optional fields of iii_volume_create() */
struct iii_volume_create_options {
    /* Accepted for compatibility; there is one kind */
    const char *driver;
    size_t driver_len;
};

/* Optional fields of iii_volume_attach() */
struct iii_volume_attach_options {
    /* Mount it read-only */
    const bool *read_only;
};

typedef int iii_exec_stream_chunk_fn(const struct iii_exec_stream_chunk *event, void *arg);
typedef int iii_exec_output_event_fn(const struct iii_exec_output_event *event, void *arg);
typedef int iii_image_event_fn(const struct iii_image_event *event, void *arg);
typedef int iii_context_event_fn(const struct iii_context_event *event, void *arg);
typedef int iii_log_event_fn(const struct iii_log_event *event, void *arg);
typedef int iii_sandbox_metrics_fn(const struct iii_sandbox_metrics *event, void *arg);
typedef int iii_sandbox_event_fn(const struct iii_sandbox_event *event, void *arg);

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
/* Set the expiry of a sandbox */
III_API int iii_sandbox_renew(const iii_sandbox *sandbox, int64_t expires_at, struct iii_sandbox_info **ret,
                              struct iii_error *err);
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
/* Remove an image; the name is percent-encoded. Running sandboxes of it continue */
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
/* List exposed ports */
III_API int iii_port_list(const iii_sandbox *sandbox, struct iii_port_list **ret, struct iii_error *err);
/* Stop exposing a port, for every protocol */
III_API int iii_port_unexpose(const iii_sandbox *sandbox, int64_t container_port, struct iii_port_removed **ret,
                              struct iii_error *err);
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

#ifdef __cplusplus
}
#endif

#endif
