/* sandbox::fs::grep and sed. The matching is done inside the sandbox; here the request is checked and the rows are
 * told. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/fn.h"
#include "base/alloc.h"
#include "base/strlist.h"
#include "guest/proto_regex.h"

#define MATCHES_DEFAULT 10000
#define LINE_DEFAULT    4096

struct text {
    struct call *c;
    struct sandbox *s; /* a reference */
    char **include, **exclude, **paths;
    const char *pattern, *replacement;
    unsigned flags;
    int64_t max_matches, max_line;
};

static struct call *text_free(struct text *t)
{
    struct call *c = t->c;
    sandbox_unref(t->s);
    strlist_free(t->include);
    strlist_free(t->exclude);
    strlist_free(t->paths);
    free(t);
    return c;
}

static void text_fail(struct text *t, const struct err *err)
{
    struct sandbox *s = sandbox_ref(t->s);
    CLEANUP(free_p) char *path = xstrdup(t->paths[0]);
    struct call *c = text_free(t);
    if (err->sys == EISDIR && !s->is_gone) {
        fn_fix(c, json_pack("{s:b}", "recursive", true), FN_MERGE("recursive: true"));
        fn_fail(c, "S210", "%s is a directory: pass recursive: true", path);
    } else
        fn_fail_file(c, s, err, path);
    sandbox_unref(s);
}

static void read_flag(struct text *t, const char *key, bool fallback, unsigned flag)
{
    if (call_bool(t->c, key, fallback))
        t->flags |= flag;
}

static struct text *text_new(struct call *c)
{
    struct text *t = xzalloc(sizeof(*t));
    *t = (struct text){ .c = c,
                        .pattern = call_str(c, "pattern", ""),
                        .replacement = call_str(c, "replacement", NULL),
                        .include = strlist_from_json(json_get(call_params(c), "include_glob")),
                        .exclude = strlist_from_json(json_get(call_params(c), "exclude_glob")),
                        .max_matches = call_int(c, "max_matches", MATCHES_DEFAULT),
                        .max_line = call_int(c, "max_line_bytes", LINE_DEFAULT) };
    read_flag(t, "recursive", true, GUEST_TEXT_RECURSIVE);
    read_flag(t, "ignore_case", false, GUEST_TEXT_ICASE);
    read_flag(t, "first_only", false, GUEST_TEXT_FIRST_ONLY);
    return t;
}

/* Fields that make a pattern match what it says letter by letter. */
static json_t *literal_fix(const struct text *t)
{
    if (t->replacement)
        return json_pack("{s:b}", "regex", false);
    CLEANUP(buf_done) struct buf out = BUF_INIT(2 * strlen(t->pattern) + 1);
    for (const char *p = t->pattern; *p; p++)
        if ((strchr("\\.+*?()|[]{}^$", *p) && buf_add_str(&out, "\\") < 0) || buf_add(&out, p, 1) < 0)
            return NULL;
    return json_pack("{s:s}", "pattern", buf_text(&out));
}

/* The sandbox is there, the pattern compiles; else the call has failed. */
static bool is_ready(struct text *t, int r)
{
    struct sandbox *s = r == 0 ? fn_find(t->c) : NULL;
    const char *why = NULL;
    /* The agent checks the pattern, too; here it costs no round trip, and the error text is not the sandbox's. */
    unsigned how = t->flags & GUEST_TEXT_LITERAL ? PROTO_REGEX_LITERAL : 0u;
    struct proto_regex *re = s ? proto_regex_new(t->pattern, how, &why) : NULL;
    if (s && !re) {
        fn_fix(t->c, literal_fix(t), FN_MERGE("it looks for the pattern as it is written"));
        (void)fn_set_fault(t->c, "S217", "invalid regex pattern: %.200s: %s", t->pattern, why);
    }
    if (!re) {
        fn_fail_fault(text_free(t));
        return false;
    }
    proto_regex_free(re);
    t->s = sandbox_ref(s);
    return true;
}

