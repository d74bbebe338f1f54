/* The hand-written commands of `iii-sandbox`, in the order in which help lists them. sandbox_program.c adds options for
 * the fields of a row's operation, and the general ones. */
#include "cli/basics.h"
#include "cli/cmd_top.h"
#include "cli/follow.h"
#include "cli/sandbox_files.h"
#include "cli/sandbox_program.h"
#include "spec/spec.h"

#define END \
    {       \
        0   \
    }
#define OP_OF(id) &spec_ops[OP_ID_##id]

static const struct verbs_option create_options[] = {
    { "name", 0, "TEXT", "Name [the new id]" },
    { "timeout", 0, "SECONDS", "Time to live [III_DEFAULT_TIMEOUT of the server]" },
    { "memory", 0, "MB", "Memory [III_DEFAULT_MEMORY of the server]" },
    { "network", 0, "[=false]", "Give it network access" },
    { "env", 'e', "K=V", "Environment variable; may be repeated" },
    END,
};
static const struct verbs_option exec_options[] = {
    { "timeout", 0, "SECONDS", "Timeout of the command" },
    { "stream", 0, NULL, "Stream the output" },
    { "interactive", 'i', NULL, "Pass standard input to the command; its two outputs are merged" },
    { "tty", 't', NULL, "Connect this terminal to one in the sandbox: exec -it" },
    END,
};
static const struct verbs_option run_options[] = {
    { "language", 0, "NAME", "python, javascript, typescript, go or bash [python]" },
    END,
};
static const struct verbs_option logs_options[] = {
    { "follow", 'f', "[=false]", "Continue with new lines" },
    { "tail", 'n', "N", "Lines to start with [100]" },
    END,
};
static const struct verbs_option events_options[] = {
    { "follow", 'f', NULL, "Show new events instead of past ones" },
    { "sandbox-id", 0, "ID", "Only events of this sandbox" },
    END,
};
static const struct verbs_option metrics_options[] = {
    { "follow", 'f', NULL, "Continue, with a line for each sample" },
    END,
};
static const struct verbs_option top_options[] = {
    { "interval", 0, "SECONDS", "Refresh interval [2]" },
    { "count", 'n', "N", "Number of refreshes [until q is pressed; once in a pipe]" },
    END,
};

#define EXEC_EXITS "the command's own; 1 also if the sandbox or the server failed"

