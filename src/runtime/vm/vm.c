/* Theory of operation. A box is one machine (vmmachine.h). It is restored from a folder with a machine at rest: a
 * template (vmsource.c), or a sandbox that was saved while it ran (vmsnap.c). Its memory is the folder's, copied page
 * by page as it writes; its drive is a copy of the folder's. It is paused until its agent has been told who it is:
 * name, clock, entropy, token; so two machines from one folder are never the same to anybody.
 *
 * A machine outlives the server. Its sockets lie in vm/run, its drive in vm/boxes, both under its own random name; the
 * sandbox's record says which process it is. What no record names is killed by sweep(). */
#include "runtime/vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/traffic.h"
#include "runtime/vm/vm_core.h"
#include "runtime/vm/vmclock.h"
#include "runtime/vm/vmtap.h"

#define TICK_MS        1000
#define DEFAULT_NOFILE 65536
#define DEFAULT_SHM_MB 64

/* A box on its way: restored, or found again. */
struct making {
    struct making *next;
    struct box *box;
    struct vmimage image;
    struct box_plan plan; /* only its numbers and names inside; what it borrows is not kept */
    char *workdir;
    struct vmchannel *channel;
    int disk;
    bool is_adoption, was_paused;
    bool is_waking, is_answered; /* its monitor has been told to let it run; its agent has answered */
    bool is_busy;                /* something under way will call us, so that we have to be there */
    int guest_fd;
    box_ready_fn *fn;
    void *arg;
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
    struct box **at = &box->vm->boxes;
    while (*at != box)
        at = &(*at)->next;
    *at = box->next;
    for (struct pausing *p; (p = box->pausings);) { /* the machine went with whoever would have answered */
        box->pausings = p->next;
        free(p);
    }
    free(box);
}

/* --- the end of a box --- */

struct ending {
    struct vm *vm;
    struct vmmachine *machine;
    char *folder;
    box_done_fn *fn;
    void *arg;
};

static void on_ended(void *arg, const struct err *err)
{
    struct ending *e = arg;
    if (!err)
        vmfile_remove_later(e->vm, e->folder);
    if (e->fn && !e->vm->is_ending)
        e->fn(e->arg, err);
    free(e->folder);
    free(e);
}

static void kill_machine(void *arg)
{
    struct ending *e = arg;
    if (e->machine)
        vmmachine_kill(e->machine, on_ended, e);
    else
        on_ended(e, NULL);
}

static void end_machine(struct box *box, box_done_fn *fn, void *arg)
{
    struct ending *e = xzalloc(sizeof(*e));
    vmsnap_forget_box(box);
    *e = (struct ending){
        .vm = box->vm, .machine = box->machine, .folder = vmfile_box_folder(box->vm, box->name), .fn = fn, .arg = arg
    };
    bool is_flushing = vmvolume_flush(box, kill_machine, e);
    vmvolume_forget_box(box);
    vmnet_forget_box(box);
    if (!is_flushing)
        kill_machine(e);
    box->machine = NULL;
}

static void vm_destroy(struct box *box, box_done_fn *fn, void *arg)
{
    end_machine(box, fn, arg);
    box_free(box);
}

static void vm_forget(struct box *box)
{
    vmsnap_forget_box(box);
    vmvolume_forget_box(box);
    vmnet_forget_box(box);
    if (box->machine)
        vmmachine_forget(box->machine);
    box_free(box);
}

static void on_machine_gone(void *arg)
{
    struct box *box = arg;
    box->is_dead = true;
    if (box->on_gone)
        box->on_gone(box->gone_arg);
}

static void on_machine_late(void *arg)
{
    const struct box *box = arg;
    if (box->on_late && !box->is_paused)
        box->on_late(box->late_arg);
}

/* --- a box on its way --- */

static void making_free(struct making *m)
{
    struct making **at = &m->box->vm->makings;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    vmchannel_cancel(m->channel);
    if (m->disk >= 0)
        (void)close(m->disk); /* the machine has its own */
    vmfile_done(&m->image);
    free(m->workdir);
    free(m);
}

