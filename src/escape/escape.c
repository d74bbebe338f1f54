/* The report of `iii doctor --escape`. */
#include "escape/escape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "escape/escape_vm.h"

static const char help[] =
    "Usage: iii doctor --escape [--backend NAME] [--json] [--all]\n"
    "\n"
    "Starts its own server in a temporary folder, runs attacks in its sandboxes and checks from\n"
    "outside what they reached. It touches no running server and sends nothing to a network.\n"
    "Run it on the server's host, as the server's user.\n"
    "\n"
    "  --backend NAME   native, qemu, firecracker or krun; default III_ISOLATION_BACKEND, otherwise native.\n"
    "                   VMs run an image made of the host's busybox\n"
    "  --json           the same as JSON: {\"ok\", \"rows\": [{item, name, result, detail}]}\n"
    "  --all            every try, not only what was reached or skipped\n"
    "  --help           this text\n"
    "\n"
    "Exit code: 0 nothing got out, 1 something did or the suite could not run, 2 wrong usage.\n";

static const struct {
    int item;
    const char *title;
} items[] = { { 1, "Handles left open" },
              { 2, "Overwriting the runtime" },
              { 5, "Paths of the file API" },
              { 6, "Namespaces and system calls" },
              { 7, "Privilege" },
              { 8, "Control groups" },
              { 10, "Network" },
              { 12, "Forks" },
              { 14, "Shared page cache" },
              { 15, "Kill" },
              { 17, "Other paths" },
              { 18, "VMMs" } };

struct style {
    const char *good, *bad, *weak, *bold, *off;
};

static size_t count_rows(const json_t *rows, int item, const char *result)
{
    size_t i, n = 0;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        n +=
            (item == 0 || json_get_int(row, "item", 0) == item) && strcmp(json_get_str(row, "result", ""), result) == 0;
    }
    return n;
}

static void print_rows(const json_t *rows, int item, bool wants_all, const struct style *st)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *result = json_get_str(row, "result", "?");
        bool is_denied = strcmp(result, "denied") == 0, is_skipped = strcmp(result, "skipped") == 0;
        if (json_get_int(row, "item", 0) != item || (is_denied && !wants_all))
            continue;
        printf("    %s%-8s%s %s: %s\n",
               is_denied    ? st->good
               : is_skipped ? st->weak
                            : st->bad,
               is_denied || is_skipped ? result : "REACHED", st->off, json_get_str(row, "name", "?"),
               json_get_str(row, "detail", ""));
    }
}

static void print_report(const json_t *rows, bool wants_all, const struct style *st)
{
    for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
        size_t reached = count_rows(rows, items[i].item, "reached"), denied = count_rows(rows, items[i].item, "denied"),
               skipped = count_rows(rows, items[i].item, "skipped");
        if (reached + denied + skipped == 0)
            continue;
        printf("%s%-7s%s %s%2d  %s%s  %zu denied", reached ? st->bad : st->good, reached ? "REACHED" : "ok", st->off,
               st->bold, items[i].item, items[i].title, st->off, denied);
        if (reached)
            printf(", %s%zu reached%s", st->bad, reached, st->off);
        if (skipped)
            printf(", %zu skipped", skipped);
        (void)putchar('\n');
        print_rows(rows, items[i].item, wants_all, st);
    }
    size_t reached = count_rows(rows, 0, "reached"), denied = count_rows(rows, 0, "denied");
    if (reached)
        printf("\n%s%zu of %zu attempts succeeded.%s Do not run untrusted code here; please report it: "
               "SECURITY.md says how.\n",
               st->bad, reached, reached + denied, st->off);
    else
        printf("\n%sNothing got out:%s %zu tries, all denied.\n", st->good, st->off, denied);
}

static int play(const char *data_dir, const char *backend, struct suite *s, struct err *err)
{
    static suite_scene *const scenes[] = { scenes_probes, scenes_files, scenes_neighbours, scenes_forks, scenes_kill };
    int r = suite_open(s, data_dir, backend, err);
    if (r < 0)
        return r;
    if (!(s->box = suite_create(s, NULL, err)) || !(s->neighbour = suite_create(s, NULL, err)))
        return -EIO;
    for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
        scenes[i](s);
    if (s->is_vm) {
        escape_vm_vmms(s);
        escape_vm_judge(s);
    }
    return 0;
}

struct arguments {
    bool wants_json, wants_all, wants_help;
    const char *backend;
};

/* -EINVAL: the error was printed. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    const char *configured = getenv("III_ISOLATION_BACKEND");
    a->backend = configured && escape_vm_is(configured) ? configured : "native";
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        bool is_backend = strcmp(word, "--backend") == 0 && i + 1 < argc;
        a->wants_help |= strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
        a->wants_json |= strcmp(word, "--json") == 0;
        a->wants_all |= strcmp(word, "--all") == 0;
        if (is_backend)
            a->backend = argv[++i];
        if (is_backend && !escape_vm_is(a->backend) && strcmp(a->backend, "native") != 0) {
            (void)fprintf(stderr,
                          "iii doctor: --escape supports the backends native, qemu, firecracker and krun, not \"%s\"\n",
                          a->backend);
            return -EINVAL;
        }
        if (!is_backend && !a->wants_help && strcmp(word, "--json") != 0 && strcmp(word, "--all") != 0 &&
            strcmp(word, "--escape") != 0) {
            (void)fprintf(
                stderr,
                "iii doctor: unknown argument \"%s\"; with --escape it accepts --backend NAME, --json, --all and "
                "--help\n",
                word);
            return -EINVAL;
        }
    }
    return 0;
}

int escape_main(const char *data_dir, int argc, char **argv)
{
    static const struct style plain = { "", "", "", "", "" },
                              coloured = { "\033[32m", "\033[31m", "\033[33m", "\033[1m", "\033[0m" };
    struct arguments a = { 0 };
    if (parse_arguments(argc, argv, &a) < 0)
        return 2;
    if (a.wants_help) {
        (void)fputs(help, stdout);
        return 0;
    }
    struct err err = ERR_INIT;
    CLEANUP(suite_close) struct suite s = { 0 };
    if (play(data_dir, a.backend, &s, &err) < 0) {
        (void)fprintf(stderr, "iii doctor: the escape suite could not run: %s\n", err.msg);
        return 1;
    }
    bool is_ok = count_rows(s.rows, 0, "reached") == 0 && count_rows(s.rows, 0, "denied") > 0;
    if (a.wants_json) {
        JSON_OWNED answer = json_pack("{s:b, s:O}", "ok", is_ok, "rows", s.rows);
        return json_dumpf(answer, stdout, JSON_INDENT(1)) < 0 || putchar('\n') == EOF || !is_ok;
    }
    print_report(s.rows, a.wants_all, isatty(STDOUT_FILENO) && !getenv("NO_COLOR") ? &coloured : &plain);
    return !is_ok;
}
