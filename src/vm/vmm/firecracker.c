/* Theory of operation. Firecracker is configured by a series of API calls and started by one more. It opens everything
 * by name, so the tool gives it a root that contains the names (VMM_..._PATH) and a folder for the two sockets that it
 * makes itself (API and vsock) and for the files of a snapshot.
 *
 * The VMM can write to that folder: what we need from it is opened before the VMM is asked to write, or without
 * following links (vsock_connect.h).
 *
 * `struct vmm` owns the API connection and at most one transfer (save or load) at a time, whose copying runs in a
 * `struct job` on a pool thread. Closing the VMM while a job runs leaves the job to its thread. Every callback is
 * called once, except after close().
 *
 * The memory of a saved VM is a file that clones map copy-on-write. A booted VM has its memory in no file; a save
 * with VM_TOOL_WIRE_SHARED_RAM writes it into the one that it was given. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/list.h"
#include "os/vm_handshake.h"
#include "vm/snapshot/copy.h"
#include "vm/vmm/firecracker_api.h"
#include "vm/vmm/vmm.h"

#define CALL_MS      10000
#define STATE_MS     300000 /* all of the memory is written to a disk */
#define STATE_MAX    (64u << 20)
#define CID          3 /* every VMM has its own vsock, so the ids cannot collide */
#define CPUS_MAX     32
#define MAJOR_MIN    1
#define MINOR_MIN    8
#define STATE_FILE   "state"
#define MEMORY_FILE  "memory"
#define IN_BOX(name) VMM_BOX_PATH "/" name

struct job; /* copies on a pool thread */

struct vmm {
    struct loop *loop;
    struct firecracker_api *api;
    struct vm_tool_wire_request q;
    int box_fd; /* borrowed */
    char *command_line;
    int64_t call_ms;
    unsigned step; /* of the boot sequence */
    vmm_fn *fn;    /* of the open, or of the transfer under way */
    void *arg;
    struct job *job;
    struct call *calls; /* pauses and resumes under way; the API serves them in order */
};

/* --- in the tool --- */

static void firecracker_argv(const struct vm_tool_wire_request *q, const char *command_line, struct vmm_args *a)
{
    (void)command_line; /* part of the boot source */
    vmm_args_add(a, "firecracker");
    vmm_args_add(a, "--api-sock");
    vmm_args_add(a, IN_BOX(VMM_API_NAME));
    vmm_args_add(a, "--id");
    vmm_args_add(a, "%s", q->name);
}

/* --- in the daemon: answers --- */

static void transfer_finish(struct vmm *m, const struct err *err)
{
    vmm_fn *fn = m->fn;
    m->fn = NULL;
    if (fn)
        fn(m->arg, err);
}

static void transfer_on_answer(void *arg, json_t *answer, const struct err *err)
{
    (void)answer;
    transfer_finish(arg, err);
}

struct refusal {
    vmm_fn *fn;
    void *arg;
    struct err err;
};

static void call_on_refused(void *arg)
{
    CLEANUP(free_p) struct refusal *r = arg;
    r->fn(r->arg, &r->err);
}

/* Calls back from the loop, because we are inside the caller's call. */
static void call_refuse(struct vmm *m, vmm_fn *fn, void *arg, const struct err *err)
{
    struct refusal *r = xzalloc(sizeof(*r));
    *r = (struct refusal){ .fn = fn, .arg = arg, .err = *err };
    loop_defer(m->loop, call_on_refused, r);
}

static void api_put(struct vmm *m, const char *path, json_t *body, firecracker_api_fn *fn)
{
    firecracker_api_run(m->api, &(struct firecracker_api_request){ "PUT", path, body, m->call_ms }, fn, m);
}

/* --- boot --- */

static json_t *instance_config(const struct vmm *m)
{
    uint32_t cpus = m->q.cpus < CPUS_MAX ? m->q.cpus : CPUS_MAX;
    if (cpus > 1)
        cpus += cpus % 2; /* one, or an even number; the control group enforces the limit */
    /* Dirty page tracking costs time and only serves differential snapshots; ours are full. */
    return json_pack("{s:i, s:i, s:b, s:b}", "vcpu_count", (int)cpus, "mem_size_mib", (int)m->q.memory_mb, "smt", 0,
                     "track_dirty_pages", 0);
}

