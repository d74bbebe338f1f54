#include "vm/boot/setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "os/program.h"
#include "vm/boot/kit.h"
#include "vm/boot/probe.h"
#include "vm/vmm/jailer.h"

static const struct {
    const char *program, *package;
} needed[] = { { "qemu-system-x86_64", "qemu-system-x86" },
               { "mkfs.erofs", "erofs-utils" },
               { "mkfs.ext4", "e2fsprogs" } };

static void print_progress(void *arg, const char *text)
{
    if (!*(const bool *)arg)
        (void)fprintf(stderr, "%s\n", text);
}

static int print_json(const json_t *doc)
{
    return json_dumpf(doc, stdout, JSON_INDENT(2)) < 0 || putchar('\n') == EOF || fflush(stdout) == EOF;
}

static int print_failure(bool is_json, const struct err *err)
{
    if (is_json) {
        JSON_OWNED doc = json_pack("{s:b, s:s, s:s}", "ok", 0, "error", err->msg, "code", err_name(err->code));
        (void)print_json(doc); /* the exit code is 1 anyway */
    } else {
        (void)fprintf(stderr, "iii vm: %s\n", err->msg);
    }
    return EXIT_FAILURE;
}

static json_t *kit_json(const struct vm_kit *k, const struct vm_probe *p)
{
    return json_pack("{s:b, s:s, s:s, s:s, s:I, s:s, s:I, s:s, s:I, s:s}", "ok", 1, "version", k->version, "source",
                     k->source, "kernel", k->kernel, "kernelBytes", (json_int_t)k->kernel_bytes, "initramfs",
                     k->initramfs, "initramfsBytes", (json_int_t)k->initramfs_bytes, "acceleration",
                     p->is_kvm ? "kvm" : "tcg", "bootMs", (json_int_t)p->boot_ms, "whyNotKvm", p->why);
}

static void print_kit(const struct vm_kit *k, const struct vm_probe *p)
{
    (void)printf("kernel     %s, %.1f MB, from %s\n", k->version, (double)k->kernel_bytes / 1e6, k->source);
    (void)printf("initramfs  %.1f MB: the agent, its modules, the system call filter\n",
                 (double)k->initramfs_bytes / 1e6);
    if (p->boot_ms)
        (void)printf("boot       %lld ms to the agent's answer, %s\n", (long long)p->boot_ms,
                     p->is_kvm ? "with KVM" : "emulated (TCG)");
    else
        (void)puts("boot       emulated (TCG); none was timed since KVM was looked for last");
    if (!p->is_kvm)
        (void)printf("           no KVM: %s; guests work, but are 10 times slower and more\n", p->why);
}

static int check_host(struct err *err)
{
    struct utsname host;
    CLEANUP(buf_done) struct buf missing = BUF_INIT(512);
    if (uname(&host) == 0 && strcmp(host.machine, "x86_64") != 0)
        return err_set(err, ERR_UNSUPPORTED, 0, "microVMs need an x86-64 host; this one is %s", host.machine);
    char path[PROGRAM_PATH_MAX];
    for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
        if (!program_find(needed[i].program, path))
            (void)buf_addf(&missing, "%s %s", missing.len ? "" : "apt-get install", needed[i].package); /* short */
    return missing.len ? err_set(err, ERR_UNSUPPORTED, 0, "packages are missing: %s", buf_text(&missing)) : 0;
}

int vm_setup_run(const char *data_dir, const char *kernel, bool is_json)
{
    struct err err = ERR_INIT;
    CLEANUP(vm_kit_done) struct vm_kit k = { 0 };
    struct vm_probe p = { 0 };
    bool is_new = false;
    int r = check_host(&err);
    if (r >= 0)
        r = vm_probe_become_owner(data_dir, &err);
    if (r >= 0)
        r = vm_kit_make(data_dir, kernel, print_progress, &is_json, &is_new, &err);
    if (r >= 0)
        r = vm_kit_open(data_dir, kernel, &k, &err);
    if (r >= 0 && !vm_probe_known(data_dir, &k, &p)) {
        print_progress(&is_json, "booting a guest to check it");
        r = vm_probe_run(data_dir, &k, &p, &err);
    }
    if (r < 0)
        return print_failure(is_json, &err);
    JSON_OWNED doc = kit_json(&k, &p);
    (void)json_object_set_new(doc, "made", json_boolean(is_new));
    if (is_json)
        return print_json(doc);
    print_kit(&k, &p);
    (void)puts(is_new ? "ready" : "ready: it was up to date");
    return EXIT_SUCCESS;
}

int vm_setup_status(const char *data_dir, const char *jailer, bool is_json)
{
    char jail[512];
    (void)vm_jailer_say(jailer, jail,
                        sizeof(jail)); /* as the current user; a jailer that does not work is not a fault of the kit */
    struct err err = ERR_INIT;
    CLEANUP(vm_kit_done) struct vm_kit k = { 0 };
    struct vm_probe p = { 0 };
    int r = check_host(&err);
    if (r >= 0)
        r = vm_probe_become_owner(data_dir, &err);
    if (r >= 0)
        r = vm_kit_open(data_dir, NULL, &k, &err);
    if (r >= 0 && !vm_probe_known(data_dir, &k, &p))
        r = err_set(
            &err, ERR_UNSUPPORTED, 0,
            "the kernel %s is there, but nobody has looked for KVM since this host was booted: run `iii vm setup`, or "
            "start the server, which checks automatically",
            k.version);
    if (r < 0)
        return print_failure(is_json, &err);
    JSON_OWNED doc = kit_json(&k, &p);
    (void)json_object_set_new(doc, "firecrackerJail", json_text(jail, strlen(jail)));
    if (is_json)
        return print_json(doc);
    print_kit(&k, &p);
    (void)printf("jail       of firecracker: %s\n", jail);
    return EXIT_SUCCESS;
}
