#include "escape/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/ident.h"
#include "escape/escape_vm.h"
#include "os/tree.h"

#define PROBE_PATH "/workspace/iii-probe"

extern const unsigned char probe_blob[];
size_t probe_blob_size(void);
extern char **environ;

void suite_row(struct suite *s, int item, const char *name, enum suite_result result, const char *fmt, ...)
{
    static const char *const words[] = { "denied", "reached", "skipped" };
    char detail[300];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(detail, sizeof(detail), fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof(detail) ? (size_t)n : sizeof(detail) - 1;
    (void)json_array_append_new(s->rows, json_pack("{s:i, s:s, s:s, s:o}", "item", item, "name", name, "result",
                                                   words[result], "detail", json_text(detail, len)));
}

/* The private server must not use the settings of this user's server, except the paths of its VMMs. */
static void clean_environment(void)
{
    for (char **e = environ; *e;) {
        if (strncmp(*e, "III_", 4) != 0 || strncmp(*e, "III_VM_", 7) == 0) {
            e++;
            continue;
        }
        CLEANUP(free_p) char *name = xstrndup(*e, strcspn(*e, "="));
        (void)unsetenv(name); /* the name exists */
        e = environ;
    }
}

int suite_open(struct suite *s, const char *data_dir, const char *backend, struct err *err)
{
    unsigned char random[(SUITE_SECRET - 1) / 2];
    char token[sizeof(random) * 2 + 1];
    *s = (struct suite){ .rows = json_array(),
                         .dir = xasprintf("%s/escape-XXXXXX", data_dir),
                         .backend = backend,
                         .is_vm = escape_vm_is(backend) };
    if (!mkdtemp(s->dir)) {
        int r = err_set(err, ERR_INTERNAL, errno, "make a folder in %s (III_DATA_DIR names another place)", data_dir);
        s->dir[0] = '\0';
        return r;
    }
    ident_random(random, sizeof(random));
    ident_hex(random, sizeof(random), s->secret);
    ident_random(random, sizeof(random));
    ident_hex(random, sizeof(random), token);
    s->marker = xasprintf("%s/marker", s->dir);
    CLEANUP(close_fd_p) int fd = open(s->marker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, s->secret, SUITE_SECRET - 1) != SUITE_SECRET - 1)
        return err_set(err, ERR_INTERNAL, errno, "write %s", s->marker);
    clean_environment();
    if (setenv("III_AUTH_TOKEN", token, 1) < 0 || setenv("III_PULL", "never", 1) < 0 ||
        setenv("III_ISOLATION_BACKEND", backend, 1) < 0)
        return err_set(err, ERR_INTERNAL, errno, "set the server's environment");
    int r = s->is_vm ? escape_vm_prepare(s, data_dir, err) : 0;
    if (r < 0)
        return r;
    CLEANUP(free_p) char *data = xasprintf("%s/data", s->dir);
    return build_server_open(data, NULL, &s->server, err);
}

void suite_close(struct suite *s)
{
    build_server_done(&s->server);
    if (s->dir && s->dir[0])
        (void)tree_remove(AT_FDCWD, s->dir, NULL); /* on failure the folder stays for the user to see */
    free(s->dir);
    free(s->marker);
    free(s->box);
    free(s->neighbour);
    json_decref(s->rows);
    *s = (struct suite){ 0 };
}

char *suite_create(struct suite *s, json_t *fields, struct err *err)
{
    JSON_OWNED body = fields ? fields : json_object();
    JSON_OWNED made = NULL;
    if (!json_get(body, "image"))
        (void)json_object_set_new(body, "image", json_string("shell"));
    if (build_server_call(&s->server, "POST", "/sandboxes", body, &made, err) < 0)
        return NULL;
    return xstrdup(json_get_str(made, "id", ""));
}

void suite_delete(struct suite *s, const char *id)
{
    struct err ignored = ERR_INIT;
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s", id);
    (void)build_server_call(&s->server, "DELETE", path, NULL, NULL, &ignored); /* all are deleted with the server */
}

int suite_exec(struct suite *s, const char *id, const char *const *argv, char **ret_out, struct err *err)
{
    JSON_OWNED done = NULL;
    json_t *words = json_array();
    for (; *argv; argv++)
        (void)json_array_append_new(words, json_string(*argv));
    JSON_OWNED body = json_pack("{s:o, s:i}", "command", words, "timeout", 120);
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/exec", id);
    int r = build_server_call(&s->server, "POST", path, body, &done, err);
    if (r == 0 && ret_out)
        *ret_out = xstrdup(json_get_str(done, "stdout", ""));
    return r;
}

int suite_shell(struct suite *s, const char *id, const char *script, char **ret_out, struct err *err)
{
    const char *const argv[] = { "/bin/sh", "-c", script, NULL };
    return suite_exec(s, id, argv, ret_out, err);
}

int suite_post(struct suite *s, const char *id, const char *tail, json_t *body, char **ret)
{
    struct err err = ERR_INIT;
    JSON_OWNED own = body;
    JSON_OWNED answer = NULL;
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/%s", id, tail);
    int r = build_server_call(&s->server, "POST", path, own, &answer, &err);
    if (ret)
        *ret = r < 0 ? xstrdup(err.msg) : json_write(answer, NULL);
    return r;
}

int suite_load_probe(struct suite *s, const char *id, struct err *err)
{
    CLEANUP(free_p) char *text = try_alloc(BASE64_SIZE(probe_blob_size()) + 1);
    if (!text)
        return err_set(err, ERR_INTERNAL, ENOMEM, "the probe");
    base64_encode(probe_blob, probe_blob_size(), text);
    JSON_OWNED body = json_pack("{s:s, s:s}", "path", PROBE_PATH, "content", text);
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/files/upload", id);
    int r = build_server_call(&s->server, "POST", path, body, NULL, err);
    return r < 0 ? r : suite_shell(s, id, "chmod 755 " PROBE_PATH, NULL, err);
}
