/* Theory of operation. Pure functions between our structs and the engine's JSON: bodies of requests, and strict parsers
 * of responses. Nothing is kept and nothing is sent; call.c does that. A body belongs to the caller.
 *
 * Every response is untrusted: types, lengths and counts are checked, and an unexpected one is ERR_UPSTREAM that
 * names the field. The engine's error text is cut to one line without control characters before it reaches a message
 * or a log. Docker and Podman differ in some fields and error texts; each difference is handled where it is parsed. */
#include "runtime/docker/messages.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/strlist.h"

#define MIB           (1024 * 1024)
#define CPU_PERIOD_US 100000
#define STRINGS_MAX   1024 /* entries of one list of an image */
#define LAYERS_MAX    512

/* --- requests --- */

/* A quota, not NanoCpus: the engine rejects NanoCpus above the number of its CPUs, and a limit of four must work on
 * a host with two. */
json_t *docker_messages_limits(uint32_t memory_mb, uint32_t cpu_milli, uint32_t pids_max)
{
    json_int_t bytes = (json_int_t)memory_mb * MIB;
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "Memory", bytes, "MemorySwap", bytes, "CpuPeriod",
                     (json_int_t)CPU_PERIOD_US, "CpuQuota", (json_int_t)cpu_milli * (CPU_PERIOD_US / 1000), "PidsLimit",
                     (json_int_t)pids_max);
}

/* The capabilities that the agent needs to manage other users' processes in the container, and no more. */
static json_t *host_config(const struct docker_messages_box *box)
{
    json_t *h = docker_messages_limits(box->plan->memory_mb, box->plan->cpu_milli, box->plan->pids_max);
    JSON_OWNED more = json_pack("{s:[s], s:[s,s,s,s,s,s,s,s], s:[s], s:s, s:[{s:s, s:s, s:s, s:b, s:{s:s}}], s:b, "
                                "s:{s:s}, s:{s:s, s:{s:s, s:s}}}",
                                "CapDrop", "ALL", "CapAdd", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL",
                                "SETGID", "SETUID", "NET_BIND_SERVICE", "SecurityOpt", "no-new-privileges:true",
                                "NetworkMode", box->plan->has_network ? "default" : "none", "Mounts", "Type", "bind",
                                "Source", box->folder, "Target", DOCKER_MESSAGES_GUEST, "ReadOnly", 1, "BindOptions",
                                "Propagation", "rprivate", "AutoRemove", 0, "RestartPolicy", "Name", "no", "LogConfig",
                                "Type", "json-file", "Config", "max-size", "1m", "max-file", "1");
    (void)json_object_update(h, more);
    if (box->plan->shm_mb)
        (void)json_object_set_new(h, "ShmSize", json_integer((json_int_t)box->plan->shm_mb * MIB));
    if (!box->plan->has_network) { /* the engine must not forward DNS queries of a network's members */
        (void)json_object_set_new(h, "Dns", json_pack("[s]", "127.0.0.1"));
        (void)json_object_set_new(h, "DnsOptions", json_pack("[s,s]", "timeout:1", "attempts:1"));
    }
    if (*box->runtime)
        (void)json_object_set_new(h, "Runtime", json_string(box->runtime));
    return h;
}

json_t *docker_messages_container(const struct docker_messages_box *box)
{
    const struct box_plan *p = box->plan;
    CLEANUP(free_p) char *files = xasprintf("%u", p->nofile);
    json_t *c =
        json_pack("{s:s, s:s, s:s, s:[s,s,s,s,s], s:[], s:s, s:b, s:b, s:b, s:o, s:o}", "Image", box->image, "Hostname",
                  *p->hostname ? p->hostname : p->id, "User", "0:0", "Entrypoint", DOCKER_MESSAGES_GUEST "/guest",
                  "--dial-unix", DOCKER_MESSAGES_GUEST "/sock", "--files", files, "Cmd", "WorkingDir",
                  p->workdir ? p->workdir : "/", "Tty", 0, "OpenStdin", 0, "AttachStdout", 0, "Labels",
                  json_pack("{s:s, s:s, s:s}", DOCKER_MESSAGES_LABEL, "true", DOCKER_MESSAGES_LABEL_DATA, box->tag,
                            DOCKER_MESSAGES_LABEL_ID, p->id),
                  "HostConfig", host_config(box));
    (void)json_object_set_new(c, "Healthcheck", json_pack("{s:[s]}", "Test", "NONE")); /* disables the image's own */
    /* the container ignores the engine's stop signal: without this, a stop would wait 10 s */
    (void)json_object_set_new(c, "StopSignal", json_string("SIGKILL"));
    return c;
}

