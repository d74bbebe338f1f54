/* `iii serve`: builds the parts, connects them, runs the loop, and takes them down in the opposite order. */
#include "main/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/observe.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/settings.h"
#include "http/server.h"
#include "image/image.h"
#include "loop/loop.h"
#include "main/config.h"
#include "main/datadir.h"
#include "main/engine_port.h"
#include "main/tlsport.h"
#include "os/proc.h"
#include "runtime/native/native.h"
#include "sandbox/manager.h"
#include "store/store.h"

#define DRAIN_MS 5000

struct daemon {
    struct settings settings;
    char *data_dir;
    int lock_fd;
    struct loop *loop;
    struct store *store;
    struct image_store *images;
    struct runtime *runtime;
    struct manager *manager;
    struct api *api;
    struct observe *observe;
    struct http_server *rest;
    struct engine_port *engine;
    struct tlsport *tls; /* NULL: plain ports */
    uint16_t rest_port, engine_port;
    bool is_stopping;
    int exit_code;
};

static int open_state(struct daemon *d, struct err *err)
{
    CLEANUP(free_p) char *db = xasprintf("%s/state.db", d->data_dir);
    CLEANUP(free_p) char *images = xasprintf("%s/images", d->data_dir);
    int r = datadir_lock(d->data_dir, &d->lock_fd, err);
    if (r == 0)
        r = store_open(db, &d->store, err);
    if (r == 0)
        r = image_store_open(images, &d->images, err);
    return r;
}

static int open_parts(struct daemon *d, struct err *err)
{
    struct native_options native = { .data_dir = d->data_dir, .blank_pool = (unsigned)d->settings.blank_pool };
    proc_short_turns(); /* before any thread and the launcher, which inherit it */
    int r = loop_new(&d->loop, err);
    if (r == 0 && tlsport_is_wanted(&d->settings))
        r = tlsport_new(d->loop, &d->settings, &d->tls, err);
    if (r == 0)
        r = native_new(d->loop, &native, &d->runtime, err);
    if (r == 0)
        r = manager_new(d->loop, &d->settings, d->store, d->images, d->runtime, &d->manager, err);
    if (r == 0)
        r = api_new(d->loop, d->manager, &d->settings, &d->api, err);
    if (r == 0)
        r = observe_new(d->api, &d->observe, err);
    if (r < 0)
        return r;
    static const struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct http_app app = api_http_app(d->api);
    r = http_server_new(d->loop, &app, &limits, &d->rest, err);
    return r < 0 ? r : engine_port_new(d->manager, d->api, &d->engine, err);
}

static void close_parts(struct daemon *d)
{
    http_server_free(d->rest);
    engine_port_close(d->engine);
    tlsport_free(d->tls); /* after both have closed their connections: it sends what they said last */
    observe_free(d->observe);
    api_free(d->api);
    manager_free(d->manager);
    engine_port_free(d->engine);
    if (d->runtime)
        d->runtime->ops->free(d->runtime);
    (void)(d->store && store_flush(d->store, NULL));
    image_store_close(d->images);
    store_close(d->store);
    loop_free(d->loop);
    if (d->lock_fd >= 0)
        (void)close(d->lock_fd);
    free(d->data_dir);
    settings_done(&d->settings);
}

static void on_boxes_gone(void *arg)
{
    struct daemon *d = arg;
    loop_stop(d->loop);
}

static void on_drained(void *arg)
{
    struct daemon *d = arg;
    manager_shutdown(d->manager, on_boxes_gone, d);
}

static void on_stop_signal(void *arg)
{
    struct daemon *d = arg;
    if (d->is_stopping)
        return;
    d->is_stopping = true;
    log_event(LOG_INFO, "server.stop", "sandboxes", d->settings.keep_sandboxes ? "kept" : "ended", NULL);
    tlsport_stop(d->tls);
    engine_port_stop(d->engine);
    http_server_drain(d->rest, DRAIN_MS, on_drained, d);
}