static json_t *boot_source(const struct vmm *m)
{
    return json_pack("{s:s, s:s, s:s}", "kernel_image_path", VMM_KERNEL_PATH, "initrd_path", VMM_INITRD_PATH,
                     "boot_args", m->command_line);
}

static json_t *drive_config(const char *id, const char *path, bool is_readonly)
{
    return json_pack("{s:s, s:s, s:b, s:b}", "drive_id", id, "path_on_host", path, "is_root_device", 0, "is_read_only",
                     is_readonly);
}

static json_t *base_drive(const struct vmm *m)
{
    (void)m;
    return drive_config("base", VMM_BASE_PATH, true);
}

static json_t *disk_drive(const struct vmm *m)
{
    (void)m;
    return drive_config("disk", VMM_DISK_PATH, false);
}

static json_t *vsock_config(const struct vmm *m)
{
    (void)m;
    return json_pack("{s:i, s:s}", "guest_cid", CID, "uds_path", IN_BOX(VMM_VSOCK_NAME));
}

static json_t *entropy_config(const struct vmm *m)
{
    (void)m;
    return json_object();
}

/* The guest sees its drives in the order in which they are added. */
static const struct step {
    const char *path;
    json_t *(*body)(const struct vmm *m);
} steps[] = {
    { "/machine-config", instance_config }, { "/boot-source", boot_source }, { "/drives/base", base_drive },
    { "/drives/disk", disk_drive },         { "/vsock", vsock_config },      { "/entropy", entropy_config },
};
#define STEPS (sizeof(steps) / sizeof(*steps))

static void boot_on_step(void *arg, json_t *answer, const struct err *err)
{
    struct vmm *m = arg;
    unsigned nics = m->q.flags & VM_TOOL_WIRE_TAPS ? VM_TOOL_WIRE_NICS : 0, at = m->step++;
    (void)answer;
    if (err) {
        transfer_finish(m, err);
    } else if (at < STEPS) {
        api_put(m, steps[at].path, steps[at].body(m), boot_on_step);
    } else if (at < STEPS + nics) { /* after the drives: the guest numbers its devices the same without interfaces */
        unsigned nic = at - (unsigned)STEPS;
        uint8_t mac[6];
        char path[48], text[18], tap[16]; /* it opens the TAP by name in its own namespace, also after a load */
        vm_handshake_mac(nic, mac);
        (void)snprintf(path, sizeof(path), "/network-interfaces/nic%u", nic);
        (void)snprintf(tap, sizeof(tap), VM_TOOL_WIRE_TAP "%u", nic);
        (void)snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
                       mac[5]);
        api_put(
            m, path,
            json_pack("{s:s, s:s, s:s}", "iface_id", strrchr(path, '/') + 1, "host_dev_name", tap, "guest_mac", text),
            boot_on_step);
    } else {
        api_put(m, "/actions", json_pack("{s:s}", "action_type", "InstanceStart"), transfer_on_answer);
    }
}

/* --- opening --- */

static struct vmm *control_new(const struct vmm_start *s, vmm_fn *fn, void *arg)
{
    struct vmm *m = xzalloc(sizeof(*m));
    *m = (struct vmm){ .loop = s->loop,
                       .q = *s->request,
                       .box_fd = s->box_fd,
                       .command_line = xstrdup(s->command_line ? s->command_line : ""),
                       .call_ms = s->answer_ms ? s->answer_ms : CALL_MS,
                       .fn = fn,
                       .arg = arg };
    m->api = firecracker_api_new(s->loop, s->box_fd, VMM_API_NAME);
    return m;
}

/* "1.8.0-dev"; a version that does not start with two numbers is taken for a custom build. */
static bool is_too_old(const char *version)
{
    char *end;
    long major = strtol(version, &end, 10);
    if (end == version || *end != '.')
        return false;
    long minor = strtol(end + 1, NULL, 10);
    return major < MAJOR_MIN || (major == MAJOR_MIN && minor < MINOR_MIN);
}

