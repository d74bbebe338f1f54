/* Documents the image store reads back from disk or finds beside it: image records, Docker's file of credentials,
 * ignore files of a build's folder. The first byte picks one. */
#include "../feed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/strlist.h"
#include "image/build_context.h"
#include "image/docker_credentials.h"
#include "image/record.h"

static void try_record(const char *bytes, size_t len)
{
    struct image_store store = { .layers_fd = -EBADF, .dir = (char[]){ "/nowhere" } };
    CLEANUP(image_free_p) struct image *image = NULL;
    JSON_OWNED record = NULL;
    struct err err = ERR_INIT;
    if (json_read(bytes, len, &record, NULL) < 0)
        return;
    int r = record_to_image(&store, record, "asked", &image, &err);
    MUST((r == 0) == (err.code == ERR_NONE) && (r == 0) == (image != NULL));
    if (image)
        MUST(image->n_layers == 0 && strlist_count(image->env) <= IMAGE_LIMITS_ENV); /* no layer is there to be found */
}

static void try_credentials(const char *bytes, size_t len)
{
    CLEANUP(close_fd_p) int fd = memfd_create("config.json", MFD_CLOEXEC);
    CLEANUP(docker_credentials_done) struct docker_credentials found = { 0 };
    struct err err = ERR_INIT;
    char path[64];
    (void)setenv("PATH", "/nonexistent", 1); /* a helper it names is not to be found */
    MUST(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int r = docker_credentials_find(path, len % 2 ? "docker.io" : "localhost:5000", &found, &err);
    MUST((r == 0) == (err.code == ERR_NONE));
    MUST(r < 0 || (found.user != NULL) == (found.secret != NULL));
}

static void try_ignore(const char *bytes, size_t len)
{
    CLEANUP(free_p) char *text = feed_text(bytes, len);
    char *rest = text;
    const char *path = feed_line(&rest), *patterns = rest ? rest : "";
    CLEANUP(build_context_ignore_free_p) struct build_context_ignore *rules = NULL;
    if (build_context_ignore_new(patterns, &rules, NULL) < 0)
        return;
    bool is_out = build_context_is_ignored(rules, path);
    if (!strpbrk(patterns, "*?[\\!") && is_out && *path) { /* plain names: a line is the path or begins it */
        const char *first = strchr(path, '/');
        size_t n = first ? (size_t)(first - path) : strlen(path);
        MUST(n == 0 || memmem(patterns, strlen(patterns), path, n));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *, size_t) = { try_record, try_credentials, try_ignore };
    if (size < 1)
        return 0;
    CLEANUP(free_p) char *bytes = feed_bytes(data + 1, size - 1);
    readers[data[0] % 3](bytes, size - 1);
    return 0;
}
