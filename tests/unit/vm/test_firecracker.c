/* The Firecracker driver against the strict checker of its API (tests/vmm/fcchecker.py), which stands where the program
 * would, and with the real agent behind its vsock. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "docfile.h"
#include "guest/link.h"
#include "os/vm_handshake.h"
#include "tap.h"
#include "vm/vmm/firecracker_api.h"
#include "vm/vmm/vmm.h"
#include "vm/vmm/vsock_connect.h"

#define NAME    "0123456789abcdef"
#define MEMORY  64u
#define WAIT_MS 30000

/* A root as the tool would make it, a monitor in it, and a driver that talks to it. */
struct rig {
    char dir[32];
    int dir_fd, box_fd;
    pid_t vmm, agent;
    struct loop *loop;
    struct vmm *m;
    struct vm_tool_wire_request q;
    struct vmm_start start;
    int answers, fd;
    bool is_late;
    struct err err;
};

static const struct vmm_ops *const ops = &firecracker_ops;

static void touch(int dir, const char *name)
{
    CLEANUP(close_fd_p) int fd = openat(dir, name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
}

static pid_t spawn(char *const argv[])
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that crashes leaves nothing running */
        (void)execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static void start_vmm(struct rig *r, const char *name)
{
    CLEANUP(free_p) char *checker = docfile_path("tests/vmm/fcchecker.py");
    struct vmm_args args = { 0 };
    char *argv[VMM_ARGS_MAX + 3] = { (char *)(uintptr_t) "/usr/bin/python3", checker };
    CHECK_INT(setenv("FCCHECKER_ROOT", r->dir, 1), 0);
    ops->argv(&r->q, "", &args);
    CHECK_STR(args.list[0], "firecracker");
    for (unsigned i = 1; i < args.n; i++)
        argv[i + 1] = strcmp(args.list[i], NAME) == 0 ? (char *)(uintptr_t)name : args.list[i];
    r->vmm = spawn(argv);
    vmm_args_done(&args);
}

static void stop(pid_t *pid)
{
    if (*pid <= 0)
        return;
    (void)kill(*pid, SIGKILL);
    CHECK_INT(waitpid(*pid, NULL, 0), *pid);
    *pid = 0;
}

static void make_root(struct rig *r)
{
    static const char *const files[] = { "kernel", "initramfs", "base", "disk", "ram" };
    (void)snprintf(r->dir, sizeof(r->dir), "/tmp/test_fc.XXXXXX");
    CHECK(mkdtemp(r->dir) != NULL);
    r->dir_fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(mkdirat(r->dir_fd, "box", 0700), 0);
    r->box_fd = openat(r->dir_fd, "box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        touch(r->dir_fd, files[i]);
}

static void rig_init(struct rig *r)
{
    *r = (struct rig){ .fd = NO_FD };
    make_root(r);
    r->q = (struct vm_tool_wire_request){ .version = VM_TOOL_WIRE_VERSION,
                                          .op = VM_TOOL_WIRE_START,
                                          .vmm = VM_TOOL_WIRE_FIRECRACKER,
                                          .memory_mb = MEMORY,
                                          .cpus = 3 };
    (void)snprintf(r->q.name, sizeof(r->q.name), NAME);
    CHECK_INT(loop_new(&r->loop, NULL), 0);
    r->start = (struct vmm_start){ .loop = r->loop,
                                   .box_fd = r->box_fd,
                                   .command_line = "console=ttyS0 \"quiet\"",
                                   .request = &r->q,
                                   .answer_ms = 10000 };
}

/* A fresh process in the same root, as a clone would have: nothing of the old one's folder. */
static void empty_box(struct rig *r)
{
    static const char *const left[] = { VMM_API_NAME, VMM_VSOCK_NAME, "state", "memory" };
    for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++)
        (void)unlinkat(r->box_fd, left[i], 0); /* not all are there */
}

static void rig_done(struct rig *r)
{
    static const char *const files[] = { "kernel", "initramfs", "base", "disk", "ram", "log", "agent", "pack" };
    ops->close(r->m);
    stop(&r->vmm);
    stop(&r->agent);
    if (r->fd >= 0)
        (void)close(r->fd);
    empty_box(r);
    CHECK_INT(unlinkat(r->dir_fd, "box", AT_REMOVEDIR), 0); /* nothing else is in it */
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        (void)unlinkat(r->dir_fd, files[i], 0); /* not all are there */
    CHECK_INT(rmdir(r->dir), 0);
    (void)close(r->box_fd);
    (void)close(r->dir_fd);
    loop_free(r->loop);
    (void)unsetenv("FCCHECKER_FAULT");
    (void)unsetenv("FCCHECKER_VSOCK");
    (void)unsetenv("FCCHECKER_LOG");
}

static void on_late(void *arg)
{
    struct rig *r = arg;
    r->is_late = true;
    loop_stop(r->loop);
}

static void wait_answer(struct rig *r)
{
    int before = r->answers;
    struct timer *t = timer_new(r->loop, WAIT_MS, 0, on_late, r);
    while (r->answers == before && !r->is_late)
        loop_run(r->loop);
    timer_free(t);
    CHECK(!r->is_late);
    CHECK_INT(r->answers, before + 1);
}

static void on_answer(void *arg, const struct err *err)
{
    struct rig *r = arg;
    r->answers++;
    r->err = err ? *err : (struct err)ERR_INIT;
    loop_stop(r->loop);
}

static void good(struct rig *r)
{
    CHECK_INT(r->err.code, ERR_NONE);
    if (r->err.code)
        printf("# %s\n", r->err.msg);
}

static void boot(struct rig *r)
{
    start_vmm(r, NAME);
    r->m = ops->open(&r->start, on_answer, r);
    CHECK_INT(r->answers, 0);
    wait_answer(r);
}

static char *log_of(struct rig *r)
{
    CLEANUP(close_fd_p) int fd = openat(r->dir_fd, "log", O_RDONLY | O_CLOEXEC);
    struct buf text = BUF_INIT(1u << 20);
    char piece[4096];
    for (ssize_t n; fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0;)
        CHECK_INT(buf_add(&text, piece, (size_t)n), 0);
    return buf_steal(&text, NULL);
}

static void keep_log(struct rig *r)
{
    CLEANUP(free_p) char *path = xasprintf("%s/log", r->dir);
    CHECK_INT(setenv("FCCHECKER_LOG", path, 1), 0);
}

/* Each is there, in this order. */
static void check_order(const char *text, const char *const *lines)
{
    for (; *lines; lines++) {
        const char *at = strstr(text, *lines);
        if (!at) {
            CHECK_STR(*lines, "in this order in the log");
            return;
        }
        text = at + strlen(*lines);
    }
}

/* --- the agent behind the vsock --- */

static void start_agent(struct rig *r)
{
    CLEANUP(free_p) char *path = xasprintf("%s/agent", r->dir);
    const char *program = getenv("III_GUEST");
    char *argv[] = { (char *)(uintptr_t)program, (char *)(uintptr_t) "--listen-unix", path, NULL };
    CHECK_INT(setenv("FCCHECKER_AGENT", path, 1), 0);
    r->agent = spawn(argv);
}

static void on_stream(void *arg, int fd, const struct err *err)
{
    struct rig *r = arg;
    r->fd = fd;
    on_answer(r, err);
}

static void open_stream(struct rig *r, int64_t timeout_ms)
{
    struct vsock_connect_where where = {
        .folder_fd = r->box_fd, .name = VMM_VSOCK_NAME, .port = VM_HANDSHAKE_PORT, .timeout_ms = timeout_ms
    };
    (void)vsock_connect_open(r->loop, &where, on_stream, r);
    wait_answer(r);
}

struct command {
    struct rig *r;
    struct guest_exec *x;
    struct buf out;
    int code;
};

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct command *c = arg;
    (void)fd;
    CHECK_INT(buf_add(&c->out, data, len), 0);
    guest_exec_credit(c->x, len);
}

