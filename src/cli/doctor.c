/* The table of `iii doctor`. */
#include "cli/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct style {
    const char *good, *bad, *weak, *faint, *bold, *off;
};

static const struct style plain = { "", "", "", "", "", "" };
static const struct style coloured = { "\033[32m", "\033[31m", "\033[33m", "\033[2m", "\033[1m", "\033[0m" };

static const char help[] = "Usage: iii doctor [--escape | --vm] [--config FILE] [--data-dir FOLDER] [--json]\n"
                           "\n"
                           "Checks what this host supports: namespaces, mounts, cgroups, system call filters,\n"
                           "networks, disk. Every line is the result of a test that was just run.\n"
                           "\n"
                           "  --escape  run the escape suite instead (--escape --help)\n"
                           "  --vm      boot, use, save and restore a VM instead (--vm --help)\n"
                           "  --config FILE, --data-dir FOLDER\n"
                           "            the settings of the server that will run here, as for `iii serve`\n"
                           "  --json    the same as JSON: {\"ok\", \"checks\": [{name, ok, required, detail, fix}]}\n"
                           "  --help    this text\n"
                           "\n"
                           "Exit code: 0 sandboxes can be created here, 1 they cannot, 2 wrong usage.\n";

static bool is_ok(const json_t *row)
{
    return json_get_bool(row, "ok", false);
}

static bool is_required(const json_t *row)
{
    return json_get_bool(row, "required", false);
}

/* How many required (want_required), or recommended, checks fail. */
static size_t count_missing(const json_t *checks, bool want_required)
{
    size_t i, n = 0;
    json_t *row;
    json_array_foreach(checks, i, row)
    {
        n += !is_ok(row) && is_required(row) == want_required;
    }
    return n;
}

static void print_table(const json_t *checks, const struct style *s)
{
    size_t i;
    json_t *row;
    int width = 0;
    json_array_foreach(checks, i, row)
    {
        int len = (int)strlen(json_get_str(row, "name", ""));
        width = len > width ? len : width;
    }
    json_array_foreach(checks, i, row)
    {
        const char *colour = is_ok(row) ? s->good : is_required(row) ? s->bad : s->weak;
        const char *word = is_ok(row) ? "ok" : is_required(row) ? "MISSING" : "no";
        printf("%s%-7s%s  %s%-*s%s  %s\n", colour, word, s->off, s->bold, width, json_get_str(row, "name", "?"), s->off,
               json_get_str(row, "detail", ""));
        if (!is_ok(row) && json_get_str(row, "fix", "")[0])
            printf("%-7s  %-*s  %s-> %s%s\n", "", width, "", s->faint, json_get_str(row, "fix", ""), s->off);
    }
}

static void print_verdict(const json_t *checks, const struct style *s)
{
    size_t missing = count_missing(checks, true), weak = count_missing(checks, false);
    if (json_array_size(checks) == 0)
        printf("\n%sNothing was checked: no driver answered.%s\n", s->bad, s->off);
    else if (missing)
        printf("\n%sSandboxes cannot be created here: %zu requirement%s missing (marked MISSING above).%s\n", s->bad,
               missing, missing == 1 ? " is" : "s are", s->off);
    else if (weak)
        printf("\n%sSandboxes can be created here%s, with %zu limitation%s.\n", s->good, s->off, weak,
               weak == 1 ? "" : "s");
    else
        printf("\n%sSandboxes can be created here.%s\n", s->good, s->off);
}

int doctor_print(const json_t *checks, int argc, char **argv)
{
    bool wants_json = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            (void)fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--json") != 0) {
            (void)fprintf(
                stderr,
                "iii doctor: unknown argument \"%s\"; it accepts --escape, --vm, --config, --data-dir, --json "
                "and --help\n",
                argv[i]);
            return 2;
        }
        wants_json = true;
    }
    bool can_run = json_array_size(checks) > 0 && count_missing(checks, true) == 0;
    if (wants_json) {
        JSON_OWNED answer = json_pack("{s:b, s:O}", "ok", can_run, "checks", checks);
        bool is_written = answer && json_dumpf(answer, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF;
        return fflush(stdout) == EOF || !is_written || !can_run;
    }
    const struct style *s = isatty(STDOUT_FILENO) && !getenv("NO_COLOR") ? &coloured : &plain;
    print_table(checks, s);
    print_verdict(checks, s);
    return !can_run;
}
