/* Theory of operation. QEMU runs with -machine microvm: virtio over memory-mapped registers, no PCI, almost no
 * firmware. qemu_argv() runs in the tool and builds the command line; the rest runs in the daemon and controls QEMU by
 * QMP. QEMU may neither open files nor start processes, so state and drives go through descriptors that QMP passes.
 *
 * `struct vmm` owns the QMP connection, at most one transfer (save or load, which ends by a MIGRATION event), and the
 * resumes, plugs and unplugs under way. Each calls its caller once; when the connection is lost, all of them fail and
 * on_lost is called.
 *
 * should_run is what the driver asked for last. QEMU pauses a guest whose write fails because the host's disk is
 * full (BLOCK_IO_ERROR): a timer resumes it until there is space. QEMU reports the end of a transfer before it
 * accepts `cont`, so a refused resume is tried again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/ident.h"
#include "base/list.h"
#include "os/vm_handshake.h"
#include "vm/vmm/qmp.h"
#include "vm/vmm/vmm.h"

#define STATE_NAME   "state"
#define VOLUMES      "volumes"
#define TARGETS      255u /* of a SCSI controller */
#define TARGET_TRIES 64u
#define RETRY_MS     1000
#define AGAIN_MS     10
#define AGAIN_TRIES  3000u

struct unplugging {
    struct unplugging *next;
    struct vmm *m;
    char id[IDENT_MAX];
    bool is_gone; /* DEVICE_DELETED has arrived; the command has its own reply */
    vmm_fn *fn;
    void *arg;
};

struct resuming {
    struct resuming *next;
    struct vmm *m;
    struct timer *again;
    unsigned tries;
    struct err err; /* of the last try */
    vmm_fn *fn;
    void *arg;
};

struct vmm {
    struct qmp *qmp;
    struct loop *loop;
    loop_fn *on_lost;
    void *arg;
    vmm_fn *fn; /* of the transfer under way, which ends by an event; NULL: none */
    void *fn_arg;
    bool should_run; /* what we were asked for last */
    /* The guest is paused because the host's disk is full: retried until there is space. */
    struct timer *retry;
    loop_fn *on_late;
    struct resuming *resumings;
    struct unplugging *unpluggings;
    uint8_t last_target; /* no number twice in a row: the guest may still be removing the last drive */
};

/* --- in the tool --- */

static void add_drive(struct vmm_args *a, const char *name, int fd, unsigned set, bool is_readonly)
{
    vmm_args_add(a, "-add-fd");
    vmm_args_add(a, "fd=%d,set=%u", fd, set);
    vmm_args_add(a, "-blockdev");
    vmm_args_add(a,
                 "driver=raw,node-name=%s,read-only=%s,discard=unmap,file.driver=file,file.filename=/dev/fdset/%u,"
                 "file.locking=off,file.read-only=%s",
                 name, is_readonly ? "on" : "off", set, is_readonly ? "on" : "off");
    vmm_args_add(a, "-device");
    vmm_args_add(a, "virtio-blk-device,drive=%s,serial=%s", name, name);
}

static void add_socket(struct vmm_args *a, const char *name, int fd)
{
    vmm_args_add(a, "-chardev");
    vmm_args_add(a, "socket,id=%s,fd=%d,server=on,wait=off", name, fd);
}

static void add_fixed(struct vmm_args *a)
{
    static const char *const fixed[] = {
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-monitor",
        "none",
        /* denies what it never needs: starting programs, new privileges, obsolete system calls, scheduling */
        "-sandbox",
        "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
        "-device",
        "virtio-rng-device",
    };
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
        vmm_args_add(a, "%s", fixed[i]);
}

/* Last, so that the other devices keep their addresses. Without the offload header, so that the host's kernel gets
 * complete frames and never a guest's request to segment one. Without announcements, which would wake the guest five
 * times after a restore for peers that it does not have. */
