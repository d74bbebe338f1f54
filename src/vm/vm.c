/* Theory of operation. A box is one VM (instance.h). It is restored from a folder that holds a saved VM: a template
 * (source.c), or a snapshot of a running sandbox (snapshot.c). Its memory maps the folder's file copy-on-write; its
 * drive is a copy of the folder's. The VM stays paused until its agent has got its identity: name, clock, entropy,
 * token. So two VMs from one folder are never the same to anybody.
 *
 * Owners: struct vm owns the boxes and everything under way (makings, sources, savings). A `struct making` is a box
 * that is being created or adopted; it frees itself after it calls the caller once, with the box or with an error. A
 * making that fails kills its VM and removes its files, but for those of a box that exists already: that is halted.
 *
 * A halted box (halt.c) is started by booting a VM on its drive.
 *
 * A VM outlives the server. Its sockets are in vm/run, its drive is in vm/boxes, both under its random name; the
 * sandbox's record names the process. vm_sweep_run() kills every VM that no record names. */
#include "vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "runtime/traffic.h"
#include "vm/boot/base_image.h"
#include "vm/clock.h"
#include "vm/net/tap.h"
#include "vm/vm_core.h"

#define TICK_MS 1000

/* A box that is being restored or adopted. */
struct making {
    struct making *next;
    struct box *box;
    struct vm_image image;
    struct box_plan plan; /* only its numbers and inline names; borrowed pointers are not kept */
    char *workdir;
    struct vm_channel *channel;
    int disk;
    bool is_adoption, was_paused;
    bool is_kept;                /* it was halted */
    bool is_waking, is_answered; /* the VMM was told to resume it; its agent has replied */
    bool is_busy;                /* a call under way has us as its argument: do not free */
    struct box_life_caller to;
};

struct pausing {
    struct pausing *next;
    struct box *box;
    bool is_pause;
    box_done_fn *fn;
    void *arg;
};

bool vm_is_backend(const char *name)
{
    uint32_t number;
    return vmm_by_name(name, &number) != NULL;
}

static struct box *box_new(struct vm *vm, const char *id)
{
    struct box *box = xzalloc(sizeof(*box));
    box->vm = vm;
    (void)snprintf(box->id, sizeof(box->id), "%s", id);
    box->next = vm->boxes;
    vm->boxes = box;
    return box;
}

static void box_free(struct box *box)
{
    struct err gone = ERR_INIT;
    (void)err_set(&gone, ERR_NOT_FOUND, 0, "the VM of sandbox %s has ended", box->id);
    LIST_TAKE(box->vm->boxes, box);
    for (struct pausing *p; (p = box->pausings);) { /* the VMM that would have answered is gone */
        box->pausings = p->next;
        if (p->fn && !box->vm->is_ending)
            p->fn(p->arg, &gone);
        free(p);
    }
    free(box);
}

/* --- the end of a box --- */

struct ending {
    struct vm *vm;
    struct vm_instance *instance;
    char *folder;
    char name[VM_TOOL_WIRE_NAME_MAX];
    bool is_stale; /* nothing new is made from its drive */
    bool is_kept;  /* its drive stays */
    bool is_own;   /* fn belongs to the driver: it is called when the server ends, too */
    box_done_fn *fn;
    void *arg;
};

static void box_on_ended(void *arg, const struct err *err)
{
    struct ending *e = arg;
    if (!err && e->is_kept)
        vm_halt_ended(e->vm, e->name);
    else if (!err)
        vm_image_file_remove_later(e->vm, e->folder);
    if (e->is_stale && !e->is_kept && !e->vm->is_ending)
        vm_prune_run(e->vm);
    if (e->fn && (e->is_own || !e->vm->is_ending))
        e->fn(e->arg, err);
    free(e->folder);
    free(e);
}

static void kill_instance(void *arg)
{
    struct ending *e = arg;
    if (e->instance)
        vm_instance_kill(e->instance, box_on_ended, e);
    else
        box_on_ended(e, NULL);
}

static void box_end(struct box *box, bool is_kept, bool is_own, box_done_fn *fn, void *arg)
{
    struct ending *e = xzalloc(sizeof(*e));
    vm_snapshot_forget_box(box);
    *e = (struct ending){ .vm = box->vm,
                          .instance = box->instance,
                          .folder = vm_image_file_box_folder(box->vm, box->name),
                          .is_stale = *box->vm->usr && vm_base_image_is_stale(box->base, box->vm->usr),
                          .is_kept = is_kept,
                          .is_own = is_own,
                          .fn = fn,
                          .arg = arg };
    memcpy(e->name, box->name, sizeof(e->name));
    if (is_kept)
        vm_halt_note(box->vm, box->name, box->base);
    bool is_flushing = vm_volume_flush(box, is_kept && !is_own, kill_instance, e); /* ours has not run */
    vm_volume_forget_box(box);
    vm_net_forget_box(box);
    if (!is_flushing)
        kill_instance(e);
    box_free(box);
}

