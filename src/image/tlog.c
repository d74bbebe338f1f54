#include "image/tlog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/ident.h"
#include "tls/codesign_cert.h"
#include "tls/pubkey.h"

#define BODY_MAX     (128 << 10)
#define SMALL_MAX    (4 << 10)
#define PROOF_HASHES 64 /* a log with 2^64 entries */

/* An entry in one form, whichever way it came. Texts are borrowed. */
struct entry {
    const char *body;    /* base64 */
    const char *promise; /* base64 */
    char log_id[DIGEST_HEX];
    int64_t index, time_s;
    const json_t *proof; /* or NULL */
};

static int no_proof(struct err *err, const char *why)
{
    return err_set(err, ERR_FORBIDDEN, 0, "its transparency-log entry: %s", why);
}

static int decode(const char *text, struct buf *out)
{
    return text && *text ? base64_decode(text, strlen(text), out) : -EINVAL;
}

static bool is_coded(const char *text, const void *data, size_t len)
{
    CLEANUP(buf_done) struct buf raw = BUF_INIT(BODY_MAX);
    return decode(text, &raw) == 0 && raw.len == len && memcmp(buf_text(&raw), data, len) == 0;
}

/* --- what the entry is about --- */

static bool is_certificate(const char *coded_pem, const struct buf *der)
{
    CLEANUP(buf_done) struct buf pem = BUF_INIT(CODESIGN_CERT_MAX * 2);
    CLEANUP(buf_done) struct buf own = BUF_INIT(CODESIGN_CERT_MAX);
    return decode(coded_pem, &pem) == 0 && codesign_cert_der(buf_text(&pem), pem.len, &own) == 0 &&
           own.len == der->len && memcmp(buf_text(&own), buf_text(der), own.len) == 0;
}

static bool is_hash(const json_t *hash, const struct tlog_subject *s)
{
    char hex[DIGEST_HEX];
    digest_of(s->message, s->message_len, hex);
    return strcmp(json_get_str(hash, "algorithm", ""), "sha256") == 0 &&
           strcmp(json_get_str(hash, "value", ""), hex) == 0;
}

static bool is_signature(const char *coded, const struct tlog_subject *s)
{
    return is_coded(coded, buf_text(s->signature), s->signature->len);
}

static int check_body(const struct entry *e, const struct tlog_subject *s, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(BODY_MAX);
    JSON_OWNED body = NULL;
    if (decode(e->body, &text) < 0 || json_read_input(buf_text(&text), text.len, &body, NULL) < 0)
        return no_proof(err, "its body cannot be read");
    const char *kind = json_get_str(body, "kind", "");
    const json_t *spec = json_get(body, "spec");
    bool is_same = false;
    if (strcmp(json_get_str(body, "apiVersion", ""), "0.0.1") != 0)
        return no_proof(err, "only version 0.0.1 is known");
    if (strcmp(kind, "hashedrekord") == 0) {
        const json_t *signature = json_get(spec, "signature");
        is_same = is_hash(json_get(json_get(spec, "data"), "hash"), s) &&
                  is_signature(json_get_str(signature, "content", NULL), s) &&
                  is_certificate(json_get_str(json_get(signature, "publicKey"), "content", NULL), s->certificate);
    } else if (strcmp(kind, "dsse") == 0) {
        const json_t *list = json_get(spec, "signatures"), *one = json_array_get(list, 0);
        is_same = json_array_size(list) == 1 && is_hash(json_get(spec, "payloadHash"), s) &&
                  is_signature(json_get_str(one, "signature", NULL), s) &&
                  is_certificate(json_get_str(one, "verifier", NULL), s->certificate);
    } else {
        return err_set(err, ERR_FORBIDDEN, 0,
                       "its transparency-log entry is of kind \"%.40s\": hashedrekord and dsse are known", kind);
    }
    return is_same ? 0 : no_proof(err, "it is about another signature");
}

/* --- inclusion --- */

