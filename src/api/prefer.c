#include "api/prefer.h"

#include <string.h>
#include <strings.h>

#include "http/server.h"

#define BLANKS " \t"

/* A token or quoted text at *at, which is left behind it; the length of what *ret begins with. */
static size_t take_word(const char **at, const char **ret)
{
    *at += strspn(*at, BLANKS);
    bool is_quoted = **at == '"';
    *ret = *at + is_quoted;
    size_t len = 0;
    if (!is_quoted)
        len = strcspn(*ret, BLANKS ",;=\"");
    else
        while ((*ret)[len] && (*ret)[len] != '"')
            len += (*ret)[len] == '\\' && (*ret)[len + 1] ? 2 : 1;
    *at = *ret + len + (is_quoted && (*ret)[len]);
    *at += strspn(*at, BLANKS);
    return len;
}

static bool is_word(const char *word, size_t len, const char *wanted)
{
    return len == strlen(wanted) && strncasecmp(word, wanted, len) == 0;
}

enum prefer prefer_parse(const char *value)
{
    for (const char *at = value; *at;) {
        const char *name, *word = "";
        size_t name_len = take_word(&at, &name), len = 0;
        if (*at == '=') {
            at++;
            len = take_word(&at, &word);
        }
        if (is_word(name, name_len, "handling") && is_word(word, len, "strict"))
            return PREFER_STRICT;
        if (is_word(name, name_len, "handling") && is_word(word, len, "lenient"))
            return PREFER_LENIENT;
        /* Parameters of a preference are not known: on to the next one, past commas in quoted text. */
        while (*at && *at != ',') {
            at++;
            (void)take_word(&at, &word);
        }
        at += *at == ',';
    }
    return PREFER_NOTHING;
}

void prefer_handling(struct http_req *r, bool *is_strict)
{
    const char *name, *value;
    enum prefer is = PREFER_NOTHING;
    for (size_t i = 0; is == PREFER_NOTHING && http_req_header_at(r, i, &name, &value); i++)
        if (strcasecmp(name, "prefer") == 0)
            is = prefer_parse(value);
    if (is == PREFER_NOTHING)
        return;
    *is_strict = is == PREFER_STRICT;
    http_req_add_header(r, "Preference-Applied", *is_strict ? "handling=strict" : "handling=lenient");
}
