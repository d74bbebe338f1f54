/* The command line as one table: every command with its operands, options, help and examples. One parser walks it; help
 * texts, shell completion and manual pages are generated from it. May include: base/, cli/.
 *
 * Invariant: what the parser accepts is what the help shows; nothing else parses options, except the three commands
 * marked VERBS_RAW, which belong to other rooms. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct verbs_option {
    const char *name;  /* without "--"; NULL ends a list */
    char letter;       /* 0: none */
    const char *value; /* placeholder of its value in help; NULL: no value; "[…": only with "=" */
    const char *help;
};

/* Functions of other rooms that main/ provides. argv[0] is the command's name. */
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
    VERBS_TAIL = 4,     /* its operands are followed by a command with options of its own */
    VERBS_OWN_HELP = 8, /* the command itself handles --help with an operand */
    VERBS_BOTH = 16,    /* also a command of `iii-sandbox` */
    VERBS_BOX = 32,     /* its first operand is the id of a sandbox: completion offers the existing ones */
    VERBS_QUIET = 64,   /* no manual page of its own: its group's page lists it */
};
struct op;
struct verbs_program;
struct verbs_verb {
    const char *path;                   /* "sandbox exec"; NULL ends the table */
    const char *operands;               /* as help shows them */
    const char *summary;                /* one line, no full stop */
    const char *about;                  /* more, lines of at most 78 characters; or NULL */
    const struct verbs_option *options; /* or NULL */
    const char *examples;               /* lines "command   # what it does", or NULL */
    const char *exits;                  /* exit codes, when they are not 0 done, 1 failed, 2 wrong usage */
    verbs_fn *run;                      /* NULL for a group */
    unsigned flags;
    int min_words, max_words;            /* operands; max < 0: any number. With VERBS_TAIL: those before the command */
    const struct op *op;                 /* the operation it was generated from, or NULL */
    const struct verbs_program *program; /* its program; NULL: iii */
};
extern const struct verbs_verb verb_table_rows[];

/* A name of the binary, and its commands under that name. */
struct verbs_program {
    const char *name, *summary, *usage, *about, *examples;
    const char *ids; /* the command that completion runs for sandbox ids: one in the first column, below a header */
    const char *shown_version; /* text before the number in `--version`, or "" */
    const struct verbs_verb *rows;
    const struct verbs_option *general; /* options that may precede a command, or NULL */
    int usage_exit;                     /* exit code of a usage error */
    bool serves_alone;                  /* without a command it runs the server */
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
/* A whole number in min..max. 0; 1: not given (*ret unchanged); -EINVAL: printed on stderr, exit with 2. */
int verbs_number(const struct verbs_args *a, const char *name, long long min, long long max, long long *ret);
/* "iii COMMAND: text" and how to get help, on stderr. Returns the exit code of a usage error, which is not 0. */
int verbs_usage_error(const struct verbs_verb *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Whether child is directly below parent ("" is the top). */
bool verbs_is_below(const struct verbs_verb *child, const char *parent);
const char *verbs_last_word(const struct verbs_verb *v);                              /* "exec" of "sandbox exec" */
const struct verbs_verb *verbs_find(const struct verbs_program *p, const char *path); /* or NULL */
const char *verbs_program_name(const struct verbs_verb *v);                           /* "iii" for NULL */

/* The whole program behind main(): finds the command, parses, runs. Returns the exit code. */
int verbs_main(int argc, char **argv, const struct verbs_hooks *hooks);
