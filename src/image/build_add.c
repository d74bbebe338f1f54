#include "image/build_add.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "archive/tar_stream.h"
#include "base/address.h"
#include "base/alloc.h"
#include "base/settings.h"
#include "http/url.h"
#include "image/registry_http.h"
#include "image/unpack.h"
#include "os/write_all.h"

/* --- addresses --- */

bool build_add_is_url(const char *source)
{
    return strncasecmp(source, "http://", 7) == 0 || strncasecmp(source, "https://", 8) == 0;
}

int build_add_url_name(const char *url, char **ret, struct err *err)
{
    const char *host = strstr(url, "://") + 3, *path = host + strcspn(host, "/?#");
    size_t len = strcspn(path, "?#");
    const char *slash = memrchr(path, '/', len);
    const char *name = slash ? slash + 1 : path + len;
    len -= (size_t)(name - path);
    *ret = xstrndup(name, len);
    if (len && strcmp(*ret, ".") != 0 && strcmp(*ret, "..") != 0)
        return 0;
    free(STEAL(*ret));
    return err_set(err, ERR_INVALID, 0, "%.100s names no file: state the destination's name, not a folder", url);
}

/* ret_private: hosts that may be at private addresses; caller frees. */
static int check_rules(const char *url, char **ret_private, struct err *err)
{
    struct settings set;
    struct url u = { .host = "" };
    settings_init(&set);
    settings_from_env(&set, NULL, NULL);
    const char *host = strstr(url, "://") + 3;
    size_t len = strcspn(host, "/?#");
    CLEANUP(free_p) char *origin = xstrndup(url, (size_t)(host - url) + len);
    bool is_url = url_parse_either(origin, "http", &u) == 0;
    int r = 0;
    if (strcmp(set.pull, "never") == 0)
        r = err_set(err, ERR_FORBIDDEN, 0,
                    "%.100s: nothing is downloaded with III_PULL=never: put the file into the context", url);
    else if (memchr(host, '@', len))
        r = err_set(err, ERR_INVALID, 0, "%.*s…: an address with a password would be in the image's history: refused",
                    (int)(host - url), url);
    else if (!is_url)
        r = err_set(err, ERR_INVALID, 0, "%.100s is not an http or https address", url);
    else if (!u.is_secure && !registry_http_is_loopback(u.host) &&
             !address_hosts_have(set.plain_registries, u.host, u.port))
        r = err_set(err, ERR_FORBIDDEN, 0,
                    "%.100s: plain HTTP is for loopback and the hosts in III_PLAIN_REGISTRIES: use https", url);
    if (r == 0)
        *ret_private = xasprintf("%s,%s", set.private_registries, set.plain_registries);
    settings_done(&set);
    return r;
}

struct download {
    int fd;
    int64_t left;
    int cause;
};

static int write_piece(void *arg, const void *data, size_t len)
{
    struct download *d = arg;
    d->left -= (int64_t)len;
    d->cause = d->left < 0 ? -EFBIG : write_all_write(d->fd, data, len);
    return d->cause;
}

int build_add_fetch(const struct image_store *s, const char *url, int dir_fd, const char *name, struct err *err)
{
    CLEANUP(free_p) char *private_hosts = NULL;
    int r = check_rules(url, &private_hosts, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, -errno, "make a file for %.100s", url);
    struct download d = { .fd = fd, .left = s->limits.bytes };
    const struct registry_http_request request = { .url = url,
                                                   .rule = { .trust = OUTGOING_PUBLIC, .private_hosts = private_hosts },
                                                   .sink = write_piece,
                                                   .sink_arg = &d };
    CLEANUP(registry_http_reply_done) struct registry_http_reply reply = { 0 };
    r = registry_http_do(&request, 1024, &reply, err);
    if (d.cause == -EFBIG)
        return err_set(err, ERR_TOO_LARGE, 0, "%.100s has over %lld bytes (III_IMAGE_MAX_BYTES)", url,
                       (long long)s->limits.bytes);
    if (d.cause < 0)
        return err_sys(err, d.cause, "write %.100s", url);
    if (r == 0 && reply.status != 200)
        r = err_set(err, ERR_UPSTREAM, 0, "%.100s: the server answered with status %d", url, reply.status);
    return r;
}

/* --- archives --- */

int build_add_is_archive(const struct image_store *s, int fd, const char *path, struct err *err)
{
    static const struct {
        const char *magic;
        size_t len;
        const char *name;
    } packed[] = { { "BZh", 3, "bzip2" },
                   { "\xfd"
                     "7zXZ",
                     5, "xz" } };
    char head[8] = "";
    ssize_t n = pread(fd, head, sizeof(head), 0);
    if (n < 0)
        return err_sys(err, -errno, "read %.200s", path);
    for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++)
        if ((size_t)n >= packed[i].len && memcmp(head, packed[i].magic, packed[i].len) == 0)
            return err_set(
                err, ERR_INVALID, 0,
                "%.200s is packed by %s, and only tar, gzip and zstd are unpacked here: COPY it and unpack it "
                "in a RUN step",
                path, packed[i].name);
    CLEANUP(tar_stream_close_p) struct tar_stream *t = NULL;
    const struct tar_stream_source source = { .fd = fd };
    struct archive_member first;
    struct err ignored = ERR_INIT; /* another kind of file is not an error */
    int r = n == 0 ? 0 : tar_stream_open(&source, image_limits_of_stream(&s->limits), &t, &ignored);
    return n > 0 && r == 0 && tar_stream_next(t, &first, &ignored) > 0;
}

int build_add_unpack(const struct image_store *s, int fd, int root_fd, struct err *err)
{
    char hex[DIGEST_HEX];
    const struct tar_stream_source source = { .fd = fd };
    struct unpack_job job = { .root_fd = root_fd, .limits = &s->limits, .is_rootless = s->is_rootless };
    return unpack_layer(&job, &source, hex, err);
}
