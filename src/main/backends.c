#include "main/backends.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_library.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/strlist.h"
#include "main/privilege/privilege.h"
#include "runtime/fake/fake.h"
#include "vm/vm.h"

/* The default, then those of III_BACKENDS, without duplicates. */
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

bool backends_has(const struct settings *s, const char *name)
{
    CLEANUP(strlist_free_p) char **names = names_of(s);
    for (size_t i = 0; names && names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

int backends_check(const struct settings *s, struct err *err)
{
    CLEANUP(strlist_free_p) char **names = names_of(s);
    for (size_t i = 0; names && names[i]; i++) {
        if (vm_is_backend(names[i]))
            (void)archive_library_load(
                NULL); /* while it can be read: after an upgrade the server rewrites the initramfs */
        else if (strcmp(names[i], "native") != 0 && strcmp(names[i], "docker") != 0 && strcmp(names[i], "fake") != 0)
            return err_set(err, ERR_UNSUPPORTED, 0,
                           "unknown backend \"%.32s\": this version has native, docker, qemu, firecracker and krun "
                           "(III_ISOLATION_BACKEND, III_BACKENDS)",
                           names[i]);
    }
    if (!names)
        return err_set(err, ERR_INVALID, 0, "III_ISOLATION_BACKEND names no backend");
    struct docker_tls tls; /* its files are checked now, while they can be read; later the server has no right to */
    backends_tls(backends_has(s, "docker") ? s->docker_cert_path : "", &tls);
    char *const files[] = { tls.ca, tls.cert, tls.key };
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(files) / sizeof(*files); i++)
        if (files[i] && access(files[i], R_OK) < 0)
            r = err_sys(err, -errno, "DOCKER_CERT_PATH: %s", files[i]);
    backends_tls_done(&tls);
    return r;
}

bool backends_group(const struct settings *s, gid_t *ret)
{
    struct stat st;
    if (!backends_has(s, "docker") || strncmp(s->docker_host, "unix://", 7) != 0)
        return false;
    if (stat(s->docker_host + 7, &st) < 0) { /* an engine that is not running yet makes it for this group */
        const struct group *found = getgrnam("docker");
        if (found)
            *ret = found->gr_gid;
        return found;
    }
    *ret = st.st_gid;
    return (st.st_mode & 060) == 060;
}

void backends_tls(const char *folder, struct docker_tls *ret)
{
    *ret = (struct docker_tls){ 0 };
    if (!*folder)
        return;
    *ret = (struct docker_tls){ .ca = xasprintf("%s/ca.pem", folder),
                                .cert = xasprintf("%s/cert.pem", folder),
                                .key = xasprintf("%s/key.pem", folder) };
}

void backends_tls_done(struct docker_tls *tls)
{
    free(tls->ca);
    free(tls->cert);
    free(tls->key);
    *tls = (struct docker_tls){ 0 };
}

static void log_template(const struct vm_template *t)
{
    char memory[16], cpus[16], took[24];
    (void)snprintf(memory, sizeof(memory), "%u", t->memory_mb);
    (void)snprintf(cpus, sizeof(cpus), "%u", t->cpus);
    (void)snprintf(took, sizeof(took), "%lld", (long long)t->took_ms);
    bool is_done = t->took_ms >= 0;
    log_event(LOG_INFO, is_done ? "vm.template.made" : "vm.template.making", "backend", t->backend, "base", t->base,
              "memory_mb", memory, "cpus", cpus, is_done ? "ms" : NULL, took, NULL);
}

int backends_open(struct loop *l, const struct settings *s, const struct docker_tls *tls,
                  const struct native_options *native, struct backends *ret, struct err *err)
{
    CLEANUP(strlist_free_p) char **names = names_of(s);
    struct docker_options docker = { .data_dir = native->data_dir,
                                     .host = s->docker_host,
                                     .is_tls = *s->docker_tls_verify || *s->docker_cert_path,
                                     .tls = *tls,
                                     .runtime = s->docker_runtime };
    CLEANUP(free_p) char *images = xasprintf("%s/images", native->data_dir);
    struct vm_options vm = { .data_dir = native->data_dir,
                             .image_dir = images,
                             .kernel = s->vm_kernel,
                             .firecracker = s->vm_firecracker,
                             .has_templates = s->vm_templates,
                             .on_template = log_template,
                             .keeper = native->keeper,
                             .tool_job = PRIVILEGE_VM,
                             .cgroups = native->cgroups };
    int r = 0;
    for (size_t i = 0; r == 0 && names && names[i]; i++) {
        struct runtime *rt = NULL;
        vm.backend = names[i];
        if (strcmp(names[i], "docker") == 0)
            r = docker_new(l, &docker, &rt, err);
        else if (vm_is_backend(names[i]))
            r = vm_new(l, &vm, &rt, err);
        else if (strcmp(names[i], "fake") == 0)
            rt = fake_new(l, fake_host_new(NULL), true);
        else
            r = native_new(l, native, &rt, err);
        if (r == 0 && vm_is_backend(names[i]) && *vm_notice(rt))
            log_event(LOG_WARN, "backend.slow", "backend", names[i], "machines",
                      vm_can_emulate(rt) ? "emulated, or not there yet" : "none: it needs KVM and a kernel", "why",
                      vm_notice(rt), NULL);
        if (r == 0 && strcmp(names[i], "fake") == 0)
            log_event(LOG_WARN, "backend.fake", "msg", FAKE_WARNING, NULL);
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
