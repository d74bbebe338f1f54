/* Theory of operation. The pattern is compiled by recursive descent (proto_regex_parse.c) into a program whose jumps
 * are relative, so that a piece of it can be moved or copied (repetition). The program runs on all of its states at
 * once (a Pike VM): one list of states for each character, in order of preference, each state at most once. So the time
 * is bounded by program length times text length, whatever the pattern.
 *
 * struct proto_regex owns the program, the two lists of states and the stack, all allocated at compile time: a match
 * allocates nothing and cannot fail. A pattern that does not compile, or exceeds a limit, gives NULL and a constant
 * reason. Where every match must start with one of a few bytes, the search skips to the next such byte. */
#include "guest/proto_regex_core.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

struct regex_run {
    struct proto_regex *re;
    const char *text;
    size_t len, n_saves;
};

/* --- characters --- */

size_t proto_regex_decode(const char *s, size_t len, uint32_t *ret)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n > len)
        n = 1;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3fu);
    *ret = c;
    return n;
}

static bool is_word(uint32_t c)
{
    return c == '_' || (c < 128 ? (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') : iswalnum((wint_t)c));
}

static bool item_has(const struct regex_item *item, uint32_t c)
{
    switch (item->kind) {
    case ITEM_RANGE:
        return c >= item->low && c <= item->high;
    case ITEM_DIGIT:
        return (c >= '0' && c <= '9') != item->is_not;
    case ITEM_WORD:
        return is_word(c) != item->is_not;
    case ITEM_SPACE:
        return (c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xa0 || (c > 0xff && iswspace((wint_t)c))) !=
               item->is_not;
    case ITEM_LETTER:
        return (iswalpha((wint_t)c) && !(c >= '0' && c <= '9')) != item->is_not;
    case ITEM_UPPER:
        return (iswupper((wint_t)c) != 0) != item->is_not;
    case ITEM_LOWER:
        return (iswlower((wint_t)c) != 0) != item->is_not;
    }
    return false;
}

static bool op_takes(const struct proto_regex *re, const struct regex_op *op, uint32_t c)
{
    bool has = false;
    if (op->kind == OP_ANY)
        return op->is_not || c != '\n'; /* is_not: the flag s */
    if (op->kind != OP_SET)
        return op->letter == c || (op->is_icase && op->letter == (uint32_t)towlower((wint_t)c));
    for (uint32_t i = 0; i < op->count && !has; i++) {
        const struct regex_item *item = &re->items[op->first + i];
        has = item_has(item, c);
        if (!has && op->is_icase)
            has = item_has(item, (uint32_t)towlower((wint_t)c)) || item_has(item, (uint32_t)towupper((wint_t)c));
    }
    return has != op->is_not;
}

/* --- states --- */

static bool is_boundary(const struct regex_run *m, size_t at)
{
    uint32_t before = 0, after = 0;
    if (at > 0) {
        size_t start = at - 1;
        while (start > 0 && ((unsigned char)m->text[start] & 0xc0) == 0x80)
            start--;
        (void)proto_regex_decode(m->text + start, at - start, &before);
    }
    if (at < m->len)
        (void)proto_regex_decode(m->text + at, m->len - at, &after);
    return (at > 0 && is_word(before)) != (at < m->len && is_word(after));
}

static bool op_holds(const struct regex_run *m, const struct regex_op *op, size_t at)
{
    switch (op->kind) {
    case OP_START:
        return at == 0;
    case OP_END:
        return at == m->len;
    case OP_EDGE:
        return is_boundary(m, at) != op->is_not;
    default:
        return true;
    }
}

static size_t *saves_of(const struct regex_run *m, const struct regex_states *l, size_t slot)
{
    return l->saves + slot * m->n_saves;
}

/* One step of states_add(): a state to visit, or a save to undo. */
struct todo {
    uint32_t pc;
    int32_t restore; /* >= 0: restore old */
    size_t old;
};

/* Follows all jumps from pc and adds the states that wait for a character, in order of preference. */
static void states_add(struct regex_run *m, struct regex_states *l, uint32_t first, size_t at, size_t *saves)
{
    struct todo *stack = m->re->stack;
    size_t n = 0;
    stack[n++] = (struct todo){ .pc = first, .restore = -1 };
    while (n > 0) {
        struct todo t = stack[--n];
        if (t.restore >= 0) {
            saves[t.restore] = t.old;
            continue;
        }
        if (l->where[t.pc] < l->n && l->dense[l->where[t.pc]] == t.pc)
            continue; /* already in the list */
        const struct regex_op *op = &m->re->ops[t.pc];
        l->where[t.pc] = (uint32_t)l->n;
        l->dense[l->n] = t.pc;
        if (m->n_saves)
            memcpy(saves_of(m, l, l->n), saves, m->n_saves * sizeof(*saves));
        l->n++;
        if (op->kind == OP_JUMP) {
            stack[n++] = (struct todo){ .pc = t.pc + (uint32_t)op->to, .restore = -1 };
        } else if (op->kind == OP_SPLIT) {
            stack[n++] = (struct todo){ .pc = t.pc + (uint32_t)(op->is_lazy ? 1 : op->to), .restore = -1 };
            stack[n++] = (struct todo){ .pc = t.pc + (uint32_t)(op->is_lazy ? op->to : 1), .restore = -1 };
        } else if (op->kind == OP_SAVE) {
            if (op->letter < m->n_saves) {
                stack[n++] = (struct todo){ .restore = (int32_t)op->letter, .old = saves[op->letter] };
                saves[op->letter] = at;
            }
            stack[n++] = (struct todo){ .pc = t.pc + 1, .restore = -1 };
        } else if (op->kind == OP_START || op->kind == OP_END || op->kind == OP_EDGE) {
            if (m->re->is_scanning || op_holds(m, op, at))
                stack[n++] = (struct todo){ .pc = t.pc + 1, .restore = -1 };
        }
    }
}

/* Moves all states over one character. True: one of them was the end of the pattern; best is filled. */
static bool states_step(struct regex_run *m, struct regex_states *now, struct regex_states *next, size_t at,
                        size_t *best)
{
    uint32_t c = 0;
    size_t n = at < m->len ? proto_regex_decode(m->text + at, m->len - at, &c) : 0;
    for (size_t i = 0; i < now->n; i++) {
        const struct regex_op *op = &m->re->ops[now->dense[i]];
        if (op->kind == OP_MATCH) {
            memcpy(best, saves_of(m, now, i), m->n_saves * sizeof(*best));
            return true; /* later states have lower preference */
        }
        if (n > 0 && (op->kind == OP_LETTER || op->kind == OP_ANY || op->kind == OP_SET) && op_takes(m->re, op, c))
            states_add(m, next, now->dense[i] + 1, at + n, saves_of(m, now, i));
    }
    return false;
}

/* Where a match can start, by its possible first bytes; len + 1 when nowhere. */
static size_t next_start(const struct regex_run *m, size_t at)
{
    if (!m->re->has_first)
        return at;
    if (m->re->only_first >= 0 && at < m->len) {
        const char *p = memchr(m->text + at, m->re->only_first, m->len - at);
        return p ? (size_t)(p - m->text) : m->len + 1;
    }
    while (at < m->len && !m->re->first[(unsigned char)m->text[at]])
        at++;
    return at < m->len ? at : m->len + 1; /* such a pattern has no empty match */
}

bool proto_regex_find(struct proto_regex *re, const char *text, size_t len, size_t from, struct proto_regex_span *spans,
                      size_t n)
{
    size_t best[2 * PROTO_REGEX_GROUPS], fresh[2 * PROTO_REGEX_GROUPS];
    size_t groups = n < re->n_groups ? n : re->n_groups;
    struct regex_run m = { .re = re, .text = text, .len = len, .n_saves = 2 * (groups ? groups : 1) };
    struct regex_states *now = &re->lists[0], *next = &re->lists[1];
    bool is_found = false;
    now->n = 0;
    for (size_t at = from; at <= len;) {
        if (now->n == 0) {
            at = is_found ? len + 1 : next_start(&m, at);
            if (at > len)
                break;
        }
        if (!is_found) {
            for (size_t i = 0; i < m.n_saves; i++)
                fresh[i] = SIZE_MAX;
            states_add(&m, now, 0, at, fresh);
        }
        next->n = 0;
        is_found |= states_step(&m, now, next, at, best);
        uint32_t c;
        at += at < len ? proto_regex_decode(text + at, len - at, &c) : 1;
        struct regex_states *swap = now;
        now = next;
        next = swap;
    }
    for (size_t i = 0; is_found && i < n; i++)
        spans[i] = i < groups ? (struct proto_regex_span){ best[2 * i], best[2 * i + 1] }
                              : (struct proto_regex_span){ SIZE_MAX, SIZE_MAX };
    return is_found;
}

int proto_regex_group(const struct proto_regex *re, const char *name, size_t len)
{
    size_t number = 0;
    bool is_number = len > 0 && len < 4;
    for (size_t i = 0; i < len && is_number; i++) {
        is_number = name[i] >= '0' && name[i] <= '9';
        number = number * 10 + (size_t)(name[i] - '0');
    }
    if (is_number)
        return number < re->n_groups ? (int)number : -1;
    for (size_t i = 1; i < re->n_groups; i++)
        if (re->names[i] && strlen(re->names[i]) == len && memcmp(re->names[i], name, len) == 0)
            return (int)i;
    return -1;
}

/* --- memory --- */

static bool make_states(struct proto_regex *re, struct regex_states *l)
{
    l->where = calloc(re->n_ops, sizeof(*l->where));
    l->dense = calloc(re->n_ops, sizeof(*l->dense));
    l->saves = calloc(re->n_ops, 2 * re->n_groups * sizeof(*l->saves));
    return l->where && l->dense && l->saves;
}

/* Computes the first bytes of every match; none when a match can be empty. */
static void find_first(struct proto_regex *re)
{
    struct regex_run m = { .re = re, .text = "", .len = 0, .n_saves = 0 };
    struct regex_states *l = &re->lists[0];
    l->n = 0;
    re->is_scanning = true; /* assertions are skipped: they only narrow what can match */
    states_add(&m, l, 0, 0, NULL);
    re->is_scanning = false;
    re->has_first = true;
    int n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct regex_op *op = &re->ops[l->dense[i]];
        if (op->kind == OP_MATCH)
            re->has_first = false;
        if (op->kind != OP_LETTER && op->kind != OP_ANY && op->kind != OP_SET)
            continue;
        /* All bytes beyond ASCII count when any may be the first. */
        bool is_wide = op->is_icase || op->kind != OP_LETTER || op->letter >= 0x80;
        for (uint32_t c = 0; c < 0x80; c++)
            if (op_takes(re, op, c))
                re->first[c] = true;
        for (uint32_t c = 0x80; is_wide && c < 0x100; c++)
            re->first[c] = true;
    }
    re->only_first = -1;
    for (int c = 0; c < 0x100; c++)
        if (re->first[c] && n++ == 0)
            re->only_first = c;
    if (n != 1)
        re->only_first = -1;
}

struct proto_regex *proto_regex_new(const char *pattern, unsigned flags, const char **why)
{
    struct proto_regex *re = calloc(1, sizeof(*re));
    if (!re) {
        *why = "out of memory";
        return NULL;
    }
    *why = proto_regex_compile(re, pattern, flags);
    if (!*why) {
        re->stack = calloc(2 * re->n_ops + 2, sizeof(struct todo));
        if (!re->stack || !make_states(re, &re->lists[0]) || !make_states(re, &re->lists[1]))
            *why = "out of memory";
    }
    if (*why)
        return proto_regex_free(re);
    find_first(re);
    return re;
}

struct proto_regex *proto_regex_free(struct proto_regex *re)
{
    if (!re)
        return NULL;
    for (int i = 0; i < 2; i++) {
        free(re->lists[i].where);
        free(re->lists[i].dense);
        free(re->lists[i].saves);
    }
    for (size_t i = 0; i < PROTO_REGEX_GROUPS; i++)
        free(re->names[i]);
    free(re->stack);
    free(re->ops);
    free(re->items);
    free(re);
    return NULL;
}
