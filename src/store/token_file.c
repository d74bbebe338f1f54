/* The API tokens of a data folder. Theory of operation. tokens.json is the only state: struct token_file is a parsed
 * copy. A change takes the lock file, reads the current file, changes the copy, writes a new file beside the old one,
 * fsyncs it and renames it; a crash leaves the old or the new file, never a mix. `iii token` and the server may change
 * it at the same time. The server notices a change by the file's stamp (inode, size, time). A damaged file is an error
 * of every call and is never overwritten. Only the SHA-256 of a secret is stored. */
#include "store/token_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/utf8.h"

#define FILE_NAME   "tokens.json"
#define FRESH_NAME  "tokens.json.new"
#define LOCK_NAME   "tokens.lock"
#define BYTES_MAX   (2 << 20)
#define SECRET_HEAD "iii_"
#define SECRET_HEX  64
#define EXPIRES_MAX 253402300799000LL /* the end of the year 9999 */

static const char *const role_names[TOKEN_FILE_ROLES] = { "admin", "user", "read-only" };

void token_file_done(struct token_file *f)
{
    free(f->rows);
    *f = (struct token_file)TOKEN_FILE_INIT;
}

const char *token_file_role_name(enum token_file_role r)
{
    return role_names[r];
}

static bool role_of(const char *name, enum token_file_role *ret)
{
    for (int r = 0; r < TOKEN_FILE_ROLES; r++)
        if (strcmp(name, role_names[r]) == 0) {
            *ret = (enum token_file_role)r;
            return true;
        }
    return false;
}

static json_t *split_words(const char *words)
{
    json_t *list = json_array();
    for (size_t len; *words; words += len + (words[len] == ',')) {
        len = strcspn(words, ",");
        (void)json_array_append_new(list, json_stringn(words, len));
    }
    return list;
}

/* false: more, longer or other words than there can be. */
static bool join_words(const json_t *list, char out[TOKEN_FILE_OPS_MAX])
{
    size_t n = json_array_size(list), at = 0;
    *out = '\0';
    if (n < 1 || n > TOKEN_FILE_WORDS_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(list, i));
        size_t len = word ? strlen(word) : 0;
        if (len < 1 || len > LIMIT_MAX(OPERATION_BYTES) || strchr(word, ','))
            return false;
        at += (size_t)snprintf(out + at, TOKEN_FILE_OPS_MAX - at, "%s%s", i ? "," : "", word);
    }
    return true;
}

json_t *token_file_json(const struct token_file_token *t)
{
    json_t *j =
        json_pack("{s:s, s:s, s:s, s:I, s:b, s:o}", "id", t->id, "name", t->name, "role", role_names[t->role],
                  "created", (json_int_t)t->created, "revoked", t->revoked != 0, "quota", quota_json(&t->quota));
    if (*t->tenant)
        (void)json_object_set_new(j, "tenant", json_string(t->tenant));
    if (*t->sandbox)
        (void)json_object_set_new(j, "sandbox", json_string(t->sandbox));
    if (*t->operations)
        (void)json_object_set_new(j, "operations", split_words(t->operations));
    if (t->expires)
        (void)json_object_set_new(j, "expires", json_integer(t->expires));
    if (t->revoked)
        (void)json_object_set_new(j, "revokedAt", json_integer(t->revoked));
    return j;
}

bool token_file_is_secret(const char *text)
{
    size_t head = strlen(SECRET_HEAD);
    return strncmp(text, SECRET_HEAD, head) == 0 && strlen(text) == head + SECRET_HEX &&
           strspn(text + head, "0123456789abcdef") == SECRET_HEX;
}

void token_file_hash(const char *secret, unsigned char out[TOKEN_FILE_HASH])
{
    digest_raw(secret, strlen(secret), out);
}

/* --- reading --- */

static int unhex(const char *text, unsigned char *out, size_t len)
{
    if (strlen(text) != 2 * len || strspn(text, "0123456789abcdef") != 2 * len)
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        const char byte[] = { text[2 * i], text[2 * i + 1], '\0' };
        out[i] = (unsigned char)strtoul(byte, NULL, 16); /* checked above */
    }
    return 0;
}

