/* The launcher with failing system calls: it is this program again, started with --launcher, and counts in the same
 * plan (also in the children it forks). Every request is answered, the launcher goes on, and the same request without a
 * fault succeeds afterwards; at the end nothing is left in the data folder. Root only: what an ordinary user's launcher
 * does is mostly done by the agent inside. The death of a launcher is tried by test_native.c and the chaos test. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "fault.h"
#include "os/tree.h"
#include "runtime/native/native.h"

#define ANSWER_MS 15000
#define TRIES     70 /* of one operation */

static struct {
    struct loop *loop;
    struct runtime *rt;
    struct box *box;
    bool is_done;
    int guest, fds[2];
    struct err err, last; /* of the last answer, of the last failure */
    char data[96], layer[128], folder[512];
    char wrong[500];
} rig;

static void answered(const struct err *err)
{
    rig.err = err ? *err : (struct err)ERR_INIT;
    if (err)
        rig.last = *err;
    rig.is_done = true;
    loop_stop(rig.loop);
}

static void on_ready(void *arg, struct box *box, int fd, const struct err *err)
{
    (void)arg;
    rig.box = box;
    rig.guest = fd;
    answered(err);
}

static void on_done(void *arg, const struct err *err)
{
    (void)arg;
    answered(err);
}

static void on_folder(void *arg, const char *folder, int64_t size, const struct err *err)
{
    (void)arg, (void)size;
    (void)snprintf(rig.folder, sizeof(rig.folder), "%s", folder ? folder : "");
    answered(err);
}

static void on_egress(void *arg, int tcp_fd, int dns_fd, const struct err *err)
{
    (void)arg;
    if (!err) {
        (void)close(tcp_fd);
        (void)close(dns_fd);
    }
    answered(err);
}

static void on_late(void *arg)
{
    (void)arg;
    loop_stop(rig.loop);
}

/* 0, or -1 with rig.err: what was asked has failed. -2: no answer. */
static int await(void)
{
    struct timer *t = timer_new(rig.loop, ANSWER_MS, 0, on_late, NULL);
    if (!rig.is_done)
        loop_run(rig.loop);
    bool is_late = !rig.is_done;
    timer_free(t);
    rig.is_done = false;
    return is_late ? -2 : rig.err.code ? -1 : 0;
}

/* --- operations --- */

static int do_destroy(void)
{
    if (!rig.box)
        return 0;
    if (rig.guest >= 0)
        (void)close(rig.guest);
    rig.guest = -1;
    struct box *box = rig.box;
    rig.box = NULL;
    rig.rt->ops->destroy(box, on_done, NULL);
    return await();
}

static int do_create(void)
{
    const char *layers[] = { rig.layer };
    struct box_plan plan = { .id = "sbx_fault",
                             .layers = layers,
                             .n_layers = 1,
                             .workdir = "/workspace",
                             .memory_mb = 64,
                             .pids_max = 64,
                             .cpu_milli = 500,
                             .has_network = true };
    rig.rt->ops->create(rig.rt, &plan, on_ready, NULL);
    return await();
}

static int op_create(void)
{
    int r = do_create();
    return r < 0 ? r : do_destroy();
}

static int op_pause(void)
{
    rig.rt->ops->pause(rig.box, on_done, NULL);
    int r = await();
    rig.rt->ops->resume(rig.box, on_done, NULL); /* fine when it runs */
    int r2 = await();
    return r < 0 ? r : r2;
}

static int op_limits(void)
{
    rig.rt->ops->set_limits(rig.box, 96, 700, 80, on_done, NULL);
    return await();
}

static int op_rename(void)
{
    rig.rt->ops->rename(rig.box, "renamed", on_done, NULL);
    return await();
}

static int op_capture(void)
{
    rig.rt->ops->capture(rig.box, on_folder, NULL);
    int r = await();
    if (r == 0)
        (void)tree_remove(AT_FDCWD, rig.folder, NULL); /* the receiver's */
    return r;
}

static int op_volume(void)
{
    const struct box_volume v = { .id = "vol_fault", .target = "/data" };
    rig.rt->ops->mount_volume(rig.box, &v, on_done, NULL);
    int r = await();
    rig.rt->ops->unmount_volume(rig.box, &v, on_done, NULL);
    int r2 = await();
    return r < 0 ? r : r2;
}

static int op_volume_remove(void)
{
    rig.rt->ops->remove_volume(rig.rt, "vol_gone", on_done, NULL);
    return await();
}

static int op_network(void)
{
    const struct box_plug plug = { .net_id = "net_fault", .subnet = 7, .address = 0x0a630002, .prefix = 24 };
    rig.rt->ops->net_create(rig.rt, &plug, on_done, NULL);
    int r = await();
    if (r == 0) {
        rig.rt->ops->net_attach(rig.box, &plug, on_done, NULL);
        r = await();
    }
    rig.rt->ops->net_detach(rig.box, &plug, on_done, NULL);
    int r2 = await();
    rig.rt->ops->net_delete(rig.rt, plug.net_id, on_done, NULL);
    int r3 = await();
    return r < 0 ? r : r2 < 0 ? r2 : r3;
}

static int op_egress(void)
{
    rig.rt->ops->open_egress(rig.box, on_egress, NULL);
    return await();
}

static int op_sweep(void)
{
    const char *kept[] = { "sbx_fault" };
    rig.rt->ops->sweep(rig.rt, kept, 1, on_done, NULL);
    return await();
}

