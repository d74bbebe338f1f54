/* Theory of operation. Data only: the tables of fields that the rows of ops.def name, one for each operation, ended by
 * END. A field has its type, flags, limits (base/limits.def), choices, default and help, and whose object it names
 * (enum field_ref). Fields that several operations share are macros, so that they are written once. spec.c checks
 * parameters against them; OpenAPI, MCP tools, command lines and reference pages are made from them. Tables that belong
 * to a single row stand beside it in ops.def and are included at the end. */
#include "spec/fields.h"

#define REQ        FIELD_REQUIRED
#define RANGE(row) LIMIT_MIN(row), LIMIT_MAX(row)
#define SPAN(row)  LIMIT_MIN_TEXT(row) " to " LIMIT_MAX_TEXT(row)
#define END \
    {       \
        0   \
    }

/* --- lifecycle --- */

/* The configuration of a sandbox. Values of the wrong type are ignored and numbers may be any: a create moves them into
 * their range, whose end is a setting (sandbox_config_bound()), and a template keeps them as they are. */
#define CONFIG_NUMBER(name, help, type, from)                                                                       \
    {                                                                                                               \
        name, help, type, FIELD_CLAMP | FIELD_LENIENT, type == FIELD_INT ? 0 : -FIELDS_WHOLE_MAX, FIELDS_WHOLE_MAX, \
            .fallback = from                                                                                        \
    }
#define MOVED(row, setting) "; a create moves it into " LIMIT_MIN_TEXT(row) " to " setting
/* What a sandbox does on its own. */
#define SLEEP_ACTIONS "kill|stop|pause|hibernate"
#define POLICY_FIELDS(action, again, resume)                                                                         \
    { "onTimeout",                                                                                                   \
      "What its expiry does: remove it, stop it, pause it or hibernate it",                                          \
      FIELD_STR,                                                                                                     \
      0,                                                                                                             \
      1,                                                                                                             \
      16,                                                                                                            \
      SLEEP_ACTIONS,                                                                                                 \
      action },                                                                                                      \
        { "onIdle", "What its idle time does: the same choices", FIELD_STR, 0, 1, 16, SLEEP_ACTIONS, action },       \
        { "restart",   "Whether it is restarted after a reboot of the host, a stop of the server or its own death",  \
          FIELD_STR,   0,                                                                                            \
          1,           16,                                                                                           \
          "no|always", again },                                                                                      \
    {                                                                                                                \
        "autoResume", "Whether a call to it while it sleeps wakes it", FIELD_BOOL, FIELD_LENIENT, .fallback = resume \
    }
/* Commands that are kept running. */
#define SERVICE_COMMAND(help, flags)                                               \
    {                                                                              \
        "command", help, FIELD_COMMAND, flags, 1, LIMIT_MAX(SERVICE_COMMAND_BYTES) \
    }
