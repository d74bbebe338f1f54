/* Theory of operation. Compiles a pattern into the program of proto_regex.c by recursive descent: alternatives,
 * sequences, repeated atoms. struct parser holds the position, the flags of the enclosing group and the program so far,
 * which belongs to the proto_regex.
 *
 * Each construct emits its ops at the end of the program; a repetition then copies the ops since its start, which
 * relative jumps allow. The first error sets why and moves the position to the end, so every loop ends without
 * further checks. The size of the program, the depth of groups and the counts of repetitions are bounded, so a
 * hostile pattern costs little. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "guest/proto_regex_core.h"

#define OPS_MAX    16384
#define ITEMS_MAX  16384
#define DEPTH_MAX  100
#define REPEAT_MAX 1000

struct parser {
    struct proto_regex *re;
    const char *at, *end;
    const char *why; /* the first error */
    size_t ops_cap, items_cap;
    int depth;
    bool is_icase, is_dot_all;
};

static void parser_fail(struct parser *p, const char *why)
{
    if (!p->why)
        p->why = why;
    p->at = p->end; /* parsing ends here */
}

/* --- emitting --- */

static bool array_grow(struct parser *p, void **list, size_t n, size_t *cap, size_t item)
{
    if (n < *cap)
        return true;
    size_t more = *cap ? *cap * 2 : 32;
    void *grown = realloc(*list, more * item);
    if (!grown) {
        parser_fail(p, "out of memory");
        return false;
    }
    *list = grown;
    *cap = more;
    return true;
}

static void op_insert(struct parser *p, size_t at, struct regex_op op)
{
    struct proto_regex *re = p->re;
    if (re->n_ops >= OPS_MAX) {
        parser_fail(p, "the pattern is too large");
        return;
    }
    if (!array_grow(p, (void **)&re->ops, re->n_ops, &p->ops_cap, sizeof(op)))
        return;
    memmove(re->ops + at + 1, re->ops + at, (re->n_ops - at) * sizeof(op));
    re->ops[at] = op;
    re->n_ops++;
}

static void op_emit(struct parser *p, struct regex_op op)
{
    op_insert(p, p->re->n_ops, op);
}

static void emit_letter(struct parser *p, uint32_t c)
{
    op_emit(p, (struct regex_op){ .kind = OP_LETTER,
                                  .letter = p->is_icase ? (uint32_t)towlower((wint_t)c) : c,
                                  .is_icase = p->is_icase });
}

static void add_item(struct parser *p, struct regex_item item)
{
    struct proto_regex *re = p->re;
    if (re->n_items >= ITEMS_MAX)
        parser_fail(p, "the pattern's sets are too large");
    else if (array_grow(p, (void **)&re->items, re->n_items, &p->items_cap, sizeof(item)))
        re->items[re->n_items++] = item;
}

/* A set of the items since first. */
static void emit_set(struct parser *p, size_t first, bool is_not)
{
    op_emit(p, (struct regex_op){ .kind = OP_SET,
                                  .first = (uint32_t)first,
                                  .count = (uint32_t)(p->re->n_items - first),
                                  .is_not = is_not,
                                  .is_icase = p->is_icase });
}

/* --- reading --- */

static bool is_at(const struct parser *p, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(p->end - p->at) >= n && memcmp(p->at, text, n) == 0;
}

static bool parser_accept(struct parser *p, const char *text)
{
    bool is_there = is_at(p, text);
    if (is_there)
        p->at += strlen(text);
    return is_there;
}