static void on_exit_of(void *arg, const struct guest_exit *ex)
{
    struct command *c = arg;
    c->code = ex->code;
    on_answer(c->r, NULL);
}

static void on_failed(void *arg, const struct err *err)
{
    struct command *c = arg;
    on_answer(c->r, err);
}

static void on_gone(void *arg, const struct err *err)
{
    struct rig *r = arg;
    CHECK_STR(err->msg, "not gone");
    loop_stop(r->loop);
}

static void check_exec(struct rig *r, const char *script, const char *output)
{
    static const struct guest_exec_events events = { .on_output = on_output,
                                                     .on_exit = on_exit_of,
                                                     .on_failed = on_failed };
    const char *argv[] = { "sh", "-c", script, NULL };
    struct guest_exec_plan plan = { .argv = argv };
    struct guest_link *g = NULL;
    struct command c = { .r = r, .out = BUF_INIT(65536), .code = -1 };
    open_stream(r, WAIT_MS);
    good(r);
    if (r->fd < 0)
        return;
    CHECK_INT(guest_link_new(r->loop, r->fd, on_gone, r, &g), 0);
    r->fd = NO_FD;
    CHECK_INT(guest_exec_start(g, &plan, &events, &c, &c.x, NULL), 0);
    wait_answer(r);
    good(r);
    CHECK_INT(c.code, 7);
    CHECK_STR(buf_text(&c.out), output);
    buf_done(&c.out);
    guest_link_free(g);
}

