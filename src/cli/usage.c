#include "cli/usage.h"

#include <string.h>

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

static void print_below(const struct verbs_program *p, const char *parent, FILE *to)
{
    int width = 12;
    for (const struct verbs_verb *v = p->rows; v->path; v++)
        if (verbs_is_below(v, parent) && (int)strlen(verbs_last_word(v)) > width)
            width = (int)strlen(verbs_last_word(v));
    (void)fprintf(to, "\nCommands:\n");
    for (const struct verbs_verb *v = p->rows; v->path; v++)
        if (verbs_is_below(v, parent))
            (void)fprintf(to, "  %-*s %s\n", width, verbs_last_word(v), v->summary);
}

static void print_indented(const char *lines, FILE *to)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        (void)fprintf(to, "  %.*s\n", (int)len, lines);
        lines += len + (lines[len] == '\n');
    }
}

void usage_print(const struct verbs_program *p, const struct verbs_verb *v, FILE *to)
{
    bool is_group = v->flags & VERBS_GROUP;
    (void)fprintf(to, "Usage: %s %s%s%s%s\n\n%s.\n", p->name, v->path, v->options ? " [OPTIONS]" : "",
                  *v->operands ? " " : "", v->operands, v->summary);
    if (v->about)
        (void)fprintf(to, "\n%s\n", v->about);
    if (is_group)
        print_below(p, v->path, to);
    if (v->run)
        usage_print_options(v, to);
    if (v->examples) {
        (void)fprintf(to, "\nExamples:\n");
        print_indented(v->examples, to);
    }
    if (v->exits)
        (void)fprintf(to, "\nExit codes: %s\n", v->exits);
    if (is_group)
        (void)fprintf(to, "\n`%s %s COMMAND --help` has details.\n", p->name, v->path);
}

void usage_print_all(const struct verbs_program *p, FILE *to)
{
    (void)fprintf(to, "%s: %s\n\nUsage: %s\n", p->name, p->summary, p->usage);
    print_below(p, "", to);
    (void)fprintf(to, "\n%s\n\nExamples:\n", p->about);
    print_indented(p->examples, to);
    (void)fprintf(to, "\n`%s COMMAND --help` has details.\n", p->name);
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
    for (const struct verbs_option *g = p->general; g && g->name; g++)
        (void)fprintf(to, "- `--%s%s%s`: %s\n", g->name, g->value ? " " : "", g->value ? g->value : "", g->help);
    (void)fprintf(to, "%s| Command | | Options |\n|---|---|---|\n", p->general ? "\n" : "");
    for (const struct verbs_verb *v = p->rows; v->path; v++) {
        if (!v->run || v->flags & VERBS_QUIET)
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
