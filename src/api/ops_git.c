/* Handlers of git: the sandbox's own git program, started with an argument vector, never through a shell. Theory of
 * operation. A struct git_op is one request: one or more git commands in sequence, each with a function that handles
 * its result (next) and runs the next command or finishes. It holds a reference to the sandbox and is freed when it
 * finishes or the client disconnects, which cancels its command.
 *
 * Arguments that name a branch, ref or remote are checked first, so that git cannot take them for an option. git never
 * prompts. A timeout (TIME_MS) and a missing git program are errors of the call; whether an exit code is one is up to
 * each handler. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "sandbox/exec/command.h"
#include "sandbox/exec/git.h"

#define TIME_MS 30000 /* the contract's limit for one git command */

/* One operation: one or more commands, one after the other. */
struct git_op {
    struct call *c;
    struct sandbox *s;
    struct command *cmd;
    void (*next)(struct git_op *g, const struct command_result *res);
    json_t *reply; /* what earlier commands have given */
};

static void free_op(struct git_op *g)
{
    sandbox_unref(g->s);
    json_decref(g->reply);
    free(g);
}

static void git_finish(struct git_op *g, json_t *body, const struct err *err)
{
    call_on_cancel(g->c, NULL, NULL);
    if (body)
        call_ok(g->c, body);
    else
        call_fail(g->c, err);
    free_op(g);
}

static void on_cancel(void *arg)
{
    struct git_op *g = arg;
    command_cancel(g->cmd);
    call_error(g->c, ERR_GONE, "the client left");
    free_op(g);
}

static void on_git_exited(void *arg, const struct command_result *res, const struct err *err)
{
    struct git_op *g = arg;
    struct err why = ERR_INIT;
    g->cmd = NULL;
    if (res && res->exit.is_timeout) {
        (void)command_timeout_err(res, &why);
        git_finish(g, NULL, &why);
    } else if (err && err->sys == ENOENT && !g->s->is_gone) {
        (void)err_set(&why, ERR_UNSUPPORTED, 0,
                      "the image %s has no git program: use an image that has git, or install it", g->s->image);
        git_finish(g, NULL, &why);
    } else if (err) {
        git_finish(g, NULL, err);
    } else {
        g->next(g, res);
    }
}

/* No password prompt, English output, and an e-mail address for commits when none is configured. */
static char **git_env(struct sandbox *s)
{
    char **env = strlist_copy((char *const *)(uintptr_t)sandbox_env(s));
    strlist_env_set(&env, "GIT_TERMINAL_PROMPT", "0");
    strlist_env_set(&env, "LC_ALL", "C.UTF-8");
    if (!strlist_env_get(env, "EMAIL")) {
        CLEANUP(free_p) char *mail = xasprintf("root@%s", s->id);
        strlist_env_set(&env, "EMAIL", mail);
    }
    return env;
}

/* Takes argv, without "git" and its folder; relative folders are meant from the workdir. */
static void git_run(struct git_op *g, char **argv, void (*next)(struct git_op *, const struct command_result *))
{
    static const struct command_events events = { .on_done = on_git_exited };
    struct err err = ERR_INIT;
    CLEANUP(strlist_free_p) char **words = NULL, **env = git_env(g->s), **given = argv;
    const char *folder = strcmp(call_op(g->c)->name, "git_clone") == 0 ? NULL : call_str(g->c, "path", NULL);
    const char *const start[] = { "git", "-C", sandbox_workdir(g->s), folder ? "-C" : NULL, folder };
    for (size_t i = 0; i < sizeof(start) / sizeof(start[0]) && start[i]; i++)
        strlist_add(&words, start[i]);
    for (char **word = given; word && *word; word++)
        strlist_add(&words, *word);
    struct command_plan plan = {
        .argv = (const char *const *)words, .env = (const char *const *)env, .cwd = "/", .timeout_ms = TIME_MS
    };
    g->next = next;
    if (command_start(g->s, &plan, &events, g, &g->cmd, &err) < 0)
        git_finish(g, NULL, &err);
}

static char **words_of(const char *first, ...)
{
    char **words = NULL;
    va_list ap;
    va_start(ap, first);
    for (const char *word = first; word; word = va_arg(ap, const char *))
        strlist_add(&words, word);
    va_end(ap);
    return words;
}

