/* The pages of docs/, compressed into the binary by tools/docpages.py. Includes nothing of ours. */
#pragma once
#include <stddef.h>

enum { DOCS_PAGES_HTML, DOCS_PAGES_MARKDOWN, DOCS_PAGES_FORMS };

struct docs_page {
    const char *name; /* "errors"; "README" is the index; NULL: the end */
    struct {
        size_t at, packed; /* gzip, in docs_pages_data */
        size_t size;       /* unpacked */
        char tag[17];      /* from its bytes */
    } form[DOCS_PAGES_FORMS];
};
extern const struct docs_page docs_pages[];
extern const unsigned char docs_pages_data[];
extern const char docs_pages_policy[]; /* Content-Security-Policy: only the pages' own style */
