#include "sandbox/lifecycle/sandbox.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/strlist.h"
#include "sandbox/exec/services.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/observe/sandbox_usage.h"

#define SCOPE        "sandbox"
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MIB          (1024 * 1024)
#define YEAR_9999_MS 253402300799000LL

static const char *const status_names[SANDBOX_STATUSES] = { "running", "paused", "expired", "stopped", "hibernated" };

const char *sandbox_status_name(enum sandbox_status st)
{
    return status_names[st];
}

struct sandbox *sandbox_new(struct manager *m, const char *id)
{
    struct sandbox *s = xzalloc(sizeof(*s));
    s->manager = m;
    s->runtime = m->runtime;
    s->refs = 1;
    memcpy(s->id, id, strnlen(id, sizeof(s->id) - 1));
    memcpy(s->box_id, s->id, sizeof(s->box_id));
    if (ident_is("sbx", id)) { /* the id's 24 hex digits and 8 more, as a UUID */
        unsigned char tail[4];
        char hex[2 * 16 + 1];
        ident_random(tail, sizeof(tail));
        (void)snprintf(hex, sizeof(hex), "%s", id + 4);
        ident_hex(tail, sizeof(tail), hex + IDENT_HEX);
        (void)uuid_parse(hex, s->uuid); /* they are hex digits */
    }
    s->metadata = json_object();
    s->env = json_object();
    s->extra = json_object();
    s->config_json = json_object();
    s->user = xstrdup("");
    s->tenant = xstrdup("");
    return s;
}

void sandbox_set_config(struct sandbox *s, const struct sandbox_config *config)
{
    sandbox_config_done(&s->config);
    json_decref(s->config_json);
    s->config = *config;
    s->config_json = sandbox_config_write(config);
}

struct sandbox *sandbox_ref(struct sandbox *s)
{
    s->refs++;
    return s;
}

struct sandbox *sandbox_unref(struct sandbox *s)
{
    if (!s || --s->refs)
        return NULL;
    free(s->name);
    free(s->image);
    free(s->parent_id);
    free(s->why);
    free(s->words);
    free(s->user);
    free(s->tenant);
    sandbox_config_done(&s->config);
    json_decref(s->config_json);
    json_decref(s->metadata);
    json_decref(s->env);
    json_decref(s->extra);
    json_decref(s->kept);
    json_decref(s->listening.rows);
    free(s->saved);
    timer_free(s->again.timer);
    free(s->stop.reason);
    strlist_free(s->image_env);
    strlist_free(s->image_command);
    strlist_free(s->layers);
    free(s->image_workdir);
    free(s->resolved);
    free(s->version);
    free(s->digest);
    free(s->counted.layer);
    strlist_free(s->exec_env);
    services_free(s);
    free(s);
    return NULL;
}

json_t *sandbox_json(const struct sandbox *s)
{
    json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:O, s:O}", "id", s->id, "name", s->name, "image", s->image,
                          "status", status_names[s->status], "createdAt", (json_int_t)s->created_at, "expiresAt",
                          (json_int_t)s->expires_at, "config", s->config_json, "metadata", s->metadata);
    if (s->config.entrypoint)
        (void)json_object_set_new(j, "entrypoint", strlist_to_json(s->config.entrypoint));
    if (s->parent_id)
        (void)json_object_set_new(j, "parentId", json_string(s->parent_id));
    if (*s->tenant)
        (void)json_object_set_new(j, "tenant", json_string(s->tenant));
    if (s->resolved)
        (void)json_object_set_new(j, "resolvedImage", json_string(s->resolved));
    if (s->digest)
        (void)json_object_set_new(j, "imageDigest", json_string(s->digest));
    if (s->version)
        (void)json_object_set_new(j, "imageVersion", json_string(s->version));
    (void)json_object_set_new(j, "backend", json_string(s->runtime->ops->name));
    if (sandbox_is_asleep(s)) {
        (void)json_object_set_new(j, "stoppedAt", json_integer((json_int_t)s->stop.at));
        (void)json_object_set_new(j, "stopReason", json_string(s->stop.reason));
        if (s->why)
            (void)json_object_set_new(j, "error", json_string(s->why));
    }
    if (s->services)
        (void)json_object_set_new(j, "services", services_json(s));
    const char *why = s->box && s->runtime->ops->without_agent ? s->runtime->ops->without_agent(s->box) : NULL;
    if (why)
        (void)json_object_set_new(j, "withoutAgent", json_string(why));
    (void)json_object_set_new(j, "workerId", json_string(s->manager->worker_id));
    return j;
}