static void vm_destroy(struct box *box, box_done_fn *fn, void *arg)
{
    box_end(box, false, false, fn, arg);
}

static void vm_halt(struct box *box, box_done_fn *fn, void *arg)
{
    box_end(box, true, false, fn, arg);
}

static void vm_forget(struct box *box)
{
    vm_snapshot_forget_box(box);
    vm_volume_forget_box(box);
    vm_net_forget_box(box);
    if (box->instance)
        vm_instance_forget(box->instance);
    box_free(box);
}

static void on_instance_gone(void *arg)
{
    struct box *box = arg;
    box->is_dead = true;
    box_life_gone(box);
}

static void on_instance_late(void *arg)
{
    const struct box *box = arg;
    if (!box->is_paused)
        box_life_late(box);
}

/* --- a box on its way --- */

static void making_free(struct making *m)
{
    LIST_TAKE(m->box->vm->makings, m);
    vm_channel_cancel(m->channel);
    if (m->disk >= 0)
        (void)close(m->disk); /* the VM has its own copy */
    vm_image_file_done(&m->image);
    free(m->workdir);
    free(m);
}

bool vm_is_restoring_from(const struct vm *vm, const char *folder)
{
    const struct making *m = vm->makings;
    while (m && !(m->image.folder && strcmp(m->image.folder, folder) == 0))
        m = m->next;
    return m;
}

/* A start of a halted box, or an adoption, that failed: the files stay. */
struct refusal {
    struct vm *vm;
    struct box_life_caller to;
    struct err why;
};

static void on_halted_again(void *arg, const struct err *err)
{
    CLEANUP(free_p) struct refusal *r = arg;
    (void)err; /* the next start kills what still runs */
    box_life_fail(&r->to, r->vm->is_ending ? NULL : &r->why);
}

static void making_fail(struct making *m, const struct err *err)
{
    struct err why = *err;
    struct box_life_caller to = m->to;
    struct box *box = m->box;
    bool is_ending = box->vm->is_ending;
    bool is_left = m->is_adoption && is_ending; /* to the next server */
    bool is_kept = m->is_kept || (m->is_adoption && box->vm->base.ops->halt);
    making_free(m);
    if (is_left) {
        vm_forget(box);
        box_life_fail(&to, NULL);
        return;
    }
    if (is_kept) {
        struct refusal *r = xzalloc(sizeof(*r));
        *r = (struct refusal){ .vm = box->vm, .to = to, .why = why };
        box_end(box, true, true, on_halted_again, r);
        return;
    }
    vm_destroy(box, NULL, NULL);
    box_life_fail(&to, is_ending ? NULL : &why);
}

static void fail_with_console(struct making *m, const struct err *err)
{
    struct err why = *err;
    CLEANUP(free_p) char *text = vm_instance_console_text(m->box->instance);
    if (*text) {
        size_t len = strlen(text);
        (void)err_wrap(&why, 0, "console: %s", len > 200 ? text + len - 200 : text);
    }
    making_fail(m, &why);
}

/* The VM exited: no reply will come. */
static void on_making_gone(void *arg)
{
    struct making *m = arg;
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_UPSTREAM, 0, "the VM has ended");
    fail_with_console(m, &err);
}

static void making_succeed(struct making *m)
{
    struct box *box = m->box;
    struct box_life_caller to = m->to;
    making_free(m);
    (void)json_object_del(box->vm->halted, box->name);
    vm_instance_on_gone(box->instance, on_instance_gone, box);
    vm_instance_on_late(box->instance, on_instance_late, box);
    to.fn(to.arg, box, to.guest_fd, NULL);
}

static void on_paused_again(void *arg, const struct err *err)
{
    struct making *m = arg;
    if (err)
        making_fail(m, err);
    else
        making_succeed(m);
}

static void on_both(struct making *m)
{
    if (m->was_paused)
        vm_instance_pause(m->box->instance, on_paused_again, m);
    else
        making_succeed(m);
}

