/* Documents in docs/ that are made from tables: compared with the committed ones, or with SPEC_DOCS_UPDATE=1 rewritten.
 */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "tap.h"

/* The tree this test was built from: told by meson, or found from this file's own name. */
static inline char *docfile_path(const char *name)
{
    const char *root = getenv("MESON_SOURCE_ROOT"), *end = strstr(__FILE__, "tests/unit/");
    if (root)
        return xasprintf("%s/%s", root, name);
    return xasprintf("%.*s%s", end ? (int)(end - __FILE__) : 0, __FILE__, name);
}

static inline void docfile_compare(const char *name, const char *expected)
{
    CLEANUP(free_p) char *path = docfile_path(name);
    bool is_update = getenv("SPEC_DOCS_UPDATE") != NULL;
    FILE *f = fopen(path, is_update ? "we" : "re");
    CHECK(f != NULL);
    if (!f)
        return;
    if (is_update) {
        CHECK(fputs(expected, f) >= 0);
    } else {
        struct buf text = BUF_INIT(8u << 20);
        char piece[65536];
        for (size_t n; (n = fread(piece, 1, sizeof(piece), f)) > 0;)
            CHECK_INT(buf_add(&text, piece, n), 0);
        if (strcmp(buf_text(&text), expected) != 0)
            printf("# %s is not what the table makes: run this test with SPEC_DOCS_UPDATE=1\n", name);
        CHECK(strcmp(buf_text(&text), expected) == 0);
        buf_done(&text);
    }
    CHECK_INT(fclose(f), 0);
}