/* Checks that it is our VM and in the expected state. */
static int check_state(const struct vmm *m, const json_t *info, bool is_new, struct err *err)
{
    const char *state = json_get_str(info, "state", ""), *version = json_get_str(info, "vmm_version", "");
    bool is_fresh = strcmp(state, "Not started") == 0;
    bool is_running = strcmp(state, "Running") == 0 || strcmp(state, "Paused") == 0;
    if (strcmp(json_get_str(info, "id", ""), m->q.name) != 0)
        return err_set(err, ERR_UPSTREAM, 0, "the Firecracker behind the API socket is not that of VM %s", m->q.name);
    if (is_new && is_too_old(version))
        return err_set(
            err, ERR_UNSUPPORTED, 0,
            "Firecracker %.40s is too old: %d.%d or newer is needed, since guests do not find the devices of "
            "older ones",
            version, MAJOR_MIN, MINOR_MIN);
    if (is_new ? !is_fresh : !is_running)
        return err_set(err, ERR_UPSTREAM, 0, "the Firecracker of VM %s is %s", m->q.name,
                       is_fresh     ? "not started"
                       : is_running ? "running already"
                                    : "in an unknown state");
    return 0;
}

static void on_new_info(void *arg, json_t *answer, const struct err *err)
{
    struct vmm *m = arg;
    struct err why = ERR_INIT;
    if (!err && check_state(m, answer, true, &why) < 0)
        err = &why;
    if (err || (m->q.flags & VM_TOOL_WIRE_INCOMING)) /* a load is accepted only before any other configuration */
        transfer_finish(m, err);
    else
        boot_on_step(m, NULL, NULL);
}

static void on_old_info(void *arg, json_t *answer, const struct err *err)
{
    struct vmm *m = arg;
    struct err why = ERR_INIT;
    if (!err && check_state(m, answer, false, &why) < 0)
        err = &why;
    transfer_finish(m, err);
}

static void ask_state(struct vmm *m, const struct err *err, firecracker_api_fn *fn)
{
    if (err)
        transfer_finish(m, err);
    else
        firecracker_api_run(m->api, &(struct firecracker_api_request){ "GET", "/", NULL, m->call_ms }, fn, m);
}

static void on_new_socket(void *arg, json_t *answer, const struct err *err)
{
    (void)answer;
    ask_state(arg, err, on_new_info);
}

static void on_old_socket(void *arg, json_t *answer, const struct err *err)
{
    (void)answer;
    ask_state(arg, err, on_old_info);
}

static struct vmm *firecracker_open(const struct vmm_start *s, vmm_fn *fn, void *arg)
{
    struct vmm *m = control_new(s, fn, arg);
    firecracker_api_wait(m->api, m->call_ms, on_new_socket, m);
    return m;
}

static struct vmm *firecracker_reopen(const struct vmm_start *s, vmm_fn *fn, void *arg)
{
    struct vmm *m = control_new(s, fn, arg);
    firecracker_api_wait(m->api, m->call_ms, on_old_socket, m);
    return m;
}

struct call {
    struct call *next;
    struct vmm *vmm;
    vmm_fn *fn;
    void *arg;
};

static void on_patched(void *arg, json_t *answer, const struct err *err)
{
    CLEANUP(free_p) struct call *c = arg;
    (void)answer;
    LIST_TAKE(c->vmm->calls, c);
    c->fn(c->arg, err);
}

static void patch_vm(struct vmm *m, const char *state, vmm_fn *fn, void *arg)
{
    struct call *c = xzalloc(sizeof(*c));
    *c = (struct call){ .next = m->calls, .vmm = m, .fn = fn, .arg = arg };
    m->calls = c;
    firecracker_api_run(
        m->api, &(struct firecracker_api_request){ "PATCH", "/vm", json_pack("{s:s}", "state", state), m->call_ms },
        on_patched, c);
}