static void text_start(struct text *t,
                       int (*ask)(struct guest_link *, const struct guest_text_plan *, guest_rows_fn *, void *),
                       guest_rows_fn *fn)
{
    struct guest_text_plan plan = { .flags = t->flags,
                                    .pattern = t->pattern,
                                    .replacement = t->replacement,
                                    .include = (const char *const *)t->include,
                                    .exclude = (const char *const *)t->exclude,
                                    .paths = (const char *const *)t->paths,
                                    .max_matches = (uint64_t)t->max_matches,
                                    .max_line_bytes = (uint32_t)t->max_line };
    int r = ask(t->s->link, &plan, fn, t);
    if (r < 0) {
        struct sandbox *s = sandbox_ref(t->s);
        CLEANUP(free_p) char *path = xstrdup(t->paths[0]);
        fn_fail_start(text_free(t), s, r, path);
        sandbox_unref(s);
    }
}

/* --- grep --- */

static void on_matches(void *arg, const struct guest_row *rows, size_t n, const struct err *err)
{
    struct text *t = arg;
    if (err) {
        text_fail(t, err);
        return;
    }
    bool is_cut = n > 0 && !*rows[n - 1].path;
    json_t *matches = json_array();
    for (size_t i = 0; i < n - (is_cut ? 1 : 0); i++) {
        json_t *path = json_text(rows[i].path, strlen(rows[i].path));
        (void)json_array_append_new(matches, json_pack("{s:O, s:I, s:o, s:o, s:I}", "path", path, "line",
                                                       (json_int_t)rows[i].number, "content",
                                                       json_text(rows[i].text, strlen(rows[i].text)), "file", path,
                                                       "line_no", (json_int_t)rows[i].number));
    }
    call_ok(text_free(t), json_pack("{s:o, s:b}", "matches", matches, "truncated", is_cut));
}

void api_fn_grep(struct call *c)
{
    struct text *t = text_new(c);
    strlist_add(&t->paths, fn_path(c, "path"));
    if (is_ready(t, fn_read_id(c)))
        text_start(t, guest_fs_grep, on_matches);
}

/* --- sed --- */

static void on_edited(void *arg, const struct guest_row *rows, size_t n, const struct err *err)
{
    struct text *t = arg;
    if (err) {
        text_fail(t, err);
        return;
    }
    json_t *results = json_array();
    json_int_t total = 0;
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_pack("{s:o, s:I, s:b}", "path", json_text(rows[i].path, strlen(rows[i].path)),
                                "replacements", (json_int_t)rows[i].number, "success", rows[i].is_set);
        if (!rows[i].is_set)
            (void)json_object_set_new(row, "error", json_text(rows[i].text, strlen(rows[i].text)));
        total += (json_int_t)rows[i].number;
        (void)json_array_append_new(results, row);
    }
    call_ok(text_free(t), json_pack("{s:o, s:I}", "results", results, "total_replacements", total));
}

static int read_targets(struct text *t)
{
    struct call *c = t->c;
    CLEANUP(strlist_free_p) char **files = strlist_from_json(json_get(call_params(c), "files"));
    const char *path = json_get(call_params(c), "path") ? fn_path(c, "path") : NULL;
    if (files && path)
        return fn_set_fault(c, "S210", "give `files` or `path`, not both");
    if (!files && !path)
        return fn_set_fault(c, "S210", "give one of `files` (a list) and `path`");
    if (path) {
        t->flags |= GUEST_TEXT_ROOT;
        strlist_add(&t->paths, path);
    }
    for (char **f = files; f && *f; f++) {
        CLEANUP(free_p) char *absolute = xasprintf("%s%s", **f == '/' ? "" : "/", *f);
        strlist_add(&t->paths, absolute);
    }
    if (files) { /* globs and recursion belong to path */
        t->flags &= ~(unsigned)GUEST_TEXT_RECURSIVE;
        t->include = strlist_free(t->include);
        t->exclude = strlist_free(t->exclude);
    }
    return 0;
}

void api_fn_sed(struct call *c)
{
    struct text *t = text_new(c);
    bool is_regex = call_bool(c, "regex", true);
    if (!is_regex)
        t->flags |= GUEST_TEXT_LITERAL;
    int r = fn_read_id(c);
    if (r == 0)
        r = read_targets(t);
    if (r == 0 && !is_regex && !*t->pattern)
        r = fn_set_fault(c, "S210", "an empty literal pattern matches nothing in particular");
    if (is_ready(t, r))
        text_start(t, guest_fs_sed, on_edited);
}
