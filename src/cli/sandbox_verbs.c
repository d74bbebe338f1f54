/* The commands on sandboxes, in the order in which help lists them: docker's names where docker has one, and for
 * `iii-sandbox` the spellings of its contract (VERBS_CONTRACT). All talk to the REST API. verb_program.c adds options
 * for the fields of a row's operation, and the general ones. */
#include "cli/cmd_boxes.h"
#include "cli/cmd_build.h"
#include "cli/cmd_cp.h"
#include "cli/cmd_create.h"
#include "cli/cmd_exec.h"
#include "cli/cmd_images.h"
#include "cli/cmd_ssh.h"
#include "cli/cmd_top.h"
#include "cli/follow.h"
#include "cli/operation_verb.h"
#include "cli/sandbox_files.h"
#include "cli/verbs.h"
#include "spec/spec.h"

#define END \
    {       \
        0   \
    }
#define OP_OF(id) &spec_ops[OP_ID_##id]
#define INTERACTIVE                                                     \
    { "interactive", 'i', NULL, "Pass standard input to the command" }, \
    {                                                                   \
        "tty", 't', NULL, "Run it on a terminal"                        \
    }
#define TIMEOUT                                                                                \
    {                                                                                          \
        "timeout", 0, "DUR", "Time after which the command is killed: 90 (seconds), 500ms, 2h" \
    }
#define ENV                                                                             \
    {                                                                                   \
        "env", 'e', "K=V", "Environment variable; K alone copies ours; may be repeated" \
    }
#define WORKDIR                                                    \
    {                                                              \
        "workdir", 'w', "DIR", "Working folder inside the sandbox" \
    }
#define USER                                                                 \
    {                                                                        \
        "user", 'u', "USER", "User: name, uid, or with :group [the image's]" \
    }
#define ALSO_CREATE                                                                                           \
    { "name", 0, "TEXT", "Name [the new id]" }, { "memory", 'm', "SIZE", "Memory: 512 (MB), 256m, 2g" },      \
        { "cpus", 0, "N", "CPUs" }, { "network", 0, "[=false]", "Give it network access" }, ENV, WORKDIR,     \
        { "volume", 'v', "VOL:DIR", "Attach a volume, made if there is none of that name; may be repeated" }, \
        { "publish", 'p', "HOST:PORT",                                                                        \
          "Expose a port, also /udp, at one of the host; PORT alone: at a free one; may be repeated" },       \
    {                                                                                                         \
        "ttl", 0, "DUR", "Time to live of the sandbox: 90 (seconds), 2h [III_DEFAULT_TIMEOUT of the server]"  \
    }

static const struct verbs_option run_options[] = {
    INTERACTIVE,
    { "detach", 'd', NULL,
      "Print its id and leave it: the command is its main process, without our input and terminal" },
    { "rm", 0, "[=false]",
      "Remove it after the command, the default; =false keeps it. With -d it stays until its expiry" },
    USER,
    TIMEOUT,
    ALSO_CREATE,
    END,
};
static const struct verbs_option create_options[] = { ALSO_CREATE, END };
static const struct verbs_option contract_create_options[] = { { "timeout", 0, "SECONDS",
                                                                 "Time to live [III_DEFAULT_TIMEOUT of the server]" },
                                                               { "image", 0, "IMAGE", "The same as IMAGE" },
                                                               ALSO_CREATE,
                                                               END };
static const struct verbs_option exec_options[] = { INTERACTIVE, USER, TIMEOUT, ENV, WORKDIR, END };
static const struct verbs_option contract_exec_options[] = {
    TIMEOUT, { "stream", 0, NULL, "Stream the output" },   INTERACTIVE, USER, ENV,
    WORKDIR, { "cwd", 0, "DIR", "The same as --workdir" }, END,
};
static const struct verbs_option cp_options[] = { { "recursive", 'r', NULL, "Copy a folder with all that is in it" },
                                                  END };
