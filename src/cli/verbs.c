/* The command-line parser. The tables are in verb_table.c and sandbox_verbs.c; verb_program.c makes the rows of one
 * name of the binary of them. verbs_main() picks the program by argv[0], reads general options, finds the longest
 * command path that the arguments name (other names are replaced first), sorts the rest into options, operands and tail
 * (struct verbs_args, which borrows argv) and calls the row's function. Nothing is allocated that outlives the call. A
 * usage error is one line on standard error with the nearest known name and the command that shows help; nothing runs
 * after it. */
#include "cli/verbs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "cli/usage.h"
#include "cli/verb_program.h"

#define MCP_NAME       "iii-sandbox-mcp"
#define PATH_MAX_BYTES 64
#define PROBE_FILE     "config.yaml" /* `iii` without a command serves with it, when it exists */

/* Other names of commands, for where no command has the name itself. A second word is one below a group. */
static const struct alias {
    const char *written, *meant;
} aliases[] = {
    { "t", "trigger" },
    { "worker sandbox", "sandbox" },
    { "--help", "help" },
    { "-h", "help" },
    { "--version", "version" },
    { "-v", "version" },
    { "ls", "list" },
    { "list", "ps" },
    { "ls", "ps" },
    { "kill", "rm" },
    { "delete", "rm" },
    { "rm", "delete" },
    { "unpause", "resume" },
    { "inspect", "get" },
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

int verbs_usage_error(const struct verbs_verb *v, const char *fmt, ...)
{
    const char *name = v->program->name, *path = v->path, *gap = *path ? " " : "";
    va_list ap;
    va_start(ap, fmt);
    (void)fprintf(stderr, "%s%s%s: ", name, gap, path);
    (void)vfprintf(stderr, fmt, ap);
    (void)fprintf(stderr, "; see `%s%s%s --help`\n", name, gap, path);
    va_end(ap);
    return v->flags & VERBS_RUNS ? VERBS_EXIT_OWN : v->program->usage_exit;
}

int verbs_failed(const struct verbs_args *a)
{
    return a->verb->flags & VERBS_RUNS ? VERBS_EXIT_OWN : 1;
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

bool verbs_is_on(const struct verbs_args *a, const char *name)
{
    const char *value = verbs_value(a, name);
    return value && strcmp(value, "false") != 0 && strcmp(value, "0") != 0;
}

bool verbs_wants_json(const struct verbs_args *a)
{
    const char *form = verbs_value(a, "output");
    return verbs_value(a, "json") || (form && strcmp(form, "json") == 0);
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
            return give(a, o, p + 1 + (p[1] == '='));
        else if (*i + 1 >= argc)
            return verbs_usage_error(a->verb, "-%c needs a value: %s", *p, o->value);
        else
            return give(a, o, argv[++*i]);
        if (r != 0)
            return r;
    }
    return 0;
}

static int unknown_option(const struct verbs_verb *v, const char *arg)
{
    CLEANUP(free_p) char *name = xstrndup(arg, strcspn(arg, "="));
    struct nearest near = { .name = name };
    for (const struct verbs_option *o = v->options; arg[1] == '-' && o && o->name; o++)
        nearest_offer(&near, o->name);
    return verbs_usage_error(v, "unknown option \"%s\"%s%s%s", name, *near.found ? " (did you mean --" : "", near.found,
                             *near.found ? "?)" : "");
}

static bool is_option(const char *arg)
{
    return arg[0] == '-' && arg[1]; /* "-" is an operand: standard input or output */
}

/* The rest is a command. One that is to run has no options of ours behind the operands. */
static int take_tail(struct verbs_args *a, int argc, char **argv, int from)
{
    bool is_marked = strcmp(argv[from], "--") == 0;
    if (a->verb->flags & VERBS_RUNS && !is_marked && is_option(argv[from]))
        return verbs_usage_error(
            a->verb, "\"%s\" is behind %s, where the command begins: put options before %s, the program behind it",
            argv[from], a->words[a->n_words - 1], a->words[a->n_words - 1]);
    a->tail = argv + from + is_marked;
    a->n_tail = argc - from - is_marked;
    return 0;
}

/* Sorts argv into options, operands and tail. argv is reordered: operands move to its front. */
static int parse_arguments(struct verbs_args *a, int argc, char **argv)
{
    const struct verbs_verb *v = a->verb;
    bool is_tailed = v->flags & VERBS_TAIL, only_words = false;
    a->words = argv;
    for (int i = 0; i < argc; i++) {
        char *arg = argv[i];
        bool is_behind = is_tailed && a->n_words >= v->max_words;
        if ((is_behind && (v->flags & VERBS_RUNS || !is_option(arg))) || (is_tailed && strcmp(arg, "--") == 0))
            return take_tail(a, argc, argv, i);
        if (!only_words && strcmp(arg, "--") == 0) {
            only_words = true;
        } else if (only_words || !is_option(arg)) {
            a->words[a->n_words++] = arg;
        } else {
            int r = arg[1] == '-' ? take_long(a, argc, argv, &i) : take_short(a, argc, argv, &i);
            if (r < 0 && is_behind)
                return take_tail(a, argc, argv, i); /* an option of a command that was not separated with "--" */
            if (r != 0)
                return r < 0 ? unknown_option(v, arg) : r;
        }
    }
    return 0;
}

/* Options before the command are also the command's, or they would have no effect. */
static int check_general(const struct verbs_args *a)
{
    for (size_t i = 0; i < a->n_given; i++) {
        const char *name = a->given[i].option->name;
        if (strcmp(name, "config") != 0 && !option_named(a->verb, name, strlen(name)))
            return verbs_usage_error(a->verb, "--%s has no effect on this command", name);
    }
    return 0;
}

static int run_verb(struct verbs_args *a, int argc, char **argv)
{
    const struct verbs_verb *v = a->verb;
    int r = check_general(a);
    if (r != 0)
        return r;
    if (v->flags & VERBS_RAW) {
        a->tail = argv;
        a->n_tail = argc;
        return v->run(a);
    }
    r = parse_arguments(a, argc, argv);
    if (r != 0)
        return r;
    if (a->wants_help && (a->n_words == 0 || !(v->flags & VERBS_OWN_HELP))) {
        usage_print(a->program, v, stdout);
        return 0;
    }
    if (!a->wants_help && a->n_words < v->min_words)
        return verbs_usage_error(v, "missing operand: %s %s %s", a->program->name, v->path, v->operands);
    if (!a->wants_help && v->max_words >= 0 && a->n_words > v->max_words)
        return verbs_usage_error(v, "unexpected argument \"%s\"", a->words[v->max_words]);
    return v->run(a);
}

/* --- finding the command --- */

/* The command of that path, by its own or another name; parent "": at the top. */
static const struct verbs_verb *find_named(const struct verbs_program *p, const char *parent, const char *word)
{
    CLEANUP(free_p) char *path = xasprintf("%s%s%s", parent, *parent ? " " : "", word);
    const struct verbs_verb *found = verbs_find(p, path);
    for (size_t i = 0; !found && i < sizeof(aliases) / sizeof(*aliases); i++) {
        if (strcmp(aliases[i].written, word) != 0)
            continue;
        CLEANUP(free_p) char *other = xasprintf("%s%s%s", parent, *parent ? " " : "", aliases[i].meant);
        found = verbs_find(p, other);
    }
    return found;
}

const struct verbs_verb *verbs_match(const struct verbs_program *p, int argc, char **argv, int *ret_n)
{
    const struct verbs_verb *v = NULL;
    *ret_n = 0;
    if (argc > 1) {
        CLEANUP(free_p) char *two = xasprintf("%s %s", argv[0], argv[1]);
        v = verbs_find(p, two) ? NULL : find_named(p, "", two);
        *ret_n = v ? 2 : 0;
    }
    if (!v && argc > 0) {
        v = find_named(p, "", argv[0]);
        *ret_n = v ? 1 : 0;
    }
    while (v && v->flags & VERBS_GROUP && *ret_n < argc && argv[*ret_n][0] != '-') {
        const struct verbs_verb *below = find_named(p, v->path, argv[*ret_n]);
        if (!below)
            break;
        v = below;
        ++*ret_n;
    }
    return v;
}

/* What other tools call it, and the command here. */
static const struct habit {
    const char *words, *here;
} habits[] = {
    { " shell ssh sh bash attach connect enter console ", "exec -it ID sh" },
    { " python python3 node ", "run python python3 -c CODE" },
    { " upload download push ", "cp FILE ID:PATH" },
    { " write ", "file write ID PATH TEXT" },
    { " read cat ", "file read ID PATH" },
    { " status ", "health" },
    { " build ", "image build" },
    { " save export ", "image export" },
    { " load import ", "image import" },
    { " commit ", "snapshot create ID" },
    { " remove destroy ", "rm ID" },
    { " new ", "create IMAGE" },
    { " up daemon server ", "serve" },
    { " login ", "--token SECRET ps" },
};

static const char *habit_here(const char *word)
{
    CLEANUP(free_p) char *apart = xasprintf(" %s ", word);
    for (size_t i = 0; i < sizeof(habits) / sizeof(*habits); i++)
        if (strstr(habits[i].words, apart))
            return habits[i].here;
    return NULL;
}

int verbs_unknown(const struct verbs_program *p, const struct verbs_verb *group, const char *word)
{
    const char *parent = group ? group->path : "", *gap = *parent ? " " : "";
    struct nearest near = { .name = word };
    for (const struct verbs_verb *v = p->rows; v->path; v++)
        if (verbs_is_below(v, parent))
            nearest_offer(&near, verbs_last_word(v));
    for (size_t i = 0; !*parent && i < sizeof(aliases) / sizeof(*aliases); i++)
        if (aliases[i].written[0] != '-' && !strchr(aliases[i].written, ' '))
            nearest_offer(&near, aliases[i].written);
    const char *here = *parent || p->is_contract ? NULL : habit_here(word);
    (void)fprintf(stderr, "%s%s%s: unknown command \"%s\"", p->name, gap, parent, word);
    if (here || *near.found)
        (void)fprintf(stderr, " (did you mean `%s%s%s %s`?)", p->name, gap, parent, here ? here : near.found);
    (void)fprintf(stderr, "; `%s help%s%s` lists the commands\n", p->name, gap, parent);
    if (p->is_contract)
        (void)fprintf(stderr, "Usage: %s\n", p->usage);
    return p->usage_exit;
}

static bool asks_help(int argc, char **argv)
{
    return argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0);
}