static void add_nics(struct vmm_args *a, bool has_taps)
{
    for (unsigned i = 0; i < VM_TOOL_WIRE_NICS; i++) {
        uint8_t mac[6];
        vm_handshake_mac(i, mac);
        char behind[24] = "";
        if (has_taps) {
            (void)snprintf(behind, sizeof(behind), ",netdev=nic%u", i);
            vmm_args_add(a, "-netdev");
            vmm_args_add(a, "tap,id=nic%u,fd=%d,vhost=off", i, VMM_TAP_FD(i));
        }
        vmm_args_add(a, "-device");
        vmm_args_add(a, "virtio-net-device,guest_announce=off,mac=%02x:%02x:%02x:%02x:%02x:%02x%s", mac[0], mac[1],
                     mac[2], mac[3], mac[4], mac[5], behind);
    }
}

static void qemu_argv(const struct vm_tool_wire_request *q, const char *command_line, struct vmm_args *a)
{
    bool is_kvm = q->flags & VM_TOOL_WIRE_KVM;
    vmm_args_add(a, "qemu-system-x86_64");
    vmm_args_add(a, "-name");
    vmm_args_add(a, "%s", q->name); /* by which tool.c finds it */
    vmm_args_add(a, "-machine");
    vmm_args_add(a, "microvm,pit=on,pic=on,rtc=on,acpi=on,isa-serial=on,memory-backend=mem");
    vmm_args_add(a, "-accel");
    vmm_args_add(a, "%s", is_kvm ? "kvm" : "tcg,thread=multi,tb-size=256");
    vmm_args_add(a, "-cpu");
    vmm_args_add(a, "%s", is_kvm ? "host" : "max");
    vmm_args_add(a, "-smp");
    vmm_args_add(a, "%u", q->cpus);
    vmm_args_add(a, "-m");
    vmm_args_add(a, "%uM", q->memory_mb);
    vmm_args_add(a, "-object");
    vmm_args_add(a, "memory-backend-file,id=mem,size=%uM,mem-path=" VMM_RAM_PATH ",share=%s", q->memory_mb,
                 q->flags & VM_TOOL_WIRE_SHARED_RAM ? "on" : "off");
    vmm_args_add(a, "-kernel");
    vmm_args_add(a, VMM_KERNEL_PATH);
    vmm_args_add(a, "-initrd");
    vmm_args_add(a, VMM_INITRD_PATH);
    vmm_args_add(a, "-append");
    vmm_args_add(a, "%s", command_line);
    add_fixed(a);
    add_drive(a, "base", VMM_FD(VM_TOOL_WIRE_FD_BASE), 1, true);
    add_drive(a, "disk", VMM_FD(VM_TOOL_WIRE_FD_DISK), 2, false);
    add_socket(a, "agent", VMM_FD(VM_TOOL_WIRE_FD_AGENT));
    vmm_args_add(a, "-device");
    vmm_args_add(a, "virtio-serial-device");
    vmm_args_add(a, "-device");
    vmm_args_add(a, "virtserialport,chardev=agent,name=agent,nr=1");
    add_socket(a, "notes", VMM_FD(VM_TOOL_WIRE_FD_NOTES));
    vmm_args_add(a, "-device");
    vmm_args_add(a, "virtserialport,chardev=notes,name=notes,nr=2");
    vmm_args_add(a, "-device");
    vmm_args_add(a, "virtio-scsi-device,id=" VOLUMES); /* for hot-plugged drives */
    add_socket(a, "control", VMM_FD(VM_TOOL_WIRE_FD_CONTROL));
    vmm_args_add(a, "-mon");
    vmm_args_add(a, "chardev=control,mode=control");
    add_socket(a, "console", VMM_FD(VM_TOOL_WIRE_FD_CONSOLE));
    vmm_args_add(a, "-serial");
    vmm_args_add(a, "chardev:console");
    add_nics(a, q->flags & VM_TOOL_WIRE_TAPS);
    if (q->flags & VM_TOOL_WIRE_INCOMING) {
        vmm_args_add(a, "-S");
        vmm_args_add(a, "-incoming");
        vmm_args_add(a, "defer");
    }
}

/* --- in the daemon --- */

struct call {
    vmm_fn *fn;
    void *arg;
};