static bool copy_text(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);
    if (len >= size)
        return false;
    memcpy(to, text, len + 1);
    return true;
}

static int read_row(const json_t *j, struct token_file_token *t, struct err *err)
{
    const char *id = json_get_str(j, "id", "");
    if (!ident_is("tok", id))
        return err_set(err, ERR_INVALID, 0, "tokens: an id is damaged");
    memcpy(t->id, id, strlen(id) + 1);
    if (!copy_text(t->name, sizeof(t->name), json_get_str(j, "name", "")) ||
        !copy_text(t->tenant, sizeof(t->tenant), json_get_str(j, "tenant", "")) ||
        !role_of(json_get_str(j, "role", ""), &t->role) ||
        unhex(json_get_str(j, "hash", ""), t->hash, sizeof(t->hash)) < 0)
        return err_set(err, ERR_INVALID, 0, "token %s is damaged", id);
    const json_t *operations = json_get(j, "operations");
    const char *sandbox = json_get_str(j, "sandbox", "");
    if ((operations && !join_words(operations, t->operations)) || (*sandbox && !ident_is("sbx", sandbox)) ||
        (*sandbox && t->role == TOKEN_FILE_ADMIN))
        return err_set(err, ERR_INVALID, 0, "token %s is damaged", id);
    memcpy(t->sandbox, sandbox, strlen(sandbox) + 1);
    if (t->role != TOKEN_FILE_ADMIN && !*t->tenant && !*sandbox) /* it would own what belongs to no tenant */
        return err_set(err, ERR_INVALID, 0, "token %s has no tenant", id);
    t->created = json_get_int(j, "created", 0);
    t->expires = json_get_int(j, "expires", 0);
    t->revoked = json_get_int(j, "revoked", 0);
    return quota_read(json_get(j, "quota"), &t->quota, err);
}

int token_file_parse(const char *text, size_t len, struct token_file *ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    struct token_file f = TOKEN_FILE_INIT;
    int r = json_read(text, len, &doc, err);
    if (r < 0)
        return err_wrap(err, r, "tokens");
    const json_t *rows = json_get(doc, "tokens");
    size_t n = json_array_size(rows);
    if (json_get_int(doc, "version", 0) != 1 || !json_is_array(rows) || n > TOKEN_FILE_MAX)
        return err_set(err, ERR_INVALID, 0, "tokens: version 1 with at most %d tokens is expected", TOKEN_FILE_MAX);
    f.rows = xzalloc((n + 1) * sizeof(*f.rows));
    for (; r == 0 && f.n < n; f.n++)
        r = read_row(json_array_get(rows, f.n), &f.rows[f.n], err);
    if (r < 0)
        token_file_done(&f);
    else
        *ret = f;
    return r;
}

static struct token_file_stamp stamp_of(const struct stat *st)
{
    return (struct token_file_stamp){ .inode = st->st_ino, .size = st->st_size, .changed = st->st_mtim };
}

int token_file_stamp(const char *dir, struct token_file_stamp *ret)
{
    struct stat st;
    CLEANUP(free_p) char *path = xasprintf("%s/" FILE_NAME, dir);
    *ret = (struct token_file_stamp){ 0 };
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    *ret = stamp_of(&st);
    return 0;
}

bool token_file_is_same(const struct token_file_stamp *a, const struct token_file_stamp *b)
{
    return a->inode == b->inode && a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static int read_whole(int fd, size_t size, char *to)
{
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, to + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        got += (size_t)n;
    }
    return 0;
}