/* --- tests --- */

TEST(a_instance_is_configured_in_order_and_started)
{
    static const char *const wanted[] = {
        "> GET /",
        "\"state\": \"Not started\"",
        "> PUT /machine-config {\"mem_size_mib\": 64, \"smt\": false, \"track_dirty_pages\": false, \"vcpu_count\": 4}",
        "< 204",
        "> PUT /boot-source {\"boot_args\": \"console=ttyS0 \\\"quiet\\\"\", \"initrd_path\": \"/initramfs\", "
        "\"kernel_image_path\": \"/kernel\"}",
        "< 204",
        "> PUT /drives/base {\"drive_id\": \"base\", \"is_read_only\": true, \"is_root_device\": false, "
        "\"path_on_host\": \"/base\"}",
        "< 204",
        "> PUT /drives/disk {\"drive_id\": \"disk\", \"is_read_only\": false, \"is_root_device\": false, "
        "\"path_on_host\": \"/disk\"}",
        "< 204",
        "> PUT /vsock {\"guest_cid\": 3, \"uds_path\": \"/box/vsock.sock\"}",
        "< 204",
        "> PUT /entropy {}",
        "< 204",
        "> PUT /network-interfaces/nic0 {\"guest_mac\": \"02:69:76:6d:00:00\", \"host_dev_name\": \"tap0\", "
        "\"iface_id\": \"nic0\"}",
        "< 204",
        "> PUT /network-interfaces/nic1 {\"guest_mac\": \"02:69:76:6d:00:01\", \"host_dev_name\": \"tap1\", "
        "\"iface_id\": \"nic1\"}",
        "< 204",
        "> PUT /network-interfaces/nic2",
        "< 204",
        "> PUT /network-interfaces/nic3",
        "< 204",
        "> PUT /network-interfaces/nic4 {\"guest_mac\": \"02:69:76:6d:00:04\", \"host_dev_name\": \"tap4\", "
        "\"iface_id\": \"nic4\"}",
        "< 204",
        "> PUT /actions {\"action_type\": \"InstanceStart\"}",
        "< 204",
        NULL
    };
    struct rig r;
    rig_init(&r);
    r.q.flags |= VM_TOOL_WIRE_TAPS;
    keep_log(&r);
    boot(&r);
    good(&r);
    CLEANUP(free_p) char *log = log_of(&r);
    check_order(log, wanted);
    CHECK(!strstr(log, "< 400") && !strstr(log, "nic5"));
    rig_done(&r);
}

TEST(without_taps_it_has_no_interface)
{
    struct rig r;
    rig_init(&r);
    keep_log(&r);
    boot(&r);
    good(&r);
    CLEANUP(free_p) char *log = log_of(&r);
    CHECK(strstr(log, "InstanceStart") && !strstr(log, "/network-interfaces/"));
    rig_done(&r);
}

TEST(a_command_runs_through_the_handshake_and_the_instance_pauses)
{
    struct rig r;
    rig_init(&r);
    start_agent(&r);
    boot(&r);
    good(&r);
    check_exec(&r, "echo through; exit 7", "through\n");
    ops->resume(r.m, on_answer, &r);
    ops->pause(r.m, on_answer, &r); /* while the other is under way: then it stands still */
    wait_answer(&r);
    good(&r);
    wait_answer(&r);
    good(&r);
    open_stream(&r, 200);
    CHECK_INT(r.err.code, ERR_TIMEOUT);
    ops->resume(r.m, on_answer, &r);
    wait_answer(&r);
    good(&r);
    check_exec(&r, "echo again; exit 7", "again\n");
    rig_done(&r);
}

static int file_in(struct rig *r, const char *name, int flags)
{
    int fd = openat(r->dir_fd, name, O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);
    CHECK(fd >= 0);
    return fd;
}