static void call_on_value(void *arg, json_t *value, const struct err *err)
{
    CLEANUP(free_p) struct call *c = arg;
    (void)value;
    c->fn(c->arg, err);
}

static struct qmp_then then_tell(vmm_fn *fn, void *arg)
{
    struct call *c = xzalloc(sizeof(*c));
    *c = (struct call){ .fn = fn, .arg = arg };
    return (struct qmp_then){ .fn = call_on_value, .arg = c, .is_owned = true };
}

static void finish_transfer(struct vmm *m, const struct err *err)
{
    vmm_fn *fn = m->fn;
    m->fn = NULL;
    if (fn)
        fn(m->fn_arg, err);
}

static void on_deleted(struct vmm *m, const char *id);
static void unplug_over(struct unplugging *u, const struct err *err);

/* --- resume --- */

static void resuming_free(struct resuming *r)
{
    LIST_TAKE(r->m->resumings, r);
    timer_free(r->again);
    free(r);
}

static void resume_over(struct resuming *r, const struct err *err)
{
    vmm_fn *fn = r->fn;
    void *arg = r->arg;
    struct err why = err ? *err : (struct err)ERR_INIT;
    resuming_free(r);
    fn(arg, err ? &why : NULL);
}

/* QEMU reports the end of a transfer slightly before it is done with it, and refuses to resume until then. It may be
 * done between the refusal and this query. */
static void resume_on_refused(void *arg, json_t *value, const struct err *err)
{
    struct resuming *r = arg;
    const char *status = err ? "" : json_get_str(value, "status", "");
    bool is_saved = strcmp(status, "finish-migrate") == 0 || strcmp(status, "postmigrate") == 0;
    if (strcmp(status, "running") == 0)
        resume_over(r, NULL);
    else if (is_saved && r->tries++ < AGAIN_TRIES)
        timer_set(r->again, AGAIN_MS, 0);
    else
        resume_over(r, &r->err);
}

static void resume_on_cont(void *arg, json_t *value, const struct err *err)
{
    struct resuming *r = arg;
    (void)value;
    if (!err) {
        resume_over(r, NULL);
        return;
    }
    r->err = *err;
    qmp_run(r->m->qmp, "query-status", NULL, NO_FD, (struct qmp_then){ .fn = resume_on_refused, .arg = r });
}

static void try_resume(struct resuming *r)
{
    qmp_run(r->m->qmp, "cont", NULL, NO_FD, (struct qmp_then){ .fn = resume_on_cont, .arg = r });
}

static void resume_on_again(void *arg)
{
    struct resuming *r = arg;
    if (r->m->should_run)
        try_resume(r);
    else
        resume_over(r, &r->err); /* it was paused meanwhile */
}

static void resume_start(struct vmm *m, vmm_fn *fn, void *arg)
{
    struct resuming *r = xzalloc(sizeof(*r));
    *r = (struct resuming){ .next = m->resumings, .m = m, .fn = fn, .arg = arg };
    r->again = timer_new(m->loop, -1, 0, resume_on_again, r);
    m->resumings = r;
    try_resume(r);
}

static void resume_on_done(void *arg, const struct err *err)
{
    struct vmm *m = arg;
    if (!err && m->on_late)
        m->on_late(m->arg); /* an event reports it if the guest is paused again */
}

static void guest_on_retry(void *arg)
{
    struct vmm *m = arg;
    if (m->should_run && !m->fn) /* else it is resumed at the end of the transfer */
        resume_start(m, resume_on_done, m);
}

