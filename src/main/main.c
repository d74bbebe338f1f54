/* iii: one binary with many names. This file lends parts of other rooms to the command line, which picks what runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/version.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/doctor.h"
#include "cli/verbs.h"
#include "cli/vmcheck.h"
#include "escape/escape.h"
#include "image/image.h"
#include "main/backends.h"
#include "main/confreader.h"
#include "main/daemon.h"
#include "main/datadir.h"
#include "runtime/docker/docker.h"
#include "runtime/native/native.h"
#include "runtime/vm/krunvm.h"
#include "runtime/vm/vmdoctor.h"
#include "runtime/vm/vminitrd.h"
#include "runtime/vm/vmsetup.h"
#include "runtime/vm/vmtool.h"
#include "tls/tlsdoor.h"

/* Only where somebody seems to want it: its absence is no fault of a host. */
static void add_docker(json_t *checks)
{
    static const char usual[] = "/var/run/docker.sock";
    const char *host = getenv("DOCKER_HOST"), *verify = getenv("DOCKER_TLS_VERIFY"),
               *certs = getenv("DOCKER_CERT_PATH");
    struct docker_options opt = { .host = host && *host ? host : "unix:///var/run/docker.sock",
                                  .is_tls = (verify && *verify) || (certs && *certs) };
    if (!(host && *host) && access(usual, F_OK) < 0)
        return;
    backends_tls(certs ? certs : "", &opt.tls);
    JSON_OWNED rows = docker_doctor(&opt);
    backends_tls_done(&opt.tls);
    (void)json_array_extend(checks, rows);
}

static const char *env_text(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static struct vmdoctor_options vm_options(const char *data_dir, const char *backends)
{
    return (struct vmdoctor_options){ .data_dir = data_dir,
                                      .backends = backends,
                                      .firecracker = env_text("III_VM_FIRECRACKER"),
                                      .libkrun = env_text("III_VM_LIBKRUN"),
                                      .kernel = env_text("III_VM_KERNEL"),
                                      .jailer = env_text("III_VM_JAILER") };
}

static void add_vm(json_t *checks, const char *data_dir)
{
    CLEANUP(free_p) char *wanted = xasprintf("%s,%s", env_text("III_ISOLATION_BACKEND"), env_text("III_BACKENDS"));
    struct vmdoctor_options opt = vm_options(data_dir, wanted);
    JSON_OWNED rows = vmdoctor_rows(&opt);
    (void)json_array_extend(checks, rows);
}

static json_t *vm_needs(const char *data_dir, const char *backend)
{
    struct vmdoctor_options opt = vm_options(data_dir, backend);
    return vmdoctor_needs(&opt);
}

static int check_machines(const char *data_dir, int argc, char **argv)
{
    struct vmcheck_parts parts = { .data_dir = data_dir, .needs = vm_needs };
    parts.program = vminitrd_agent(&parts.program_len);
    return vmcheck_main(&parts, argc, argv);
}

static int run_doctor(int argc, char **argv)
{
    const char *given = getenv("III_DATA_DIR");
    CLEANUP(free_p) char *dir = datadir_nearest(given ? given : "");
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--escape") == 0)
            return escape_main(dir, argc, argv);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--vm") == 0)
            return check_machines(dir, argc, argv);
    JSON_OWNED checks = native_doctor(dir);
    add_docker(checks);
    add_vm(checks, dir);
    return doctor_print(checks, argc, argv);
}

static int run_vm_setup(const char *data_dir, const char *kernel, bool is_json)
{
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *dir = NULL;
    if (datadir_make(data_dir, &dir, &err) >= 0)
        return vmsetup_run(dir, kernel, is_json);
    (void)fprintf(stderr, "iii vm setup: %s\n", err.msg);
    return EXIT_FAILURE;
}

static int run_vm_status(const char *data_dir, bool is_json)
{
    return vmsetup_status(data_dir, env_text("III_VM_JAILER"), is_json);
}

int main(int argc, char **argv)
{
    static const struct verbs_hooks hooks = {
        .version = API_VERSION,
        .serve = daemon_main,
        .image = image_cli,
        .doctor = run_doctor,
        .vm_setup = run_vm_setup,
        .vm_status = run_vm_status,
    };
    if (argc > 1 && strcmp(argv[1], "--launcher") == 0)
        return native_launcher_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--tls-door") == 0)
        return tlsdoor_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--config-reader") == 0)
        return confreader_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--vm-tool") == 0)
        return vmtool_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--krun-vm") == 0)
        return krunvm_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--image-tool") == 0)
        return image_tool_main(argc, argv);
    return verbs_main(argc, argv, &hooks);
}