static void pause_it(struct rig *r)
{
    ops->pause(r->m, on_answer, r);
    wait_answer(r);
    good(r);
}

/* Into a file in the root: the one that the next machine gets as its memory. */
static void save(struct rig *r, int state, bool is_apart)
{
    if (is_apart) {
        CLEANUP(close_fd_p) int ram = file_in(r, "ram", O_TRUNC);
        ops->save_apart(r->m, state, ram, on_answer, r);
    } else {
        ops->save(r->m, state, false, on_answer, r);
    }
    wait_answer(r);
}

/* Saves one machine and loads it into another process. */
static void save_and_load(bool is_apart)
{
    struct rig r;
    struct stat st;
    rig_init(&r);
    r.q.flags = is_apart ? 0 : VM_TOOL_WIRE_SHARED_RAM;
    start_agent(&r);
    boot(&r);
    good(&r);
    CLEANUP(close_fd_p) int state = file_in(&r, "pack", O_TRUNC);
    save(&r, state, is_apart);
    CHECK_INT(r.err.code, ERR_UPSTREAM); /* it is not paused */
    CHECK(strstr(r.err.msg, "PUT /snapshot/create with 400: Cannot create snapshot"));
    pause_it(&r);
    save(&r, state, is_apart);
    good(&r);
    CHECK_INT(fstatat(r.dir_fd, "ram", &st, 0), 0);
    CHECK_INT(st.st_size, MEMORY << 20);
    CHECK(!is_apart || st.st_blocks < 2048); /* zeroes are holes in a copy */
    CHECK_INT(fstat(state, &st), 0);
    CHECK(st.st_size > 100 && st.st_size < 65536);
    ops->close(r.m);
    stop(&r.vmm);
    empty_box(&r);
    r.q.flags = VM_TOOL_WIRE_INCOMING;
    r.answers = 0;
    boot(&r);
    good(&r);
    ops->load(r.m, state, false, on_answer, &r);
    wait_answer(&r);
    good(&r);
    open_stream(&r, 200); /* it arrives paused */
    CHECK_INT(r.err.code, ERR_TIMEOUT);
    ops->save(r.m, state, false, on_answer, &r); /* would write to the memory that it was loaded from */
    wait_answer(&r);
    CHECK_INT(r.err.code, ERR_UNSUPPORTED);
    ops->resume(r.m, on_answer, &r);
    wait_answer(&r);
    good(&r);
    check_exec(&r, "echo loaded; exit 7", "loaded\n");
    ops->load(r.m, state, false, on_answer, &r); /* not into one that runs */
    wait_answer(&r);
    CHECK_INT(r.err.code, ERR_UPSTREAM);
    CHECK(strstr(r.err.msg, "after starting"));
    rig_done(&r);
}

TEST(a_saved_instance_is_loaded_by_another_process)
{
    save_and_load(false);
    save_and_load(true);
}

TEST(a_damaged_state_or_foreign_memory_is_refused)
{
    struct rig r;
    rig_init(&r);
    r.q.flags = VM_TOOL_WIRE_INCOMING;
    boot(&r);
    good(&r);
    CLEANUP(close_fd_p) int state = file_in(&r, "pack", O_TRUNC);
    ops->load(r.m, state, false, on_answer, &r);
    wait_answer(&r);
    CHECK_INT(r.err.sys, EBADMSG);
    CHECK(strstr(r.err.msg, "the VM's state has 0 bytes"));
    CHECK_INT(ftruncate(state, (64 << 20) + 1), 0);
    ops->load(r.m, state, false, on_answer, &r);
    wait_answer(&r);
    CHECK_INT(r.err.sys, EBADMSG);
    CHECK_INT(ftruncate(state, 0), 0);
    CHECK_INT(write(state, "{\"no\": 1", 8), 8);
    ops->load(r.m, state, false, on_answer, &r);
    wait_answer(&r);
    CHECK(strstr(r.err.msg, "PUT /snapshot/load with 400: Load snapshot error"));
    rig_done(&r);
}

TEST(a_vmm_that_saves_too_little_is_not_believed)
{
    struct rig r;
    rig_init(&r);
    boot(&r);
    good(&r);
    pause_it(&r);
    CLEANUP(close_fd_p) int state = file_in(&r, "pack", O_TRUNC);
    ops->close(r.m);
    r.q.memory_mb = MEMORY * 2; /* as if it had written half of it */
    r.m = ops->reopen(&r.start, on_answer, &r);
    wait_answer(&r);
    good(&r);
    save(&r, state, true);
    CHECK_INT(r.err.sys, EBADMSG);
    CHECK(strstr(r.err.msg, "the VM's memory has 67108864 bytes"));
    rig_done(&r);
}

