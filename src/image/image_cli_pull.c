/* `iii image pull`: the pull runs on its own thread, this one draws progress. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/settings.h"
#include "image/image_cli.h"
#include "image/image_policy.h"
#include "image/layout.h"
#include "image/reference.h"

#define DRAW_MS  100
#define LINE_MS  2000 /* between plain lines */
#define BAR_CELL 24

struct pulling {
    struct image_store *store;
    const char *name;
    struct image_pull_options options;
    struct image_pull_state state;
    struct image *image;
    struct err err;
    int result;
    bool is_json, is_terminal, has_drawn;
    int64_t begun_us, shown_us;
};

const char *image_cli_size(int64_t bytes, char ret[16])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < 4) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(ret, 16, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return ret;
}

static void *pull_thread(void *arg)
{
    struct pulling *p = arg;
    p->result = image_pull(p->store, p->name, &p->options, &p->state, &p->image, &p->err);
    return NULL;
}

static void progress_show(struct pulling *p)
{
    long long done = atomic_load(&p->state.done_bytes), total = atomic_load(&p->state.total_bytes);
    int layers = atomic_load(&p->state.layers), layers_done = atomic_load(&p->state.layers_done);
    int64_t now = clock_mono_us(), us = now - p->begun_us;
    char a[16], b[16], rate[16];
    if (layers == 0)
        return; /* no reply from the registry yet */
    if (p->is_terminal && !p->is_json) {
        static const char full[BAR_CELL + 1] = "########################", none[] = "........................";
        int cells = total > 0 ? (int)((done < total ? done : total) * BAR_CELL / total) : 0;
        (void)fprintf(stderr, "\r\033[K[%.*s%s] %3d%%  %s of %s  %s/s  layer %d of %d", cells, full, none + cells,
                      total > 0 ? (int)(done * 100 / total) : 0, image_cli_size(done, a), image_cli_size(total, b),
                      image_cli_size(us > 0 ? done * 1000000 / us : 0, rate), layers_done, layers);
        p->has_drawn = true;
        return;
    }
    if (p->shown_us && now - p->shown_us < LINE_MS * 1000)
        return;
    p->shown_us = now;
    if (p->is_json) {
        (void)printf("{\"event\":\"progress\",\"done\":%lld,\"total\":%lld,\"layersDone\":%d,\"layers\":%d}\n", done,
                     total, layers_done, layers);
        (void)fflush(stdout);
        return;
    }
    (void)fprintf(stderr, "pulling %s: %s of %s, layer %d of %d\n", p->name, image_cli_size(done, a),
                  image_cli_size(total, b), layers_done, layers);
}

static int wait_showing(struct pulling *p, struct err *err)
{
    pthread_t thread;
    p->begun_us = clock_mono_us();
    int r = pthread_create(&thread, NULL, pull_thread, p);
    if (r != 0)
        return err_set(err, ERR_INTERNAL, r, "start the pull");
    while (true) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until); /* cannot fail for this clock */
        until.tv_nsec += DRAW_MS * 1000000l;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_timedjoin_np(thread, NULL, &until) != ETIMEDOUT)
            break;
        progress_show(p);
    }
    if (p->has_drawn)
        (void)fprintf(stderr, "\r\033[K");
    if (p->result < 0)
        *err = p->err;
    return p->result;
}

/* The name was parsed by now: it has no character that JSON must escape. */
int image_cli_pull(struct image_store *s, const struct image_cli_pull_how *how, const char *name, struct err *err)
{
    struct settings set;
    struct reference ref;
    char size[16];
    int r = reference_parse(strncmp(name, "oci:", 4) == 0 ? name + 4 : name, &ref, err);
    if (r == 0)
        r = image_policy_may_pull(s->policy, how->tenant, name, err);
    if (r < 0)
        return r;
    (void)signal(SIGPIPE, SIG_IGN); /* a registry that disconnects is an error, not a reason to exit */
    settings_init(&set);
    settings_from_env(&set, NULL, NULL);
    CLEANUP(free_p)
    char *plain = how->is_plain ? xasprintf("%s,%s", ref.host, set.plain_registries) : xstrdup(set.plain_registries);
    /* Who types a host means it; where its registry sends us is another matter. */
    CLEANUP(free_p) char *private_hosts = xasprintf("%s,%s", ref.host, set.private_registries);
    struct pulling *p = xzalloc(sizeof(*p));
    p->store = s;
    p->name = name;
    p->is_json = how->is_json;
    p->is_terminal = isatty(STDERR_FILENO);
    p->options = (struct image_pull_options){ .mirrors = set.registry_mirrors,
                                              .plain_hosts = plain,
                                              .private_hosts = private_hosts,
                                              .disk_bytes = set.image_disk_mb << 20,
                                              .tenant = how->tenant,
                                              .has_shared = true,
                                              .rule = image_policy_rule(s->policy, name) };
    r = wait_showing(p, err);
    if (r == 0 && how->is_json)
        (void)printf(
            "{\"event\":\"done\",\"name\":\"%s\",\"id\":\"%s\",\"size\":%lld,\"layers\":%zu,\"downloaded\":%lld}\n",
            name, p->image->id, (long long)p->image->size_bytes, p->image->n_layers,
            (long long)atomic_load(&p->state.total_bytes));
    else if (r == 0)
        (void)printf("%s  %s  %s, %zu layer%s\n", name, p->image->id, image_cli_size(p->image->size_bytes, size),
                     p->image->n_layers, p->image->n_layers == 1 ? "" : "s");
    (void)image_free(p->image);
    free(p);
    settings_done(&set);
    return r;
}
