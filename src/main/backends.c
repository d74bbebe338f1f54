#include "main/backends.h"

#include <grp.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/strlist.h"

/* The default, then those of III_BACKENDS, each once. */
static char **names_of(const struct settings *s)
{
    char **names = NULL;
    CLEANUP(free_p) char *text = xasprintf("%s,%s", s->backend, s->backends);
    char *rest = text;
    for (char *name; (name = strsep(&rest, ", "));) {
        bool is_new = *name != '\0';
        for (size_t i = 0; names && names[i]; i++)
            is_new = is_new && strcmp(names[i], name) != 0;
        if (is_new)
            strlist_add(&names, name);
    }
    return names;
}

int backends_check(const struct settings *s, struct err *err)
{
    CLEANUP(strlist_free_p) char **names = names_of(s);
    for (size_t i = 0; names && names[i]; i++)
        if (strcmp(names[i], "native") != 0 && strcmp(names[i], "docker") != 0)
            return err_set(err, ERR_UNSUPPORTED, 0,
                           "backend \"%.32s\" is not there: this version has native and docker (III_ISOLATION_BACKEND, "
                           "III_BACKENDS)",
                           names[i]);
    return names ? 0 : err_set(err, ERR_INVALID, 0, "III_ISOLATION_BACKEND names no backend");
}

/* An engine that is not up yet makes its socket later, by custom for this group. */
static bool group_by_name(const char *name, gid_t *ret)
{
    const struct group *found = getgrnam(name);
    if (found)
        *ret = found->gr_gid;
    return found != NULL;
}

bool backends_group(const struct settings *s, gid_t *ret)
{
    CLEANUP(strlist_free_p) char **names = names_of(s);
    bool is_wanted = false;
    struct stat st;
    for (size_t i = 0; names && names[i]; i++)
        is_wanted |= strcmp(names[i], "docker") == 0;
    if (!is_wanted || strncmp(s->docker_host, "unix://", 7) != 0)
        return false;
    if (stat(s->docker_host + 7, &st) < 0)
        return group_by_name("docker", ret);
    *ret = st.st_gid;
    return (st.st_mode & 060) == 060;
}

struct docker_options backends_docker(const struct settings *s, const char *data_dir)
{
    return (struct docker_options){ .data_dir = data_dir,
                                    .host = s->docker_host,
                                    .tls_verify = s->docker_tls_verify,
                                    .cert_path = s->docker_cert_path,
                                    .runtime = s->docker_runtime };
}

int backends_open(struct loop *l, const struct settings *s, const struct native_options *native, struct backends *ret,
                  struct err *err)
{
    CLEANUP(strlist_free_p) char **names = names_of(s);
    struct docker_options docker = backends_docker(s, native->data_dir);
    int r = 0;
    for (size_t i = 0; r == 0 && names && names[i]; i++) {
        struct runtime *rt = NULL;
        r = strcmp(names[i], "docker") == 0 ? docker_new(l, &docker, &rt, err) : native_new(l, native, &rt, err);
        if (r == 0)
            ret->all[ret->n++] = rt;
    }
    return r;
}

void backends_close(struct backends *b)
{
    while (b->n) {
        struct runtime *rt = b->all[--b->n];
        (void)rt->ops->free(rt);
    }
}
