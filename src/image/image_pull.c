/* Theory of operation. The manifest and the config are small and come first. Then FETCHERS threads download the layers
 * the store lacks, in order, each into its own growing file (blob_fetch.c), while this thread unpacks them one above
 * the other, reading each file as it grows. Nothing is visible before every digest is verified: the blob's over the
 * packed bytes, the layer's over the unpacked ones. The first download that fails stops the others; its error is the
 * one reported. Partial files stay for the next attempt unless a retry cannot help. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/strlist.h"
#include "image/blob_fetch.h"
#include "image/image.h"
#include "image/image_remote.h"
#include "image/manifest.h"
#include "image/record.h"
#include "image/reference.h"
#include "image/registry_client.h"
#include "image/signature_fetch.h"
#include "image/staging.h"

#define FETCHERS    3
#define INDEX_DEPTH 3
#define PREFIX      "oci:"

struct puller {
    struct image_store *store;
    struct image_pull_state *state;
    struct registry *registry;
    struct staging staging;
    struct manifest_image manifest;
    char manifest_hex[DIGEST_HEX];
    json_t *digests; /* "sha256:…" of the manifest and of the indexes that led to it: what may have been signed */
    json_t *extra;   /* more members of the record */
    struct image_scope scope;
    json_t *known;                                /* {packed digest: layer} of the images that are here */
    struct layout_layer layers[IMAGE_LAYERS_MAX]; /* those of them that are known */
    size_t n_known;                               /* how many at the bottom are known, without a gap */
    struct blob_fetch *fetches[IMAGE_LAYERS_MAX]; /* NULL: the layer is known */
    atomic_size_t next;
    pthread_t threads[FETCHERS];
    size_t n_threads;
};

void image_pull_cancel(struct image_pull_state *state)
{
    atomic_store(&state->is_cancelled, true);
    atomic_store(&state->is_stopped, true);
}

/* Only layers of images that this tenant sees: who names another's blob has to download it, and so shows that it can.
 */
static bool note_blobs(void *arg, json_t *record)
{
    struct puller *p = arg;
    const char *tenant = json_get_str(record, "tenant", "");
    if (!p->scope.has_all && strcmp(tenant, p->scope.tenant) != 0 && (*tenant || !p->scope.has_shared))
        return true;
    const json_t *layers = json_get(record, "layers");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *blob = json_get_str(json_array_get(layers, i), "blob", NULL);
        const char *hex = json_get_str(json_array_get(layers, i), "digest", NULL);
        if (blob && hex)
            (void)json_object_set_new(p->known, blob, json_string(hex));
    }
    return true;
}

static void note_digest(struct puller *p, const struct registry_doc *doc)
{
    (void)json_array_append_new(p->digests, json_sprintf("sha256:%s", doc->hex));
}

static int find_manifest(struct puller *p, struct err *err)
{
    CLEANUP(registry_doc_done) struct registry_doc doc = { 0 };
    int r = registry_manifest(p->registry, NULL, &doc, err);
    for (int depth = 0; r == 0 && manifest_is_index(doc.text, doc.len); depth++) {
        char hex[DIGEST_HEX];
        bool is_index = false; /* the document itself tells what it is */
        if (depth == INDEX_DEPTH)
            return err_set(err, ERR_UPSTREAM, 0, "indexes inside indexes, over %d deep", INDEX_DEPTH);
        r = manifest_parse_index(doc.text, doc.len, hex, &is_index, err);
        if (r < 0)
            return r;
        note_digest(p, &doc);
        registry_doc_done(&doc);
        r = registry_manifest(p->registry, hex, &doc, err);
    }
    if (r == 0)
        note_digest(p, &doc);
    if (r == 0)
        r = manifest_parse_image(doc.text, doc.len, &p->manifest, err);
    if (r < 0)
        return r;
    memcpy(p->manifest_hex, doc.hex, DIGEST_HEX);
    int64_t max = p->store->limits.bytes, sum = 0;
    if (p->manifest.config.size > IMAGE_LIMITS_JSON_BYTES)
        return err_set(err, ERR_TOO_LARGE, 0, "its config has %lld bytes, the limit is %d",
                       (long long)p->manifest.config.size, IMAGE_LIMITS_JSON_BYTES);
    for (size_t i = 0; i < p->manifest.n_layers; i++) {
        if (p->manifest.layers[i].size > max - sum)
            return err_set(err, ERR_TOO_LARGE, 0, "its layers have over %lld bytes (III_IMAGE_MAX_BYTES)",
                           (long long)max);
        sum += p->manifest.layers[i].size;
    }
    return 0;
}

