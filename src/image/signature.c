#include "image/signature.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "image/name_pattern.h"
#include "image/tlog.h"
#include "tls/codesign_cert.h"
#include "tls/pubkey.h"

#define SIGNATURE_MAX  (4 << 10)
#define SIMPLE_TYPE    "cosign container image signature"
#define STATEMENT_TYPE "application/vnd.in-toto+json"
#define PREDICATE_TYPE                                                                            \
    "https://sigstore.dev/cosign/sign/v1" /* other predicates state something else about an image \
                                           */

/* One piece of evidence, decoded. */
struct claim {
    struct buf payload, message; /* message: the bytes under the signature, the payload or its envelope */
    struct buf signature, certificate;
    const char *chain;   /* PEM, borrowed */
    const json_t *proof; /* of a transparency log, borrowed */
    bool is_bundle;
};

static void claim_done(struct claim *c)
{
    buf_done(&c->payload);
    buf_done(&c->message);
    buf_done(&c->signature);
    buf_done(&c->certificate);
}

static int refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_FORBIDDEN, 0, "%s", why);
}

static int decode(const json_t *j, const char *name, struct buf *out)
{
    const char *text = json_get_str(j, name, NULL);
    return text && *text ? base64_decode(text, strlen(text), out) : -EINVAL;
}

/* --- what was signed --- */

static bool is_listed(const json_t *digests, const char *algorithm, const char *value)
{
    char whole[16 + DIGEST_HEX];
    (void)snprintf(whole, sizeof(whole), "%s%s", algorithm, value);
    for (size_t i = 0; i < json_array_size(digests); i++)
        if (strcmp(json_string_value(json_array_get(digests, i)), whole) == 0)
            return digest_from_ref(whole);
    return false;
}

/* cosign's "simple signing" document. */
static int check_simple(const json_t *doc, const json_t *digests, struct err *err)
{
    const json_t *critical = json_get(doc, "critical");
    if (strcmp(json_get_str(critical, "type", ""), SIMPLE_TYPE) != 0)
        return refuse(err, "what was signed is not an image signature of cosign");
    return is_listed(digests, "", json_get_str(json_get(critical, "image"), "docker-manifest-digest", ""))
               ? 0
               : refuse(err, "what was signed is another image");
}

static int check_statement(const json_t *doc, const json_t *digests, struct err *err)
{
    if (strcmp(json_get_str(doc, "predicateType", ""), PREDICATE_TYPE) != 0)
        return refuse(err, "what was signed is an attestation, not the image");
    const json_t *subjects = json_get(doc, "subject");
    for (size_t i = 0; i < json_array_size(subjects); i++) {
        const json_t *digest = json_get(json_array_get(subjects, i), "digest");
        if (is_listed(digests, "sha256:", json_get_str(digest, "sha256", "")))
            return 0;
    }
    return refuse(err, "what was signed is another image");
}

/* --- decoding --- */

static int read_layer(const json_t *evidence, struct claim *c, struct err *err)
{
    const char *pem = json_get_str(evidence, "certificate", NULL);
    if (decode(evidence, "payload", &c->payload) < 0 || decode(evidence, "signature", &c->signature) < 0 ||
        buf_add(&c->message, buf_text(&c->payload), c->payload.len) < 0)
        return refuse(err, "its payload or signature cannot be read");
    if (pem && codesign_cert_der(pem, strlen(pem), &c->certificate) < 0)
        return refuse(err, "its certificate cannot be read");
    c->chain = json_get_str(evidence, "chain", NULL);
    c->proof = json_get(evidence, "bundle");
    return 0;
}

