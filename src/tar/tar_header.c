#include "tar/tar_header.h"

#include <stdio.h>
#include <string.h>

/* Where the fields of a ustar block are. */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_MTIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_LINK = 157,
    AT_MAGIC = 257,
    AT_PREFIX = 345,
    NAME_BYTES = 100,
    PREFIX_BYTES = 155,
};
#define OCTAL_7  07777777u
#define OCTAL_11 077777777777u

/* --- writing --- */

static void put_octal(uint8_t *at, size_t width, uint64_t value)
{
    for (size_t i = width - 1; i > 0; i--, value >>= 3)
        at[i - 1] = (uint8_t)('0' + (value & 7));
    at[width - 1] = '\0';
}

static void put_text(uint8_t *at, const char *text, size_t max)
{
    size_t len = strlen(text);
    memcpy(at, text, len < max ? len : max);
}

static uint32_t sum_of(const uint8_t block[TAR_BLOCK])
{
    uint32_t sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= AT_SUM && i < AT_SUM + 8 ? ' ' : block[i];
    return sum;
}

static void put_block(uint8_t *out, const struct tar_entry *e, char type, uint64_t size)
{
    static const char magic[8] = { 'u', 's', 't', 'a', 'r', '\0', '0', '0' }; /* and the version */
    uint64_t time = e->mtime.tv_sec < 0 ? 0 : (uint64_t)e->mtime.tv_sec;
    memset(out, 0, TAR_BLOCK);
    put_text(out + AT_NAME, e->path, NAME_BYTES);
    put_octal(out + AT_MODE, 8, e->mode & 07777);
    put_octal(out + AT_UID, 8, e->uid <= OCTAL_7 ? e->uid : 0);
    put_octal(out + AT_GID, 8, e->gid <= OCTAL_7 ? e->gid : 0);
    put_octal(out + AT_SIZE, 12, size <= OCTAL_11 ? size : 0);
    put_octal(out + AT_MTIME, 12, time <= OCTAL_11 ? time : 0);
    out[AT_TYPE] = (uint8_t)type;
    if (e->link)
        put_text(out + AT_LINK, e->link, NAME_BYTES);
    memcpy(out + AT_MAGIC, magic, sizeof(magic));
    put_octal(out + AT_SUM, 7, sum_of(out));
    out[AT_SUM + 7] = ' ';
}

/* "27 path=a/long/name\n": the length counts itself. False: no room. */
static bool put_record(char *out, size_t *used, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;
    for (size_t digits = 1, more = 10; len >= more; more *= 10)
        len = rest + ++digits;
    if (*used + len > TAR_EXTRA)
        return false;
    (void)snprintf(out + *used, len + 1, "%zu %s=%s\n", len, key, value);
    *used += len;
    return true;
}

/* The records for what a block cannot hold. out has TAR_EXTRA bytes and one more for a NUL. */
static bool put_records(const struct tar_entry *e, char *out, size_t *used)
{
    char text[64];
    bool is_good = true;
    if (strlen(e->path) > NAME_BYTES)
        is_good &= put_record(out, used, "path", e->path);
    if (e->link && strlen(e->link) > NAME_BYTES)
        is_good &= put_record(out, used, "linkpath", e->link);
    if (e->size > OCTAL_11) {
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)e->size);
        is_good &= put_record(out, used, "size", text);
    }
    if (e->mtime.tv_nsec || e->mtime.tv_sec < 0 || e->mtime.tv_sec > (time_t)OCTAL_11) {
        bool is_early = e->mtime.tv_sec < 0 && e->mtime.tv_nsec; /* -1.7 is -2 s and 0.3 s */
        (void)snprintf(text, sizeof(text), "%s%lld.%09ld", is_early && e->mtime.tv_sec == -1 ? "-" : "",
                       (long long)e->mtime.tv_sec + is_early,
                       is_early ? 1000000000 - e->mtime.tv_nsec : e->mtime.tv_nsec);
        is_good &= put_record(out, used, "mtime", text);
    }
    if (e->uid > OCTAL_7) {
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)e->uid);
        is_good &= put_record(out, used, "uid", text);
    }
    if (e->gid > OCTAL_7) {
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)e->gid);
        is_good &= put_record(out, used, "gid", text);
    }
    return is_good;
}

