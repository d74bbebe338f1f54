#include "agent/sftp_request.h"

#include <errno.h>
#include <string.h>

struct reader {
    const uint8_t *at;
    size_t left;
    int error; /* the first one */
};

static const struct {
    const char *name, *version, *fields;
    enum sftp_request_type type;
} extensions[] = {
    { "posix-rename@openssh.com", "1", "pq", SFTP_POSIX_RENAME },
    { "hardlink@openssh.com", "1", "pq", SFTP_HARDLINK },
    { "statvfs@openssh.com", "2", "p", SFTP_STATVFS },
    { "fstatvfs@openssh.com", "2", "h", SFTP_FSTATVFS },
    { "fsync@openssh.com", "1", "h", SFTP_FSYNC },
    { "lsetstat@openssh.com", "1", "pa", SFTP_LSETSTAT },
    { "limits@openssh.com", "1", "", SFTP_LIMITS },
    { "expand-path@openssh.com", "1", "p", SFTP_EXPAND_PATH },
};

/* What follows the id: p and q paths, h handle, o offset, l length, f flags, a attributes, d data. */
static const char *const fields[] = {
    [SFTP_OPEN] = "pfa",  [SFTP_CLOSE] = "h",    [SFTP_READ] = "hol",    [SFTP_WRITE] = "hod",  [SFTP_LSTAT] = "p",
    [SFTP_FSTAT] = "h",   [SFTP_SETSTAT] = "pa", [SFTP_FSETSTAT] = "ha", [SFTP_OPENDIR] = "p",  [SFTP_READDIR] = "h",
    [SFTP_REMOVE] = "p",  [SFTP_MKDIR] = "pa",   [SFTP_RMDIR] = "p",     [SFTP_REALPATH] = "p", [SFTP_STAT] = "p",
    [SFTP_RENAME] = "pq", [SFTP_READLINK] = "p", [SFTP_SYMLINK] = "pq",
};

const char *sftp_request_extension(size_t i, const char **ret_version)
{
    if (i >= sizeof(extensions) / sizeof(*extensions))
        return NULL;
    *ret_version = extensions[i].version;
    return extensions[i].name;
}

static void fail(struct reader *r, int error)
{
    if (!r->error)
        r->error = error;
}

static uint32_t get_u32(struct reader *r)
{
    if (r->left < 4) {
        r->left = 0;
        fail(r, -EBADMSG);
        return 0;
    }
    uint32_t v = (uint32_t)r->at[0] << 24 | (uint32_t)r->at[1] << 16 | (uint32_t)r->at[2] << 8 | r->at[3];
    r->at += 4;
    r->left -= 4;
    return v;
}

static uint64_t get_u64(struct reader *r)
{
    uint64_t high = get_u32(r);
    return high << 32 | get_u32(r);
}

static const uint8_t *get_bytes(struct reader *r, uint32_t *ret_len)
{
    uint32_t len = get_u32(r);
    const uint8_t *data = r->at;
    if (len > r->left) {
        fail(r, -EBADMSG);
        len = 0;
    }
    r->at += len;
    r->left -= len;
    *ret_len = len;
    return data;
}

static void get_path(struct reader *r, char out[SFTP_REQUEST_PATH])
{
    uint32_t len;
    const uint8_t *data = get_bytes(r, &len);
    if (len >= SFTP_REQUEST_PATH)
        fail(r, -ENAMETOOLONG);
    else if (memchr(data, '\0', len))
        fail(r, -EINVAL);
    else
        memcpy(out, data, len);
}

static void get_attrs(struct reader *r, struct sftp_request_attrs *a)
{
    a->flags = get_u32(r);
    if (a->flags & SFTP_HAS_SIZE)
        a->size = get_u64(r);
    if (a->flags & SFTP_HAS_OWNER) {
        a->uid = get_u32(r);
        a->gid = get_u32(r);
    }
    if (a->flags & SFTP_HAS_MODE)
        a->mode = get_u32(r);
    if (a->flags & SFTP_HAS_TIMES) {
        a->atime = get_u32(r);
        a->mtime = get_u32(r);
    }
    if (!(a->flags & 0x80000000u))
        return;
    for (uint32_t len, n = get_u32(r); n > 0 && !r->error; n--) { /* of others: ignored */
        (void)get_bytes(r, &len);
        (void)get_bytes(r, &len);
    }
}

static void get_field(struct reader *r, char kind, struct sftp_request *q)
{
    uint32_t len = 0;
    const uint8_t *data;
    switch (kind) {
    case 'p':
        get_path(r, q->path);
        break;
    case 'q':
        get_path(r, q->other);
        break;
    case 'h':
        data = get_bytes(r, &len);
        if (len == SFTP_REQUEST_HANDLE)
            memcpy(q->handle, data, len);
        break; /* another length is a handle that we never gave: zeros, which we never give either */
    case 'o':
        q->offset = get_u64(r);
        break;
    case 'l':
        q->length = get_u32(r);
        break;
    case 'f':
        q->flags = get_u32(r);
        break;
    case 'a':
        get_attrs(r, &q->attrs);
        break;
    default:
        q->data = get_bytes(r, &q->length);
        break;
    }
}

static const char *get_extension(struct reader *r, struct sftp_request *q)
{
    uint32_t len;
    const uint8_t *name = get_bytes(r, &len);
    for (size_t i = 0; !r->error && i < sizeof(extensions) / sizeof(*extensions); i++)
        if (strlen(extensions[i].name) == len && memcmp(name, extensions[i].name, len) == 0) {
            q->type = extensions[i].type;
            return extensions[i].fields;
        }
    fail(r, -EOPNOTSUPP);
    return "";
}

int sftp_request_parse(const uint8_t *data, size_t len, struct sftp_request *ret, bool *ret_has_id)
{
    *ret_has_id = false;
    memset(ret, 0, sizeof(*ret));
    if (len < 5)
        return -EBADMSG;
    struct reader r = { .at = data + 1, .left = len - 1 };
    uint8_t type = data[0];
    ret->type = type;
    ret->id = get_u32(&r);
    if (type == SFTP_INIT)
        return 0; /* extensions of the client are its own matter */
    *ret_has_id = true;
    const char *kinds = NULL;
    if (type == SFTP_EXTENDED)
        kinds = get_extension(&r, ret);
    else if (type < sizeof(fields) / sizeof(*fields))
        kinds = fields[type];
    if (!kinds)
        return -EOPNOTSUPP;
    for (; *kinds && !r.error; kinds++)
        get_field(&r, *kinds, ret);
    return r.error;
}
