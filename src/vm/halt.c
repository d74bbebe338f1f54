/* A halted box is a folder in vm/boxes with the writable drive of a VM that has ended. vm->halted has the names of
 * these VMs and their read-only drives, so that neither is swept. A start boots a VM on both drives: its memory is
 * gone, and no template has this drive in the state it is in. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "vm/vm_core.h"

void vm_halt_note(struct vm *vm, const char *name, const char *base)
{
    (void)json_object_set_new(vm->halted, name, json_string(base));
}

void vm_halt_ended(const struct vm *vm, const char *name)
{
    CLEANUP(free_p) char *folder = vm_image_file_box_folder(vm, name);
    CLEANUP(free_p) char *ram = xasprintf("%s/ram", folder);
    (void)unlink(ram); /* a restored VM has none */
}

struct halting {
    struct vm *vm;
    char name[VM_TOOL_WIRE_NAME_MAX];
    bool is_discard;
    struct err err; /* found before anything was asked */
    box_done_fn *fn;
    void *arg;
};

static void halting_finish(void *arg, const struct err *err)
{
    CLEANUP(free_p) struct halting *h = arg;
    if (!err && h->is_discard) {
        CLEANUP(free_p) char *folder = vm_image_file_box_folder(h->vm, h->name);
        vm_image_file_remove_later(h->vm, folder);
    } else if (!err) {
        vm_halt_ended(h->vm, h->name);
    }
    if (h->fn && !h->vm->is_ending)
        h->fn(h->arg, err);
}

static void halting_refuse(void *arg)
{
    struct halting *h = arg;
    struct err err = h->err;
    halting_finish(h, &err);
}

static struct halting *halting_new(struct vm *vm, const json_t *record, box_done_fn *fn, void *arg)
{
    struct halting *h = xzalloc(sizeof(*h));
    *h = (struct halting){ .vm = vm, .fn = fn, .arg = arg };
    (void)snprintf(h->name, sizeof(h->name), "%s", json_get_str(record, "machine", ""));
    return h;
}

void vm_halt_retain(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg)
{
    struct halting *h = halting_new(vm_of(rt), record, fn, arg);
    CLEANUP(free_p) char *folder = vm_image_file_box_folder(h->vm, h->name);
    CLEANUP(free_p) char *disk = xasprintf("%s/disk", folder);
    if (!*h->name || (access(disk, F_OK) < 0 && errno == ENOENT)) {
        (void)err_set(&h->err, ERR_NOT_FOUND, ENOENT, "the drive of sandbox %s is gone",
                      json_get_str(record, "id", ""));
        loop_defer(rt->loop, halting_refuse, h);
        return;
    }
    vm_halt_note(h->vm, h->name, json_get_str(record, "base", ""));
    vm_instance_kill_name(&h->vm->site, h->name, halting_finish, h);
}

void vm_halt_discard(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg)
{
    struct halting *h = halting_new(vm_of(rt), record, fn, arg);
    h->is_discard = true;
    (void)json_object_del(h->vm->halted, h->name);
    vm_instance_kill_name(&h->vm->site, h->name, halting_finish, h);
}
