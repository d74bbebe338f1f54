#include "guest/proto_mode.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define ALL_R 0444u
#define ALL_W 0222u
#define ALL_X 0111u

static uint32_t who_bits(char c)
{
    switch (c) {
    case 'u':
        return 0700;
    case 'g':
        return 0070;
    case 'o':
        return 0007 | S_ISVTX; /* the sticky bit restricts others, so it belongs to them, as in chmod(1) */
    default:
        return 0777 | S_ISVTX;
    }
}

int proto_mode_parse(const char *text, struct proto_mode *ret)
{
    struct proto_mode m = { 0 };
    const char *p = text;

    if (*p >= '0' && *p <= '9') {
        size_t len = strlen(text);
        for (; *p >= '0' && *p <= '7'; p++)
            m.octal = m.octal * 8 + (uint32_t)(*p - '0');
        m.is_octal = (len == 3 || len == 4) && *p == '\0';
        if (m.is_octal)
            *ret = m;
        return m.is_octal ? 0 : -EINVAL;
    }
    for (; *p && strchr("ugoa", *p); p++)
        m.who |= who_bits(*p);
    m.who = m.who ? m.who : who_bits('a');
    if (*p != '+' && *p != '-' && *p != '=')
        return -EINVAL;
    m.op = *p++;
    for (; *p; p++) {
        switch (*p) {
        case 'r':
            m.bits |= ALL_R;
            break;
        case 'w':
            m.bits |= ALL_W;
            break;
        case 'x':
            m.bits |= ALL_X;
            break;
        case 'X':
            m.has_cap_x = true;
            break;
        case 't':
            m.bits |= S_ISVTX;
            break;
        default:
            return -EINVAL;
        }
    }
    *ret = m;
    return 0;
}

uint32_t proto_mode_apply(const struct proto_mode *m, uint32_t st_mode)
{
    uint32_t old = st_mode & 07777;
    uint32_t bits = m->bits;

    if (m->is_octal)
        return m->octal;
    if (m->has_cap_x && (S_ISDIR(st_mode) || (old & ALL_X)))
        bits |= ALL_X;
    bits &= m->who;
    if (m->op == '+')
        return old | bits;
    if (m->op == '-')
        return old & ~bits;
    return (old & ~m->who) | bits;
}
