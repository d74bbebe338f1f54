/* File modes as chmod takes them: 3 or 4 octal digits, or one symbolic clause "[ugoa]*[+-=][rwxXt]*". Compiled into the
 * agent and the host. May include: libc only. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct proto_mode {
    bool is_octal;
    uint32_t octal;
    char op;        /* '+', '-', '=' */
    uint32_t who;   /* the permission bits the clause may touch, sticky bit included */
    uint32_t bits;  /* r, w, x of all three classes, and the sticky bit */
    bool has_cap_x; /* X: x for directories and files with any x bit */
};

/* 0, or -EINVAL with *ret unchanged. */
int proto_mode_parse(const char *text, struct proto_mode *ret);

/* The new permission bits (07777) for a file of mode st_mode. */
uint32_t proto_mode_apply(const struct proto_mode *m, uint32_t st_mode);
