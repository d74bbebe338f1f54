#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

#include "base/settings.h"

/* The group that may be written with one more word before it. */
static const char box_group[] = "sandbox", box_alias[] = "worker ";

/* --- what may follow a command --- */

typedef void word_fn(void *arg, const char *word, const char *help);

/* "pull|import|ls …" of a command that parses itself. */
static void each_alternative(const struct verbs_verb *v, word_fn *fn, void *arg)
{
    size_t all = strcspn(v->operands, " ");
    if (!memchr(v->operands, '|', all))
        return;
    for (const char *p = v->operands; p < v->operands + all;) {
        char word[32];
        size_t n = strcspn(p, "| ");
        (void)snprintf(word, sizeof(word), "%.*s", (int)n, p);
        fn(arg, word, "");
        p += n + 1;
    }
}

static void each_option(const struct verbs_verb *v, word_fn *fn, void *arg)
{
    char flag[64];
    for (const struct verbs_option *o = v->options; o && o->name; o++) {
        (void)snprintf(flag, sizeof(flag), "--%s", o->name);
        fn(arg, flag, o->help);
    }
    if (strcmp(v->path, "serve") == 0)
        for (const struct settings_row *row = settings_rows; row->field; row++)
            if (*row->flag)
                fn(arg, row->flag, row->help);
    if (!(v->flags & VERBS_GROUP))
        fn(arg, "--help", "Print help");
}

static void each_command(const char *parent, word_fn *fn, void *arg)
{
    for (const struct verbs_verb *v = verbtable_rows; v->path; v++)
        if (verbs_is_below(v, parent))
            fn(arg, verbs_last_word(v), v->summary);
    if (strcmp(parent, "worker") == 0)
        fn(arg, box_group, verbs_find(box_group)->summary);
}

static void each_word(const struct verbs_verb *v, word_fn *fn, void *arg)
{
    each_command(v->path, fn, arg);
    each_alternative(v, fn, arg);
    each_option(v, fn, arg);
}

static bool takes_box(const struct verbs_verb *v)
{
    return strncmp(v->operands, "ID", 2) == 0 && strncmp(v->path, "sandbox ", 8) == 0;
}

static bool is_boxish(const struct verbs_verb *v)
{
    size_t n = strlen(box_group);
    return strncmp(v->path, box_group, n) == 0 && (v->path[n] == ' ' || !v->path[n]);
}

static void print_word(void *arg, const char *word, const char *help)
{
    (void)arg, (void)help;
    printf(" %s", word);
}

/* --- bash and zsh: both know case patterns and loops --- */

/* The patterns under which a command is found: its path and, for sandboxes, the longer spelling. */
static void print_patterns(const struct verbs_verb *v)
{
    printf("'%s'", v->path);
    if (is_boxish(v))
        printf(" | '%s%s'", box_alias, v->path);
}

static void print_path_function(void)
{
    printf("# The command that the given words name: the longest one that is known.\n"
           "_iii_path() {\n"
           "    local known= word\n"
           "    for word in \"$@\"; do\n"
           "        case \"${known:+$known }$word\" in\n"
           "            ");
    for (const struct verbs_verb *v = verbtable_rows; v->path; v++) {
        printf("%s", v == verbtable_rows ? "" : " | ");
        print_patterns(v);
    }
    printf(") known=\"${known:+$known }$word\" ;;\n"
           "        esac\n"
           "    done\n"
           "    printf '%%s' \"$known\"\n"
           "}\n\n"
           "# What may follow it.\n"
           "_iii_words() {\n"
           "    case \"$1\" in\n"
           "        '') echo \"");
    each_command("", print_word, NULL);
    printf(" --help --version --config\" ;;\n");
    for (const struct verbs_verb *v = verbtable_rows; v->path; v++) {
        printf("        ");
        print_patterns(v);
        printf(") echo \"");
        each_word(v, print_word, NULL);
        printf("\"");
        if (takes_box(v))
            printf("; command iii sandbox list 2>/dev/null | awk 'NR > 1 { print $1 }'");
        printf(" ;;\n");
    }
    printf("    esac\n}\n\n");
}

static void print_bash(void)
{
    printf("# bash completion for iii: source it, or put it into /usr/share/bash-completion/completions/iii\n\n");
    print_path_function();
    printf("_iii() {\n"
           "    local cur=\"${COMP_WORDS[COMP_CWORD]}\"\n"
           "    local path\n"
           "    path=\"$(_iii_path \"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\"\n"
           "    mapfile -t COMPREPLY < <(compgen -W \"$(_iii_words \"$path\")\" -- \"$cur\")\n"
           "}\n"
           "complete -o default -F _iii iii\n");
}

static void print_zsh(void)
{
    printf("#compdef iii\n# zsh completion for iii: put it as _iii into a folder of $fpath\n\n");
    print_path_function();
    printf("_iii() {\n"
           "    local -a candidates\n"
           "    candidates=(${=\"$(_iii_words \"$(_iii_path \"${(@)words[2,CURRENT-1]}\")\")\"})\n"
           "    compadd -a candidates\n"
           "    _files\n"
           "}\n"
           "if [ \"$funcstack[1]\" = \"_iii\" ]; then _iii \"$@\"; else compdef _iii iii; fi\n");
}

/* --- fish --- */

/* Inside single quotes fish knows \' and \\. */
static void print_fish_quoted(const char *text)
{
    (void)putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            (void)putchar('\\');
        (void)putchar(*text);
    }
    (void)putchar('\'');
}

struct fish_place {
    const char *prefix, *path;
};

static void print_fish_word(void *arg, const char *word, const char *help)
{
    const struct fish_place *at = arg;
    printf("complete -c iii -n '__iii_at \"%s%s\"' %s %s", at->prefix, at->path, word[0] == '-' ? "-l" : "-f -a",
           word[0] == '-' ? word + 2 : word);
    if (*help) {
        printf(" -d ");
        print_fish_quoted(help);
    }
    printf("\n");
}

static void print_fish_verb(const struct verbs_verb *v, const char *prefix)
{
    struct fish_place at = { prefix, v->path };
    each_word(v, print_fish_word, &at);
    if (takes_box(v))
        printf("complete -c iii -n '__iii_at \"%s%s\"' -f -a "
               "'(command iii sandbox list 2>/dev/null | awk \"NR > 1 { print \\\\$1 }\")'\n",
               prefix, v->path);
}

static void print_fish(void)
{
    struct fish_place top = { "", "" };
    printf("# fish completion for iii: put it into ~/.config/fish/completions/iii.fish\n\n"
           "function __iii_at\n"
           "    set -l known\n"
           "    for word in (commandline -opc)[2..-1]\n"
           "        set -l longer (string join ' ' $known $word)\n"
           "        if contains -- \"$longer\"");
    for (const struct verbs_verb *v = verbtable_rows; v->path; v++) {
        printf(" '%s'", v->path);
        if (is_boxish(v))
            printf(" '%s%s'", box_alias, v->path);
    }
    printf("\n            set known $longer\n        end\n    end\n    test \"$known\" = \"$argv[1]\"\nend\n\n");
    each_command("", print_fish_word, &top);
    for (const struct verbs_verb *v = verbtable_rows; v->path; v++) {
        print_fish_verb(v, "");
        if (is_boxish(v))
            print_fish_verb(v, box_alias);
    }
}

int completion_run(const struct verbs_args *a)
{
    const char *shell = a->words[0];
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return verbs_usage_error(a->verb, "\"%s\" is none of bash, zsh and fish", shell);
    return 0;
}