static int add_to_buf(void *arg, const void *data, size_t len)
{
    return buf_add(arg, data, len);
}

static int read_config(struct puller *p, struct err *err)
{
    const struct manifest_blob *blob = &p->manifest.config;
    CLEANUP(buf_done) struct buf text = BUF_INIT((size_t)blob->size);
    char hex[DIGEST_HEX];
    int r = registry_blob(p->registry, blob->hex, 0, add_to_buf, &text, err);
    if (r == -EPIPE)
        return err_set(err, ERR_UPSTREAM, 0, "its config is larger than its manifest states");
    if (r < 0)
        return r;
    digest_of(buf_text(&text), text.len, hex);
    if (strcmp(hex, blob->hex) != 0)
        return err_set(err, ERR_UPSTREAM, 0, "its config is damaged: the digest is %s, not %s", hex, blob->hex);
    JSON_OWNED doc = NULL;
    r = json_read(buf_text(&text), text.len, &doc, err);
    if (r < 0)
        return r;
    /* A single-platform image states its platform here. */
    const char *arch = json_get_str(doc, "architecture", ""), *os = json_get_str(doc, "os", "linux");
    if (strcmp(os, "linux") != 0 || (*arch && strcmp(arch, manifest_architecture()) != 0))
        return err_set(err, ERR_NOT_FOUND, 0, "it is for %.40s/%.40s, this host is linux/%s", os, arch,
                       manifest_architecture());
    r = manifest_parse_config(buf_text(&text), text.len, &p->staging.config, err);
    size_t n_ids = strlist_count(p->staging.config.diff_ids);
    if (r == 0 && n_ids != p->manifest.n_layers)
        r = err_set(err, ERR_UPSTREAM, 0, "its manifest has %zu layers, its config %zu", p->manifest.n_layers, n_ids);
    return r;
}

/* A layer is reused from the store only when we unpacked the same blob before, above the same layers when it depends on
 * them: the digest of the unpacked stream alone is a claim of whoever made the config. */
static bool is_known(struct puller *p, size_t at)
{
    const char *hex = json_get_str(p->known, p->manifest.layers[at].hex, ""), *own = p->staging.config.diff_ids[at];
    char chain[DIGEST_HEX] = "";
    if (at == p->n_known) /* all layers below are known, so the name of a dependent layer is known too */
        staging_chain_hex(p->layers, at, own, chain);
    if ((strcmp(hex, own) != 0 && strcmp(hex, chain) != 0) || !layout_has_layer(p->store, hex))
        return false;
    memcpy(p->layers[at].hex, hex, DIGEST_HEX);
    p->n_known += at == p->n_known;
    return true;
}

static void *fetch_layers(void *arg)
{
    struct puller *p = arg;
    const struct err stopped = { .code = ERR_CAPACITY, .sys = ECANCELED, .msg = "the pull was cancelled" };
    for (size_t at; (at = atomic_fetch_add(&p->next, 1)) < p->manifest.n_layers;) {
        if (!p->fetches[at])
            continue;
        if (atomic_load(&p->state->is_stopped))
            blob_fetch_fail(p->fetches[at], &stopped);
        else if (blob_fetch_run(p->fetches[at], NULL) < 0)
            atomic_store(&p->state->is_stopped, true); /* the image has failed: stop the other downloads */
    }
    return NULL;
}