static void fail(struct making *m, const struct err *err)
{
    struct err why = *err;
    box_ready_fn *fn = m->fn;
    void *arg = m->arg;
    struct box *box = m->box;
    bool is_ending = box->vm->is_ending;
    if (m->guest_fd >= 0)
        (void)close(m->guest_fd);
    making_free(m);
    vm_destroy(box, NULL, NULL);
    if (!is_ending)
        fn(arg, NULL, NO_FD, &why);
}

static void fail_with_console(struct making *m, const struct err *err)
{
    struct err why = *err;
    CLEANUP(free_p) char *words = vmmachine_words(m->box->machine);
    if (*words) {
        size_t len = strlen(words);
        (void)err_wrap(&why, 0, "console: %s", len > 200 ? words + len - 200 : words);
    }
    fail(m, &why);
}

/* Nobody will answer any more. */
static void on_making_gone(void *arg)
{
    struct making *m = arg;
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_UPSTREAM, 0, "the virtual machine has ended");
    fail_with_console(m, &err);
}

static void succeed(struct making *m)
{
    struct box *box = m->box;
    box_ready_fn *fn = m->fn;
    void *arg = m->arg;
    int fd = m->guest_fd;
    making_free(m);
    vmmachine_on_gone(box->machine, on_machine_gone, box);
    vmmachine_on_late(box->machine, on_machine_late, box);
    fn(arg, box, fd, NULL);
}

static void on_paused_again(void *arg, const struct err *err)
{
    struct making *m = arg;
    if (err)
        fail(m, err);
    else
        succeed(m);
}

static void on_both(struct making *m)
{
    if (m->was_paused)
        vmmachine_pause(m->box->machine, on_paused_again, m);
    else
        succeed(m);
}

/* A guest may answer before its monitor has said that it runs: the one that is later goes on. */
static void on_agent(void *arg, int fd, const struct err *err)
{
    struct making *m = arg;
    m->channel = NULL;
    m->guest_fd = fd;
    m->is_answered = true;
    if (err)
        fail_with_console(m, err);
    else if (!m->is_waking)
        on_both(m);
}

static void greet(struct making *m)
{
    struct box *box = m->box;
    struct vmchannel_options opt = { .first_ms = VM_FIRST_REPLY_MS, .deadline_ms = VM_RESTORE_MS };
    if (!m->image.folder && !m->is_adoption)
        opt.first_ms = opt.deadline_ms = VM_BOOT_MS; /* its answer comes when it has booted */
    struct vmhello *h = &opt.hello;
    h->what = m->is_adoption ? VMHELLO_REJOIN : VMHELLO_ENTER;
    memcpy(h->token, box->token, sizeof(h->token));
    h->nofile = m->plan.nofile ? m->plan.nofile : DEFAULT_NOFILE;
    h->shm_mb = m->plan.shm_mb ? m->plan.shm_mb : DEFAULT_SHM_MB;
    h->pids_max = box->pids_max;
    vmnet_greet(box, m->plan.has_network, h);
    (void)snprintf(h->hostname, sizeof(h->hostname), "%s", *m->plan.hostname ? m->plan.hostname : box->id);
    (void)snprintf(h->workdir, sizeof(h->workdir), "%s", m->workdir ? m->workdir : "/");
    m->channel = vmmachine_greet(box->machine, &opt, on_agent, m);
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
        greet(m);
}

static void on_loaded(void *arg, const struct err *err)
{
    struct making *m = arg;
    struct box *box = m->box;
    if (err)
        fail_with_console(m, err);
    else
        vmmachine_resume(box->machine, on_resumed, m);
}

