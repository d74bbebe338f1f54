/* Random ids: prefix + "_" + 24 lowercase hex digits. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDENT_HEX 24
#define IDENT_MAX 40 /* longest id with its prefix and NUL */

void ident_random(void *out, size_t len);                 /* getrandom; aborts when the kernel has none */
void ident_new(const char *prefix, char out[IDENT_MAX]);  /* "sbx" -> "sbx_0123…" */
bool ident_is(const char *prefix, const char *id);        /* exact form */
void ident_hex(const void *bytes, size_t len, char *out); /* 2*len+1 bytes into out */
