/* A command line into words, as a POSIX shell's tokenizer does it: quotes, backslashes and comments, nothing else.
 * May include: base/. */
#pragma once
#include "base/strlist.h"

/* 0: *ret has the words (NULL: none), caller frees. -EINVAL: a quote or backslash is not finished. */
int shell_words_split(const char *text, char ***ret);
bool shell_words_has_space(const char *text); /* any white space of Unicode */