/* Options before the command. Returns how many arguments they took, or -2: usage error printed. */
static int take_general(struct verbs_args *a, int argc, char **argv)
{
    struct verbs_verb none = { .path = "", .options = a->program->general, .program = a->program };
    int i = 0;
    a->verb = &none;
    for (; i < argc && is_option(argv[i]); i++) {
        bool is_long = argv[i][1] == '-';
        if (strcmp(argv[i], "--no-update-check") == 0)
            continue;
        if (asks_help(1, argv + i) || (!is_long && !option_lettered(&none, argv[i][1])))
            break;
        int r = is_long ? take_long(a, argc, argv, &i) : take_short(a, argc, argv, &i);
        if (r > 0)
            i = -2;
        if (r != 0)
            break;
    }
    a->verb = NULL;
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
    for (int i = 0; i < argc; i++)
        all[n++] = argv[i];
    return a->hooks->serve(n, all);
}

/* Without a command. `iii` serves when there is a configuration to serve with; else it says how to begin. */
static int run_alone(const struct verbs_args *a, const char *config)
{
    if (!a->program->is_contract && (config || access(PROBE_FILE, F_OK) == 0))
        return serve_with(a, config ? config : PROBE_FILE, 0, NULL);
    if (a->program->is_contract)
        usage_print_all(a->program, stdout);
    else
        usage_print_steps(stdout);
    return 0;
}

