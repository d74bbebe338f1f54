/* Theory of operation. One request is a struct interpreter: either code, which is written to a file in /tmp, run by the
 * language's interpreter and removed, or an install by a package manager, or a list of the interpreters, each of
 * which is started to see whether it is there. All are commands of the sandbox (command.h), and the tables runners and
 * installers say which.
 *
 * The request holds a reference to its sandbox. It is freed with its reply, or by interpreter_cancel(); a cancel while
 * the file is being written only clears fn, and on_code_written() frees it. Code that fails is a reply with an error
 * text. A timeout, a missing interpreter and a failed install are errors. */
#include "sandbox/exec/interpreter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "sandbox/exec/command.h"
#include "sandbox/lifecycle/manager.h"

#define NO_SUCH_PROGRAM 127
#define INSTALL_MS      120000
#define VERSION_MS      10000
#define PACKAGE_MAX     LIMIT_MAX(NAME_BYTES)

struct runner {
    const char *language, *ending;
    const char *program; /* what the image lacks when it cannot be run */
    const char *const *argv;
    const char *title; /* as a kernel; NULL: it is not listed as one */
};
static const char *const run_python[] = { "python3", NULL };
static const char *const run_node[] = { "node", NULL };
static const char *const run_go[] = { "go", "run", NULL };
static const char *const run_bash[] = { "bash", NULL };
/* Of what can run TypeScript, the first that the image has. */
static const char typescript_shell[] =
    "command -v tsx >/dev/null && exec tsx \"$1\"\n"
    "node --experimental-strip-types -e 0 2>/dev/null && exec node --experimental-strip-types --no-warnings \"$1\"\n"
    "[ -x node_modules/.bin/tsx ] && exec node_modules/.bin/tsx \"$1\"\n"
    "exit 127";
static const char *const run_typescript[] = { "sh", "-c", typescript_shell, "sh", NULL };
static const struct runner runners[] = {
    { "python", "py", "python3", run_python, "Python 3" },
    { "javascript", "js", "node", run_node, "Node.js" },
    { "bash", "sh", "bash", run_bash, "Bash" },
    { "go", "go", "go", run_go, "Go" },
    { "typescript", "ts", "tsx and no node that strips types (22.6 or later)", run_typescript, NULL },
};

struct installer {
    const char *manager, *language;
    const char *program;
    const char *const *argv;
};
static const char *const install_pip[] = { "python3", "-m",         "pip",
                                           "install", "--no-input", "--disable-pip-version-check",
                                           "--",      NULL };
static const char *const install_npm[] = { "npm", "install", "--no-audit", "--no-fund", "--no-update-notifier",
                                           "--",  NULL };
static const char *const install_go[] = { "go", "get", "--", NULL };
/* Package names are separate arguments: the shell does not interpret them. */
static const char apt_shell[] = "command -v apt-get >/dev/null || exit 127\n"
                                "apt-get update -q >/dev/null 2>&1\n"
                                "exec apt-get install -q -y --no-install-recommends -- \"$@\"";
static const char *const install_apt[] = { "sh", "-c", apt_shell, "sh", NULL };
static const struct installer installers[] = {
    { "pip", "python", "python3 with pip", install_pip },
    { "npm", "javascript", "npm", install_npm },
    { "npm", "typescript", "npm", install_npm },
    { "go", "go", "go", install_go },
    { "apt", "bash", "apt-get", install_apt },
};

/* One request: file written -> command runs -> file removed (not waited for) -> answered. */
struct interpreter {
    struct sandbox *s;
    const struct runner *runner; /* or */
    const struct installer *installer;
    char path[64];   /* of the code; "" for the others */
    json_t *kernels; /* found so far; runner is the one that is looked for */
    struct command *cmd;
    interpreter_fn *fn; /* NULL: cancelled */
    void *arg;
};

static void ignore_result(void *arg, const struct err *err)
{
    (void)arg;
    (void)err;
}

static void free_request(struct interpreter *i)
{
    if (i->path[0] && i->s->link && !i->s->is_gone)
        (void)guest_fs_remove(i->s->link, i->path, false, true, ignore_result,
                              NULL); /* a file that stays is removed with the box */
    sandbox_unref(i->s);
    json_decref(i->kernels);
    free(i);
}

static void interpreter_reply(struct interpreter *i, json_t *reply, const struct err *err)
{
    JSON_OWNED owned = reply;
    if (i->fn)
        i->fn(i->arg, owned, err);
    free_request(i);
}

static void missing(const struct interpreter *i, struct err *err)
{
    (void)err_set(err, ERR_UNSUPPORTED, 0, "image %.100s has no %s: choose an image with it, or install it first",
                  i->s->image, i->runner ? i->runner->program : i->installer->program);
}

