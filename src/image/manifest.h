/* The JSON files of docker-save and OCI-layout archives, strictly bounded. Their paths and digests are only looked up
 * in the archive's own list, never used as file names. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"

struct manifest_parts {
    char *config;  /* path in the archive */
    char **layers; /* paths, lowest first, NULL-terminated */
};
void manifest_parts_done(struct manifest_parts *p);

struct manifest_config {
    char **env, **entrypoint, **cmd; /* NULL-terminated or NULL */
    char *user, *workdir;            /* NULL or text */
    char **diff_ids;                 /* hex of each layer's unpacked digest, lowest first */
    bool is_host;                    /* only from our own records */
    json_t *more; /* what no sandbox needs, as a record names it: labels, exposedPorts, …; or NULL */
};
void manifest_config_done(struct manifest_config *c);

int manifest_parse_docker(const char *text, size_t len, struct manifest_parts *ret, struct err *err);
/* Picks the image for this host's platform from an index; ret_is_index: what was picked is another index. */
int manifest_parse_index(const char *text, size_t len, char ret_hex[DIGEST_HEX], bool *ret_is_index, struct err *err);
int manifest_parse_oci(const char *text, size_t len, struct manifest_parts *ret, struct err *err);

/* A manifest as a registry sends it. */
struct manifest_blob {
    char hex[DIGEST_HEX];
    int64_t size; /* as stated, 0 or more; enforced */
};
struct manifest_image {
    struct manifest_blob config;
    struct manifest_blob *layers; /* lowest first */
    size_t n_layers;
};
void manifest_image_done(struct manifest_image *m);
int manifest_parse_image(const char *text, size_t len, struct manifest_image *ret, struct err *err);
bool manifest_is_index(const char *text, size_t len); /* has a list of manifests: use manifest_parse_index() */
int manifest_parse_config(const char *text, size_t len, struct manifest_config *ret, struct err *err);
#define MANIFEST_TIME 32
void manifest_time(int64_t ms, char ret[MANIFEST_TIME]); /* as configs state it */
/* A new history of n_layers: the known one, with an entry for each layer that was added since, of created_ms. */
json_t *manifest_history(const json_t *known, size_t n_layers, int64_t created_ms);
/* The image config of the OCI specification, new. created_ms: for manifest_history(). */
json_t *manifest_make_config(const struct manifest_config *c, const json_t *diff_ids, int64_t created_ms);
/* A list of texts without NUL bytes, each at most max_bytes, at most max_items. j NULL or null: *ret becomes NULL. what
 * names the list in the error. strlist_free(*ret). */
int manifest_words(const json_t *j, const char *what, size_t max_items, size_t max_bytes, char ***ret, struct err *err);
const char *manifest_architecture(void); /* of this host, as images name it */