json_t *sandbox_record(const struct sandbox *s)
{
    json_t *j = sandbox_json(s);
    json_t *inner = json_pack("{s:s, s:s, s:O, s:O, s:o, s:s, s:o, s:b}", "uuid", s->uuid, "boxId", s->box_id, "env",
                              s->env, "extra", s->extra, "imageEnv", strlist_to_json(s->image_env), "user", s->user,
                              "layers", strlist_to_json(s->layers), "isHost", s->is_host);
    if (s->image_command)
        (void)json_object_set_new(inner, "imageCommand", strlist_to_json(s->image_command));
    if (s->image_workdir && *s->image_workdir)
        (void)json_object_set_new(inner, "imageWorkdir", json_string(s->image_workdir));
    if (s->box) {
        json_t *box = s->runtime->ops->save(s->box);
        /* Servers up to 0.1 look here, and one of them may take over again. */
        (void)json_object_set_new(box, "paused", json_boolean(s->status == SANDBOX_PAUSED));
        (void)json_object_set_new(inner, "box", box);
    } else if (s->kept) {
        (void)json_object_set(inner, "box", s->kept);
    }
    if (s->saved && s->status == SANDBOX_HIBERNATED)
        (void)json_object_set_new(inner, "saved", json_string(s->saved));
    if (!s->box || s->stop.has_expiry)
        (void)json_object_set_new(inner, "hasExpiry", json_boolean(s->stop.has_expiry));
    if (s->is_persistent)
        (void)json_object_set_new(inner, "isPersistent", json_true());
    (void)json_object_set_new(j, "internal", inner);
    return j;
}

void sandbox_expire_at(struct sandbox *s, int64_t wall_ms)
{
    s->expires_at = wall_ms;
    s->deadline_us = wall_ms ? clock_deadline_us(wall_ms, clock_wall_ms(), clock_mono_us()) : INT64_MAX;
}

/* Up to 0.1 the functions of the engine kept an idle timeout of their own, and wrote the year 9999 for "no expiry". */
static void read_times(struct sandbox *s, const json_t *record, struct sandbox_config *config)
{
    int64_t idle_s = json_get_int(json_get(s->extra, "engine"), "idle_secs", -1);
    int64_t expires_at = json_get_int(record, "expiresAt", 1); /* a record without one is damaged: expired */
    if (idle_s >= 0 && !(config->given & SANDBOX_CONFIG_IDLE_TIMEOUT)) {
        config->idle_timeout_s = idle_s;
        config->given |= SANDBOX_CONFIG_IDLE_TIMEOUT;
    }
    sandbox_expire_at(s, expires_at == YEAR_9999_MS ? 0 : expires_at);
}

int sandbox_from_record(struct manager *m, const json_t *record, struct sandbox **ret, struct err *err)
{
    const char *id = json_get_str(record, "id", "");
    const json_t *inner = json_get(record, "internal");
    if (!ident_is("sbx", id) || !inner)
        return err_set(err, ERR_INTERNAL, 0, "sandbox record \"%s\" is damaged", id);
    struct runtime *rt = manager_runtime(m, json_get_str(record, "backend", m->runtime->ops->name), err);
    if (!rt)
        return -ENOENT;
    struct sandbox *s = sandbox_new(m, id);
    s->runtime = rt;
    const char *status = json_get_str(record, "status", "running"), *parent = json_get_str(record, "parentId", NULL);
    for (int st = 0; st < SANDBOX_STATUSES; st++)
        if (strcmp(status, status_names[st]) == 0)
            s->status = (enum sandbox_status)st;
    s->kept = json_incref(json_get(inner, "box"));
    s->stop.at = json_get_int(record, "stoppedAt", 0);
    s->stop.reason = xstrdup(json_get_str(record, "stopReason", NULL));
    s->saved = s->status == SANDBOX_HIBERNATED ? xstrdup(json_get_str(inner, "saved", NULL)) : NULL;
    s->stop.has_expiry = json_get_bool(inner, "hasExpiry", s->status == SANDBOX_STOPPED);
    s->is_persistent = json_get_bool(inner, "isPersistent", false);
    s->why = sandbox_is_asleep(s) ? xstrdup(json_get_str(record, "error", NULL)) : NULL;
    s->name = xstrdup(json_get_str(record, "name", id));
    s->image = xstrdup(json_get_str(record, "image", ""));
    free(s->tenant);
    s->tenant = xstrdup(json_get_str(record, "tenant", ""));
    s->parent_id = xstrdup(parent);
    s->created_at = json_get_int(record, "createdAt", 0);
    struct sandbox_config config = { 0 };
    sandbox_config_read(&config, json_get(record, "config"));
    (void)json_object_update(s->metadata, json_get(record, "metadata"));
    (void)json_object_update(s->env, json_get(inner, "env"));
    (void)json_object_update(s->extra, json_get(inner, "extra"));
    read_times(s, record, &config);
    sandbox_set_config(s, &config);
    s->image_env = strlist_from_json(json_get(inner, "imageEnv"));
    s->image_command = strlist_from_json(json_get(inner, "imageCommand"));
    s->layers = strlist_from_json(json_get(inner, "layers"));
    s->is_host = json_get_bool(inner, "isHost", false);
    s->image_workdir = xstrdup(json_get_str(inner, "imageWorkdir", NULL));
    s->resolved = xstrdup(json_get_str(record, "resolvedImage", NULL));
    s->version = xstrdup(json_get_str(record, "imageVersion", NULL));
    s->digest = xstrdup(json_get_str(record, "imageDigest", NULL));
    free(s->user);
    s->user = xstrdup(json_get_str(inner, "user", ""));
    (void)uuid_parse(json_get_str(inner, "uuid", ""), s->uuid);
    const char *box_id = json_get_str(inner, "boxId", id);
    memset(s->box_id, 0, sizeof(s->box_id));
    memcpy(s->box_id, box_id, strnlen(box_id, sizeof(s->box_id) - 1));
    *ret = s;
    return 0;
}