static const struct field service_ready_members[] = {
    { "port", "Port inside the sandbox that must accept TCP connections", FIELD_INT, 0, RANGE(PORT) },
    { "http", "Path at that port that must answer GET with a status from 200 to 399", FIELD_STR, 0, 1,
      LIMIT_MAX(NAME_BYTES) },
    SERVICE_COMMAND("Instead of a port: shell command, or an array that is run without a shell, that must exit with 0",
                    0),
    { "intervalMs", "Longest time between two checks, milliseconds", FIELD_INT, 0, RANGE(SERVICE_INTERVAL_MS),
      .fallback = LIMIT_DEFAULT_TEXT(SERVICE_INTERVAL_MS) },
    { "timeout", "Time until it must be ready, seconds; then it is killed", FIELD_INT, 0, RANGE(SERVICE_READY_S),
      .fallback = LIMIT_DEFAULT_TEXT(SERVICE_READY_S) },
    END,
};
static const struct field service_members[] = {
    { "name", "Name: letters, digits, - and _", FIELD_STR, REQ, RANGE(SERVICE_NAME_BYTES) },
    SERVICE_COMMAND("Shell command, or an array that is run without a shell; it stays in the foreground", REQ),
    { "env", "Variables added to the sandbox's own", FIELD_STR_MAP, 0, RANGE(SERVICE_ENV) },
    { "user", "User inside the sandbox, as for a command", FIELD_STR, 0, RANGE(USER_BYTES), .fallback = "the image's" },
    { "cwd", "Absolute working folder inside the sandbox", FIELD_STR, 0, 1, FIELDS_PATH_MAX,
      .fallback = "the sandbox's workdir" },
    { "ready", "What shows that it is ready: port, port and http, or command", FIELD_OBJ, 0, 0, 8,
      .fallback = "that it was started", .members = service_ready_members },
    { "restart", "When it is restarted after it exited", FIELD_STR, 0, 1, 16, "always|on-failure|no", "always" },
    { "maxRestarts", "Restarts in a row, without a run of 10 s between them, before it has failed", FIELD_INT, 0,
      RANGE(SERVICE_RESTARTS), .fallback = LIMIT_DEFAULT_TEXT(SERVICE_RESTARTS) },
    { "backoffMs", "Pause before the first of them, milliseconds; it doubles up to " LIMIT_MAX_TEXT(SERVICE_BACKOFF_MS),
      FIELD_INT, 0, RANGE(SERVICE_BACKOFF_MS), .fallback = LIMIT_DEFAULT_TEXT(SERVICE_BACKOFF_MS) },
    { "stopTimeout", "Time to exit after SIGTERM, seconds; then it is killed", FIELD_INT, 0, RANGE(STOP_S),
      .fallback = LIMIT_DEFAULT_TEXT(STOP_S) },
    { "dependsOn", "Names of services that must be ready before it starts", FIELD_STR_LIST, 0, RANGE(SERVICES),
      .entry_max = LIMIT_MAX(SERVICE_NAME_BYTES) },
    END,
};
#define CONFIG_FIELDS(image_flags, image_from)                                                                          \
    { "image", "Image to start from", FIELD_STR, image_flags, 1, FIELDS_NAME_MAX, .fallback = image_from },             \
        { "name", "Name", FIELD_STR, 0, 1, FIELDS_NAME_MAX, .fallback = "the new id" },                                 \
        CONFIG_NUMBER("timeout", "Time to live, seconds" MOVED(TIMEOUT_S, "III_MAX_TIMEOUT"), FIELD_INT,                \
                      "III_DEFAULT_TIMEOUT"),                                                                           \
        CONFIG_NUMBER("memory", "Memory, MB" MOVED(MEMORY_MB, "III_MAX_MEMORY"), FIELD_INT, "III_DEFAULT_MEMORY"),      \
        CONFIG_NUMBER("cpu", "CPUs" MOVED(CPU, "III_MAX_CPUS"), FIELD_NUM, "III_DEFAULT_CPU"),                          \
        CONFIG_NUMBER("diskMb", "Size of its own disk, MB; 0: no own disk" MOVED(DISK_MB, "III_MAX_DISK"), FIELD_INT,   \
                      "III_DEFAULT_DISK"),                                                                              \
        CONFIG_NUMBER("inodes",                                                                                         \
                      "Files and folders on that disk" MOVED(INODES, LIMIT_MAX_TEXT(INODES_PER_MB) " for each MB"),     \
                      FIELD_INT, LIMIT_DEFAULT_TEXT(INODES_PER_MB) " for each MB"),                                     \
        CONFIG_NUMBER("pids", "Processes and threads" MOVED(PIDS, "III_MAX_PIDS"), FIELD_INT, "III_PIDS_MAX"),          \
        CONFIG_NUMBER("openFiles", "Open files of one process" MOVED(OPEN_FILES, "III_MAX_OPEN_FILES"), FIELD_INT,      \
                      "III_OPEN_FILES"),                                                                                \
        CONFIG_NUMBER("shmMb", "Size of /dev/shm, MB" MOVED(SHM_MB, "III_MAX_SHM_MB"), FIELD_INT, "III_SHM_MB"),        \
        CONFIG_NUMBER("netMbps", "Network rate each way, Mbit/s; 0: no limit" MOVED(NET_MBPS, "III_MAX_NET_MBPS"),      \
                      FIELD_INT, "III_NET_MBPS"),                                                                       \
        CONFIG_NUMBER("idleTimeout",                                                                                    \
                      "Idle time after which onIdle is done, seconds; a create moves it into 1 to "                     \
                      "III_MAX_TIMEOUT",                                                                                \
                      FIELD_INT, "none"),                                                                               \
        POLICY_FIELDS("kill", "no", "III_AUTO_RESUME"),                                                                 \
        { "network", "Whether the sandbox has a network", FIELD_BOOL, FIELD_LENIENT, .fallback = "false" },             \
        { "env", "Environment variables", FIELD_STR_MAP, FIELD_LENIENT, 0, FIELDS_LIST_MAX },                           \
        { "seccomp",                                                                                                    \
          "System calls that programs may make: all but a deny list, or only an allow list",                            \
          FIELD_STR,                                                                                                    \
          0,                                                                                                            \
          1,                                                                                                            \
          16,                                                                                                           \
          "default|strict",                                                                                             \
          .fallback = "III_SECCOMP" },                                                                                  \
        { "workdir", "Working folder", FIELD_STR, FIELD_LENIENT, 1, FIELDS_PATH_MAX, .fallback = "III_WORKSPACE_DIR" }, \
        { "metadata", "Strings stored with the sandbox", FIELD_STR_MAP, FIELD_LENIENT, 0, FIELDS_LIST_MAX },            \
        { "services",         "Commands that are kept running", FIELD_OBJ_LIST, 0, RANGE(SERVICES),                     \
          .fallback = "none", .members = service_members },                                                             \
    {                                                                                                                   \
        "entrypoint", "Command of the main process", FIELD_STR_LIST, FIELD_LENIENT, 0, FIELDS_LIST_MAX                  \
    }

const struct field fields_lifecycle_create[] = {
    CONFIG_FIELDS(0, "III_DEFAULT_IMAGE"),
    { "backend", "Isolation backend, one that III_BACKENDS allows", FIELD_STR, 0, 1, 32,
      .fallback = "III_ISOLATION_BACKEND" },
    { "template", "Name or id of a template whose configuration is the base", FIELD_STR, 0, 1, FIELDS_NAME_MAX,
      .ref = REF_TEMPLATE_NAME },
    { "ifExists", "When the caller has a sandbox of that name: create another one, or connect to it", FIELD_STR, 0, 1,
      16, "create|connect", "create" },
    END,
};
static const struct field config_members[] = { CONFIG_FIELDS(REQ, NULL), END };

const struct field fields_lifecycle_list[] = {
    { "status", "Only sandboxes with this status", FIELD_STR, 0, 0, LIMIT_MAX(SHORT_BYTES) },
    { "page", "Page, from 1 on", FIELD_INT, FIELD_CLAMP, RANGE(PAGE), .fallback = LIMIT_DEFAULT_TEXT(PAGE) },
    { "pageSize", "Sandboxes on a page", FIELD_INT, FIELD_CLAMP, RANGE(PAGE_SIZE),
      .fallback = LIMIT_DEFAULT_TEXT(PAGE_SIZE) },
    { "metadata", "Only sandboxes with all these pairs", FIELD_STR_MAP, 0, 0, FIELDS_LIST_MAX },
    { "parentId", "Only clones and forks of this sandbox", FIELD_STR, 0, 1, FIELDS_NAME_MAX,
      .ref = REF_SANDBOX_FILTER },
    END,
};
const struct field fields_lifecycle_id[] = { FIELDS_ID, END };
const struct field fields_lifecycle_policy[] = {
    FIELDS_ID,
    { "idleTimeout", "Idle time after which onIdle is done, seconds; 0: none", FIELD_INT, 0, 0, LIMIT_MAX(TIMEOUT_S),
      .fallback = "as it is", SPEC_CEILING(max_timeout_s) },
    POLICY_FIELDS("as it is", "as it is", "as it is"),
    END,
};
const struct field fields_lifecycle_renew[] = {
    FIELDS_ID,
    { "expiresAt",
      "New expiry, milliseconds since the epoch; moved into " LIMIT_MIN_TEXT(
          TIMEOUT_S) " to III_MAX_TIMEOUT s from now",
      FIELD_INT, REQ | FIELD_CLAMP, 0, FIELDS_WHOLE_MAX },
    END,
};
#define NEW_LIMIT(name, help, type)                                                                 \
    {                                                                                               \
        name, help, type, FIELD_CLAMP, type == FIELD_INT ? 0 : -FIELDS_WHOLE_MAX, FIELDS_WHOLE_MAX, \
            .fallback = "unchanged"                                                                 \
    }
