/* Theory of operation. A file's bytes and a folder's tar archive pass through `files/content`. Reading and writing
 * trees blocks, so a child process does it (copy_child.c), joined to the request by a descriptor: up, what the child
 * sends is the body of the request, and when it fails the request is cut, so that the server never takes a part for the
 * whole; down, the child unpacks what arrives.
 *
 * Down, the sandbox is hostile: tar_unpack() leaves its folder for no name, link or device node. The folder itself has
 * the name that the user typed, and is not followed when it is a link. What arrived before a failure stays, and the
 * message says what that is. */
#include "cli/cmd_cp.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/copy_child.h"
#include "cli/display.h"
#include "cli/operation_verb.h"
#include "os/write_all.h"

struct copy {
    const struct verbs_args *a;
    struct rest_client link;
    char *id, *remote, *local; /* remote "": the workspace */
    bool is_tree, is_stream;   /* is_stream: the local side is standard input or output */
    int fd;                    /* the local file or folder, or the pipe to the child */
    struct copy_child *child;
    struct display_bar bar;
    int64_t done; /* bytes passed on */
    int error;    /* of the local side */
};

/* --- names --- */

/* The path after "ID:", or NULL when the argument names a local file. A local file with a colon is written ./a:b. */
static const char *remote_part(const char *word)
{
    const char *colon = strchr(word, ':'), *slash = strchr(word, '/');
    return colon && colon != word && (!slash || colon < slash) ? colon + 1 : NULL;
}

/* Without slashes at the end. Caller frees. */
static char *trimmed(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    return xstrndup(path, len);
}

/* The last name of a path; "" when it has none, as "/" and "a/.": then the contents are copied. Caller frees. */
static char *name_of(const char *path)
{
    char *all = trimmed(path);
    const char *slash = strrchr(all, '/'), *name = slash ? slash + 1 : all;
    char *ret = xstrdup(strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? "" : name);
    free(all);
    return ret;
}

/* Caller frees. */
static char *below(const char *folder, const char *name)
{
    size_t len = strlen(folder);
    return xasprintf("%s%s%s", folder, len && folder[len - 1] != '/' && *name ? "/" : "", name);
}

/* --- messages --- */

/* "object: text". Returns 1. */
static int fail(const struct copy *c, const char *object, const char *text)
{
    const struct rest_client_answer none = { 0 };
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_INVALID, 0, "%.200s: %.180s", object, text);
    return operation_verb_verdict(&c->link, &none, -EIO, &err);
}

/* The same of what failed half-way: why, and what is left. */
static int fail_partly(const struct copy *c, const char *object, const char *why, const char *left)
{
    CLEANUP(free_p) char *text = xasprintf("%.120s; %s", why, left);
    return fail(c, object, text);
}

static int tell(const struct copy *c, const char *from, const char *to, const json_t *answer)
{
    if (verbs_wants_json(c->a))
        display_json(answer, stdout);
    else
        (void)printf("%s -> %s\n", from, to);
    return fflush(stdout) == EOF ? 1 : 0;
}

/* --- requests --- */

static json_t *params_of(const struct copy *c, const char *path, bool is_archive)
{
    json_t *params = json_pack("{s:s, s:s}", "id", c->id, "path", *path ? path : ".");
    if (params && is_archive)
        (void)json_object_set_new(params, "format", json_string("tar"));
    return params;
}

/* 400 or 404 of the path, not of the sandbox. */
static bool is_about_path(const struct rest_client_answer *answer, const char *ending)
{
    size_t len = strlen(answer->error), n = strlen(ending);
    return answer->status >= 400 && strncmp(answer->error, "read ", 5) == 0 && len >= n &&
           strcmp(answer->error + len - n, ending) == 0;
}

static int take_nothing(void *arg, const struct rest_client_answer *answer, const char *data, size_t len)
{
    (void)arg, (void)answer, (void)data, (void)len;
    return 1;
}

/* Appends name to c->remote when that is a folder. 0 or an exit code. */
static int settle_remote(struct copy *c, const char *name)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    size_t len = strlen(c->remote);
    bool is_folder = len == 0 || (!c->is_tree && c->remote[len - 1] == '/');
    if (!*name)
        return 0;
    if (!is_folder) {
        JSON_OWNED params = params_of(c, c->remote, false);
        const struct rest_client_call call = { .op = &spec_ops[OP_ID_fs_content_read],
                                               .params = params,
                                               .on_bytes = take_nothing };
        int r = rest_client_op(&c->link, &call, &answer, &err);
        if (r < 0 || answer.signal || (answer.status >= 400 && !is_about_path(&answer, "")))
            return operation_verb_verdict(&c->link, &answer, r, &err);
        is_folder = is_about_path(&answer, ": Is a directory");
    }
    if (is_folder) {
        char *whole = below(c->remote, name);
        free(c->remote);
        c->remote = whole;
    }
    return 0;
}