json_t *docker_messages_filter(const char *tag, const char *more, const char *value)
{
    CLEANUP(free_p) char *label = xasprintf("%s=%s", DOCKER_MESSAGES_LABEL_DATA, tag);
    json_t *f = json_pack("{s:[s]}", "label", label);
    if (more)
        (void)json_object_set_new(f, more, json_pack("[s]", value));
    return f;
}

/* --- responses --- */

int docker_messages_id(const json_t *body, const char *key, char ret[DOCKER_MESSAGES_ID_MAX], struct err *err)
{
    const char *text = json_get_str(body, key, "");
    if (strncmp(text, "sha256:", 7) == 0)
        text += 7;
    if (strlen(text) != DOCKER_MESSAGES_ID_MAX - 1 || strspn(text, "0123456789abcdef") != DOCKER_MESSAGES_ID_MAX - 1)
        return err_set(err, ERR_UPSTREAM, EPROTO, "the engine's response has no valid \"%s\"", key);
    memcpy(ret, text, DOCKER_MESSAGES_ID_MAX);
    return 0;
}

/* Podman has a field for it, Docker an entry in a list. */
static bool is_rootless(const json_t *info)
{
    size_t i;
    json_t *word;
    bool is = json_get_bool(info, "Rootless", false);
    json_array_foreach(json_get(info, "SecurityOptions"), i, word) is =
        is || (json_is_string(word) && strncmp(json_string_value(word), "name=rootless", 13) == 0);
    return is;
}

struct docker_messages_powers docker_messages_powers(const json_t *info)
{
    bool is_v1 = strcmp(json_get_str(info, "CgroupVersion", "1"), "1") == 0;
    bool has_groups = strcmp(json_get_str(info, "CgroupDriver", ""), "none") != 0 && !(is_v1 && is_rootless(info));
    return (struct docker_messages_powers){ .can_pause = has_groups,
                                            .can_memory = has_groups && json_get_bool(info, "MemoryLimit", false),
                                            .can_cpu = has_groups && json_get_bool(info, "CpuCfsQuota", false),
                                            .can_pids = has_groups && json_get_bool(info, "PidsLimit", false),
                                            .can_network =
                                                !json_get(info, "BuildahVersion") }; /* only Podman has that */
}

static char **take_strings(const json_t *array)
{
    return json_array_size(array) > STRINGS_MAX ? NULL : strlist_from_json(array);
}

int docker_messages_image(const json_t *body, struct docker_messages_image *ret, struct err *err)
{
    char hex[DOCKER_MESSAGES_ID_MAX];
    const json_t *config = json_get(body, "Config");
    const char *os = json_get_str(body, "Os", "linux");
    int r = docker_messages_id(body, "Id", hex, err);
    if (r < 0)
        return r;
    if (*os && strcmp(os, "linux") != 0)
        return err_set(err, ERR_UNSUPPORTED, 0, "the image is for %.20s, not for linux", os);
    *ret = (struct docker_messages_image){ .image = { .env = take_strings(json_get(config, "Env")),
                                                      .entrypoint = take_strings(json_get(config, "Entrypoint")),
                                                      .cmd = take_strings(json_get(config, "Cmd")),
                                                      .user = json_get_str(config, "User", ""),
                                                      .workdir = json_get_str(config, "WorkingDir", ""),
                                                      .size_bytes = json_get_int(body, "Size", 0) } };
    (void)snprintf(ret->id, sizeof(ret->id), "docker:sha256:%s", hex);
    if (ret->image.workdir[0] != '/' || strcmp(ret->image.workdir, "/") == 0)
        ret->image.workdir = "";
    return 0;
}

void docker_messages_image_done(struct docker_messages_image *i)
{
    i->image.env = strlist_free(i->image.env);
    i->image.entrypoint = strlist_free(i->image.entrypoint);
    i->image.cmd = strlist_free(i->image.cmd);
}

json_t *docker_messages_image_list(const json_t *body)
{
    json_t *list = json_array(), *row, *name;
    size_t i, k;
    json_array_foreach(body, i, row)
    {
        json_array_foreach(json_get(row, "RepoTags"), k, name)
        {
            const char *text = json_string_value(name);
            if (!text || strcmp(text, "<none>:<none>") == 0)
                continue;
            (void)json_array_append_new(
                list, json_pack("{s:s, s:s, s:I, s:i, s:I, s:s}", "name", text, "id", json_get_str(row, "Id", ""),
                                "size", (json_int_t)json_get_int(row, "Size", 0), "layers", 1, "createdAt",
                                (json_int_t)json_get_int(row, "Created", 0) * 1000, "source", "docker"));
        }
    }
    return list;
}

/* --- errors --- */

static enum err_code code_of(int status, const char *text)
{
    if (status == 507 || strstr(text, "no space left"))
        return ERR_NO_SPACE;
    return status == 404   ? ERR_NOT_FOUND
           : status == 409 ? ERR_CONFLICT
           : status == 400 ? ERR_INVALID
           : status == 503 ? ERR_CAPACITY
                           : ERR_UPSTREAM;
}

