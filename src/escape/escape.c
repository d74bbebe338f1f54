/* The report of `iii doctor --escape`. */
#include "escape/escape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "escape/suite.h"

static const char help[] =
    "Usage: iii doctor --escape [--json] [--all]\n"
    "\n"
    "Starts a server of its own in a throw-away folder, runs hostile programs in its sandboxes and\n"
    "looks from outside at what they reached. Nothing of a running server is touched; nothing is\n"
    "sent to the network. Run it on the host, and as the user, that the server will run as.\n"
    "\n"
    "  --json   the same as JSON: {\"ok\", \"rows\": [{item, name, result, detail}]}\n"
    "  --all    every try, not only what was reached or skipped\n"
    "  --help   this text\n"
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
              { 17, "Side doors" } };

struct style {
    const char *good, *bad, *weak, *bold, *off;
};

static size_t count(const json_t *rows, int item, const char *result)
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
        size_t reached = count(rows, items[i].item, "reached"), denied = count(rows, items[i].item, "denied"),
               skipped = count(rows, items[i].item, "skipped");
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
    size_t reached = count(rows, 0, "reached"), denied = count(rows, 0, "denied");
    if (reached)
        printf("\n%s%zu of %zu tries got through.%s Do not run code that you do not trust here; please report it: "
               "SECURITY.md says how.\n",
               st->bad, reached, reached + denied, st->off);
    else
        printf("\n%sNothing got out:%s %zu tries, all denied.\n", st->good, st->off, denied);
}

static int play(const char *data_dir, struct suite *s, struct err *err)
{
    static suite_scene *const scenes[] = { scenes_probes, scenes_files, scenes_neighbours, scenes_forks, scenes_kill };
    int r = suite_open(s, data_dir, err);
    if (r < 0)
        return r;
    if (!(s->box = suite_create(s, NULL, err)) || !(s->neighbour = suite_create(s, NULL, err)))
        return -EIO;
    for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
        scenes[i](s);
    return 0;
}

int escape_main(const char *data_dir, int argc, char **argv)
{
    static const struct style plain = { "", "", "", "", "" },
                              coloured = { "\033[32m", "\033[31m", "\033[33m", "\033[1m", "\033[0m" };
    bool wants_json = false, wants_all = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            (void)fputs(help, stdout);
            return 0;
        }
        wants_json |= strcmp(argv[i], "--json") == 0;
        wants_all |= strcmp(argv[i], "--all") == 0;
        if (strcmp(argv[i], "--json") != 0 && strcmp(argv[i], "--all") != 0 && strcmp(argv[i], "--escape") != 0) {
            (void)fprintf(stderr,
                          "iii doctor: unknown argument \"%s\"; with --escape it takes --json, --all and --help\n",
                          argv[i]);
            return 2;
        }
    }
    struct err err = ERR_INIT;
    CLEANUP(suite_close) struct suite s = { 0 };
    if (play(data_dir, &s, &err) < 0) {
        (void)fprintf(stderr, "iii doctor: the escape suite could not run: %s\n", err.msg);
        return 1;
    }
    bool is_ok = count(s.rows, 0, "reached") == 0 && count(s.rows, 0, "denied") > 0;
    if (wants_json) {
        JSON_OWNED answer = json_pack("{s:b, s:O}", "ok", is_ok, "rows", s.rows);
        return json_dumpf(answer, stdout, JSON_INDENT(1)) < 0 || putchar('\n') == EOF || !is_ok;
    }
    print_report(s.rows, wants_all, isatty(STDOUT_FILENO) && !getenv("NO_COLOR") ? &coloured : &plain);
    return !is_ok;
}
