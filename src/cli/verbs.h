/* The command line as one table: every command with its operands, options, help and examples. One parser walks it; help
 * texts, shell completion and manual pages are made from it. May include: base/, cli/.
 * Invariant: what the parser accepts is what the help shows; nothing parses options beside it, except the three
 * commands marked VERBS_RAW, which belong to other rooms. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct verbs_option {
    const char *name;  /* without "--"; NULL ends a list */
    char letter;       /* 0: none */
    const char *value; /* what it takes, as help shows it; NULL: nothing; "[…": only with "=" */
    const char *help;
};

/* Parts of other rooms that main/ lends. argv[0] is the command's name. */
struct verbs_hooks {
    const char *version;
    int (*serve)(int argc, char **argv);
    int (*image)(int argc, char **argv);
    int (*doctor)(int argc, char **argv);
    int (*vm_setup)(const char *data_dir, const char *kernel, bool is_json); /* kernel NULL: not given */
    int (*vm_status)(const char *data_dir, bool is_json);
};

struct verbs_args;
typedef int verbs_fn(const struct verbs_args *a);

enum verbs_flag {
    VERBS_RAW = 1,      /* parses its own options */
    VERBS_GROUP = 2,    /* has commands below it */
    VERBS_TAIL = 4,     /* after its operands comes a command with options of its own */
    VERBS_OWN_HELP = 8, /* --help with an operand is the command's own affair */
    VERBS_BOTH = 16,    /* a command of `iii-sandbox`, too */
    VERBS_BOX = 32,     /* its first operand is the id of a sandbox: completion offers those that exist */
    VERBS_QUIET = 64,   /* no manual page of its own: its group's page lists it */
};
struct op;
struct verbs_program;
struct verbs_verb {
    const char *path;                   /* "sandbox exec"; NULL ends the table */
    const char *operands;               /* as help shows them */
    const char *summary;                /* one line, no full stop */
    const char *about;                  /* more, lines of at most 78 letters; or NULL */
    const struct verbs_option *options; /* or NULL */
    const char *examples;               /* lines "command   # what it does", or NULL */
    const char *exits;                  /* exit codes, when they are not 0 done, 1 failed, 2 wrong usage */
    verbs_fn *run;                      /* NULL for a group */
    unsigned flags;
    int min_words, max_words;            /* operands; max < 0: any number. With VERBS_TAIL: those before the command */
    const struct op *op;                 /* the operation it was made from, or NULL */
    const struct verbs_program *program; /* whose it is; NULL: iii's */
};
extern const struct verbs_verb verb_table_rows[];

/* A name of the binary, and what it can do under that name. */
struct verbs_program {
    const char *name, *summary, *usage, *about, *examples;
    const char *ids; /* what completion runs for the ids of sandboxes: one in the first column, a header above */
    const char *shown_version; /* what stands before the number in `--version`, or "" */
    const struct verbs_verb *rows;
    const struct verbs_option *general; /* options that may stand before a command, or NULL */
    int usage_exit;                     /* exit code of wrong usage */
    bool serves_alone;                  /* without a command the server runs */
};
extern const struct verbs_program verb_table_program; /* iii */

#define VERBS_GIVEN_MAX 256
struct verbs_given {
    const struct verbs_option *option;
    const char *value;
};
struct verbs_args {
    const struct verbs_program *program;
    const struct verbs_hooks *hooks;
    const struct verbs_verb *verb;
    const char *config; /* of `iii -c FILE`, or NULL */
    char **words;       /* operands */
    int n_words;
    char **tail; /* the command of VERBS_TAIL and, for VERBS_RAW, all arguments; NULL-terminated */
    int n_tail;
    bool wants_help;
    struct verbs_given given[VERBS_GIVEN_MAX];
    size_t n_given;
};

/* The value of an option given last, "" for one that takes none; NULL: not given. */
const char *verbs_value(const struct verbs_args *a, const char *name);
/* Walks all values of an option: *at starts at 0. NULL at the end. */
const char *verbs_next(const struct verbs_args *a, const char *name, size_t *at);
/* A whole number in min..max. 0; 1: not given (*ret unchanged); -EINVAL: said on stderr, exit with 2. */
int verbs_number(const struct verbs_args *a, const char *name, long long min, long long max, long long *ret);
/* "iii COMMAND: text" and where the help is, on stderr. Returns the exit code of wrong usage, which is not 0. */
int verbs_usage_error(const struct verbs_verb *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Whether child stands directly below parent ("" is the top). */
bool verbs_is_below(const struct verbs_verb *child, const char *parent);
const char *verbs_last_word(const struct verbs_verb *v);                              /* "exec" of "sandbox exec" */
const struct verbs_verb *verbs_find(const struct verbs_program *p, const char *path); /* or NULL */
const char *verbs_program_name(const struct verbs_verb *v);                           /* "iii" for NULL */

/* The whole program behind main(): finds the command, parses, runs. Returns the exit code. */
int verbs_main(int argc, char **argv, const struct verbs_hooks *hooks);
