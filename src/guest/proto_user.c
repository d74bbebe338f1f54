#include "guest/proto_user.h"

#include <errno.h>
#include <string.h>

int proto_user_id(const char *text, size_t len, uint32_t *ret)
{
    uint64_t id = 0;

    if (len == 0 || len > 10 || (text[0] == '0' && len > 1))
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -EINVAL;
        id = id * 10 + (uint64_t)(text[i] - '0');
    }
    if (id >= UINT32_MAX)
        return -EINVAL;
    *ret = (uint32_t)id;
    return 0;
}

static bool is_name(const char *text, size_t len)
{
    if (len == 0 || len >= PROTO_USER_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool is_other = (c >= '0' && c <= '9') || c == '-' || c == '.' || (c == '$' && i == len - 1);
        if (!is_letter && (i == 0 || !is_other))
            return false;
    }
    return true;
}

/* One side of the colon: a number or a name. */
static int parse_part(const char *text, size_t len, bool *is_numeric, uint32_t *id, char *name)
{
    if (len > 0 && text[0] >= '0' && text[0] <= '9') {
        *is_numeric = true;
        return proto_user_id(text, len, id);
    }
    if (!is_name(text, len))
        return -EINVAL;
    *is_numeric = false;
    memcpy(name, text, len);
    name[len] = '\0';
    return 0;
}

int proto_user_parse(const char *text, struct proto_user *ret)
{
    struct proto_user u = { 0 };
    size_t len = strlen(text);

    if (len > PROTO_USER_MAX_BYTES)
        return -EINVAL;
    const char *colon = memchr(text, ':', len);
    size_t user_len = colon ? (size_t)(colon - text) : len;
    int r = parse_part(text, user_len, &u.is_numeric, &u.uid, u.name);
    if (r < 0)
        return r;
    if (colon) {
        u.has_group = true;
        r = parse_part(colon + 1, len - user_len - 1, &u.is_group_numeric, &u.gid, u.group);
        if (r < 0)
            return r;
    }
    *ret = u;
    return 0;
}

/* --- passwd and group files: lines of fields between colons; a line that does not fit is skipped --- */
struct field {
    const char *text;
    size_t len;
};

/* Splits the line at *at into at most max fields and moves *at to the next. Returns the number of fields, -1 at the
 * end. */
static int next_line(const char **at, struct field *fields, int max)
{
    const char *p = *at;
    int n = 0;

    if (*p == '\0')
        return -1;
    for (;;) {
        size_t len = strcspn(p, ":\n");
        if (n < max)
            fields[n] = (struct field){ p, len };
        n++;
        p += len;
        if (*p != ':')
            break;
        p++;
    }
    *at = *p == '\n' ? p + 1 : p;
    return n < max ? n : max;
}

static bool is_field(struct field f, const char *text)
{
    return f.len == strlen(text) && memcmp(f.text, text, f.len) == 0;
}

static void copy_field(struct field f, char *to, size_t size)
{
    size_t n = f.len < size ? f.len : size - 1;

    memcpy(to, f.text, n);
    to[n] = '\0';
}

int proto_user_passwd(const char *file, const char *name, uint32_t *ret_uid, uint32_t *ret_gid, char *home,
                      size_t home_size)
{
    struct field f[7];
    uint32_t uid, gid;

    for (int n; (n = next_line(&file, f, 7)) >= 0;) {
        if (n < 4 || !is_field(f[0], name))
            continue;
        if (proto_user_id(f[2].text, f[2].len, &uid) < 0 || proto_user_id(f[3].text, f[3].len, &gid) < 0)
            continue;
        *ret_uid = uid;
        *ret_gid = gid;
        if (home && home_size > 0) {
            home[0] = '\0';
            if (n > 5 && f[5].len < home_size)
                copy_field(f[5], home, home_size);
        }
        return 0;
    }
    return -ENOENT;
}

int proto_user_passwd_uid(const char *file, uint32_t uid, uint32_t *ret_gid, char *name, size_t name_size)
{
    struct field f[4];
    uint32_t id, gid;

    for (int n; (n = next_line(&file, f, 4)) >= 0;) {
        if (n < 4 || proto_user_id(f[2].text, f[2].len, &id) < 0 || id != uid)
            continue;
        if (proto_user_id(f[3].text, f[3].len, &gid) < 0)
            continue;
        *ret_gid = gid;
        if (name && name_size > 0)
            copy_field(f[0], name, name_size);
        return 0;
    }
    return -ENOENT;
}

int proto_user_group(const char *file, const char *name, uint32_t *ret_gid)
{
    struct field f[3];

    for (int n; (n = next_line(&file, f, 3)) >= 0;)
        if (n >= 3 && is_field(f[0], name) && proto_user_id(f[2].text, f[2].len, ret_gid) == 0)
            return 0;
    return -ENOENT;
}

int proto_user_group_gid(const char *file, uint32_t gid, char *name, size_t name_size)
{
    struct field f[3];
    uint32_t id;

    for (int n; (n = next_line(&file, f, 3)) >= 0;) {
        if (n < 3 || proto_user_id(f[2].text, f[2].len, &id) < 0 || id != gid)
            continue;
        copy_field(f[0], name, name_size);
        return 0;
    }
    return -ENOENT;
}

static bool has_member(struct field members, const char *name)
{
    const char *p = members.text, *end = members.text + members.len;
    size_t want = strlen(name);

    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        size_t len = (size_t)((comma ? comma : end) - p);
        if (len == want && memcmp(p, name, len) == 0)
            return true;
        p += len + 1;
    }
    return false;
}

size_t proto_user_members(const char *file, const char *name, uint32_t *ret_gids, size_t max)
{
    struct field f[4];
    size_t count = 0;

    for (int n; count < max && (n = next_line(&file, f, 4)) >= 0;)
        if (n == 4 && has_member(f[3], name) && proto_user_id(f[2].text, f[2].len, &ret_gids[count]) == 0)
            count++;
    return count;
}
