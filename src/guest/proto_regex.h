/* Regular expressions of the RE2 kind: no back-references, no look-around, time linear in the text. Shared by the
 * agent, which matches, and the host, which only checks a pattern before it is sent. libc only.
 *
 * Syntax: . [..] [^..] [[:alpha:]] \d \D \w \W \s \S \b \B \A \z \n \t \r \f \v \a \xHH \x{H..} \Q..\E \p{L|Lu|Ll|N};
 * * + ? {n} {n,} {n,m} with ? for the shortest; | ( ) (?: ) (?P<name> ) (?<name> ) (?i) (?i: ) with the flags i, m, s.
 * Alternatives are tried in order, the leftmost match wins. The text must be valid UTF-8; letters are code points. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define PROTO_REGEX_GROUPS 32 /* including the whole match */

enum { PROTO_REGEX_ICASE = 1, PROTO_REGEX_LITERAL = 2 };

struct proto_regex;

/* NULL: it does not compile, and *why is the reason (a constant string). */
struct proto_regex *proto_regex_new(const char *pattern, unsigned flags, const char **why);
struct proto_regex *proto_regex_free(struct proto_regex *re);

struct proto_regex_span {
    size_t start, end; /* both SIZE_MAX: the group did not match */
};
/* The first match that starts at or after from. spans has room for n groups, 0 is the whole match. */
bool proto_regex_find(struct proto_regex *re, const char *text, size_t len, size_t from, struct proto_regex_span *spans,
                      size_t n);
/* The number of a group by its name or its digits; -1 when there is none. */
int proto_regex_group(const struct proto_regex *re, const char *name, size_t len);
