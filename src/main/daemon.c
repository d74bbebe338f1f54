/* `iii serve`: builds the parts, connects them, runs the loop, and frees them in the opposite order. struct daemon owns
 * every part; each is optional, so that a half-built daemon can be freed. Order of a start: settings, data folder and
 * lock, privileged ports, keeper and privilege drop (privilege.c), then store, sandboxes, API, engine and listeners.
 * Any failure stops the start with one message and frees what was built. A successor that takes over (handover.h) makes
 * this process close all parts and hand over listeners and idle connections; when the successor fails, all parts are
 * opened again and this process continues. */
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
#include "api/hostguard.h"
#include "api/keyring.h"
#include "api/observe.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/settings.h"
#include "cli/server_file.h"
#include "http/server.h"
#include "image/image.h"
#include "image/image_policy.h"
#include "loop/json_work.h"
#include "loop/loop.h"
#include "main/backends.h"
#include "main/config/config.h"
#include "main/config/reload.h"
#include "main/data_dir.h"
#include "main/engine_port.h"
#include "main/handover.h"
#include "main/privilege/privilege.h"
#include "main/ssh_port.h"
#include "main/takeover_socket.h"
#include "main/tls_ports.h"
#include "os/inherit.h"
#include "runtime/native/native.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/net/ports.h"
#include "sandbox/storage/converter.h"
#include "store/store.h"

#define DRAIN_MS  5000
#define LOW_PORTS 1024

struct daemon {
    struct config config;
    struct settings settings;
    char *data_dir;
    int lock_fd;
    struct privilege privilege;
    struct loop *loop;
    struct store *store;
    struct image_store *images;
    struct backends backends;
    struct manager *manager;
    struct keyring *keys;
    struct api *api;
    struct observe *observe;
    struct http_server *rest;
    struct engine_port *engine;
    struct tls_ports *tls; /* NULL: plain ports */
    struct ssh_port *ssh;  /* NULL: off */
    struct reload *reload; /* NULL: no configuration file */
    struct takeover_socket *listener;
    struct inherit *inherited; /* from our predecessor, or taken back */
    struct inherit *leaving;   /* for our successor */
    int successor_conn;        /* to the other server during a handover */
    uint16_t rest_port, engine_port, ssh_port;
    bool is_stopping;
    enum manager_end end; /* of the sandboxes, when it stops */
    int exit_code;
};

static int take_lock(struct daemon *d, struct err *err)
{
    if (d->lock_fd < 0)
        d->lock_fd = inherit_take(d->inherited, INHERIT_LOCK);
    return d->lock_fd < 0 ? data_dir_lock(d->data_dir, &d->lock_fd, err) : 0;
}