static uint32_t take_letter(struct parser *p)
{
    uint32_t c = 0;
    if (p->at < p->end)
        p->at += proto_regex_decode(p->at, (size_t)(p->end - p->at), &c);
    return c;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static uint32_t take_hex(struct parser *p)
{
    bool has_braces = parser_accept(p, "{");
    uint32_t c = 0;
    int n = 0, most = has_braces ? 6 : 2;
    for (; n < most && p->at < p->end && hex_digit(*p->at) >= 0; n++)
        c = c * 16 + (uint32_t)hex_digit(*p->at++);
    if (n == 0 || (!has_braces && n < 2) || (has_braces && !parser_accept(p, "}")) || c > 0x10ffff)
        parser_fail(p, "\\x needs two hexadecimal digits, or some in braces");
    return c;
}

/* A class letter after a backslash (d, D, w, W, s, S); false: not one. */
static bool take_class(struct parser *p)
{
    static const char letters[] = "dwsDWS";
    static const uint8_t kinds[] = { ITEM_DIGIT, ITEM_WORD, ITEM_SPACE };
    const char *found = p->at < p->end ? memchr(letters, *p->at, sizeof(letters) - 1) : NULL;
    if (!found)
        return false;
    size_t i = (size_t)(found - letters);
    p->at++;
    add_item(p, (struct regex_item){ .kind = kinds[i % 3], .is_not = i >= 3 });
    return true;
}

/* \p{L}, \pL, \P{Lu} …; false: not one. */
static bool take_property(struct parser *p)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } known[] = { { "{L}", ITEM_LETTER }, { "{Lu}", ITEM_UPPER }, { "{Ll}", ITEM_LOWER }, { "{N}", ITEM_DIGIT },
                  { "{Nd}", ITEM_DIGIT }, { "L", ITEM_LETTER },   { "N", ITEM_DIGIT } };
    bool is_not = is_at(p, "P");
    if (!is_not && !is_at(p, "p"))
        return false;
    p->at++;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (parser_accept(p, known[i].name)) {
            add_item(p, (struct regex_item){ .kind = known[i].kind, .is_not = is_not });
            return true;
        }
    parser_fail(p, "of the letter properties only L, Lu, Ll, N and Nd are supported");
    return true;
}

/* The character that a backslash and the next letter stand for. */
static uint32_t take_escaped(struct parser *p)
{
    static const char from[] = "ntrfva", to[] = "\n\t\r\f\v\a";
    uint32_t c = take_letter(p);
    const char *found = c && c < 128 ? strchr(from, (int)c) : NULL;
    if (found)
        return (uint32_t)(unsigned char)to[found - from];
    if (c == 'x')
        return take_hex(p);
    if (c >= '1' && c <= '9')
        parser_fail(p, "back-references are not supported");
    else if (c == 0 || (c < 128 && ((c | 32) >= 'a' && (c | 32) <= 'z')) || c == '0')
        parser_fail(p, "unknown escape");
    return c;
}

/* --- sets --- */

static bool take_posix(struct parser *p)
{
    static const struct {
        const char *name, *ranges;
    } known[] = { { "[:alpha:]", "azAZ" },     { "[:digit:]", "09" },     { "[:alnum:]", "azAZ09" },
                  { "[:upper:]", "AZ" },       { "[:lower:]", "az" },     { "[:xdigit:]", "09afAF" },
                  { "[:word:]", "azAZ09__" },  { "[:space:]", "\t\r  " }, { "[:blank:]", "\t\t  " },
                  { "[:punct:]", "!/:@[`{~" }, { "[:print:]", " ~" },     { "[:graph:]", "!~" } };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!parser_accept(p, known[i].name))
            continue;
        for (const char *r = known[i].ranges; *r; r += 2)
            add_item(p, (struct regex_item){ .low = (unsigned char)r[0], .high = (unsigned char)r[1] });
        return true;
    }
    return false;
}

static void parse_set(struct parser *p)
{
    size_t first = p->re->n_items;
    bool is_not = parser_accept(p, "^"), is_first = true;
    for (; p->at < p->end && (is_first || !is_at(p, "]")); is_first = false) {
        if (take_posix(p))
            continue;
        bool is_escaped = parser_accept(p, "\\");
        if (is_escaped && (take_class(p) || take_property(p)))
            continue;
        uint32_t low = is_escaped ? take_escaped(p) : take_letter(p), high = low;
        if (p->end - p->at >= 2 && p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            high = parser_accept(p, "\\") ? take_escaped(p) : take_letter(p);
            if (high < low)
                parser_fail(p, "a range in [] is reversed");
        }
        add_item(p, (struct regex_item){ .low = low, .high = high });
    }
    if (!parser_accept(p, "]"))
        parser_fail(p, "missing ]");
    emit_set(p, first, is_not);
}

/* --- pieces --- */

static void parse_choice(struct parser *p);

/* After "(?": true when flags to the end of the enclosing group were all. */
static bool parse_flags(struct parser *p)
{
    bool is_on = true;
    for (; p->at < p->end && *p->at != ')' && *p->at != ':'; p->at++) {
        if (*p->at == '-') {
            is_on = false;
        } else if (*p->at == 'i') {
            p->is_icase = is_on;
        } else if (*p->at == 's') {
            p->is_dot_all = is_on;
        } else if (*p->at != 'm') { /* a text is one line: m changes nothing */
            parser_fail(p, "unknown flag in (?)");
            return false;
        }
    }
    if (parser_accept(p, ")"))
        return true;
    if (!parser_accept(p, ":"))
        parser_fail(p, "missing )");
    return false;
}