static int read_bundle(const json_t *bundle, struct claim *c, struct err *err)
{
    const json_t *envelope = json_get(bundle, "dsseEnvelope"), *list = json_get(envelope, "signatures");
    const json_t *material = json_get(bundle, "verificationMaterial"), *leaf = json_get(material, "certificate");
    const json_t *entries = json_get(material, "tlogEntries");
    const char *type = json_get_str(envelope, "payloadType", "");
    c->is_bundle = true;
    if (strcmp(type, STATEMENT_TYPE) != 0)
        return refuse(err, "its bundle has no in-toto statement about an image");
    if (json_array_size(list) != 1 || decode(envelope, "payload", &c->payload) < 0 ||
        decode(json_array_get(list, 0), "sig", &c->signature) < 0)
        return refuse(err, "its payload or signature cannot be read");
    /* What is signed of a DSSE envelope: its type and its payload, each with its length. */
    if (buf_addf(&c->message, "DSSEv1 %zu %s %zu ", strlen(type), type, c->payload.len) < 0 ||
        buf_add(&c->message, buf_text(&c->payload), c->payload.len) < 0)
        return refuse(err, "its payload is too large");
    if (!leaf)
        leaf = json_array_get(json_get(json_get(material, "x509CertificateChain"), "certificates"), 0);
    if (leaf && decode(leaf, "rawBytes", &c->certificate) < 0)
        return refuse(err, "its certificate cannot be read");
    c->proof = json_array_get(entries, 0);
    return 0;
}

/* --- who has signed --- */

static bool is_by_key(const json_t *keys, const struct claim *c, char ret_by[SIGNATURE_BY])
{
    for (size_t i = 0; i < json_array_size(keys); i++) {
        CLEANUP(pubkey_free_p) struct pubkey *key = NULL;
        char id[DIGEST_HEX];
        const struct buf *message = &c->message, *sig = &c->signature;
        if (pubkey_new(json_string_value(json_array_get(keys, i)), &key, NULL) < 0 ||
            !pubkey_verifies(key, buf_text(message), message->len, buf_text(sig), sig->len))
            continue;
        pubkey_id(key, id);
        (void)snprintf(ret_by, SIGNATURE_BY, "key sha256:%s", id);
        return true;
    }
    return false;
}

static const char *find_name(const struct codesign_cert *cert, const char *pattern)
{
    for (char **name = cert->names; name && *name; name++)
        if (name_pattern_glob(pattern, *name))
            return *name;
    return NULL;
}

static int check_identity(const json_t *who, const struct claim *c, char ret_by[SIGNATURE_BY], struct err *err)
{
    CLEANUP(codesign_cert_done) struct codesign_cert cert = { 0 };
    const struct buf *message = &c->message, *sig = &c->signature;
    const struct buf *der = &c->certificate, *payload = &c->payload;
    struct tlog_subject subject = {
        .message = buf_text(payload), .message_len = payload->len, .signature = sig, .certificate = der
    };
    struct codesign_cert_trust trust = { .chain_pem = c->chain, .roots_pem = json_get_str(who, "roots", "") };
    const json_t *logs = json_get(who, "logs");
    int r = c->is_bundle ? tlog_check_entry(c->proof, logs, &subject, &trust.at_s, err)
                         : tlog_check_bundle(c->proof, logs, &subject, &trust.at_s, err);
    if (r == 0)
        r = codesign_cert_check(buf_text(der), der->len, &trust, &cert, err);
    if (r < 0)
        return r;
    const char *name = find_name(&cert, json_get_str(who, "identity", ""));
    if (!name || !name_pattern_glob(json_get_str(who, "issuer", ""), cert.issuer))
        return err_set(err, ERR_FORBIDDEN, 0, "it is by %.100s (issuer %.80s), who is not a configured identity",
                       cert.names ? cert.names[0] : "nobody", cert.issuer);
    if (!pubkey_verifies(cert.key, buf_text(message), message->len, buf_text(sig), sig->len))
        return refuse(err, "the signature does not match its certificate");
    (void)snprintf(ret_by, SIGNATURE_BY, "%.150s (%.90s)", name, cert.issuer);
    return 0;
}