size_t tar_header_write(const struct tar_entry *e, uint8_t out[TAR_HEAD_MAX])
{
    size_t used = 0;
    if (!put_records(e, (char *)out + TAR_BLOCK, &used))
        return 0;
    size_t at = 0;
    if (used) {
        struct tar_entry records = { .path = "records", .mode = 0644 };
        put_block(out, &records, 'x', used);
        memset(out + TAR_BLOCK + used, 0, tar_padding(used));
        at = TAR_BLOCK + used + tar_padding(used);
    }
    put_block(out + at, e, (char)e->type, e->size);
    return at + TAR_BLOCK;
}

/* --- reading --- */

/* Octal digits between blanks, or GNU's number in base 256. False: neither, or negative. */
static bool get_number(const uint8_t *at, size_t width, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i = 0;
    if (at[0] & 0x80) {
        v = at[0] & 0x7f;
        for (i = 1; i < width; i++) {
            if (v >> 55)
                return false;
            v = v << 8 | at[i];
        }
        *ret = v;
        return !(at[0] & 0x40);
    }
    while (i < width && at[i] == ' ')
        i++;
    for (; i < width && at[i] >= '0' && at[i] <= '7'; i++)
        v = v << 3 | (uint64_t)(at[i] - '0');
    for (; i < width; i++)
        if (at[i] != ' ' && at[i] != '\0')
            return false;
    *ret = v;
    return true;
}

static void get_text(const uint8_t *at, size_t max, char *out)
{
    size_t len = strnlen((const char *)at, max);
    memcpy(out, at, len);
    out[len] = '\0';
}

static bool is_zero(const uint8_t block[TAR_BLOCK])
{
    for (size_t i = 0; i < TAR_BLOCK; i++)
        if (block[i])
            return false;
    return true;
}

static void get_names(struct tar_head *h, const uint8_t block[TAR_BLOCK])
{
    bool has_prefix = memcmp(block + AT_MAGIC, "ustar\0", 6) == 0 && block[AT_PREFIX]; /* GNU has other fields there */
    if (!h->has_path) {
        char name[NAME_BYTES + 1], prefix[PREFIX_BYTES + 1] = "";
        get_text(block + AT_NAME, NAME_BYTES, name);
        if (has_prefix)
            get_text(block + AT_PREFIX, PREFIX_BYTES, prefix);
        (void)snprintf(h->path, sizeof(h->path), "%s%s%s", prefix, has_prefix ? "/" : "", name);
    }
    if (!h->has_link)
        get_text(block + AT_LINK, NAME_BYTES, h->link);
    h->entry.path = h->path;
    h->entry.link = h->link;
}

enum tar_block tar_header_read(struct tar_head *h, const uint8_t block[TAR_BLOCK])
{
    uint64_t sum, size, mode, time;
    if (is_zero(block))
        return TAR_BLOCK_END;
    if (!get_number(block + AT_SUM, 8, &sum) || sum != sum_of(block) || !get_number(block + AT_SIZE, 12, &size))
        return TAR_BLOCK_BAD;
    char type = (char)block[AT_TYPE];
    h->extra = size;
    switch (type) {
    case 'x':
    case 'L':
    case 'K':
        if (size > TAR_EXTRA)
            return TAR_BLOCK_BAD;
        return type == 'x' ? TAR_BLOCK_RECORDS : type == 'L' ? TAR_BLOCK_NAME : TAR_BLOCK_LINK;
    case 'g':
        return TAR_BLOCK_SKIP;
    default:
        break;
    }
    if (!get_number(block + AT_MODE, 8, &mode))
        mode = 0644;
    struct tar_entry *e = &h->entry;
    if (!h->has_mtime)
        e->mtime = (struct timespec){ .tv_sec = get_number(block + AT_MTIME, 12, &time) ? (time_t)time : 0 };
    if (!h->has_size)
        e->size = size;
    e->mode = (uint32_t)(mode & 07777);
    if (!get_number(block + AT_UID, 8, &e->uid) || !get_number(block + AT_GID, 8, &e->gid))
        e->uid = e->gid = 0;
    get_names(h, block);
    size_t len = strlen(h->path);
    bool is_old_folder = (type == '\0' || type == '0') && len && h->path[len - 1] == '/'; /* before ustar */
    h->alien = type;
    if (h->is_sparse)
        return TAR_BLOCK_ALIEN;
    switch (type) {
    case '\0':
    case '0':
    case '7':
        e->type = is_old_folder ? TAR_FOLDER : TAR_FILE;
        break;
    case '1':
    case '2':
    case '5':
    case '6':
        e->type = (enum tar_type)type;
        break;
    default:
        return TAR_BLOCK_ALIEN;
    }
    if (e->type != TAR_FILE)
        e->size = 0; /* some programs write one, but no bytes follow */
    return TAR_BLOCK_ENTRY;
}