static void parse_group(struct parser *p)
{
    bool was_icase = p->is_icase, was_dot_all = p->is_dot_all, is_kept = true;
    size_t group = p->re->n_groups;
    if (is_at(p, "?=") || is_at(p, "?!") || is_at(p, "?<=") || is_at(p, "?<!")) {
        parser_fail(p, "look-around is not supported");
        return;
    }
    bool is_named = parser_accept(p, "?P<") || parser_accept(p, "?<");
    if (!is_named && parser_accept(p, "?")) {
        is_kept = false;
        if (parse_flags(p))
            return;
    }
    if (is_kept && group >= PROTO_REGEX_GROUPS) {
        parser_fail(p, "more than 31 groups: use (?:...) where no group is needed");
        return;
    }
    if (is_kept) {
        p->re->n_groups++;
        const char *name = p->at;
        while (is_named && p->at < p->end && *p->at != '>')
            p->at++;
        size_t len = (size_t)(p->at - name);
        if (is_named && (!parser_accept(p, ">") || len == 0 || len > 64))
            parser_fail(p, "a group's name is (?P<name>...)");
        else if (is_named)
            p->re->names[group] = strndup(name, len);
        op_emit(p, (struct regex_op){ .kind = OP_SAVE, .letter = (uint32_t)(2 * group) });
    }
    if (++p->depth > DEPTH_MAX)
        parser_fail(p, "groups are nested too deep");
    parse_choice(p);
    p->depth--;
    if (is_kept)
        op_emit(p, (struct regex_op){ .kind = OP_SAVE, .letter = (uint32_t)(2 * group + 1) });
    if (!parser_accept(p, ")"))
        parser_fail(p, "missing )");
    p->is_icase = was_icase;
    p->is_dot_all = was_dot_all;
}

/* One thing that can be repeated. */
static void parse_atom(struct parser *p)
{
    size_t first = p->re->n_items;
    if (parser_accept(p, "("))
        parse_group(p);
    else if (parser_accept(p, "["))
        parse_set(p);
    else if (parser_accept(p, "."))
        op_emit(p, (struct regex_op){ .kind = OP_ANY, .is_not = p->is_dot_all });
    else if (parser_accept(p, "^"))
        op_emit(p, (struct regex_op){ .kind = OP_START });
    else if (parser_accept(p, "$"))
        op_emit(p, (struct regex_op){ .kind = OP_END });
    else if (parser_accept(p, "\\Q"))
        while (p->at < p->end && !parser_accept(p, "\\E"))
            emit_letter(p, take_letter(p));
    else if (is_at(p, "*") || is_at(p, "+") || is_at(p, "?"))
        parser_fail(p, "nothing before * + or ? to repeat");
    else if (!parser_accept(p, "\\"))
        emit_letter(p, take_letter(p));
    else if (take_class(p) || take_property(p))
        emit_set(p, first, false);
    else if (parser_accept(p, "b"))
        op_emit(p, (struct regex_op){ .kind = OP_EDGE });
    else if (parser_accept(p, "B"))
        op_emit(p, (struct regex_op){ .kind = OP_EDGE, .is_not = true });
    else if (parser_accept(p, "A"))
        op_emit(p, (struct regex_op){ .kind = OP_START });
    else if (parser_accept(p, "z"))
        op_emit(p, (struct regex_op){ .kind = OP_END });
    else
        emit_letter(p, take_escaped(p));
}

/* --- repetition --- */

static int take_number(struct parser *p)
{
    int v = -1;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9' && v <= REPEAT_MAX)
        v = (v < 0 ? 0 : v) * 10 + (*p->at++ - '0');
    return v;
}

/* {n}, {n,}, {n,m}. False: these braces are literal. most -1: unbounded. */
static bool take_braces(struct parser *p, int *least, int *most)
{
    const char *start = p->at;
    if (!parser_accept(p, "{"))
        return false;
    *least = *most = take_number(p);
    if (*least >= 0 && parser_accept(p, ","))
        *most = take_number(p);
    if (*least < 0 || !parser_accept(p, "}")) {
        p->at = start;
        return false;
    }
    if (*least > REPEAT_MAX || *most > REPEAT_MAX)
        parser_fail(p, "more than 1000 repetitions");
    else if (*most >= 0 && *most < *least)
        parser_fail(p, "a repetition runs backwards");
    return true;
}