static bool is_missing(const struct interpreter *i, const struct command_result *res)
{
    const char *const *argv = i->runner ? i->runner->argv : i->installer->argv;
    if (argv == install_pip)
        return res->exit.code == 1 && strstr(buf_text(&res->err), "No module named pip");
    return strcmp(argv[0], "sh") == 0 && res->exit.code == NO_SUCH_PROGRAM && res->out.len == 0 && res->err.len == 0;
}

static json_t *failure_text(const struct command_result *res)
{
    if (res->err.len)
        return json_text(res->err.data, res->err.len);
    if (res->exit.is_oom)
        return json_string("killed: the sandbox is out of memory");
    if (res->exit.signal)
        return json_sprintf("killed by signal %d", res->exit.signal);
    return json_sprintf("exited with code %d", res->exit.code);
}

static void on_code_exited(void *arg, const struct command_result *res, const struct err *err)
{
    struct interpreter *i = arg;
    i->cmd = NULL;
    if (!res) {
        struct err why = *err;
        const char *const *argv = i->runner ? i->runner->argv : i->installer->argv;
        if (why.code == ERR_INVALID && strstr(why.msg, argv[0]) && !i->s->is_gone)
            missing(i, &why);
        interpreter_reply(i, NULL, &why);
        return;
    }
    struct err why = ERR_INIT;
    if (res->exit.is_timeout) {
        (void)command_timeout_err(res, &why);
    } else if (is_missing(i, res)) {
        missing(i, &why);
    } else if (i->installer && res->exit.code) {
        const struct buf *said = res->err.len ? &res->err : &res->out;
        size_t len = said->len < 250 ? said->len : 250;
        (void)err_set(&why, ERR_INVALID, 0, "%s failed with code %d%s: %.*s", i->installer->manager, res->exit.code,
                      i->s->config.has_network ? ""
                                               : " (the sandbox has no network: create it with \"network\": true, or "
                                                 "upload the package and install the file)",
                      (int)len, buf_text(said) + said->len - len);
    }
    json_t *reply = why.code ? NULL : json_pack("{s:o}", "output", json_text(buf_text(&res->out), res->out.len));
    if (reply && i->runner) {
        (void)json_object_set_new(reply, "error", res->exit.code ? failure_text(res) : json_null());
        (void)json_object_set_new(reply, "executionTime", json_integer((json_int_t)res->duration_ms));
    }
    interpreter_reply(i, reply, reply ? NULL : &why);
}

static const struct command_events events = { .on_done = on_code_exited };

/* Modules that npm put beside the work are found although the code's file is elsewhere; those of the image, too. */
static char **environment(struct sandbox *s)
{
    char **env = NULL;
    for (const char *const *e = sandbox_env(s); *e; e++)
        strlist_add(&env, *e);
    const char *others = strlist_env_get(env, "NODE_PATH");
    CLEANUP(free_p)
    char *modules = xasprintf("%s/node_modules%s%s", sandbox_workdir(s), others ? ":" : "", others ? others : "");
    strlist_env_set(&env, "NODE_PATH", modules);
    return env;
}

static void on_code_written(void *arg, const struct err *err)
{
    struct interpreter *i = arg;
    struct err why = ERR_INIT;
    if (err || !i->fn) {
        interpreter_reply(i, NULL, err);
        return;
    }
    CLEANUP(strlist_free_p) char **argv = NULL;
    CLEANUP(strlist_free_p) char **env = environment(i->s);
    for (const char *const *a = i->runner->argv; *a; a++)
        strlist_add(&argv, *a);
    strlist_add(&argv, i->path);
    struct command_plan plan = { .argv = (const char *const *)argv, .env = (const char *const *)env };
    if (command_start(i->s, &plan, &events, i, &i->cmd, &why) < 0)
        interpreter_reply(i, NULL, &why);
}

static struct interpreter *new_request(struct sandbox *s, interpreter_fn *fn, void *arg)
{
    struct interpreter *i = xzalloc(sizeof(*i));
    *i = (struct interpreter){ .s = sandbox_ref(s), .fn = fn, .arg = arg };
    return i;
}

static const struct runner *runner_of(const char *language)
{
    for (size_t n = 0; n < sizeof(runners) / sizeof(runners[0]); n++)
        if (strcmp(runners[n].language, language) == 0)
            return &runners[n];
    return NULL;
}

