/* A configuration file of any bytes (the first byte's lowest bit: options of `iii serve`, one on each line, instead).
 * It is taken or refused with its place; a number that was taken lies in its range. */
#include "../feed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "main/config/config.h"

#define ARGS_MAX 32

static void check(struct settings *s, int r, const struct err *err)
{
    MUST(r > 0 || (r == 0) == (err->code == ERR_NONE));
    if (r != 0)
        return;
    for (const struct settings_row *row = settings_rows; row->field; row++) {
        const void *at = (const char *)s + row->offset;
        if (row->type == 'i')
            MUST(*(const int64_t *)at >= row->min && *(const int64_t *)at <= row->max);
        else if (row->type == 's')
            MUST(*(char *const *)at != NULL);
    }
    settings_done(s);
}

static void try_file(const char *bytes, size_t len)
{
    static char verb[] = "serve", flag[] = "--config";
    CLEANUP(close_fd_p) int fd = memfd_create("config.yaml", MFD_CLOEXEC);
    char path[64];
    struct settings s;
    struct err err = ERR_INIT;
    MUST(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    char *argv[] = { verb, flag, path, NULL };
    check(&s, config_load(3, argv, NULL, &s, &err), &err);
}

static void try_options(const char *bytes, size_t len)
{
    static char verb[] = "serve";
    CLEANUP(free_p) char *text = feed_text(bytes, len);
    char *argv[ARGS_MAX + 1] = { verb }, *rest = text;
    int argc = 1;
    struct settings s;
    struct err err = ERR_INIT;
    for (char *word; argc < ARGS_MAX && (word = feed_line(&rest));)
        if (!strstr(word, "config") && !strstr(word, "-c") && !strstr(word, "help") && !strstr(word, "-h"))
            argv[argc++] = word; /* no file of this machine, and no help text for each input */
    check(&s, config_load(argc, argv, NULL, &s, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    log_setup(LOG_ERROR, 0); /* unknown keys of a worker are only warned about */
    if (data[0] & 1)
        try_options((const char *)data + 1, size - 1);
    else
        try_file((const char *)data + 1, size - 1);
    return 0;
}