const struct field fields_lifecycle_resize[] = {
    FIELDS_ID,
    NEW_LIMIT("memory", "Memory, MB; moved into " LIMIT_MIN_TEXT(MEMORY_MB) " to III_MAX_MEMORY", FIELD_INT),
    NEW_LIMIT("cpu", "CPUs; moved into " LIMIT_MIN_TEXT(CPU) " to III_MAX_CPUS", FIELD_NUM),
    NEW_LIMIT("pids", "Processes and threads; moved into " LIMIT_MIN_TEXT(PIDS) " to III_MAX_PIDS", FIELD_INT),
    NEW_LIMIT("diskMb", "Size of its own disk, MB, not less than it has; at most III_MAX_DISK", FIELD_INT),
    END,
};
const struct field fields_lifecycle_clone[] = {
    FIELDS_ID,
    { "name", "Name of the new sandbox", FIELD_STR, 0, 1, FIELDS_NAME_MAX, .fallback = "the new id" },
    END,
};

const struct field fields_lifecycle_fork[] = {
    FIELDS_ID,
    { "count", "Number of sandboxes", FIELD_INT, 0, RANGE(FORK), .fallback = LIMIT_DEFAULT_TEXT(FORK),
      SPEC_CEILING(max_fork) },
    { "name", "Name of the new sandbox; several are called name-1, name-2, …", FIELD_STR, 0, 1, FIELDS_NAME_MAX - 5,
      .fallback = "the new ids" },
    END,
};

/* --- commands --- */

#define COMMAND                                                                                                        \
    {                                                                                                                  \
        "command", "Shell command, or an array that is run without a shell", FIELD_COMMAND, REQ, 1, FIELDS_COMMAND_MAX \
    }
#define COMMAND_TIMEOUT                                                                  \
    {                                                                                    \
        "timeout", "Timeout, seconds", FIELD_INT, FIELD_CLAMP, RANGE(COMMAND_TIMEOUT_S), \
            .fallback = "III_MAX_CMD_TIMEOUT", SPEC_CEILING(max_cmd_timeout_s)           \
    }

/* Where, with what and as whom a command runs. */
#define COMMAND_SETTING                                                                                      \
    { "cwd",           "Absolute working folder inside the sandbox", FIELD_STR, 0, 1,                        \
      FIELDS_PATH_MAX, .fallback = "the sandbox's workdir" },                                                \
        { "env", "Variables added to the sandbox's own", FIELD_STR_MAP, 0, 0, FIELDS_LIST_MAX },             \
    {                                                                                                        \
        "user", "User inside the sandbox: a name or uid, or with a group name:group, uid:gid", FIELD_STR, 0, \
            RANGE(USER_BYTES), .fallback = "the image's"                                                     \
    }
#define ENCODING(name, help)                                   \
    {                                                          \
        name, help, FIELD_STR, 0, 1, 16, "utf8|base64", "utf8" \
    }

const struct field fields_exec_run[] = {
    FIELDS_ID,
    COMMAND,
    COMMAND_TIMEOUT,
    COMMAND_SETTING,
    { "stdin", "Standard input; what is larger goes into a file, or to exec::input", FIELD_STR, FIELD_BYTES, 0,
      FIELDS_INPUT_MAX, .fallback = "empty" },
    ENCODING("stdinEncoding", "Encoding of stdin"),
    END,
};
const struct field fields_exec_attach_plan[] = {
    { "command", "Shell command, or an array that is run without a shell", FIELD_COMMAND, 0, 1, FIELDS_COMMAND_MAX,
      .fallback = "/bin/sh" },
    { "subsystem", "Without command: sftp serves SFTP on standard input and output", FIELD_STR, 0, 1, 16, "sftp",
      "none" },
    { "imageCommand", "Without command: the image's own, if it has one", FIELD_BOOL, 0, .fallback = "false" },
    COMMAND_SETTING,
    { "timeout", "Timeout, seconds", FIELD_NUM, 0, 0.001, LIMIT_MAX(COMMAND_TIMEOUT_S), .fallback = "none" },
    { "stdin", "Keep standard input open", FIELD_BOOL, 0, .fallback = "whether there is a terminal" },
    { "tty", "Run it on a terminal", FIELD_BOOL, 0, .fallback = "false" },
    { "cols", "Columns of the terminal", FIELD_INT, 0, RANGE(TERMINAL_COLS),
      .fallback = LIMIT_DEFAULT_TEXT(TERMINAL_COLS) },
    { "rows", "Rows of the terminal", FIELD_INT, 0, RANGE(TERMINAL_ROWS),
      .fallback = LIMIT_DEFAULT_TEXT(TERMINAL_ROWS) },
    END,
};
const struct field fields_exec_background[] = { FIELDS_ID, COMMAND, COMMAND_SETTING, END };
const struct field fields_exec_background_id[] = { FIELDS_PATH_PART("id", "Id of the background command", REF_EXEC),
                                                   END };
const struct field fields_exec_background_logs[] = {
    FIELDS_PATH_PART("id", "Id of the background command", REF_EXEC),
    { "cursor", "Byte offset to read from", FIELD_INT, 0, 0, FIELDS_WHOLE_MAX, .fallback = "0" },
    END,
};

#define SIGNALS "TERM|KILL|INT|HUP|USR1|USR2|STOP|CONT"
#define EXEC_ID FIELDS_PATH_PART("execId", "Id of the command", REF_EXEC)

