#include "cli/server_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "cli/project_file.h"
#include "os/proc.h"

#define NAME "server.json"

int server_file_write(const char *dir, const char *host, unsigned port, bool is_secure, const char *config,
                      struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(PROJECT_FILE_MAX);
    CLEANUP(free_p) char *path = xasprintf("%s/" NAME, dir), *whole = config ? realpath(config, NULL) : NULL;
    const char *reached = strcmp(host, "0.0.0.0") == 0 ? "127.0.0.1" : strcmp(host, "::") == 0 ? "::1" : host;
    bool is_v6 = strchr(reached, ':') != NULL;
    CLEANUP(free_p)
    char *rest =
        xasprintf("http%s://%s%s%s:%u", is_secure ? "s" : "", is_v6 ? "[" : "", reached, is_v6 ? "]" : "", port);
    JSON_OWNED doc = json_pack("{s:i, s:I, s:s, s:s?}", "pid", (int)getpid(), "started",
                               (json_int_t)proc_start_time(getpid()), "rest", rest, "config", whole ? whole : config);
    CLEANUP(free_p) char *dump = json_dumps(doc, 0);
    if (!dump)
        return err_set(err, ERR_INTERNAL, 0, "write %s: the path of the configuration file is not UTF-8", path);
    (void)buf_addf(&text, "%s\n", dump);
    return project_file_write(path, &text, err);
}

bool server_file_read(const char *dir, struct server_file *ret)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(PROJECT_FILE_MAX);
    CLEANUP(free_p) char *path = xasprintf("%s/" NAME, dir);
    JSON_OWNED doc = NULL;
    struct err err = ERR_INIT;
    if (project_file_read(path, &text, &err) < 0 || json_read(buf_text(&text), text.len, &doc, &err) < 0)
        return false;
    int64_t pid = json_get_int(doc, "pid", 0), started = json_get_int(doc, "started", 0);
    const char *rest = json_get_str(doc, "rest", NULL), *config = json_get_str(doc, "config", NULL);
    if (!rest || pid <= 0 || pid > INT32_MAX || started <= 0 || proc_start_time((pid_t)pid) != (uint64_t)started)
        return false;
    *ret = (struct server_file){ .rest = xstrdup(rest), .config = config ? xstrdup(config) : NULL };
    return true;
}

bool server_file_is_local(const struct server_file *f)
{
    const char *host = strstr(f->rest, "://");
    host = host ? host + 3 : "";
    return strncmp(host, "[::1]:", 6) == 0 ||
           (strncmp(host, "127.", 4) == 0 && host[strspn(host, "0123456789.")] == ':' && !strchr(host, '@'));
}

void server_file_done(struct server_file *f)
{
    free(f->rest);
    free(f->config);
    *f = (struct server_file){ 0 };
}