bool tar_header_long(struct tar_head *h, enum tar_block which, const char *data, size_t len)
{
    char *to = which == TAR_BLOCK_NAME ? h->path : h->link;
    len = strnlen(data, len);
    if (len > PATH_MAX)
        return false;
    memcpy(to, data, len);
    to[len] = '\0';
    *(which == TAR_BLOCK_NAME ? &h->has_path : &h->has_link) = true;
    return true;
}

/* Decimal digits. False: none, others, or too many. */
static bool get_decimal(const char *at, size_t len, uint64_t *ret)
{
    uint64_t v = 0;
    for (size_t i = 0; i < len; i++) {
        if (at[i] < '0' || at[i] > '9' || v > (INT64_MAX - 9) / 10)
            return false;
        v = v * 10 + (uint64_t)(at[i] - '0');
    }
    *ret = v;
    return len > 0;
}

/* "-12.345" */
static bool get_time(const char *at, size_t len, struct timespec *ret)
{
    bool is_negative = len && at[0] == '-';
    at += is_negative;
    len -= is_negative;
    const char *dot = memchr(at, '.', len);
    size_t whole = dot ? (size_t)(dot - at) : len;
    uint64_t s;
    long ns = 0;
    if (!get_decimal(at, whole, &s))
        return false;
    for (size_t i = whole + 1, digit = 100000000; i < len && digit; i++, digit /= 10) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        ns += (at[i] - '0') * (long)digit;
    }
    *ret = (struct timespec){ .tv_sec = (time_t)s, .tv_nsec = ns };
    if (is_negative)
        *ret = (struct timespec){ .tv_sec = -(time_t)s - (ns > 0), .tv_nsec = ns ? 1000000000 - ns : 0 };
    return true;
}

static bool is_key(const char *key, size_t len, const char *want)
{
    return len == strlen(want) && memcmp(key, want, len) == 0;
}

static bool take_record(struct tar_head *h, const char *key, size_t key_len, const char *value, size_t len)
{
    bool is_path = is_key(key, key_len, "path"), is_link = is_key(key, key_len, "linkpath");
    if (is_path || is_link) {
        if (memchr(value, '\0', len))
            return false;
        return tar_header_long(h, is_path ? TAR_BLOCK_NAME : TAR_BLOCK_LINK, value, len);
    }
    if (is_key(key, key_len, "size"))
        return h->has_size = get_decimal(value, len, &h->entry.size);
    if (is_key(key, key_len, "mtime"))
        return h->has_mtime = get_time(value, len, &h->entry.mtime);
    if (key_len > 11 && memcmp(key, "GNU.sparse.", 11) == 0)
        h->is_sparse = true;
    return true;
}

bool tar_header_records(struct tar_head *h, const char *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        uint64_t size;
        const char *blank = memchr(data + at, ' ', len - at);
        size_t digits = blank ? (size_t)(blank - data) - at : 0;
        if (!blank || !get_decimal(data + at, digits, &size) || size <= digits + 2 || size > len - at ||
            data[at + size - 1] != '\n')
            return false;
        const char *key = blank + 1, *end = data + at + size - 1;
        const char *equals = memchr(key, '=', (size_t)(end - key));
        if (!equals || !take_record(h, key, (size_t)(equals - key), equals + 1, (size_t)(end - equals - 1)))
            return false;
        at += size;
    }
    return true;
}
