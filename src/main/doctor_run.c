/* Theory of operation. A host is checked for the server that will run on it, so the settings are read the way the
 * server reads them: the file of --config, then the environment, then --data-dir. Checks that start a private server
 * pass the backend and the file's microVM settings to it in the environment. */
#include "main/doctor_run.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/oidc.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/settings.h"
#include "cli/doctor.h"
#include "cli/doctor_vm.h"
#include "escape/escape.h"
#include "main/backends.h"
#include "main/config/config.h"
#include "main/data_dir.h"
#include "runtime/docker/docker.h"
#include "runtime/fake/fake.h"
#include "runtime/native/native.h"
#include "vm/boot/initrd.h"
#include "vm/doctor.h"

#define USAGE_ERROR 2

/* --- settings --- */

struct words {
    int n;
    char **list; /* arguments, NULL-terminated */
};

static bool takes_next(const char *word)
{
    return strcmp(word, "--config") == 0 || strcmp(word, "-c") == 0 || strcmp(word, "--data-dir") == 0;
}

/* Separates the arguments about settings from those of the check; both lists begin with the verb. */
static void split_arguments(int argc, char **argv, struct words *about, struct words *own)
{
    about->list[about->n++] = own->list[own->n++] = argv[0];
    for (int i = 1; i < argc; i++) {
        bool is_joined = strncmp(argv[i], "--config=", 9) == 0 || strncmp(argv[i], "--data-dir=", 11) == 0;
        struct words *to = is_joined || takes_next(argv[i]) ? about : own;
        to->list[to->n++] = argv[i];
        if (takes_next(argv[i]) && i + 1 < argc)
            to->list[to->n++] = argv[++i];
    }
}

static void hand_on(const struct settings *s)
{
    for (const struct settings_row *row = settings_rows; row->field; row++) {
        const void *at = (const char *)s + row->offset;
        char number[24];
        const char *text = number;
        if (strncmp(row->yaml, "vm.", 3) != 0 && strcmp(row->field, "backend") != 0)
            continue;
        if ((row->type == 's' || row->type == 'j'))
            text = *(char *const *)at;
        else if (row->type == 'b')
            text = *(const bool *)at ? "true" : "false";
        else
            (void)snprintf(number, sizeof(number), "%" PRId64, *(const int64_t *)at);
        (void)setenv(row->env, text, 1); /* out of memory: the default applies */
    }
}

/* --- rows --- */

/* Only when the settings name it: a host without Docker is not at fault. */
static void add_docker(json_t *checks, const struct settings *s)
{
    static const char usual[] = "unix:///var/run/docker.sock";
    struct docker_options opt = { .host = s->docker_host, .is_tls = *s->docker_tls_verify || *s->docker_cert_path };
    if (strcmp(s->docker_host, usual) == 0 && access(usual + strlen("unix://"), F_OK) < 0)
        return;
    backends_tls(s->docker_cert_path, &opt.tls);
    JSON_OWNED rows = docker_doctor(&opt);
    backends_tls_done(&opt.tls);
    (void)json_array_extend(checks, rows);
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

/* Gets the keys of the configured issuer as a server would. */
static void add_oidc(json_t *checks, const struct settings *s)
{
    struct loop *l = NULL;
    struct oidc *o = NULL;
    struct err err = ERR_INIT;
    const char *why = "";
    if (!oidc_is_wanted(s))
        return;
    int r = loop_new(&l, &err);
    if (r == 0)
        r = oidc_new(l, s, &o, &err);
    if (r == 0 && oidc_problem(o, NULL)) {
        oidc_on_keys(o, stop_loop, l);
        loop_run(l); /* until the attempt, which has a time limit, is over */
    }
    bool is_good = r == 0 && !oidc_problem(o, &why);
    CLEANUP(free_p)
    char *detail =
        is_good ? xasprintf("%zu key%s of %s", oidc_key_count(o), oidc_key_count(o) == 1 ? "" : "s", s->oidc_issuer)
                : xstrdup(r < 0 ? err.msg : why);
    (void)json_array_append_new(
        checks,
        json_pack("{s:s, s:b, s:b, s:s, s:s}", "name", "OIDC issuer", "ok", is_good, "required", 0, "detail", detail,
                  "fix",
                  is_good ? "" : "see docs/access.md; a server that cannot reach the issuer takes III_OIDC_JWKS"));
    (void)oidc_free(o);
    loop_free(l);
}

static struct vm_doctor_options vm_options(const struct settings *s, const char *data_dir, const char *backends)
{
    return (struct vm_doctor_options){ .data_dir = data_dir,
                                       .backends = backends,
                                       .firecracker = s->vm_firecracker,
                                       .libkrun = s->vm_libkrun,
                                       .kernel = s->vm_kernel,
                                       .jailer = s->vm_jailer };
}

static json_t *vm_needs(const void *settings, const char *data_dir, const char *backend)
{
    struct vm_doctor_options opt = vm_options(settings, data_dir, backend);
    return vm_doctor_needs(&opt);
}

static bool has_word(const struct words *w, const char *word)
{
    for (int i = 1; i < w->n; i++)
        if (strcmp(w->list[i], word) == 0)
            return true;
    return false;
}

static int doctor_check(const struct settings *s, const struct words *own)
{
    CLEANUP(free_p) char *dir = data_dir_nearest(s->data_dir);
    if (has_word(own, "--escape"))
        return escape_main(dir, own->n, own->list);
    if (has_word(own, "--vm")) {
        struct doctor_vm_parts parts = { .data_dir = dir, .needs = vm_needs, .needs_arg = s };
        parts.program = vm_initrd_agent(&parts.program_len);
        return doctor_vm_main(&parts, own->n, own->list);
    }
    JSON_OWNED checks = native_doctor(dir, (unsigned)s->max_sandboxes, (unsigned)s->pids_max);
    add_docker(checks, s);
    add_oidc(checks, s);
    CLEANUP(free_p) char *wanted = xasprintf("%s,%s", s->backend, s->backends);
    struct vm_doctor_options vm = vm_options(s, dir, wanted);
    JSON_OWNED rows = vm_doctor_rows(&vm);
    (void)json_array_extend(checks, rows);
    if (backends_has(s, "fake"))
        (void)json_array_append_new(checks, json_pack("{s:s, s:b, s:b, s:s, s:s}", "name", "fake backend", "ok", 0,
                                                      "required", 0, "detail", FAKE_WARNING, "fix",
                                                      "remove it from III_ISOLATION_BACKEND and III_BACKENDS"));
    return doctor_print(checks, own->n, own->list);
}

int doctor_run_main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct settings s;
    CLEANUP(free_p) char **first = xzalloc(((size_t)argc + 1) * sizeof(char *));
    CLEANUP(free_p) char **second = xzalloc(((size_t)argc + 1) * sizeof(char *));
    struct words about = { .list = first }, own = { .list = second };
    split_arguments(argc, argv, &about, &own);
    if (config_load(about.n, about.list, NULL, &s, &err) < 0) {
        (void)fprintf(stderr, "iii doctor: %s\n", err.msg);
        return USAGE_ERROR;
    }
    if (about.n > 1)
        hand_on(&s);
    int code = doctor_check(&s, &own);
    settings_done(&s);
    return code;
}
