/* The record of a sandbox as the store gives it back, and paths below it: lines of paths, then the JSON. A record that
 * is taken must be written the same again. */
#include "../feed.h"

#include "sandbox/lifecycle/manager.h"
#include "sandbox/storage/work_path.h"

static struct manager *get_manager(void)
{
    static struct settings settings;
    static struct manager m;
    static char worker[] = "w";
    static const struct runtime_ops ops = { .name = "native" };
    static struct runtime runtime = { .ops = &ops };
    if (!m.settings) {
        settings_init(&settings);
        m = (struct manager){
            .settings = &settings, .worker_id = worker, .runtime = &runtime, .runtimes = { &runtime }, .n_runtimes = 1
        };
    }
    return &m;
}

static void try_path(const struct sandbox *s, const char *path)
{
    CLEANUP(free_p) char *once = NULL;
    CLEANUP(free_p) char *twice = NULL;
    struct err err = ERR_INIT;
    if (work_path_resolve(s, path, &once, &err) < 0) {
        MUST(err.code == ERR_INVALID);
        return;
    }
    MUST(once[0] == '/' && !strstr(once, "//") && !strstr(once, ".."));
    if (strlen(once) < WORK_PATH_MAX) /* a relative one may have grown past the limit */
        MUST(work_path_resolve(s, once, &twice, &err) == 0 && strcmp(once, twice) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(sandbox_unref_p) struct sandbox *s = NULL;
    CLEANUP(sandbox_unref_p) struct sandbox *again = NULL;
    CLEANUP(free_p) char *text = feed_text(data, size);
    JSON_OWNED doc = NULL;
    struct err err = ERR_INIT;
    char *rest = text, *path = feed_line(&rest);
    if (!rest || json_read(rest, strlen(rest), &doc, NULL) < 0 || sandbox_from_record(get_manager(), doc, &s, &err) < 0)
        return 0;
    JSON_OWNED first = sandbox_record(s);
    MUST(first && sandbox_from_record(get_manager(), first, &again, &err) == 0);
    JSON_OWNED second = sandbox_record(again);
    MUST(json_equal(first, second));
    for (const char *const *v = sandbox_env(s); *v; v++)
        MUST(strchr(*v, '='));
    try_path(s, path);
    return 0;
}