static void on_machine(void *arg, const struct err *err)
{
    struct making *m = arg;
    struct box *box = m->box;
    struct err why = ERR_INIT;
    m->is_busy = false;
    if (err)
        box->machine = NULL;
    bool is_restored = m->image.folder != NULL;
    CLEANUP(close_fd_p) int state = err || !is_restored ? NO_FD : vmfile_open(m->image.folder, "state", &why);
    if (box->vm->is_ending)
        (void)err_set(&why, ERR_CAPACITY, 0, "the server ends");
    if (err || why.code) {
        fail(m, err ? err : &why);
        return;
    }
    vmmachine_on_gone(box->machine, on_making_gone, m);
    m->is_waking = m->is_adoption || is_restored;
    if (m->is_adoption) {
        vmmachine_resume(box->machine, on_resumed, m);
        return;
    }
    greet(m); /* before it runs: it was saved with a host on its stream, and has one when it wakes */
    if (is_restored)
        box->vm->site.vmm->load(vmmachine_control(box->machine), state, false, on_loaded, m);
}

/* A restored machine writes to its own copy of the folder's pages, a booted one to a file of its own. */
static int open_memory(struct making *m, struct err *err)
{
    struct box *box = m->box;
    if (m->image.folder)
        return vmfile_open(m->image.folder, "ram", err);
    CLEANUP(free_p) char *path = xasprintf("%s/boxes/%s/ram", box->vm->site.dir, box->name);
    return vmfile_make(path, (uint64_t)box->memory_mb << 20, err);
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
    CLEANUP(close_fd_p) int ram = err || why.code ? NO_FD : open_memory(m, &why);
    if (err || why.code) {
        fail(m, err ? err : &why);
        return;
    }
    CLEANUP(free_p) char *base = vmsource_base_path(box->vm, box->base);
    struct vmmachine_plan plan = { .name = box->name,
                                   .memory_mb = box->memory_mb,
                                   .cpus = box->cpus,
                                   .cpu_milli = box->cpu_milli,
                                   .is_kvm = box->is_kvm,
                                   .flags = m->image.folder ? VMWIRE_INCOMING : VMWIRE_SHARED_RAM,
                                   .base = base,
                                   .ram_fd = ram,
                                   .disk_fd = fd };
    m->is_busy = true;
    box->machine = vmmachine_start(&box->vm->site, &plan, on_machine, m);
}

static void on_image(void *arg, const struct vmimage *image, const struct err *err)
{
    struct making *m = arg;
    struct box *box = m->box;
    struct err why = ERR_INIT;
    m->is_busy = false;
    CLEANUP(free_p) char *folder = vmfile_box_folder(box->vm, box->name);
    if (!err && mkdir(folder, 0700) < 0)
        (void)err_sys(&why, -errno, "make %s", folder);
    if (err || why.code) {
        fail(m, err ? err : &why);
        return;
    }
    m->image = *image;
    m->image.folder = xstrdup(image->folder); /* NULL stays NULL */
    memcpy(box->base, image->base, sizeof(box->base));
    box->memory_mb = image->memory_mb;
    box->cpus = image->cpus;
    box->disk_mb = image->disk_mb;
    box->is_kvm = image->folder ? image->is_kvm : box->vm->site.is_kvm;
    CLEANUP(free_p)
    char *from = image->folder ? xasprintf("%s/disk", image->folder) : vmsource_blank_path(box->vm, image->disk_mb);
    CLEANUP(free_p) char *to = xasprintf("%s/disk", folder);
    m->is_busy = true;
    vmfile_copy(box->vm, from, to, on_drive, m);
}

static struct making *begin(struct box *box, box_ready_fn *fn, void *arg)
{
    struct making *m = xzalloc(sizeof(*m));
    *m =
        (struct making){ .next = box->vm->makings, .box = box, .disk = NO_FD, .guest_fd = NO_FD, .fn = fn, .arg = arg };
    box->vm->makings = m;
    return m;
}