TEST(what_the_vmm_puts_into_its_folder_is_not_followed)
{
    struct rig r;
    struct stat st;
    rig_init(&r);
    r.q.flags = VM_TOOL_WIRE_SHARED_RAM;
    touch(r.dir_fd, "log");
    CHECK_INT(symlinkat("../log", r.box_fd, "state"), 0); /* where the driver will make a file */
    boot(&r);
    good(&r);
    pause_it(&r);
    CLEANUP(close_fd_p) int state = file_in(&r, "pack", O_TRUNC);
    save(&r, state, false);
    good(&r);
    CHECK_INT(fstatat(r.dir_fd, "log", &st, 0), 0);
    CHECK_INT(st.st_size, 0);
    CHECK_INT(unlinkat(r.box_fd, VMM_VSOCK_NAME, 0), 0);
    CHECK_INT(symlinkat(VMM_API_NAME, r.box_fd, VMM_VSOCK_NAME), 0);
    CHECK_INT(vsock_connect_find(r.box_fd, VMM_VSOCK_NAME), -ENOTSOCK);
    CHECK_INT(unlinkat(r.box_fd, VMM_API_NAME, 0), 0);
    CHECK_INT(vsock_connect_find(r.box_fd, VMM_API_NAME), -ENOENT);
    touch(r.box_fd, VMM_API_NAME);
    CHECK_INT(vsock_connect_find(r.box_fd, VMM_API_NAME), -ENOTSOCK);
    rig_done(&r);
}

TEST(a_server_that_comes_later_finds_its_instance_and_no_other)
{
    struct rig r;
    rig_init(&r);
    boot(&r);
    good(&r);
    ops->close(r.m);
    r.m = ops->reopen(&r.start, on_answer, &r);
    wait_answer(&r);
    good(&r);
    ops->close(r.m);
    r.m = ops->open(&r.start, on_answer, &r); /* as if it were new */
    wait_answer(&r);
    CHECK(strstr(r.err.msg, "is running already"));
    ops->close(r.m);
    stop(&r.vmm);
    empty_box(&r);
    start_vmm(&r, "another-machine");
    r.m = ops->reopen(&r.start, on_answer, &r);
    wait_answer(&r);
    CHECK(strstr(r.err.msg, "is not that of VM " NAME));
    ops->close(r.m);
    stop(&r.vmm);
    r.start.answer_ms = 200;
    r.m = ops->reopen(&r.start, on_answer, &r); /* nobody listens any more */
    wait_answer(&r);
    CHECK_INT(r.err.code, ERR_TIMEOUT);
    CHECK(strstr(r.err.msg, "does not open its API socket"));
    rig_done(&r);
}