const struct verbs_verb sandbox_verbs_rows[] = {
    { "create", "[IMAGE]", "Create a sandbox", "Without IMAGE and template: the server's default image, python.",
      create_options,
      "iii-sandbox create\n"
      "iii-sandbox create node --name web --timeout 3600 --memory 1024 --network\n"
      "SB=$(iii-sandbox create --json | jq -r .id)",
      NULL, basics_create, 0, 0, 1, OP_OF(sandbox_create) },
    { "exec", "ID COMMAND [ARG]...", "Run a command in a sandbox",
      "A single argument is run by the sandbox's shell; several are a program and its\n"
      "arguments, without a shell. Put -- before a command that has options.",
      exec_options,
      "iii-sandbox exec \"$SB\" 'echo hello | wc -c'\n"
      "iii-sandbox exec \"$SB\" --stream --timeout 60 'make test'\n"
      "iii-sandbox exec \"$SB\" -- ls -la /workspace\n"
      "iii-sandbox exec -i \"$SB\" 'tar -x -C /srv' <files.tar\n"
      "iii-sandbox exec -it \"$SB\" bash",
      EXEC_EXITS, basics_exec, VERBS_BOX, 1, -1, OP_OF(cmd_run) },
    { "run", "ID [CODE]", "Run code in a sandbox", "Without CODE, or with -, the code is read from standard input.",
      run_options,
      "iii-sandbox run \"$SB\" 'print(2 + 2)'\n"
      "iii-sandbox run \"$SB\" --language bash 'uname -r'\n"
      "iii-sandbox run \"$SB\" <script.py",
      "0 the code ran, 1 it failed", basics_run, VERBS_BOX, 1, 2, OP_OF(interp_execute) },
    { "list", "", "List sandboxes", "Twenty per page.", NULL,
      "iii-sandbox list\niii-sandbox list --status running --page-size 200", NULL, basics_list, 0, 0, 0,
      OP_OF(sandbox_list) },
    { "kill", "ID...", "Stop sandboxes and remove them", NULL, NULL, "iii-sandbox kill \"$SB\"", NULL, basics_kill,
      VERBS_BOX, 1, -1, OP_OF(sandbox_kill) },
    { "renew", "ID DURATION", "Set the expiry of a sandbox to DURATION from now",
      "DURATION: seconds, or 90s, 2h, 1h20min.", NULL, "iii-sandbox renew \"$SB\" 2h", NULL, basics_renew, VERBS_BOX, 2,
      2, OP_OF(sandbox_renew) },
    { "logs", "ID", "Print the output of a sandbox's main process", NULL, logs_options,
      "iii-sandbox logs \"$SB\"\niii-sandbox logs -f -n 10 \"$SB\"", NULL, follow_logs, VERBS_BOX, 1, 1,
      OP_OF(stream_logs) },
    { "cp", "FROM TO", "Copy a file into a sandbox, or out of one",
      "One of the two is ID:PATH, the other a local file; - is standard input or output.\n"
      "A path that ends with / keeps the file's name.",
      NULL,
      "iii-sandbox cp data.csv \"$SB\":/workspace/\n"
      "iii-sandbox cp \"$SB\":/workspace/out.json .\n"
      "iii-sandbox cp \"$SB\":out.json - | jq .",
      NULL, sandbox_files_cp, 0, 2, 2 },
    { "file read", "ID PATH", "Print a text file", NULL, NULL, "iii-sandbox file read \"$SB\" notes.txt", NULL,
      sandbox_files_read, VERBS_BOX, 2, 2, OP_OF(fs_read) },
    { "file write", "ID PATH [CONTENT]", "Write a text file", "Without CONTENT, standard input is written.", NULL,
      "iii-sandbox file write \"$SB\" notes.txt 'first line'", NULL, sandbox_files_write, VERBS_BOX, 2, 3,
      OP_OF(fs_write) },
    { "file upload", "ID LOCAL REMOTE", "Copy a binary file into a sandbox", NULL, NULL,
      "iii-sandbox file upload \"$SB\" model.bin /workspace/model.bin", NULL, sandbox_files_upload, VERBS_BOX, 3, 3,
      OP_OF(fs_upload) },
    { "file ls", "ID [PATH]", "List a folder", NULL, NULL, "iii-sandbox file ls \"$SB\" /workspace", NULL,
      sandbox_files_ls, VERBS_BOX, 1, 2 },
    { "file mv", "ID FROM TO", "Move a file or folder", NULL, NULL, "iii-sandbox file mv \"$SB\" a.txt old/a.txt", NULL,
      sandbox_files_mv, VERBS_BOX, 3, 3 },
    { "events", "[COMMAND]", "Show past events of sandboxes, or with -f new ones", NULL, events_options,
      "iii-sandbox events --limit 20\niii-sandbox events -f --topic sandbox.created\n"
      "iii-sandbox events publish build.done \"$SB\" --data ok=true",
      NULL, follow_events, VERBS_GROUP, 0, -1, OP_OF(event_history) },
    { "metrics", "[ID]", "Show the resource use of a sandbox, or the counters of the server", NULL, metrics_options,
      "iii-sandbox metrics\niii-sandbox metrics -f --interval 1 \"$SB\"", NULL, follow_metrics, VERBS_BOX, 0, 1,
      OP_OF(stream_metrics) },
    { "top", "[ID]", "Watch all sandboxes, or the processes of one",
      "On a terminal it is refreshed until q is pressed.", top_options,
      "iii-sandbox top\niii-sandbox top \"$SB\" --interval 1\niii-sandbox top --json", NULL, cmd_top_run, VERBS_BOX, 0,
      1 },
    { "api", "OPERATION", "Call any operation of the server by its name",
      "Each option is a field of the operation: numbers, true and false keep their type;\n"
      "NAME=VALUE pairs and list entries may be repeated, or given all at once as JSON.",
      NULL,
      "iii-sandbox api sandbox_get --id=\"$SB\"\n"
      "iii-sandbox api cmd_run --id \"$SB\" --command 'echo hi' --json\n"
      "echo '{\"image\":\"python\"}' | iii-sandbox api sandbox_create --params -",
      NULL, NULL, VERBS_GROUP, 0, 0 },
    { 0 },
};