/* From a snapshot, box->image. */
static void restore(void *arg)
{
    struct making *m = arg;
    struct box *box = m->box;
    struct err err = ERR_INIT;
    struct vmimage image = { 0 };
    CLEANUP(free_p) char *folder = vmsnap_folder(box->vm, box->image);
    int r = folder ? vmfile_load(folder, &image, &err)
                   : err_set(&err, ERR_NOT_FOUND, 0, "image %.100s is no saved machine", box->image);
    if (r == 0 && (r = vmpin_check(box->vm, &image, &err)) < 0)
        (void)err_wrap(&err, r, "snapshot %s", box->image);
    if (r < 0)
        *box->image = '\0'; /* it was not made of one */
    on_image(m, r < 0 ? NULL : &image, r < 0 ? &err : NULL);
    vmfile_done(&image);
}

static void vm_create(struct runtime *rt, const struct box_plan *plan, box_ready_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    struct box *box = box_new(vm, plan->id);
    struct making *m = begin(box, fn, arg);
    struct err err = ERR_INIT;
    m->plan = *plan;
    m->plan.layers = NULL;
    m->plan.workdir = NULL;
    m->workdir = xstrdup(plan->workdir);
    box->cpu_milli = plan->cpu_milli;
    box->pids_max = plan->pids_max;
    vmmachine_new_name(box->name);
    ident_random(box->token, sizeof(box->token));
    m->is_busy = true;
    const char *layer = plan->n_layers ? plan->layers[0] : "";
    if (plan->is_host)
        (void)runtime_cannot(rt, "hostFiles", "run the host's own files", &err);
    else if (*layer == '/') {
        vmsource_get(vm, plan, on_image, m);
        return;
    } else if (vmready_open(vm, &err) == 0) {
        (void)snprintf(box->image, sizeof(box->image), "%s", layer);
        if (vm->is_probing)
            vmready_when(vm, restore, m);
        else
            restore(m);
        return;
    }
    on_image(m, NULL, &err);
}

/* --- one that was there before us --- */

