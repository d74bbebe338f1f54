#include "cli/usage.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define FLAG_MAX 64

void usage_flag(const struct verbs_option *o, char *ret, size_t size)
{
    char letter[8] = "    ";
    if (o->letter)
        (void)snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    (void)snprintf(ret, size, "%s--%s%s%s", letter, o->name, o->value && o->value[0] != '[' ? " " : "",
                   o->value ? o->value : "");
}

void usage_print_options(const struct verbs_verb *v, FILE *to)
{
    char flag[FLAG_MAX];
    (void)fprintf(to, "\nOptions:\n");
    for (const struct verbs_option *o = v->options; o && o->name; o++) {
        usage_flag(o, flag, sizeof(flag));
        (void)fprintf(to, "  %-26s %s\n", flag, o->help);
    }
    (void)fprintf(to, "  %-26s %s\n", "-h, --help", "Print this text");
}

void usage_text(const struct verbs_program *p, const char *text, FILE *to)
{
    static const char word[] = "iii ";
    for (const char *at; (at = strstr(text, word)); text = at + strlen(word)) {
        bool is_command = at == text || strchr(" `(|\n", at[-1]);
        (void)fprintf(to, "%.*s%s ", (int)(at - text), text, is_command ? p->name : "iii");
    }
    (void)fputs(text, to);
}

/* The commands below parent that have the flags of mask set as in flags. */
static void print_below(const struct verbs_program *p, const char *parent, unsigned mask, unsigned flags,
                        const char *title, FILE *to)
{
    int width = 12;
    bool is_first = true;
    for (const struct verbs_verb *v = p->rows; v->path; v++)
        if (verbs_is_below(v, parent) && (int)strlen(verbs_last_word(v)) > width)
            width = (int)strlen(verbs_last_word(v));
    for (const struct verbs_verb *v = p->rows; v->path; v++) {
        if (!verbs_is_below(v, parent) || v->path[0] == '_' || (v->flags & mask) != flags)
            continue;
        if (is_first)
            (void)fprintf(to, "\n%s:\n", title);
        is_first = false;
        (void)fprintf(to, "  %-*s %s\n", width, verbs_last_word(v), v->summary);
    }
}

static void print_indented(const struct verbs_program *p, const char *lines, FILE *to)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        CLEANUP(free_p) char *line = xstrndup(lines, len);
        (void)fputs("  ", to);
        usage_text(p, line, to);
        (void)fputc('\n', to);
        lines += len + (lines[len] == '\n');
    }
}

void usage_print(const struct verbs_program *p, const struct verbs_verb *v, FILE *to)
{
    bool is_group = v->flags & VERBS_GROUP;
    (void)fprintf(to, "Usage: %s %s%s%s%s\n\n%s.\n", p->name, v->path, v->options ? " [OPTIONS]" : "",
                  *v->operands ? " " : "", v->operands, v->summary);
    if (v->about) {
        (void)fputc('\n', to);
        usage_text(p, v->about, to);
        (void)fputc('\n', to);
    }
    if (is_group)
        print_below(p, v->path, 0, 0, "Commands", to);
    if (v->run)
        usage_print_options(v, to);
    if (v->examples) {
        (void)fprintf(to, "\nExamples:\n");
        print_indented(p, v->examples, to);
    }
    if (v->exits)
        (void)fprintf(to, "\nExit codes: %s\n", v->exits);
    if (is_group)
        (void)fprintf(to, "\n`%s %s COMMAND --help` has details.\n", p->name, v->path);
}

void usage_print_all(const struct verbs_program *p, FILE *to)
{
    struct verbs_verb none = { .options = p->general };
    (void)fprintf(to, "%s: %s\n\nUsage: %s\n", p->name, p->summary, p->usage);
    print_below(p, "", VERBS_REST | VERBS_MORE, VERBS_REST, "Sandboxes and images", to);
    print_below(p, "", VERBS_REST | VERBS_MORE, 0, "Server, host and engine", to);
    print_below(p, "", VERBS_MORE, VERBS_MORE, "Further commands", to);
    usage_print_options(&none, to);
    (void)fprintf(to, "\n%s\n\nExamples:\n", p->about);
    print_indented(p, p->examples, to);
    (void)fprintf(to, "\n`%s COMMAND --help` has details.\n", p->name);
}

void usage_print_steps(FILE *to)
{
    (void)fputs("iii runs untrusted code in sandboxes. Three steps:\n\n"
                "  iii serve             start the server here, in another terminal (`iii doctor` checks this host)\n"
                "  iii run -it python    a new sandbox with a Python prompt\n"
                "  iii help              all commands\n",
                to);
}

/* --- the reference page --- */

/* A bar would end a table cell: escapes it. */
static void print_cell(const char *text, FILE *to)
{
    for (; *text; text++)
        if (*text == '|')
            (void)fputs("\\|", to);
        else
            (void)fputc(*text == '\n' ? ' ' : *text, to);
}

static bool is_general(const struct verbs_program *p, const struct verbs_option *o)
{
    for (const struct verbs_option *g = p->general; g && g->name; g++)
        if (strcmp(g->name, o->name) == 0)
            return true;
    return false;
}

void usage_reference(const struct verbs_program *p, FILE *to)
{
    (void)fprintf(to, "\n## %s\n\n", p->name);
    for (const struct verbs_option *g = p->general; !p->is_contract && g->name; g++)
        (void)fprintf(to, "- `--%s%s%s`: %s\n", g->name, g->value ? " " : "", g->value ? g->value : "", g->help);
    if (p->is_contract)
        (void)fputs(
            "All commands of `iii` have this name, too. These are spelled or printed differently, and `image` and\n"
            "`token` are those of the REST API:\n",
            to);
    (void)fputs("\n| Command | | Options |\n|---|---|---|\n", to);
    for (const struct verbs_verb *v = p->rows; v->path; v++) {
        if (!v->run || v->flags & VERBS_QUIET || (p->is_contract && !(v->flags & VERBS_CONTRACT)))
            continue;
        (void)fprintf(to, "| `%s %s%s", p->name, v->path, *v->operands ? " " : "");
        print_cell(v->operands, to);
        (void)fputs("` | ", to);
        print_cell(v->summary, to);
        (void)fputs(" |", to);
        for (const struct verbs_option *o = v->options; o && o->name; o++)
            if (!is_general(p, o))
                (void)fprintf(to, " `--%s`", o->name);
        (void)fputs(" |\n", to);
    }
}
