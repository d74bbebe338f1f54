#include "image/docker_credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

#define CONFIG_MAX  (1 << 20)
#define REPLY_MAX   65536
#define HELPER_MS   10000
#define HUB_KEY     "https://index.docker.io/v1/"
#define HELPER_NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

extern char **environ;

static char *wiped(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
    return NULL;
}

void docker_credentials_done(struct docker_credentials *c)
{
    c->user = wiped(c->user);
    c->secret = wiped(c->secret);
}

char *docker_credentials_path(void)
{
    const char *folder = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
    if (folder && *folder)
        return xasprintf("%s/config.json", folder);
    return home && *home ? xasprintf("%s/.docker/config.json", home) : NULL;
}

static int read_config(const char *path, json_t **ret, struct err *err)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -ENOENT;
    if (st.st_size > CONFIG_MAX)
        return err_set(err, ERR_INVALID, 0, "%s is over %d bytes", path, CONFIG_MAX);
    CLEANUP(free_p) char *text = try_alloc((size_t)st.st_size + 1);
    if (!text)
        return err_set(err, ERR_INTERNAL, ENOMEM, "read %s", path);
    ssize_t n = read(fd, text, (size_t)st.st_size);
    int r = n < 0 ? err_set(err, err_from_errno(errno), errno, "read %s", path) : json_read(text, (size_t)n, ret, err);
    explicit_bzero(text, (size_t)st.st_size);
    return r < 0 ? err_wrap(err, r, "%s", path) : 0;
}

bool docker_credentials_has_helper(void)
{
    CLEANUP(free_p) char *path = docker_credentials_path();
    JSON_OWNED doc = NULL;
    return path && read_config(path, &doc, NULL) == 0 &&
           (json_object_size(json_get(doc, "credHelpers")) > 0 || *json_get_str(doc, "credsStore", ""));
}

static const json_t *find_entry(const json_t *table, const char *host)
{
    bool is_hub = strcmp(host, "docker.io") == 0;
    const json_t *exact = json_get(table, is_hub ? HUB_KEY : host);
    if (exact)
        return exact;
    const char *wanted = is_hub ? "index.docker.io" : host;
    for (void *it = json_object_iter((json_t *)(uintptr_t)table); it;
         it = json_object_iter_next((json_t *)(uintptr_t)table, it)) {
        /* "https://host/v1/", "host" and "http://host" are one registry to Docker. */
        const char *key = json_object_iter_key(it), *scheme = strstr(key, "://");
        const char *at = scheme ? scheme + 3 : key;
        size_t len = strcspn(at, "/");
        if (strlen(wanted) == len && strncmp(at, wanted, len) == 0)
            return json_object_iter_value(it);
    }
    return NULL;
}

static int from_auth(const json_t *entry, struct docker_credentials *ret, struct err *err)
{
    const char *identity = json_get_str(entry, "identitytoken", ""), *auth = json_get_str(entry, "auth", "");
    const char *user = json_get_str(entry, "username", NULL), *secret = json_get_str(entry, "password", NULL);
    if (*identity) {
        *ret = (struct docker_credentials){ .user = xstrdup(""), .secret = xstrdup(identity), .is_identity = true };
        return 0;
    }
    if (user && secret) {
        *ret = (struct docker_credentials){ .user = xstrdup(user), .secret = xstrdup(secret) };
        return 0;
    }
    if (!*auth)
        return 0;
    CLEANUP(buf_done) struct buf plain = BUF_INIT(REPLY_MAX);
    if (base64_decode(auth, strlen(auth), &plain) < 0 || !plain.data)
        return err_set(err, ERR_INVALID, 0, "Docker's config.json: an \"auth\" is not base64: log in again");
    char *colon = memchr(plain.data, ':', plain.len);
    if (colon)
        *ret = (struct docker_credentials){ .user = xstrndup(plain.data, (size_t)(colon - plain.data)),
                                            .secret = xstrdup(colon + 1) };
    explicit_bzero(plain.data, plain.len);
    return colon ? 0 : err_set(err, ERR_INVALID, 0, "Docker's config.json: an \"auth\" has no colon: log in again");
}

