/* Shared by proto_regex*.c: the program of a compiled pattern. libc only. */
#pragma once
#include <stdint.h>

#include "guest/proto_regex.h"

enum regex_kind {
    OP_LETTER,
    OP_ANY,
    OP_SET,
    OP_SPLIT, /* tries the next one first, then `to`; lazy: the other way round */
    OP_JUMP,
    OP_SAVE,
    OP_START,
    OP_END,
    OP_EDGE, /* \b; is_not: \B */
    OP_MATCH,
};

struct regex_op {
    uint8_t kind;
    bool is_icase, is_not, is_lazy;
    uint32_t letter;       /* lower case when is_icase; the slot of a save */
    uint32_t first, count; /* items of a set */
    int32_t to;            /* relative */
};

enum item_kind { ITEM_RANGE, ITEM_DIGIT, ITEM_WORD, ITEM_SPACE, ITEM_LETTER, ITEM_UPPER, ITEM_LOWER };

struct regex_item {
    uint8_t kind;
    bool is_not;
    uint32_t low, high;
};

/* A list of states: dense in order, where[] finds one in it; each with its saves. */
struct regex_states {
    uint32_t *where, *dense;
    size_t n, *saves;
};

struct proto_regex {
    struct regex_op *ops;
    struct regex_item *items;
    size_t n_ops, n_items, n_groups;
    char *names[PROTO_REGEX_GROUPS];
    struct regex_states lists[2];
    void *stack;
    bool has_first, is_scanning;
    bool first[256]; /* with has_first: every match starts with one of these bytes */
    int only_first;  /* the only one of them; -1: there are more */
};

/* NULL, or what is wrong with the pattern. */
const char *proto_regex_compile(struct proto_regex *re, const char *pattern, unsigned flags);
size_t proto_regex_decode(const char *s, size_t len, uint32_t *ret); /* bytes of the character at s */
