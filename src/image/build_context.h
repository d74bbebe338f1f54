/* The folder a build copies from: .dockerignore, which says what of it does not take part. May include: base/, image/.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "image/layer_view.h"

#define BUILD_CONTEXT_IGNORE_MAX 65536 /* bytes of .dockerignore */

struct build_context_ignore;
/* One pattern in each line: `*` and `?` within a name, `**` across folders, `[…]`, `\` before a literal character, `!`
 * takes back what an earlier line excluded, `#` begins a comment. ERR_INVALID ".dockerignore line N: …". */
int build_context_ignore_new(const char *text, struct build_context_ignore **ret, struct err *err);
struct build_context_ignore *build_context_ignore_free(struct build_context_ignore *i);
DEFINE_CLEANUP(struct build_context_ignore *, build_context_ignore_free)
/* Whether the path is excluded: the last line that matches it or a folder above it decides. NULL excludes nothing. */
bool build_context_is_ignored(const struct build_context_ignore *i, const char *path);
/* Whether something below an excluded folder may take part. */
bool build_context_has_exceptions(const struct build_context_ignore *i);

struct build_context {
    struct layer_view view; /* the folder alone */
    struct build_context_ignore *ignore;
};
int build_context_open(const char *dir, struct build_context *ret, struct err *err);
void build_context_done(struct build_context *c); /* for CLEANUP() too */
