/* Handles of sandboxes, their end with a scope, and the calls that are more comfortable than the generated ones. */
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "table.h"

struct iii_sandbox {
    iii_client *client;
    struct iii_sandbox_info *info; /* NULL: never asked for */
    bool is_kept;
    char id[];
};

int iii_handle(iii_client *client, const char *id, iii_sandbox **ret, struct iii_error *err)
{
    *ret = NULL;
    if (!client || !id || id[0] == '\0')
        return iii_fail(err, III_ARGUMENT, 0, "a sandbox needs a client and an id");
    iii_sandbox *s = calloc(1, sizeof(*s) + strlen(id) + 1);
    if (!s)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    s->client = client;
    memcpy(s->id, id, strlen(id) + 1);
    *ret = s;
    return 0;
}

int iii_create(iii_client *client, const struct iii_sandbox_create_options *options, iii_sandbox **ret,
               struct iii_error *err)
{
    struct iii_sandbox_create_options asked = options ? *options : (struct iii_sandbox_create_options){ 0 };
    struct iii_sandbox_info *info = NULL;

    *ret = NULL;
    int e = iii_sandbox_create(client, &asked, &info, err);
    if (e == 0)
        e = iii_handle(client, info->id, ret, err);
    if (e != 0)
        iii_free(info);
    else
        (*ret)->info = info;
    return e;
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

int iii_open(iii_client *client, const char *id, iii_sandbox **ret, struct iii_error *err)
{
    int e = iii_handle(client, id, ret, err);
    if (e == 0)
        e = iii_refresh(*ret, err);
    if (e != 0) {
        iii_release(*ret);
        *ret = NULL;
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

int iii_exec(const iii_sandbox *s, const char *line, int timeout_s, struct iii_exec_result **ret, struct iii_error *err)
{
    int64_t limit = timeout_s;
    struct iii_cmd_run_options options = { .timeout = timeout_s > 0 ? &limit : NULL };
    return iii_cmd_run(s, III_SHELL(line), &options, ret, err);
}

int iii_exec_stream(const iii_sandbox *s, const char *line, iii_exec_stream_chunk_fn *on_event, void *arg,
                    struct iii_error *err)
{
    return iii_cmd_run_stream(s, III_SHELL(line), NULL, on_event, arg, err);
}

int iii_write_file(const iii_sandbox *s, const char *path, const void *data, size_t size, struct iii_error *err)
{
    char *text = size < SIZE_MAX / 2 ? malloc(BASE64_SIZE(size)) : NULL;
    if (!text)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    iii_base64_encode(data, size, text);
    int e = iii_fs_upload(s, path, text, NULL, err);
    free(text);
    return e;
}

int iii_read_file(const iii_sandbox *s, const char *path, unsigned char **ret, size_t *ret_size, struct iii_error *err)
{
    III_AUTO struct iii_base64 *text = NULL;

    *ret = NULL;
    *ret_size = 0;
    int e = iii_fs_download(s, path, &text, err);
    if (e != 0)
        return e;
    unsigned char *data = iii_result_new(text->value_len / 4 * 3 + 1);
    if (!data)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    long size = iii_base64_decode(text->value, text->value_len, data);
    if (size < 0) {
        iii_free(data);
        return iii_fail(err, III_PROTOCOL, 0, "the server sent no base64");
    }
    *ret = data;
    *ret_size = (size_t)size;
    return 0;
}