const struct field fields_durable_start[] = {
    FIELDS_ID,
    COMMAND,
    { "execId", "Id for the command: " SPAN(EXEC_ID_BYTES) " letters, digits, _ - .", FIELD_STR, 0,
      RANGE(EXEC_ID_BYTES), .fallback = "a new one", .ref = REF_FILTER },
    COMMAND_SETTING,
    { "timeout", "Timeout, seconds", FIELD_INT, 0, RANGE(COMMAND_TIMEOUT_S), .fallback = "none" },
    { "stdin", "Keep standard input open for exec::input", FIELD_BOOL, 0, .fallback = "false" },
    END,
};
const struct field fields_durable_id[] = { EXEC_ID, END };
const struct field fields_durable_output[] = {
    EXEC_ID,
    { "offset", "Byte offset to read from", FIELD_INT, 0, 0, FIELDS_WHOLE_MAX, .fallback = "0" },
    { "follow", "Stream events until the command exits", FIELD_BOOL, 0, .fallback = "false" },
    ENCODING("encoding", "Encoding of the output"),
    END,
};
const struct field fields_durable_input[] = {
    EXEC_ID,
    { "data", "Data to write", FIELD_STR, FIELD_BYTES, 0, FIELDS_INPUT_MAX, .fallback = "nothing" },
    ENCODING("encoding", "Encoding of data"),
    { "close", "Close standard input afterwards", FIELD_BOOL, 0, .fallback = "false" },
    END,
};
const struct field fields_durable_signal[] = {
    EXEC_ID,
    { "signal", "Signal, without SIG", FIELD_STR, 0, 1, 16, SIGNALS, "TERM" },
    END,
};
const struct field fields_exec_interrupt[] = {
    FIELDS_ID,
    { "pid", "Process id inside the sandbox", FIELD_INT, 0, RANGE(PROCESS_ID), .fallback = "every running command" },
    END,
};
const struct field fields_queue_submit[] = {
    FIELDS_ID,
    COMMAND,
    { "maxRetries", "Attempts in all when the command cannot run or times out", FIELD_INT, 0, RANGE(JOB_TRIES),
      .fallback = LIMIT_DEFAULT_TEXT(JOB_TRIES) },
    { "retryOnExit", "Whether a non-zero exit code is a failure, too: retried, then a dead letter", FIELD_BOOL, 0,
      .fallback = "false" },
    COMMAND_TIMEOUT,
    END,
};
const struct field fields_queue_job[] = { FIELDS_PATH_PART("jobId", "Job id", REF_JOB), END };

#define LIMIT(row)                                                                                                    \
    {                                                                                                                 \
        "limit", "Maximum number of entries", FIELD_INT, FIELD_CLAMP, RANGE(row), .fallback = LIMIT_DEFAULT_TEXT(row) \
    }
#define OFFSET                                                                          \
    {                                                                                   \
        "offset", "Entries to skip", FIELD_INT, 0, 0, FIELDS_WHOLE_MAX, .fallback = "0" \
    }
const struct field fields_queue_dlq[] = { LIMIT(ENTRIES), OFFSET, END };

/* --- files --- */

#define FILE_PATH                                                                                 \
    {                                                                                             \
        "path", "Path, absolute or relative to the workspace", FIELD_STR, REQ, 1, FIELDS_PATH_MAX \
    }

const struct field fields_files_path[] = { FIELDS_ID, FILE_PATH, END };
const struct field fields_files_write[] = {
    FIELDS_ID,
    FILE_PATH,
    { "content", "Text of the file", FIELD_STR, REQ | FIELD_BYTES, 0, FIELDS_BODY_MAX },
    END,
};
const struct field fields_files_upload[] = {
    FIELDS_ID,
    FILE_PATH,
    { "content", "Bytes of the file in padded standard base64", FIELD_STR, REQ, 0, FIELDS_BODY_MAX },
    END,
};
const struct field fields_files_list[] = {
    FIELDS_ID,    { "path", "Folder", FIELD_STR, 0, 1, FIELDS_PATH_MAX, .fallback = "III_WORKSPACE_DIR" },
    LIMIT(FILES), OFFSET,
    END,
};
const struct field fields_files_search[] = {
    FIELDS_ID,
    { "pattern", "Glob on the file's name; none of ; | $ ` \\", FIELD_STR, REQ, RANGE(PATTERN_BYTES) },
    { "dir", "Folder to search below", FIELD_STR, 0, 1, FIELDS_PATH_MAX, .fallback = "III_WORKSPACE_DIR" },
    END,
};
const struct field fields_files_paths[] = {
    FIELDS_ID,
    { "paths", "Paths", FIELD_STR_LIST, 0, 1, FIELDS_LIST_MAX, .entry_max = FIELDS_PATH_MAX },
    { "path", "One path, instead of paths", FIELD_STR, 0, 1, FIELDS_PATH_MAX },
    END,
};
static const struct field move_members[] = {
    { "from", "Path to move", FIELD_STR, REQ, 1, FIELDS_PATH_MAX },
    { "to", "New path", FIELD_STR, REQ, 1, FIELDS_PATH_MAX },
    END,
};
const struct field fields_files_move[] = {
    FIELDS_ID,
    { "moves", "Moves, in order", FIELD_OBJ_LIST, REQ, 1, FIELDS_LIST_MAX, .members = move_members },
    END,
};
const struct field fields_files_chmod[] = {
    FIELDS_ID,
    FILE_PATH,
    { "mode", "3 or 4 octal digits, or one clause like u+x", FIELD_STR, REQ, 1, 16 },
    END,
};

#define CONDITION(name, help)                                 \
    {                                                         \
        name, help, FIELD_STR, FIELD_HEADER, 0, CONDITION_MAX \
    }
