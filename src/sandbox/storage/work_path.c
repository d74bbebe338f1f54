#include "sandbox/storage/work_path.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "sandbox/lifecycle/manager.h"

static bool is_below(const char *path, const char *root)
{
    size_t n = strlen(root);
    while (n > 1 && root[n - 1] == '/')
        n--;
    if (n == 1 && root[0] == '/')
        return true;
    return strncmp(path, root, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* Copies path without doubled and trailing slashes. */
static void tidy(struct buf *out, const char *path)
{
    for (const char *p = path; *p; p++)
        if (*p != '/' || (p[1] != '/' && p[1] != '\0'))
            (void)buf_add_char(out, *p);
    if (out->len == 0)
        (void)buf_add_char(out, '/');
}

static int check_length(size_t len, struct err *err)
{
    if (len == 0 || len >= WORK_PATH_MAX)
        return err_set(err, ERR_INVALID, 0, "path: %zu bytes long, allowed are 1 to %d", len, WORK_PATH_MAX - 1);
    return 0;
}

int work_path_any(const struct sandbox *s, const char *path, char **ret, struct err *err)
{
    const char *root = s->manager->settings->workspace_dir;
    char *whole = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", root, path);
    int r = *path ? check_length(strlen(whole), err) : check_length(0, err);
    if (r < 0)
        free(whole);
    else
        *ret = whole;
    return r;
}

int work_path_resolve(const struct sandbox *s, const char *path, char **ret, struct err *err)
{
    const char *root = s->manager->settings->workspace_dir;
    int r = check_length(strlen(path), err);
    if (r < 0)
        return r;
    if (strstr(path, ".."))
        return err_set(err, ERR_INVALID, 0, "path traversal: \"%.200s\" contains \"..\"", path);
    struct buf out = BUF_INIT(2 * WORK_PATH_MAX);
    if (path[0] == '/') {
        tidy(&out, path);
    } else {
        CLEANUP(free_p) char *joined = xasprintf("%s/%s", root, path);
        tidy(&out, joined);
    }
    if (!is_below(out.data, root) && !is_below(out.data, sandbox_workdir(s))) {
        r = err_set(err, ERR_INVALID, 0, "path traversal: \"%.200s\" is outside %s", path, root);
        buf_done(&out);
        return r;
    }
    *ret = buf_steal(&out, NULL);
    return 0;
}
