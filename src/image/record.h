/* The record of an image in images/<key>.json, and its conversion to a struct image. May include: base/, image/. */
#pragma once
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"
#include "image/image.h"
#include "image/layout.h"
#include "image/manifest.h"

#define RECORD_FILE 80

/* "<sha256 of the canonical name>.json": every spelling of a name is one file. Each tenant has names of its own; tenant
 * "" is the operator's. */
void record_file(const char *tenant, const char *name, char ret[RECORD_FILE]);
void record_file_of(const json_t *record, char ret[RECORD_FILE]);
/* Renames the files of a store that has one for each spelling, as before 0.2; the newest wins. is_dry: only counts. */
size_t record_rekey(struct image_store *s, bool is_dry);
/* A new record; source is "tar", "oci", "layer" or "host". */
json_t *record_new(const char *name, const char *source, const struct layout_layer *layers, size_t n_layers,
                   const struct manifest_config *config);
void record_own(json_t *record, const char *tenant);         /* "" or NULL: the operator's */
struct manifest_config record_config(const struct image *i); /* what a record of it has; borrowed */
/* asked: the name to show. -EINVAL when the record is not one of ours; ERR_GONE when a layer is missing. */
int record_to_image(struct image_store *s, const json_t *record, const char *asked, struct image **ret,
                    struct err *err);

typedef bool record_each_fn(void *arg, json_t *record);
/* Every record, in no order; fn returns false to stop. Records that vanish or are damaged are skipped. */
void record_each(struct image_store *s, record_each_fn *fn, void *arg);
/* Marks it as used now: eviction removes the least recently used. Only pulled images are ever evicted. */
void record_touch(struct image_store *s, const json_t *record);