/* Reads all the helper prints, until end of file or the deadline. */
static int read_reply(int fd, struct buf *out)
{
    int64_t end_us = clock_mono_us() + HELPER_MS * 1000ll;
    while (true) {
        char piece[4096];
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int64_t left_ms = (end_us - clock_mono_us()) / 1000;
        if (left_ms <= 0 || poll(&p, 1, (int)left_ms) == 0)
            return -ETIMEDOUT;
        ssize_t n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return 0;
        if (n > 0 && buf_add(out, piece, (size_t)n) < 0)
            return -E2BIG;
    }
}

/* Runs "docker-credential-NAME get" with key on its standard input: an argument vector, no shell. */
static int run_helper(const char *name, const char *key, struct buf *out, int *ret_status)
{
    CLEANUP(free_p) char *program = xasprintf("docker-credential-%s", name);
    char get[] = "get";
    char *argv[] = { program, get, NULL };
    int in[2], back[2];
    if (pipe2(in, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(back, O_CLOEXEC) < 0) {
        int r = -errno;
        (void)close(in[0]);
        (void)close(in[1]);
        return r;
    }
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    (void)posix_spawn_file_actions_init(&actions); /* allocates nothing on Linux */
    (void)posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    (void)posix_spawn_file_actions_adddup2(&actions, back[1], 1);
    int r = -posix_spawnp(&pid, program, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(in[0]);
    (void)close(back[1]);
    if (r == 0 && write(in[1], key, strlen(key)) < 0 && errno != EPIPE)
        r = -errno; /* a helper that does not read its input still replies */
    (void)close(in[1]);
    if (r == 0)
        r = read_reply(back[0], out);
    (void)close(back[0]);
    if (pid > 0) {
        if (r < 0)
            (void)kill(pid, SIGKILL); /* our child and not yet reaped, so the pid cannot have been reused */
        while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
            ;
    }
    return r;
}

static int from_helper(const char *name, const char *host, struct docker_credentials *ret, struct err *err)
{
    if (!*name || strlen(name) > 64 || strspn(name, HELPER_NAME) != strlen(name))
        return err_set(err, ERR_INVALID, 0, "Docker's config.json: credential helper \"%.64s\" is not a plain name",
                       name);
    CLEANUP(buf_done) struct buf out = BUF_INIT(REPLY_MAX);
    int status = 0;
    int r = run_helper(name, strcmp(host, "docker.io") == 0 ? HUB_KEY : host, &out, &status);
    if (r < 0)
        return err_set(err, ERR_UPSTREAM, -r, "credential helper docker-credential-%s", name);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return 0; /* how a helper reports that it has no credentials for this host */
    JSON_OWNED doc = NULL;
    r = json_read(buf_text(&out), out.len, &doc, err);
    const char *user = json_get_str(doc, "Username", NULL), *secret = json_get_str(doc, "Secret", NULL);
    if (r == 0 && user && secret)
        *ret = (struct docker_credentials){ .user = xstrdup(user),
                                            .secret = xstrdup(secret),
                                            .is_identity = strcmp(user, "<token>") == 0 };
    if (out.data)
        explicit_bzero(out.data, out.len);
    if (r < 0 || !user || !secret)
        return err_set(err, ERR_UPSTREAM, 0, "credential helper docker-credential-%s printed no Username and Secret",
                       name);
    return 0;
}

int docker_credentials_find(const char *path, const char *host, struct docker_credentials *ret, struct err *err)
{
    CLEANUP(free_p) char *file = path ? xstrdup(path) : docker_credentials_path();
    JSON_OWNED doc = NULL;
    *ret = (struct docker_credentials){ 0 };
    int r = file ? read_config(file, &doc, err) : -ENOENT;
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    const json_t *helper = find_entry(json_get(doc, "credHelpers"), host);
    if (json_is_string(helper))
        return from_helper(json_string_value(helper), host, ret, err);
    const json_t *entry = find_entry(json_get(doc, "auths"), host);
    if (entry)
        r = from_auth(entry, ret, err);
    const char *store = json_get_str(doc, "credsStore", "");
    if (r == 0 && !ret->secret && *store)
        r = from_helper(store, host, ret, err);
    return r;
}
