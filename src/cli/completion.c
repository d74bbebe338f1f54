#include "cli/completion.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "cli/cmd_sandbox.h"
#include "cli/operation_verb.h"

enum { PATIENCE_S = 2 }; /* then there are no ids and images to offer */

/* --- candidates --- */

struct offering {
    const char *begun; /* what was typed of the word */
};

static void offer(const struct offering *o, const char *word, const char *help)
{
    if (word && *word && strncmp(word, o->begun, strlen(o->begun)) == 0)
        (void)printf("%s\t%.*s\n", word, (int)strcspn(help, "\n"), help);
}

static void offer_commands(const struct offering *o, const struct verbs_program *p, const char *parent)
{
    for (const struct verbs_verb *v = p->rows; v->path; v++)
        if (verbs_is_below(v, parent) && v->path[0] != '_')
            offer(o, verbs_last_word(v), v->summary);
    if (strcmp(parent, "worker") == 0) /* which accepts `worker sandbox` for `sandbox` */
        offer(o, "sandbox", verbs_find(p, "sandbox")->summary);
}

static void offer_options(const struct offering *o, const struct verbs_option *options, bool is_serve)
{
    char flag[64];
    for (; options && options->name; options++) {
        (void)snprintf(flag, sizeof(flag), "--%s", options->name);
        offer(o, flag, options->help);
    }
    for (const struct settings_row *row = settings_rows; is_serve && row->field; row++)
        offer(o, row->flag, row->help);
    offer(o, "--help", "Print help");
}

/* "pull|import|ls …": the words that an operand may be. */
static void offer_choices(const struct offering *o, const char *operands)
{
    char word[64];
    size_t all = strcspn(operands, " "), len;
    for (size_t at = 0; at < all && memchr(operands, '|', all); at += len + 1) {
        len = strcspn(operands + at, "| ");
        size_t kept = len < sizeof(word) ? len : sizeof(word) - 1; /* the rows are ours, and shorter */
        memcpy(word, operands + at, kept);
        word[kept] = '\0';
        offer(o, word, "");
    }
}

static void offer_box(void *arg, const char *id, const char *name, const char *image)
{
    offer(arg, id, image);
    if (strcmp(name, id) != 0)
        offer(arg, name, image);
}

/* What a list of the server holds: sandboxes by id and name, images by name. */
static void offer_objects(const struct offering *o, const struct verbs_args *a, const struct op *op, const char *list)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    JSON_OWNED params = op == &spec_ops[OP_ID_sandbox_list] ? json_pack("{s:i}", "pageSize", 200) : json_object();
    if (operation_verb_link(a, &link) != 0 || operation_verb_call(&link, op, params, &answer) != 0)
        return;
    const json_t *rows = json_get(answer.body, list);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = json_get_str(row, "name", "");
        if (op == &spec_ops[OP_ID_image_list])
            offer(o, name, "");
        else
            offer_box((void *)(uintptr_t)o, json_get_str(row, "id", ""), name, json_get_str(row, "image", ""));
    }
}

static const struct verbs_option *option_of(const struct verbs_verb *v, const char *word)
{
    for (const struct verbs_option *o = v ? v->options : NULL; o && o->name; o++)
        if ((word[0] == '-' && word[1] == '-' && strcmp(word + 2, o->name) == 0) ||
            (word[0] == '-' && o->letter && word[1] == o->letter && !word[2]))
            return o;
    return NULL;
}

int completion_words(const struct verbs_args *a)
{
    bool is_marked = a->n_tail > 0 && strcmp(a->tail[0], "--") == 0;
    char **words = a->tail + is_marked;
    int n = a->n_tail - is_marked, used = 0;
    struct offering o = { .begun = n > 0 ? words[n - 1] : "" };
    const struct verbs_verb *v = n > 1 ? verbs_match(a->program, n - 1, words, &used) : NULL;
    const struct verbs_option *before = n > 1 ? option_of(v, words[n - 2]) : NULL;
    (void)alarm(PATIENCE_S);
    if (before && before->value && before->value[0] != '[') {
        static const char *const forms[] = { "table", "wide", "json", "name" };
        for (size_t i = 0; strcmp(before->name, "output") == 0 && i < sizeof(forms) / sizeof(*forms); i++)
            offer(&o, forms[i], "");
        return 0;
    }
    if (o.begun[0] == '-') {
        offer_options(&o, v ? v->options : a->program->general, v && strcmp(v->path, "serve") == 0);
        return 0;
    }
    if (n <= 1 || (v && v->flags & VERBS_GROUP && used == n - 1))
        offer_commands(&o, a->program, v ? v->path : "");
    if (!v)
        return 0;
    offer_choices(&o, v->operands);
    if (v->flags & VERBS_IMAGE)
        offer_objects(&o, a, &spec_ops[OP_ID_image_list], "images");
    if (v->flags & VERBS_BOX && v->flags & VERBS_REST)
        offer_objects(&o, a, &spec_ops[OP_ID_sandbox_list], "items");
    else if (v->flags & VERBS_BOX)
        cmd_sandbox_each(a, offer_box, &o);
    return 0;
}

/* --- scripts --- */

/* % is the program's name, %% the shell's own; in the names of functions _@ is the name without a hyphen. */
static const char bash[] =
    "# bash completion for %: source it, or put it into /usr/share/bash-completion/completions/%\n"
    "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"
    "_@() {\n"
    "    mapfile -t COMPREPLY < <(% __complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | cut -f1)\n"
    "}\n"
    "complete -o default -F _@ %\n";
static const char zsh[] = "#compdef %\n"
                          "# zsh completion for %: put it as _% into a folder of $fpath\n"
                          "_@() {\n"
                          "    local -a found\n"
                          "    local line\n"
                          "    for line in \"${(@f)$(% __complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
                          "        [[ -n $line ]] && found+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
                          "    done\n"
                          "    if (( $#found )); then _describe % found; else _files; fi\n"
                          "}\n"
                          "if [ \"$funcstack[1]\" = \"_@\" ]; then _@ \"$@\"; else compdef _@ %; fi\n";
static const char fish[] =
    "# fish completion for %: put it into ~/.config/fish/completions/%.fish\n"
    "function __@\n"
    "    set -l found (% __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)\n"
    "    if set -q found[1]; string join \\n -- $found; else; __fish_complete_path (commandline -ct); end\n"
    "end\n"
    "complete -c % -f -a '(__@)'\n";

int completion_run(const struct verbs_args *a)
{
    static const struct {
        const char *shell, *script;
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
        if (strcmp(a->words[0], shells[i].shell) != 0)
            continue;
        for (const char *p = shells[i].script; *p; p++) {
            if (p[0] == '%' && p[1] == '%') /* the shell's own */
                (void)fputs("%%", stdout), p++;
            else if (*p == '%')
                (void)fputs(a->program->name, stdout);
            else if (*p == '@' && p[-1] == '_')
                (void)fputs(a->program->is_contract ? "iii_sandbox" : "iii", stdout);
            else
                (void)fputc(*p, stdout);
        }
        return 0;
    }
    return verbs_usage_error(a->verb, "\"%s\" is not one of bash, zsh and fish", a->words[0]);
}
