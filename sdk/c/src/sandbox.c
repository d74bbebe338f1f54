/* Handles of sandboxes: how they are opened, copied, and end with a scope. */
#include <stdlib.h>
#include <string.h>

#include "generated/tables.h"
#include "http.h"

struct iii_sandbox {
    iii_client *client;
    struct iii_sandbox_info *info; /* NULL: never asked for */
    bool is_kept;
    char id[];
};

/* A client of the caller, or one of the environment, which the caller's variable ends. */
static int choose(iii_client **client, iii_client **own, struct iii_error *err)
{
    int e = *client ? 0 : iii_client_new(NULL, own, err);
    if (!*client)
        *client = *own;
    return e;
}

int iii_handle(iii_client *client, const char *id, iii_sandbox **ret, struct iii_error *err)
{
    III_AUTO_CLIENT iii_client *own = NULL;

    *ret = NULL;
    if (!id || id[0] == '\0')
        return iii_fail(err, III_ARGUMENT, 0, "a sandbox needs an id");
    int e = choose(&client, &own, err);
    if (e != 0)
        return e;
    iii_sandbox *s = calloc(1, sizeof(*s) + strlen(id) + 1);
    if (!s)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    s->client = iii_client_share(client);
    memcpy(s->id, id, strlen(id) + 1);
    *ret = s;
    return 0;
}

/* The sandbox that a call described; takes info over. e: how the call ended. */
static int described(iii_client *client, int e, struct iii_sandbox_info *info, iii_sandbox **ret, struct iii_error *err)
{
    *ret = NULL;
    if (e == 0)
        e = iii_handle(client, info->id, ret, err);
    if (e != 0)
        iii_free(info);
    else
        (*ret)->info = info;
    return e;
}

int iii_create(iii_client *client, const struct iii_sandbox_create_options *options, iii_sandbox **ret,
               struct iii_error *err)
{
    III_AUTO_CLIENT iii_client *own = NULL;
    struct iii_sandbox_info *info = NULL;

    int e = choose(&client, &own, err);
    if (e == 0)
        e = iii_sandbox_create(client, options, &info, err);
    return described(client, e, info, ret, err);
}

int iii_connect(iii_client *client, const char *id_or_name, iii_sandbox **ret, struct iii_error *err)
{
    iii_sandbox *asked = NULL;
    struct iii_sandbox_info *info = NULL;

    *ret = NULL;
    int e = iii_handle(client, id_or_name, &asked, err);
    if (e != 0)
        return e;
    e = iii_sandbox_get(asked, &info, err);
    e = described(asked->client, e, info, ret, err);
    iii_release(asked);
    if (e == 0)
        iii_keep(*ret);
    return e;
}

int iii_connect_or_create(iii_client *client, const char *name, const struct iii_sandbox_create_options *options,
                          iii_sandbox **ret, struct iii_error *err)
{
    struct iii_sandbox_create_options all = options ? *options : (struct iii_sandbox_create_options){ 0 };
    struct iii_sandbox_info *info = NULL;

    *ret = NULL;
    if (!name || name[0] == '\0')
        return iii_fail(err, III_ARGUMENT, 0, "a sandbox without a name cannot be found again");
    all.name = name;
    all.if_exists = "connect";
    all.name_len = all.if_exists_len = 0;
    int e = iii_create(client, &all, ret, err);
    if (e != 0)
        return e;
    iii_keep(*ret);
    if (strcmp((*ret)->info->status, "running") == 0)
        return 0;
    e = iii_sandbox_start(*ret, &info, err);
    if (e == 0) {
        iii_free((*ret)->info);
        (*ret)->info = info;
    } else {
        iii_release(*ret);
        *ret = NULL;
    }
    return e;
}

int iii_from_snapshot(iii_client *client, const char *snapshot_id, const char *name, iii_sandbox **ret,
                      struct iii_error *err)
{
    III_AUTO_CLIENT iii_client *own = NULL;
    struct iii_sandbox_info *info = NULL;

    int e = choose(&client, &own, err);
    if (e == 0)
        e = iii_snapshot_clone(client, snapshot_id, &(struct iii_snapshot_clone_options){ .name = name }, &info, err);
    return described(client, e, info, ret, err);
}