int token_file_read(const char *dir, struct token_file *ret, struct token_file_stamp *ret_stamp, struct err *err)
{
    struct stat st;
    CLEANUP(free_p) char *path = xasprintf("%s/" FILE_NAME, dir);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        *ret = (struct token_file)TOKEN_FILE_INIT;
        if (ret_stamp)
            *ret_stamp = (struct token_file_stamp){ 0 };
        return 0;
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, err_from_errno(errno), errno, "%s", path);
    if (!S_ISREG(st.st_mode) || st.st_size > BYTES_MAX)
        return err_set(err, ERR_INVALID, 0, "%s: not a file of at most %d bytes", path, BYTES_MAX);
    CLEANUP(free_p) char *text = xzalloc((size_t)st.st_size + 1);
    int r = read_whole(fd, (size_t)st.st_size, text);
    if (r < 0)
        return err_set(err, ERR_INTERNAL, -r, "%s", path);
    struct token_file_stamp stamp = stamp_of(&st);
    r = token_file_parse(text, (size_t)st.st_size, ret, err);
    if (r < 0)
        return err_wrap(err, r, "%s", path);
    if (ret_stamp)
        *ret_stamp = stamp;
    return 0;
}

/* --- writing --- */

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Gives the file to the server that uses the folder, which owns the lock file in it; before the first start, to the
 * folder's owner. The server can then read and replace it after root used the command line. */
static int give_to_server(int dir, int fd)
{
    struct stat st, own;
    if (geteuid() != 0)
        return 0;
    if ((fstatat(dir, "lock", &st, AT_SYMLINK_NOFOLLOW) < 0 && fstat(dir, &st) < 0) || fstat(fd, &own) < 0)
        return -errno;
    if (own.st_uid == st.st_uid && own.st_gid == st.st_gid)
        return 0; /* a server that is root without rights may not even ask */
    return fchown(fd, st.st_uid, st.st_gid) < 0 ? -errno : 0;
}

