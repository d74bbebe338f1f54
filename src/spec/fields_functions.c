/* Fields of the sandbox:: functions. Their contract takes JSON types as they are (FIELD_JSON), and numbers and booleans
 * for text only where it says so (FIELD_SCALAR). */
#include "spec/fields.h"

#define REQ      FIELD_REQUIRED
#define TEXT_MAX 67108864.0 /* bytes: the engine's own limit of a message is lower */
#define LIST_MAX 1000000
#define INT_MAX_ 2147483647.0
#define ID_MAX   4294967294.0
#define END \
    {       \
        0   \
    }

#define TEXT(name, flags, help)                   \
    {                                             \
        name, help, FIELD_STR, flags, 0, TEXT_MAX \
    }
#define NAMED(name, flags, help)                  \
    {                                             \
        name, help, FIELD_STR, flags, 1, TEXT_MAX \
    }
#define FLAG(name, help, by_default)                               \
    {                                                              \
        name, help, FIELD_BOOL, FIELD_JSON, .fallback = by_default \
    }
#define NUMBER(name, help, least, most, by_default)                            \
    {                                                                          \
        name, help, FIELD_INT, FIELD_JSON, least, most, .fallback = by_default \
    }
#define LIST(name, help)                                                             \
    {                                                                                \
        name, help, FIELD_STR_LIST, FIELD_SCALAR, 0, LIST_MAX, .entry_max = TEXT_MAX \
    }
#define SANDBOX                                                                                    \
    {                                                                                              \
        "sandbox_id", "Sandbox id: a UUID", FIELD_STR, REQ, 1, FIELDS_NAME_MAX, .ref = REF_SANDBOX \
    }
#define PATH        NAMED("path", REQ, "Absolute path inside the sandbox")
#define MODE(flags) TEXT("mode", FIELD_SCALAR | (flags), "Octal permissions")
#define ENV                                                                   \
    {                                                                         \
        "env", "Environment: a list of \"KEY=VALUE\" or an object", FIELD_ANY \
    }
#define CREATE                                                                                                   \
    NUMBER("cpus", "CPUs", 1, INT_MAX_, "III_FN_CPUS"),                                                          \
        NUMBER("memory_mb", "Memory, MiB", 1, INT_MAX_, "III_FN_MEMORY"), TEXT("name", 0, "Label"),              \
        FLAG("network", "Whether it has a network", "false"),                                                    \
        NUMBER("idle_timeout_secs", "Idle time after which it ends, seconds; 0: at the next scan", 0, 315360000, \
               "III_IDLE_TIMEOUT")
#define STDIN TEXT("stdin", 0, "Standard input, base64")
#define TIMEOUT_MS                                                                                \
    NUMBER("timeout_ms", "Longest time, ms; III_MAX_EXEC_MS is the ceiling", 0, FIELDS_WHOLE_MAX, \
           LIMIT_DEFAULT_TEXT(FN_EXEC_MS))
#define WORKDIR TEXT("workdir", 0, "Working directory")
#define SEARCH                                                                \
    TEXT("pattern", REQ | FIELD_SCALAR, "Regular expression"),                \
        FLAG("recursive", "Whether to walk a directory", "true"),             \
        FLAG("ignore_case", "Whether letters match in either case", "false"), \
        LIST("include_glob", "Only files that match one of these"),           \
        LIST("exclude_glob", "No files that match one of these")

static const struct field file_members[] = { TEXT("path", REQ, "Absolute path"),
                                             TEXT("content", REQ | FIELD_SCALAR | FIELD_BYTES, "Content"), END };

const struct field fields_fn_run[] = {
    TEXT("image", REQ, "Name of an image of the catalogue"),
    TEXT("code", REQ | FIELD_SCALAR | FIELD_BYTES, "Program text"),
    TEXT("lang", 0, "Language: python, node, shell, or a program"),
    { "files", "Files to write first: {path, content}", FIELD_OBJ_LIST, 0, 0, LIST_MAX, .members = file_members },
    ENV,
    STDIN,
    TIMEOUT_MS,
    FLAG("keep_sandbox", "Whether the sandbox stays", "false"),
    WORKDIR,
    CREATE,
    END,
};
const struct field fields_fn_create[] = { TEXT("image", REQ, "Name of an image of the catalogue"), ENV, CREATE, END };
const struct field fields_fn_exec[] = {
    SANDBOX,
    TEXT("cmd", 0, "Program, or a command line that is split into words"),
    LIST("args", "Arguments of cmd"),
    LIST("argv", "Program and arguments; instead of cmd"),
    STDIN,
    ENV,
    TIMEOUT_MS,
    WORKDIR,
    { "stream", "Write end of a channel that gets the output as it comes", FIELD_OBJ, 0, 0, FIELDS_LIST_MAX },
    END,
};
const struct field fields_fn_stop[] = { SANDBOX, FLAG("wait", "Whether to wait until all is reclaimed", "false"), END };
const struct field fields_fn_path[] = { SANDBOX, PATH, END };
const struct field fields_fn_write[] = {
    SANDBOX,
    PATH,
    { "content", "Text, or the read end of a channel", FIELD_ANY, FIELD_BYTES },
    TEXT("content_b64", 0, "Bytes, base64"),
    MODE(0),
    FLAG("parents", "Whether to make missing parents", "false"),
    END,
};
const struct field fields_fn_mkdir[] = { SANDBOX, PATH, MODE(0),
                                         FLAG("parents", "Whether to make missing parents", "false"), END };
const struct field fields_fn_rm[] = { SANDBOX, PATH,
                                      FLAG("recursive", "Whether to remove what a directory holds", "false"), END };
const struct field fields_fn_mv[] = { SANDBOX, NAMED("src", REQ, "What to move"), NAMED("dst", REQ, "Its new path"),
                                      FLAG("overwrite", "Whether to replace what is there", "false"), END };
const struct field fields_fn_chmod[] = { SANDBOX,
                                         PATH,
                                         MODE(REQ),
                                         NUMBER("uid", "New owner", 0, ID_MAX, NULL),
                                         NUMBER("gid", "New group", 0, ID_MAX, NULL),
                                         FLAG("recursive", "Whether to change what a directory holds", "false"),
                                         END };
const struct field fields_fn_grep[] = { SANDBOX,
                                        PATH,
                                        SEARCH,
                                        NUMBER("max_matches", "Matches; 0: all", 0, FIELDS_WHOLE_MAX, "10000"),
                                        NUMBER("max_line_bytes", "Bytes of a line; 0: all", 0, 4294967295.0, "4096"),
                                        END };
const struct field fields_fn_sed[] = { SANDBOX,
                                       LIST("files", "Files; instead of path"),
                                       NAMED("path", 0, "File or directory"),
                                       SEARCH,
                                       TEXT("replacement", REQ | FIELD_SCALAR, "$1, ${name} and $$ are known"),
                                       FLAG("regex", "Whether pattern is a regular expression", "true"),
                                       FLAG("first_only", "Whether only the first match of a line counts", "false"),
                                       END };