static int start_fetching(struct puller *p, struct err *err)
{
    long long total = 0;
    size_t n_missing = 0;
    for (size_t i = 0; i < p->manifest.n_layers; i++) {
        p->staging.blobs[i] = xstrdup(p->manifest.layers[i].hex);
        if (is_known(p, i))
            continue;
        p->fetches[i] =
            blob_fetch_new(p->store, p->registry, &p->manifest.layers[i], p->scope.tenant, &p->state->done_bytes);
        total += p->manifest.layers[i].size;
        n_missing++;
    }
    atomic_store(&p->state->total_bytes, total);
    atomic_store(&p->state->layers, (int)p->manifest.n_layers);
    while (p->n_threads < FETCHERS && p->n_threads < n_missing) {
        int r = pthread_create(&p->threads[p->n_threads], NULL, fetch_layers, p);
        if (r != 0 && p->n_threads == 0)
            return err_set(err, ERR_INTERNAL, r, "start a download");
        if (r != 0)
            break; /* fewer threads are enough */
        p->n_threads++;
    }
    return 0;
}

static int unpack_one(struct puller *p, size_t at, struct err *err)
{
    struct blob_fetch *f = p->fetches[at];
    const char *diff_id = p->staging.config.diff_ids[at];
    if (!f)
        return staging_add_known(&p->staging, p->layers[at].hex) ? 0 : -EAGAIN;
    const struct tar_stream_source source = { .read = blob_fetch_read, .arg = f };
    int r = staging_add(&p->staging, &source, diff_id, err);
    bool was_stopped = atomic_load(&p->state->is_stopped);
    if (r < 0)
        atomic_store(&p->state->is_stopped, true);
    struct err why = ERR_INIT;
    int fetched = blob_fetch_wait(f, &why);
    if (fetched < 0 && (fetched != -ECANCELED || was_stopped || r == 0)) {
        *err = why; /* an unpacking error after missing bytes hides the download's error */
        return fetched;
    }
    return r;
}

static int take_layers(struct puller *p, struct err *err)
{
    int r = start_fetching(p, err);
    for (size_t i = 0; r == 0 && i < p->manifest.n_layers; i++) {
        r = unpack_one(p, i, err);
        if (r < 0 && r != -EAGAIN && r != -ECANCELED)
            (void)err_wrap(err, r, "layer %zu of %zu", i + 1, p->manifest.n_layers);
        if (r == 0)
            atomic_fetch_add(&p->state->layers_done, 1);
    }
    if (r < 0)
        atomic_store(&p->state->is_stopped, true);
    for (size_t i = 0; i < p->n_threads; i++)
        (void)pthread_join(p->threads[i], NULL); /* our threads, joined once */
    /* The download that failed first is the cause; the others were only stopped. */
    for (size_t i = 0; p->n_threads && r == -ECANCELED && i < p->manifest.n_layers; i++) {
        struct err why = ERR_INIT;
        int fetched = p->fetches[i] ? blob_fetch_wait(p->fetches[i], &why) : 0;
        if (fetched < 0 && fetched != -ECANCELED) {
            *err = why;
            r = fetched;
        }
    }
    return r;
}

static int pull_into(struct puller *p, const char *name, const struct reference *ref,
                     const struct registry_options *options, struct image **ret, struct err *err)
{
    const json_t *rule = json_get(p->extra, "rule");
    int r = registry_open(ref, options, &p->registry, err);
    if (r == 0)
        r = find_manifest(p, err);
    if (r == 0 && rule) /* before anything of the image is downloaded */
        r = signature_fetch(p->registry, rule, name, p->digests, p->extra, err);
    (void)json_object_del(p->extra, "rule");
    if (r == 0)
        r = read_config(p, err);
    if (r == 0)
        r = take_layers(p, err);
    if (r < 0)
        return r;
    JSON_OWNED more = json_pack("{s:s+, s:s, s:s, s:O}", "manifest", "sha256:", p->manifest_hex, "registry", ref->host,
                                "repository", ref->repository, "digests", p->digests);
    (void)json_object_update(p->extra, more);
    return staging_commit(&p->staging, name, "oci", p->extra, ret, err);
}

static struct image_scope pull_scope(const struct image_pull_options *o)
{
    bool has_tenant = o->tenant && *o->tenant;
    return (struct image_scope){ .tenant = has_tenant ? o->tenant : "",
                                 .has_shared = has_tenant && o->has_shared,
                                 .has_all = !has_tenant };
}

