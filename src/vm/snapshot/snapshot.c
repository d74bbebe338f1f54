/* Theory of operation. The memory of a running VM is private to its process, so it must be sent to be saved. It is sent
 * to a receiver: a second VM of the same shape that never runs, keeps its memory in a file, and saves the rest of its
 * state into another. The result is a folder like a template's, from which any number of VMs are restored without a
 * copy of the memory: start the receiver → send memory, while the source runs where the VMM can do that → pause → copy
 * the drive → resume → save and kill the receiver.
 *
 * Emulated VMs are paused from the start: QEMU 7.2 misses pages that are written while it sends, and one snapshot in a
 * hundred was damaged. Memory and files are consistent, because the source is paused from the last page to the end of
 * the copy. A VMM that writes its memory into a file (save_apart) needs no receiver: pause → save memory and state,
 * copy the drive → resume.
 *
 * struct vm owns each `struct vm_saving`; it calls its caller once and frees itself. Any failure resumes the source,
 * kills the receiver and removes the folder. If the box is destroyed meanwhile, the saving fails. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "vm/vm_core.h"

enum { PART_LOAD = 1, PART_SEND = 2 };

#define HURRY_MS 3000

struct vm_saving {
    struct vm_saving *next;
    struct vm *vm;
    struct box *source; /* NULL: the box was destroyed */
    struct vm_image image;
    char name[VM_TOOL_WIRE_NAME_MAX];
    char owner[IDENT_MAX];
    struct vm_instance *receiver;
    int disk, ram;
    unsigned pending; /* parts of the transfer under way */
    struct timer *hurry;
    bool is_busy, is_source_paused, is_sent;
    struct err err; /* of the first part that failed */
    box_image_fn *fn;
    void *arg;
};

static char *image_path(const struct vm *vm, const char *name)
{
    return xasprintf("%s/snaps/%s", vm->site.dir, name);
}

/* "qemu:0123456789abcdef" */
char *vm_snapshot_folder(const struct vm *vm, const char *id)
{
    size_t n = strlen(vm->base.ops->name);
    if (strncmp(id, vm->base.ops->name, n) != 0 || id[n] != ':')
        return NULL;
    const char *name = id + n + 1;
    if (strlen(name) != 16 || strspn(name, "0123456789abcdef") != 16)
        return NULL;
    return image_path(vm, name);
}

static void on_source_on(void *arg, const struct err *err)
{
    struct box *box = arg;
    if (err)
        log_event(LOG_WARN, "vm.stands_still", "id", box->id, "why", err->msg, NULL);
    else
        box_life_late(box);
}

static void release_source(struct vm_saving *s)
{
    if (s->source && s->is_source_paused) /* the answers of a destroyed box's VM never come */
        vm_instance_resume(s->source->instance, on_source_on, s->source);
    s->is_source_paused = false;
}

static void saving_finish(struct vm_saving *s, const struct err *err)
{
    struct vm *vm = s->vm;
    struct err why = err ? *err : (struct err)ERR_INIT;
    CLEANUP(free_p) char *path = image_path(vm, s->name);
    CLEANUP(free_p) char *id = xasprintf("%s:%s", vm->base.ops->name, s->name);
    struct box_image made = { .id = id, .user = "", .workdir = "" };
    box_image_fn *fn = s->fn;
    void *arg = s->arg;
    release_source(s);
    if (s->receiver)
        vm_instance_kill(s->receiver, NULL, NULL);
    if (!err && vm_image_file_seal(s->image.folder, path, &s->image, &why) < 0)
        err = &why;
    if (err)
        vm_image_file_remove_later(vm, s->image.folder);
    else
        (void)json_object_set_new(vm->pins, s->owner, json_string(id));
    static const char *const files[] = { "ram", "state", "disk" };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        CLEANUP(free_p) char *file = xasprintf("%s/%s", path, files[i]);
        struct stat st;
        made.size_bytes += stat(file, &st) == 0 ? (int64_t)st.st_blocks * 512 : 0;
    }
    LIST_TAKE(vm->savings, s);
    close_fd_p(&s->disk); /* both are written by others */
    close_fd_p(&s->ram);
    timer_free(s->hurry);
    vm_image_file_done(&s->image);
    free(s);
    if (!vm->is_ending)
        fn(arg, err ? NULL : &made, err ? &why : NULL);
}