#define CONDITION_MAX   8192 /* bytes of a header that names ETags or a range; the server takes heads of 64 KiB */
#define CONTENT_FORMATS "tar|tar.gz|tar.zst|zip"
const struct field fields_content_read[] = {
    FIELDS_ID,
    FILE_PATH,
    { "format", "The file or folder as an archive of this format", FIELD_STR, 0, 1, 8, CONTENT_FORMATS },
    CONDITION("ifMatch", "ETags, or *: 412 unless the file has one of them"),
    CONDITION("ifNoneMatch", "ETags, or *: 304 if the file has one of them"),
    CONDITION("range", "bytes=FIRST-LAST, bytes=FIRST- or bytes=-COUNT: a part of it, with 206"),
    CONDITION("ifRange", "An ETag: the range counts only if the file still has it"),
    END,
};
const struct field fields_content_write[] = {
    FIELDS_ID,
    FILE_PATH,
    { "format", "The body is an archive of this format, to be unpacked into the folder at path", FIELD_STR, 0, 1, 8,
      CONTENT_FORMATS },
    { "mode", "3 or 4 octal digits", FIELD_STR, 0, 3, 4, .fallback = "that of the old file, or 0644" },
    { "maxBytes", "413 if the body is longer; the old file stays", FIELD_INT, 0, 0, FIELDS_WHOLE_MAX },
    CONDITION("ifMatch", "ETags, or *: 412 unless the file has one of them"),
    CONDITION("ifNoneMatch", "ETags, or *: 412 if the file has one of them; * writes only a new file"),
    { "content", "The bytes: a channel that the function reads", FIELD_OBJ, FIELD_CHANNEL, 0, 8 },
    END,
};

const struct field fields_files_sign[] = {
    FIELDS_ID,
    FILE_PATH,
    { "method", "get: the URL downloads; put: it uploads", FIELD_STR, 0, 0, 3, "get|put", "get" },
    { "ttl", "How long the URL is valid, seconds", FIELD_INT, 0, RANGE(FILE_LINK_TTL_S),
      .fallback = LIMIT_DEFAULT_TEXT(FILE_LINK_TTL_S) },
    { "once", "Whether the first request uses it up", FIELD_BOOL, 0, .fallback = "false" },
    { "maxBytes", "Longest body of an upload, bytes", FIELD_INT, 0, 0, FIELDS_WHOLE_MAX },
    { "contentType", "Content-Type that the upload must have", FIELD_STR, 0, RANGE(MEDIA_TYPE_BYTES) },
    { "format", "Download the file or folder as an archive of this format", FIELD_STR, 0, 1, 8, CONTENT_FORMATS },
    END,
};

/* --- environment, processes, metrics --- */

const struct field fields_env_key[] = {
    FIELDS_ID,
    { "key", "Name: letters, digits and underscore, no leading digit", FIELD_STR, REQ, 1, FIELDS_NAME_MAX },
    END,
};
const struct field fields_env_set[] = {
    FIELDS_ID,
    { "vars", "Variables", FIELD_STR_MAP, REQ, 1, FIELDS_LIST_MAX },
    END,
};
const struct field fields_process_kill[] = {
    FIELDS_ID,
    { "pid", "Process id inside the sandbox", FIELD_INT, REQ, RANGE(PROCESS_ID) },
    { "signal", "Signal, without SIG", FIELD_STR, 0, 1, 16, SIGNALS, "TERM" },
    END,
};
const struct field fields_metrics_none[] = { END };

/* --- git --- */

#define REPOSITORY                                                                                                \
    {                                                                                                             \
        "path", "Folder of the repository", FIELD_STR, 0, 1, FIELDS_PATH_MAX, .fallback = "the sandbox's workdir" \
    }
#define REMOTE                                               \
    {                                                        \
        "remote", "Remote", FIELD_STR, 0, 1, FIELDS_NAME_MAX \
    }
#define BRANCH                                               \
    {                                                        \
        "branch", "Branch", FIELD_STR, 0, 1, FIELDS_NAME_MAX \
    }

const struct field fields_git_clone[] = {
    FIELDS_ID,
    { "url", "Repository to clone", FIELD_STR, REQ, 1, FIELDS_PATH_MAX },
    { "path", "Folder to clone into", FIELD_STR, 0, 1, FIELDS_PATH_MAX },
    BRANCH,
    { "depth", "Commits of history to fetch", FIELD_INT, 0, RANGE(GIT_DEPTH) },
    END,
};
const struct field fields_git_status[] = { FIELDS_ID, REPOSITORY, END };
const struct field fields_git_commit[] = {
    FIELDS_ID,  { "message", "Commit message", FIELD_STR, REQ, RANGE(MESSAGE_BYTES) },
    REPOSITORY, { "all", "Stage everything first", FIELD_BOOL, 0, .fallback = "false" },
    END,
};
const struct field fields_git_diff[] = {
    FIELDS_ID,
    REPOSITORY,
    { "staged", "Show staged changes", FIELD_BOOL, 0, .fallback = "false" },
    { "file", "Only this file", FIELD_STR, 0, 1, FIELDS_PATH_MAX },
    END,
};
const struct field fields_git_log[] = {
    FIELDS_ID,
    REPOSITORY,
    { "count", "Commits to show", FIELD_INT, FIELD_CLAMP, RANGE(GIT_COMMITS),
      .fallback = LIMIT_DEFAULT_TEXT(GIT_COMMITS) },
    END,
};
const struct field fields_git_branch[] = {
    FIELDS_ID,
    REPOSITORY,
    { "name", "Branch to create and switch to, or to delete", FIELD_STR, 0, 1, FIELDS_NAME_MAX },
    { "delete", "Delete the branch", FIELD_BOOL, 0, .fallback = "false" },
    END,
};
const struct field fields_git_checkout[] = {
    FIELDS_ID,
    { "ref", "Branch, tag or commit", FIELD_STR, REQ, 1, FIELDS_NAME_MAX },
    REPOSITORY,
    END,
};
const struct field fields_git_push[] = {
    FIELDS_ID, REPOSITORY, REMOTE, BRANCH, { "force", "Force the push", FIELD_BOOL, 0, .fallback = "false" }, END,
};
const struct field fields_git_pull[] = { FIELDS_ID, REPOSITORY, REMOTE, BRANCH, END };