/* --- up --- */

static int upload(struct copy *c, const char *from, bool is_folder)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    JSON_OWNED params = params_of(c, c->remote, is_folder || (c->is_tree && c->is_stream));
    struct err err = ERR_INIT;
    int ours = NO_FD;
    if (!c->link.is_json)
        display_bar_start(&c->child->bar, "uploading", -1);
    pid_t pid = copy_child_feed(c->child, c->fd, is_folder ? c->local : NULL, &ours);
    if (pid < 0)
        return fail(c, "start a process", strerror(errno));
    const struct rest_client_call call = { .op = &spec_ops[OP_ID_fs_content_write],
                                           .params = params,
                                           .body_fd = &ours };
    int r = rest_client_op(&c->link, &call, &answer, &err);
    if (r < 0 || answer.signal || answer.status >= 400)
        (void)kill(pid, SIGKILL); /* it may wait for standard input */
    copy_child_join(c->child, pid);
    CLEANUP(free_p) char *to = xasprintf("%s:%s", c->id, c->remote);
    if (answer.signal)
        (void)fail_partly(c, to, "interrupted", is_folder ? "the files that had arrived stay" : "nothing was written");
    else if (c->child->error && answer.status < 400) {
        const char *why = c->child->packed.why;
        CLEANUP(free_p) char *text = xasprintf("%s%s%s", why, *why ? ": " : "", strerror(c->child->error));
        return fail(c, from, text);
    }
    int code = operation_verb_verdict(&c->link, &answer, r, &err);
    return code ? code : tell(c, from, to, answer.body);
}

static int copy_in(struct copy *c, const char *from)
{
    struct stat st;
    CLEANUP(free_p) char *name = c->is_stream && !c->is_tree ? xstrdup(from) : name_of(from);
    c->fd = c->is_stream ? STDIN_FILENO : open(from, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (c->fd < 0 || fstat(c->fd, &st) < 0)
        return fail(c, from, strerror(errno));
    bool is_folder = !c->is_stream && S_ISDIR(st.st_mode);
    if (is_folder && !c->is_tree)
        return fail(c, from, "it is a folder; use -r to copy it");
    if (!c->is_stream)
        (void)fcntl(c->fd, F_SETFL, 0); /* a FIFO: opened without waiting for its writer, read with */
    int code = c->is_stream && c->is_tree ? 0 : settle_remote(c, name);
    return code ? code : upload(c, from, is_folder);
}

/* --- down --- */

static int take_bytes(void *arg, const struct rest_client_answer *answer, const char *data, size_t len)
{
    struct copy *c = arg;
    if (c->fd < 0)
        c->fd = open(c->local, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (c->fd < 0) {
        c->error = errno;
        return 1;
    }
    if (!c->bar.label && !c->link.is_json)
        display_bar_start(&c->bar, "downloading", answer ? answer->length : -1);
    int r = write_all_write(c->fd, data, len);
    if (r < 0) {
        c->error = -r;
        return 1;
    }
    c->done += (int64_t)len;
    display_bar_move(&c->bar, c->done);
    return 0;
}

static int receive(struct copy *c, bool is_archive, struct rest_client_answer *ret, struct err *err)
{
    JSON_OWNED params = params_of(c, c->remote, is_archive);
    const struct rest_client_call call = {
        .op = &spec_ops[OP_ID_fs_content_read], .params = params, .on_bytes = take_bytes, .arg = c
    };
    int r = rest_client_op(&c->link, &call, ret, err);
    display_bar_end(&c->bar);
    return r;
}

/* The end of a download: exit code, after the message of a failure. */
static int conclude(struct copy *c, const struct rest_client_answer *answer, int r, const struct err *err,
                    const char *from, const char *left)
{
    const struct tar_unpacked *u = &c->child->unpacked;
    bool is_partial = r < 0 || answer->signal;
    CLEANUP(free_p) char *mine = NULL;
    if (answer->status >= 400 || (r < 0 && c->done == 0))
        return operation_verb_verdict(&c->link, answer, r, err);
    if (!is_partial && !c->error && !c->child->error)
        return 0;
    if (!is_partial)
        mine = xasprintf("%s%s%s", u->why, *u->why ? ": " : "", strerror(c->error ? c->error : c->child->error));
    (void)fail_partly(c, from, answer->signal ? "interrupted" : r < 0 ? err->msg : mine, left);
    return answer->signal ? 128 + answer->signal : 1;
}

static int download_tree(struct copy *c, const char *from, const char *name)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    char size[16];
    bool is_given = !*name; /* the user's own folder may be a link */
    bool is_old = mkdir(c->local, 0755) < 0 && errno == EEXIST;
    CLEANUP(close_fd_p)
    int folder = open(c->local, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_given ? 0 : O_NOFOLLOW));
    if (folder < 0)
        return fail(c, c->local, strerror(errno));
    pid_t pid = copy_child_unpack(c->child, folder, is_old, &c->fd);
    if (pid < 0)
        return fail(c, "start a process", strerror(errno));
    int r = receive(c, true, &answer, &err);
    (void)close(steal_fd(&c->fd));
    copy_child_join(c->child, pid);
    if (c->child->error)
        c->error = 0; /* the pipe's, a consequence */
    const struct tar_unpacked *u = &c->child->unpacked;
    CLEANUP(free_p)
    char *left = xasprintf("%s has %llu of its entries, %s", c->local, (unsigned long long)u->entries,
                           display_size((int64_t)u->bytes, size));
    int code = conclude(c, &answer, r, &err, from, left);
    if (code && !is_old && u->entries == 0)
        (void)rmdir(c->local); /* only when it is empty */
    JSON_OWNED told = json_pack("{s:s, s:I, s:I}", "path", c->remote, "entries", (json_int_t)u->entries, "bytes",
                                (json_int_t)u->bytes);
    return code ? code : tell(c, from, c->local, told);
}