static void on_receiver_gone(void *arg, const struct err *err)
{
    struct vm_saving *s = arg;
    s->is_busy = false;
    saving_finish(s, err);
}

static void saving_on_saved(void *arg, const struct err *err)
{
    struct vm_saving *s = arg;
    if (err) {
        saving_finish(s, err);
        return;
    }
    struct vm_instance *m = s->receiver;
    s->receiver = NULL;
    s->is_busy = true;
    vm_instance_kill(m, on_receiver_gone, s);
}

static void saving_on_copied(void *arg, int fd, const struct err *err)
{
    struct vm_saving *s = arg;
    struct err why = ERR_INIT;
    s->is_busy = false;
    s->is_sent = true;
    if (fd >= 0)
        (void)close(fd); /* the receiver already has the file open */
    if (!err && (!s->source || s->vm->is_ending))
        (void)err_set(&why, ERR_NOT_FOUND, 0, "the sandbox was removed while it was saved");
    release_source(s);
    CLEANUP(free_p) char *path = xasprintf("%s/state", s->image.folder);
    CLEANUP(close_fd_p) int state = err || why.code ? NO_FD : vm_image_file_make(path, 0, &why);
    if (state < 0)
        saving_finish(s, err ? err : &why);
    else
        s->vm->site.vmm->save(vm_instance_control(s->receiver), state, false, saving_on_saved, s);
}

/* Both VMs are done, or one of them failed. */
static void part_done(struct vm_saving *s, unsigned part, const struct err *err)
{
    if (err && !s->err.code)
        s->err = *err;
    s->pending &= ~part;
    if (s->pending)
        return;
    s->hurry = timer_free(s->hurry);
    s->is_source_paused = s->source && !s->source->is_paused;
    if (s->err.code) {
        struct err why = s->err;
        saving_finish(s, &why);
        return;
    }
    CLEANUP(free_p) char *from = xasprintf("%s/boxes/%s/disk", s->vm->site.dir, s->source->name);
    CLEANUP(free_p) char *to = xasprintf("%s/disk", s->image.folder);
    s->is_busy = true;
    vm_image_file_copy(s->vm, from, to, saving_on_copied, s);
}

static void saving_on_loaded(void *arg, const struct err *err)
{
    part_done(arg, PART_LOAD, err);
}

static void saving_on_sent(void *arg, const struct err *err)
{
    part_done(arg, PART_SEND, err);
}

static void saving_on_hurried(void *arg, const struct err *err)
{
    (void)arg;
    (void)err; /* the transfer continues, or reports why not */
}

/* The guest writes faster than its memory is sent: pause it, so that the transfer ends. */
static void saving_on_late(void *arg)
{
    struct vm_saving *s = arg;
    vm_instance_pause(s->source->instance, saving_on_hurried, NULL);
}

static void saving_transfer(struct vm_saving *s)
{
    struct err why = ERR_INIT;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        (void)err_sys(&why, -errno, "save a VM");
        saving_finish(s, &why);
        return;
    }
    s->pending = PART_LOAD | PART_SEND;
    s->hurry = timer_new(s->vm->base.loop, HURRY_MS, 0, saving_on_late, s);
    s->vm->site.vmm->load(vm_instance_control(s->receiver), ends[0], true, saving_on_loaded, s);
    s->vm->site.vmm->save(vm_instance_control(s->source->instance), ends[1], true, saving_on_sent, s);
    (void)close(ends[0]); /* both were passed on */
    (void)close(ends[1]);
}

static void saving_on_paused(void *arg, const struct err *err)
{
    struct vm_saving *s = arg;
    s->is_source_paused = !err && !s->source->is_paused;
    if (err)
        saving_finish(s, err);
    else
        saving_transfer(s);
}

static void on_receiver(void *arg, const struct err *err)
{
    struct vm_saving *s = arg;
    struct err why = ERR_INIT;
    s->is_busy = false;
    if (err)
        s->receiver = NULL;
    bool is_gone = !s->source || s->vm->is_ending;
    if (is_gone)
        (void)err_set(&why, ERR_NOT_FOUND, 0, "the sandbox was removed while it was saved");
    if (err || is_gone)
        saving_finish(s, err ? err : &why);
    else if (s->vm->site.vmm->can_save_live && s->source->is_kvm)
        saving_transfer(s);
    else
        vm_instance_pause(s->source->instance, saving_on_paused, s);
}