/* --- snapshots, templates --- */

const struct field fields_snapshots_create[] = {
    FIELDS_ID,
    { "name", "Name of the snapshot", FIELD_STR, 0, 1, FIELDS_NAME_MAX, .fallback = "its id" },
    END,
};
const struct field fields_snapshots_alias[] = {
    FIELDS_ID,
    { "name", "Name of the snapshot", FIELD_STR, 0, 1, FIELDS_NAME_MAX, .fallback = "comment, or its id" },
    { "comment", "Name of the snapshot, as older clients send it", FIELD_STR, 0, 0, FIELDS_NAME_MAX },
    END,
};
const struct field fields_snapshots_restore[] = {
    FIELDS_ID,
    { "snapshotId", "Snapshot to restore", FIELD_STR, REQ, 1, FIELDS_NAME_MAX, .ref = REF_SNAPSHOT },
    END,
};
/* They outlive their sandbox, so its id may be one that is gone. */
const struct field fields_snapshots_list[] = { FIELDS_PATH_PART("id", FIELDS_SANDBOX, REF_SANDBOX_FILTER), END };
const struct field fields_snapshots_id[] = { FIELDS_PATH_PART("snapshotId", "Snapshot id", REF_SNAPSHOT), END };
const struct field fields_snapshots_clone[] = {
    FIELDS_PATH_PART("snapshotId", "Snapshot id", REF_SNAPSHOT),
    { "name", "Name of the new sandbox", FIELD_STR, 0, 1, FIELDS_NAME_MAX, .fallback = "the new id" },
    END,
};
const struct field fields_templates_create[] = {
    { "name", "Name, not used by another template", FIELD_STR, REQ, 1, FIELDS_NAME_MAX },
    { "description", "What it is for", FIELD_STR, 0, 0, FIELDS_PATH_MAX, .fallback = "empty" },
    { "config", "Configuration of sandboxes made from it; image is required in it", FIELD_OBJ, REQ, 1, FIELDS_LIST_MAX,
      .members = config_members },
    END,
};
const struct field fields_images_pull[] = {
    { "image", "Image to pull: [HOST[:PORT]/]PATH[:TAG][@sha256:DIGEST]", FIELD_STR, REQ, 1, FIELDS_NAME_MAX },
    END,
};
const struct field fields_images_build[] = {
    { "name", "Name of the new image; it replaces one of that name", FIELD_STR, REQ, 1, FIELDS_NAME_MAX },
    { "dockerfile", "Path of the Dockerfile in the context", FIELD_STR, 0, 1, FIELDS_PATH_MAX,
      .fallback = "Dockerfile" },
    { "target", "Last stage to build, by name or number", FIELD_STR, 0, 1, FIELDS_NAME_MAX,
      .fallback = "the last of the Dockerfile" },
    { "buildArgs", "Values of ARGs; in a query as JSON", FIELD_STR_MAP, 0, 0, FIELDS_LIST_MAX },
    { "noCache", "Run every step, whatever the cache has", FIELD_BOOL, 0, 0, 0, .fallback = "false" },
    { "network", "Steps may use the network, as far as egress policies let them", FIELD_BOOL, 0, 0, 0,
      .fallback = "false" },
    { "memory", "Memory of the sandbox that runs a step, MB", FIELD_INT, 0, RANGE(MEMORY_MB),
      .fallback = "that of a create" },
    { "content", "The context: a channel that the function reads", FIELD_OBJ, FIELD_CHANNEL, 0, 8 },
    END,
};
const struct field fields_images_name[] = { FIELDS_PATH_PART("name", "Image name", REF_SHARED), END };
const struct field fields_images_query[] = { { "name", "Image name", FIELD_STR, REQ, 1, FIELDS_NAME_MAX }, END };
const struct field fields_templates_id[] = { FIELDS_PATH_PART("id", "Template id", REF_TEMPLATE), END };

/* --- ports, terminals, proxy --- */

const struct field fields_ports_expose[] = {
    FIELDS_ID,
    { "containerPort", "Port inside the sandbox", FIELD_INT, REQ, RANGE(PORT) },
    { "hostPort", "Port of the host; 0 picks a free one", FIELD_INT, 0, 0, LIMIT_MAX(PORT),
      .fallback = "containerPort" },
    { "protocol", "Protocol", FIELD_STR, 0, 1, 8, "tcp|udp", "tcp" },
    END,
};
const struct field fields_ports_preview[] = {
    FIELDS_ID,
    { "port", "Port inside the sandbox; it need not be exposed", FIELD_INT, REQ, RANGE(PORT) },
    { "public", "Whether anyone who can reach this server may open it; remembered", FIELD_BOOL, 0,
      .fallback = "false" },
    { "rewriteHost", "Whether the server inside sees Host and Origin as localhost:port; remembered", FIELD_BOOL, 0,
      .fallback = "false" },
    { "ttl", "How long the signed link and its cookie are valid, seconds", FIELD_INT, 0, RANGE(PREVIEW_TTL_S),
      .fallback = LIMIT_DEFAULT_TEXT(PREVIEW_TTL_S) },
    END,
};
const struct field fields_ports_unexpose[] = {
    FIELDS_ID,
    { "containerPort", "Port inside the sandbox", FIELD_INT, REQ, RANGE(PORT) },
    END,
};
const struct field fields_terminal_create[] = {
    FIELDS_ID,
    { "cols", "Columns", FIELD_INT, 0, RANGE(TERMINAL_COLS), .fallback = LIMIT_DEFAULT_TEXT(TERMINAL_COLS) },
    { "rows", "Rows", FIELD_INT, 0, RANGE(TERMINAL_ROWS), .fallback = LIMIT_DEFAULT_TEXT(TERMINAL_ROWS) },
    { "shell", "/bin/sh, /bin/bash, /bin/zsh or /bin/ash", FIELD_STR, 0, 1, FIELDS_NAME_MAX, .fallback = "/bin/sh" },
    END,
};
const struct field fields_terminal_resize[] = {
    FIELDS_ID,
    FIELDS_PATH_PART("sessionId", "Terminal session id", REF_INNER),
    { "cols", "Columns", FIELD_INT, REQ, RANGE(TERMINAL_COLS) },
    { "rows", "Rows", FIELD_INT, REQ, RANGE(TERMINAL_ROWS) },
    END,
};
const struct field fields_terminal_session[] = {
    FIELDS_ID,
    FIELDS_PATH_PART("sessionId", "Terminal session id", REF_INNER),
    END,
};
const struct field fields_proxy_request[] = {
    FIELDS_ID,
    { "port", "Exposed port", FIELD_INT, REQ | FIELD_PATH, RANGE(PORT), .ref = REF_INNER },
    { "method", "Method", FIELD_STR, 0, 1, 16, .fallback = "GET" },
    { "path", "Path, starting with /", FIELD_STR, 0, RANGE(TARGET_BYTES), .fallback = "/" },
    { "headers", "Headers; values that are not strings are ignored", FIELD_OBJ, 0, RANGE(HEADERS) },
    { "body", "Body, not sent with GET and HEAD", FIELD_STR, FIELD_BYTES, 0, FIELDS_BODY_MAX },
    END,
};
const struct field fields_proxy_raw[] = {
    FIELDS_ID,
    { "port", "Exposed port", FIELD_INT, REQ | FIELD_PATH, RANGE(PORT), .ref = REF_INNER },
    { "method", "Method", FIELD_STR, REQ, 1, FIELDS_NAME_MAX, .ref = REF_INNER },
    END,
};
const struct field fields_proxy_config[] = {
    FIELDS_ID,
    { "cors", "Allowed origin", FIELD_STR, 0, RANGE(ORIGIN_BYTES), .fallback = "*" },
    { "requireAuth", "Whether raw requests need the bearer token", FIELD_BOOL, 0, .fallback = "false" },
    { "timeout", "Timeout of a request, milliseconds", FIELD_INT, 0, RANGE(PROXY_TIMEOUT_MS),
      .fallback = LIMIT_DEFAULT_TEXT(PROXY_TIMEOUT_MS) },
    END,
};