int iii_clone(const iii_sandbox *s, const char *name, iii_sandbox **ret, struct iii_error *err)
{
    struct iii_sandbox_info *info = NULL;
    int e = iii_sandbox_clone(s, &(struct iii_sandbox_clone_options){ .name = name }, &info, err);
    return described(iii_sandbox_client(s), e, info, ret, err);
}

/* One of several that an answer describes: with a copy of its record. */
static int one_of(iii_client *client, const struct iii_sandbox_info *found, iii_sandbox **ret, struct iii_error *err)
{
    struct iii_sandbox_info *info = NULL;
    json_t *value = iii_table_encode(&iii_type_sandbox_info, found, IN_BODY);
    int e = value ? iii_table_decode(&iii_type_sandbox_info, value, (void **)&info, err)
                  : iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    return described(client, e, info, ret, err);
}

int iii_forks(const iii_sandbox *s, size_t count, iii_sandbox **ret, struct iii_error *err)
{
    III_AUTO struct iii_sandbox_fork *made = NULL;

    for (size_t i = 0; i < count; i++)
        ret[i] = NULL;
    int e = iii_sandbox_fork(s, &(struct iii_sandbox_fork_options){ .count = III_INT((int64_t)count) }, &made, err);
    if (e == 0 && made->sandboxes_count != count)
        e = iii_fail(err, III_PROTOCOL, 0, "%zu forks were asked for, %zu are there", count, made->sandboxes_count);
    for (size_t i = 0; i < count && e == 0; i++)
        e = one_of(iii_sandbox_client(s), &made->sandboxes[i], &ret[i], err);
    for (size_t i = 0; i < count && e != 0; i++)
        iii_auto_sandbox(&ret[i]);
    return e;
}

int iii_fork(const iii_sandbox *s, iii_sandbox **ret, struct iii_error *err)
{
    return iii_forks(s, 1, ret, err);
}

int iii_get_url(const iii_sandbox *s, int port, char **ret, struct iii_error *err)
{
    III_AUTO struct iii_preview *preview = NULL;

    *ret = NULL;
    int e = iii_preview_open(s, port, NULL, &preview, err);
    if (e != 0)
        return e;
    const char *url = preview->signed_url && !preview->public_ ? preview->signed_url : preview->url;
    *ret = iii_result_new(strlen(url) + 1);
    if (!*ret)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    strcpy(*ret, url);
    return 0;
}

int iii_refresh(iii_sandbox *s, struct iii_error *err)
{
    struct iii_sandbox_info *info = NULL;
    int e = iii_sandbox_get(s, &info, err);
    if (e == 0) {
        iii_free(s->info);
        s->info = info;
    }
    return e;
}

const char *iii_sandbox_id(const iii_sandbox *s)
{
    return s ? s->id : NULL;
}

iii_client *iii_sandbox_client(const iii_sandbox *s)
{
    return s ? s->client : NULL;
}

const struct iii_sandbox_info *iii_sandbox_details(const iii_sandbox *s)
{
    return s->info;
}

void iii_release(iii_sandbox *s)
{
    if (!s)
        return;
    iii_free(s->info);
    iii_client_free(s->client);
    free(s);
}

int iii_close(iii_sandbox *s, struct iii_error *err)
{
    int e = iii_sandbox_kill(s, NULL, err);
    iii_release(s);
    return e;
}

void iii_keep(iii_sandbox *s)
{
    s->is_kept = true;
}

void iii_auto_sandbox(iii_sandbox **s)
{
    if (!*s || (*s)->is_kept)
        iii_release(*s);
    else
        iii_close(*s, NULL); /* nobody is there to hear of a failure: the sandbox then lives until it expires */
    *s = NULL;
}

void iii_auto_client(iii_client **client)
{
    iii_client_free(*client);
    *client = NULL;
}

void iii_auto_tty(iii_tty **tty)
{
    iii_tty_free(*tty);
    *tty = NULL;
}

void iii_auto_result(void *result)
{
    void *data;
    memcpy(&data, result, sizeof(data)); /* it is a pointer to a pointer of some type */
    iii_free(data);
    memset(result, 0, sizeof(data));
}
