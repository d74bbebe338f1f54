/* Requests of SFTP version 3 (draft-ietf-secsh-filexfer-02, and the extensions of OpenSSH), as pure functions over
 * memory. Untrusted: every byte. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SFTP_REQUEST_MAX    262144u /* bytes of a packet, without its length */
#define SFTP_REQUEST_DATA   261120u /* bytes of one read or write */
#define SFTP_REQUEST_PATH   4096u   /* with NUL */
#define SFTP_REQUEST_HANDLE 8u

enum sftp_request_type {
    SFTP_INIT = 1,
    SFTP_OPEN = 3,
    SFTP_CLOSE,
    SFTP_READ,
    SFTP_WRITE,
    SFTP_LSTAT,
    SFTP_FSTAT,
    SFTP_SETSTAT,
    SFTP_FSETSTAT,
    SFTP_OPENDIR,
    SFTP_READDIR,
    SFTP_REMOVE,
    SFTP_MKDIR,
    SFTP_RMDIR,
    SFTP_REALPATH,
    SFTP_STAT,
    SFTP_RENAME,
    SFTP_READLINK,
    SFTP_SYMLINK,
    SFTP_EXTENDED = 200,
    /* extensions, after their names */
    SFTP_POSIX_RENAME = 1000,
    SFTP_HARDLINK,
    SFTP_STATVFS,
    SFTP_FSTATVFS,
    SFTP_FSYNC,
    SFTP_LSETSTAT,
    SFTP_LIMITS,
    SFTP_EXPAND_PATH,
};

/* flags of attributes, as on the wire */
enum { SFTP_HAS_SIZE = 1, SFTP_HAS_OWNER = 2, SFTP_HAS_MODE = 4, SFTP_HAS_TIMES = 8 };
/* flags of OPEN, as on the wire */
enum {
    SFTP_FOR_READ = 1,
    SFTP_FOR_WRITE = 2,
    SFTP_APPEND = 4,
    SFTP_CREATE = 8,
    SFTP_TRUNCATE = 16,
    SFTP_EXCLUSIVE = 32
};

struct sftp_request_attrs {
    uint32_t flags, uid, gid, mode, atime, mtime;
    uint64_t size;
};

struct sftp_request {
    enum sftp_request_type type;
    uint32_t id; /* of INIT: the client's version */
    char path[SFTP_REQUEST_PATH], other[SFTP_REQUEST_PATH];
    uint8_t handle[SFTP_REQUEST_HANDLE];
    uint64_t offset;
    uint32_t length, flags;
    const uint8_t *data; /* of WRITE, in the packet; length bytes */
    struct sftp_request_attrs attrs;
};

/* 0. -EBADMSG: not a packet, close the connection when has_id is false. -EOPNOTSUPP: a request that is not known.
 * -ENAMETOOLONG, -EINVAL: of a path. Where the request has an id, it is set in every case. */
int sftp_request_parse(const uint8_t *data, size_t len, struct sftp_request *ret, bool *ret_has_id);
/* The extensions by name and version; NULL past the last. */
const char *sftp_request_extension(size_t i, const char **ret_version);