/* --- interpreter --- */

const struct field fields_interpreter_execute[] = {
    FIELDS_ID,
    { "code", "Source code", FIELD_STR, REQ, 1, FIELDS_COMMAND_MAX },
    { "language", "Language", FIELD_STR, 0, 1, 32, "python|javascript|typescript|go|bash", "python" },
    END,
};
const struct field fields_interpreter_install[] = {
    FIELDS_ID,
    { "packages", "Packages", FIELD_STR_LIST, REQ, 1, FIELDS_LIST_MAX, .entry_max = FIELDS_PATH_MAX },
    { "manager", "Package manager or language", FIELD_STR, 0, 1, 32, "python|pip|javascript|typescript|npm|go|bash|apt",
      "python" },
    END,
};

#define CONTEXT_ID \
    FIELDS_PATH_PART("contextId", "Context id; python or javascript: the sandbox's default context", REF_INNER)
const struct field fields_interpreter_context_create[] = {
    FIELDS_ID,
    { "language", "Language", FIELD_STR, 0, 1, 32, "python|javascript", "python" },
    { "cwd", "Absolute working folder inside the sandbox", FIELD_STR, 0, 1, FIELDS_PATH_MAX,
      .fallback = "the sandbox's workdir" },
    { "env", "Variables added to the sandbox's own", FIELD_STR_MAP, 0, 0, FIELDS_LIST_MAX },
    END,
};
const struct field fields_interpreter_context_id[] = { FIELDS_ID, CONTEXT_ID, END };
const struct field fields_interpreter_context_execute[] = {
    FIELDS_ID, CONTEXT_ID, { "code", "Source code", FIELD_STR, REQ, 1, FIELDS_COMMAND_MAX }, COMMAND_TIMEOUT, END,
};

/* --- events, traces, streams, alerts --- */

const struct field fields_events_history[] = {
    { "sandboxId", "Only events of this sandbox", FIELD_STR, 0, 0, FIELDS_NAME_MAX, .ref = REF_SANDBOX_FILTER },
    { "topic", "Only events of this topic", FIELD_STR, 0, 0, FIELDS_NAME_MAX },
    LIMIT(ENTRIES),
    OFFSET,
    END,
};
const struct field fields_events_publish[] = {
    { "topic", "Topic", FIELD_STR, REQ, 1, FIELDS_NAME_MAX },
    { "sandboxId", "Sandbox the event is about", FIELD_STR, REQ, 1, FIELDS_NAME_MAX, .ref = REF_SANDBOX_FILTER },
    { "data", "Data of the event", FIELD_OBJ, 0, 0, FIELDS_LIST_MAX, .fallback = "{}" },
    END,
};
const struct field fields_observability_traces[] = {
    { "sandboxId", "Only traces of this sandbox", FIELD_STR, 0, 0, FIELDS_NAME_MAX, .ref = REF_SANDBOX_FILTER },
    { "functionId", "Only traces of this function", FIELD_STR, 0, 0, FIELDS_NAME_MAX, .ref = REF_FILTER },
    LIMIT(TRACE_ENTRIES),
    OFFSET,
    END,
};
const struct field fields_observability_clear[] = {
    { "before", "Delete traces older than this, milliseconds since the epoch", FIELD_INT, 0, 0, FIELDS_WHOLE_MAX,
      .fallback = "now" },
    END,
};
const struct field fields_streams_logs[] = {
    FIELDS_ID,
    { "tail", "Lines to start with", FIELD_INT, FIELD_CLAMP, RANGE(LOG_LINES),
      .fallback = LIMIT_DEFAULT_TEXT(LOG_LINES) },
    { "follow", "Continue with new lines", FIELD_BOOL, FIELD_LENIENT, .fallback = "true" },
    END,
};
const struct field fields_streams_metrics[] = {
    FIELDS_ID,
    { "interval", "Seconds between samples", FIELD_INT, FIELD_CLAMP, RANGE(SAMPLE_S),
      .fallback = LIMIT_DEFAULT_TEXT(SAMPLE_S) },
    END,
};
const struct field fields_streams_events[] = {
    { "topic", "Only events of this topic", FIELD_STR, 0, 0, FIELDS_NAME_MAX },
    { "ids", "Put an id line before each event, for a browser's EventSource", FIELD_BOOL, 0, .fallback = "false" },
    END,
};
const struct field fields_alerts_set[] = {
    FIELDS_ID,
    { "metric", "Metric to watch", FIELD_STR, REQ, 1, 16, "cpu|memory|pids|deniedCalls" },
    { "threshold", "Percent for cpu and memory (" SPAN(ALERT_PERCENT) "), a count for pids (" SPAN(ALERT_PIDS) ")",
      FIELD_NUM, REQ, LIMIT_MIN(ALERT_PERCENT), LIMIT_MAX(ALERT_PIDS) },
    { "action", "Action when the threshold is reached", FIELD_STR, 0, 1, 16, "notify|pause|kill", "notify" },
    END,
};
const struct field fields_alerts_id[] = { FIELDS_PATH_PART("alertId", "Alert id", REF_ALERT), END };
const struct field fields_alerts_history[] = { FIELDS_ID, LIMIT(ENTRIES), END };

