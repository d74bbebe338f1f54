/* The commands on this host and on the engine, in the order in which help lists them; those on sandboxes are in
 * sandbox_verbs.c. The table is data: verbs.c parses a command line against it, usage.c, completion.c and manpage.c
 * print it. A row names its options, the number of operands and the function that runs; small functions are here, the
 * others are in cmd_*.c or are hooks that main/ provides, so that this room does not depend on theirs. A row without a
 * function is a group. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/cmd_audit.h"
#include "cli/cmd_mcp.h"
#include "cli/cmd_sandbox.h"
#include "cli/cmd_token.h"
#include "cli/cmd_vm.h"
#include "cli/completion.h"
#include "cli/manpage.h"
#include "cli/sandbox_copy.h"
#include "cli/trigger_call.h"
#include "cli/usage.h"
#include "cli/verbs.h"
#include "cli/worker_add.h"

#define END \
    {       \
        0   \
    }
#define PORT                                                                    \
    {                                                                           \
        "port", 0, "N", "Port of the engine [III_ENGINE_PORT, otherwise 49134]" \
    }
#define ADDRESS(usual)                                                                                              \
    { "address", 0, "HOST|URL", "The engine: HOST, or wss://HOST[:PORT] with TLS [III_URL, otherwise " usual "]" }, \
    {                                                                                                               \
        "ca-cert", 0, "FILE", "CA bundle to verify the server [III_CA_CERT, otherwise the system's store]"          \
    }
#define ENV                                                        \
    {                                                              \
        "env", 'e', "K=V", "Environment variable; may be repeated" \
    }
#define JSON                                                   \
    {                                                          \
        "json", 0, NULL, "Print the engine's response as JSON" \
    }
#define LIMITS                                                                                                       \
    { "cpus", 0, "N", "CPUs [the server's default]" }, { "memory", 0, "MIB", "Memory, MiB [the server's default]" }, \
        { "idle-timeout", 0, "SECS", "Idle time after which it is stopped, seconds" },                               \
        { "name", 0, "LABEL", "A label; it need not be unique" }, { "network", 0, NULL, "Give it network access" },  \
        ENV
#define TIMEOUT                                                            \
    {                                                                      \
        "timeout", 0, "DUR", "Timeout of the command: 500ms, 30s, 1h20min" \
    }
#define WORKDIR                                                    \
    {                                                              \
        "workdir", 'w', "DIR", "Working folder inside the sandbox" \
    }
#define STDIN                                                                       \
    {                                                                               \
        "interactive", 'i', NULL, "Pass standard input to the command, up to 3 MiB" \
    }

#define FOLDER                                                                   \
    {                                                                            \
        "data-dir", 0, "DIR", "Data folder [III_DATA_DIR, otherwise the user's]" \
    }
#define SERVER                                                                             \
    { "server", 0, "URL", "Use this server instead, http://127.0.0.1:3111 [III_SERVER]" }, \
    {                                                                                      \
        "token", 0, "SECRET", "Admin token for the server [III_AUTH_TOKEN]"                \
    }
#define AS_JSON                       \
    {                                 \
        "json", 0, NULL, "Print JSON" \
    }
#define AUDIT_FILTERS                                                                                                \
    { "operation", 0, "PREFIX", "Only operations with this prefix: sandbox::" },                                     \
        { "by", 0, "TOKEN", "Only calls of this token: id or name" },                                                \
        { "tenant", 0, "TENANT", "Only calls of this tenant" }, { "status", 0, "N", "Only calls with this status" }, \
    {                                                                                                                \
        "since", 0, "DUR", "Only the last 30s, 2h, 1h20min"                                                          \
    }

static const struct verbs_option token_create_options[] = {
    { "role", 0, "ROLE", "admin, user or read-only [user]" },
    { "tenant", 0, "TENANT", "Tenant whose objects it sees; * with read-only for all tenants [its own]" },
    { "sandbox", 0, "SANDBOX", "Only for this sandbox; without a server its full id and --tenant" },
    { "operations", 0, "LIST", "Only these groups and operations: exec,files,git::status [all of its role]" },
    { "expires", 0, "DUR", "Validity: 12h, 30d [no expiry]" },
    { "quota", 0, "KIND=N",
      "Limit: sandboxes, memoryMb, cpus, volumes, snapshots, ports,\nrequestsPerMinute; may be repeated" },
    AS_JSON,
    FOLDER,
    SERVER,
    END,
};
static const struct verbs_option token_options[] = { AS_JSON, FOLDER, SERVER, END };
static const struct verbs_option audit_show_options[] = { AUDIT_FILTERS, AS_JSON, FOLDER, END };
static const struct verbs_option audit_tail_options[] = {
    { "lines", 'n', "N", "Number of lines [20]" },
    { "follow", 'f', NULL, "Continue with new lines" },
    AUDIT_FILTERS,
    AS_JSON,
    FOLDER,
    END,
};
static const struct verbs_option audit_verify_options[] = { AS_JSON, FOLDER, END };

static const struct verbs_option trigger_options[] = {
    { "json", 0, "TEXT", "The whole payload as JSON; - reads standard input" },
    ADDRESS("localhost"),
    PORT,
    { "timeout-ms", 0, "N", "Time to wait for the response, ms [30000]" },
    { "namespace", 'n', "NS", "Namespace of the function" },
    END,
};
static const struct verbs_option info_options[] = {
    ADDRESS("localhost"),
    PORT,
    { "timeout-ms", 0, "N", "Time to wait for the response, ms [30000]" },
    { "namespace", 'n', "NS", "Namespace of the function" },
    END,
};
static const struct verbs_option run_options[] = { LIMITS, TIMEOUT, WORKDIR, STDIN, ADDRESS("127.0.0.1"),
                                                   PORT,   JSON,    END };
static const struct verbs_option create_options[] = { LIMITS, ADDRESS("127.0.0.1"), PORT, JSON, END };
static const struct verbs_option exec_options[] = {
    TIMEOUT,
    ENV,
    WORKDIR,
    STDIN,
    { "tty", 't', NULL, "Open a terminal in the sandbox: exec -it" },
    ADDRESS("127.0.0.1"),
    PORT,
    JSON,
    END,
};
static const struct verbs_option list_options[] = {
    { "all", 'a', NULL, "Accepted for older scripts; all sandboxes are always listed" },
    ADDRESS("127.0.0.1"),
    PORT,
    JSON,
    END,
};
static const struct verbs_option stop_options[] = { ADDRESS("127.0.0.1"), PORT, JSON, END };
static const struct verbs_option upload_options[] = {
    { "mode", 0, "OCTAL", "Permissions of the file [0644]" },
    { "parents", 'p', NULL, "Create missing folders" },
    ADDRESS("127.0.0.1"),
    PORT,
    JSON,
    END,
};
static const struct verbs_option add_options[] = {
    { "force", 'f', NULL, "With --reset-config: replace an existing entry" },
    { "reset-config", 0, NULL, "With --force: restore the default settings" },
    { "no-wait", 0, NULL, "Accepted for older scripts; the command never waits" },
    { "yes", 'y', NULL, "Accepted for older scripts; the command never asks" },
    { "host", 0, "HOST[:PORT]", "Accepted for older scripts; a running server rereads the file" },
    { "json", 0, NULL, "Print the result as JSON: worker, done, config, lock" },
    FOLDER,
    END,
};
static const struct verbs_option serve_options[] = {
    { "config", 'c', "FILE", "Read settings from a YAML file" },
    END,
};

static const struct verbs_option vm_setup_options[] = {
    { "kernel", 0, "PATH",
      "bzImage, vmlinux, .deb, or a folder with boot/ and lib/modules/ [III_VM_KERNEL, otherwise found or fetched]" },
    AS_JSON,
    FOLDER,
    END,
};
static const struct verbs_option vm_status_options[] = { AS_JSON, FOLDER, END };

static const struct verbs_option mcp_options[] = {
    { "server", 0, "URL", "The server [III_SANDBOX_URL, otherwise http://localhost:3111]" },
    { "token", 0, "SECRET", "Token for the server [III_SANDBOX_TOKEN, otherwise III_AUTH_TOKEN]" },
    { "ca-cert", 0, "FILE", "CA bundle to verify the server [III_CA_CERT, otherwise the system's store]" },
    { "tools", 0, "LIST",
      "core, contract or all, or names, comma list; git_* is a wildcard [III_MCP_TOOLS, otherwise contract]" },
    END,
};

#define COMMAND_EXITS                                                        \
    "the command's own; 124 timed out, 126 not executable, 127 not found,\n" \
    "128+n killed by signal n; 1 also if the sandbox or engine failed, 2 wrong usage"

/* --- commands that are small enough to live here, and those of other rooms --- */

