/* Theory of operation. A volume is an ext4 file system in a file, and a drive of the VM it is mounted in. Mount: lock
 * the file, hot-plug the drive, send a note to the VM's init process to mount it. Unmount is the reverse.
 *
 * The lock belongs to the open file description, which is passed to the VMM: it needs no record and ends with the VM,
 * however that ends. One writer, or any number of readers.
 *
 * A `struct vm_volume_op` is a mount or unmount under way. The box owns it; it calls its caller once and frees
 * itself. A mount whose note fails unplugs the drive again. A VM that has writable volumes is told to flush before
 * it is killed, and one whose drive is kept writes that as well; one that does not answer loses what it had not
 * written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "vm/vm_core.h"

#define NOTE_FIRST_MS 20000
#define NOTE_MS       30000
#define FLUSH_MS      5000
#define FLUSH_ALL_MS  20000 /* of a VM whose drive is kept */
#define LOCK_STEP_MS  50
#define LOCK_MS       20000 /* until the VM that is being killed releases it */

/* A volume mounted in the box. */
struct vm_volume {
    struct vm_volume *next;
    char id[IDENT_MAX];
    char *target;
    bool is_readonly;
};

/* A mount or unmount under way. */
struct vm_volume_op {
    struct vm_volume_op *next;
    struct vm *vm;
    struct box *box; /* NULL: the box was destroyed while the tool was at work */
    bool is_mount, is_readonly, is_in_tool;
    uint32_t size_mb; /* of a new one */
    char id[IDENT_MAX];
    char *target;
    int fd;
    int64_t ends_ms;
    struct timer *timer; /* to report err, or to retry the lock */
    struct vm_channel *channel;
    struct err err;
    box_done_fn *fn;
    void *arg;
};

static void open_file(struct vm_volume_op *op);
static void try_lock(struct vm_volume_op *op);

static char *folder_of(const struct vm *vm, const char *id)
{
    return xasprintf("%s/volumes/%s", vm->site.dir, id);
}

bool vm_volume_has_any(const struct box *box)
{
    return box->volumes || box->volume_ops;
}

static void volume_free(struct vm_volume *v)
{
    free(v->target);
    free(v);
}

static void drop_volume(struct box *box, const char *id)
{
    for (struct vm_volume **at = &box->volumes; *at; at = &(*at)->next)
        if (strcmp((*at)->id, id) == 0) {
            struct vm_volume *v = *at;
            *at = v->next;
            volume_free(v);
            return;
        }
}

static void op_free(struct vm_volume_op *op)
{
    for (struct vm_volume_op **at = op->box ? &op->box->volume_ops : NULL; at && *at; at = &(*at)->next)
        if (*at == op) {
            *at = op->next;
            break;
        }
    vm_channel_cancel(op->channel);
    timer_free(op->timer);
    if (op->fd >= 0)
        (void)close(op->fd); /* the VMM has its own copy */
    free(op->target);
    free(op);
}

static void op_finish(struct vm_volume_op *op, const struct err *err)
{
    struct err why = err ? *err : (struct err)ERR_INIT;
    box_done_fn *fn = op->vm->is_ending ? NULL : op->fn;
    void *arg = op->arg;
    op_free(op);
    if (fn)
        fn(arg, err ? &why : NULL);
}

static void op_on_timer(void *arg)
{
    struct vm_volume_op *op = arg;
    struct err why = op->err;
    if (why.code)
        op_finish(op, &why);
    else
        try_lock(op);
}

/* --- the note --- */

/* Translates the init process's error about the mount point into the text that other drivers use. */
static void place_error(struct vm_volume_op *op, const struct err *err)
{
    int why = err->sys;
    op->err = *err;
    if (op->is_mount && op->is_readonly && why == EROFS)
        (void)err_set(&op->err, ERR_CONFLICT, 0,
                      "volume %s was written to by a VM that did not unmount it; its journal is replayed by an "
                      "attach for writing only: attach it once without readOnly, detach it, then attach it read-only",
                      op->id);
    else if (op->is_mount && (why == ELOOP || why == EXDEV || why == ENOTDIR || why == ENOENT || why == ENAMETOOLONG))
        (void)runtime_place_error(-why, op->target, &op->err);
}

static void on_taken_back(void *arg, const struct err *err)
{
    struct vm_volume_op *op = arg;
    struct err why = op->err;
    (void)err; /* the first error counts */
    op_finish(op, &why);
}

static void op_on_unplugged(void *arg, const struct err *err)
{
    struct vm_volume_op *op = arg;
    if (!err)
        drop_volume(op->box, op->id);
    op_finish(op, err);
}