/* As ident_hex() wrote it; of anything else come zeroes, which no machine takes. */
static void read_token(const char *text, uint8_t ret[16])
{
    for (size_t i = 0; i < 16 && strlen(text) == 32; i++) {
        const char pair[] = { text[2 * i], text[2 * i + 1], '\0' };
        ret[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

static void vm_adopt(struct runtime *rt, const json_t *record, box_ready_fn *fn, void *arg)
{
    struct vm *vm = vm_of(rt);
    struct box *box = box_new(vm, json_get_str(record, "id", ""));
    struct making *m = begin(box, fn, arg);
    m->is_adoption = true;
    m->was_paused = box->is_paused = json_get_bool(record, "paused", false);
    (void)snprintf(box->name, sizeof(box->name), "%s", json_get_str(record, "machine", ""));
    (void)snprintf(box->image, sizeof(box->image), "%s", json_get_str(record, "image", ""));
    (void)snprintf(box->base, sizeof(box->base), "%s", json_get_str(record, "base", ""));
    box->memory_mb = (uint32_t)json_get_int(record, "memoryMb", 0);
    box->cpus = (uint32_t)json_get_int(record, "cpus", 1);
    box->cpu_milli = (uint32_t)json_get_int(record, "cpuMilli", 0);
    box->disk_mb = (uint32_t)json_get_int(record, "diskMb", 0);
    box->pids_max = (uint32_t)json_get_int(record, "pidsMax", 0);
    box->is_kvm = json_get_bool(record, "kvm", vm->site.is_kvm);
    read_token(json_get_str(record, "token", ""), box->token);
    m->is_busy = true;
    struct vmmachine_plan plan = { .name = box->name, .memory_mb = box->memory_mb };
    box->machine = vmmachine_adopt(&vm->site, &plan, (pid_t)json_get_int(record, "pid", 0),
                                   (uint64_t)json_get_int(record, "since", 0), on_machine, m);
}

static json_t *vm_save(struct box *box)
{
    char token[2 * sizeof(box->token) + 1];
    ident_hex(box->token, sizeof(box->token), token);
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:b, s:b}", "id", box->id, "machine",
                     box->name, "pid", (json_int_t)vmmachine_pid(box->machine), "since",
                     (json_int_t)vmmachine_start_time(box->machine), "token", token, "image", box->image, "base",
                     box->base, "memoryMb", (int)box->memory_mb, "cpus", (int)box->cpus, "cpuMilli",
                     (int)box->cpu_milli, "diskMb", (int)box->disk_mb, "pidsMax", (int)box->pids_max, "paused",
                     box->is_paused, "kvm", box->is_kvm);
}

static void vm_on_gone(struct box *box, loop_fn *fn, void *arg)
{
    box->on_gone = fn;
    box->gone_arg = arg;
}

static void vm_on_late(struct box *box, loop_fn *fn, void *arg)
{
    box->on_late = fn;
    box->late_arg = arg;
}

/* --- while it runs --- */

static void on_pause_done(void *arg, const struct err *err)
{
    CLEANUP(free_p) struct pausing *p = arg;
    struct pausing **at = &p->box->pausings;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    if (!err)
        p->box->is_paused = p->is_pause;
    if (!err && !p->is_pause)
        vmnet_resumed(p->box);
    if (!err && !p->is_pause && p->box->on_late)
        p->box->on_late(p->box->late_arg);
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
    vmmachine_pause(box->machine, on_pause_done, pausing_new(box, true, fn, arg));
}

static void vm_resume(struct box *box, box_done_fn *fn, void *arg)
{
    vmmachine_resume(box->machine, on_pause_done, pausing_new(box, false, fn, arg));
}

static int vm_stats(struct box *box, struct box_stats *ret, struct err *err)
{
    char name[CGROUP_NAME_MAX];
    struct cgroup group;
    struct cgroup_stats s = { 0 };
    struct stat st;
    CLEANUP(free_p) char *disk = xasprintf("%s/boxes/%s/disk", box->vm->site.dir, box->name);
    int r = vmwire_group(box->vm->site.data_fd, box->name, name);
    if (r >= 0 && (r = cgroup_open(box->vm->cgroups, name, &group)) >= 0)
        r = cgroup_stats_get(&group, &s);
    if (r < 0 && r != -ENOENT)
        return err_sys(err, r, "read the control group of sandbox %s", box->id);
    *ret = (struct box_stats){ .cpu_usage_us = s.cpu_usage_us,
                               .memory_bytes = s.memory_bytes,
                               .memory_limit_bytes = (uint64_t)(box->memory_mb - VM_KERNEL_MB) << 20,
                               .oom_kills = s.oom_kills };
    traffic_read_behind(vmmachine_pid(box->machine), VMWIRE_TAP, VMWIRE_TAP_OUT, ret);
    if (stat(disk, &st) == 0)
        ret->disk_bytes = (uint64_t)st.st_blocks * 512;
    return 0;
}

static char *vm_last_words(struct box *box)
{
    CLEANUP(free_p) char *words = vmmachine_words(box->machine);
    struct box_stats st = { 0 };
    if (vm_stats(box, &st, NULL) < 0 || !st.oom_kills)
        return STEAL(words);
    return xasprintf(
        "%s%sthe host's kernel ended its monitor, which had used up its memory: %u MiB for the machine and %u", words,
        *words ? "\n" : "", box->memory_mb, VMWIRE_OVERHEAD_MB);
}

struct limiting {
    struct box *box;
    uint32_t cpu_milli;
    box_done_fn *fn;
    void *arg;
};

static void on_limited(void *arg, const struct vmwire_reply *reply, const int *fds, const struct err *err)
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
                      "the %s backend cannot change the memory or the process limit of a running machine: make a new "
                      "sandbox",
                      box->vm->base.ops->name);
        fn(arg, &err);
        return;
    }
    struct limiting *l = xzalloc(sizeof(*l));
    *l = (struct limiting){ .box = box, .cpu_milli = cpu_milli, .fn = fn, .arg = arg };
    struct vmwire_request q = {
        .version = VMWIRE_VERSION, .op = VMWIRE_LIMIT, .cpu_milli = cpu_milli, .memory_mb = box->memory_mb
    };
    memcpy(q.name, box->name, sizeof(q.name));
    vmcall_start(&box->vm->site.calls, &q, "", NULL, 0, on_limited, l);
}