/* --- the loop --- */

static void start_driver(void)
{
    struct err err = ERR_INIT;
    const struct native_options opt = { .data_dir = rig.data };
    if (native_new(rig.loop, &opt, &rig.rt, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

/* A driver whose launcher ended often within seconds waits before it starts another one. It is not waited for here. */
static bool is_tired(void)
{
    return strstr(rig.last.msg, "times in a row") != NULL;
}

static int renew(bool needs_box)
{
    (void)do_destroy();
    rig.rt = rig.rt->ops->free(rig.rt);
    start_driver();
    rig.rt->ops->sweep(rig.rt, NULL, 0, on_done, NULL);
    int r = await();
    return r < 0 || !needs_box ? r : do_create();
}

static int wrong(const char *what)
{
    (void)snprintf(rig.wrong, sizeof(rig.wrong), "%s%s%s", what, rig.last.msg[0] ? ": " : "", rig.last.msg);
    return -1;
}

/* One fault. */
static int try_one(int (*op)(void), bool needs_box, const struct fault_try *t)
{
    rig.last = (struct err)ERR_INIT;
    fault_arm(FAULT_ROLE_LAUNCHER, t);
    int r = op();
    (void)fault_disarm();
    if (r == -2)
        return wrong("no answer");
    if (r == -1 && !rig.last.msg[0])
        return wrong("it failed without saying why");
    if (is_tired() && renew(needs_box) < 0)
        return wrong("a new driver does not work");
    if (!needs_box && do_destroy() < 0)
        return wrong("what was made cannot be destroyed");
    r = op();
    if (r < 0 && is_tired())
        r = renew(needs_box) < 0 ? -1 : op();
    return r < 0 ? wrong("it fails without a fault afterwards") : 0;
}

static void run(const char *name, int (*op)(void), bool needs_box)
{
    struct fault_try t = { 0 };
    int state = 0, tried = 0, bad = 0;
    if (renew(needs_box) < 0) {
        fault_say(false, name, "no box: %s", rig.err.msg);
        return;
    }
    if (op() < 0) {
        fault_say(false, name, "it does not work without any fault: %s", rig.err.msg);
        return;
    }
    fault_arm(FAULT_ROLE_LAUNCHER, NULL);
    (void)op();
    (void)fault_disarm();
    atomic_store(&fault_plan->n_allocs, 0);
    int calls = atomic_load(&fault_plan->n_calls);
    while (tried < TRIES && bad < 3 && fault_next(&state, &t)) {
        if (t.error == FAULT_KILL)
            continue;
        tried++;
        if (try_one(op, needs_box, &t) < 0 && bad++ < 3)
            printf("# %s: %s: %s\n", name, fault_text(&t), rig.wrong);
    }
    fault_say(bad == 0, name, "%d calls, %d faults, %d bad", calls, tried, bad);
}

static unsigned count_boxes(void)
{
    char path[128];
    unsigned n = 0;
    (void)snprintf(path, sizeof(path), "%s/boxes", rig.data);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strlen(e->d_name) == 16; /* a box's own name */
    if (d)
        (void)closedir(d);
    return n;
}

static void nothing_is_left(void)
{
    int r = do_destroy();
    rig.rt->ops->sweep(rig.rt, NULL, 0, on_done, NULL);
    r = r < 0 ? r : await();
    unsigned n = 1;
    for (int i = 0; i < 500 && (n = count_boxes()) > 0; i++)
        (void)poll(NULL, 0, 10); /* folders are removed behind */
    fault_say(r == 0 && n == 0, "runtime: nothing is left after a sweep", "%u folders", n);
}

static void start(void)
{
    struct err err = ERR_INIT;
    (void)snprintf(rig.data, sizeof(rig.data), "/tmp/iii-fault-XXXXXX");
    if (!mkdtemp(rig.data) || loop_new(&rig.loop, &err) < 0)
        abort();
    (void)snprintf(rig.layer, sizeof(rig.layer), "%s/layers", rig.data);
    (void)mkdir(rig.layer, 0755);
    (void)snprintf(rig.layer, sizeof(rig.layer), "%s/layers/base", rig.data);
    (void)mkdir(rig.layer, 0755);
    rig.guest = -1;
    start_driver();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--launcher") == 0) {
        fault_set_role(FAULT_ROLE_LAUNCHER);
        return native_launcher_main(argc, argv);
    }
    fault_begin();
    if (geteuid() != 0) {
        fault_say(true, "runtime: the launcher's calls", "SKIP only root's launcher makes boxes by itself");
        return fault_end();
    }
    log_setup(LOG_ERROR, 0);
    start();
    run("runtime: create and destroy", op_create, false);
    run("runtime: pause and resume", op_pause, true);
    run("runtime: limits", op_limits, true);
    run("runtime: rename", op_rename, true);
    run("runtime: mount and unmount a volume", op_volume, true);
    run("runtime: remove a volume", op_volume_remove, true);
    run("runtime: join and leave a network", op_network, true);
    run("runtime: the way out", op_egress, true);
    run("runtime: capture", op_capture, true);
    run("runtime: sweep", op_sweep, true);
    nothing_is_left();
    rig.rt = rig.rt->ops->free(rig.rt);
    loop_free(rig.loop);
    (void)tree_remove(AT_FDCWD, rig.data, NULL);
    return fault_end();
}
