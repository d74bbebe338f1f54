/* Theory of operation. cosign keeps signatures of the manifest sha256:HEX as the image tagged sha256-HEX.sig, one layer
 * for each: its blob is the signed payload, its annotations are the rest. Newer ones are Sigstore bundles that refer to
 * the manifest: the registry lists them (referrers), or an index tagged sha256-HEX does. Everything found is a
 * candidate (struct hunt), tried in turn; the first that the rule accepts ends the search. What cannot be fetched or
 * read is skipped: only what verifies counts, so nothing here has to be believed. */
#include "image/signature_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "image/image_policy.h"
#include "image/signature.h"

#define FILE_MAX    (1 << 20)
#define BUNDLE_TYPE "application/vnd.dev.sigstore.bundle"
#define PEM_COLUMNS 64
#define NOTE_SIG    "dev.cosignproject.cosign/signature"
#define NOTE_CERT   "dev.sigstore.cosign/certificate"
#define NOTE_CHAIN  "dev.sigstore.cosign/chain"
#define NOTE_BUNDLE "dev.sigstore.cosign/bundle"

struct hunt {
    struct registry *registry; /* NULL: files */
    const json_t *rule, *digests;
    json_t *record;
    size_t found;
    struct err why; /* of the last that was not accepted */
    bool is_over;
};

static void try_evidence(struct hunt *h, json_t *evidence)
{
    char by[SIGNATURE_BY];
    JSON_OWNED owned = evidence;
    size_t len = 0;
    CLEANUP(free_p) char *text = evidence ? json_write(evidence, &len) : NULL;
    if (!text || h->is_over || h->found == SIGNATURE_FETCH_MAX)
        return;
    h->found++;
    if (len > SIGNATURE_EVIDENCE_MAX) {
        (void)err_set(&h->why, ERR_FORBIDDEN, 0, "it has %zu bytes, the limit is %d", len, SIGNATURE_EVIDENCE_MAX);
    } else if (signature_check(h->rule, h->digests, evidence, by, &h->why) == 0) {
        h->is_over = true;
        (void)json_object_set(h->record, "signature", evidence);
        (void)json_object_set_new(h->record, "signedBy", json_text(by, strlen(by)));
    }
}

static json_t *coded(const void *data, size_t len)
{
    CLEANUP(free_p) char *text = xzalloc(BASE64_SIZE(len) + 1);
    base64_encode(data, len, text);
    return json_string(text);
}

/* --- from a registry --- */

static int add_to_buf(void *arg, const void *data, size_t len)
{
    return buf_add(arg, data, len);
}

/* A small blob; its digest is checked. */
static bool fetch_blob(struct hunt *h, const json_t *descriptor, struct buf *out)
{
    const char *hex = digest_from_ref(json_get_str(descriptor, "digest", ""));
    char own[DIGEST_HEX];
    if (!hex || registry_blob(h->registry, hex, 0, add_to_buf, out, &h->why) < 0)
        return false;
    digest_of(buf_text(out), out->len, own);
    return strcmp(own, hex) == 0;
}

static void try_layer(struct hunt *h, const json_t *layer)
{
    CLEANUP(buf_done) struct buf payload = BUF_INIT(SIGNATURE_PAYLOAD_MAX);
    const json_t *notes = json_get(layer, "annotations");
    const char *signature = json_get_str(notes, NOTE_SIG, NULL), *bundle = json_get_str(notes, NOTE_BUNDLE, NULL);
    JSON_OWNED proof = NULL;
    if (!signature || !fetch_blob(h, layer, &payload))
        return;
    if (bundle && json_read_input(bundle, strlen(bundle), &proof, NULL) < 0)
        return;
    try_evidence(h, json_pack("{s:o, s:s, s:s*, s:s*, s:O*}", "payload", coded(buf_text(&payload), payload.len),
                              "signature", signature, "certificate", json_get_str(notes, NOTE_CERT, NULL), "chain",
                              json_get_str(notes, NOTE_CHAIN, NULL), "bundle", proof));
}

static void try_bundle(struct hunt *h, const char *text, size_t len)
{
    JSON_OWNED bundle = NULL;
    if (json_read_input(text, len, &bundle, NULL) == 0)
        try_evidence(h, json_pack("{s:O}", "sigstore", bundle));
}

static void try_referrer(struct hunt *h, const json_t *descriptor)
{
    CLEANUP(registry_doc_done) struct registry_doc doc = { 0 };
    CLEANUP(buf_done) struct buf text = BUF_INIT(SIGNATURE_EVIDENCE_MAX);
    JSON_OWNED manifest = NULL;
    const char *hex = digest_from_ref(json_get_str(descriptor, "digest", ""));
    if (!hex || registry_manifest(h->registry, hex, &doc, &h->why) < 0 ||
        json_read_input(doc.text, doc.len, &manifest, NULL) < 0)
        return;
    const json_t *layer = json_array_get(json_get(manifest, "layers"), 0);
    if (strncmp(json_get_str(layer, "mediaType", ""), BUNDLE_TYPE, strlen(BUNDLE_TYPE)) == 0 &&
        fetch_blob(h, layer, &text))
        try_bundle(h, buf_text(&text), text.len);
}