static void copy_piece(struct parser *p, size_t from, size_t n)
{
    for (size_t i = 0; i < n && !p->why; i++)
        op_emit(p, p->re->ops[from + i]);
}

/* Replaces the piece from start to the end by least..most copies of itself. */
static void piece_repeat(struct parser *p, size_t start, int least, int most)
{
    bool is_lazy = parser_accept(p, "?");
    size_t n = p->re->n_ops - start, last = start;
    if (least == 0 && most == 0) {
        p->re->n_ops = start;
        return;
    }
    for (int i = 1; i < least && !p->why; i++) {
        last = p->re->n_ops;
        copy_piece(p, start, n);
    }
    if (most < 0 && least > 0) { /* repeats the last copy: jumps back to it */
        op_emit(
            p, (struct regex_op){ .kind = OP_SPLIT, .is_lazy = !is_lazy, .to = (int32_t)last - (int32_t)p->re->n_ops });
        return;
    }
    if (most < 0) {
        op_insert(p, start, (struct regex_op){ .kind = OP_SPLIT, .is_lazy = is_lazy, .to = (int32_t)n + 2 });
        op_emit(p, (struct regex_op){ .kind = OP_JUMP, .to = -(int32_t)n - 1 });
        return;
    }
    /* optional copies: each can be skipped with all after it */
    int optional = most - least;
    struct regex_op split = { .kind = OP_SPLIT, .is_lazy = is_lazy };
    if (least == 0) {
        optional--;
        split.to = (int32_t)((n + 1) * (size_t)(optional + 1));
        op_insert(p, start, split);
        start++;
    }
    for (; optional > 0 && !p->why; optional--) {
        split.to = (int32_t)((n + 1) * (size_t)optional);
        op_emit(p, split);
        copy_piece(p, start, n);
    }
}

static void parse_piece(struct parser *p)
{
    size_t start = p->re->n_ops;
    bool is_quoted = is_at(p, "\\Q");
    parse_atom(p);
    if (is_quoted && p->re->n_ops > start)
        start = p->re->n_ops - 1; /* only the last quoted character is repeated */
    for (int least = 0, most = 0; p->at < p->end && !p->why;) {
        if (parser_accept(p, "*"))
            piece_repeat(p, start, 0, -1);
        else if (parser_accept(p, "+"))
            piece_repeat(p, start, 1, -1);
        else if (parser_accept(p, "?"))
            piece_repeat(p, start, 0, 1);
        else if (take_braces(p, &least, &most))
            piece_repeat(p, start, least, most);
        else
            return;
    }
}

static void parse_choice(struct parser *p)
{
    size_t start = p->re->n_ops;
    while (p->at < p->end && !is_at(p, "|") && !is_at(p, ")"))
        parse_piece(p);
    if (parser_accept(p, "|")) {
        size_t n = p->re->n_ops - start;
        op_insert(p, start, (struct regex_op){ .kind = OP_SPLIT, .to = (int32_t)n + 2 });
        size_t jump = p->re->n_ops;
        op_emit(p, (struct regex_op){ .kind = OP_JUMP });
        parse_choice(p);
        if (!p->why)
            p->re->ops[jump].to = (int32_t)(p->re->n_ops - jump);
    }
}

const char *proto_regex_compile(struct proto_regex *re, const char *pattern, unsigned flags)
{
    struct parser p = { .re = re, .at = pattern, .end = pattern + strlen(pattern) };
    p.is_icase = flags & PROTO_REGEX_ICASE;
    re->n_groups = 1;
    op_emit(&p, (struct regex_op){ .kind = OP_SAVE, .letter = 0 });
    if (flags & PROTO_REGEX_LITERAL)
        while (p.at < p.end && !p.why)
            emit_letter(&p, take_letter(&p));
    else
        parse_choice(&p);
    if (p.at < p.end)
        parser_fail(&p, "unexpected )");
    op_emit(&p, (struct regex_op){ .kind = OP_SAVE, .letter = 1 });
    op_emit(&p, (struct regex_op){ .kind = OP_MATCH });
    return p.why;
}
