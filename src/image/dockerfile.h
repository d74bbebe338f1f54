/* Dockerfiles: text to a list of instructions with their lines, and the words of one instruction with variables
 * replaced. Unsupported syntax is rejected with its line. Untrusted: the text. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"

#define DOCKERFILE_BYTES_MAX (1 << 20)
#define DOCKERFILE_STEPS_MAX 1000
#define DOCKERFILE_ARGS_MAX  65536 /* bytes of one instruction, before and after variables are replaced */
#define DOCKERFILE_WORDS_MAX 1024

enum dockerfile_kind {
    DOCKERFILE_FROM,
    DOCKERFILE_RUN,
    DOCKERFILE_COPY,
    DOCKERFILE_ADD,
    DOCKERFILE_ENV,
    DOCKERFILE_WORKDIR,
    DOCKERFILE_ARG,
    DOCKERFILE_USER,
    DOCKERFILE_CMD,
    DOCKERFILE_ENTRYPOINT,
    DOCKERFILE_LABEL,
    DOCKERFILE_EXPOSE,
    DOCKERFILE_VOLUME,
    DOCKERFILE_HEALTHCHECK,
    DOCKERFILE_STOPSIGNAL,
    DOCKERFILE_SHELL,
    DOCKERFILE_MAINTAINER,
};

/* What stands between <<NAME and the line NAME. */
struct dockerfile_text {
    char *name, *text;
    bool is_literal; /* <<"NAME": variables are not replaced */
};

struct dockerfile_step {
    enum dockerfile_kind kind;
    unsigned line;                 /* of its first word, from 1 on */
    char **flags;                  /* "--from=x", NULL-terminated or NULL: known ones of this kind */
    char *args;                    /* continuations joined, comments removed, ends trimmed; never empty */
    struct dockerfile_text *texts; /* of COPY and ADD, in the order of their <<NAME; a RUN has them in args */
    size_t n_texts;
};

struct dockerfile {
    struct dockerfile_step *steps; /* ARGs, then a FROM, then the rest */
    size_t n_steps;
};

const char *dockerfile_kind_name(enum dockerfile_kind kind);
/* ERR_INVALID "Dockerfile line N: …", ERR_TOO_LARGE. */
int dockerfile_parse(const char *text, size_t len, struct dockerfile *ret, struct err *err);
void dockerfile_done(struct dockerfile *d); /* for CLEANUP() too */

/* The value of a flag, "from" for --from=x; NULL when it is not given. */
const char *dockerfile_flag(const struct dockerfile_step *step, const char *name);
/* The exec form, ["a", "b"]: 1 and *ret (strlist_free). 0: shell form. */
int dockerfile_exec_form(const struct dockerfile_step *step, char ***ret, struct err *err);
/* Words of step with quotes removed and $X, ${X}, ${X:-d}, ${X:+d} replaced from vars ("K=V", NULL-terminated or NULL;
 * unknown ones are empty). At least one word. strlist_free(*ret). */
int dockerfile_words(const struct dockerfile_step *step, char *const *vars, char ***ret, struct err *err);
/* text with variables replaced and nothing else but \$ changed. Caller frees *ret. */
int dockerfile_expand(const struct dockerfile_step *step, const char *text, char *const *vars, char **ret,
                      struct err *err);
/* "K=V" or, for ARG, "K": a name of letters, digits and _ that does not begin with a digit. */
bool dockerfile_is_name(const char *text, size_t len);