static void control_on_event(void *arg, const char *name, json_t *data)
{
    struct vmm *m = arg;
    struct err err = ERR_INIT;
    const char *status = strcmp(name, "MIGRATION") == 0 ? json_get_str(data, "status", "") : "";
    if (strcmp(name, "DEVICE_DELETED") == 0) {
        on_deleted(m, json_get_str(data, "device", ""));
    } else if (strcmp(name, "BLOCK_IO_ERROR") == 0 && strcmp(json_get_str(data, "action", ""), "stop") == 0) {
        /* The guest is paused: an error would make it give up its file systems because of a disk it does not know. */
        timer_set(m->retry, RETRY_MS, 0);
    } else if (strcmp(name, "MIGRATION") == 0 && !m->fn && m->should_run) {
        resume_start(m, resume_on_done, m); /* an earlier server started to save it: it is paused at the end of that */
    } else if (strcmp(status, "completed") == 0) {
        finish_transfer(m, NULL);
    } else if (strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0) {
        (void)err_set(&err, ERR_UPSTREAM, 0, "the VM's state could not be transferred");
        finish_transfer(m, &err);
    }
}

static void control_on_lost(void *arg)
{
    struct vmm *m = arg;
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_UPSTREAM, EPIPE, "the VMM is gone");
    finish_transfer(m, &err);
    while (m->unpluggings)
        unplug_over(m->unpluggings, &err);
    if (m->on_lost)
        m->on_lost(m->arg);
}

struct refusal {
    vmm_fn *fn;
    void *arg;
    struct err err;
};

static void tell_refusal(void *arg)
{
    CLEANUP(free_p) struct refusal *r = arg;
    r->fn(r->arg, &r->err);
}

static struct vmm *qemu_open(const struct vmm_start *s, vmm_fn *fn, void *arg)
{
    struct vmm *m = xzalloc(sizeof(*m));
    struct err err = ERR_INIT;
    *m = (struct vmm){ .loop = s->loop, .on_lost = s->on_lost, .on_late = s->on_late, .arg = s->arg };
    m->should_run = !(s->request->flags & VM_TOOL_WIRE_INCOMING);
    m->retry = timer_new(s->loop, -1, 0, guest_on_retry, m);
    ident_random(&m->last_target, sizeof(m->last_target)); /* an earlier server may have used the low numbers */
    struct qmp_options opt = {
        .loop = s->loop, .path = s->control, .on_event = control_on_event, .on_lost = control_on_lost, .arg = m
    };
    if (qmp_open(&opt, &m->qmp, &err) < 0) {
        struct refusal *r = xzalloc(sizeof(*r));
        *r = (struct refusal){ .fn = fn, .arg = arg, .err = err };
        loop_defer(s->loop, tell_refusal, r);
        return m;
    }
    qmp_run(m->qmp, "query-status", NULL, NO_FD, then_tell(fn, arg));
    return m;
}

static struct vmm *qemu_reopen(const struct vmm_start *s, vmm_fn *fn, void *arg)
{
    struct vmm *m = qemu_open(s, fn, arg);
    m->should_run = false; /* until we are asked to resume it */
    if (m->qmp)
        qmp_run(m->qmp, "migrate_cancel", NULL, NO_FD, (struct qmp_then){ 0 }); /* fails where there is none */
    return m;
}

static void qemu_close(struct vmm *m)
{
    if (!m)
        return;
    m->fn = NULL;
    timer_free(m->retry);
    qmp_close(m->qmp);
    while (m->resumings)
        resuming_free(m->resumings);
    for (struct unplugging *u; (u = m->unpluggings);) {
        m->unpluggings = u->next;
        free(u);
    }
    free(m);
}

static void qemu_pause(struct vmm *m, vmm_fn *fn, void *arg)
{
    m->should_run = false;
    qmp_run(m->qmp, "stop", NULL, NO_FD, then_tell(fn, arg));
}

static void qemu_resume(struct vmm *m, vmm_fn *fn, void *arg)
{
    m->should_run = true;
    resume_start(m, fn, arg);
}

/* A step that fails ends the transfer; else the event does. */
static void transfer_on_step(void *arg, json_t *value, const struct err *err)
{
    struct vmm *m = arg;
    (void)value;
    if (err)
        finish_transfer(m, err);
}

static struct qmp_then then_next_step(struct vmm *m)
{
    return (struct qmp_then){ .fn = transfer_on_step, .arg = m };
}