static void hash_pair(const unsigned char *left, const unsigned char *right, unsigned char ret[DIGEST_RAW])
{
    unsigned char both[1 + 2 * DIGEST_RAW] = { 1 };
    memcpy(both + 1, left, DIGEST_RAW);
    memcpy(both + 1 + DIGEST_RAW, right, DIGEST_RAW);
    digest_raw(both, sizeof(both), ret);
}

/* RFC 9162, 2.1.3.2: the root that a leaf and its path make. false: the path does not fit the tree. */
static bool climb(uint64_t index, uint64_t size, const json_t *hashes, unsigned char at[DIGEST_RAW])
{
    if (index >= size || json_array_size(hashes) > PROOF_HASHES)
        return false;
    uint64_t last = size - 1;
    for (size_t i = 0; i < json_array_size(hashes); i++) {
        CLEANUP(buf_done) struct buf raw = BUF_INIT(SMALL_MAX);
        if (decode(json_string_value(json_array_get(hashes, i)), &raw) < 0 || raw.len != DIGEST_RAW || last == 0)
            return false;
        const unsigned char *beside = (const unsigned char *)buf_text(&raw);
        if (index & 1 || index == last) {
            hash_pair(beside, at, at);
            while (!(index & 1) && index) {
                index >>= 1;
                last >>= 1;
            }
        } else {
            hash_pair(at, beside, at);
        }
        index >>= 1;
        last >>= 1;
    }
    return last == 0;
}

/* A checkpoint is a signed note: lines (origin, size, root in base64, …), an empty line, then signatures, each
 * "— NAME base64(4 bytes of the key's id, signature)". */
static bool is_checkpoint(const char *note, uint64_t size, const unsigned char root[DIGEST_RAW],
                          const struct pubkey *key)
{
    static const char dash[] = "\xe2\x80\x94 ";
    char *end = NULL;
    const char *line = strchr(note, '\n'), *body_end = strstr(note, "\n\n");
    if (!line || !body_end || line >= body_end || strtoull(line + 1, &end, 10) != size || *end != '\n')
        return false;
    CLEANUP(free_p) char *coded = xstrndup(end + 1, strcspn(end + 1, "\n"));
    if (!is_coded(coded, root, DIGEST_RAW))
        return false;
    for (line = body_end + 2; strncmp(line, dash, strlen(dash)) == 0;) {
        size_t len = strcspn(line, "\n");
        CLEANUP(free_p) char *one = xstrndup(line, len);
        CLEANUP(buf_done) struct buf raw = BUF_INIT(SMALL_MAX);
        const char *space = strrchr(one, ' ');
        if (decode(space ? space + 1 : NULL, &raw) == 0 && raw.len > 4 &&
            pubkey_verifies(key, note, (size_t)(body_end + 1 - note), buf_text(&raw) + 4, raw.len - 4))
            return true;
        line += len;
        line += *line == '\n';
    }
    return false;
}

/* Numbers of 64 bits are texts in a Sigstore bundle. */
static int64_t read_number(const json_t *j, const char *name)
{
    const char *text = json_get_str(j, name, NULL);
    char *end = NULL;
    errno = 0;
    long long n = text ? strtoll(text, &end, 10) : json_get_int(j, name, -1);
    return text && (end == text || *end || errno) ? -1 : n;
}

static int check_proof(const struct entry *e, const struct pubkey *key, struct err *err)
{
    CLEANUP(buf_done) struct buf leaf = BUF_INIT(BODY_MAX + 1);
    unsigned char at[DIGEST_RAW];
    int64_t index = read_number(e->proof, "logIndex"), size = read_number(e->proof, "treeSize");
    if (buf_add_char(&leaf, '\0') < 0 || decode(e->body, &leaf) < 0)
        return no_proof(err, "its body cannot be read");
    digest_raw(buf_text(&leaf), leaf.len, at);
    if (index < 0 || size < 0 || !climb((uint64_t)index, (uint64_t)size, json_get(e->proof, "hashes"), at) ||
        !is_coded(json_get_str(e->proof, "rootHash", NULL), at, DIGEST_RAW))
        return no_proof(err, "its inclusion proof does not hold");
    if (!is_checkpoint(json_get_str(json_get(e->proof, "checkpoint"), "envelope", ""), (uint64_t)size, at, key))
        return no_proof(err, "its checkpoint is not signed by the log");
    return 0;
}