int interpreter_execute(struct sandbox *s, const char *language, const char *code, interpreter_fn *fn, void *arg,
                        struct interpreter **ret, struct err *err)
{
    char name[IDENT_MAX];
    const struct runner *runner = runner_of(language);
    int r = sandbox_need_running(s, err);
    if (r < 0)
        return r;
    if (!runner)
        return err_set(err, ERR_INVALID, 0,
                       "language: \"%.32s\" is not one of python, javascript, typescript, go, bash", language);
    struct interpreter *i = new_request(s, fn, arg);
    i->runner = runner;
    ident_new("code", name);
    (void)snprintf(i->path, sizeof(i->path), "/tmp/%s.%s", name, runner->ending);
    r = guest_fs_put(s->link, i->path, code, strlen(code), 0644, on_code_written, i);
    if (r < 0) {
        i->path[0] = '\0';
        free_request(i);
        return err_set(err, err_from_errno(-r), -r, "writing the code");
    }
    *ret = i;
    return 0;
}

/* --- packages --- */

bool interpreter_is_package(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > PACKAGE_MAX || name[0] == '-')
        return false;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (*p <= ' ' || *p == 0x7f)
            return false;
    return true;
}

static const struct installer *installer_of(const char *name)
{
    for (size_t n = 0; n < sizeof(installers) / sizeof(installers[0]); n++)
        if (strcmp(installers[n].language, name) == 0 || strcmp(installers[n].manager, name) == 0)
            return &installers[n];
    return NULL;
}

int interpreter_install(struct sandbox *s, const char *manager, const json_t *packages, interpreter_fn *fn, void *arg,
                        struct interpreter **ret, struct err *err)
{
    CLEANUP(strlist_free_p) char **argv = NULL;
    const struct installer *installer = installer_of(manager);
    int r = sandbox_need_running(s, err);
    if (r == 0 && !installer)
        r = err_set(err, ERR_INVALID, 0, "manager: \"%.32s\" is not one of pip, npm, go, apt or a language", manager);
    for (const char *const *a = installer ? installer->argv : NULL; a && *a; a++)
        strlist_add(&argv, *a);
    if (r < 0)
        return r;
    size_t n;
    json_t *package;
    json_array_foreach(packages, n, package)
    {
        const char *name = json_string_value(package);
        if (!name || !interpreter_is_package(name))
            return err_set(
                err, ERR_INVALID, 0,
                "packages: \"%.64s\" is not a package: 1 to %d bytes, no blank, no control byte, no \"-\" at the front",
                name ? name : "", PACKAGE_MAX);
        strlist_add(&argv, name);
    }
    CLEANUP(strlist_free_p) char **env = environment(s);
    strlist_env_set(&env, "DEBIAN_FRONTEND", "noninteractive");
    struct interpreter *i = new_request(s, fn, arg);
    i->installer = installer;
    struct command_plan plan = { .argv = (const char *const *)argv,
                                 .env = (const char *const *)env,
                                 .timeout_ms = INSTALL_MS };
    r = command_start(s, &plan, &events, i, &i->cmd, err);
    if (r < 0) {
        free_request(i);
        return r;
    }
    *ret = i;
    return 0;
}

void interpreter_cancel(struct interpreter *i)
{
    i->fn = NULL;
    if (!i->cmd)
        return; /* the file is being written: on_code_written() sees that fn is NULL */
    command_cancel(i->cmd);
    free_request(i);
}

/* --- kernels --- */

static int ask_version(struct interpreter *i, struct err *err);

static void on_version(void *arg, const struct command_result *res, const struct err *err)
{
    struct interpreter *i = arg;
    struct err why = ERR_INIT;
    i->cmd = NULL;
    if (!res && (i->s->is_gone || (err->sys != ENOENT && err->sys != ENOTDIR && err->sys != EACCES))) {
        interpreter_reply(i, NULL, err);
        return;
    }
    if (res) /* whatever it printed: it is there */
        (void)json_array_append_new(i->kernels, json_pack("{s:s, s:s, s:s}", "name", i->runner->program, "language",
                                                          i->runner->language, "displayName", i->runner->title));
    i->runner++;
    if (!i->runner->title)
        interpreter_reply(i, json_incref(i->kernels), NULL);
    else if (ask_version(i, &why) < 0)
        interpreter_reply(i, NULL, &why);
}

/* Starts the runner's program as a snippet would, so that both agree on whether it is there. */
static int ask_version(struct interpreter *i, struct err *err)
{
    static const struct command_events asked = { .on_done = on_version };
    const char *const argv[] = { i->runner->program, "--version", NULL };
    struct command_plan plan = { .argv = argv, .timeout_ms = VERSION_MS };
    return command_start(i->s, &plan, &asked, i, &i->cmd, err);
}

int interpreter_kernels(struct sandbox *s, interpreter_fn *fn, void *arg, struct interpreter **ret, struct err *err)
{
    struct interpreter *i = new_request(s, fn, arg);
    i->runner = runners;
    i->kernels = json_array();
    int r = ask_version(i, err);
    if (r < 0)
        free_request(i);
    else
        *ret = i;
    return r;
}