/* Writes a new file beside the old one and fsyncs it before it replaces the old one. */
static int replace(int dir, const char *text, size_t len)
{
    (void)unlinkat(dir, FRESH_NAME,
                   0); /* left by a process that died; in a folder of several owners it cannot be overwritten */
    CLEANUP(close_fd_p) int fd = openat(dir, FRESH_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int r = fchmod(fd, 0600) < 0 ? -errno : give_to_server(dir, fd);
    if (r == 0)
        r = write_all(fd, text, len);
    if (r == 0 && (fsync(fd) < 0 || renameat(dir, FRESH_NAME, dir, FILE_NAME) < 0 || fsync(dir) < 0))
        r = -errno;
    return r;
}

static int change_commit(int dir, const struct token_file *f, struct err *err)
{
    size_t len;
    json_t *rows = json_array();
    for (const struct token_file_token *t = f->rows; t < f->rows + f->n; t++) {
        char hash[2 * TOKEN_FILE_HASH + 1];
        json_t *j = token_file_json(t);
        ident_hex(t->hash, sizeof(t->hash), hash);
        (void)json_object_set_new(j, "hash", json_string(hash));
        (void)json_object_set_new(j, "revoked", json_integer(t->revoked));
        (void)json_object_del(j, "revokedAt"); /* absent is fine */
        (void)json_array_append_new(rows, j);
    }
    JSON_OWNED doc = json_pack("{s:i, s:o}", "version", 1, "tokens", rows);
    CLEANUP(free_p) char *text = json_write(doc, &len);
    int r = replace(dir, text, len);
    return r < 0 ? err_set(err, err_from_errno(-r), -r, "writing " FILE_NAME) : 0;
}

/* One change: the folder, its lock, the current content. */
struct change {
    int dir, lock;
    struct token_file f;
};

static void change_done(struct change *c)
{
    token_file_done(&c->f);
    if (c->lock >= 0)
        (void)close(c->lock); /* releases the lock */
    if (c->dir >= 0)
        (void)close(c->dir);
}

static int change_begin(const char *dir, struct change *c, struct err *err)
{
    *c = (struct change){ .dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .lock = NO_FD };
    if (c->dir < 0)
        return err_set(err, err_from_errno(errno), errno, "data folder %s", dir);
    c->lock = openat(c->dir, LOCK_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (c->lock < 0 && errno == ENOENT)
        c->lock = openat(c->dir, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (c->lock < 0 || flock(c->lock, LOCK_EX) < 0)
        return err_set(err, err_from_errno(errno), errno, "%s/" LOCK_NAME, dir);
    int r = give_to_server(c->dir, c->lock);
    if (r < 0)
        return err_set(err, err_from_errno(-r), -r, "%s/" LOCK_NAME, dir);
    return token_file_read(dir, &c->f, NULL, err);
}

static bool is_plain(const char *text, const char *more)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr(more, *text))
            return false;
    return true;
}

#define NAME_MARKS " ._-@:/+"

bool token_file_is_name(char c)
{
    return c && (isalnum((unsigned char)c) || strchr(NAME_MARKS, c));
}

/* A token for one sandbox: it has the tenant of that, which may be none. */
static int check_sandbox(const struct token_file_wish *w, struct token_file_token *t, struct err *err)
{
    const char *tenant = w->tenant ? w->tenant : "";
    if (t->role == TOKEN_FILE_ADMIN)
        return err_set(err, ERR_INVALID, 0,
                       "sandbox: an admin token is for the whole server; choose user or read-only");
    if (!ident_is("sbx", w->sandbox))
        return err_set(err, ERR_INVALID, 0, "sandbox: \"%.64s\" is not the id of one (sbx_…)", w->sandbox);
    if (!copy_text(t->tenant, sizeof(t->tenant), tenant) || !is_plain(tenant, "._-"))
        return err_set(err, ERR_INVALID, 0, "tenant: up to %d letters, digits and ._-", TOKEN_FILE_TENANT_MAX);
    memcpy(t->sandbox, w->sandbox, strlen(w->sandbox) + 1);
    return 0;
}

int token_file_check(const struct token_file_wish *w, struct token_file_token *t, struct err *err)
{
    size_t len = strlen(w->name);
    if (len < 1 || !copy_text(t->name, sizeof(t->name), w->name) || !is_plain(w->name, NAME_MARKS))
        return err_set(err, ERR_INVALID, 0, "name: 1 to %d letters, digits, blanks and ._-@:/+", TOKEN_FILE_NAME_MAX);
    if (!role_of(w->role ? w->role : "user", &t->role))
        return err_set(err, ERR_INVALID, 0, "role: \"%.20s\" is not one of admin, user, read-only", w->role);
    if (w->expires < 0 || w->expires > EXPIRES_MAX)
        return err_set(err, ERR_INVALID, 0, "expires: not a time in milliseconds up to the year 9999");
    if (w->expires && w->expires <= clock_wall_ms())
        return err_set(err, ERR_INVALID, 0, "expires: that time has passed");
    t->expires = w->expires;
    t->quota = w->quota;
    if (w->operations && !join_words(w->operations, t->operations))
        return err_set(err, ERR_INVALID, 0, "operations: 1 to %d words of at most %d bytes", (int)TOKEN_FILE_WORDS_MAX,
                       (int)LIMIT_MAX(OPERATION_BYTES));
    if (w->sandbox)
        return check_sandbox(w, t, err);
    const char *tenant = w->tenant ? w->tenant : t->role == TOKEN_FILE_ADMIN ? "" : t->id;
    bool is_all = strcmp(tenant, TOKEN_FILE_ALL) == 0;
    if (is_all && t->role != TOKEN_FILE_READONLY)
        return err_set(err, ERR_INVALID, 0, "tenant: only a read-only token may see all tenants (\"*\")");
    if (t->role == TOKEN_FILE_READONLY && !w->tenant)
        return err_set(err, ERR_INVALID, 0,
                       "tenant: a read-only token needs the tenant whose objects it sees; \"*\" for all tenants");
    if (!copy_text(t->tenant, sizeof(t->tenant), tenant) || (!is_all && !is_plain(tenant, "._-")) ||
        (!*tenant && t->role != TOKEN_FILE_ADMIN))
        return err_set(err, ERR_INVALID, 0, "tenant: 1 to %d letters, digits and ._-", TOKEN_FILE_TENANT_MAX);
    return 0;
}

static void new_secret(struct token_file_token *t, char secret[TOKEN_FILE_SECRET_MAX])
{
    unsigned char raw[SECRET_HEX / 2];
    ident_random(raw, sizeof(raw));
    (void)snprintf(secret, TOKEN_FILE_SECRET_MAX, "%s", SECRET_HEAD);
    ident_hex(raw, sizeof(raw), secret + strlen(SECRET_HEAD));
    explicit_bzero(raw, sizeof(raw));
    token_file_hash(secret, t->hash);
}

int token_file_create(const char *dir, const struct token_file_wish *wish, struct token_file_token *ret,
                      char ret_secret[TOKEN_FILE_SECRET_MAX], struct err *err)
{
    struct token_file_token t = { .created = clock_wall_ms() };
    CLEANUP(change_done) struct change c = { .dir = NO_FD, .lock = NO_FD };
    ident_new("tok", t.id);
    int r = token_file_check(wish, &t, err);
    if (r == 0)
        r = change_begin(dir, &c, err);
    if (r < 0)
        return r;
    if (c.f.n >= TOKEN_FILE_MAX) { /* the oldest that is revoked or expired makes room; a valid one is never removed */
        size_t i = 0;
        while (i < c.f.n && !c.f.rows[i].revoked && (!c.f.rows[i].expires || c.f.rows[i].expires > t.created))
            i++;
        if (i == c.f.n)
            return err_set(err, ERR_CAPACITY, 0, "limit of %d tokens reached: revoke one first", TOKEN_FILE_MAX);
        memmove(&c.f.rows[i], &c.f.rows[i + 1], (c.f.n - i - 1) * sizeof(*c.f.rows));
        c.f.n--;
    }
    new_secret(&t, ret_secret);
    c.f.rows = xrealloc(c.f.rows, (c.f.n + 1) * sizeof(*c.f.rows));
    c.f.rows[c.f.n++] = t;
    r = change_commit(c.dir, &c.f, err);
    if (r == 0)
        *ret = t;
    return r;
}

struct token_file_token *token_file_find(const struct token_file *f, const char *id, struct err *err)
{
    struct token_file_token *found = NULL;
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->rows[i].id, id) == 0)
            return &f->rows[i];
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->rows[i].name, id) != 0 || f->rows[i].revoked)
            continue;
        if (found) {
            (void)err_set(err, ERR_CONFLICT, 0, "several tokens are called \"%.64s\": use the id", id);
            return NULL;
        }
        found = &f->rows[i];
    }
    if (!found)
        (void)err_set(err, ERR_NOT_FOUND, 0, "token not found: %.64s", id);
    return found;
}