TEST(bad_answers_end_the_boot_with_a_reason)
{
    static const struct {
        const char *fault;
        enum err_code code;
        const char *text;
    } cases[] = {
        { "PUT /boot-source 400", ERR_UPSTREAM,
          "Firecracker answers PUT /boot-source with 400: as the test wishes,  [31m in two lines!!!" },
        { "PUT /vsock hang", ERR_TIMEOUT, "PUT /vsock" },
        { "PUT /actions close", ERR_UPSTREAM, "PUT /actions" },
        { "PUT /entropy garbage", ERR_UPSTREAM, "PUT /entropy" },
        { "PUT /drives/disk huge", ERR_UPSTREAM, "PUT /drives/disk" },
        { "PUT /machine-config truncated", ERR_UPSTREAM, "PUT /machine-config" },
        { "GET / garbage", ERR_UPSTREAM, "GET /" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rig r;
        rig_init(&r);
        CHECK_INT(setenv("FCCHECKER_FAULT", cases[i].fault, 1), 0);
        r.start.answer_ms = strstr(cases[i].fault, "hang") ? 1000 : 10000;
        boot(&r);
        CHECK_INT(r.err.code, cases[i].code);
        if (!strstr(r.err.msg, cases[i].text) || strpbrk(r.err.msg, "\n\033"))
            CHECK_STR(r.err.msg, cases[i].text);
        CHECK(strlen(r.err.msg) < 300);
        rig_done(&r);
    }
}

TEST(a_call_under_way_can_be_left)
{
    struct rig r;
    rig_init(&r);
    boot(&r);
    good(&r);
    pause_it(&r);
    CLEANUP(close_fd_p) int pack = file_in(&r, "pack", O_TRUNC);
    ops->save_apart(r.m, pack, pack, on_answer, &r);
    ops->save_apart(r.m, pack, pack, on_answer, &r);
    wait_answer(&r);
    CHECK_INT(r.err.code, ERR_CONFLICT); /* one at a time */
    ops->resume(r.m, on_answer, &r);
    ops->close(r.m); /* before its call has begun, or while it is under way */
    r.m = ops->reopen(&r.start, on_answer, &r);
    wait_answer(&r);
    good(&r);
    int before = r.answers;
    ops->load(r.m, pack, false, on_answer, &r);
    ops->close(r.m); /* before its thread has begun */
    r.m = NULL;
    loop_settle(r.loop);
    CHECK_INT(r.answers, before);
    rig_done(&r);
}

TEST(the_handshake_is_taken_strictly_and_in_time)
{
    static const struct {
        const char *how;
        enum err_code code;
        const char *text;
    } cases[] = {
        { "refuse", ERR_TIMEOUT, "nothing in the guest listens" },
        { "garbage", ERR_UPSTREAM, "something other than \"OK <port>\"" },
        { "long", ERR_UPSTREAM, "something other than \"OK <port>\"" },
        { "hang", ERR_TIMEOUT, "cannot be reached within 300 ms" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rig r;
        rig_init(&r);
        CHECK_INT(setenv("FCCHECKER_VSOCK", cases[i].how, 1), 0);
        boot(&r);
        good(&r);
        open_stream(&r, cases[i].code == ERR_TIMEOUT ? 300 : WAIT_MS);
        CHECK_INT(r.fd, NO_FD);
        CHECK_INT(r.err.code, cases[i].code);
        if (!strstr(r.err.msg, cases[i].text))
            CHECK_STR(r.err.msg, cases[i].text);
        rig_done(&r);
    }
}

TEST(an_answer_is_a_line_with_a_port_and_nothing_else)
{
    static const char *const good_lines[] = { "OK 0\n", "OK 52\n", "OK 1073741824\n", "OK 4294967295\n" };
    static const char *const bad_lines[] = {
        "ok 52\n",          "OK52\n",   "OK  52\n", "OK \n",   "OK\n", "OK 4294967296\n",
        "OK 99999999999\n", "OK 052\n", "OK -1\n",  "OK 5a\n", "\n",   "OK 52\r\n"
    };
    for (size_t i = 0; i < sizeof(good_lines) / sizeof(*good_lines); i++) {
        struct vsock_connect_answer a = { 0 };
        const char *c = good_lines[i];
        while (c[1]) {
            CHECK_INT(vsock_connect_take(&a, *c), 0);
            c++;
        }
        CHECK_INT(vsock_connect_take(&a, '\n'), 1);
        CHECK_INT(a.host_port, strtoul(good_lines[i] + 3, NULL, 10));
    }
    for (size_t i = 0; i < sizeof(bad_lines) / sizeof(*bad_lines); i++) {
        struct vsock_connect_answer a = { 0 };
        int result = 0;
        for (const char *c = bad_lines[i]; *c && result == 0; c++)
            result = vsock_connect_take(&a, *c);
        if (result != -EBADMSG)
            CHECK_STR(bad_lines[i], "refused");
    }
}

int main(void)
{
    const char *program = getenv("III_GUEST");
    if (!program || access(program, X_OK) != 0) {
        printf("1..0 # SKIP III_GUEST does not name the agent\n");
        return 0;
    }
    RUN(an_answer_is_a_line_with_a_port_and_nothing_else);
    RUN(a_instance_is_configured_in_order_and_started);
    RUN(without_taps_it_has_no_interface);
    RUN(a_command_runs_through_the_handshake_and_the_instance_pauses);
    RUN(a_saved_instance_is_loaded_by_another_process);
    RUN(a_damaged_state_or_foreign_memory_is_refused);
    RUN(a_vmm_that_saves_too_little_is_not_believed);
    RUN(what_the_vmm_puts_into_its_folder_is_not_followed);
    RUN(a_server_that_comes_later_finds_its_instance_and_no_other);
    RUN(bad_answers_end_the_boot_with_a_reason);
    RUN(a_call_under_way_can_be_left);
    RUN(the_handshake_is_taken_strictly_and_in_time);
    return tap_done();
}
