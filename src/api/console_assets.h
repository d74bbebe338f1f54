/* The files of the console, compressed into the binary by tools/consolepack.py. Includes nothing of ours. */
#pragma once
#include <stddef.h>

struct console_asset {
    const char *name; /* "index.html", "main-5CQGR4XB.js"; NULL: the end */
    const char *type;
    size_t at, packed; /* gzip, in console_assets_data */
    size_t size;       /* unpacked */
    char tag[17];      /* from its bytes */
};
extern const struct console_asset console_assets[]; /* a build without a console has none */
extern const unsigned char console_assets_data[];