/* A guest may answer before its VMM reports that it runs: whichever comes second continues. */
static void making_on_agent(void *arg, int fd, const struct err *err)
{
    struct making *m = arg;
    m->channel = NULL;
    m->to.guest_fd = fd;
    m->is_answered = true;
    if (err)
        fail_with_console(m, err);
    else if (!m->is_waking)
        on_both(m);
}

static void making_handshake(struct making *m)
{
    struct box *box = m->box;
    struct vm_channel_options opt = { .first_ms = VM_FIRST_REPLY_MS, .deadline_ms = VM_RESTORE_MS };
    if (!m->image.folder && !m->is_adoption)
        opt.first_ms = opt.deadline_ms = VM_BOOT_MS; /* its reply comes when it has booted */
    struct vm_handshake *h = &opt.handshake;
    h->what = m->is_adoption ? VM_HANDSHAKE_REJOIN : VM_HANDSHAKE_ENTER;
    memcpy(h->token, box->token, sizeof(h->token));
    h->nofile = m->plan.nofile ? m->plan.nofile : LIMIT_DEFAULT(OPEN_FILES);
    h->shm_mb = m->plan.shm_mb ? m->plan.shm_mb : LIMIT_DEFAULT(SHM_MB);
    h->pids_max = box->pids_max;
    vm_net_handshake(box, m->plan.has_network, h);
    (void)snprintf(h->hostname, sizeof(h->hostname), "%s", *m->plan.hostname ? m->plan.hostname : box->id);
    (void)snprintf(h->workdir, sizeof(h->workdir), "%s", m->workdir ? m->workdir : "/");
    m->channel = vm_instance_handshake(box->instance, &opt, making_on_agent, m);
}

static void on_resumed(void *arg, const struct err *err)
{
    struct making *m = arg;
    m->is_waking = false;
    if (err)
        fail_with_console(m, err);
    else if (m->is_answered)
        on_both(m);
    else if (!m->channel)
        making_handshake(m);
}

static void making_on_loaded(void *arg, const struct err *err)
{
    struct making *m = arg;
    struct box *box = m->box;
    if (err)
        fail_with_console(m, err);
    else
        vm_instance_resume(box->instance, on_resumed, m);
}

static void on_instance(void *arg, const struct err *err)
{
    struct making *m = arg;
    struct box *box = m->box;
    struct err why = ERR_INIT;
    m->is_busy = false;
    if (err)
        box->instance = NULL;
    bool is_restored = m->image.folder != NULL;
    CLEANUP(close_fd_p) int state = err || !is_restored ? NO_FD : vm_image_file_open(m->image.folder, "state", &why);
    if (box->vm->is_ending)
        (void)err_set(&why, ERR_CAPACITY, 0, "the server ends");
    if (err || why.code) {
        making_fail(m, err ? err : &why);
        return;
    }
    vm_instance_on_gone(box->instance, on_making_gone, m);
    m->is_waking = m->is_adoption || is_restored;
    if (m->is_adoption) {
        vm_instance_resume(box->instance, on_resumed, m);
        return;
    }
    making_handshake(
        m); /* before it runs: it was saved with a host connected to its stream, and must find one when it resumes */
    if (is_restored)
        box->vm->site.vmm->load(vm_instance_control(box->instance), state, false, making_on_loaded, m);
}

static void on_drive(void *arg, int fd, const struct err *err)
{
    struct making *m = arg;
    struct box *box = m->box;
    struct err why = ERR_INIT;
    m->is_busy = false;
    m->disk = fd;
    if (box->vm->is_ending)
        (void)err_set(&why, ERR_CAPACITY, 0, "the server ends");
    /* A restored VM maps the folder's memory copy-on-write, a booted one has a file of its own. */
    CLEANUP(free_p) char *path = xasprintf("%s/boxes/%s/ram", box->vm->site.dir, box->name);
    CLEANUP(close_fd_p)
    int ram = err || why.code   ? NO_FD
              : m->image.folder ? vm_image_file_open(m->image.folder, "ram", &why)
                                : vm_image_file_make(path, (uint64_t)box->memory_mb << 20, &why);
    if (err || why.code) {
        making_fail(m, err ? err : &why);
        return;
    }
    CLEANUP(free_p) char *base = vm_source_base_path(box->vm, box->base);
    struct vm_instance_plan plan = { .name = box->name,
                                     .memory_mb = box->memory_mb,
                                     .cpus = box->cpus,
                                     .cpu_milli = box->cpu_milli,
                                     .is_kvm = box->is_kvm,
                                     .flags = m->image.folder ? VM_TOOL_WIRE_INCOMING : VM_TOOL_WIRE_SHARED_RAM,
                                     .base = base,
                                     .ram_fd = ram,
                                     .disk_fd = fd };
    m->is_busy = true;
    box->instance = vm_instance_start(&box->vm->site, &plan, on_instance, m);
}