static void firecracker_pause(struct vmm *m, vmm_fn *fn, void *arg)
{
    patch_vm(m, "Paused", fn, arg);
}

static void firecracker_resume(struct vmm *m, vmm_fn *fn, void *arg)
{
    patch_vm(m, "Resumed", fn, arg);
}

/* --- snapshots --- */

/* The state is copied between vm.c's file and one in the VM's folder, and the memory out of the folder: the VMM
 * keeps no access to files that other VMs are made from. */
struct job {
    struct loop *loop;
    struct vmm *vmm;          /* NULL: closed while the thread was at work */
    int kept_state, kept_ram; /* copies of vm.c's descriptors; NO_FD: the memory is not wanted */
    int state, ram;           /* in the folder */
    uint64_t ram_bytes;
    bool is_load, is_working;
    int result;
    struct err err;
};

static void job_free(struct job *j)
{
    const int fds[] = { j->kept_state, j->kept_ram, j->state, j->ram };
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]); /* write errors were already reported */
    free(j);
}

/* Makes a new file for the VMM to fill or read: what the VMM left under that name is never opened. */
static int make_file(int box_fd, const char *name)
{
    (void)unlinkat(box_fd, name, 0); /* of an earlier snapshot */
    int fd = openat(box_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, 0666) == 0) /* the VMM is another user; only the two of us can enter the folder */
        return fd < 0 ? -errno : fd;
    int r = -errno;
    (void)close(fd); /* empty */
    return r;
}

static int fd_copy(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    return copy < 0 ? -errno : copy;
}

static int job_new(struct vmm *m, int state_fd, int ram_fd, struct err *err)
{
    struct job *j = xzalloc(sizeof(*j));
    *j = (struct job){ .loop = m->loop, .vmm = m, .kept_ram = NO_FD, .ram = NO_FD, .state = NO_FD };
    j->ram_bytes = (uint64_t)m->q.memory_mb << 20;
    int r = j->kept_state = fd_copy(state_fd);
    if (r >= 0)
        r = j->state = make_file(m->box_fd, STATE_FILE);
    if (r >= 0 && ram_fd >= 0)
        r = j->kept_ram = fd_copy(ram_fd);
    if (r >= 0 && ram_fd >= 0)
        r = j->ram = make_file(m->box_fd, MEMORY_FILE);
    if (r < 0) {
        job_free(j);
        return err_sys(err, r, "make the files of a VM's state");
    }
    m->job = j;
    return 0;
}

/* Removes the transfer's files: the state has been copied, or is lost. */
static void end_transfer(struct vmm *m, const struct err *err)
{
    job_free(m->job);
    m->job = NULL;
    (void)unlinkat(m->box_fd, STATE_FILE, 0);  /* at the latest removed with the folder */
    (void)unlinkat(m->box_fd, MEMORY_FILE, 0); /* most transfers have none */
    transfer_finish(m, err);
}

static void transfer_on_loaded(void *arg, json_t *answer, const struct err *err)
{
    (void)answer;
    end_transfer(arg, err);
}

static void job_work(void *arg)
{
    struct job *j = arg;
    j->result = vm_copy_file(j->is_load ? j->kept_state : j->state, j->is_load ? j->state : j->kept_state, 1, STATE_MAX,
                             "the VM's state", &j->err);
    if (j->result == 0 && j->ram >= 0)
        j->result = vm_copy_file(j->ram, j->kept_ram, j->ram_bytes, j->ram_bytes, "the VM's memory", &j->err);
}

static void job_on_worked(void *arg)
{
    struct job *j = arg;
    struct vmm *m = j->vmm;
    struct err err = j->err;
    j->is_working = false;
    if (!m)
        job_free(j);
    else if (j->result < 0 || !j->is_load)
        end_transfer(m, j->result < 0 ? &err : NULL);
    else {
        json_t *body = json_pack("{s:s, s:{s:s, s:s}, s:b}", "snapshot_path", IN_BOX(STATE_FILE), "mem_backend",
                                 "backend_type", "File", "backend_path", VMM_RAM_PATH, "resume_vm", 0);
        firecracker_api_run(m->api, &(struct firecracker_api_request){ "PUT", "/snapshot/load", body, STATE_MS },
                            transfer_on_loaded, m);
    }
}

