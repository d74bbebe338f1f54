#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

#include "base/settings.h"

/* The group that may have one more word before it. */
static const char box_group[] = "sandbox", box_alias[] = "worker ";

/* --- what may follow a command --- */

typedef void word_fn(void *arg, const char *word, const char *help);

static void each_command(const struct verbs_program *p, const char *parent, word_fn *fn, void *arg)
{
    for (const struct verbs_verb *v = p->rows; v->path; v++)
        if (verbs_is_below(v, parent))
            fn(arg, verbs_last_word(v), v->summary);
    if (strcmp(parent, "worker") == 0 && p == &verb_table_program) /* which accepts `worker sandbox` for `sandbox` */
        fn(arg, box_group, verbs_find(p, box_group)->summary);
}

static void each_word(const struct verbs_program *p, const struct verbs_verb *v, word_fn *fn, void *arg)
{
    char word[64];
    each_command(p, v->path, fn, arg);
    /* "pull|import|ls …" of a command that parses its own options. */
    size_t all = strcspn(v->operands, " ");
    if (memchr(v->operands, '|', all))
        for (size_t at = 0; at < all; at += strcspn(v->operands + at, "| ") + 1) {
            (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(v->operands + at, "| "), v->operands + at);
            fn(arg, word, "");
        }
    for (const struct verbs_option *o = v->options; o && o->name; o++) {
        (void)snprintf(word, sizeof(word), "--%s", o->name);
        fn(arg, word, o->help);
    }
    if (strcmp(v->path, "serve") == 0)
        for (const struct settings_row *row = settings_rows; row->field; row++)
            if (*row->flag)
                fn(arg, row->flag, row->help);
    if (v->run)
        fn(arg, "--help", "Print help");
}

static bool is_boxish(const struct verbs_verb *v)
{
    size_t n = strlen(box_group);
    return !v->program && strncmp(v->path, box_group, n) == 0 && (v->path[n] == ' ' || !v->path[n]);
}

static void print_word(void *arg, const char *word, const char *help)
{
    (void)arg, (void)help;
    printf(" %s", word);
}

/* --- bash and zsh: both have case patterns and loops --- */

/* The patterns that match a command: its path and, for sandboxes, the longer form. */
static void print_patterns(const struct verbs_verb *v)
{
    printf("'%s'", v->path);
    if (is_boxish(v))
        printf(" | '%s%s'", box_alias, v->path);
}

/* Functions of a shell are named after the program, without a hyphen. */
struct script {
    const struct verbs_program *p;
    char id[32]; /* "iii", "iii_sandbox" */
};

/* Options that may precede any command. */
static void each_general(const struct verbs_program *p, word_fn *fn, void *arg)
{
    char flag[64];
    fn(arg, "--help", "Print help");
    fn(arg, "--version", "Print the version");
    if (!p->general)
        fn(arg, "--config", "Read settings from a YAML file");
    for (const struct verbs_option *o = p->general; o && o->name; o++) {
        (void)snprintf(flag, sizeof(flag), "--%s", o->name);
        fn(arg, flag, o->help);
    }
}

static void print_functions(const struct script *s)
{
    printf("# The command that the given words name: the longest one that is known.\n"
           "_%s_path() {\n"
           "    local known= word\n"
           "    for word in \"$@\"; do\n"
           "        case \"${known:+$known }$word\" in\n"
           "            ",
           s->id);
    for (const struct verbs_verb *v = s->p->rows; v->path; v++) {
        printf("%s", v == s->p->rows ? "" : " | ");
        print_patterns(v);
    }
    printf(") known=\"${known:+$known }$word\" ;;\n"
           "        esac\n"
           "    done\n"
           "    printf '%%s' \"$known\"\n"
           "}\n\n"
           "# What may follow it.\n_%s_words() {\n    case \"$1\" in\n        '') echo \"",
           s->id);
    each_command(s->p, "", print_word, NULL);
    each_general(s->p, print_word, NULL);
    printf("\" ;;\n");
    for (const struct verbs_verb *v = s->p->rows; v->path; v++) {
        printf("        ");
        print_patterns(v);
        printf(") echo \"");
        each_word(s->p, v, print_word, NULL);
        printf("\"");
        if (v->flags & VERBS_BOX)
            printf("; %s | awk 'NR > 1 { print $1 }'", s->p->ids);
        printf(" ;;\n");
    }
    printf("    esac\n}\n\n");
}

