/* The command-line parser. The tables are in verb_table.c and sandbox_program.c. verbs_main() picks the program by
 * argv[0], reads general options, finds the longest command path that the arguments name (aliases are replaced first),
 * sorts the rest into options, operands and tail (struct verbs_args, which borrows argv) and calls the row's function.
 * Nothing is allocated that outlives the call. A usage error is one line on standard error with the command that shows
 * help, and the program's usage exit code; nothing runs after it. */
#include "cli/verbs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/sandbox_program.h"
#include "cli/usage.h"

#define MCP_NAME       "iii-sandbox-mcp"
#define PATH_MAX_BYTES 64
#define PROBE_FILE     "config.yaml" /* `iii` without a command uses it, when it exists */

/* Other names for a command's first words. */
static const struct alias {
    const char *written, *meant;
} aliases[] = {
    { "t", "trigger" }, { "worker sandbox", "sandbox" }, { "--help", "help" },
    { "-h", "help" },   { "--version", "version" },      { "-v", "version" },
};

const struct verbs_verb *verbs_find(const struct verbs_program *p, const char *path)
{
    for (const struct verbs_verb *v = p->rows; v->path; v++)
        if (strcmp(v->path, path) == 0)
            return v;
    return NULL;
}

const char *verbs_last_word(const struct verbs_verb *v)
{
    const char *space = strrchr(v->path, ' ');
    return space ? space + 1 : v->path;
}

bool verbs_is_below(const struct verbs_verb *child, const char *parent)
{
    size_t len = strlen(parent);
    if (len == 0)
        return !strchr(child->path, ' ');
    return strncmp(child->path, parent, len) == 0 && child->path[len] == ' ' && !strchr(child->path + len + 1, ' ');
}

static const struct verbs_program *program_of(const struct verbs_verb *v)
{
    return v && v->program ? v->program : &verb_table_program;
}

const char *verbs_program_name(const struct verbs_verb *v)
{
    return program_of(v)->name;
}

int verbs_usage_error(const struct verbs_verb *v, const char *fmt, ...)
{
    const char *name = verbs_program_name(v), *path = v ? v->path : "";
    va_list ap;
    va_start(ap, fmt);
    (void)fprintf(stderr, "%s%s%s: ", name, *path ? " " : "", path);
    (void)vfprintf(stderr, fmt, ap);
    (void)fprintf(stderr, v && v->program ? "; see `%s%s%s --help`\n" : "\nTry `%s%s%s --help`.\n", name,
                  *path ? " " : "", path); /* iii-sandbox promises one line */
    va_end(ap);
    return program_of(v)->usage_exit;
}

/* --- values of options --- */

const char *verbs_next(const struct verbs_args *a, const char *name, size_t *at)
{
    while (*at < a->n_given) {
        const struct verbs_given *g = &a->given[(*at)++];
        if (strcmp(g->option->name, name) == 0)
            return g->value;
    }
    return NULL;
}

const char *verbs_value(const struct verbs_args *a, const char *name)
{
    const char *found = NULL;
    size_t at = 0;
    for (const char *v; (v = verbs_next(a, name, &at));)
        found = v;
    return found;
}

int verbs_number(const struct verbs_args *a, const char *name, long long min, long long max, long long *ret)
{
    const char *text = verbs_value(a, name);
    char *end = NULL;
    if (!text)
        return 1;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || *end || n < min || n > max) {
        (void)verbs_usage_error(a->verb, "--%s: \"%s\" is not a whole number from %lld to %lld", name, text, min, max);
        return -EINVAL;
    }
    *ret = n;
    return 0;
}

/* --- options --- */

static const struct verbs_option *option_named(const struct verbs_verb *v, const char *name, size_t len)
{
    for (const struct verbs_option *o = v->options; o && o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

static const struct verbs_option *option_lettered(const struct verbs_verb *v, char letter)
{
    for (const struct verbs_option *o = v->options; o && o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

static int give(struct verbs_args *a, const struct verbs_option *o, const char *value)
{
    if (a->n_given == VERBS_GIVEN_MAX)
        return verbs_usage_error(a->verb, "more than %d options", VERBS_GIVEN_MAX);
    a->given[a->n_given++] = (struct verbs_given){ o, value };
    return 0;
}

/* "--name", "--name=value", "--name value". Moves *i past a value that was used. 0, an exit code, or -1: unknown. */
static int take_long(struct verbs_args *a, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    if (len == 4 && memcmp(name, "help", 4) == 0) {
        a->wants_help = true;
        return 0;
    }
    const struct verbs_option *o = option_named(a->verb, name, len);
    if (!o)
        return -1;
    if (!o->value || (o->value[0] == '[' && !equals))
        return equals ? verbs_usage_error(a->verb, "--%s takes no value", o->name) : give(a, o, "");
    if (equals)
        return give(a, o, equals + 1);
    if (*i + 1 >= argc)
        return verbs_usage_error(a->verb, "--%s needs a value: %s", o->name, o->value);
    return give(a, o, argv[++*i]);
}

/* "-n VALUE", "-nVALUE", and letters without values bundled: "-it". */
static int take_short(struct verbs_args *a, int argc, char **argv, int *i)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        const struct verbs_option *o = option_lettered(a->verb, *p);
        int r = 0;
        if (*p == 'h' && !o)
            a->wants_help = true;
        else if (!o)
            return -1;
        else if (!o->value || o->value[0] == '[')
            r = give(a, o, "");
        else if (p[1])
            return give(a, o, p + 1);
        else if (*i + 1 >= argc)
            return verbs_usage_error(a->verb, "-%c needs a value: %s", *p, o->value);
        else
            return give(a, o, argv[++*i]);
        if (r != 0)
            return r;
    }
    return 0;
}

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1]; /* "-" is an operand: standard input or output */
}