static void op_on_note(void *arg, int fd, const struct err *err)
{
    struct vm_volume_op *op = arg;
    const struct vmm_ops *vmm = op->vm->site.vmm;
    struct vmm *control = vm_instance_control(op->box->instance);
    op->channel = NULL;
    if (fd >= 0)
        (void)close(fd); /* nothing follows the reply */
    if (err)
        place_error(op, err);
    if (op->is_mount && err) {
        vmm->unplug(control, op->id, on_taken_back, op);
    } else if (op->is_mount) {
        struct vm_volume *v = xzalloc(sizeof(*v));
        drop_volume(op->box, op->id); /* replaces one that was mounted twice */
        *v =
            (struct vm_volume){ .next = op->box->volumes, .target = STEAL(op->target), .is_readonly = op->is_readonly };
        memcpy(v->id, op->id, sizeof(v->id));
        op->box->volumes = v;
        op_finish(op, NULL);
    } else if (err) {
        op_finish(op, err);
    } else {
        vmm->unplug(control, op->id, op_on_unplugged, op);
    }
}

static void op_send_note(struct vm_volume_op *op)
{
    struct vm_channel_options opt = { .first_ms = NOTE_FIRST_MS, .deadline_ms = NOTE_MS };
    opt.handshake.what = op->is_mount ? VM_HANDSHAKE_MOUNT : VM_HANDSHAKE_UNMOUNT;
    opt.handshake.flags = op->is_mount && op->is_readonly ? VM_HANDSHAKE_READONLY : 0;
    memcpy(opt.handshake.token, op->box->token, sizeof(opt.handshake.token));
    (void)snprintf(opt.handshake.hostname, sizeof(opt.handshake.hostname), "%s", op->id);
    (void)snprintf(opt.handshake.workdir, sizeof(opt.handshake.workdir), "%s", op->target);
    op->channel = vm_instance_note(op->box->instance, &opt, op_on_note, op);
}

/* --- the drive --- */

static void op_on_plugged(void *arg, const struct err *err)
{
    struct vm_volume_op *op = arg;
    if (err)
        op_finish(op, err);
    else
        op_send_note(op);
}

static const struct box *holder_of(const struct vm_volume_op *op)
{
    for (const struct box *b = op->vm->boxes; b; b = b->next)
        for (const struct vm_volume *v = b->volumes; b != op->box && v; v = v->next)
            if (strcmp(v->id, op->id) == 0)
                return b;
    return NULL;
}

