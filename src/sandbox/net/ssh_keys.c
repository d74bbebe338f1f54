#include "sandbox/net/ssh_keys.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/limits.h"
#include "sandbox/lifecycle/records.h"

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 16384, BLOB_MAX = 8192, ED25519_BYTES = 32 };

struct ssh_keys {
    struct records records;
};

/* --- one key --- */

/* The next length-prefixed string of a key's blob. */
static bool take_string(const unsigned char **at, size_t *left, const unsigned char **ret, size_t *ret_len)
{
    if (*left < 4)
        return false;
    size_t len = (size_t)(*at)[0] << 24 | (size_t)(*at)[1] << 16 | (size_t)(*at)[2] << 8 | (*at)[3];
    if (len > *left - 4)
        return false;
    *ret = *at + 4;
    *ret_len = len;
    *at += 4 + len;
    *left -= 4 + len;
    return true;
}

static bool is_text(const unsigned char *data, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(data, text, len) == 0;
}

/* Bits of a positive number as SSH writes it: big-endian, with a zero byte in front where the first bit is set. */
static unsigned bits_of(const unsigned char *data, size_t len)
{
    while (len > 0 && *data == 0) {
        data++;
        len--;
    }
    unsigned bits = (unsigned)len * 8;
    for (unsigned top = len > 0 ? *data : 0x80; top < 0x80; top <<= 1)
        bits--;
    return bits;
}

static bool is_ecdsa(const char *type, const unsigned char *curve, size_t curve_len, size_t point_len, unsigned *bits)
{
    static const struct {
        const char *type, *curve;
        unsigned bits;
    } known[] = { { "ecdsa-sha2-nistp256", "nistp256", 256 },
                  { "ecdsa-sha2-nistp384", "nistp384", 384 },
                  { "ecdsa-sha2-nistp521", "nistp521", 521 } };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(type, known[i].type) == 0) {
            *bits = known[i].bits;
            return is_text(curve, curve_len, known[i].curve) && point_len == 1 + 2 * ((size_t)(known[i].bits + 7) / 8);
        }
    return false;
}

static int check_blob(const char *type, const struct buf *blob, unsigned *ret_bits, struct err *err)
{
    const unsigned char *at = (const unsigned char *)buf_text(blob), *name, *first, *second = NULL;
    size_t left = blob->len, name_len, first_len, second_len = 0;
    bool is_rsa = strcmp(type, "ssh-rsa") == 0, is_ed = strcmp(type, "ssh-ed25519") == 0;
    bool is_whole = take_string(&at, &left, &name, &name_len) && is_text(name, name_len, type) &&
                    take_string(&at, &left, &first, &first_len) &&
                    (is_ed || take_string(&at, &left, &second, &second_len)) && left == 0;
    if (is_whole && is_ed && first_len == ED25519_BYTES) {
        *ret_bits = 256;
        return 0;
    }
    if (is_whole && is_rsa && first_len > 0) {
        *ret_bits = bits_of(second, second_len);
        if (*ret_bits >= RSA_BITS_MIN && *ret_bits <= RSA_BITS_MAX)
            return 0;
        return err_set(err, ERR_INVALID, 0, "publicKey: an RSA key of %u bits; %d to %d are accepted", *ret_bits,
                       RSA_BITS_MIN, RSA_BITS_MAX);
    }
    if (is_whole && !is_rsa && !is_ed && is_ecdsa(type, first, first_len, second_len, ret_bits))
        return 0;
    return err_set(err, ERR_INVALID, 0, "publicKey: the text after \"%s\" is not such a key", type);
}

void ssh_keys_fingerprint(const unsigned char digest[DIGEST_RAW], char out[SSH_KEYS_PRINT_MAX])
{
    char text[BASE64_SIZE(DIGEST_RAW) + 1];
    base64_encode(digest, DIGEST_RAW, text);
    text[strcspn(text, "=")] = '\0'; /* as OpenSSH does */
    (void)snprintf(out, SSH_KEYS_PRINT_MAX, "SHA256:%s", text);
}