static void on_image(void *arg, const struct vm_image *image, const struct err *err)
{
    struct making *m = arg;
    struct box *box = m->box;
    struct err why = ERR_INIT;
    m->is_busy = false;
    CLEANUP(free_p) char *folder = vm_image_file_box_folder(box->vm, box->name);
    if (!err && !m->is_kept && mkdir(folder, 0700) < 0)
        (void)err_sys(&why, -errno, "make %s", folder);
    if (err || why.code) {
        making_fail(m, err ? err : &why);
        return;
    }
    m->image = *image;
    m->image.folder = xstrdup(image->folder); /* NULL stays NULL */
    memcpy(box->base, image->base, sizeof(box->base));
    box->memory_mb = image->memory_mb;
    box->cpus = image->cpus;
    box->disk_mb = image->disk_mb;
    box->is_kvm = image->folder ? image->is_kvm : box->vm->site.is_kvm;
    if (m->is_kept) {
        int disk = vm_image_file_open(folder, "disk", &why);
        on_drive(m, disk, disk < 0 ? &why : NULL);
        return;
    }
    CLEANUP(free_p)
    char *from =
        image->folder ? xasprintf("%s/disk", image->folder) : vm_source_empty_disk_path(box->vm, image->disk_mb);
    CLEANUP(free_p) char *to = xasprintf("%s/disk", folder);
    m->is_busy = true;
    vm_image_file_copy(box->vm, from, to, on_drive, m);
}

static struct making *making_new(struct box *box, box_ready_fn *fn, void *arg)
{
    struct making *m = xzalloc(sizeof(*m));
    *m = (struct making){ .next = box->vm->makings, .box = box, .disk = NO_FD, .to = BOX_LIFE_CALLER(fn, arg) };
    box->vm->makings = m;
    return m;
}

/* Restores from the snapshot box->image. */
static void making_restore(void *arg)
{
    struct making *m = arg;
    struct box *box = m->box;
    struct err err = ERR_INIT;
    struct vm_image image = { 0 };
    CLEANUP(free_p) char *folder = vm_snapshot_folder(box->vm, box->image);
    int r = folder ? vm_image_file_load(folder, &image, &err)
                   : err_set(&err, ERR_NOT_FOUND, 0, "image %.100s is not a saved VM", box->image);
    if (r == 0 && (r = vm_compat_check(box->vm, &image, &err)) < 0)
        (void)err_wrap(&err, r, "snapshot %s", box->image);
    if (r < 0)
        *box->image = '\0'; /* it was not restored from a snapshot */
    on_image(m, r < 0 ? NULL : &image, r < 0 ? &err : NULL);
    vm_image_file_done(&image);
}

static void on_cleared(void *arg, const struct err *err)
{
    struct making *m = arg;
    struct vm_image image = { .base = "" };
    vm_halt_ended(m->box->vm, m->box->name);
    vm_source_size(m->box->vm, &m->plan, &image);
    if (m->box->disk_mb)
        image.disk_mb = m->box->disk_mb;
    memcpy(image.base, m->box->base, sizeof(image.base));
    on_image(m, &image, err);
}

/* A crash in the middle of an earlier start may have left its VM. */
static void making_clear(void *arg)
{
    struct making *m = arg;
    vm_instance_kill_name(&m->box->vm->site, m->box->name, on_cleared, m);
}

static void start_kept(struct making *m, const json_t *record)
{
    struct box *box = m->box;
    struct vm *vm = box->vm;
    struct err err = ERR_INIT;
    m->is_kept = true;
    (void)snprintf(box->name, sizeof(box->name), "%s", json_get_str(record, "machine", ""));
    (void)snprintf(box->base, sizeof(box->base), "%s", json_get_str(record, "base", ""));
    box->disk_mb = (uint32_t)json_get_int(record, "diskMb", 0);
    vm_halt_note(vm, box->name, box->base);
    if (vm_ready_open(vm, &err) < 0)
        on_image(m, NULL, &err);
    else if (vm->is_probing)
        vm_ready_when(vm, making_clear, m);
    else
        making_clear(m);
}