static void transfer_start(struct vmm *m, const char *command, int state_fd, bool with_ram, struct call what)
{
    m->fn = what.fn;
    m->fn_arg = what.arg;
    qmp_run(m->qmp, "migrate-set-capabilities",
            json_pack("{s:[{s:s, s:b}, {s:s, s:b}]}", "capabilities", "capability", "events", "state", 1, "capability",
                      "x-ignore-shared", "state", !with_ram),
            NO_FD, then_next_step(m));
    /* No need to save bandwidth: the VM is paused. */
    qmp_run(m->qmp, "migrate-set-parameters", json_pack("{s:I}", "max-bandwidth", (json_int_t)1 << 40), NO_FD,
            then_next_step(m));
    qmp_run(m->qmp, "getfd", json_pack("{s:s}", "fdname", STATE_NAME), state_fd, then_next_step(m));
    qmp_run(m->qmp, command, json_pack("{s:s}", "uri", "fd:" STATE_NAME), NO_FD, then_next_step(m));
}

static void qemu_save(struct vmm *m, int state_fd, bool with_ram, vmm_fn *fn, void *arg)
{
    transfer_start(m, "migrate", state_fd, with_ram, (struct call){ fn, arg });
}

static void qemu_load(struct vmm *m, int state_fd, bool with_ram, vmm_fn *fn, void *arg)
{
    transfer_start(m, "migrate-incoming", state_fd, with_ram, (struct call){ fn, arg });
}

/* --- hot-plugged drives --- */

struct plugging {
    struct vmm *m;
    char id[IDENT_MAX];
    bool is_readonly;
    unsigned tries;
    struct err err;
    vmm_fn *fn;
    void *arg;
};

static struct qmp_then then_plug(struct plugging *p, qmp_fn *fn)
{
    return (struct qmp_then){ .fn = fn, .arg = p, .is_owned = true };
}

static void plug_failed(void *arg, json_t *value, const struct err *err)
{
    CLEANUP(free_p) struct plugging *p = arg;
    (void)value;
    (void)err; /* the first one counts */
    p->fn(p->arg, &p->err);
}

static void add_device(struct plugging *p);

static void plug_on_device(void *arg, json_t *value, const struct err *err)
{
    struct plugging *p = arg;
    (void)value;
    if (!err) {
        p->fn(p->arg, NULL);
        free(p);
        return;
    }
    p->err = *err;
    if (++p->tries < TARGET_TRIES) /* another drive may have the number */
        add_device(p);
    else
        qmp_run(p->m->qmp, "blockdev-del", json_pack("{s:s}", "node-name", p->id), NO_FD, then_plug(p, plug_failed));
}

static void add_device(struct plugging *p)
{
    p->m->last_target = (uint8_t)((p->m->last_target + 1u) % TARGETS);
    json_t *args = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "driver", "scsi-hd", "id", p->id, "bus", VOLUMES ".0",
                             "drive", p->id, "serial", p->id, "scsi-id", (int)p->m->last_target);
    qmp_run(p->m->qmp, "device_add", args, NO_FD, then_plug(p, plug_on_device));
}

static void plug_on_node(void *arg, json_t *value, const struct err *err)
{
    struct plugging *p = arg;
    (void)value;
    if (!err) {
        add_device(p);
        return;
    }
    p->err = *err;
    plug_failed(p, NULL, err);
}

/* The fd set was only needed to open it: what is open stays open. */
static void plug_on_fdset(void *arg, json_t *value, const struct err *err)
{
    struct plugging *p = arg;
    char path[40];
    json_int_t set = json_get_int(value, "fdset-id", -1);
    if (err || set < 0) {
        (void)(err ? (p->err = *err, 0) : err_set(&p->err, ERR_UPSTREAM, 0, "the VMM has not named the drive"));
        plug_failed(p, NULL, NULL);
        return;
    }
    (void)snprintf(path, sizeof(path), "/dev/fdset/%lld", (long long)set);
    json_t *args = json_pack("{s:s, s:s, s:b, s:s, s:{s:s, s:s, s:s, s:b}}", "driver", "raw", "node-name", p->id,
                             "read-only", p->is_readonly, "discard", "unmap", "file", "driver", "file", "filename",
                             path, "locking", "off", "read-only", p->is_readonly);
    qmp_run(p->m->qmp, "blockdev-add", args, NO_FD, then_plug(p, plug_on_node));
    qmp_run(p->m->qmp, "remove-fd", json_pack("{s:I}", "fdset-id", set), NO_FD, (struct qmp_then){ 0 });
}