int token_file_revoke(const char *dir, const char *id, struct token_file_token *ret, struct err *err)
{
    CLEANUP(change_done) struct change c = { .dir = NO_FD, .lock = NO_FD };
    int r = change_begin(dir, &c, err);
    struct token_file_token *t = r == 0 ? token_file_find(&c.f, id, err) : NULL;
    if (!t)
        return r < 0 ? r : -ENOENT;
    if (!t->revoked) {
        t->revoked = clock_wall_ms();
        r = change_commit(c.dir, &c.f, err);
    }
    *ret = *t;
    return r;
}

int token_file_rotate(const char *dir, const char *id, struct token_file_token *ret,
                      char ret_secret[TOKEN_FILE_SECRET_MAX], struct err *err)
{
    CLEANUP(change_done) struct change c = { .dir = NO_FD, .lock = NO_FD };
    int r = change_begin(dir, &c, err);
    struct token_file_token *t = r == 0 ? token_file_find(&c.f, id, err) : NULL;
    if (!t)
        return r < 0 ? r : -ENOENT;
    if (t->revoked)
        return err_set(err, ERR_CONFLICT, 0, "token %s is revoked: create a new one", t->id);
    new_secret(t, ret_secret);
    r = change_commit(c.dir, &c.f, err);
    *ret = *t;
    return r;
}