static void try_lock(struct vm_volume_op *op)
{
    struct vm *vm = op->vm;
    struct vmm_drive drive = { .id = op->id, .fd = op->fd, .is_readonly = op->is_readonly };
    if (flock(op->fd, (op->is_readonly ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) {
        vm->site.vmm->plug(vm_instance_control(op->box->instance), &drive, op_on_plugged, op);
        return;
    }
    const struct box *other = errno == EWOULDBLOCK ? holder_of(op) : NULL;
    if (errno != EWOULDBLOCK)
        (void)err_sys(&op->err, -errno, "lock volume %s", op->id);
    else if (other)
        (void)err_set(&op->err, ERR_CONFLICT, 0, "volume %s is used by the VM of sandbox %s: detach it there", op->id,
                      other->id);
    else if (loop_now_ms(vm->base.loop) >= op->ends_ms)
        (void)err_set(&op->err, ERR_CONFLICT, 0, "volume %s is still used by a VM that has not exited in %d s", op->id,
                      LOCK_MS / 1000);
    timer_set(op->timer, op->err.code ? 0 : LOCK_STEP_MS, 0);
}

/* --- the file --- */

static void volume_on_made(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    struct vm_volume_op *op = arg;
    struct err why = ERR_INIT;
    (void)reply;
    (void)fds;
    op->is_in_tool = false;
    CLEANUP(free_p) char *folder = folder_of(op->vm, op->id);
    CLEANUP(free_p) char *made = xasprintf("%s/new", folder);
    CLEANUP(free_p) char *disk = xasprintf("%s/disk", folder);
    if (!err && rename(made, disk) < 0)
        (void)err_sys(&why, -errno, "keep %s", disk);
    if (!op->box)
        op_free(op);
    else if (err || why.code)
        op_finish(op, err ? err : &why);
    else
        open_file(op);
}

static void make_file(struct vm_volume_op *op)
{
    struct vm_tool_wire_request q = {
        .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_DISK, .flags = VM_TOOL_WIRE_VOLUME, .disk_mb = op->size_mb
    };
    CLEANUP(free_p) char *folder = folder_of(op->vm, op->id);
    CLEANUP(free_p) char *path = xasprintf("%s/new", folder);
    (void)unlink(path); /* left by a server that was killed */
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        (void)err_sys(&op->err, -errno, "make %s", folder);
    CLEANUP(close_fd_p) int fd = op->err.code ? NO_FD : vm_image_file_make(path, 0, &op->err);
    if (fd < 0) {
        timer_set(op->timer, 0, 0);
        return;
    }
    op->is_in_tool = true;
    vm_tool_call_start(&op->vm->site.calls, &q, "", &fd, 1, volume_on_made, op);
}

static void open_file(struct vm_volume_op *op)
{
    CLEANUP(free_p) char *folder = folder_of(op->vm, op->id);
    CLEANUP(free_p) char *path = xasprintf("%s/disk", folder);
    op->fd = open(path, (op->is_readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW);
    if (op->fd >= 0) {
        try_lock(op);
    } else if (errno == ENOENT) {
        make_file(op);
    } else {
        (void)err_sys(&op->err, -errno, "open volume %s", op->id);
        timer_set(op->timer, 0, 0);
    }
}

/* --- mount and unmount --- */

/* Whether the VM has the drive: an earlier server may have plugged it in. */
static void op_on_looked(void *arg, const struct err *err)
{
    struct vm_volume_op *op = arg;
    bool is_missing = err && err->code == ERR_NOT_FOUND;
    if (err && !is_missing)
        op_finish(op, err);
    else if (op->is_mount && is_missing)
        open_file(op);
    else if (is_missing)
        op_finish(op, NULL);
    else
        op_send_note(op);
}

static struct vm_volume_op *op_new(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg)
{
    struct vm_volume_op *op = xzalloc(sizeof(*op));
    *op = (struct vm_volume_op){ .next = box->volume_ops,
                                 .vm = box->vm,
                                 .box = box,
                                 .is_readonly = v->is_readonly,
                                 .size_mb = v->size_mb,
                                 .target = xstrdup(v->target),
                                 .fd = NO_FD,
                                 .ends_ms = loop_now_ms(box->vm->base.loop) + LOCK_MS,
                                 .fn = fn,
                                 .arg = arg };
    (void)snprintf(op->id, sizeof(op->id), "%s", v->id);
    op->timer = timer_new(box->vm->base.loop, -1, 0, op_on_timer, op);
    box->volume_ops = op;
    return op;
}

static void op_start(struct vm_volume_op *op)
{
    struct box *box = op->box;
    const struct vmm_ops *vmm = op->vm->site.vmm;
    if (!vmm->plug)
        (void)runtime_cannot(&op->vm->base, "volume", "mount volumes", &op->err);
    else if (box->is_paused)
        (void)err_set(&op->err, ERR_CONFLICT, 0, "sandbox %s is paused: resume it first", box->id);
    else if (vm_snapshot_is_saving(box))
        (void)err_set(&op->err, ERR_CONFLICT, 0, "sandbox %s is being saved: try again when that is done", box->id);
    if (op->err.code)
        timer_set(op->timer, 0, 0);
    else
        vmm->has_drive(vm_instance_control(box->instance), op->id, op_on_looked, op);
}

void vm_volume_mount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg)
{
    struct vm_volume_op *op = op_new(box, v, fn, arg);
    op->is_mount = true;
    op_start(op);
}

void vm_volume_unmount(struct box *box, const struct box_volume *v, box_done_fn *fn, void *arg)
{
    op_start(op_new(box, v, fn, arg));
}

struct removing {
    struct vm *vm;
    struct err err;
    box_done_fn *fn;
    void *arg;
};

static void tell_removed(void *arg)
{
    CLEANUP(free_p) struct removing *r = arg;
    if (!r->vm->is_ending)
        r->fn(r->arg, r->err.code ? &r->err : NULL);
}

/* Renamed into the folder of boxes first: the next server sweeps what is there and belongs to no box. */
void vm_volume_remove(struct runtime *rt, const char *id, box_done_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    struct removing *r = xzalloc(sizeof(*r));
    char name[VM_TOOL_WIRE_NAME_MAX];
    vm_instance_new_name(name);
    CLEANUP(free_p) char *folder = folder_of(vm, id);
    CLEANUP(free_p) char *doomed = xasprintf("%s/boxes/%s", vm->site.dir, name);
    *r = (struct removing){ .vm = vm, .fn = fn, .arg = arg };
    if (rename(folder, doomed) == 0)
        vm_image_file_remove_later(vm, doomed);
    else if (errno != ENOENT) /* it was never used */
        (void)err_sys(&r->err, -errno, "remove volume %s", id);
    loop_defer(vm->base.loop, tell_removed, r);
}

struct measuring {
    struct vm *vm;
    int64_t bytes;
    box_bytes_fn *fn;
    void *arg;
};

static void tell_measured(void *arg)
{
    CLEANUP(free_p) struct measuring *m = arg;
    if (!m->vm->is_ending)
        m->fn(m->arg, m->bytes, NULL);
}

void vm_volume_measure(struct runtime *rt, const char *id, box_bytes_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    struct stat st;
    struct measuring *m = xzalloc(sizeof(*m));
    CLEANUP(free_p) char *folder = folder_of(vm, id);
    CLEANUP(free_p) char *path = xasprintf("%s/disk", folder);
    *m = (struct measuring){ .vm = vm, .fn = fn, .arg = arg };
    if (lstat(path, &st) == 0)
        m->bytes = (int64_t)st.st_blocks * 512;
    loop_defer(vm->base.loop, tell_measured, m);
}

/* --- flush before a kill --- */

void vm_volume_forget_box(struct box *box)
{
    struct err gone = ERR_INIT;
    (void)err_set(&gone, ERR_GONE, 0, "the VM of sandbox %s has exited", box->id);
    for (struct vm_volume_op *op; (op = box->volume_ops);) {
        box_done_fn *fn = op->vm->is_ending ? NULL : op->fn;
        void *arg = op->arg;
        if (op->is_in_tool) {
            box->volume_ops = op->next;
            op->box = NULL;
        } else {
            op_free(op);
        }
        if (fn)
            fn(arg, &gone);
    }
    while (box->volumes)
        drop_volume(box, box->volumes->id);
}

/* Flushes one volume after the other; the box is already gone for its callers. */
struct flushing {
    struct vm *vm;
    struct vm_instance *instance;
    uint8_t token[16];
    struct vm_volume *volumes;
    int64_t ends_ms;
    vm_volume_flushed_fn *fn;
    void *arg;
};

static void flush_next(struct flushing *f);

static void on_flushed(void *arg, int fd, const struct err *err)
{
    struct flushing *f = arg;
    struct vm_volume *v = f->volumes;
    (void)err; /* a guest that does not answer loses what it had not written */
    if (fd >= 0)
        (void)close(fd); /* nothing follows the reply */
    f->volumes = v->next;
    volume_free(v);
    flush_next(f);
}

static void flush_next(struct flushing *f)
{
    int64_t left = f->ends_ms - loop_now_ms(f->vm->base.loop);
    while (f->volumes && (f->volumes->is_readonly || left <= 0)) {
        struct vm_volume *v = f->volumes;
        f->volumes = v->next;
        volume_free(v);
    }
    if (!f->volumes) {
        f->vm->n_flushings--;
        f->fn(f->arg);
        free(f);
        return;
    }
    struct vm_channel_options opt = { .first_ms = left, .deadline_ms = left };
    opt.handshake.what = VM_HANDSHAKE_FREEZE;
    memcpy(opt.handshake.token, f->token, sizeof(f->token));
    (void)snprintf(opt.handshake.hostname, sizeof(opt.handshake.hostname), "%s", f->volumes->id);
    (void)snprintf(opt.handshake.workdir, sizeof(opt.handshake.workdir), "%s", f->volumes->target);
    (void)vm_instance_note(f->instance, &opt, on_flushed, f);
}

static void flushing_on_awake(void *arg, const struct err *err)
{
    (void)arg;
    (void)err; /* on an error no note is accepted either */
}

bool vm_volume_flush(struct box *box, bool is_kept, vm_volume_flushed_fn *fn, void *arg)
{
    bool has_writes = is_kept;
    for (const struct vm_volume *v = box->volumes; v; v = v->next)
        has_writes |= !v->is_readonly;
    if (!has_writes || box->is_dead || !box->instance)
        return false;
    struct flushing *f = xzalloc(sizeof(*f));
    *f = (struct flushing){ .vm = box->vm,
                            .instance = box->instance,
                            .volumes = STEAL(box->volumes),
                            .ends_ms = loop_now_ms(box->vm->base.loop) + (is_kept ? FLUSH_ALL_MS : FLUSH_MS),
                            .fn = fn,
                            .arg = arg };
    if (is_kept) {
        struct vm_volume *all = xzalloc(sizeof(*all));
        *all = (struct vm_volume){ .next = f->volumes, .id = VM_HANDSHAKE_ALL, .target = xstrdup("/") };
        f->volumes = all;
    }
    memcpy(f->token, box->token, sizeof(f->token));
    vm_instance_hush(box->instance);
    if (box->is_paused)
        vm_instance_resume(box->instance, flushing_on_awake, NULL);
    box->vm->n_flushings++;
    flush_next(f);
    return true;
}
