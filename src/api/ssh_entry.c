#include "api/ssh_entry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/admission.h"
#include "api/lookup.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "sandbox/net/ssh_keys.h"
#include "ssh/ssh_wire.h"

enum { SWEEP_MS = 1000 };

struct conn {
    struct conn *next;
    struct ssh_entry *entry;
    int fd;
    struct watch *watch;
    char peer[64];
    char key_id[IDENT_MAX], token_id[IDENT_MAX]; /* "" until it is let in */
    char secret[KEYRING_LENT_MAX];
};

struct ssh_entry {
    struct api *api;
    struct http_server *rest;
    struct conn *conns;
    size_t n;
    struct timer *sweep;
    char host[64], host_key[SSH_KEYS_PRINT_MAX];
    uint16_t port;
};

static void conn_end(struct conn *c)
{
    struct ssh_entry *e = c->entry;
    LIST_TAKE(e->conns, c);
    e->n--;
    keyring_return(e->api->keys, c->secret);
    explicit_bzero(c->secret, sizeof(c->secret));
    watch_free(c->watch);
    (void)close(c->fd); /* the listener's process of this connection exits */
    free(c);
}

/* --- who may log in --- */

/* What a key and a user name lead to. */
struct way {
    struct ssh_entry *entry;
    const char *user;
    char sandbox[IDENT_MAX], key_id[IDENT_MAX], token_id[IDENT_MAX];
    char login[SSH_WIRE_LOGIN_MAX];
    bool is_unclear;
};

/* The sandbox that the caller means by text, found as REST finds it. */
static const struct sandbox *find_sandbox(struct api *a, struct caller *who, const char *text)
{
    JSON_OWNED params = json_pack("{s:s}", "id", text);
    if (!params || lookup_ids(a->manager, who, &spec_ops[OP_ID_exec_attach], params, NULL) < 0)
        return NULL;
    return access_sandbox(a->manager, who, json_get_str(params, "id", ""), NULL);
}

static bool try_key(void *arg, const json_t *record)
{
    struct way *w = arg;
    struct api *a = w->entry->api;
    const char *only = json_get_str(record, "sandbox", NULL), *plus = strrchr(w->user, '+');
    CLEANUP(caller_unref_p) struct caller *who = keyring_by_id(a->keys, json_get_str(record, "token", ""));
    if (!who)
        return true;
    size_t login_len = 0;
    const struct sandbox *s = find_sandbox(a, who, w->user);
    if (!s && plus) {
        login_len = (size_t)(plus - w->user);
        s = find_sandbox(a, who, plus + 1);
    }
    if (!s || (only && strcmp(only, s->id) != 0) || login_len >= sizeof(w->login))
        return true;
    if (*w->sandbox) {
        w->is_unclear |= strcmp(w->sandbox, s->id) != 0;
        return true;
    }
    (void)snprintf(w->sandbox, sizeof(w->sandbox), "%s", s->id);
    (void)snprintf(w->key_id, sizeof(w->key_id), "%s", json_get_str(record, "id", ""));
    (void)snprintf(w->token_id, sizeof(w->token_id), "%s", json_get_str(record, "token", ""));
    (void)snprintf(w->login, sizeof(w->login), "%.*s", (int)login_len, w->user);
    return true;
}

static bool find_way(struct ssh_entry *e, const struct ssh_wire_msg *m, struct way *w)
{
    char print[SSH_KEYS_PRINT_MAX];
    *w = (struct way){ .entry = e, .user = m->user };
    ssh_keys_fingerprint(m->print, print);
    ssh_keys_each(e->api->manager->ssh_keys, print, clock_wall_ms(), try_key, w);
    return *w->sandbox && !w->is_unclear;
}

static void let_in(struct conn *c, const struct way *w, struct ssh_wire_msg *answer)
{
    struct api *a = c->entry->api;
    struct caller *who = keyring_lend(a->keys, w->token_id, w->sandbox, c->secret);
    if (!who)
        return;
    (void)caller_unref(who);
    (void)snprintf(c->key_id, sizeof(c->key_id), "%s", w->key_id);
    (void)snprintf(c->token_id, sizeof(c->token_id), "%s", w->token_id);
    (void)snprintf(answer->user, sizeof(answer->user), "%s", w->sandbox);
    (void)snprintf(answer->login, sizeof(answer->login), "%s", w->login);
    (void)snprintf(answer->text, sizeof(answer->text), "%s", c->secret);
    (void)snprintf(answer->prefix, sizeof(answer->prefix), "%s", a->settings->api_prefix);
    answer->kind = SSH_WIRE_ALLOWED;
    log_event(LOG_INFO, "ssh.login", "key", c->key_id, "sandbox", w->sandbox, "remote", c->peer, NULL);
}