static void vm_create(struct runtime *rt, const struct box_plan *plan, box_ready_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    struct box *box = box_new(vm, plan->id);
    struct making *m = making_new(box, fn, arg);
    struct err err = ERR_INIT;
    m->plan = *plan;
    m->plan.layers = NULL;
    m->plan.workdir = NULL;
    m->plan.kept = NULL;
    m->workdir = xstrdup(plan->workdir);
    box->cpu_milli = plan->cpu_milli;
    box->pids_max = plan->pids_max;
    vm_instance_new_name(box->name);
    ident_random(box->token, sizeof(box->token));
    m->is_busy = true;
    if (plan->kept) {
        start_kept(m, plan->kept);
        return;
    }
    const char *layer = plan->n_layers ? plan->layers[0] : "";
    if (*layer == '/') {
        vm_source_get(vm, plan, on_image, m);
        return;
    } else if (vm_ready_open(vm, &err) == 0) {
        (void)snprintf(box->image, sizeof(box->image), "%s", layer);
        if (vm->is_probing)
            vm_ready_when(vm, making_restore, m);
        else
            making_restore(m);
        return;
    }
    on_image(m, NULL, &err);
}

/* --- adopting a box of an earlier server --- */

static void vm_adopt(struct runtime *rt, const json_t *record, bool is_paused, box_ready_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    struct box *box = box_new(vm, json_get_str(record, "id", ""));
    struct making *m = making_new(box, fn, arg);
    m->is_adoption = true;
    m->was_paused = box->is_paused = is_paused;
    (void)snprintf(box->name, sizeof(box->name), "%s", json_get_str(record, "machine", ""));
    (void)snprintf(box->image, sizeof(box->image), "%s", json_get_str(record, "image", ""));
    (void)snprintf(box->base, sizeof(box->base), "%s", json_get_str(record, "base", ""));
    box->memory_mb = (uint32_t)json_get_int(record, "memoryMb", 0);
    box->cpus = (uint32_t)json_get_int(record, "cpus", 1);
    box->cpu_milli = (uint32_t)json_get_int(record, "cpuMilli", 0);
    box->disk_mb = (uint32_t)json_get_int(record, "diskMb", 0);
    box->pids_max = (uint32_t)json_get_int(record, "pidsMax", 0);
    box->is_kvm = json_get_bool(record, "kvm", vm->site.is_kvm);
    const char *token = json_get_str(record, "token", ""); /* a bad one gives zeroes, which no VM accepts */
    for (size_t i = 0; i < sizeof(box->token) && strlen(token) == 2 * sizeof(box->token); i++) {
        const char pair[] = { token[2 * i], token[2 * i + 1], '\0' };
        box->token[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    m->is_busy = true;
    struct vm_instance_plan plan = { .name = box->name, .memory_mb = box->memory_mb };
    box->instance = vm_instance_adopt(&vm->site, &plan, (pid_t)json_get_int(record, "pid", 0),
                                      (uint64_t)json_get_int(record, "since", 0), on_instance, m);
}

static json_t *vm_save(struct box *box)
{
    char token[2 * sizeof(box->token) + 1];
    ident_hex(box->token, sizeof(box->token), token);
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:b}", "id", box->id, "machine",
                     box->name, "pid", (json_int_t)vm_instance_pid(box->instance), "since",
                     (json_int_t)vm_instance_start_time(box->instance), "token", token, "image", box->image, "base",
                     box->base, "memoryMb", (int)box->memory_mb, "cpus", (int)box->cpus, "cpuMilli",
                     (int)box->cpu_milli, "diskMb", (int)box->disk_mb, "pidsMax", (int)box->pids_max, "kvm",
                     box->is_kvm);
}

/* --- a running box --- */

static void on_pause_done(void *arg, const struct err *err)
{
    CLEANUP(free_p) struct pausing *p = arg;
    LIST_TAKE(p->box->pausings, p);
    if (!err)
        p->box->is_paused = p->is_pause;
    if (!err && !p->is_pause) {
        vm_net_resumed(p->box);
        box_life_late(p->box);
    }
    if (p->fn)
        p->fn(p->arg, err);
}

static struct pausing *pausing_new(struct box *box, bool is_pause, box_done_fn *fn, void *arg)
{
    struct pausing *p = xzalloc(sizeof(*p));
    *p = (struct pausing){ .next = box->pausings, .box = box, .is_pause = is_pause, .fn = fn, .arg = arg };
    box->pausings = p;
    return p;
}

static void vm_pause(struct box *box, box_done_fn *fn, void *arg)
{
    vm_instance_pause(box->instance, on_pause_done, pausing_new(box, true, fn, arg));
}

static void vm_resume(struct box *box, box_done_fn *fn, void *arg)
{
    vm_instance_resume(box->instance, on_pause_done, pausing_new(box, false, fn, arg));
}