static int open_parts(struct daemon *d, struct err *err)
{
    CLEANUP(free_p) char *db = xasprintf("%s/state.db", d->data_dir);
    struct native_options native = { .data_dir = d->data_dir,
                                     .prepared_pool = (unsigned)d->settings.blank_pool,
                                     .boxes_max = (unsigned)d->settings.max_sandboxes,
                                     .keeper = d->privilege.keeper,
                                     .launcher_job = PRIVILEGE_LAUNCHER,
                                     .cgroups = &d->privilege.cgroups };
    int r = take_lock(d, err); /* after a failed handover the lock may be gone */
    if (r == 0)
        r = store_open(db, &d->store, err);
    if (r == 0 && store_was_rescued(d->store)) {
        char rows[24];
        (void)snprintf(rows, sizeof(rows), "%lld", (long long)store_rescued_rows(d->store));
        log_event(LOG_ERROR, "store.damaged", "kept", store_rescued_path(d->store), "salvaged", rows, "then",
                  "the readable records are used", NULL);
    }
    if (r == 0)
        r = image_store_attach(d->data_dir, d->privilege.keeper, PRIVILEGE_IMAGES, &d->images, err);
    alloc_large_apart();
    if (r == 0)
        r = loop_new(&d->loop, err);
    if (r == 0 && tls_ports_is_wanted(&d->settings))
        r = tls_ports_new(d->loop, &d->settings, d->privilege.keeper, &d->tls, err);
    if (r == 0)
        r = backends_open(d->loop, &d->settings, &d->privilege.docker_tls, &native, &d->backends, err);
    if (r == 0)
        r = manager_new(d->loop, &d->settings, d->store, d->images, d->backends.all[0], &d->manager, err);
    if (r == 0)
        r = image_policy_save(d->data_dir, d->settings.image_policy, err);
    for (size_t i = 1; r == 0 && i < d->backends.n; i++)
        manager_add_runtime(d->manager, d->backends.all[i]);
    if (r == 0) {
        d->manager->inherited = d->inherited;
        d->manager->converters = converters_new(d->loop, d->privilege.keeper, PRIVILEGE_ARCHIVE);
    }
    if (r == 0)
        r = keyring_new(d->loop, d->data_dir, d->settings.auth_token, &d->keys, err);
    if (r == 0)
        r = keyring_trust(d->keys, d->loop, &d->settings, err);
    if (r == 0 && !hostguard_is_loopback(d->settings.host) && !d->settings.insecure_listen)
        keyring_expose(d->keys);
    if (r == 0)
        r = api_new(d->loop, d->manager, &d->settings, d->keys, &d->api, err);
    if (r == 0)
        r = observe_new(d->api, &d->observe, err);
    if (r < 0)
        return r;
    json_work_trim(d->loop); /* starts the pool's threads: libuv aborts when it cannot start them later */
    static const struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct http_app app = api_http_app(d->api);
    r = http_server_new(d->loop, &app, &limits, &d->rest, err);
    if (r == 0)
        r = engine_port_new(d->manager, d->api, d->keys, &d->engine, err);
    if (r == 0)
        r = ssh_port_new(d->loop, d->api, d->rest, &d->settings, d->privilege.keeper, &d->ssh, err);
    if (r == 0 && d->config.path)
        d->reload = reload_new(d->loop, &d->config, &d->settings, d->engine, d->privilege.keeper);
    return r;
}

static void close_parts(struct daemon *d)
{
    d->reload = reload_free(d->reload);
    d->listener = takeover_socket_close(d->listener);
    ssh_port_free(d->ssh);
    http_server_free(d->rest);
    engine_port_close(d->engine);
    manager_disconnect(d->manager);
    tls_ports_free(d->tls); /* after both have closed their connections: it sends their last bytes */
    observe_free(d->observe);
    api_free(d->api);
    manager_free(d->manager);
    engine_port_free(d->engine);
    keyring_free(d->keys);
    backends_close(&d->backends);
    (void)(d->store && store_flush(d->store, NULL));
    image_store_close(d->images);
    store_close(d->store);
    loop_free(d->loop);
    d->tls = NULL;
    d->ssh = NULL;
    d->rest = NULL; /* all parts may be opened again when a handover fails */
    d->engine = NULL;
    d->observe = NULL;
    d->api = NULL;
    d->keys = NULL;
    d->manager = NULL;
    d->images = NULL;
    d->store = NULL;
    d->loop = NULL;
}

static void on_boxes_gone(void *arg)
{
    struct daemon *d = arg;
    loop_stop(d->loop);
}

static void daemon_drained(void *arg)
{
    struct daemon *d = arg;
    manager_shutdown(d->manager, d->end, on_boxes_gone, d);
}

static void on_stop_signal(void *arg)
{
    struct daemon *d = arg;
    if (d->is_stopping)
        return;
    d->is_stopping = true;
    bool is_handed = d->successor_conn >= 0; /* the sandboxes still belong to the other server */
    d->end = MANAGER_KEEP;
    if (!is_handed)
        (void)manager_end_parse(d->settings.on_shutdown, &d->end, NULL); /* manager_new() has checked it */
    log_event(LOG_INFO, "server.stop", "sandboxes", is_handed ? "keep" : d->settings.on_shutdown, NULL);
    tls_ports_stop(d->tls);
    ssh_port_stop(d->ssh);
    engine_port_stop(d->engine);
    api_stop(d->api);
    http_server_drain(d->rest, DRAIN_MS, daemon_drained, d);
}