/* --- without a receiver --- */

static void on_apart_copied(void *arg, int fd, const struct err *err)
{
    struct vm_saving *s = arg;
    struct err gone = ERR_INIT;
    s->is_busy = false;
    s->is_sent = true;
    if (fd >= 0)
        (void)close(fd); /* complete */
    if (!err && (!s->source || s->vm->is_ending)) {
        (void)err_set(&gone, ERR_NOT_FOUND, 0, "the sandbox was removed while it was saved");
        err = &gone;
    }
    saving_finish(s, err);
}

static void on_apart_saved(void *arg, const struct err *err)
{
    struct vm_saving *s = arg;
    if (err) {
        saving_finish(s, err);
        return;
    }
    CLEANUP(free_p) char *from = xasprintf("%s/boxes/%s/disk", s->vm->site.dir, s->source->name);
    CLEANUP(free_p) char *to = xasprintf("%s/disk", s->image.folder);
    s->is_busy = true;
    vm_image_file_copy(s->vm, from, to, on_apart_copied, s);
}

static void on_apart_paused(void *arg, const struct err *err)
{
    struct vm_saving *s = arg;
    struct err why = ERR_INIT;
    s->is_source_paused = !err && !s->source->is_paused;
    CLEANUP(free_p) char *path = xasprintf("%s/state", s->image.folder);
    CLEANUP(close_fd_p) int state = err ? NO_FD : vm_image_file_make(path, 0, &why);
    if (state < 0)
        saving_finish(s, err ? err : &why);
    else
        s->vm->site.vmm->save_apart(vm_instance_control(s->source->instance), state, s->ram, on_apart_saved, s);
}

static int saving_prepare(struct vm_saving *s, struct err *err)
{
    s->image.folder = xasprintf("%s/snaps/%s.new", s->vm->site.dir, s->name);
    CLEANUP(free_p) char *disk = xasprintf("%s/disk", s->image.folder);
    CLEANUP(free_p) char *ram = xasprintf("%s/ram", s->image.folder);
    if (mkdir(s->image.folder, 0700) < 0)
        return err_sys(err, -errno, "make %s", s->image.folder);
    CLEANUP(free_p) char *from = xasprintf("%s/boxes/%s/disk", s->vm->site.dir, s->source->name);
    struct stat st;
    if (stat(from, &st) < 0)
        return err_sys(err, -errno, "look at %s", from);
    s->disk = vm_image_file_make(disk, (uint64_t)st.st_size, err);
    s->ram = s->disk < 0 ? NO_FD : vm_image_file_make(ram, (uint64_t)s->image.memory_mb << 20, err);
    return s->ram < 0 ? -EIO : 0;
}

bool vm_snapshot_is_saving(const struct box *box)
{
    for (const struct vm_saving *s = box->vm->savings; s; s = s->next)
        if (s->source == box && !s->is_sent)
            return true;
    return false;
}

struct refusal {
    box_image_fn *fn;
    void *arg;
    struct err err;
};

static void tell_refusal(void *arg)
{
    CLEANUP(free_p) struct refusal *r = arg;
    r->fn(r->arg, NULL, &r->err);
}