static int vm_stats(struct box *box, struct box_stats *ret, struct err *err)
{
    char name[CGROUP_NAME_MAX];
    struct cgroup group;
    struct cgroup_stats s = { 0 };
    struct stat st;
    CLEANUP(free_p) char *disk = xasprintf("%s/boxes/%s/disk", box->vm->site.dir, box->name);
    int r = vm_tool_wire_group(box->vm->site.data_fd, box->name, name);
    if (r >= 0 && (r = cgroup_open(box->vm->cgroups, name, &group)) >= 0)
        r = cgroup_stats_get(&group, &s);
    if (r < 0 && r != -ENOENT)
        return err_sys(err, r, "read the control group of sandbox %s", box->id);
    *ret = (struct box_stats){ .cpu_usage_us = s.cpu_usage_us,
                               .memory_bytes = s.memory_bytes,
                               .memory_limit_bytes = (uint64_t)(box->memory_mb - VM_KERNEL_MB) << 20,
                               .oom_kills = s.oom_kills };
    traffic_read_behind(vm_instance_pid(box->instance), VM_TOOL_WIRE_TAP, VM_TOOL_WIRE_TAP_OUT, ret);
    if (stat(disk, &st) == 0)
        ret->disk_bytes = (uint64_t)st.st_blocks * 512;
    return 0;
}

static char *vm_console_lines(struct box *box)
{
    CLEANUP(free_p) char *text = vm_instance_console_text(box->instance);
    struct box_stats st = { 0 };
    if (vm_stats(box, &st, NULL) < 0 || !st.oom_kills)
        return STEAL(text);
    return xasprintf("%s%sOOM kill of its VMM on the host: its limit was %u MiB for the VM and %u for the VMM", text,
                     *text ? "\n" : "", box->memory_mb, VM_TOOL_WIRE_OVERHEAD_MB);
}

struct limiting {
    struct box *box;
    uint32_t cpu_milli;
    box_done_fn *fn;
    void *arg;
};

static void on_limited(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    CLEANUP(free_p) struct limiting *l = arg;
    (void)reply;
    (void)fds;
    if (l->box->vm->is_ending)
        return;
    if (!err)
        l->box->cpu_milli = l->cpu_milli;
    l->fn(l->arg, err);
}

static void vm_set_limits(struct box *box, uint32_t memory_mb, uint32_t cpu_milli, uint32_t pids_max, box_done_fn *fn,
                          void *arg)
{
    struct err err = ERR_INIT;
    if (memory_mb + VM_KERNEL_MB != box->memory_mb || pids_max != box->pids_max) {
        (void)err_set(&err, ERR_UNSUPPORTED, 0,
                      "the %s backend cannot change the memory or the process limit of a running VM: create a new "
                      "sandbox",
                      box->vm->base.ops->name);
        fn(arg, &err);
        return;
    }
    struct limiting *l = xzalloc(sizeof(*l));
    *l = (struct limiting){ .box = box, .cpu_milli = cpu_milli, .fn = fn, .arg = arg };
    struct vm_tool_wire_request q = {
        .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_LIMIT, .cpu_milli = cpu_milli, .memory_mb = box->memory_mb
    };
    memcpy(q.name, box->name, sizeof(q.name));
    vm_tool_call_start(&box->vm->site.calls, &q, "", NULL, 0, on_limited, l);
}

/* --- the driver --- */

/* clang-format off */
#define LACKS                                                                                   \
    { "volume", "this VMM cannot attach drives to a running VM" },                          \
    { "resize", "the memory and the process limit of a VM are fixed when it boots; its CPUs can change" }, \
    { "growDisk", "the size of a VM's drive is fixed when it is made" },                    \
    { "seccomp", "a VM has its filter before it is known whose it will be; use the native backend" }, \
    { "deniedCalls", "the filter inside a VM answers denied calls itself" }, \
    { "layers", "a snapshot is a whole VM: its memory and its drive" }