/* --- handover to a successor --- */

static void fill_offer(void *arg, struct handover_note *offer)
{
    const struct daemon *d = arg;
    offer->agent_oldest = manager_oldest_agent(d->manager);
    offer->sandboxes = (uint32_t)map_count(d->manager->sandboxes);
}

static void leave_rest(void *arg, int fd, bool is_listener)
{
    struct daemon *d = arg;
    inherit_add(d->leaving, is_listener ? INHERIT_REST : INHERIT_REST_CONN, fd);
}

/* New connections wait in the listeners' backlog from here on; requests in progress may finish. */
static void handover_start(void *arg)
{
    struct daemon *d = arg;
    if (d->is_stopping)
        return; /* the connection closes when we exit, and the other server starts alone */
    d->is_stopping = true;
    d->successor_conn = takeover_socket_take(d->listener);
    d->leaving = inherit_new();
    d->end = MANAGER_KEEP;
    log_event(LOG_INFO, "server.takeover", "sandboxes", "handed over", NULL);
    if (d->tls) { /* TLS connections end with the listener that holds their keys */
        tls_ports_leave(d->tls, d->leaving);
    } else {
        http_server_leave(d->rest, leave_rest, d);
        engine_port_leave(d->engine, d->leaving);
    }
    ssh_port_leave(d->ssh, d->leaving); /* as for TLS */
    ports_give(d->manager->ports, d->leaving);
    int lock = fcntl(d->lock_fd, F_DUPFD_CLOEXEC, 0);
    if (lock >= 0)
        inherit_add(d->leaving, INHERIT_LOCK, lock);
    engine_port_stop(d->engine);
    api_stop(d->api);
    http_server_drain(d->rest, d->settings.takeover_grace_ms, daemon_drained, d);
}

/* All parts are closed. True: the successor has everything. False: we continue. */
static bool hand_over(struct daemon *d)
{
    struct err err = ERR_INIT;
    bool is_taken = handover_finish(d->successor_conn, d->leaving, &err);
    (void)close(steal_fd(&d->successor_conn));
    inherit_free(d->inherited);
    d->inherited = STEAL(d->leaving);
    d->is_stopping = false;
    if (is_taken)
        log_event(LOG_INFO, "server.handed_over", "to", "the next one", NULL);
    else
        log_event(LOG_WARN, "takeover.failed", "error", err.msg, "then", "this server continues", NULL);
    return is_taken;
}

static int listen_all(struct daemon *d, struct err *err)
{
    const struct settings *s = &d->settings;
    const struct takeover_socket_events events = { .fill = fill_offer, .on_go = handover_start, .arg = d };
    int r = takeover_socket_open(d->loop, d->data_dir, &events, &d->listener, err);
    if (r == 0)
        r = ssh_port_listen(d->ssh, d->inherited, &d->ssh_port, err);
    if (r < 0)
        return r;
    if (d->tls) {
        uint16_t ports[2];
        r = tls_ports_listen(d->tls, d->rest, d->engine, d->inherited, ports, err);
        d->rest_port = r < 0 ? 0 : ports[0];
        d->engine_port = r < 0 ? 0 : ports[1];
        return r < 0 ? r : engine_port_listen_more(d->engine, d->inherited, err);
    }
    int fd = inherit_take_at(d->inherited, INHERIT_REST, s->host, (uint16_t)s->rest_port, SOCK_STREAM);
    r = fd >= 0 ? http_server_listen_fd(d->rest, fd, &d->rest_port, err)
                : http_server_listen_tcp(d->rest, s->host, (uint16_t)s->rest_port, &d->rest_port, err);
    if (r == 0)
        r = engine_port_listen(d->engine, d->inherited, &d->engine_port, err);
    if (r == 0)
        r = engine_port_listen_more(d->engine, d->inherited, err);
    while (r == 0 && (fd = inherit_take(d->inherited, INHERIT_REST_CONN)) >= 0)
        http_server_take(d->rest, fd);
    return r;
}