/* NULL: the call was answered. Fields that become arguments of git are checked. */
static struct git_op *git_begin(struct call *c)
{
    static const char *const words[] = { "branch", "name", "ref", "remote" };
    struct err err = ERR_INIT;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return NULL;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (git_check_word(words[i], call_str(c, words[i], NULL), &err) < 0) {
            call_fail(c, &err);
            return NULL;
        }
    struct git_op *g = xzalloc(sizeof(*g));
    *g = (struct git_op){ .c = c, .s = sandbox_ref(s) };
    call_on_cancel(c, on_cancel, g);
    return g;
}

static void give_result(struct git_op *g, const struct command_result *res)
{
    git_finish(g, command_result_json(res), NULL);
}

/* What git said, without its line end. */
static void set_said(const struct command_result *res, const char *what, enum err_code code, struct err *err)
{
    const struct buf *said = res->err.len ? &res->err : &res->out;
    size_t len = said->len < 300 ? said->len : 300;
    while (len > 0 && buf_text(said)[len - 1] == '\n')
        len--;
    (void)err_set(err, code, 0, "%s: %.*s", what, (int)len, buf_text(said));
}

static bool said(const struct command_result *res, const char *text)
{
    return strstr(buf_text(&res->err), text) != NULL;
}

/* A command whose output is the answer has failed. */
static void give_failure(struct git_op *g, const struct command_result *res, const char *what)
{
    struct err err = ERR_INIT;
    set_said(res, what, said(res, "No such file or directory") ? ERR_NOT_FOUND : ERR_INVALID, &err);
    git_finish(g, NULL, &err);
}

/* --- with a result of their own --- */

static void give_status(struct git_op *g, const struct command_result *res)
{
    if (res->exit.code == 0)
        git_finish(g, git_status_json(buf_text(&res->out), res->out.len), NULL);
    else if (said(res, "not a git repository"))
        git_finish(g, git_status_json("", 0), NULL); /* the contract: HEAD, clean, no files */
    else
        give_failure(g, res, "git status");
}

void api_git_status(struct call *c)
{
    struct git_op *g = git_begin(c);
    if (g)
        git_run(g, words_of("--no-optional-locks", "status", "--porcelain=v1", "--branch", "-z", NULL), give_status);
}

static void give_diff(struct git_op *g, const struct command_result *res)
{
    if (res->exit.code != 0)
        give_failure(g, res, "git diff");
    else
        git_finish(g, json_pack("{s:o}", "diff", json_text(buf_text(&res->out), res->out.len)), NULL);
}

void api_git_diff(struct call *c)
{
    struct git_op *g = git_begin(c);
    if (!g)
        return;
    char **words = words_of("diff", "--no-color", "--no-ext-diff", NULL);
    if (call_bool(c, "staged", false))
        strlist_add(&words, "--staged");
    strlist_add(&words, "--");
    if (call_str(c, "file", NULL))
        strlist_add(&words, call_str(c, "file", ""));
    git_run(g, words, give_diff);
}

static void give_log(struct git_op *g, const struct command_result *res)
{
    if (res->exit.code == 0)
        git_finish(g, git_log_json(buf_text(&res->out), res->out.len), NULL);
    else if (said(res, "does not have any commits yet"))
        git_finish(g, git_log_json("", 0), NULL);
    else
        give_failure(g, res, "git log");
}

void api_git_log(struct call *c)
{
    struct git_op *g = git_begin(c);
    if (!g)
        return;
    CLEANUP(free_p)
    char *count = xasprintf("--max-count=%lld", (long long)call_int(c, "count", LIMIT_DEFAULT(GIT_COMMITS)));
    git_run(g, words_of("log", "-z", "--no-color", "--no-show-signature", "--format=" GIT_LOG_FORMAT, count, NULL),
            give_log);
}

static void give_branches(struct git_op *g, const struct command_result *res)
{
    size_t len = res->out.len;
    while (len > 0 && buf_text(&res->out)[len - 1] == '\n')
        len--;
    bool has_branch = res->exit.code == 0 && len > 0;
    (void)json_object_set_new(g->reply, "current",
                              has_branch ? json_text(buf_text(&res->out), len) : json_string("HEAD"));
    git_finish(g, json_incref(g->reply), NULL);
}