int sandbox_save(struct sandbox *s, struct err *err)
{
    JSON_OWNED record = sandbox_record(s);
    return store_put(s->manager->store, SCOPE, s->id, record, err);
}

static void overlay(char ***env, const json_t *vars)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)vars, key, value)
    {
        if (json_is_string(value))
            strlist_env_set(env, key, json_string_value(value));
        else if (*env)
            strlist_env_unset(*env, key);
    }
}

const char *const *sandbox_env(struct sandbox *s)
{
    if (!s->exec_env) {
        char **env = NULL;
        strlist_env_set(&env, "PATH", DEFAULT_PATH);
        strlist_env_set(&env, "HOME", "/root");
        strlist_env_set(&env, "HOSTNAME", s->id);
        /* Where npm i -g installs, which node does not search: as another user than root (agent/launch.c), by an
         * image's own npm, and by that of a distribution. */
        strlist_env_set(&env, "NODE_PATH",
                        "/root/.local/lib/node_modules:/usr/local/lib/node_modules:/usr/lib/node_modules");
        strlist_env_set(&env, "PIP_BREAK_SYSTEM_PACKAGES", "1"); /* the system is the sandbox's own */
        strlist_env_set(&env, "PIP_ROOT_USER_ACTION", "ignore");
        if (!s->config.has_network) { /* an install that cannot succeed fails at once */
            strlist_env_set(&env, "PIP_RETRIES", "0");
            strlist_env_set(&env, "NPM_CONFIG_FETCH_RETRIES", "0");
        }
        for (char **p = s->image_env; p && *p; p++) {
            const char *eq = strchr(*p, '=');
            if (!eq)
                continue;
            CLEANUP(free_p) char *key = xstrndup(*p, (size_t)(eq - *p));
            strlist_env_set(&env, key, eq + 1);
        }
        overlay(&env, s->config.env);
        overlay(&env, s->env);
        s->exec_env = env;
    }
    return (const char *const *)s->exec_env;
}

void sandbox_env_changed(struct sandbox *s)
{
    s->exec_env = strlist_free(s->exec_env);
}

const char *sandbox_workdir(const struct sandbox *s)
{
    return s->config.workdir ? s->config.workdir : s->manager->settings->workspace_dir;
}

bool sandbox_is_asleep(const struct sandbox *s)
{
    return s->status == SANDBOX_STOPPED || s->status == SANDBOX_HIBERNATED;
}

int sandbox_need_running(const struct sandbox *s, struct err *err)
{
    if (s->status == SANDBOX_RUNNING && s->link && !s->is_starting)
        return 0;
    if (s->status == SANDBOX_PAUSED || sandbox_is_asleep(s))
        return err_set(err, ERR_CONFLICT, 0,
                       "sandbox %s is not running (it is %s): wake it with POST /sandboxes/%s/start, or set autoResume",
                       s->id, status_names[s->status], s->id);
    return err_set(err, ERR_CONFLICT, 0, "sandbox %s is not running (it is %s)", s->id, status_names[s->status]);
}

json_t *sandbox_metrics(struct sandbox *s, struct err *err)
{
    struct box_stats st = { 0 };
    if (!s->box) {
        (void)err_set(err, ERR_CONFLICT, 0, "sandbox %s is not running (it is %s)", s->id, status_names[s->status]);
        return NULL;
    }
    if (sandbox_usage_get(s, &st, err) < 0)
        return NULL;
    /* Share of one CPU used since the last look, in percent; the first look averages over the sandbox's life. */
    int64_t now_us = clock_mono_us();
    double span_us =
        (double)(s->cpu_seen_at_us ? now_us - s->cpu_seen_at_us : (clock_wall_ms() - s->created_at) * 1000);
    double used_us = (double)st.cpu_usage_us - (double)s->cpu_seen_us;
    double cpu_percent = span_us > 0 && used_us > 0 ? round(used_us / span_us * 10000) / 100 : 0;
    s->cpu_seen_us = (int64_t)st.cpu_usage_us;
    s->cpu_seen_at_us = now_us;
    uint64_t limit = st.memory_limit_bytes ? st.memory_limit_bytes / MIB : (uint64_t)s->config.memory_mb;
    json_t *metrics = json_pack("{s:s, s:f, s:I, s:I, s:I, s:I, s:I}", "sandboxId", s->id, "cpuPercent", cpu_percent,
                                "memoryUsageMb", (json_int_t)(st.memory_bytes / MIB), "memoryLimitMb",
                                (json_int_t)limit, "networkRxBytes", (json_int_t)st.rx_bytes, "networkTxBytes",
                                (json_int_t)st.tx_bytes, "pids", (json_int_t)(st.pids ? st.pids : 1));
    limits_metrics(metrics, &s->config, &st);
    return metrics;
}