/* The hooks expect argv with the command's name in front. */
static int lend(int (*hook)(int argc, char **argv), const struct verbs_args *a)
{
    return hook(a->n_tail + 1, a->tail - 1); /* the argument before the tail is the command's name */
}

static int run_serve(const struct verbs_args *a)
{
    return lend(a->hooks->serve, a);
}

static int run_image(const struct verbs_args *a)
{
    return lend(a->hooks->image, a);
}

static int run_doctor(const struct verbs_args *a)
{
    return lend(a->hooks->doctor, a);
}

static int run_version(const struct verbs_args *a)
{
    struct utsname host;
    if (*a->program->shown_version && uname(&host) == 0)
        printf("%s%s linux-%s\n", a->program->shown_version, a->hooks->version, host.machine);
    else
        printf("%s\n", a->hooks->version);
    return 0;
}

static int run_help(const struct verbs_args *a)
{
    int n = 0;
    const struct verbs_verb *v = a->n_words ? verbs_match(a->program, a->n_words, a->words, &n) : NULL;
    if (n < a->n_words)
        return verbs_unknown(a->program, v, a->words[n]);
    if (v)
        usage_print(a->program, v, stdout);
    else
        usage_print_all(a->program, stdout);
    return 0;
}

const struct verbs_verb verb_table_rows[] = {
    { "serve", "", "Run the server: REST on port 3111, the engine on port 49134",
      "Settings come from flags, III_ variables and a YAML file, in this order;\n`iii serve --help` lists them all.",
      serve_options,
      "iii serve                              # for this host only\n"
      "III_AUTH_TOKEN=secret iii serve --host 0.0.0.0\n"
      "iii serve -c config.yaml --data-dir /srv/iii",
      "0 stopped, 1 failed, 2 wrong usage", run_serve, VERBS_RAW, 0, 0 },
    { "trigger", "FUNCTION_PATH [KEY=VALUE]...", "Call a function of the engine",
      "A value that is JSON is sent as JSON, any other as a string: n=10 is a number,\n"
      "n='\"10\"' a string, mode=0644 a string, list='[1,2]' an array. Keys are literal.\n"
      "With --json, KEY=VALUE arguments replace members of that object.\n"
      "The response is printed as JSON; an error goes to standard error.\n"
      "`iii trigger FUNCTION_PATH --help` shows the parameters of a function.",
      trigger_options,
      "iii trigger sandbox::run image=python lang=python code='print(2+2)' | jq -r .stdout\n"
      "SB=$(iii trigger sandbox::create image=python | jq -r .sandbox_id)\n"
      "iii trigger sandbox::exec sandbox_id=$SB cmd='python3 --version'\n"
      "echo '{\"image\":\"python\"}' | iii trigger sandbox::create --json - idle_timeout_secs=60\n"
      "iii trigger engine::functions::list | jq -r '.functions[].function_id'\n"
      "iii trigger sandbox::exec --help",
      NULL, trigger_run, VERBS_OWN_HELP, 0, -1 },
    { "sandbox", "COMMAND", "Sandboxes through the engine's port, as older scripts spell it",
      "These commands use the engine's port and print the engine's ids, which are UUIDs. `iii run`,\n"
      "`exec`, `create`, `ps`, `rm` and `cp` do more. `iii worker sandbox` is the same.",
      NULL,
      "iii sandbox run python -- python3 -c 'print(2+2)'\n"
      "SB=$(iii sandbox create python --idle-timeout 300)\n"
      "iii sandbox exec \"$SB\" -- python3 -c 'print(2+2)'\n"
      "iii sandbox stop \"$SB\"",
      NULL, NULL, VERBS_GROUP | VERBS_MORE, 0, 0 },
    { "sandbox run", "IMAGE -- CMD [ARG]...", "Run one command in a new sandbox",
      "Creates a sandbox, runs the command with streamed output, and always stops\nthe sandbox.", run_options,
      "iii sandbox run python -- python3 -c 'print(\"hi\")'\n"
      "echo 'print(6*7)' | iii sandbox run -i python -- python3 -\n"
      "iii sandbox run --timeout 10s --memory 256 node -- node -e 'console.log(1)'",
      COMMAND_EXITS, cmd_sandbox_run, VERBS_TAIL, 1, 1 },
    { "sandbox create", "IMAGE", "Create a sandbox and print its id",
      "Only the id is on standard output, so that scripts can store it.", create_options,
      "SB=$(iii sandbox create python)\n"
      "iii sandbox create python --name build --idle-timeout 300 -e STAGE=test\n"
      "iii sandbox create node --network --json | jq -r .sandbox_id",
      NULL, cmd_sandbox_create, 0, 1, 1 },
    { "sandbox exec", "ID -- CMD [ARG]...", "Run a command in a sandbox",
      "Output is streamed. With -it this terminal is connected to one in the sandbox,\n"
      "with /bin/sh unless a command is given.",
      exec_options,
      "iii sandbox exec \"$SB\" -- python3 -c 'print(2+2)'\n"
      "iii sandbox exec \"$SB\" --timeout 5s -e DEBUG=1 -- make test\n"
      "cat data.csv | iii sandbox exec -i \"$SB\" -- wc -l\n"
      "iii sandbox exec -it \"$SB\" -- bash",
      COMMAND_EXITS, cmd_sandbox_exec, VERBS_TAIL | VERBS_BOX, 1, 1 },
    { "sandbox list", "", "List the sandboxes", NULL, list_options,
      "iii sandbox list\n"
      "iii sandbox list --json | jq -r '.sandboxes[].sandbox_id'",
      NULL, cmd_sandbox_list, 0, 0, 0 },
    { "sandbox stop", "ID...", "Stop sandboxes and remove them", NULL, stop_options,
      "iii sandbox stop \"$SB\"\n"
      "iii sandbox list --json | jq -r '.sandboxes[].sandbox_id' | xargs -r iii sandbox stop",
      NULL, cmd_sandbox_stop, VERBS_BOX, 1, -1 },
    { "sandbox upload", "ID LOCAL|- REMOTE", "Copy a file, or standard input, into a sandbox",
      "Any size, in constant memory. The file appears whole or not at all.", upload_options,
      "iii sandbox upload \"$SB\" data.csv /srv/data.csv --parents\n"
      "tar -cf - src | iii sandbox upload \"$SB\" - /srv/in.tar\n"
      "iii sandbox upload \"$SB\" run.sh /srv/run.sh --mode 0755",
      NULL, sandbox_copy_upload, VERBS_BOX, 3, 3 },
    { "sandbox download", "ID REMOTE LOCAL|-", "Copy a file out of a sandbox",
      "LOCAL may be a folder; - writes the bytes to standard output.", stop_options,
      "iii sandbox download \"$SB\" /srv/out.json out.json\n"
      "iii sandbox download \"$SB\" /srv/out.json - | jq .",
      NULL, sandbox_copy_download, VERBS_BOX, 3, 3 },
    { "worker", "COMMAND", "Configure the sandbox worker; `iii worker sandbox` is `iii sandbox`", NULL, NULL,
      "iii worker add iii-sandbox\niii worker sandbox list", NULL, NULL, VERBS_GROUP | VERBS_MORE, 0, 0 },
    { "worker add", "iii-sandbox|IMAGE...", "Add the sandbox worker to config.yaml, or pull an image",
      "iii-sandbox: writes the worker's block with its defaults into the file of\n"
      "`iii -c FILE`, otherwise $III_CONFIG_PATH, otherwise ./config.yaml; an existing entry is kept.\n"
      "iii.lock beside it records the version that added it. A running server rereads the file.\n"
      "IMAGE (with a / or a tag): pulls it, so that no sandbox has to wait: the server that uses\n"
      "the data folder pulls it, otherwise it is pulled into the folder's store.",
      add_options,
      "iii worker add iii-sandbox\n"
      "iii -c /etc/iii.yaml worker add iii-sandbox --force --reset-config\n"
      "iii worker add docker.io/library/python:3.12-slim\n"
      "iii worker add iiidev/python --data-dir /srv/iii",
      NULL, worker_add_run, 0, 1, -1 },
    { "worker exec", "SANDBOX [-- CMD [ARG]...]",
      "Run a command in a sandbox by its id or name, or open a terminal in it",
      "Without a command, or with -t, this terminal is connected to one in the sandbox, with\n"
      "/bin/sh unless a command is given. Otherwise output is streamed. The rest is `iii sandbox exec`.",
      exec_options,
      "iii worker exec build\n"
      "iii worker exec build -- make test\n"
      "iii worker exec -it build -- bash",
      COMMAND_EXITS, cmd_sandbox_worker_exec, VERBS_TAIL | VERBS_BOX, 1, 1 },
    { "get function", "COMMAND", "Show information about functions", NULL, NULL, "iii get function info sandbox::run",
      NULL, NULL, VERBS_GROUP, 0, 0 },
    { "get function info", "FUNCTION_PATH", "Print the description of a function, as JSON", NULL, info_options,
      "iii get function info sandbox::run | jq .request_schema", NULL, trigger_info, 0, 1, 1 },
    { "image", "pull|import|build|export|ls|inspect|rm|prune|fsck [OPTIONS]",
      "Pull, import, build, list and remove images",
      "Works on the image store, also beside a running server; see `iii image --help`.", NULL,
      "iii image pull python:3.12-slim\niii image ls --json",
      "0 done, 1 failed, 2 wrong usage, 3 no such image or file", run_image, VERBS_RAW | VERBS_III, 0, 0 },
    { "vm", "COMMAND", "Prepare this host for microVMs, and show its state", NULL, NULL, "iii vm setup\niii vm status",
      NULL, NULL, VERBS_GROUP | VERBS_MORE, 0, 0 },
    { "vm setup", "", "Find or fetch a kernel for microVMs and make their boot files",
      "Uses the given kernel, otherwise an installed Debian cloud kernel, otherwise\n"
      "fetches Debian's linux-image-cloud-amd64 with apt and unpacks it without installing\n"
      "it. It can be run again: what is up to date stays.",
      vm_setup_options, "iii vm setup\niii vm setup --kernel /srv/kernels/vmlinux", NULL, cmd_vm_setup, 0, 0, 0 },
    { "vm status", "", "Show what microVMs boot from", NULL, vm_status_options, "iii vm status --json",
      "0 guests can be booted, 1 something is missing, 2 wrong usage", cmd_vm_status, 0, 0, 0 },
    { "mcp", "", "Serve the sandboxes as MCP tools on standard input and output",
      "An AI agent starts this command. It needs a running server (`iii serve`), which\n"
      "also offers the same tools over HTTP at /mcp.",
      mcp_options,
      "claude mcp add sandbox -- iii mcp\n"
      "III_SANDBOX_URL=https://sandboxes.example:3111 III_SANDBOX_TOKEN=... iii mcp",
      "0 the input ended, 1 failed, 2 wrong usage", cmd_mcp_run, 0, 0, 0 },
    { "token", "COMMAND", "Create, list and revoke API tokens",
      "Works on a data folder, with or without a running server, or on a server over REST.", NULL,
      "iii token create ci --tenant ci\niii token ls", NULL, NULL, VERBS_GROUP | VERBS_III, 0, 0 },
    { "token create", "[NAME]", "Create a token and print its secret, once", "NAME is the sandbox's with --sandbox.",
      token_create_options,
      "iii token create ci --tenant ci --quota sandboxes=5 --expires 30d\niii token create watcher --role read-only "
      "--tenant '*'\niii token create --sandbox SANDBOX --operations exec,files --expires 1h",
      NULL, cmd_token_create, VERBS_III, 0, 1 },
    { "token ls", "", "List tokens", NULL, token_options, "iii token ls --json", NULL, cmd_token_ls, VERBS_III, 0, 0 },
    { "token show", "TOKEN", "Show one token, by id or name", NULL, token_options, "iii token show ci",
      "0 done, 1 failed, 2 wrong usage, 3 no such token", cmd_token_show, VERBS_III, 1, 1 },
    { "token revoke", "TOKEN", "Revoke a token at once and close its open streams", NULL, token_options,
      "iii token revoke ci", "0 done, 1 failed, 2 wrong usage, 3 no such token", cmd_token_revoke, VERBS_III, 1, 1 },
    { "token rotate", "TOKEN", "Give a token a new secret and print it", NULL, token_options, "iii token rotate ci",
      "0 done, 1 failed, 2 wrong usage, 3 no such token", cmd_token_rotate, VERBS_III, 1, 1 },
    { "audit", "COMMAND", "Read and check the audit log", NULL, NULL, "iii audit tail\niii audit verify", NULL, NULL,
      VERBS_GROUP | VERBS_MORE, 0, 0 },
    { "audit show", "", "Print the audit log", NULL, audit_show_options,
      "iii audit show --operation token:: --since 24h", NULL, cmd_audit_show, 0, 0, 0 },
    { "audit tail", "", "Print the last lines of the audit log", NULL, audit_tail_options,
      "iii audit tail -f --tenant ci", NULL, cmd_audit_tail, 0, 0, 0 },
    { "audit verify", "", "Check that no line was changed, removed or inserted", NULL, audit_verify_options,
      "iii audit verify", "0 the chain is intact, 1 it is not, 2 wrong usage", cmd_audit_verify, 0, 0, 0 },
    { "doctor", "[--escape | --vm] [--config FILE] [--data-dir FOLDER] [--json]",
      "Check what this host supports and what is missing",
      "--config FILE and --data-dir FOLDER are those of the server that will run here (`iii serve`).\n"
      "With --escape: run the escape suite in sandboxes of --backend NAME (native), and report what was reached.\n"
      "With --vm: boot, use, save, restore and fork a VM of --backend NAME (qemu).",
      NULL, "iii doctor\niii doctor --escape\niii doctor --vm",
      "0 sandboxes can be created here (no escape), 1 they cannot, 2 wrong usage", run_doctor, VERBS_RAW, 0, 0 },
    { "completion", "bash|zsh|fish", "Print a completion script for a shell", NULL, NULL,
      "iii completion bash >/usr/share/bash-completion/completions/iii\n"
      "iii completion zsh >\"${fpath[1]}/_iii\"\n"
      "iii completion fish >~/.config/fish/completions/iii.fish",
      NULL, completion_run, VERBS_MORE, 1, 1 },
    { "__complete", "-- WORD...", "Print what may follow the words, for the scripts of completion", NULL, NULL, NULL,
      NULL, completion_words, VERBS_RAW | VERBS_QUIET, 0, -1 },
    { "man", "[DIR]", "Print the manual page, or write one for each command into a folder", NULL, NULL,
      "iii man | man -l -\niii man /usr/local/share/man/man1", NULL, manpage_run, VERBS_MORE, 0, 1 },
    { "version", "", "Print the version", NULL, NULL, "iii version", NULL, run_version, 0, 0, 0 },
    { "help", "[COMMAND]...", "Print the list of commands, or the help of one", NULL, NULL,
      "iii help run\niii help snapshot create", NULL, run_help, 0, 0, -1 },
    { 0 },
};
