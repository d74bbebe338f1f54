#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    LETTERS_MAX = 32, /* longer names are like none: the time for one comparison stays small */
    PART_MIN = 3      /* letters of a name that may stand for a longer one that begins with it */
};

/* Letters and digits alone, in lower case; the length, or 0 when there are too many. */
static size_t plain(const char *name, char out[LETTERS_MAX])
{
    size_t n = 0;
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name))
            continue;
        if (n == LETTERS_MAX)
            return 0;
        out[n++] = (char)tolower((unsigned char)*name);
    }
    return n;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters are to be added, removed, replaced or swapped with the next one (Damerau and Levenshtein). */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t d[LETTERS_MAX + 1][LETTERS_MAX + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            d[i][j] = smaller(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), smaller(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

void nearest_offer(struct nearest *n, const char *known)
{
    char a[LETTERS_MAX], b[LETTERS_MAX];
    size_t len = plain(n->name, a), known_len = plain(known, b), least = smaller(len, known_len);
    if (least == 0)
        return;
    bool is_part = least >= PART_MIN && memcmp(a, b, least) == 0;
    size_t score = distance(a, len, b, known_len);
    if ((is_part || score <= (len + 2) / 3) && (!*n->found || score < n->score)) {
        (void)snprintf(n->found, sizeof(n->found), "%s", known);
        n->score = score;
    }
}
