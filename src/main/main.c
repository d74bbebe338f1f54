/* iii: one binary with many names. This file connects parts of other rooms to the command line, which picks what
 * runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/version.h"
#include "base/cleanup.h"
#include "cli/verbs.h"
#include "image/image.h"
#include "main/config/config_reader.h"
#include "main/daemon.h"
#include "main/data_dir.h"
#include "main/doctor_run.h"
#include "runtime/native/native.h"
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
    if (argc > 1 && strcmp(argv[1], "--config-reader") == 0)
        return config_reader_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--vm-tool") == 0)
        return vm_tool_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--krun-vm") == 0)
        return libkrun_vm_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--image-tool") == 0)
        return image_tool_main(argc, argv);
    return verbs_main(argc, argv, &hooks);
}
