#include "ssh/ssh_hostkey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/write_all.h"

enum { FILE_MAX = 65536 };

static int read_key(int fd, const char *name, ssh_key *ret, struct err *err)
{
    char text[FILE_MAX];
    struct stat st;
    size_t len = 0;
    ssize_t n = 1;
    if (fstat(fd, &st) < 0)
        return err_sys(err, -errno, "SSH host key %s", name);
    if (!S_ISREG(st.st_mode) || st.st_mode & 077)
        return err_set(err, ERR_INVALID, 0, "SSH host key %s must be a file that only its owner can read (chmod 600)",
                       name);
    while (n > 0 && len < sizeof(text) - 1) {
        n = read(fd, text + len, sizeof(text) - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    text[len] = '\0';
    int r = n < 0 ? err_sys(err, -errno, "read SSH host key %s", name) : 0;
    if (r == 0 && libssh.pki_import_privkey_base64(text, NULL, NULL, NULL, ret) != SSH_OK)
        r = err_set(err, ERR_INVALID, 0, "SSH host key %s is not a private key without a passphrase", name);
    explicit_bzero(text, sizeof(text));
    return r;
}

/* Whole under its name, or not there: a start that is killed leaves no half a key. */
static int write_key(int dir, const char *text, struct err *err)
{
    static const char fresh[] = SSH_HOSTKEY_FILE ".new";
    (void)unlinkat(dir, fresh, 0); /* of a start that was killed */
    CLEANUP(close_fd_p) int fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : write_all_write(fd, text, strlen(text));
    if (r == 0 && (fsync(fd) < 0 || renameat(dir, fresh, dir, SSH_HOSTKEY_FILE) < 0 || fsync(dir) < 0))
        r = -errno;
    return r < 0 ? err_sys(err, r, "write SSH host key %s", SSH_HOSTKEY_FILE) : 0;
}

static int make_key(int dir, ssh_key *ret, struct err *err)
{
    char *text = NULL;
    if (libssh.pki_generate(SSH_KEYTYPE_ED25519, 0, ret) != SSH_OK)
        return err_set(err, ERR_INTERNAL, 0, "make an SSH host key");
    int r = libssh.pki_export_privkey_base64(*ret, NULL, NULL, NULL, &text) == SSH_OK
                ? write_key(dir, text, err)
                : err_set(err, ERR_INTERNAL, 0, "write an SSH host key");
    if (text)
        explicit_bzero(text, strlen(text));
    libssh.string_free_char(text);
    return r;
}

/* A folder of its own, so that the server, which owns the files of the data folder, cannot read it. */
static int open_folder(const char *data_dir, int *ret, struct err *err)
{
    struct stat st;
    CLEANUP(close_fd_p) int all = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (all < 0 || (mkdirat(all, SSH_HOSTKEY_FOLDER, 0700) < 0 && errno != EEXIST))
        return err_sys(err, -errno, "folder %s/" SSH_HOSTKEY_FOLDER " for the SSH host key", data_dir);
    CLEANUP(close_fd_p) int fd = openat(all, SSH_HOSTKEY_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, -errno, "folder %s/" SSH_HOSTKEY_FOLDER, data_dir);
    if (st.st_uid != geteuid() || st.st_mode & 077)
        return err_set(err, ERR_INVALID, 0,
                       "the folder %s/" SSH_HOSTKEY_FOLDER " is not of the user that starts the server, or others may "
                       "enter it: remove it, and a new host key is made",
                       data_dir);
    *ret = steal_fd(&fd);
    return 0;
}

int ssh_hostkey_load(const char *data_dir, const char *path, ssh_key *ret, struct err *err)
{
    if (*path) {
        CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? err_sys(err, -errno, "SSH host key %s", path) : read_key(fd, path, ret, err);
    }
    CLEANUP(close_fd_p) int dir = NO_FD;
    int r = open_folder(data_dir, &dir, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int fd = openat(dir, SSH_HOSTKEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return make_key(dir, ret, err);
    return fd < 0 ? err_sys(err, -errno, "SSH host key %s", SSH_HOSTKEY_FILE)
                  : read_key(fd, SSH_HOSTKEY_FILE, ret, err);
}
