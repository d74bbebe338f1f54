#include "cli/usage.h"

#include <string.h>

#define FLAG_MAX 64

void usage_flag(const struct verbs_option *o, char *ret, size_t size)
{
    char letter[8] = "    ";
    if (o->letter)
        (void)snprintf(letter, sizeof(letter), "-%c, ", o->letter);
    (void)snprintf(ret, size, "%s--%s%s%s", letter, o->name, o->value ? " " : "", o->value ? o->value : "");
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

static void print_below(const char *parent, FILE *to)
{
    (void)fprintf(to, "\nCommands:\n");
    for (const struct verbs_verb *v = verbtable_rows; v->path; v++)
        if (verbs_is_below(v, parent))
            (void)fprintf(to, "  %-12s %s\n", verbs_last_word(v), v->summary);
}

static void print_indented(const char *lines, FILE *to)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        (void)fprintf(to, "  %.*s\n", (int)len, lines);
        lines += len + (lines[len] == '\n');
    }
}

void usage_print(const struct verbs_verb *v, FILE *to)
{
    bool is_group = v->flags & VERBS_GROUP;
    (void)fprintf(to, "Usage: iii %s%s%s%s\n\n%s.\n", v->path, v->options ? " [OPTIONS]" : "", *v->operands ? " " : "",
                  v->operands, v->summary);
    if (v->about)
        (void)fprintf(to, "\n%s\n", v->about);
    if (is_group)
        print_below(v->path, to);
    else
        usage_print_options(v, to);
    if (v->examples) {
        (void)fprintf(to, "\nExamples:\n");
        print_indented(v->examples, to);
    }
    if (v->exits)
        (void)fprintf(to, "\nExit codes: %s\n", v->exits);
    if (is_group)
        (void)fprintf(to, "\n`iii %s COMMAND --help` tells more.\n", v->path);
}

void usage_print_all(FILE *to)
{
    (void)fprintf(to, "iii: run untrusted code in sandboxes that start in milliseconds\n\n"
                      "Usage: iii [-c FILE] [COMMAND [OPTIONS]]\n");
    print_below("", to);
    (void)fprintf(to, "\nWithout a command the server runs, with config.yaml of this folder when there is one.\n"
                      "\nExamples:\n"
                      "  iii serve                                      # REST on port 3111, engine on port 49134\n"
                      "  iii sandbox run python -- python3 -c 'print(2+2)'\n"
                      "  iii trigger sandbox::run image=python lang=python code='print(2+2)' | jq -r .stdout\n"
                      "  iii doctor                                     # what this host can do\n"
                      "\n`iii COMMAND --help` tells more.\n");
}