static void take_tail(struct verbs_args *a, int argc, char **argv, int from)
{
    a->tail = argv + from;
    a->n_tail = argc - from;
}

/* Sorts argv into options, operands and tail. argv is reordered: operands move to its front. */
static int parse_arguments(struct verbs_args *a, int argc, char **argv)
{
    bool is_tailed = a->verb->flags & VERBS_TAIL, only_words = false;
    a->words = argv;
    for (int i = 0; i < argc; i++) {
        char *arg = argv[i];
        if (is_tailed && a->n_words >= a->verb->max_words && !is_option(arg)) {
            take_tail(a, argc, argv, i);
            return 0;
        }
        if (!only_words && strcmp(arg, "--") == 0) {
            if (is_tailed) {
                take_tail(a, argc, argv, i + 1);
                return 0;
            }
            only_words = true;
        } else if (only_words || !is_option(arg)) {
            a->words[a->n_words++] = arg;
        } else {
            int r = arg[1] == '-' ? take_long(a, argc, argv, &i) : take_short(a, argc, argv, &i);
            if (r < 0 && is_tailed && a->n_words >= a->verb->max_words) {
                take_tail(a, argc, argv,
                          i); /* an option of the command in the tail, which was not separated with "--" */
                return 0;
            }
            if (r != 0)
                return r < 0 ? verbs_usage_error(a->verb, "unknown option \"%s\"", arg) : r;
        }
    }
    return 0;
}

static int run_verb(struct verbs_args *a, int argc, char **argv)
{
    const struct verbs_verb *v = a->verb;
    if (v->flags & VERBS_RAW) {
        a->tail = argv;
        a->n_tail = argc;
        return v->run(a);
    }
    int r = parse_arguments(a, argc, argv);
    if (r != 0)
        return r;
    if (a->wants_help && (a->n_words == 0 || !(v->flags & VERBS_OWN_HELP))) {
        usage_print(a->program, v, stdout);
        return 0;
    }
    if (!a->wants_help && a->n_words < v->min_words)
        return verbs_usage_error(v, "missing operand: %s %s %s", verbs_program_name(v), v->path, v->operands);
    if (!a->wants_help && v->max_words >= 0 && a->n_words > v->max_words)
        return verbs_usage_error(v, "unexpected argument \"%s\"", a->words[v->max_words]);
    return v->run(a);
}

/* --- finding the command --- */

/* Replaces the longest alias at the beginning of argv; *ret_n: number of arguments it covered. */
static void resolve_alias(int argc, char **argv, char path[PATH_MAX_BYTES], int *ret_n)
{
    (void)snprintf(path, PATH_MAX_BYTES, "%s", argv[0]);
    *ret_n = 1;
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        const char *space = strchr(aliases[i].written, ' ');
        size_t len = space ? (size_t)(space - aliases[i].written) : strlen(aliases[i].written);
        bool is_first = strlen(argv[0]) == len && memcmp(argv[0], aliases[i].written, len) == 0;
        if (!is_first || (space && (argc < 2 || strcmp(argv[1], space + 1) != 0)))
            continue;
        (void)snprintf(path, PATH_MAX_BYTES, "%s", aliases[i].meant);
        *ret_n = space ? 2 : 1;
        return;
    }
}

/* The command for an abbreviation; NULL: not one. */
static const char *longer_name(const char *word)
{
    return strcmp(word, "ls") == 0 ? "list" : strcmp(word, "rm") == 0 ? "delete" : NULL;
}

/* Finds the command below a group. */
static const struct verbs_verb *find_below(const struct verbs_program *p, const struct verbs_verb *group,
                                           const char *word)
{
    CLEANUP(free_p) char *path = xasprintf("%s %s", group->path, word);
    const struct verbs_verb *found = verbs_find(p, path);
    const char *longer = longer_name(word);
    if (found || !longer)
        return found;
    CLEANUP(free_p) char *other = xasprintf("%s %s", group->path, longer);
    return verbs_find(p, other);
}