/* --- the log's word --- */

static struct pubkey *find_log(const json_t *logs, const char *id)
{
    for (size_t i = 0; i < json_array_size(logs); i++) {
        CLEANUP(pubkey_free_p) struct pubkey *key = NULL;
        char own[DIGEST_HEX];
        if (pubkey_new(json_string_value(json_array_get(logs, i)), &key, NULL) < 0)
            continue;
        pubkey_id(key, own);
        if (strcmp(own, id) == 0)
            return STEAL(key);
    }
    return NULL;
}

static int check(const struct entry *e, const json_t *logs, const struct tlog_subject *subject, int64_t *ret_s,
                 struct err *err)
{
    CLEANUP(buf_done) struct buf promise = BUF_INIT(SMALL_MAX);
    CLEANUP(pubkey_free_p) struct pubkey *key = find_log(logs, e->log_id);
    if (!key)
        return err_set(err, ERR_FORBIDDEN, 0, "its transparency log is none of the configured logs (it is %.12s)",
                       *e->log_id ? e->log_id : "unnamed");
    /* What the log signs: these members as canonical JSON (RFC 8785). None of them needs an escape. */
    JSON_OWNED said = json_pack("{s:s, s:I, s:s, s:I}", "body", e->body ? e->body : "", "integratedTime",
                                (json_int_t)e->time_s, "logID", e->log_id, "logIndex", (json_int_t)e->index);
    CLEANUP(free_p) char *text = said ? json_dumps(said, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (!text || e->time_s <= 0 || decode(e->promise, &promise) < 0 ||
        !pubkey_verifies(key, text, strlen(text), buf_text(&promise), promise.len))
        return no_proof(err, "the log's signed timestamp is missing or wrong, so it does not prove when it was signed");
    int r = check_body(e, subject, err);
    if (r == 0 && e->proof)
        r = check_proof(e, key, err);
    if (r == 0)
        *ret_s = e->time_s;
    return r;
}

int tlog_check_bundle(const json_t *bundle, const json_t *logs, const struct tlog_subject *subject, int64_t *ret_s,
                      struct err *err)
{
    const json_t *said = json_get(bundle, "Payload");
    const char *id = json_get_str(said, "logID", "");
    struct entry e = { .body = json_get_str(said, "body", NULL),
                       .promise = json_get_str(bundle, "SignedEntryTimestamp", NULL),
                       .index = json_get_int(said, "logIndex", -1),
                       .time_s = json_get_int(said, "integratedTime", -1) };
    if (!said)
        return no_proof(err, "there is none: a keyless signature needs one");
    if (digest_is_hex(id))
        memcpy(e.log_id, id, DIGEST_HEX);
    return check(&e, logs, subject, ret_s, err);
}

int tlog_check_entry(const json_t *entry, const json_t *logs, const struct tlog_subject *subject, int64_t *ret_s,
                     struct err *err)
{
    CLEANUP(buf_done) struct buf id = BUF_INIT(SMALL_MAX);
    struct entry e = { .body = json_get_str(entry, "canonicalizedBody", NULL),
                       .promise = json_get_str(json_get(entry, "inclusionPromise"), "signedEntryTimestamp", NULL),
                       .index = read_number(entry, "logIndex"),
                       .time_s = read_number(entry, "integratedTime"),
                       .proof = json_get(entry, "inclusionProof") };
    if (!entry)
        return no_proof(err, "there is none: a keyless signature needs one");
    if (decode(json_get_str(json_get(entry, "logId"), "keyId", NULL), &id) == 0 && id.len == DIGEST_RAW)
        ident_hex((const unsigned char *)buf_text(&id), DIGEST_RAW, e.log_id);
    return check(&e, logs, subject, ret_s, err);
}
