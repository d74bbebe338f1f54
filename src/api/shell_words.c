#include "api/shell_words.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

struct scan {
    const char *at;
    struct buf word;
    bool has_word;
};

static void put(struct scan *s, char c)
{
    s->has_word = true;
    (void)buf_add_char(&s->word, c); /* the word is no longer than the text, which is its limit */
}

static int scan_single(struct scan *s)
{
    s->has_word = true;
    for (s->at++; *s->at && *s->at != '\''; s->at++)
        put(s, *s->at);
    return *s->at == '\'' ? (s->at++, 0) : -EINVAL;
}

static int scan_double(struct scan *s)
{
    s->has_word = true;
    for (s->at++; *s->at && *s->at != '"'; s->at++) {
        if (*s->at == '\\' && s->at[1] && strchr("$`\"\\\n", s->at[1])) {
            s->at++;
            if (*s->at == '\n')
                continue;
        }
        put(s, *s->at);
    }
    return *s->at == '"' ? (s->at++, 0) : -EINVAL;
}

static int scan_escape(struct scan *s)
{
    if (!s->at[1])
        return -EINVAL;
    if (s->at[1] != '\n')
        put(s, s->at[1]);
    s->at += 2;
    return 0;
}

static void end_word(struct scan *s, char ***list)
{
    if (s->has_word)
        strlist_add(list, buf_text(&s->word));
    s->has_word = false;
    buf_clear(&s->word);
}

int shell_words_split(const char *text, char ***ret)
{
    struct scan s = { .at = text, .word = BUF_INIT(strlen(text) + 1) };
    CLEANUP(strlist_free_p) char **list = NULL;
    int r = 0;
    while (*s.at && r == 0) {
        if (strchr(" \t\n", *s.at)) {
            end_word(&s, &list);
            s.at++;
        } else if (*s.at == '\'') {
            r = scan_single(&s);
        } else if (*s.at == '"') {
            r = scan_double(&s);
        } else if (*s.at == '\\') {
            r = scan_escape(&s);
        } else if (*s.at == '#' && !s.has_word) {
            s.at += strcspn(s.at, "\n");
        } else {
            put(&s, *s.at++);
        }
    }
    end_word(&s, &list);
    buf_done(&s.word);
    if (r == 0)
        *ret = STEAL(list);
    return r;
}

bool shell_words_has_space(const char *text)
{
    static const char *const wide[] = { "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\xa8",
                                        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80" };
    if (strpbrk(text, " \t\n\v\f\r"))
        return true;
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
        if (strstr(text, wide[i]))
            return true;
    for (const char *p = strstr(text, "\xe2\x80"); p; p = strstr(p + 2, "\xe2\x80")) /* U+2000 to U+200A */
        if ((unsigned char)p[2] >= 0x80 && (unsigned char)p[2] <= 0x8a)
            return true;
    return false;
}
