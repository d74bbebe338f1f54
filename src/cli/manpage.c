#include "cli/manpage.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/settings.h"
#include "base/utf8.h"
#include "cli/usage.h"
#include "cli/verb_program.h"

/* A character beyond ASCII, of n bytes, as roff writes it. */
static void print_wide(FILE *to, const char *text, size_t n)
{
    unsigned code = (unsigned char)text[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    (void)fprintf(to, "\\[u%04X]", code);
}

/* Text for roff: no line may begin with a control character, hyphens stay hyphens when copied. */
static void print_text(FILE *to, const char *text)
{
    bool is_start = true;
    for (; *text; text++) {
        size_t n = utf8_step(text, strlen(text));
        if (n > 1) {
            print_wide(to, text, n);
            text += n - 1;
            is_start = false;
            continue;
        }
        if (is_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", to);
        if (*text == '\\')
            (void)fputs("\\e", to);
        else if (*text == '-')
            (void)fputs("\\-", to);
        else
            (void)fputc(*text, to);
        is_start = *text == '\n';
    }
}

static void print_upper(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text == ' ' || *text == '-')
            (void)fputs("\\-", to);
        else
            (void)fputc(toupper((unsigned char)*text), to);
}

static void print_title(FILE *to, const struct verbs_args *a, const char *path)
{
    (void)fputs(".TH \"", to);
    print_upper(to, a->program->name);
    (void)fputs(*path ? "\\-" : "", to);
    print_upper(to, path);
    (void)fprintf(to, "\" 1 \"\" \"iii %s\"\n", a->hooks->version);
}

static void print_option(FILE *to, const char *flag, const char *help)
{
    (void)fputs(".TP\n.B ", to);
    print_text(to, flag + strspn(flag, " "));
    (void)fputc('\n', to);
    print_text(to, help);
    (void)fputc('\n', to);
}

static void print_options(FILE *to, const struct verbs_verb *v)
{
    char flag[96];
    (void)fputs(".SH OPTIONS\n", to);
    for (const struct verbs_option *o = v->options; o && o->name; o++) {
        usage_flag(o, flag, sizeof(flag));
        print_option(to, flag, o->help);
    }
    if (strcmp(v->path, "serve") == 0) {
        for (const struct settings_row *row = settings_rows; row->field; row++) {
            (void)snprintf(flag, sizeof(flag), "%s%s%s", row->flag, *row->flag ? ", " : "", row->env);
            print_option(to, flag, row->help);
        }
    }
    print_option(to, "-h, --help", "Print help");
}

static void print_dashed(FILE *to, const char *name, const char *path)
{
    print_text(to, name);
    (void)fputs(*path ? "\\-" : "", to);
    for (; *path; path++)
        (void)fputs(*path == ' ' || *path == '-' ? "\\-" : (char[]){ *path, '\0' }, to);
}

static void print_below(FILE *to, const struct verbs_program *p, const char *parent)
{
    (void)fputs(".SH COMMANDS\n", to);
    for (const struct verbs_verb *v = p->rows; v->path; v++) {
        bool has_page = !(v->flags & (VERBS_QUIET | VERBS_CONTRACT));
        if (!verbs_is_below(v, parent) || v->path[0] == '_')
            continue;
        (void)fputs(has_page ? ".TP\n.BR " : ".TP\n.B ", to);
        if (has_page)
            print_dashed(to, VERB_PROGRAM_NAME, v->path);
        else
            print_text(to, v->path);
        (void)fputs(has_page ? " (1)\n" : " ", to);
        if (!has_page) {
            print_text(to, v->operands);
            (void)fputc('\n', to);
        }
        print_text(to, v->summary);
        (void)fputc('\n', to);
    }
}

static void print_page(FILE *to, const struct verbs_args *a, const struct verbs_verb *v)
{
    print_title(to, a, v->path);
    (void)fputs(".SH NAME\n", to);
    print_dashed(to, a->program->name, v->path);
    (void)fputs(" \\- ", to);
    print_text(to, v->summary);
    (void)fputs("\n.SH SYNOPSIS\n.B ", to);
    print_text(to, a->program->name);
    (void)fputs(" ", to);
    print_text(to, v->path);
    (void)fprintf(to, "\n%s", v->options ? "[OPTIONS] " : "");
    print_text(to, v->operands);
    (void)fputs("\n.SH DESCRIPTION\n", to);
    print_text(to, v->about ? v->about : v->summary);
    (void)fputs(v->about ? "\n" : ".\n", to);
    if (v->flags & VERBS_GROUP)
        print_below(to, a->program, v->path);
    if (v->run)
        print_options(to, v);
    if (v->examples) {
        (void)fputs(".SH EXAMPLES\n.nf\n", to);
        print_text(to, v->examples);
        (void)fputs("\n.fi\n", to);
    }
    (void)fputs(".SH EXIT STATUS\n", to);
    print_text(to, v->exits                      ? v->exits
                   : a->program->usage_exit == 1 ? "0 done, 1 failed"
                                                 : "0 done, 1 failed, 2 wrong usage");
    (void)fputs("\n.SH SEE ALSO\n.BR ", to);
    print_text(to, a->program->name);
    (void)fputs(" (1)\n", to);
}

static void print_top(FILE *to, const struct verbs_args *a)
{
    print_title(to, a, "");
    const struct verbs_program *p = a->program;
    (void)fputs(".SH NAME\n", to);
    print_text(to, p->name);
    (void)fputs(" \\- ", to);
    print_text(to, p->summary);
    (void)fputs("\n.SH SYNOPSIS\n", to);
    print_text(to, p->usage);
    (void)fputs("\n.SH DESCRIPTION\n", to);
    print_text(to, p->about);
    (void)fputs("\n", to);
    print_below(to, p, "");
}

/* v NULL: the page of iii itself. 0, or 1 after the error was printed. */
static int write_page(const struct verbs_args *a, const char *dir, const struct verbs_verb *v)
{
    CLEANUP(free_p) char *path = xasprintf("%s/%s%s%s.1", dir, a->program->name, v ? "-" : "", v ? v->path : "");
    for (char *p = path + strlen(dir); *p; p++)
        if (*p == ' ')
            *p = '-';
    FILE *to = fopen(path, "we");
    if (!to) {
        (void)fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
        return 1;
    }
    if (v)
        print_page(to, a, v);
    else
        print_top(to, a);
    bool is_bad = ferror(to);
    if (fclose(to) != 0 || is_bad) {
        (void)fprintf(stderr, "error: %s: cannot write\n", path);
        return 1;
    }
    return 0;
}

int manpage_run(const struct verbs_args *a)
{
    if (a->n_words == 0) {
        print_top(stdout, a);
        return 0;
    }
    int r = write_page(a, a->words[0], NULL); /* the only one of `iii-sandbox`: the others are those of `iii` */
    for (const struct verbs_verb *v = a->program->rows; r == 0 && v->path && !a->program->is_contract; v++)
        r = v->flags & VERBS_QUIET ? 0 : write_page(a, a->words[0], v);
    return r;
}