int signature_check(const json_t *rule, const json_t *digests, const json_t *evidence, char ret_by[SIGNATURE_BY],
                    struct err *err)
{
    CLEANUP(claim_done)
    struct claim c = { .payload = BUF_INIT(SIGNATURE_PAYLOAD_MAX),
                       .message = BUF_INIT(SIGNATURE_PAYLOAD_MAX + 256),
                       .signature = BUF_INIT(SIGNATURE_MAX),
                       .certificate = BUF_INIT(CODESIGN_CERT_MAX) };
    JSON_OWNED doc = NULL;
    const json_t *bundle = json_get(evidence, "sigstore"), *identities = json_get(rule, "keyless");
    int r = bundle ? read_bundle(bundle, &c, err) : read_layer(evidence, &c, err);
    if (r < 0)
        return r;
    if (json_read_input(buf_text(&c.payload), c.payload.len, &doc, NULL) < 0)
        return refuse(err, "what was signed is not JSON");
    r = bundle ? check_statement(doc, digests, err) : check_simple(doc, digests, err);
    if (r < 0 || is_by_key(json_get(rule, "keys"), &c, ret_by))
        return r;
    if (!c.certificate.len || !json_array_size(identities))
        return refuse(err, "it is by a key that is not configured");
    r = -EACCES;
    for (size_t i = 0; r < 0 && i < json_array_size(identities); i++)
        r = check_identity(json_array_get(identities, i), &c, ret_by, err);
    return r;
}

/* --- rules --- */

static int check_texts(const json_t *list, const char *what, bool is_key, struct err *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        CLEANUP(pubkey_free_p) struct pubkey *key = NULL;
        int r = text && *text ? 0 : err_set(err, ERR_INVALID, 0, "not a text");
        if (r == 0 && is_key)
            r = pubkey_new(text, &key, err);
        if (r < 0)
            return err_wrap(err, r, "%s[%zu]", what, i);
    }
    return list && (!json_is_array(list) || json_array_size(list) == 0)
               ? err_set(err, ERR_INVALID, 0, "%s: an array with at least one entry", what)
               : 0;
}

static int check_keyless(const json_t *who, struct err *err)
{
    int r = codesign_cert_roots_check(json_get_str(who, "roots", ""), err);
    if (r < 0)
        return err_wrap(err, r, "keyless.roots");
    if (!*json_get_str(who, "identity", "") || !*json_get_str(who, "issuer", "") || !json_get(who, "logs"))
        return err_set(err, ERR_INVALID, 0, "keyless: identity, issuer, roots and logs are all needed");
    return check_texts(json_get(who, "logs"), "keyless.logs", true, err);
}

int signature_rule_check(const json_t *rule, struct err *err)
{
    const json_t *images = json_get(rule, "images"), *keys = json_get(rule, "keys"), *who = json_get(rule, "keyless");
    bool is_free = json_get_bool(rule, "unsigned", false);
    if (!images || !(keys || who || is_free) || (is_free && (keys || who)))
        return err_set(err, ERR_INVALID, 0, "it needs images, and either keys, keyless or both, or unsigned: true");
    int r = check_texts(images, "images", false, err);
    if (r == 0)
        r = check_texts(keys, "keys", true, err);
    if (r == 0 && who && !json_is_array(who))
        r = err_set(err, ERR_INVALID, 0, "keyless: an array of {identity, issuer, roots, logs}");
    for (size_t i = 0; r == 0 && i < json_array_size(who); i++)
        r = check_keyless(json_array_get(who, i), err);
    return r;
}

void signature_wanted(const json_t *rule, char ret[SIGNATURE_BY])
{
    size_t keys = json_array_size(json_get(rule, "keys"));
    const json_t *who = json_get(rule, "keyless");
    int n = snprintf(ret, SIGNATURE_BY, "a signature by ");
    if (keys)
        n += snprintf(ret + n, SIGNATURE_BY - (size_t)n, "one of %zu key%s%s", keys, keys == 1 ? "" : "s",
                      json_array_size(who) ? " or " : "");
    if (json_array_size(who))
        (void)snprintf(ret + n, SIGNATURE_BY - (size_t)n, "%.100s%s",
                       json_get_str(json_array_get(who, 0), "identity", ""),
                       json_array_size(who) > 1 ? " or another configured identity" : "");
}