static int run_program(const struct verbs_program *p, int argc, char **argv, const struct verbs_hooks *hooks)
{
    struct verbs_args a = { .hooks = hooks, .program = p };
    int taken = take_general(&a, argc - 1, argv + 1), n = 0;
    const char *config = verbs_value(&a, "config");
    if (taken < 0)
        return p->usage_exit;
    argc -= 1 + taken;
    argv += 1 + taken;
    if (argc == 0)
        return run_alone(&a, config);
    a.verb = verbs_match(p, argc, argv, &n);
    if (!a.verb && is_option(argv[0]))
        return unknown_option(&(struct verbs_verb){ .path = "", .options = p->general, .program = p }, argv[0]);
    if (!a.verb)
        return verbs_unknown(p, NULL, argv[0]);
    argc -= n;
    argv += n;
    if (a.verb->flags & VERBS_GROUP && (!a.verb->run || asks_help(argc, argv))) {
        if (argc > 0 && argv[0][0] != '-')
            return verbs_unknown(p, a.verb, argv[0]);
        usage_print(p, a.verb, asks_help(argc, argv) ? stdout : stderr);
        return asks_help(argc, argv) ? 0 : p->usage_exit;
    }
    if (config && strcmp(a.verb->path, "serve") == 0)
        return serve_with(&a, config, argc, argv);
    return run_verb(&a, argc, argv);
}

int verbs_main(int argc, char **argv, const struct verbs_hooks *hooks)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    bool is_mcp = strcmp(name, MCP_NAME) == 0; /* the published MCP server: `iii-sandbox-mcp …` is `iii mcp …` */
    char verb[] = "mcp";
    CLEANUP(free_p) char **all = xzalloc(((size_t)argc + 3) * sizeof(*all));
    int n = 0;
    for (int i = 0; i < argc; i++) {
        all[n++] = argv[i];
        if (i == 0 && is_mcp)
            all[n++] = verb;
    }
    struct verb_program *p = verb_program_new(strcmp(name, VERB_PROGRAM_CONTRACT) == 0);
    int r = run_program(verb_program_get(p), n, all, hooks);
    verb_program_free(p);
    return r;
}