/* The deepest command that argv names; *ret_n: number of arguments used. NULL: unknown, and the error was printed. */
static const struct verbs_verb *find_verb(const struct verbs_program *p, int argc, char **argv, int *ret_n)
{
    char path[PATH_MAX_BYTES];
    resolve_alias(argc, argv, path, ret_n);
    const struct verbs_verb *v = verbs_find(p, path);
    if (!v && longer_name(path))
        v = verbs_find(p, longer_name(path));
    if (!v) {
        (void)fprintf(stderr, "%s: unknown command \"%s\"; `%s help` lists them\n", p->name, argv[0], p->name);
        if (!p->serves_alone)
            (void)fprintf(stderr, "Usage: %s\n", p->usage);
        return NULL;
    }
    while (v->flags & VERBS_GROUP && *ret_n < argc && argv[*ret_n][0] != '-') {
        const struct verbs_verb *below = find_below(p, v, argv[*ret_n]);
        if (!below && v->run)
            return v; /* the argument is an operand of the group's own command */
        if (!below) {
            (void)verbs_usage_error(v, "unknown command \"%s\"", argv[*ret_n]);
            return NULL;
        }
        v = below;
        ++*ret_n;
    }
    return v;
}

static bool asks_help(int argc, char **argv)
{
    return argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
}

/* One of the program's general options. 0, an exit code after an error was printed, or -1: not one. */
static int take_before(struct verbs_args *a, int argc, char **argv, int *i)
{
    struct verbs_verb none = { .path = "", .options = a->program->general, .program = a->program };
    bool is_help = strcmp(argv[*i], "--help") == 0;
    a->verb = &none;
    int r = is_help || strncmp(argv[*i], "--", 2) != 0 ? -1 : take_long(a, argc, argv, i);
    a->verb = NULL;
    return r;
}

/* Options before the command. Returns how many arguments they took, or -2: usage error printed. */
static int take_general(struct verbs_args *a, int argc, char **argv)
{
    int i = 0;
    for (; i < argc && argv[i][0] == '-'; i++) {
        int r = a->program->general ? take_before(a, argc, argv, &i) : -1;
        if (r > 0)
            return -2;
        if (r == 0 || strcmp(argv[i], "--no-update-check") == 0)
            continue;
        if (a->program->general)
            break;
        if (strncmp(argv[i], "--config=", 9) == 0) {
            a->config = argv[i] + 9;
        } else if (strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "--config") == 0) {
            if (i + 1 >= argc) {
                (void)fprintf(stderr, "iii: %s needs a value: FILE\n", argv[i]);
                return -2;
            }
            a->config = argv[++i];
        } else {
            break;
        }
    }
    return i;
}

/* `iii -c FILE serve …` is `iii serve -c FILE …`. config NULL: none. */
static int serve_with(const struct verbs_args *a, const char *config, int argc, char **argv)
{
    char name[] = "serve", flag[] = "--config";
    CLEANUP(free_p) char *file = xstrdup(config);
    CLEANUP(free_p) char **all = xzalloc(((size_t)argc + 4) * sizeof(*all));
    int n = 0;
    all[n++] = name;
    if (config) {
        all[n++] = flag;
        all[n++] = file;
    }
    memcpy(all + n, argv, (size_t)argc * sizeof(*all));
    return a->hooks->serve(n + argc, all);
}

static int run_program(const struct verbs_program *p, int argc, char **argv, const struct verbs_hooks *hooks)
{
    struct verbs_args a = { .hooks = hooks, .program = p };
    int taken = take_general(&a, argc - 1, argv + 1), n = 0;
    if (taken < 0)
        return p->usage_exit;
    argc -= 1 + taken;
    argv += 1 + taken;
    if (argc == 0 && p->serves_alone)
        return serve_with(&a, a.config || access(PROBE_FILE, F_OK) < 0 ? a.config : PROBE_FILE, 0, argv);
    if (argc == 0) {
        usage_print_all(p, stdout);
        return 0;
    }
    a.verb = find_verb(p, argc, argv, &n);
    if (!a.verb)
        return p->usage_exit;
    argc -= n;
    argv += n;
    if (a.verb->flags & VERBS_GROUP && (!a.verb->run || asks_help(argc, argv))) {
        usage_print(p, a.verb, asks_help(argc, argv) ? stdout : stderr);
        return asks_help(argc, argv) ? 0 : p->usage_exit;
    }
    if (a.config && strcmp(a.verb->path, "serve") == 0)
        return serve_with(&a, a.config, argc, argv);
    return run_verb(&a, argc, argv);
}

int verbs_main(int argc, char **argv, const struct verbs_hooks *hooks)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    if (strcmp(name, MCP_NAME) == 0) { /* the name of the published MCP server: `iii-sandbox-mcp …` is `iii mcp …` */
        char verb[] = "mcp";
        CLEANUP(free_p) char **all = xzalloc(((size_t)argc + 2) * sizeof(*all));
        all[0] = argv[0], all[1] = verb;
        memcpy(all + 2, argv + 1, ((size_t)argc - 1) * sizeof(*all));
        return run_program(&verb_table_program, argc + 1, all, hooks);
    }
    if (strcmp(name, SANDBOX_PROGRAM_NAME) != 0)
        return run_program(&verb_table_program, argc, argv, hooks);
    struct sandbox_program *box = sandbox_program_new();
    int r = run_program(sandbox_program_get(box), argc, argv, hooks);
    sandbox_program_free(box);
    return r;
}
