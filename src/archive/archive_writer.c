#include "archive/archive_writer.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>

#include "archive/archive_library_core.h"
#include "base/alloc.h"
#include "os/write_all.h"

#define BLOCK      (128 * 1024)
#define LAST_BLOCK 512

struct archive_writer {
    struct archive *archive;
    struct archive_entry *entry; /* of the next member */
    char *path;                  /* of the current one, for messages */
    int fd;
    struct digest *digest;
    int64_t bytes;
    int error; /* of the last write */
    locale_t old_locale, utf8_locale;
    bool is_given_up; /* write nothing more */
};

static la_ssize_t write_block(struct archive *a, void *arg, const void *data, size_t len)
{
    struct archive_writer *w = arg;
    int r = w->is_given_up ? -ECANCELED : write_all_write(w->fd, data, len);
    if (r < 0) {
        w->error = -r;
        return -1;
    }
    if (w->digest)
        digest_add(w->digest, data, len);
    w->bytes += (int64_t)len;
    return (la_ssize_t)len;
}

static int write_failed(struct archive_writer *w, struct err *err)
{
    int sys = w->error ? w->error : EIO;
    return err_set(err, err_from_errno(sys), sys, "\"%.200s\": write into the archive", w->path ? w->path : "");
}

int archive_writer_new(enum archive_writer_format format, int fd, struct digest *digest, struct archive_writer **ret,
                       struct err *err)
{
    int r = archive_library_load(err);
    if (r < 0)
        return r;
    CLEANUP(archive_writer_free_p) struct archive_writer *w = xzalloc(sizeof(*w));
    w->fd = fd;
    w->digest = digest;
    /* In the "C" locale, names that are not ASCII would be lost. */
    w->utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    w->old_locale = w->utf8_locale ? uselocale(w->utf8_locale) : (locale_t)0;
    w->archive = libarchive.write_new();
    w->entry = libarchive.entry_new();
    if (!w->archive || !w->entry)
        return err_set(err, ERR_INTERNAL, ENOMEM, "start an archive");
    (void)(format == ARCHIVE_WRITER_TAR ? libarchive.write_set_format_pax_restricted(w->archive)
                                        : libarchive.write_set_format_cpio_newc(w->archive)); /* both are built in */
    (void)libarchive.write_set_bytes_per_block(w->archive, BLOCK);
    (void)libarchive.write_set_bytes_in_last_block(w->archive, LAST_BLOCK);
    if (libarchive.write_open(w->archive, w, NULL, write_block, NULL) != ARCHIVE_OK)
        return write_failed(w, err);
    *ret = STEAL(w);
    return 0;
}

void archive_writer_xattr(struct archive_writer *w, const char *name, const void *value, size_t len)
{
    libarchive.entry_xattr_add_entry(w->entry, name, value, len);
}

int archive_writer_member(struct archive_writer *w, const struct archive_member *m, struct err *err)
{
    struct archive_entry *e = w->entry;
    free(w->path);
    w->path = xstrdup(m->path);
    libarchive.entry_set_pathname(e, m->path);
    libarchive.entry_set_mode(e, m->mode);
    libarchive.entry_set_nlink(e, S_ISDIR(m->mode) ? 2 : 1);
    libarchive.entry_set_uid(e, m->uid);
    libarchive.entry_set_gid(e, m->gid);
    libarchive.entry_set_mtime(e, m->mtime.tv_sec, m->mtime.tv_nsec);
    libarchive.entry_set_rdevmajor(e, m->major);
    libarchive.entry_set_rdevminor(e, m->minor);
    libarchive.entry_set_size(e, S_ISREG(m->mode) && !m->hardlink ? m->size : 0);
    if (m->symlink)
        libarchive.entry_set_symlink(e, m->symlink);
    if (m->hardlink)
        libarchive.entry_set_hardlink(e, m->hardlink);
    int rc = libarchive.write_header(w->archive, e);
    (void)libarchive.entry_clear(e);
    return rc < ARCHIVE_WARN ? write_failed(w, err) : 0;
}

int archive_writer_data(struct archive_writer *w, const void *data, size_t len, struct err *err)
{
    return libarchive.write_data(w->archive, data, len) == (la_ssize_t)len ? 0 : write_failed(w, err);
}

int archive_writer_file(struct archive_writer *w, const char *path, mode_t mode, const void *data, size_t len,
                        struct err *err)
{
    const struct archive_member m = { .path = path, .mode = S_IFREG | mode, .size = (int64_t)len };
    int r = archive_writer_member(w, &m, err);
    return r < 0 || len == 0 ? r : archive_writer_data(w, data, len, err);
}

int archive_writer_close(struct archive_writer *w, struct err *err)
{
    return libarchive.write_close(w->archive) == ARCHIVE_OK ? 0 : write_failed(w, err);
}

int64_t archive_writer_bytes(const struct archive_writer *w)
{
    return w->bytes;
}

struct archive_writer *archive_writer_free(struct archive_writer *w)
{
    if (!w)
        return NULL;
    /* Freeing one that is not closed closes it. archive_write_fail() would prevent that, but leaks its last block. */
    w->is_given_up = true;
    (void)libarchive.write_free(w->archive); /* closed, or failed with a more useful error */
    libarchive.entry_free(w->entry);
    if (w->utf8_locale) {
        (void)uselocale(w->old_locale);
        freelocale(w->utf8_locale);
    }
    free(w->path);
    free(w);
    return NULL;
}