static void daemon_recovered(void *arg)
{
    struct daemon *d = arg;
    struct err err = ERR_INIT;
    if (d->is_stopping)
        return;
    if (listen_all(d, &err) < 0) {
        log_event(LOG_ERROR, "server.listen", "error", err.msg, NULL);
        fprintf(stderr, "iii serve: %s%s\n", err.msg,
                err.sys == EADDRINUSE ? "; stop the server that is there, or choose --port and --engine-port" : "");
        d->exit_code = 1;
        on_stop_signal(d);
        return;
    }
    d->inherited = inherit_free(d->inherited); /* ports of sandboxes that no longer exist */
    d->manager->inherited = NULL;
    api_listens(d->api, d->rest_port);
    struct buf own = BUF_INIT(256);
    (void)buf_addf(&own, "%u,%u,%u", d->rest_port, d->engine_port, d->ssh_port); /* at most 19 ports in all */
    engine_port_list(d->engine, &own);
    d->manager->own_ports = buf_steal(&own, NULL);
    if (server_file_write(d->data_dir, d->settings.host, d->rest_port, d->tls != NULL, d->config.path, &err) < 0)
        log_event(LOG_WARN, "server.file", "error", err.msg, "then", "`iii worker add` does not find this server",
                  NULL);
    const char *s = d->tls ? "s" : "";
    printf("ready rest=http%s://%s:%u engine=ws%s://%s:%u\n", s, d->settings.host, d->rest_port, s, d->settings.host,
           d->engine_port);
    (void)fflush(stdout);
    handover_ready(&d->successor_conn);
}

static int check_exposure(const struct settings *s, struct err *err)
{
    CLEANUP(free_p) char *dir = data_dir_nearest(s->data_dir); /* a server that is refused must not create anything */
    struct token_file_stamp tokens;
    bool is_loopback = hostguard_is_loopback(s->host);
    bool has_tokens = token_file_stamp(dir, &tokens) == 0 && tokens.inode;
    if (!is_loopback && !keyring_is_guarded(s) && !has_tokens && !s->insecure_listen)
        return err_set(
            err, ERR_INVALID, 0,
            "refusing to listen on %s without a token: set III_AUTH_TOKEN, make one with `iii token create`, "
            "or pass --insecure-listen",
            s->host);
    if (!is_loopback && !tls_ports_is_wanted(s) && !s->insecure_listen && !s->plain_listen)
        return err_set(
            err, ERR_INVALID, 0,
            "refusing to listen on %s without TLS: set --tls-cert and --tls-key, or pass --plain-listen when "
            "nobody can read the network in between (III_PLAIN_LISTEN)",
            s->host);
    if (!is_loopback && !tls_ports_is_wanted(s))
        log_event(LOG_WARN, "server.exposed", "host", s->host, "msg",
                  "the token and all data can be read on the network: set --tls-cert and --tls-key", NULL);
    return 0;
}

/* Binds the ports that need root now, so that they are found among the inherited ones later. */
static int bind_low_ports(struct daemon *d, struct err *err)
{
    const struct {
        enum inherit_role role;
        int64_t port;
    } ports[] = { { INHERIT_REST, d->settings.rest_port }, { INHERIT_ENGINE, d->settings.engine_port } };
    for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
        int fd = NO_FD;
        if (ports[i].port == 0 || ports[i].port >= LOW_PORTS || inherit_count(d->inherited, ports[i].role) > 0)
            continue;
        int r = http_server_bind(d->settings.host, (uint16_t)ports[i].port, &fd, NULL, err);
        if (r < 0)
            return r;
        if (!d->inherited)
            d->inherited = inherit_new();
        inherit_add(d->inherited, ports[i].role, fd);
    }
    return 0;
}