static void snap_commit(struct box *box, const char *owner, box_image_fn *fn, void *arg)
{
    struct vm *vm = box->vm;
    if (vm_volume_has_any(box)) { /* a restored VM would lack the drives that were plugged in at run time */
        struct refusal *r = xzalloc(sizeof(*r));
        *r = (struct refusal){ .fn = fn, .arg = arg };
        (void)err_set(&r->err, ERR_CONFLICT, 0,
                      "sandbox %s has volumes attached, which cannot be saved: detach them first", box->id);
        loop_defer(vm->base.loop, tell_refusal, r);
        return;
    }
    struct vm_saving *s = xzalloc(sizeof(*s));
    struct err err = ERR_INIT;
    char name[VM_TOOL_WIRE_NAME_MAX];
    *s = (struct vm_saving){
        .next = vm->savings, .vm = vm, .source = box, .disk = NO_FD, .ram = NO_FD, .fn = fn, .arg = arg
    };
    s->image = (struct vm_image){ .memory_mb = box->memory_mb, .cpus = box->cpus, .disk_mb = box->disk_mb };
    memcpy(s->image.base, box->base, sizeof(s->image.base));
    vm_compat_note(vm, box->is_kvm, &s->image);
    vm->savings = s;
    vm_instance_new_name(s->name);
    vm_instance_new_name(name);
    (void)snprintf(s->owner, sizeof(s->owner), "%s", owner);
    if (saving_prepare(s, &err) < 0) {
        saving_finish(s, &err);
        return;
    }
    if (vm->site.vmm->save_apart) {
        vm_instance_pause(box->instance, on_apart_paused, s);
        return;
    }
    CLEANUP(free_p) char *base = vm_source_base_path(vm, box->base);
    struct vm_instance_plan plan = { .name = name,
                                     .memory_mb = box->memory_mb,
                                     .cpus = box->cpus,
                                     .is_kvm = box->is_kvm,
                                     .flags = VM_TOOL_WIRE_INCOMING | VM_TOOL_WIRE_SHARED_RAM,
                                     .base = base,
                                     .ram_fd = s->ram,
                                     .disk_fd = s->disk };
    s->is_busy = true;
    s->receiver = vm_instance_start(&vm->site, &plan, on_receiver, s);
}

/* The answers of its VM and of the receiver never come. */
void vm_snapshot_forget_box(struct box *box)
{
    struct err gone = ERR_INIT;
    struct vm_saving *next;
    (void)err_set(&gone, ERR_NOT_FOUND, 0, "the sandbox was removed while it was saved");
    for (struct vm_saving *s = box->vm->savings; s; s = next) {
        next = s->next;
        if (s->source != box)
            continue;
        s->source = NULL;
        s->is_source_paused = false;
        if (s->is_sent)
            continue;
        if (s->pending) {
            vm_instance_kill(s->receiver, NULL, NULL);
            s->receiver = NULL;
            part_done(s, PART_LOAD | PART_SEND, &gone);
        } else if (!s->is_busy) {
            saving_finish(s, &gone);
        }
    }
}

void vm_snapshot_end_all(struct vm *vm)
{
    struct err over = { .sys = ECANCELED };
    struct vm_saving *next;
    for (struct vm_saving *s = vm->savings; s; s = next) {
        next = s->next;
        if (!s->is_busy)
            saving_finish(s, &over);
    }
}

/* --- pins --- */

static void snap_pin(struct runtime *rt, const char *id, const char *owner)
{
    struct vm *vm = vm_of(rt);
    (void)json_object_set_new(vm->pins, owner, json_string(id));
    vm->is_collect_due = true; /* the owner's former snapshot may be unused now */
}

static void snap_unpin(struct runtime *rt, const char *owner)
{
    struct vm *vm = vm_of(rt);
    if (json_object_del(vm->pins, owner) == 0)
        vm->is_collect_due = true;
}

static bool is_pinned(const struct vm *vm, const char *name)
{
    const char *owner;
    json_t *id;
    json_object_foreach(vm->pins, owner, id)
    {
        const char *colon = strchr(json_string_value(id), ':');
        if (colon && strcmp(colon + 1, name) == 0)
            return true;
    }
    return false;
}

void vm_snapshot_collect(struct vm *vm)
{
    CLEANUP(free_p) char *dir = xasprintf("%s/snaps", vm->site.dir);
    DIR *d = opendir(dir);
    vm->is_collect_due = false;
    for (struct dirent *e; d && (e = readdir(d));) {
        const struct vm_saving *s = vm->savings; /* being made under that name */
        while (s && strncmp(s->name, e->d_name, strlen(s->name)) != 0)
            s = s->next;
        if (*e->d_name == '.' || s || is_pinned(vm, e->d_name))
            continue;
        CLEANUP(free_p) char *path = image_path(vm, e->d_name);
        vm_image_file_remove_later(vm, path);
    }
    if (d)
        (void)closedir(d);
}

const struct runtime_saves vm_snapshot_ops = { .commit = snap_commit, .pin = snap_pin, .unpin = snap_unpin };