typedef void each_fn(struct hunt *h, const json_t *item);

static void try_each(struct hunt *h, const struct registry_doc *doc, const char *list, each_fn *fn)
{
    JSON_OWNED j = NULL;
    if (json_read_input(doc->text, doc->len, &j, NULL) < 0)
        return;
    const json_t *items = json_get(j, list);
    for (size_t i = 0; !h->is_over && i < json_array_size(items) && i < SIGNATURE_FETCH_MAX; i++)
        fn(h, json_array_get(items, i));
}

static int hunt_beside(struct hunt *h, const char *hex, struct err *err)
{
    CLEANUP(registry_doc_done) struct registry_doc tagged = { 0 };
    CLEANUP(registry_doc_done) struct registry_doc listed = { 0 };
    CLEANUP(free_p) char *tag = xasprintf("sha256-%s.sig", hex);
    CLEANUP(free_p) char *index = xasprintf("sha256-%s", hex);
    struct err why = ERR_INIT;
    int r = registry_tagged(h->registry, tag, &tagged, &why);
    if (r == 0)
        try_each(h, &tagged, "layers", try_layer);
    if (!h->is_over && (r == 0 || why.code == ERR_NOT_FOUND)) {
        r = registry_referrers(h->registry, hex, &listed, &why);
        if (r < 0 && why.code == ERR_NOT_FOUND)
            r = registry_tagged(h->registry, index, &listed, &why);
        if (r == 0)
            try_each(h, &listed, "manifests", try_referrer);
    }
    if (h->is_over || r == 0 || why.code == ERR_NOT_FOUND)
        return 0;
    *err = why; /* a registry that fails now is not one without signatures */
    return err_wrap(err, r, "look for signatures");
}

static int hunt_end(struct hunt *h, const char *name, struct err *err)
{
    return h->is_over ? 0 : image_policy_refuse(h->rule, name, h->found, &h->why, err);
}

int signature_fetch(struct registry *r, const json_t *rule, const char *name, const json_t *digests, json_t *record,
                    struct err *err)
{
    struct hunt h = { .registry = r, .rule = rule, .digests = digests, .record = record };
    int result = 0;
    for (size_t i = 0; result == 0 && !h.is_over && i < json_array_size(digests); i++) {
        const char *hex = digest_from_ref(json_string_value(json_array_get(digests, i)));
        result = hex ? hunt_beside(&h, hex, err) : 0;
    }
    return result < 0 ? result : hunt_end(&h, name, err);
}

/* --- from a file --- */

/* The certificates of a list as Go writes them ("Raw": DER in base64), as PEM. */
static void add_pem(struct buf *out, const json_t *certificate)
{
    const char *raw = json_get_str(certificate, "Raw", NULL);
    if (!raw)
        return;
    (void)buf_add_str(out,
                      "-----BEGIN CERTIFICATE-----\n"); /* what does not fit makes a certificate that is rejected */
    for (size_t at = 0, len = strlen(raw); at < len; at += PEM_COLUMNS)
        (void)buf_addf(out, "%.*s\n", PEM_COLUMNS, raw + at);
    (void)buf_add_str(out, "-----END CERTIFICATE-----\n");
}

static void try_line(struct hunt *h, const char *text, size_t len)
{
    JSON_OWNED line = NULL;
    CLEANUP(buf_done) struct buf leaf = BUF_INIT(SIGNATURE_EVIDENCE_MAX);
    CLEANUP(buf_done) struct buf chain = BUF_INIT(SIGNATURE_EVIDENCE_MAX);
    if (json_read_input(text, len, &line, NULL) < 0)
        return;
    if (json_get(line, "dsseEnvelope")) {
        try_bundle(h, text, len);
        return;
    }
    const json_t *list = json_get(line, "Chain"), *bundle = json_get(line, "Bundle");
    add_pem(&leaf, json_get(line, "Cert"));
    for (size_t i = 0; i < json_array_size(list); i++)
        add_pem(&chain, json_array_get(list, i));
    try_evidence(h, json_pack("{s:s, s:s, s:s*, s:s*, s:O*}", "payload", json_get_str(line, "Payload", ""), "signature",
                              json_get_str(line, "Base64Signature", ""), "certificate",
                              leaf.len ? buf_text(&leaf) : NULL, "chain", chain.len ? buf_text(&chain) : NULL, "bundle",
                              json_is_object(bundle) ? bundle : NULL));
}

int signature_fetch_file(const char *path, const json_t *rule, const char *name, const json_t *digests, json_t *record,
                         struct err *err)
{
    struct hunt h = { .rule = rule, .digests = digests, .record = record };
    struct stat st = { 0 };
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno != ENOENT)
        return err_sys(err, -errno, "open %s", path);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX))
        return err_set(err, ERR_INVALID, 0, "%s is not a file of at most %d bytes", path, FILE_MAX);
    CLEANUP(free_p) char *text = xzalloc((size_t)st.st_size + 1);
    if (fd >= 0 && read(fd, text, (size_t)st.st_size) != st.st_size)
        return err_set(err, ERR_INTERNAL, errno, "read %s", path);
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");
        try_line(&h, at, len);
        at += len;
        at += *at == '\n';
    }
    return hunt_end(&h, name, err);
}