static void qemu_plug(struct vmm *m, const struct vmm_drive *d, vmm_fn *fn, void *arg)
{
    struct plugging *p = xzalloc(sizeof(*p));
    *p = (struct plugging){ .m = m, .is_readonly = d->is_readonly, .fn = fn, .arg = arg };
    (void)snprintf(p->id, sizeof(p->id), "%s", d->id);
    qmp_run(m->qmp, "add-fd", NULL, d->fd, then_plug(p, plug_on_fdset));
}

static void unplug_over(struct unplugging *u, const struct err *err)
{
    LIST_TAKE(u->m->unpluggings, u);
    u->fn(u->arg, err);
    free(u);
}

static void on_node_gone(void *arg, json_t *value, const struct err *err)
{
    (void)value;
    unplug_over(arg, err);
}

static void on_deleted(struct vmm *m, const char *id)
{
    for (struct unplugging *u = m->unpluggings; u; u = u->next) {
        if (u->is_gone || strcmp(u->id, id) != 0)
            continue;
        u->is_gone = true;
        qmp_run(m->qmp, "blockdev-del", json_pack("{s:s}", "node-name", id), NO_FD,
                (struct qmp_then){ .fn = on_node_gone, .arg = u });
        return;
    }
}

static void on_unplug(void *arg, json_t *value, const struct err *err)
{
    struct unplugging *u = arg;
    (void)value;
    if (err && !u->is_gone)
        unplug_over(u, err);
}

static void qemu_unplug(struct vmm *m, const char *id, vmm_fn *fn, void *arg)
{
    struct unplugging *u = xzalloc(sizeof(*u));
    *u = (struct unplugging){ .next = m->unpluggings, .m = m, .fn = fn, .arg = arg };
    (void)snprintf(u->id, sizeof(u->id), "%s", id);
    m->unpluggings = u;
    qmp_run(m->qmp, "device_del", json_pack("{s:s}", "id", id), NO_FD, (struct qmp_then){ .fn = on_unplug, .arg = u });
}

static void drive_on_nodes(void *arg, json_t *value, const struct err *err)
{
    CLEANUP(free_p) struct plugging *p = arg;
    size_t i;
    json_t *node;
    bool is_there = false;
    json_array_foreach(value, i, node) if (strcmp(json_get_str(node, "name", ""), p->id) == 0) is_there = true;
    if (!err && !is_there)
        (void)err_set(&p->err, ERR_NOT_FOUND, 0, "the VM has no drive %s", p->id);
    p->fn(p->arg, err ? err : is_there ? NULL : &p->err);
}

static void qemu_has_drive(struct vmm *m, const char *id, vmm_fn *fn, void *arg)
{
    struct plugging *p = xzalloc(sizeof(*p));
    *p = (struct plugging){ .m = m, .fn = fn, .arg = arg };
    (void)snprintf(p->id, sizeof(p->id), "%s", id);
    qmp_run(m->qmp, "qom-list", json_pack("{s:s}", "path", "/machine/peripheral"), NO_FD, then_plug(p, drive_on_nodes));
}

const struct vmm_ops qemu_ops = { .name = "qemu",
                                  .shape = 4,
                                  .program = "qemu-system-x86_64",
                                  .can_save = true,
                                  .can_save_live = true,
                                  .argv = qemu_argv,
                                  .open = qemu_open,
                                  .reopen = qemu_reopen,
                                  .close = qemu_close,
                                  .pause = qemu_pause,
                                  .resume = qemu_resume,
                                  .save = qemu_save,
                                  .plug = qemu_plug,
                                  .unplug = qemu_unplug,
                                  .has_drive = qemu_has_drive,
                                  .load = qemu_load };