/* --- the driver --- */

#define NO_FILES \
    "its machines run images of the store: `iii image pull` or `iii image import` one under this name first"
/* clang-format off */
#define LACKS                                                                                   \
    { "volume", "this monitor takes no drives while a machine runs" },                          \
    { "layers", "a snapshot is a whole machine: its memory and its drive" },                    \
    { "hostFiles", NO_FILES }
#define NO_NETS(why) { "egress", why }, { "network", why }, { "limitRate", why }
/* clang-format on */
#define NO_TAPS   "this host has no " VMTAP_DEVICE " that the server may use, and a machine's interfaces are made with it"
#define NO_SWITCH "networks of virtual machines need a server that runs as root, and " VMTAP_DEVICE
#define NO_NODE   "a machine's interface needs a server that runs as root, and " VMTAP_DEVICE
static const struct runtime_lack qemu_lacks[] = {
    LACKS, { "egress", NO_TAPS }, { "network", NO_SWITCH }, { "limitRate", NO_TAPS }, { NULL, NULL }
};
static const struct runtime_lack firecracker_lacks[] = {
    LACKS, { "egress", NO_NODE }, { "network", NO_SWITCH }, { "limitRate", NO_NODE }, { NULL, NULL }
};
static const struct runtime_lack krun_lacks[] = {
    LACKS,
    NO_NETS("libkrun takes no interface of this host's for a machine; ports and the proxy work, through the agent"),
    { "pause", "libkrun has no command for it, and there is no control group that could be frozen" },
    { "snapshot", "libkrun cannot save a machine: use the qemu or firecracker backend" },
    { NULL, NULL }
};

static struct runtime_caps vm_caps(struct runtime *rt)
{
    const struct vm *vm = vm_of(rt);
    unsigned have = cgroup_host_controllers(vm->cgroups);
    return (struct runtime_caps){ .can_pause = vm->site.vmm->pause || (have & 1u << CGROUP_FREEZER),
                                  .can_capture = vm->site.vmm->can_save,
                                  .can_limit_memory = true,
                                  .can_limit_cpu = have & 1u << CGROUP_CPU,
                                  .can_limit_pids = true,
                                  .can_limit_disk = true,
                                  .can_mount = vm->site.vmm->plug != NULL,
                                  .can_rename = true,
                                  .can_measure = true, /* its drive is a file: every look at its stats counts it */
                                  .can_network = vm->site.has_taps && keeper_is_root(vm->site.calls.keeper),
                                  .can_limit_rate = vm->site.has_taps,
                                  .can_egress = vm->site.has_taps,
                                  .has_store = true };
}

static bool is_idle(const struct vm *vm)
{
    return !vm->site.calls.first && !vm->n_works && !vm->n_flushings && !vm->sources && !vm->makings && !vm->savings;
}

static void check_idle(void *arg)
{
    struct vm *vm = arg;
    if (is_idle(vm))
        loop_stop(vm->base.loop);
}

/* What is under way is waited for: a machine that is being started has nobody else to end it. */
static void drain(struct vm *vm)
{
    struct err over = { .sys = ECANCELED };
    struct making *next;
    vm->is_ending = true;
    vmready_end(vm);
    vmsource_end_all(vm);
    vmsnap_end_all(vm);
    for (struct making *m = vm->makings; m; m = next) {
        next = m->next;
        if (!m->is_busy)
            fail(m, &over);
    }
    struct timer *t = timer_new(vm->base.loop, 0, 5, check_idle, vm);
    while (!is_idle(vm)) /* the end of one thing may be the beginning of the next */
        loop_run(vm->base.loop);
    timer_free(t);
}