static int pull_once(struct image_store *s, const char *name, const struct image_pull_options *o,
                     struct image_pull_state *state, struct image **ret, struct err *err)
{
    struct reference ref;
    const char *text = strncmp(name, PREFIX, strlen(PREFIX)) == 0 ? name + strlen(PREFIX) : name;
    int r = reference_parse(text, &ref, err);
    if (r < 0)
        return r;
    const struct registry_options options = { .mirrors = o->mirrors,
                                              .plain_hosts = o->plain_hosts,
                                              .private_hosts = o->private_hosts,
                                              .closed_ports = o->closed_ports,
                                              .is_terse = o->is_terse,
                                              .docker_config = o->docker_config,
                                              .is_cancelled = &state->is_stopped };
    struct puller *p = xzalloc(sizeof(*p));
    p->store = s;
    p->state = state;
    p->known = json_object();
    p->digests = json_array();
    p->extra = json_object();
    p->scope = pull_scope(o);
    if (*p->scope.tenant)
        (void)json_object_set_new(p->extra, "tenant", json_string(p->scope.tenant));
    if (o->rule)
        (void)json_object_set_new(p->extra, "rule", json_deep_copy(o->rule));
    atomic_store(&state->is_stopped, false);
    if (atomic_load(&state->is_cancelled))
        atomic_store(&state->is_stopped, true);
    atomic_store(&state->done_bytes, 0);
    atomic_store(&state->layers_done, 0);
    record_each(s, note_blobs, p);
    r = staging_init(&p->staging, s, err);
    if (r == 0)
        r = pull_into(p, name, &ref, &options, ret, err);
    /* Whether downloaded bytes can help another attempt. */
    bool is_keeping = r < 0 && (err->code == ERR_UPSTREAM || err->code == ERR_CAPACITY || err->code == ERR_NOT_FOUND);
    for (size_t i = 0; i < p->manifest.n_layers; i++) {
        if (p->fetches[i] && !is_keeping)
            blob_fetch_discard(p->fetches[i]);
        (void)blob_fetch_free(p->fetches[i]);
    }
    staging_done(&p->staging);
    manifest_image_done(&p->manifest);
    (void)registry_close(p->registry);
    json_decref(p->known);
    json_decref(p->digests);
    json_decref(p->extra);
    free(p);
    if (r < 0 && err->code == ERR_INVALID)
        err->code = ERR_UPSTREAM; /* the name was valid: the registry caused the error */
    return r;
}

int image_pull(struct image_store *s, const char *name, const struct image_pull_options *options,
               struct image_pull_state *state, struct image **ret, struct err *err)
{
    struct err why = ERR_INIT;
    int r = image_name_check(name, &why);
    if (r == 0 && s->remote) {
        const struct image_scope scope = pull_scope(options);
        json_t *request =
            json_pack("{s:s, s:s, s:s?, s:s?, s:s?, s:s?, s:b, s:I, s:s, s:b}", "op", "pull", "name", name, "mirrors",
                      options->mirrors, "plainHosts", options->plain_hosts, "privateHosts", options->private_hosts,
                      "closedPorts", options->closed_ports, "isTerse", options->is_terse, "diskBytes",
                      (json_int_t)options->disk_bytes, "tenant", scope.tenant, "hasShared", scope.has_shared);
        if (options->rule)
            (void)json_object_set_new(request, "rule", json_deep_copy(options->rule)); /* other threads use it */
        const struct image_remote_how how = { .state = state, .is_untrusted = true };
        r = image_remote_work(s->remote, request, &how, NULL, err);
        return r < 0 ? r : image_resolve_for(s, &scope, name, ret, err);
    }
    for (int tries = 0; r == 0 && tries < 3; tries++) {
        why = (struct err)ERR_INIT;
        r = pull_once(s, name, options, state, ret, &why);
        if (r != -EAGAIN && r != -EBADMSG)
            break;
        r = tries < 2 ? 0 : r;
    }
    if (r < 0) {
        if (why.code == ERR_NONE)
            (void)err_set(&why, ERR_UPSTREAM, 0, "the store kept changing meanwhile: try again");
        if (err)
            *err = why;
        return err_wrap(err, r, "pull %s", name);
    }
    if (options->disk_bytes > 0)
        (void)image_evict(s, options->disk_bytes, name, NULL, NULL); /* on failure the next pull tries again */
    return 0;
}
