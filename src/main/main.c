/* iii: one binary with many names. This file connects parts of other rooms to the command line, which picks what
 * runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/version.h"
#include "archive/archive_tool.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/verbs.h"
#include "image/image.h"
#include "main/config/config_reader.h"
#include "main/daemon.h"
#include "main/data_dir.h"
#include "main/doctor_run.h"
#include "runtime/native/native.h"
#include "ssh/ssh_listener.h"
#include "tls/tls_listener.h"
#include "vm/boot/setup.h"
#include "vm/tool.h"
#include "vm/vmm/libkrun.h"

static int run_vm_setup(const char *data_dir, const char *kernel, bool is_json)
{
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *dir = NULL;
    if (data_dir_make(data_dir, &dir, &err) >= 0)
        return vm_setup_run(dir, kernel, is_json);
    (void)fprintf(stderr, "iii vm setup: %s\n", err.msg);
    return EXIT_FAILURE;
}

static int run_vm_status(const char *data_dir, bool is_json)
{
    const char *jailer = getenv("III_VM_JAILER");
    return vm_setup_status(data_dir, jailer ? jailer : "", is_json);
}

/* Every user of the host can read a process's arguments: the value of an option that is a secret is moved to memory of
 * its own, and what the kernel shows is overwritten. Until then, for some microseconds, it can be seen; a variable or
 * the configuration file is better. */
static void hide_secrets(int argc, char **argv)
{
    static const char *const options[] = { "--auth-token", "--token" };
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
            size_t len = strlen(options[k]);
            bool is_joined = strncmp(argv[i], options[k], len) == 0 && argv[i][len] == '=';
            bool is_next = strcmp(argv[i], options[k]) == 0 && i + 1 < argc;
            char **slot = is_next ? &argv[i + 1] : &argv[i], *shown = *slot;
            if (!is_joined && !is_next)
                continue;
            *slot = xstrdup(shown); /* for as long as the process lives */
            char *secret = shown + (is_joined ? len + 1 : 0);
            explicit_bzero(secret, strlen(secret));
        }
}

int main(int argc, char **argv)
{
    static const struct verbs_hooks hooks = {
        .version = API_VERSION,
        .serve = daemon_main,
        .image = image_cli,
        .doctor = doctor_run_main,
        .vm_setup = run_vm_setup,
        .vm_status = run_vm_status,
    };
    if (argc > 1 && strcmp(argv[1], "--launcher") == 0)
        return native_launcher_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--tls-listener") == 0)
        return tls_listener_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--ssh-listener") == 0)
        return ssh_listener_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--archive-tool") == 0)
        return archive_tool_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--config-reader") == 0)
        return config_reader_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--vm-tool") == 0)
        return vm_tool_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--krun-vm") == 0)
        return libkrun_vm_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--image-tool") == 0)
        return image_tool_main(argc, argv);
    hide_secrets(argc, argv);
    return verbs_main(argc, argv, &hooks);
}
