/* The native driver end to end: a real launcher (this program again, started with --launcher), real boxes. The agent inside is the
 * product's own. Run as root it tries everything; as an ordinary user what that can do. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "os/proc.h"
#include "os/tree.h"
#include "runtime/native/native.h"
#include "tap.h"

struct rig {
    struct loop *loop;
    struct runtime *rt;
    struct box *box;
    int guest;
    bool is_done, is_gone;
    struct err err;
    char folder[512];
    int64_t size;
    char data[64], layer[128];
};

static struct rig g;

static void on_ready(void *arg, struct box *box, int fd, const struct err *err)
{
    g.box = box;
    g.guest = fd;
    g.err = err ? *err : (struct err)ERR_INIT;
    g.is_done = true;
    loop_stop(g.loop);
}

static void on_done(void *arg, const struct err *err)
{
    g.err = err ? *err : (struct err)ERR_INIT;
    g.is_done = true;
    loop_stop(g.loop);
}

static void on_capture(void *arg, const char *folder, int64_t size, const struct err *err)
{
    snprintf(g.folder, sizeof(g.folder), "%s", folder ? folder : "");
    g.size = size;
    on_done(arg, err);
}

static void on_gone(void *arg)
{
    g.is_gone = true;
    loop_stop(g.loop);
}

static void on_late(void *arg)
{
    loop_stop(g.loop);
}

/* Runs the loop until an answer came; a deadline keeps a lost answer from hanging the test. */
static void await(const bool *flag)
{
    struct timer *t = timer_new(g.loop, 10000, 0, on_late, NULL);
    loop_run(g.loop);
    timer_free(t);
    if (!*flag)
        printf("# no answer in 10 s\n");
    CHECK(*flag);
}

static void start(unsigned pool)
{
    struct err err = ERR_INIT;
    struct native_options opt = { .data_dir = g.data, .blank_pool = pool };
    if (native_new(g.loop, &opt, &g.rt, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

static void stop(void)
{
    g.rt = g.rt->ops->free(g.rt);
}

static void create_with(struct box_plan *plan, const char *id)
{
    snprintf(plan->id, sizeof(plan->id), "%s", id);
    const char *layers[] = { g.layer };
    if (!plan->layers) {
        plan->layers = layers;
        plan->n_layers = 1;
    }
    if (!plan->workdir)
        plan->workdir = "/workspace";
    g.is_done = false;
    g.rt->ops->create(g.rt, plan, on_ready, NULL);
    await(&g.is_done);
    if (g.err.code)
        printf("# create: %s\n", g.err.msg);
}

static void create(const char *id)
{
    struct box_plan plan = { .memory_mb = 64, .pids_max = 64, .cpu_milli = 500 };
    create_with(&plan, id);
}

static void destroy(void)
{
    if (g.guest >= 0)
        (void)close(g.guest);
    g.guest = -1;
    g.is_done = false;
    g.rt->ops->destroy(g.box, on_done, NULL);
    g.box = NULL;
    await(&g.is_done);
    CHECK_INT(g.err.code, ERR_NONE);
}

static unsigned count_entries(const char *sub)
{
    char cmd[256];
    unsigned n = 0;
    snprintf(cmd, sizeof(cmd), "ls %s/%s | grep -vc -e dev -e root", g.data, sub);
    FILE *f = popen(cmd, "re");
    if (f && fscanf(f, "%u", &n) != 1)
        n = 999;
    if (f)
        pclose(f);
    return n;
}

static unsigned wait_entries(const char *sub, unsigned want)
{
    unsigned n = 0;
    for (int i = 0; i < 500 && (n = count_entries(sub)) != want; i++)
        (void)poll(NULL, 0, 10);
    return n;
}

TEST(create_and_destroy_leave_nothing)
{
    start(0);
    create("sbx_one");
    CHECK(g.box != NULL);
    if (g.box) {
        CHECK(g.guest >= 0);
        CHECK_INT(count_entries("boxes"), 1);
        destroy();
        CHECK_INT(wait_entries("boxes", 0), 0);
        CHECK_INT(count_entries("run"), 0);
    }
    stop();
}

static int bench(unsigned pool, unsigned rounds)
{
    int64_t best = 1 << 30, all[1000];
    start(pool);
    (void)poll(NULL, 0, 300);
    for (unsigned i = 0; i < rounds && i < 1000; i++) {
        int64_t t = clock_mono_us();
        create("sbx_bench");
        all[i] = clock_mono_us() - t;
        if (!g.box)
            break;
        destroy();
        (void)poll(NULL, 0, 20);
    }
    stop();
    for (unsigned i = 0; i < rounds; i++)
        for (unsigned j = i + 1; j < rounds; j++)
            if (all[j] < all[i]) {
                best = all[i];
                all[i] = all[j];
                all[j] = best;
            }
    printf("pool %u: create p50 %lld us, min %lld, p90 %lld\n", pool, (long long)all[rounds / 2], (long long)all[0], (long long)all[rounds * 9 / 10]);
    return 0;
}

static void make_rig(void)
{
    struct err err = ERR_INIT;
    snprintf(g.data, sizeof(g.data), "/tmp/iii-native-XXXXXX");
    if (!mkdtemp(g.data) || loop_new(&g.loop, &err) < 0)
        exit(1);
    snprintf(g.layer, sizeof(g.layer), "%s/layers", g.data);
    (void)mkdir(g.layer, 0755);
    snprintf(g.layer, sizeof(g.layer), "%s/layers/base", g.data);
    (void)mkdir(g.layer, 0755);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--launcher") == 0)
        return native_launcher_main(argc, argv);
    make_rig();
    if (argc > 2 && strcmp(argv[1], "--bench") == 0)
        return bench((unsigned)strtoul(argv[2], NULL, 10), 200);
    RUN(create_and_destroy_leave_nothing);
    loop_free(g.loop);
    (void)tree_remove(AT_FDCWD, g.data, NULL);
    return tap_done();
}
