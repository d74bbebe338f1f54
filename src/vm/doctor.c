#include "vm/doctor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/program.h"
#include "vm/boot/kit.h"
#include "vm/boot/probe.h"
#include "vm/vmm/jailer.h"
#include "vm/vmm/libkrun.h"
#include "vm/vmm/vmm.h"

#define TEXT_MAX 512

static void row_add(json_t *rows, const char *name, bool is_ok, const char *detail, const char *fix)
{
    (void)json_array_append_new(rows, json_pack("{s:s, s:b, s:b, s:o, s:s}", "name", name, "ok", is_ok, "required", 0,
                                                "detail", json_text(detail, strlen(detail)), "fix", fix));
}

static bool find_program(const char *given, char *ret, size_t size)
{
    static const char *const folders[] = { "/usr/bin", "/usr/local/bin", "/usr/sbin" };
    if (*given) {
        (void)snprintf(ret, size, "%s", given);
        return access(given, X_OK) == 0;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        (void)snprintf(ret, size, "%s/firecracker", folders[i]);
        if (access(ret, X_OK) == 0)
            return true;
    }
    (void)snprintf(ret, size, "not in /usr/bin, /usr/local/bin or /usr/sbin");
    return false;
}

static bool add_firecracker(json_t *rows, const struct vm_doctor_options *o)
{
    char detail[TEXT_MAX];
    bool is_there = find_program(o->firecracker, detail, sizeof(detail));
    if (!is_there && !*o->firecracker && !strstr(o->backends, "firecracker"))
        return false;
    row_add(rows, "firecracker", is_there, detail,
            "put the firecracker program of a release (1.8 or newer) into /usr/local/bin, or name it in "
            "III_VM_FIRECRACKER");
    bool can_jail = vm_jailer_say(o->jailer, detail, sizeof(detail));
    row_add(rows, "firecracker jail", can_jail, detail,
            "name the jailer of the same release in III_VM_JAILER and start the server as root, or set it to off");
    return true;
}

static bool add_krun(json_t *rows, const struct vm_doctor_options *o)
{
    char detail[TEXT_MAX] = "libkrun.so.1 can be loaded";
    const char *lack = "";
    int r = libkrun_vm_probe(o->libkrun, &lack);
    if (r == -ENOENT && !*o->libkrun && !strstr(o->backends, "krun"))
        return false;
    if (r < 0)
        (void)snprintf(detail, sizeof(detail), "%s%s", r == -ENOENT ? "libkrun.so.1 cannot be loaded" : "it lacks ",
                       lack);
    row_add(rows, "krun library", r == 0, detail,
            "install libkrun 1.17 or newer, built with BLK=1, or name its libkrun.so.1 in III_VM_LIBKRUN");
    return true;
}

static void add_kvm(json_t *rows, const struct vm_doctor_options *o, const struct vm_kit *kit)
{
    struct vm_probe p;
    char why[TEXT_MAX] = "";
    bool may = vm_probe_may_kvm(why, sizeof(why));
    bool is_known = may && kit && vm_probe_known(o->data_dir, kit, &p);
    if (is_known && !p.is_kvm)
        (void)snprintf(why, sizeof(why), "%s", p.why);
    else if (may)
        (void)snprintf(why, sizeof(why),
                       is_known ? "a guest has booted with it" : "/dev/kvm answers; no guest booted yet");
    row_add(
        rows, "microVM KVM", may && (!is_known || p.is_kvm), why,
        "firecracker and krun run on hosts with hardware virtualization only; the qemu backend emulates without it");
}

json_t *vm_doctor_needs(const struct vm_doctor_options *o)
{
    json_t *rows = json_array();
    CLEANUP(vm_kit_done) struct vm_kit kit = { 0 };
    struct err err = ERR_INIT;
    bool is_firecracker = strcmp(o->backends, "firecracker") == 0;
    if (!is_firecracker && strcmp(o->backends, "krun") != 0)
        return rows;
    (void)(is_firecracker ? add_firecracker(rows, o)
                          : add_krun(rows, o)); /* always adds a row, because the backend is named */
    add_kvm(rows, o, vm_kit_open(o->data_dir, o->kernel, &kit, &err) >= 0 ? &kit : NULL);
    return rows;
}

json_t *vm_doctor_rows(const struct vm_doctor_options *o)
{
    json_t *rows = json_array();
    CLEANUP(vm_kit_done) struct vm_kit kit = { 0 };
    struct err err = ERR_INIT;
    char path[PROGRAM_PATH_MAX];
    bool has_qemu = strstr(o->backends, "qemu"); /* many hosts have it for other purposes */
    bool is_there = program_find(qemu_ops.program, path);
    if (has_qemu)
        row_add(rows, "qemu", is_there, is_there ? path : "there is no qemu-system-x86_64",
                "apt-get install qemu-system-x86");
    bool has_firecracker = add_firecracker(rows, o), has_krun = add_krun(rows, o);
    if (!has_qemu && !has_firecracker && !has_krun)
        return rows;
    bool has_erofs = program_find("mkfs.erofs", path), has_ext4 = program_find("mkfs.ext4", path);
    row_add(rows, "microVM drives", has_erofs && has_ext4, /* made with these for every VMM */
            has_erofs && has_ext4   ? "mkfs.erofs, mkfs.ext4"
            : has_erofs || has_ext4 ? has_erofs ? "there is no mkfs.ext4" : "there is no mkfs.erofs"
                                    : "there are no mkfs.erofs and mkfs.ext4",
            "apt-get install erofs-utils e2fsprogs");
    bool has_kit = vm_kit_open(o->data_dir, o->kernel, &kit, &err) >= 0;
    add_kvm(rows, o, has_kit ? &kit : NULL);
    row_add(rows, "microVM kernel", has_kit, has_kit ? kit.version : err.msg, "run `iii vm setup`");
    return rows;
}