static void take_refs(struct git_op *g, const struct command_result *res)
{
    if (res->exit.code != 0) {
        give_failure(g, res, "git branch");
        return;
    }
    (void)json_object_set_new(g->reply, "branches", git_refs_json(buf_text(&res->out), res->out.len));
    git_run(g, words_of("symbolic-ref", "--short", "-q", "HEAD", NULL), give_branches);
}

static void list_branches(struct git_op *g)
{
    git_run(g, words_of("for-each-ref", "--format=" GIT_REF_FORMAT, "refs/heads", "refs/remotes", NULL), take_refs);
}

/* The contract: a failed git is not an error here; the reply has the list and git's output. */
static void take_change(struct git_op *g, const struct command_result *res)
{
    struct err err = ERR_INIT;
    if (res->exit.code != 0) {
        set_said(res, "git", ERR_INVALID, &err);
        (void)json_object_set_new(g->reply, "error", json_text(err.msg, strlen(err.msg)));
    }
    list_branches(g);
}

void api_git_branch(struct call *c)
{
    const char *name = call_str(c, "name", NULL);
    struct git_op *g = git_begin(c);
    if (!g)
        return;
    g->reply = json_object();
    if (!name)
        list_branches(g);
    else if (call_bool(c, "delete", false))
        git_run(g, words_of("branch", "-d", "--", name, NULL), take_change);
    else
        git_run(g, words_of("checkout", "-b", name, "--", NULL), take_change);
}

/* --- with the result of the command --- */

void api_git_clone(struct call *c)
{
    struct err err = ERR_INIT;
    if (git_check_url(call_str(c, "url", ""), &err) < 0) {
        call_fail(c, &err);
        return;
    }
    struct git_op *g = git_begin(c);
    if (!g)
        return;
    char **words = words_of("clone", NULL);
    if (call_str(c, "branch", NULL)) {
        strlist_add(&words, "--branch");
        strlist_add(&words, call_str(c, "branch", ""));
    }
    if (call_int(c, "depth", 0) > 0) {
        CLEANUP(free_p) char *depth = xasprintf("--depth=%lld", (long long)call_int(c, "depth", 0));
        strlist_add(&words, depth);
    }
    strlist_add(&words, "--");
    strlist_add(&words, call_str(c, "url", ""));
    if (call_str(c, "path", NULL))
        strlist_add(&words, call_str(c, "path", ""));
    git_run(g, words, give_result);
}

static void commit(struct git_op *g)
{
    git_run(g, words_of("commit", "-m", call_str(g->c, "message", ""), NULL), give_result);
}

static void commit_staged(struct git_op *g, const struct command_result *res)
{
    if (res->exit.code != 0)
        give_result(g, res);
    else
        commit(g);
}

void api_git_commit(struct call *c)
{
    struct git_op *g = git_begin(c);
    if (!g)
        return;
    if (call_bool(c, "all", false))
        git_run(g, words_of("add", "--all", NULL), commit_staged);
    else
        commit(g);
}

void api_git_checkout(struct call *c)
{
    struct git_op *g = git_begin(c);
    if (g)
        git_run(g, words_of("checkout", call_str(c, "ref", ""), "--", NULL), give_result);
}

/* "push" or "pull", with remote and branch when they are given: git has no form for a branch alone. */
static void exchange(struct git_op *g, char **words)
{
    const char *remote = call_str(g->c, "remote", NULL), *branch = call_str(g->c, "branch", NULL);
    strlist_add(&words, "--");
    if (remote || branch)
        strlist_add(&words, remote ? remote : "origin");
    if (branch)
        strlist_add(&words, branch);
    git_run(g, words, give_result);
}

void api_git_push(struct call *c)
{
    struct git_op *g = git_begin(c);
    if (g)
        exchange(g, words_of("push", call_bool(c, "force", false) ? "--force" : NULL, NULL));
}

void api_git_pull(struct call *c)
{
    struct git_op *g = git_begin(c);
    if (g)
        exchange(g, words_of("pull", NULL));
}
