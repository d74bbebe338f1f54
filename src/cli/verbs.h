/* The command line as one table: every command with its operands, options, help and examples. One parser walks it; help
 * texts, shell completion and manual pages are generated from it. May include: base/, cli/.
 *
 * Invariant: what the parser accepts is what the help shows; nothing else parses options, except the three commands
 * marked VERBS_RAW, which belong to other rooms. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define VERBS_EXIT_OWN 125 /* of commands marked VERBS_RUNS, when they themselves fail: as docker has it */

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
    VERBS_RAW = 1,       /* parses its own options */
    VERBS_GROUP = 2,     /* has commands below it */
    VERBS_TAIL = 4,      /* its operands are followed by a command with options of its own */
    VERBS_RUNS = 8,      /* with VERBS_TAIL: everything behind the operands belongs to that command, as with docker */
    VERBS_OWN_HELP = 16, /* the command itself handles --help with an operand */
    VERBS_III = 32,      /* of `iii` alone */
    VERBS_CONTRACT = 64, /* of `iii-sandbox` alone: spelled and printed as its contract says */
    VERBS_REST = 128,    /* a client of the REST API: it has the general options */
    VERBS_BOX = 256,     /* its operands are sandboxes: completion offers the existing ones */
    VERBS_IMAGE = 512,   /* its operands are images: the same */
    VERBS_QUIET = 1024,  /* no manual page of its own: its group's page lists it */
    VERBS_MORE = 2048,   /* `help` lists it under further commands */
};
struct op;
struct verbs_program;
struct verbs_verb {
    const char *path;                   /* "sandbox exec"; NULL ends the table */
    const char *operands;               /* as help shows them */
    const char *summary;                /* one line, no full stop */
    const char *about;                  /* more, lines of at most 78 characters; or NULL */
    const struct verbs_option *options; /* or NULL */
    const char *examples;               /* lines "command   # what it does", or NULL. `iii` stands for the program */
    const char *exits;                  /* exit codes, when they are not 0 done, 1 failed, 2 wrong usage */
    verbs_fn *run;                      /* NULL for a group */
    unsigned flags;
    int min_words, max_words;            /* operands; max < 0: any number. With VERBS_TAIL: those before the command */
    const struct op *op;                 /* the operation it is about, or NULL */
    const struct verbs_program *program; /* its program; set by verb_program.c */
};
extern const struct verbs_verb verb_table_rows[],
    sandbox_verbs_rows[]; /* written by hand: verb_program.c adds the others */

/* A name of the binary, and its commands under that name. */
struct verbs_program {
    const char *name, *summary, *usage, *about, *examples;
    const char *shown_version; /* text before the number in `--version`, or "" */
    const struct verbs_verb *rows;
    const struct verbs_option *general; /* options that may precede a command */
    int usage_exit;                     /* exit code of a usage error */
    bool is_contract;                   /* `iii-sandbox` */
};

#define VERBS_GIVEN_MAX 256
struct verbs_given {
    const struct verbs_option *option;
    const char *value;
};
struct verbs_args {
    const struct verbs_program *program;
    const struct verbs_hooks *hooks;
    const struct verbs_verb *verb;
    char **words; /* operands */
    int n_words;
    char **tail; /* the command of VERBS_TAIL and, for VERBS_RAW, all arguments; NULL-terminated */
    int n_tail;
    bool wants_help;
    struct verbs_given given[VERBS_GIVEN_MAX];
    size_t n_given;
};

/* The value of an option given last, "" for one that takes none; NULL: not given. */
const char *verbs_value(const struct verbs_args *a, const char *name);
bool verbs_is_on(const struct verbs_args *a, const char *name); /* given, and not with "=false" */
bool verbs_wants_json(const struct verbs_args *a);              /* --json, or -o json */
/* Walks all values of an option: *at starts at 0. NULL at the end. */
const char *verbs_next(const struct verbs_args *a, const char *name, size_t *at);
/* A whole number in min..max. 0; 1: not given (*ret unchanged); -EINVAL: printed on stderr, exit with usage_exit. */
int verbs_number(const struct verbs_args *a, const char *name, long long min, long long max, long long *ret);
/* "iii COMMAND: text" and how to get help, on one line of stderr. Returns the exit code of a usage error, not 0. */
int verbs_usage_error(const struct verbs_verb *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The exit code of a command that failed itself: 1, or VERBS_EXIT_OWN when it runs one whose own code may be 1. */
int verbs_failed(const struct verbs_args *a);
/* Whether child is directly below parent ("" is the top). */
bool verbs_is_below(const struct verbs_verb *child, const char *parent);
const char *verbs_last_word(const struct verbs_verb *v);                              /* "exec" of "sandbox exec" */
const struct verbs_verb *verbs_find(const struct verbs_program *p, const char *path); /* or NULL */
/* Says that no command below group (NULL: at the top) is called word, and which is nearest. Returns the exit code. */
int verbs_unknown(const struct verbs_program *p, const struct verbs_verb *group, const char *word);
/* The deepest command that argv names, with other names resolved; *ret_n: number of arguments used. NULL: none. */
const struct verbs_verb *verbs_match(const struct verbs_program *p, int argc, char **argv, int *ret_n);

/* The whole program behind main(): finds the command, parses, runs. Returns the exit code. */
int verbs_main(int argc, char **argv, const struct verbs_hooks *hooks);