static void answer_conn(struct conn *c, const struct ssh_wire_msg *m)
{
    struct ssh_wire_msg answer = { .kind = SSH_WIRE_DENIED };
    struct way w;
    bool is_found = find_way(c->entry, m, &w);
    if (is_found && m->kind == SSH_WIRE_QUERY)
        answer.kind = SSH_WIRE_ALLOWED;
    else if (is_found)
        let_in(c, &w, &answer);
    if (answer.kind == SSH_WIRE_DENIED) {
        struct err err = ERR_INIT;
        (void)err_set(&err, ERR_FORBIDDEN, 0, "SSH login refused");
        admission_record(c->entry->api, &(struct admission){ .remote = c->peer, .operation = "ssh::login" }, NULL,
                         &err);
    }
    int r = ssh_wire_send(c->fd, &answer, NO_FD);
    explicit_bzero(&answer, sizeof(answer));
    if (r < 0)
        conn_end(c);
}

/* --- connections --- */

static void conn_message(void *arg, int events)
{
    struct conn *c = arg;
    struct ssh_entry *e = c->entry;
    (void)events;
    struct ssh_wire_msg m;
    int fd = NO_FD, r = ssh_wire_receive(c->fd, &m, &fd);
    if (r == 0)
        return;
    bool is_in = *c->secret;
    if (r == 1 && m.kind == SSH_WIRE_OPEN && is_in)
        http_server_give(e->rest, fd, c->peer, "");
    else if (r == 1 && (m.kind == SSH_WIRE_QUERY || m.kind == SSH_WIRE_LOGIN) && !is_in)
        answer_conn(c, &m);
    else {
        if (r == 1 && fd >= 0)
            (void)close(fd);
        conn_end(c); /* it has ended, or broke the protocol */
    }
}

void ssh_entry_conn(struct ssh_entry *e, int fd, const char *peer)
{
    struct conn *c = xzalloc(sizeof(*c));
    *c = (struct conn){ .entry = e, .fd = fd, .next = e->conns };
    (void)snprintf(c->peer, sizeof(c->peer), "%s", peer);
    if (e->n >= SSH_ENTRY_MAX || watch_new(e->api->loop, fd, LOOP_READ, conn_message, c, &c->watch) < 0) {
        (void)close(fd);
        free(c);
        return;
    }
    e->conns = c;
    e->n++;
}

static void end_those(struct ssh_entry *e, const char *key_id, const char *token_id)
{
    int64_t now = clock_wall_ms();
    for (struct conn *next, *c = e ? e->conns : NULL; c; c = next) {
        next = c->next;
        if (!*c->secret)
            continue;
        if (key_id     ? strcmp(c->key_id, key_id) == 0
            : token_id ? strcmp(c->token_id, token_id) == 0
                       : !ssh_keys_is_good(e->api->manager->ssh_keys, c->key_id, now))
            conn_end(c);
    }
}

void ssh_entry_end_key(struct ssh_entry *e, const char *key_id)
{
    end_those(e, key_id, NULL);
}

void ssh_entry_end_of(struct ssh_entry *e, const char *token_id)
{
    end_those(e, NULL, token_id);
}

static void on_sweep(void *arg)
{
    end_those(arg, NULL, NULL); /* keys that have expired */
}

/* --- all of it --- */

void ssh_entry_listens(struct ssh_entry *e, const char *host, uint16_t port, const char *host_key)
{
    (void)snprintf(e->host, sizeof(e->host), "%s", host);
    (void)snprintf(e->host_key, sizeof(e->host_key), "%s", host_key);
    e->port = port;
}

json_t *ssh_entry_info(const struct ssh_entry *e)
{
    if (!e || !e->port)
        return json_pack("{s:b}", "enabled", 0);
    return json_pack("{s:b, s:s, s:i, s:s}", "enabled", 1, "host", e->host, "port", e->port, "hostKey", e->host_key);
}

struct ssh_entry *ssh_entry_new(struct api *a, struct http_server *rest)
{
    struct ssh_entry *e = xzalloc(sizeof(*e));
    *e = (struct ssh_entry){ .api = a, .rest = rest };
    e->sweep = timer_new(a->loop, SWEEP_MS, SWEEP_MS, on_sweep, e);
    a->ssh = e;
    return e;
}

struct ssh_entry *ssh_entry_free(struct ssh_entry *e)
{
    if (!e)
        return NULL;
    while (e->conns)
        conn_end(e->conns);
    timer_free(e->sweep);
    e->api->ssh = NULL;
    free(e);
    return NULL;
}