static const struct verbs_option code_options[] = {
    { "language", 'l', "NAME", "python, javascript, typescript, go or bash [python]" },
    END,
};
static const struct verbs_option ssh_options[] = {
    { "user", 'u', "USER", "User inside: name or uid [the image's]" },
    { "print", 0, NULL, "Print the ssh command instead of running it" },
    END,
};
static const struct verbs_option ps_options[] = {
    { "all", 'a', NULL, "Also those that have expired and are not removed yet" },
    { "quiet", 'q', NULL, "Print ids alone, like -o name" },
    END,
};
static const struct verbs_option update_options[] = {
    { "memory", 'm', "SIZE", "Memory: 512 (MB), 256m, 2g" },
    { "cpus", 0, "N", "CPUs" },
    END,
};
static const struct verbs_option rm_options[] = {
    { "all", 'a', NULL, "Remove all sandboxes" },
    { "force", 'f', NULL, "Do not fail for those that do not exist" },
    END,
};
static const struct verbs_option images_options[] = {
    { "quiet", 'q', NULL, "Print names alone, like -o name" },
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
static const struct verbs_option build_options[] = {
    { "tag", 't', "NAME", "The image's name; required" },
    { "file", 'f', "FILE", "The Dockerfile, in the context [CONTEXT/Dockerfile]" },
    { "target", 0, "STAGE", "Build this stage, not the last" },
    { "build-arg", 0, "NAME=VALUE", "Value of an ARG; may be repeated" },
    { "no-cache", 0, NULL, "Run every step" },
    { "network", 0, NULL, "Steps may use the network" },
    { "memory", 'm', "SIZE", "Memory of the sandbox of each step [the server's default]" },
    { "url", 0, "URL", "The same as --server" },
    END,
};
static const struct verbs_option top_options[] = {
    { "interval", 0, "SECONDS", "Refresh interval [2]" },
    { "count", 'n', "N", "Number of refreshes [until q is pressed; once in a pipe]" },
    END,
};
static const struct verbs_option stats_options[] = {
    { "no-stream", 0, NULL, "Print once" },
    { "interval", 0, "SECONDS", "Refresh interval [2]" },
    END,
};

#define RUN_EXITS                                                                                                   \
    "the command's own; 124 timed out, 125 iii itself failed, 126 not executable,\n127 not found, 128+n killed by " \
    "signal n"
#define CONTRACT_EXITS \
    "the command's own; 124 timed out, 126 not executable, 127 not found; 1 also if the server failed"
#define REST VERBS_REST

const struct verbs_verb sandbox_verbs_rows[] = {
    { "run", "IMAGE [COMMAND [ARG]...]", "Run a command in a new sandbox",
      "Creates a sandbox, runs the command in it, and removes it. Without a command the image's\n"
      "own runs, otherwise a shell. Options come before IMAGE; what follows it is the command.\n"
      "A single argument with blanks is a line for the sandbox's shell.",
      run_options,
      "iii run python python3 -c 'print(2+2)'\n"
      "iii run -it python                       # a Python prompt; node and others likewise\n"
      "echo 'print(6*7)' | iii run -i python python3 -\n"
      "iii run --timeout 10s -m 256m node 'node -v && npm -v'\n"
      "iii run -d --name web -p 8000 python python3 -m http.server 8000",
      RUN_EXITS, cmd_create_and_run, REST | VERBS_III | VERBS_TAIL | VERBS_RUNS | VERBS_IMAGE, 1, 1,
      OP_OF(sandbox_create) },
    { "exec", "ID COMMAND [ARG]...", "Run a command in a sandbox",
      "Options come before ID; what follows it is the command. A single argument with blanks is\n"
      "a line for the sandbox's shell. With -t, a shell when there is no command.",
      exec_options,
      "iii exec web ls -la /workspace\n"
      "iii exec -it web bash\n"
      "iii exec -e STAGE=test -w /srv -u 1000 web 'make test | tail'\n"
      "tar -c src | iii exec -i web tar -x",
      RUN_EXITS, cmd_exec_run, REST | VERBS_III | VERBS_TAIL | VERBS_RUNS | VERBS_BOX, 1, 1 },
    { "create", "[IMAGE]", "Create a sandbox and print its id",
      "Without IMAGE and template: the server's default image.", create_options,
      "SB=$(iii create python)\n"
      "iii create node --name web --ttl 2h -m 1g --cpus 2 --network -p 3000",
      NULL, cmd_create_run, REST | VERBS_III | VERBS_IMAGE, 0, 1, OP_OF(sandbox_create) },
    { "create", "[IMAGE]", "Create a sandbox", "Without IMAGE and template: the server's default image, python.",
      contract_create_options,
      "iii create\n"
      "iii create node --name web --timeout 3600 --memory 1024 --network\n"
      "SB=$(iii create --json | jq -r .id)",
      NULL, cmd_create_run, REST | VERBS_CONTRACT | VERBS_IMAGE, 0, 1, OP_OF(sandbox_create) },
    { "exec", "ID COMMAND [ARG]...", "Run a command in a sandbox",
      "A single argument is run by the sandbox's shell; several are a program and its\n"
      "arguments, without a shell. Put -- before a command that has options.",
      contract_exec_options,
      "iii exec \"$SB\" 'echo hello | wc -c'\n"
      "iii exec \"$SB\" --stream --timeout 60 'make test'\n"
      "iii exec \"$SB\" -- ls -la /workspace\n"
      "iii exec -it \"$SB\" bash\n"
      "tar -c src | iii exec -i \"$SB\" 'tar -x'",
      CONTRACT_EXITS, cmd_exec_run, REST | VERBS_CONTRACT | VERBS_BOX, 1, -1 },
    { "run", "ID [CODE]", "Run source code in a sandbox", "Without CODE, or with -, standard input is run.",
      code_options, "iii run \"$SB\" 'print(6 * 7)'\niii run \"$SB\" --language bash <script.sh",
      "0 the code ran, 1 it failed", cmd_exec_code, REST | VERBS_CONTRACT | VERBS_BOX, 1, 2, OP_OF(interp_execute) },
    { "ps", "", "List the sandboxes", NULL, ps_options, "iii ps\niii ps -o wide\niii ps -q --status paused", NULL,
      cmd_boxes_ps, REST, 0, 0, OP_OF(sandbox_list) },
    { "list", "", "List sandboxes, a page of them", NULL, NULL, "iii list\niii list --status running --page-size 200",
      NULL, cmd_boxes_list, REST | VERBS_CONTRACT, 0, 0, OP_OF(sandbox_list) },
    { "stop", "ID...", "End the processes of sandboxes; their files and settings are kept", NULL, NULL,
      "iii stop web\niii stop --timeout 0 web", NULL, cmd_boxes_each, REST | VERBS_BOX, 1, -1, OP_OF(sandbox_stop) },
    { "start", "ID...", "Start stopped or hibernated sandboxes again", NULL, NULL, "iii start web", NULL,
      cmd_boxes_each, REST | VERBS_BOX, 1, -1, OP_OF(sandbox_start) },
    { "restart", "ID...", "Stop sandboxes and start them again", NULL, NULL, "iii restart web", NULL, cmd_boxes_each,
      REST | VERBS_BOX, 1, -1, OP_OF(sandbox_restart) },
    { "update", "ID", "Change the limits of a sandbox while it runs", "Its disk only grows.", update_options,
      "iii update web -m 2g --cpus 2\niii update web --pids 500 --disk-mb 4096", NULL, cmd_boxes_update,
      REST | VERBS_BOX, 1, 1, OP_OF(sandbox_resize) },
    { "hibernate", "ID...", "Save memory and files of sandboxes to disk and end them",
      "Only the qemu and firecracker backends can. `start` continues their processes.", NULL, "iii hibernate web", NULL,
      cmd_boxes_each, REST | VERBS_BOX, 1, -1, OP_OF(sandbox_hibernate) },
    { "rm", "ID...", "Remove sandboxes with their processes and files", "`kill` is the same.", rm_options,
      "iii rm web\niii rm --all", NULL, cmd_boxes_rm, REST | VERBS_BOX, 0, -1 },
    { "kill", "ID...", "Stop sandboxes and remove them", NULL, NULL, "iii kill \"$SB\"", NULL, cmd_boxes_kill,
      REST | VERBS_CONTRACT | VERBS_BOX, 1, -1 },
    { "pause", "ID...", "Freeze all processes of sandboxes", NULL, NULL, "iii pause web", NULL, cmd_boxes_each,
      REST | VERBS_BOX, 1, -1, OP_OF(sandbox_pause) },
    { "resume", "ID...", "Resume paused sandboxes", "`unpause` is the same.", NULL, "iii resume web", NULL,
      cmd_boxes_each, REST | VERBS_BOX, 1, -1, OP_OF(sandbox_resume) },
    { "inspect", "ID...", "Print everything about sandboxes, as JSON", NULL, NULL,
      "iii inspect web | jq -r '.[0].config.memory'", NULL, cmd_boxes_inspect, REST | VERBS_BOX, 1, -1 },
    { "logs", "ID", "Print the output of a sandbox's main process", NULL, logs_options,
      "iii logs web\niii logs -f -n 10 web", NULL, follow_logs, REST | VERBS_BOX, 1, 1, OP_OF(stream_logs) },
    { "cp", "FROM TO", "Copy files and folders into a sandbox, or out of one",
      "One of the two is ID:PATH, the other is local; - is standard input or output.\n"
      "Below a folder that exists, and with a file and a TO that ends with /, the name\n"
      "is kept. A folder needs -r; when FROM ends with /. its contents are copied, and\n"
      "- is a tar archive.",
      cp_options,
      "iii cp data.csv web:/workspace/\n"
      "iii cp web:/workspace/out.json .\n"
      "iii cp web:out.json - | jq .\n"
      "iii cp -r src web:/workspace           # /workspace/src\n"
      "iii cp -r web:/workspace/. results",
      NULL, cmd_cp_run, REST, 2, 2 },
    { "port", "ID [PORT]", "Print the addresses of exposed ports, or expose them", NULL, NULL,
      "iii port web                # 8000/tcp -> http://127.0.0.1:40123\n"
      "iii port expose web 8000",
      NULL, cmd_boxes_port, REST | VERBS_GROUP | VERBS_BOX, 1, 2 },
    { "ssh", "ID [COMMAND [ARG]...]", "Log in to a sandbox by SSH",
      "Runs OpenSSH's client with the address of the server's SSH, which --ssh of `iii serve` turns on.\n"
      "Your public key must be known: `iii ssh-key add \"$(cat ~/.ssh/id_ed25519.pub)\"`.",
      ssh_options,
      "iii ssh web\n"
      "iii ssh -u 1000 web uname -a\n"
      "iii ssh --print web              # for sftp, rsync, an editor",
      "the command's own; 255 when SSH failed", cmd_ssh_run, REST | VERBS_III | VERBS_TAIL | VERBS_RUNS | VERBS_BOX, 1,
      1 },
    { "stats", "[ID]...", "Watch the resource use of sandboxes", "On a terminal it is refreshed until q is pressed.",
      stats_options, "iii stats\niii stats --no-stream web", NULL, cmd_top_stats, REST | VERBS_BOX, 0, -1 },
    { "top", "[ID]", "Watch all sandboxes, or the processes of one",
      "On a terminal it is refreshed until q is pressed.", top_options,
      "iii top\niii top web --interval 1\niii top --json", NULL, cmd_top_run, REST | VERBS_BOX, 0, 1 },
    { "events", "[COMMAND]", "Show past events of sandboxes, or with -f new ones", NULL, events_options,
      "iii events --limit 20\niii events -f --topic sandbox.created\n"
      "iii events publish build.done web --data ok=true",
      NULL, follow_events, REST | VERBS_GROUP, 0, -1, OP_OF(event_history) },
    { "images", "", "List the images that sandboxes can start from", NULL, images_options, "iii images", NULL,
      operation_verb_run, REST, 0, 0, OP_OF(image_list) },
    { "build", "CONTEXT", "Build an image on the server from a Dockerfile",
      "Sends the folder CONTEXT, without what its .dockerignore excludes, and shows the log. Each\n"
      "RUN has a sandbox. `iii image build` builds in this host's image store, without a server.",
      build_options,
      "iii build -t my-app .\n"
      "iii build -t my-app:2 -f docker/Dockerfile --build-arg VERSION=2 --target run .\n"
      "iii build -t my-app --url https://sandboxes.example .",
      NULL, cmd_build_run, REST, 1, 1 },
    { "pull", "IMAGE", "Pull an image from its registry", NULL, NULL, "iii pull alpine:3", NULL, cmd_images_pull,
      REST | VERBS_IMAGE, 1, 1 },
    { "rmi", "IMAGE...", "Remove images", NULL, NULL, "iii rmi alpine:3", NULL, cmd_images_rm, REST | VERBS_IMAGE, 1,
      -1 },
    { "info", "", "Show the server: its state, backends and counters", NULL, NULL, "iii info", NULL, cmd_boxes_info,
      REST, 0, 0 },
    { "code", "ID [CODE]", "Run source code in a sandbox, in a new interpreter",
      "Without CODE, or with -, standard input is run.", code_options,
      "iii code web 'print(6 * 7)'\niii code web -l bash <script.sh", "0 the code ran, 1 it failed", cmd_exec_code,
      REST | VERBS_BOX, 1, 2, OP_OF(interp_execute) },
    { "renew", "ID DURATION", "Set the expiry of a sandbox to DURATION from now",
      "DURATION: seconds, or 90s, 2h, 1h20min.", NULL, "iii renew web 2h", NULL, cmd_boxes_renew, REST | VERBS_BOX, 2,
      2 },
    { "file read", "ID PATH", "Print a text file", NULL, NULL, "iii file read web notes.txt", NULL, sandbox_files_read,
      REST | VERBS_BOX, 2, 2, OP_OF(fs_read) },
    { "file write", "ID PATH [CONTENT]", "Write a text file", "Without CONTENT, standard input is written.", NULL,
      "iii file write web notes.txt 'first line'", NULL, sandbox_files_write, REST | VERBS_BOX, 2, 3, OP_OF(fs_write) },
    { "file upload", "ID LOCAL REMOTE", "Copy a binary file into a sandbox", NULL, NULL,
      "iii file upload web model.bin /workspace/model.bin", NULL, sandbox_files_upload, REST | VERBS_BOX, 3, 3,
      OP_OF(fs_upload) },
    { "file ls", "ID [PATH]", "List a folder", NULL, NULL, "iii file ls web /workspace", NULL, sandbox_files_ls,
      REST | VERBS_BOX, 1, 2 },
    { "file mv", "ID FROM TO", "Move a file or folder", NULL, NULL, "iii file mv web a.txt old/a.txt", NULL,
      sandbox_files_mv, REST | VERBS_BOX, 3, 3 },
    { "metrics", "[ID]", "Show the resource use of a sandbox, or the counters of the server", NULL, metrics_options,
      "iii metrics\niii metrics -f --interval 1 web", NULL, follow_metrics, REST | VERBS_BOX | VERBS_MORE, 0, 1,
      OP_OF(stream_metrics) },
    { "get", "ID", "Show one sandbox, or information about the engine", NULL, NULL,
      "iii get web\niii get function info sandbox::run", NULL, operation_verb_run,
      REST | VERBS_GROUP | VERBS_BOX | VERBS_MORE, 1, 1, OP_OF(sandbox_get) },
    { "api", "OPERATION", "Call any operation of the server by its name",
      "Each option is a field of the operation: numbers, true and false keep their type;\n"
      "NAME=VALUE pairs and list entries may be repeated, or given all at once as JSON.",
      NULL,
      "iii api sandbox_get --id=web\n"
      "iii api cmd_run --id web --command 'echo hi' --json\n"
      "echo '{\"image\":\"python\"}' | iii api sandbox_create --params -",
      NULL, NULL, VERBS_GROUP | VERBS_MORE, 0, 0 },
    { 0 },
};