int ssh_keys_parse(const char *text, struct ssh_keys_parsed *ret, struct err *err)
{
    static const char *const types[] = { "ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                         "ecdsa-sha2-nistp521" };
    CLEANUP(buf_done) struct buf blob = BUF_INIT(BLOB_MAX);
    unsigned char digest[DIGEST_RAW];
    struct ssh_keys_parsed out = { .comment = "" };
    if (strstr(text, "PRIVATE KEY"))
        return err_set(err, ERR_INVALID, 0, "publicKey: this is a private key; send the .pub file beside it");
    text += strspn(text, " \t\r\n");
    size_t len = strcspn(text, " \t\r\n");
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (strlen(types[i]) == len && strncmp(text, types[i], len) == 0)
            (void)snprintf(out.type, sizeof(out.type), "%s", types[i]);
    if (!*out.type)
        return err_set(err, ERR_INVALID, 0,
                       "publicKey must be one line of a .pub file: ssh-ed25519, ecdsa-sha2-nistp256, -nistp384, "
                       "-nistp521 or ssh-rsa, then the key in base64");
    text += len + strspn(text + len, " \t");
    len = strcspn(text, " \t\r\n");
    if (len == 0 || base64_decode(text, len, &blob) < 0)
        return err_set(err, ERR_INVALID, 0, "publicKey: the text after \"%s\" is not base64", out.type);
    int r = check_blob(out.type, &blob, &out.bits, err);
    if (r < 0)
        return r;
    digest_raw(blob.data, blob.len, digest);
    ssh_keys_fingerprint(digest, out.fingerprint);
    out.comment = text + len + strspn(text + len, " \t");
    if (out.comment[strcspn(out.comment, "\r\n")] &&
        out.comment[strcspn(out.comment, "\r\n") + strspn(out.comment + strcspn(out.comment, "\r\n"), "\r\n")])
        return err_set(err, ERR_INVALID, 0, "publicKey must be one key, one line");
    *ret = out;
    return 0;
}

/* --- all of them --- */

int ssh_keys_new(struct store *store, struct ssh_keys **ret, struct err *err)
{
    struct ssh_keys *k = xzalloc(sizeof(*k));
    records_init(&k->records, store, "ssh_key", "SSH key");
    int r = records_load(&k->records, NULL, NULL, err);
    if (r < 0)
        (void)ssh_keys_free(k);
    else
        *ret = k;
    return r;
}

struct ssh_keys *ssh_keys_free(struct ssh_keys *k)
{
    if (!k)
        return NULL;
    records_done(&k->records);
    free(k);
    return NULL;
}

/* The tenant's own record of this key, or NULL. *ret_own: how many keys the tenant has. */
static json_t *find_own(const struct ssh_keys *k, const struct tenant_by *by, const char *fingerprint, size_t *ret_own)
{
    json_t *found = NULL;
    *ret_own = 0;
    for (struct map_iter it = map_iter(k->records.by_id); map_next(&it);) {
        if (strcmp(json_get_str(it.value, "tenant", ""), tenant_of(by)) != 0)
            continue;
        ++*ret_own;
        if (records_is(it.value, "fingerprint", fingerprint))
            found = it.value;
    }
    return found;
}

static bool is_as_wished(const json_t *record, const struct ssh_keys_wish *wish)
{
    return strcmp(json_get_str(record, "token", ""), wish->token) == 0 &&
           strcmp(json_get_str(record, "sandbox", ""), wish->sandbox ? wish->sandbox : "") == 0 &&
           json_get_int(record, "expires", 0) == wish->expires;
}

static int check_room(const struct ssh_keys *k, size_t own, struct err *err)
{
    if (own >= LIMIT_MAX(SSH_KEYS))
        return err_set(err, ERR_RATE_LIMITED, 0, "limit of %lld SSH keys of a tenant reached: delete one",
                       (long long)LIMIT_MAX(SSH_KEYS));
    return map_count(k->records.by_id) < LIMIT_MAX(SSH_KEYS_ALL)
               ? 0
               : err_set(err, ERR_CAPACITY, 0, "limit of %lld SSH keys of this server reached",
                         (long long)LIMIT_MAX(SSH_KEYS_ALL));
}

json_t *ssh_keys_add(struct ssh_keys *k, const struct tenant_by *by, const struct ssh_keys_wish *wish, struct err *err)
{
    char id[IDENT_MAX];
    struct ssh_keys_parsed parsed;
    size_t own;
    if (ssh_keys_parse(wish->text, &parsed, err) < 0)
        return NULL;
    json_t *before = find_own(k, by, parsed.fingerprint, &own);
    if (before && is_as_wished(before, wish))
        return before;
    if (before) {
        (void)err_set(err, ERR_CONFLICT, 0,
                      "the key %s is already here as %s, with another token, sandbox or expiry: delete that first",
                      parsed.fingerprint, json_get_str(before, "id", ""));
        return NULL;
    }
    if (check_room(k, own, err) < 0)
        return NULL;
    if (wish->expires && wish->expires <= clock_wall_ms()) {
        (void)err_set(err, ERR_INVALID, 0, "expires: this time has passed");
        return NULL;
    }
    ident_new("key", id);
    size_t len = strcspn(parsed.comment, "\r\n");
    const char *name = wish->name ? wish->name : parsed.comment;
    len = wish->name ? strlen(name) : len < LIMIT_MAX(NAME_BYTES) ? len : LIMIT_MAX(NAME_BYTES);
    JSON_OWNED rec = json_pack("{s:s, s:o, s:s, s:s, s:i, s:s, s:I}", "id", id, "name", json_text(name, len), "type",
                               parsed.type, "fingerprint", parsed.fingerprint, "bits", (int)parsed.bits, "token",
                               wish->token, "createdAt", (json_int_t)clock_wall_ms());
    if (wish->sandbox)
        (void)json_object_set_new(rec, "sandbox", json_string(wish->sandbox));
    if (wish->expires)
        (void)json_object_set_new(rec, "expires", json_integer(wish->expires));
    tenant_mark(by, rec);
    return records_add(&k->records, id, rec, err) < 0 ? NULL : rec;
}

json_t *ssh_keys_list(const struct ssh_keys *k, const struct tenant_by *by)
{
    return records_list(&k->records, by, NULL, NULL);
}

int ssh_keys_delete(struct ssh_keys *k, const char *id, struct err *err)
{
    return records_delete(&k->records, id, err);
}

const char *ssh_keys_owner(const struct ssh_keys *k, const char *id)
{
    return records_owner(&k->records, id);
}

static bool is_good(const json_t *record, int64_t now_ms)
{
    int64_t expires = json_get_int(record, "expires", 0);
    return !expires || now_ms < expires;
}

void ssh_keys_each(const struct ssh_keys *k, const char *fingerprint, int64_t now_ms, ssh_keys_each_fn *fn, void *arg)
{
    for (struct map_iter it = map_iter(k->records.by_id); map_next(&it);)
        if (records_is(it.value, "fingerprint", fingerprint) && is_good(it.value, now_ms) && !fn(arg, it.value))
            return;
}

bool ssh_keys_is_good(const struct ssh_keys *k, const char *id, int64_t now_ms)
{
    const json_t *record = records_find(&k->records, id, NULL);
    return record && is_good(record, now_ms);
}
