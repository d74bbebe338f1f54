#include "base/uuid.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/ident.h"

#define RAW_BYTES 16

/* Formats 32 hex digits in the canonical form. */
static void lay_out(const char *hex, char out[UUID_MAX])
{
    int at = 0;
    for (int i = 0; i < 2 * RAW_BYTES; i++) {
        if (i == 8 || i == 12 || i == 16 || i == 20)
            out[at++] = '-';
        out[at++] = (char)tolower((unsigned char)hex[i]);
    }
    out[at] = '\0';
}

void uuid_new(char out[UUID_MAX])
{
    unsigned char raw[RAW_BYTES];
    char hex[2 * RAW_BYTES + 1];
    ident_random(raw, sizeof(raw));
    raw[6] = (unsigned char)((raw[6] & 0x0f) | 0x40);
    raw[8] = (unsigned char)((raw[8] & 0x3f) | 0x80);
    ident_hex(raw, sizeof(raw), hex);
    lay_out(hex, out);
}

bool uuid_parse(const char *text, char out[UUID_MAX])
{
    char hex[2 * RAW_BYTES];
    int n = 0;
    size_t len = strlen(text);
    if (strncasecmp(text, "urn:uuid:", 9) == 0) {
        text += 9;
        len -= 9;
    } else if (len > 2 && text[0] == '{' && text[len - 1] == '}') {
        text++;
        len -= 2;
    }
    bool has_hyphens = len == UUID_MAX - 1;
    if (!has_hyphens && len != 2 * RAW_BYTES)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool is_hyphen = has_hyphens && (i == 8 || i == 13 || i == 18 || i == 23);
        if (is_hyphen ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
        if (!is_hyphen)
            hex[n++] = text[i];
    }
    lay_out(hex, out);
    return true;
}