static int listen_all(struct daemon *d, struct err *err)
{
    const struct settings *s = &d->settings;
    if (d->tls) {
        uint16_t ports[2];
        int r = tlsport_listen(d->tls, d->rest, d->engine, ports, err);
        d->rest_port = r < 0 ? 0 : ports[0];
        d->engine_port = r < 0 ? 0 : ports[1];
        return r;
    }
    int r = http_server_listen_tcp(d->rest, s->host, (uint16_t)s->rest_port, &d->rest_port, err);
    return r < 0 ? r : engine_port_listen(d->engine, &d->engine_port, err);
}

static void on_recovered(void *arg)
{
    struct daemon *d = arg;
    struct err err = ERR_INIT;
    if (d->is_stopping)
        return;
    if (listen_all(d, &err) < 0) {
        log_event(LOG_ERROR, "server.listen", "error", err.msg, NULL);
        fprintf(stderr, "iii serve: %s\n", err.msg);
        d->exit_code = 1;
        on_stop_signal(d);
        return;
    }
    const char *s = d->tls ? "s" : "";
    printf("ready rest=http%s://%s:%u engine=ws%s://%s:%u\n", s, d->settings.host, d->rest_port, s, d->settings.host,
           d->engine_port);
    (void)fflush(stdout);
}

/* A sandbox costs two descriptors: take what the hard limit allows. */
static void raise_fd_limit(void)
{
    struct rlimit lim;
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
        lim.rlim_cur = lim.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &lim); /* the old limit then bounds the number of sandboxes */
    }
}

static int check_exposure(const struct settings *s, struct err *err)
{
    bool is_loopback = strncmp(s->host, "127.", 4) == 0 || strcmp(s->host, "::1") == 0;
    if (!is_loopback && !*s->auth_token && !s->insecure_listen)
        return err_set(err, ERR_INVALID, 0,
                       "refusing to listen on %s without a token: set III_AUTH_TOKEN, or pass --insecure-listen",
                       s->host);
    if (!is_loopback && !tlsport_is_wanted(s))
        log_event(LOG_WARN, "server.exposed", "host", s->host, "msg",
                  "who sees the wire reads the token and all data: set --tls-cert and --tls-key", NULL);
    return 0;
}

static int check_backend(const struct settings *s, struct err *err)
{
    if (strcmp(s->backend, "native") == 0)
        return 0;
    return err_set(err, ERR_UNSUPPORTED, 0,
                   "backend \"%s\" is not there: this version has only native (III_ISOLATION_BACKEND)", s->backend);
}

static int run(struct daemon *d, struct err *err)
{
    enum log_level level = LOG_INFO;
    if (log_level_parse(d->settings.log_level, &level) < 0)
        return err_set(err, ERR_INVALID, 0, "log level \"%s\" is not one of error, warn, info, debug",
                       d->settings.log_level);
    log_setup(level, d->settings.log_json);
    int r = check_exposure(&d->settings, err);
    if (r == 0)
        r = check_backend(&d->settings, err);
    if (r == 0)
        r = datadir_make(d->settings.data_dir, &d->data_dir, err);
    if (r == 0)
        r = open_state(d, err);
    if (r == 0)
        r = open_parts(d, err);
    if (r == 0)
        r = loop_on_signal(d->loop, SIGTERM, on_stop_signal, d);
    if (r == 0)
        r = loop_on_signal(d->loop, SIGINT, on_stop_signal, d);
    if (r < 0)
        return r;
    manager_recover(d->manager, on_recovered, d);
    loop_run(d->loop);
    return 0;
}

int daemon_main(int argc, char **argv)
{
    struct daemon d = { .lock_fd = -EBADF };
    struct err err = ERR_INIT;
    int r = config_load(argc, argv, &d.settings, &err);
    if (r != 0) {
        settings_done(&d.settings);
        if (r > 0)
            return 0; /* --help */
        fprintf(stderr, "iii serve: %s\n", err.msg);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    raise_fd_limit();
    r = run(&d, &err);
    if (r < 0) {
        fprintf(stderr, "iii serve: %s\n", err.msg);
        d.exit_code = 1;
    }
    close_parts(&d);
    return d.exit_code;
}