#define NO_NETS(why) { "egress", why }, { "network", why }, { "limitRate", why }
/* clang-format on */
#define NO_TAPS   "this host has no " VM_TAP_DEVICE " that the server may use, and a VM's interfaces are made with it"
#define NO_SWITCH "networks of VMs need a server that runs as root, and " VM_TAP_DEVICE
#define NO_NODE   "a VM's interface needs a server that runs as root, and " VM_TAP_DEVICE
static const struct runtime_lack qemu_lacks[] = {
    LACKS, { "egress", NO_TAPS }, { "network", NO_SWITCH }, { "limitRate", NO_TAPS }, { NULL, NULL }
};
static const struct runtime_lack firecracker_lacks[] = {
    LACKS, { "egress", NO_NODE }, { "network", NO_SWITCH }, { "limitRate", NO_NODE }, { NULL, NULL }
};
static const struct runtime_lack libkrun_lacks[] = {
    LACKS,
    { "stop",
      "libkrun has no port over which the VM could be told to write everything to its drive: take a copy of the "
      "files, or use the qemu or firecracker backend" },
    NO_NETS("libkrun supports no network interfaces of this host; ports and the proxy work through the agent"),
    { "pause", "libkrun has no command for it, and there is no cgroup to freeze" },
    { "snapshot", "libkrun cannot save a VM: use the qemu or firecracker backend" },
    { "hibernate", "libkrun cannot save a VM: use the qemu or firecracker backend" },
    { NULL, NULL }
};

static struct runtime_caps vm_caps(struct runtime *rt)
{
    const struct vm *vm = vm_of(rt);
    unsigned have = cgroup_host_controllers(vm->cgroups);
    return (struct runtime_caps){ .can_pause = vm->site.vmm->pause || (have & 1u << CGROUP_FREEZER),
                                  .can_capture = vm->site.vmm->can_save,
                                  .can_hibernate = vm->site.vmm->can_save,
                                  .can_stop = vm->base.ops->halt != NULL,
                                  .can_limit_memory = true,
                                  .can_limit_cpu = have & 1u << CGROUP_CPU,
                                  .can_limit_pids = true,
                                  .can_limit_disk = true,
                                  .can_mount = vm->site.vmm->plug != NULL,
                                  .can_rename = true,
                                  .can_measure = true, /* its drive is a file, whose size every stats call reads */
                                  .can_network = vm->site.has_taps && keeper_is_root(vm->site.calls.keeper),
                                  .can_limit_rate = vm->site.has_taps,
                                  .can_egress = vm->site.has_taps,
                                  .has_store = true,
                                  .has_host = true };
}

static bool is_idle(const void *arg)
{
    const struct vm *vm = arg;
    return !vm->site.calls.first && !vm->n_works && !vm->n_flushings && !vm->sources && !vm->makings && !vm->savings;
}

static struct runtime *vm_free(struct runtime *rt)
{
    struct vm *vm = vm_of(rt);
    struct err over = { .sys = ECANCELED };
    vm->is_ending = true;
    vm_ready_end(vm);
    vm_source_end_all(vm);
    vm_snapshot_end_all(vm);
    for (struct making *m = vm->makings, *next; m; m = next) {
        next = m->next;
        if (!m->is_busy)
            making_fail(m, &over);
    }
    /* Waits for everything under way: nobody else would kill a VM that is being started. The end of one operation may
     * start the next. */
    loop_run_until(vm->base.loop, is_idle, vm);
    vm_tool_call_end_all(&vm->site.calls);
    vm_net_end_all(vm);
    timer_free(vm->tick);
    vm_clock_free(vm->clock);
    while (vm->boxes)
        vm_forget(vm->boxes);
    close_fd_p(&vm->site.data_fd);
    close_fd_p(&vm->site.run_fd);
    vm_kit_done(&vm->kit);
    json_decref(vm->pins);
    json_decref(vm->halted);
    free(vm->site.dir);
    free(vm->data_dir);
    free(vm->image_dir);
    free(vm->kernel);
    free(vm->program);
    free(vm);
    return NULL;
}

/* The host was suspended, or its clock was set. A paused VM is told when it resumes. */
static void vm_on_clock(void *arg)
{
    struct vm *vm = arg;
    for (struct box *b = vm->boxes; b; b = b->next)
        on_instance_late(b);
}

static void vm_on_tick(void *arg)
{
    struct vm *vm = arg;
    vm_source_tick(vm);
    if (vm->is_collect_due)
        vm_snapshot_collect(vm);
}

/* Each backend is a runtime with its own name; everything else is shared. */
/* clang-format off */
#define VM_KEEPS .halt = vm_halt, .retain = vm_halt_retain, .discard = vm_halt_discard,
#define VM_OPS(backend, lacks_of, keeps)                                                                               \
    {                                                                                                                  \
        .name = backend, .lacks = lacks_of, .counts_inside = true, .saves = &vm_snapshot_ops, .caps = vm_caps,         \
        .create = vm_create, .adopt = vm_adopt, .save = vm_save, .on_gone = box_life_on_gone, keeps                    \
        .on_late = box_life_on_late, .console_text = vm_console_lines, .destroy = vm_destroy, .forget = vm_forget,     \
        .pause = vm_pause, .resume = vm_resume, .stats = vm_stats, .set_limits = vm_set_limits, .sweep = vm_sweep_run, \
        .mount_volume = vm_volume_mount, .unmount_volume = vm_volume_unmount, .remove_volume = vm_volume_remove,       \
        .measure_volume = vm_volume_measure, .net_create = vm_net_create, .net_delete = vm_net_delete,                 \
        .net_attach = vm_net_attach, .net_detach = vm_net_detach, .open_egress = vm_net_open_egress,                   \
        .stop = vm_source_stop, .free = vm_free                                                                        \
    }