static struct runtime *vm_free(struct runtime *rt)
{
    struct vm *vm = vm_of(rt);
    drain(vm);
    vmcall_end_all(&vm->site.calls);
    vmnet_end_all(vm);
    timer_free(vm->tick);
    vmclock_free(vm->clock);
    while (vm->boxes)
        vm_forget(vm->boxes);
    close_fd_p(&vm->site.data_fd);
    close_fd_p(&vm->site.run_fd);
    vmkit_done(&vm->kit);
    json_decref(vm->pins);
    free(vm->site.dir);
    free(vm->data_dir);
    free(vm->image_dir);
    free(vm->kernel);
    free(vm->program);
    free(vm);
    return NULL;
}

/* The host slept, or its clock was set. One that stands still is told when it goes on. */
static void on_clock(void *arg)
{
    struct vm *vm = arg;
    for (struct box *b = vm->boxes; b; b = b->next)
        on_machine_late(b);
}

static void on_tick(void *arg)
{
    struct vm *vm = arg;
    if (vm->is_collect_due)
        vmsnap_collect(vm);
}

/* Each backend is a runtime of its own name; all else is the same. */
#define VM_OPS(backend, lacks_of)                                                                              \
    {                                                                                                          \
        .name = backend, .lacks = lacks_of, .counts_inside = true, .saves = &vmsnap_ops, .caps = vm_caps,      \
        .create = vm_create, .adopt = vm_adopt, .save = vm_save, .on_gone = vm_on_gone, .on_late = vm_on_late, \
        .last_words = vm_last_words, .destroy = vm_destroy, .forget = vm_forget, .pause = vm_pause,            \
        .resume = vm_resume, .stats = vm_stats, .set_limits = vm_set_limits, .sweep = vmsweep_run,             \
        .mount_volume = vmvolume_mount, .unmount_volume = vmvolume_unmount, .remove_volume = vmvolume_remove,  \
        .net_create = vmnet_create, .net_delete = vmnet_delete, .net_attach = vmnet_attach,                    \
        .net_detach = vmnet_detach, .open_egress = vmnet_open_egress, .free = vm_free                          \
    }
static const struct runtime_ops vm_ops[VMWIRE_VMMS] = { [VMWIRE_QEMU] = VM_OPS("qemu", qemu_lacks),
                                                        [VMWIRE_FIRECRACKER] = VM_OPS("firecracker", firecracker_lacks),
                                                        [VMWIRE_KRUN] = VM_OPS("krun", krun_lacks) };

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

/* Root's rights are the tool's, not ours. */
static bool can_make_taps(uint32_t vmm, const struct keeper *keeper)
{
    if (vmm == VMWIRE_KRUN || (vmm == VMWIRE_FIRECRACKER && !keeper_is_root(keeper)))
        return false;
    return access(VMTAP_DEVICE, keeper_is_root(keeper) ? F_OK : R_OK | W_OK) == 0;
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
    vm->program = xstrdup(number == VMWIRE_FIRECRACKER && opt->firecracker ? opt->firecracker : "");
    vm->cgroups = opt->cgroups;
    vm->volume_mb = opt->volume_mb;
    vm->has_templates = opt->has_templates && vmm->can_save;
    vm->on_template = opt->on_template;
    vm->pins = json_object();
    vm->host_cpus = cpus > 0 ? (uint32_t)cpus : 1;
    vm->site = (struct vmmachine_site){ .loop = l,
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
    vm->tick = timer_new(l, TICK_MS, TICK_MS, on_tick, vm);
    vm->clock = vmclock_new(l, on_clock, vm);
    *ret = &vm->base;
    return 0;
}

bool vm_can_emulate(const struct runtime *rt)
{
    return ((const struct vm *)rt)->site.vmm_number == VMWIRE_QEMU;
}

const char *vm_notice(struct runtime *rt)
{
    struct vm *vm = vm_of(rt);
    struct err err = ERR_INIT;
    if (vmready_open(vm, &err) < 0)
        (void)snprintf(vm->slow_why, sizeof(vm->slow_why), "%.230s", err.msg);
    return vm->slow_why;
}
