#include "cli/worker_lock.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "cli/project_file.h"

#define VERSION 1

char *worker_lock_path(const char *config)
{
    const char *slash = strrchr(config, '/');
    return xasprintf("%.*siii.lock", slash ? (int)(slash + 1 - config) : 0, config);
}

int worker_lock_load(const char *path, json_t **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(PROJECT_FILE_MAX);
    int r = project_file_read(path, &text, err);
    if (r < 0)
        return r;
    JSON_OWNED lock = text.len ? json_loadb(buf_text(&text), text.len, 0, NULL) : json_object();
    const json_t *workers = json_get(lock, "workers");
    if (!json_is_object(lock) || (text.len && json_get_int(lock, "version", 0) != VERSION) ||
        (workers && !json_is_object(workers)))
        return err_set(err, ERR_INVALID, 0, "%s: not a lock file of this program; it was not changed", path);
    *ret = STEAL(lock);
    return 0;
}

int worker_lock_put(const char *path, json_t *lock, const struct worker_lock_entry *e, struct err *err)
{
    char hex[DIGEST_HEX];
    const char *slash = strrchr(e->config, '/');
    digest_of(e->text, e->len, hex);
    CLEANUP(free_p) char *digest = xasprintf("sha256:%s", hex);
    json_t *entry = json_pack("{s:s, s:s, s:s, s:s}", "version", e->version, "source", "builtin", "config",
                              slash ? slash + 1 : e->config, "digest", digest);
    json_t *workers = json_object_get(lock, "workers");
    if (!workers) {
        workers = json_object();
        (void)json_object_set_new(lock, "version", json_integer(VERSION));
        (void)json_object_set_new(lock, "workers", workers);
    }
    if (json_equal(json_object_get(workers, e->name), entry)) {
        json_decref(entry);
        return 0;
    }
    (void)json_object_set_new(workers, e->name, entry);
    CLEANUP(buf_done) struct buf text = BUF_INIT(2 * PROJECT_FILE_MAX);
    CLEANUP(free_p) char *dump = json_dumps(lock, JSON_INDENT(2) | JSON_SORT_KEYS);
    (void)buf_addf(&text, "%s\n", dump);
    return project_file_write(path, &text, err);
}