/* clang-format on */
static const struct runtime_ops vm_ops[VM_TOOL_WIRE_VMMS] = { [VM_TOOL_WIRE_QEMU] =
                                                                  VM_OPS("qemu", qemu_lacks, VM_KEEPS),
                                                              [VM_TOOL_WIRE_FIRECRACKER] =
                                                                  VM_OPS("firecracker", firecracker_lacks, VM_KEEPS),
                                                              [VM_TOOL_WIRE_KRUN] = VM_OPS("krun", libkrun_lacks, ) };

static int make_folders(struct vm *vm, struct err *err)
{
    static const char *const names[] = { "", "/bases", "/templates", "/snaps", "/boxes", "/run", "/volumes" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        CLEANUP(free_p) char *path = xasprintf("%s%s", vm->site.dir, names[i]);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return err_sys(err, -errno, "make %s", path);
    }
    CLEANUP(free_p) char *run = xasprintf("%s/run", vm->site.dir);
    vm->site.data_fd = open(vm->data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    vm->site.run_fd = open(run, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return vm->site.data_fd < 0 || vm->site.run_fd < 0 ? err_sys(err, -errno, "open %s", vm->data_dir) : 0;
}

/* The tool has root's rights; we do not. */
static bool can_make_taps(uint32_t vmm, const struct keeper *keeper)
{
    if (vmm == VM_TOOL_WIRE_KRUN || (vmm == VM_TOOL_WIRE_FIRECRACKER && !keeper_is_root(keeper)))
        return false;
    return access(VM_TAP_DEVICE, keeper_is_root(keeper) ? F_OK : R_OK | W_OK) == 0;
}

int vm_new(struct loop *l, const struct vm_options *opt, struct runtime **ret, struct err *err)
{
    struct vm *vm = xzalloc(sizeof(*vm));
    uint32_t number = 0;
    const struct vmm_ops *vmm = vmm_by_name(opt->backend, &number);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    vm->base = (struct runtime){ .ops = &vm_ops[number], .loop = l };
    vm->data_dir = xstrdup(opt->data_dir);
    vm->image_dir = xstrdup(opt->image_dir);
    vm->kernel = xstrdup(opt->kernel);
    vm->program = xstrdup(number == VM_TOOL_WIRE_FIRECRACKER && opt->firecracker ? opt->firecracker : "");
    vm->cgroups = opt->cgroups;
    vm->has_templates = opt->has_templates && vmm->can_save;
    vm->on_template = opt->on_template;
    vm->pins = json_object();
    vm->halted = json_object();
    vm->host_cpus = cpus > 0 ? (uint32_t)cpus : 1;
    vm->site = (struct vm_instance_site){ .loop = l,
                                          .vmm = vmm,
                                          .vmm_number = number,
                                          .dir = xasprintf("%s/vm", opt->data_dir),
                                          .data_fd = NO_FD,
                                          .run_fd = NO_FD,
                                          .has_taps = can_make_taps(number, opt->keeper),
                                          .calls = { .loop = l, .keeper = opt->keeper, .job = opt->tool_job } };
    int r = make_folders(vm, err);
    if (r < 0) {
        (void)vm_free(&vm->base);
        return err_wrap(err, r, "%s backend", opt->backend);
    }
    vm->tick = timer_new(l, TICK_MS, TICK_MS, vm_on_tick, vm);
    vm->clock = vm_clock_new(l, vm_on_clock, vm);
    *ret = &vm->base;
    return 0;
}

bool vm_can_emulate(const struct runtime *rt)
{
    return ((const struct vm *)rt)->site.vmm_number == VM_TOOL_WIRE_QEMU;
}

const char *vm_notice(struct runtime *rt)
{
    struct vm *vm = vm_of(rt);
    struct err err = ERR_INIT;
    if (vm_ready_open(vm, &err) < 0)
        (void)snprintf(vm->slow_why, sizeof(vm->slow_why), "%.230s", err.msg);
    return vm->slow_why;
}