/* Turns it into one line without control characters, for messages and logs. */
static void text_tidy(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
}

void docker_messages_error(const char *what, int status, const char *body, size_t len, struct err *err)
{
    JSON_OWNED answer = NULL;
    char text[160] = "it says nothing more";
    if (json_read(body, len, &answer, NULL) == 0)
        (void)snprintf(text, sizeof(text), "%s", json_get_str(answer, "message", json_get_str(answer, "cause", text)));
    text_tidy(text);
    if (strstr(text,
               "bind source path does not exist")) /* the caller's request is fine, the operator's mounts are not */
        (void)err_set(err, ERR_CAPACITY, 0,
                      "%s: the engine does not see the server's data folder (%s): a server in a container needs it "
                      "mounted from the host under the same path",
                      what, text);
    else
        (void)err_set(err, code_of(status, text), 0, "%s: the engine answers %d: %s", what, status, text);
}

void docker_messages_unreachable(const char *what, const char *host, const struct err *cause, struct err *err)
{
    enum err_code code = cause->code == ERR_TIMEOUT ? ERR_TIMEOUT : ERR_CAPACITY;
    const char *text = strrchr(cause->msg, ':') ? strrchr(cause->msg, ':') + 2 : cause->msg;
    (void)err_set(err, code, cause->sys, "%s: the Docker engine at %.80s cannot be reached%s%.80s", what, host,
                  cause->sys ? "" : ": ", cause->sys ? "" : text);
}

/* --- pulls --- */

void docker_messages_pull_init(struct docker_messages_pull *p)
{
    *p = (struct docker_messages_pull){ .layers = json_object() };
}

void docker_messages_pull_done(struct docker_messages_pull *p)
{
    p->layers = json_unref(p->layers);
}

static int64_t string_bounded(int64_t v)
{
    return v < 0 ? 0 : v > INT64_C(1) << 44 ? INT64_C(1) << 44 : v;
}

void docker_messages_pull_line(struct docker_messages_pull *p, const char *line, size_t len)
{
    JSON_OWNED event = NULL;
    if (json_read(line, len, &event, NULL) < 0)
        return;
    const char *id = json_get_str(event, "id", NULL), *status = json_get_str(event, "status", "");
    const char *error = json_get_str(event, "error", NULL);
    if (error && p->err.code == ERR_NONE) {
        char text[160];
        (void)snprintf(text, sizeof(text), "%s", error);
        text_tidy(text);
        bool is_missing =
            strstr(text, "not found") || strstr(text, "does not exist") || strstr(text, "manifest unknown");
        (void)err_set(&p->err, is_missing ? ERR_NOT_FOUND : code_of(502, text), 0, "the engine reports: %s", text);
    }
    bool is_layer = strcmp(status, "Downloading") == 0 || strcmp(status, "Pulling fs layer") == 0;
    bool is_complete = strcmp(status, "Pull complete") == 0 || strcmp(status, "Already exists") == 0 ||
                       strcmp(status, "Download complete") == 0;
    if (!id || (!is_layer && !is_complete))
        return;
    json_t *row = json_object_get(p->layers, id);
    if (!row && json_object_size(p->layers) >= LAYERS_MAX)
        return;
    const json_t *detail = json_get(event, "progressDetail");
    int64_t total = string_bounded(json_get_int(detail, "total", json_integer_value(json_array_get(row, 1))));
    int64_t done = is_complete ? total : string_bounded(json_get_int(detail, "current", 0));
    (void)json_object_set_new(p->layers, id, json_pack("[I, I, b]", (json_int_t)done, (json_int_t)total, is_complete));
    p->done_bytes = p->total_bytes = 0;
    p->n_done = p->n = 0;
    json_object_foreach(p->layers, id, row)
    {
        p->done_bytes += json_integer_value(json_array_get(row, 0));
        p->total_bytes += json_integer_value(json_array_get(row, 1));
        p->n_done += json_is_true(json_array_get(row, 2));
        p->n++;
    }
}

void docker_messages_split(const char *name, char **ret_image, char **ret_tag)
{
    if (strncmp(name, "oci:", 4) == 0)
        name += 4;
    const char *at = strchr(name, '@'), *slash = strrchr(name, '/');
    const char *colon = strchr(slash ? slash : name, ':');
    if (at) { /* a digest takes precedence over the tag */
        *ret_image = xstrndup(name, (size_t)((colon && colon < at ? colon : at) - name));
        *ret_tag = xstrdup(at + 1);
    } else {
        *ret_image = colon ? xstrndup(name, (size_t)(colon - name)) : xstrdup(name);
        *ret_tag = xstrdup(colon ? colon + 1 : "latest");
    }
}