/* SIGHUP: reads the certificates and the configuration file again, if there are any. A server without TLS that runs in
 * a terminal stops instead, because the terminal is gone (daemon_serve()). */
static void on_hangup_signal(void *arg)
{
    struct daemon *d = arg;
    if (d->tls)
        tls_ports_reload(d->tls);
    if (d->reload)
        reload_ask(d->reload);
    if (!d->tls && !d->reload)
        log_event(LOG_INFO, "server.hangup", "msg", "there are no certificates and no configuration to read again",
                  NULL);
}

/* Opens everything and serves until something stops it. The caller closes the parts. */
static int daemon_serve(struct daemon *d, struct err *err)
{
    int r = open_parts(d, err);
    if (r == 0)
        r = loop_on_signal(d->loop, SIGTERM, on_stop_signal, d);
    if (r == 0)
        r = loop_on_signal(d->loop, SIGINT, on_stop_signal, d);
    if (r == 0)
        r = loop_on_signal(d->loop, SIGHUP, !d->tls && isatty(STDERR_FILENO) ? on_stop_signal : on_hangup_signal, d);
    if (r < 0)
        return r;
    manager_recover(d->manager, daemon_recovered, d);
    loop_run(d->loop);
    return 0;
}

static int daemon_run(struct daemon *d, struct err *err)
{
    enum log_level level = LOG_INFO;
    if (log_level_parse(d->settings.log_level, &level) < 0)
        return err_set(err, ERR_INVALID, 0, "log level \"%s\" is not one of error, warn, info, debug",
                       d->settings.log_level);
    log_setup(level, d->settings.log_json);
    int r = check_exposure(&d->settings, err);
    if (r == 0)
        r = backends_check(&d->settings, err);
    if (r == 0)
        r = data_dir_make(d->settings.data_dir, &d->data_dir, err);
    if (r == 0 && d->settings.takeover) {
        d->inherited = inherit_new();
        r = handover_begin(&d->settings, d->data_dir, d->inherited, &d->successor_conn, err);
    }
    if (r == 0)
        r = take_lock(d, err);
    if (r == 0)
        r = bind_low_ports(d, err);
    if (r == 0)
        r = privilege_prepare(&d->settings, d->data_dir, d->config.path, &d->privilege, err);
    if (r == 0)
        r = privilege_drop(&d->privilege, d->data_dir, err); /* from here on it has none */
    while (r == 0) {
        r = daemon_serve(d, err);
        close_parts(d);
        if (r < 0 || !d->leaving || hand_over(d))
            break;
    }
    return r;
}

int daemon_main(int argc, char **argv)
{
    struct daemon d = { .lock_fd = NO_FD, .successor_conn = NO_FD };
    struct err err = ERR_INIT;
    int r = config_load(argc, argv, &d.config, &d.settings, &err);
    if (r != 0) {
        settings_done(&d.settings);
        if (r > 0)
            return 0; /* --help */
        fprintf(stderr, "iii serve: %s\n", err.msg);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    struct rlimit lim; /* a sandbox needs two descriptors: uses what the hard limit allows */
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
        lim.rlim_cur = lim.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &lim); /* on failure the old limit bounds the number of sandboxes */
    }
    r = daemon_run(&d, &err);
    if (r < 0) {
        fprintf(stderr, "iii serve: %s\n", err.msg);
        d.exit_code = 1;
    }
    inherit_free(d.inherited);
    privilege_done(&d.privilege);
    if (d.successor_conn >= 0)
        (void)close(d.successor_conn); /* a failed handover: the other server continues */
    if (d.lock_fd >= 0)
        (void)close(d.lock_fd);
    free(d.data_dir);
    settings_done(&d.settings);
    config_done(&d.config);
    return d.exit_code;
}