static void print_bash(const struct script *s)
{
    const char *id = s->id, *name = s->p->name;
    printf("# bash completion for %s: source it, or put it into /usr/share/bash-completion/completions/%s\n\n", name,
           name);
    print_functions(s);
    printf("_%s() {\n"
           "    local cur=\"${COMP_WORDS[COMP_CWORD]}\"\n"
           "    local path\n"
           "    path=\"$(_%s_path \"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\"\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$(_%s_words \"$path\")\" -- \"$cur\")\n"
           "}\n"
           "complete -o default -F _%s %s\n",
           id, id, id, id, name);
}

static void print_zsh(const struct script *s)
{
    const char *id = s->id, *name = s->p->name;
    printf("#compdef %s\n# zsh completion for %s: put it as _%s into a folder of $fpath\n\n", name, name, name);
    print_functions(s);
    printf("_%s() {\n"
           "    local -a candidates\n"
           "    candidates=(${=\"$(_%s_words \"$(_%s_path \"${(@)words[2,CURRENT-1]}\")\")\"})\n"
           "    compadd -a candidates\n"
           "    _files\n"
           "}\n"
           "if [ \"$funcstack[1]\" = \"_%s\" ]; then _%s \"$@\"; else compdef _%s %s; fi\n",
           id, id, id, name, id, id, name);
}

/* --- fish --- */

struct fish_place {
    const struct script *s;
    const char *prefix, *path;
};

static void print_fish_word(void *arg, const char *word, const char *help)
{
    const struct fish_place *at = arg;
    printf("complete -c %s -n '__%s_at \"%s%s\"' %s %s", at->s->p->name, at->s->id, at->prefix, at->path,
           word[0] == '-' ? "-l" : "-f -a", word[0] == '-' ? word + 2 : word);
    printf("%s", *help ? " -d '" : "");
    for (const char *p = help; *p; p++)
        printf("%s%c", *p == '\'' || *p == '\\' ? "\\" : "", *p); /* inside single quotes fish accepts \' and \\ */
    printf("%s", *help ? "'\n" : "\n");
}

static void print_fish_verb(const struct script *s, const struct verbs_verb *v, const char *prefix)
{
    struct fish_place at = { s, prefix, v->path };
    each_word(s->p, v, print_fish_word, &at);
    if (v->flags & VERBS_BOX)
        printf("complete -c %s -n '__%s_at \"%s%s\"' -f -a '(%s | awk \"NR > 1 { print \\\\$1 }\")'\n", s->p->name,
               s->id, prefix, v->path, s->p->ids);
}

static void print_fish(const struct script *s)
{
    struct fish_place top = { s, "", "" };
    printf("# fish completion for %s: put it into ~/.config/fish/completions/%s.fish\n\n"
           "function __%s_at\n"
           "    set -l known\n"
           "    for word in (commandline -opc)[2..-1]\n"
           "        set -l longer (string join ' ' $known $word)\n"
           "        if contains -- \"$longer\"",
           s->p->name, s->p->name, s->id);
    for (const struct verbs_verb *v = s->p->rows; v->path; v++) {
        printf(" '%s'", v->path);
        if (is_boxish(v))
            printf(" '%s%s'", box_alias, v->path);
    }
    printf("\n            set known $longer\n        end\n    end\n    test \"$known\" = \"$argv[1]\"\nend\n\n");
    each_command(s->p, "", print_fish_word, &top);
    if (s->p->general)
        each_general(s->p, print_fish_word, &top);
    for (const struct verbs_verb *v = s->p->rows; v->path; v++) {
        print_fish_verb(s, v, "");
        if (is_boxish(v))
            print_fish_verb(s, v, box_alias);
    }
}

int completion_run(const struct verbs_args *a)
{
    static const struct {
        const char *shell;
        void (*print)(const struct script *s);
    } shells[] = { { "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish } };
    struct script s = { .p = a->program };
    (void)snprintf(s.id, sizeof(s.id), "%s", a->program->name);
    for (char *p = s.id; *p; p++)
        if (*p == '-')
            *p = '_';
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
        if (strcmp(a->words[0], shells[i].shell) == 0) {
            shells[i].print(&s);
            return 0;
        }
    return verbs_usage_error(a->verb, "\"%s\" is not one of bash, zsh and fish", a->words[0]);
}