static void start_work(void *arg)
{
    struct job *j = arg;
    struct err err = ERR_INIT;
    if (!j->vmm) {
        job_free(j);
        return;
    }
    int r = loop_work(j->loop, job_work, job_on_worked, j);
    if (r == 0)
        return;
    j->is_working = false;
    (void)err_sys(&err, r, "copy a VM's state");
    end_transfer(j->vmm, &err);
}

static void transfer_on_saved(void *arg, json_t *answer, const struct err *err)
{
    struct vmm *m = arg;
    (void)answer;
    if (err) {
        end_transfer(m, err);
        return;
    }
    m->job->is_working = true;
    start_work(m->job);
}

static int begin_transfer(struct vmm *m, int state_fd, int ram_fd, vmm_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    int r = m->fn ? err_set(&err, ERR_CONFLICT, 0, "the VMM of VM %s is busy with something else", m->q.name)
                  : job_new(m, state_fd, ram_fd, &err);
    if (r < 0) {
        call_refuse(m, fn, arg, &err);
        return r;
    }
    m->fn = fn;
    m->arg = arg;
    return 0;
}

static void put_create(struct vmm *m, const char *memory_path)
{
    json_t *body = json_pack("{s:s, s:s, s:s}", "snapshot_type", "Full", "snapshot_path", IN_BOX(STATE_FILE),
                             "mem_file_path", memory_path);
    firecracker_api_run(m->api, &(struct firecracker_api_request){ "PUT", "/snapshot/create", body, STATE_MS },
                        transfer_on_saved, m);
}

/* A loaded VM reads its memory from the file it was loaded from: that file must not change. */
static void firecracker_save(struct vmm *m, int state_fd, bool with_ram, vmm_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    if (with_ram || !(m->q.flags & VM_TOOL_WIRE_SHARED_RAM)) {
        (void)err_set(&err, ERR_UNSUPPORTED, 0, "Firecracker saves the memory of a VM into a file of its own");
        call_refuse(m, fn, arg, &err);
    } else if (begin_transfer(m, state_fd, NO_FD, fn, arg) == 0) {
        put_create(m, VMM_RAM_PATH);
    }
}

static void firecracker_save_apart(struct vmm *m, int state_fd, int ram_fd, vmm_fn *fn, void *arg)
{
    if (begin_transfer(m, state_fd, ram_fd, fn, arg) == 0)
        put_create(m, IN_BOX(MEMORY_FILE));
}

static void firecracker_load(struct vmm *m, int state_fd, bool with_ram, vmm_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    if (with_ram) {
        (void)err_set(&err, ERR_UNSUPPORTED, 0, "Firecracker loads the memory of a VM from a file of its own");
        call_refuse(m, fn, arg, &err);
    } else if (begin_transfer(m, state_fd, NO_FD, fn, arg) == 0) {
        m->job->is_load = m->job->is_working = true;
        loop_defer(m->loop, start_work, m->job);
    }
}

static void firecracker_close(struct vmm *m)
{
    if (!m)
        return;
    (void)firecracker_api_free(m->api);
    if (m->job && m->job->is_working)
        m->job->vmm = NULL; /* freed when its thread is done */
    else if (m->job)
        job_free(m->job);
    for (struct call *c; (c = m->calls);) {
        m->calls = c->next;
        free(c);
    }
    free(m->command_line);
    free(m);
}

const struct vmm_ops firecracker_ops = { .shape = 2,
                                         .name = "firecracker",
                                         .program = "firecracker",
                                         .has_vsock = true,
                                         .can_save = true,
                                         .argv = firecracker_argv,
                                         .open = firecracker_open,
                                         .reopen = firecracker_reopen,
                                         .close = firecracker_close,
                                         .pause = firecracker_pause,
                                         .resume = firecracker_resume,
                                         .save = firecracker_save,
                                         .save_apart = firecracker_save_apart,
                                         .load = firecracker_load };