/* --- networks, volumes --- */

const struct field fields_networks_create[] = {
    { "name", "Name, not used by another network", FIELD_STR, REQ, 1, FIELDS_NAME_MAX },
    { "driver", "Driver; there is one", FIELD_STR, 0, 1, LIMIT_MAX(SHORT_BYTES), .fallback = "bridge" },
    END,
};
const struct field fields_networks_id[] = { FIELDS_PATH_PART("networkId", "Network id", REF_NETWORK), END };
const struct field fields_networks_member[] = {
    FIELDS_PATH_PART("networkId", "Network id", REF_NETWORK),
    { "sandboxId", "Sandbox", FIELD_STR, REQ, 1, FIELDS_NAME_MAX, .ref = REF_SANDBOX },
    END,
};
static const struct field egress_members[] = {
    { "action", "Action for a matching connection", FIELD_STR, REQ, 1, 8, "allow|deny" },
    { "cidr", "IPv4 address or range", FIELD_STR, 0, 1, 32, .fallback = "any" },
    { "domain", "Name that the sandbox looked up; *.name for all names below it", FIELD_STR, 0, RANGE(DOMAIN_BYTES),
      .fallback = "any" },
    { "ports", "Array of up to " LIMIT_MAX_TEXT(EGRESS_PORTS) " ports, or ranges like \"8000-8100\"", FIELD_ANY, 0,
      .fallback = "all" },
    END,
};
const struct field fields_egress_set[] = {
    FIELDS_ID,
    { "default", "Action when no rule matches", FIELD_STR, 0, 1, 8, "allow|deny", "allow" },
    { "rules", "Rules; the first match decides", FIELD_OBJ_LIST, 0, RANGE(EGRESS_RULES), .fallback = "none",
      .members = egress_members },
    END,
};
const struct field fields_volumes_create[] = {
    { "name", "Name", FIELD_STR, REQ, 1, FIELDS_NAME_MAX },
    { "driver", "Driver; there is one", FIELD_STR, 0, RANGE(SHORT_BYTES), .fallback = "local" },
    { "sizeMb", "Size, MB, at most III_MAX_DISK; III_VOLUME_MB when it is not given", FIELD_INT, 0, RANGE(DISK_MB) },
    END,
};
const struct field fields_volumes_id[] = { FIELDS_PATH_PART("volumeId", "Volume id", REF_VOLUME), END };
const struct field fields_volumes_attach[] = {
    FIELDS_PATH_PART("volumeId", "Volume id", REF_VOLUME),
    { "sandboxId", "Sandbox", FIELD_STR, REQ, 1, FIELDS_NAME_MAX, .ref = REF_SANDBOX },
    { "mountPath",
      "Absolute path inside the sandbox, at most " LIMIT_MAX_TEXT(
          MOUNT_PATH_BYTES) " bytes; missing folders are created",
      FIELD_STR, REQ, RANGE(MOUNT_PATH_BYTES) },
    { "readOnly", "Mount it read-only", FIELD_BOOL, 0, .fallback = "false" },
    END,
};

/* --- tokens --- */

const struct field fields_tokens_create[] = {
    { "name", "Name of the token: letters, digits, blanks and ._-@:/+", FIELD_STR, REQ, RANGE(TOKEN_NAME_BYTES) },
    { "role", "Role of the token", FIELD_STR, 0, 1, 16, "admin|user|read-only", "user" },
    { "tenant", "Tenant whose objects it sees: letters, digits and ._-; * with read-only for all tenants", FIELD_STR, 0,
      RANGE(TENANT_BYTES), .fallback = "a user's own id" },
    { "sandbox", "The one sandbox that it is for: id, or name; its tenant is the token's", FIELD_STR, 0, 1,
      FIELDS_NAME_MAX, .fallback = "all of its tenant", .ref = REF_SANDBOX },
    { "operations", "What it may call: groups (exec, files) and ids of operations", FIELD_STR_LIST, 0,
      RANGE(TOKEN_OPERATIONS), .fallback = "all of its role", .entry_max = LIMIT_MAX(OPERATION_BYTES) },
    { "expires", "Expiry, milliseconds since the epoch", FIELD_INT, 0, 0, FIELDS_WHOLE_MAX, .fallback = "never" },
    { "quota",
      "Limits: sandboxes, memoryMb, cpus, volumes, snapshots, ports, webhooks, diskMb, requestsPerMinute. Missing ones "
      "are unlimited",
      FIELD_OBJ, 0, 0, 16, .fallback = "none" },
    END,
};
const struct field fields_tokens_id[] = { FIELDS_PATH_PART("tokenId", "Token id", REF_SHARED), END };

/* --- tables that stand beside their rows --- */

#define FIELDS(name, ...) const struct field name[] = { __VA_ARGS__, END };
#include "spec/ops.def"