static int copy_out(struct copy *c, const char *from)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    struct stat st;
    CLEANUP(free_p) char *name = name_of(c->remote);
    size_t len = strlen(c->local);
    if (!c->is_stream &&
        ((stat(c->local, &st) == 0 && S_ISDIR(st.st_mode)) || (!c->is_tree && len && c->local[len - 1] == '/'))) {
        char *whole = below(c->local, name);
        free(c->local);
        c->local = whole;
    }
    c->fd = c->is_stream ? STDOUT_FILENO : NO_FD;
    int r = receive(c, false, &answer, &err);
    if (is_about_path(&answer, ": Is a directory")) {
        if (!c->is_tree)
            return fail(c, from, "it is a folder; use -r to copy it");
        rest_client_answer_done(&answer);
        if (!c->is_stream)
            return download_tree(c, from, name);
        r = receive(c, true, &answer, &err);
    }
    if (r == 0 && answer.status < 400 && !answer.signal && c->fd < 0 && !c->error)
        (void)take_bytes(c, &answer, "", 0); /* an empty file */
    if (c->fd < 0 && c->error)
        return fail(c, c->local, strerror(c->error));
    if (c->fd >= 0 && !c->is_stream && close(steal_fd(&c->fd)) < 0 && !c->error)
        c->error = errno;
    char size[16];
    CLEANUP(free_p)
    char *left =
        xasprintf("%s has the first %s of it", c->is_stream ? "the output" : c->local, display_size(c->done, size));
    int code = conclude(c, &answer, r, &err, from, left);
    JSON_OWNED told = json_pack("{s:s, s:I}", "path", c->remote, "bytes", (json_int_t)c->done);
    return code || c->is_stream ? code : tell(c, from, c->local, told);
}

int cmd_cp_run(const struct verbs_args *a)
{
    const char *from = a->words[0], *to = a->words[1];
    const char *out = remote_part(from), *in = remote_part(to);
    if (!out == !in)
        return verbs_usage_error(a->verb, "one of the two must be ID:PATH, the other a file or folder here (or -)");
    struct copy c = { .a = a, .link = REST_CLIENT_INIT, .fd = NO_FD, .is_tree = verbs_is_on(a, "recursive") };
    const char *there = out ? out : in, *here = out ? to : from;
    int code = operation_verb_link(a, &c.link);
    c.child = copy_child_new();
    if (!c.child)
        code = code ? code : fail(&c, "shared memory", strerror(errno));
    c.id = xstrndup(out ? from : to, (size_t)(there - (out ? from : to)) - 1);
    c.remote = out || c.is_tree ? trimmed(there) : xstrdup(there);
    c.local = xstrdup(here);
    c.is_stream = strcmp(here, "-") == 0;
    JSON_OWNED params = params_of(&c, c.remote, false);
    if (code == 0 && !params)
        code = fail(&c, there, "it is not UTF-8");
    if (code == 0)
        code = out ? copy_out(&c, from) : copy_in(&c, from);
    if (c.fd > STDERR_FILENO)
        (void)close(c.fd);
    c.child = copy_child_free(c.child);
    free(c.id);
    free(c.remote);
    free(c.local);
    rest_client_done(&c.link);
    return code;
}
