/* Presets: the bare names that work on a fresh, offline host. A preset is its own image when the store has it, else
 * the host's view, else its image is pulled. Any name with a tag, a digest or a registry is an ordinary reference and
 * never the host's view. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct preset {
    const char *name;
    const char *reference; /* canonical name of its image; NULL: it is always the host's view */
    const char *program;   /* what the host must have for its view to serve */
    const char *title;     /* of the program, before its version; NULL: it has none worth showing */
};

const struct preset *preset_at(size_t i);           /* NULL past the end */
const struct preset *preset_find(const char *name); /* NULL: no preset */
/* What a pull of name has to fetch: the preset's image, or name itself without "oci:"; NULL: nothing can be pulled. */
const char *preset_pull_name(const char *name);
