/* Settings of `iii serve`. Sources in order of precedence: flags, environment, the YAML file, defaults; every setting
 * is a row of settings.def, and this file only maps names to rows. The file is read once into memory, ${VAR} is
 * expanded in its text, then libfyaml parses it; `workers` goes to worker_settings.c. struct config keeps the command
 * line and the text, so that config_again() can compute what a start with another text would give. A bad flag or file
 * is an error that names the option, or the line and column, and leaves the outputs untouched; a bad environment value
 * is reported through the log and the default is used. */
#include "main/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <libfyaml.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/nearest.h"
#include "main/config/config_help.h"
#include "main/config/worker_settings.h"

#define FILE_MAX  LIMIT_MAX(CONFIG_FILE_BYTES)
#define KEY_MAX   128
#define DEPTH_MAX 8

/* --- the file --- */

struct file {
    const char *path;
    struct settings *settings;
    struct err *err;
};

static int complain(const struct file *f, struct fy_node *at, const char *what)
{
    struct fy_token *token = at && fy_node_is_scalar(at) ? fy_node_get_scalar_token(at) : NULL;
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (!mark)
        return err_set(f->err, ERR_INVALID, 0, "%s: %s", f->path, what);
    return err_set(f->err, ERR_INVALID, 0, "%s:%d:%d: %s", f->path, mark->line + 1, mark->column + 1, what);
}

static const struct settings_row *row_for(const char *key)
{
    for (const struct settings_row *row = settings_rows; row->field; row++)
        if (strcmp(row->yaml, key) == 0)
            return row;
    return NULL;
}

static bool is_group(const char *key)
{
    size_t len = strlen(key);
    for (const struct settings_row *row = settings_rows; row->field; row++)
        if (strncmp(row->yaml, key, len) == 0 && row->yaml[len] == '.')
            return true;
    return false;
}

static int set_value(const struct file *f, const struct settings_row *row, struct fy_node *key, struct fy_node *value)
{
    struct err why = ERR_INIT;
    char what[300];
    bool is_tree = row->type == 'j' && value && fy_node_is_mapping(value);
    if (!is_tree && (!value || !fy_node_is_scalar(value) || fy_node_is_alias(value) || fy_node_is_null(value))) {
        (void)snprintf(what, sizeof(what), "%s needs one value", row->yaml);
        return complain(f, key, what);
    }
    size_t len = 0;
    CLEANUP(free_p) char *tree = is_tree ? fy_emit_node_to_string(value, FYECF_MODE_JSON_ONELINE) : NULL;
    const char *text = is_tree ? tree : fy_node_get_scalar(value, &len);
    if (is_tree)
        len = tree ? strlen(tree) : 0;
    CLEANUP(free_p) char *copy = xstrndup(text ? text : "", text ? len : 0);
    if (settings_set(f->settings, row, copy, &why) == 0)
        return 0;
    (void)snprintf(what, sizeof(what), "%.280s", why.msg);
    return complain(f, value, what);
}

static int read_mapping(const struct file *f, struct fy_node *mapping, const char *parent, int depth);

static int read_pair(const struct file *f, struct fy_node_pair *pair, const char *parent, int depth)
{
    struct fy_node *key_node = fy_node_pair_key(pair), *value = fy_node_pair_value(pair);
    char key[KEY_MAX], what[KEY_MAX + 128];
    size_t len = 0;
    const char *text = key_node && fy_node_is_scalar(key_node) ? fy_node_get_scalar(key_node, &len) : NULL;
    if (!text)
        return complain(f, key_node, "a key must be plain text");
    int n =
        snprintf(key, sizeof(key), "%s%s%.*s", parent, *parent ? "." : "", (int)(len < KEY_MAX ? len : KEY_MAX), text);
    if (strcmp(key, "workers") == 0 || strcmp(key, "modules") == 0) /* the second is an older name */
        return worker_settings_read(f->path, value, f->settings, f->err);
    const struct settings_row *row = n >= 0 && (size_t)n < sizeof(key) ? row_for(key) : NULL;
    if (row)
        return set_value(f, row, key_node, value);
    if (!is_group(key)) {
        char moved[KEY_MAX + 16] = ""; /* "sandbox.image_allowlist" and the like: an older form of "functions." */
        if (strncmp(key, "sandbox.", 8) == 0)
            (void)snprintf(moved, sizeof(moved), "functions.%s", key + 8);
        (void)snprintf(what, sizeof(what), "unknown key \"%s\"%s", key,
                       row_for(moved) ? ": it belongs under workers: - name: iii-sandbox, config:" : "");
        return complain(f, key_node, what);
    }
    if (!value || !fy_node_is_mapping(value) || depth >= DEPTH_MAX) {
        (void)snprintf(what, sizeof(what), "\"%s\" is a group: settings are expected below it", key);
        return complain(f, key_node, what);
    }
    return read_mapping(f, value, key, depth + 1);
}

static int read_mapping(const struct file *f, struct fy_node *mapping, const char *parent, int depth)
{
    void *at = NULL;
    for (struct fy_node_pair *p; (p = fy_node_mapping_iterate(mapping, &at));) {
        int r = read_pair(f, p, parent, depth);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_text(const char *path, struct buf *out, struct err *err)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_INVALID, errno, "open %s", path);
    for (;;) {
        char piece[4096];
        ssize_t n = read(fd, piece, sizeof(piece));
        if (n < 0)
            return err_set(err, ERR_INVALID, errno, "read %s", path);
        if (n == 0)
            return 0;
        if (buf_add(out, piece, (size_t)n) < 0)
            return err_set(err, ERR_INVALID, 0, "%s: larger than %d bytes", path, FILE_MAX);
    }
}

static int read_document(const struct file *f, const struct buf *text)
{
    struct fy_diag_cfg diag_cfg;
    fy_diag_cfg_default(&diag_cfg);
    struct fy_diag *diag = fy_diag_create(&diag_cfg);
    if (!diag)
        return err_set(f->err, ERR_INTERNAL, ENOMEM, "%s", f->path);
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET, .diag = diag };
    struct fy_document *doc = fy_document_build_from_string(&cfg, buf_text(text), text->len);
    struct fy_node *root = doc ? fy_document_root(doc) : NULL;
    int r = 0;
    void *at = NULL;
    struct fy_diag_error *e = doc ? NULL : fy_diag_errors_iterate(diag, &at);
    if (e)
        r = err_set(f->err, ERR_INVALID, 0, "%s:%d:%d: %s", f->path, e->line, e->column, e->msg);
    else if (!doc)
        r = err_set(f->err, ERR_INVALID, 0, "%s: not a YAML document", f->path);
    else if (root && fy_node_is_mapping(root))
        r = read_mapping(f, root, "", 0);
    else if (root && !fy_node_is_null(root))
        r = complain(f, root, "settings are expected, as \"key: value\"");
    fy_document_destroy(doc);
    fy_diag_destroy(diag);
    return r;
}

/* Expands ${VAR} and ${VAR:default} before anything is parsed. */
static int expand(const char *path, const struct buf *from, struct buf *to, struct err *err)
{
    const char *at = buf_text(from), *dollar;
    int r = 0;
    for (; r == 0 && (dollar = strstr(at, "${")); at = strchr(dollar, '}') + 1) {
        const char *end = strchr(dollar, '}');
        if (!end)
            break;
        CLEANUP(free_p) char *name = xstrndup(dollar + 2, (size_t)(end - dollar) - 2);
        char *fallback = strchr(name, ':');
        if (fallback)
            *fallback++ = '\0';
        const char *value = getenv(name);
        if (!value && !fallback)
            return err_set(err, ERR_INVALID, 0,
                           "%s: the environment variable %.100s is not set and ${%.100s} has no default", path, name,
                           name);
        r = buf_add(to, at, (size_t)(dollar - at));
        if (r == 0)
            r = buf_add_str(to, value ? value : fallback);
    }
    if (r == 0)
        r = buf_add_str(to, at);
    return r < 0 ? err_set(err, ERR_INVALID, 0, "%s: larger than %d bytes", path, FILE_MAX) : 0;
}

static int read_settings(const char *path, const struct buf *raw, struct settings *s, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(FILE_MAX);
    struct file f = { path, s, err };
    if (raw->len > 0 && memchr(raw->data, '\0', raw->len))
        return err_set(err, ERR_INVALID, 0, "%s: holds a NUL byte: not a text file", path);
    int r = expand(path, raw, &text, err);
    if (r < 0)
        return r;
    if (buf_text(&text)[0] == '%' ||
        strstr(buf_text(&text), "\n%")) /* libfyaml 0.7 loops for ever on some directives */
        return err_set(err, ERR_INVALID, 0, "%s: a line begins with \"%%\": YAML directives are not supported", path);
    return text.len > 0 ? read_document(&f, &text) : 0;
}

/* --- flags --- */

/* One option of the command line: its name, and its value after "=" or in the next argument. */
struct option_at {
    const char *arg, *value; /* value NULL: none given */
    size_t name_len;
    int next; /* index of the following option when no extra argument is used */
};

static bool is_named(const struct option_at *o, const char *name)
{
    return strlen(name) == o->name_len && memcmp(o->arg, name, o->name_len) == 0;
}

static struct option_at option_at(char **argv, int i)
{
    const char *equals = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '=') : NULL;
    return (struct option_at){ argv[i], equals ? equals + 1 : NULL,
                               equals ? (size_t)(equals - argv[i]) : strlen(argv[i]), i + 1 };
}

static const struct settings_row *flag_row(const struct option_at *o)
{
    for (const struct settings_row *row = settings_rows; row->field; row++)
        if (*row->flag && is_named(o, row->flag))
            return row;
    return NULL;
}

static int unknown_flag(const struct option_at *o, struct err *err)
{
    CLEANUP(free_p) char *name = xstrndup(o->arg, o->name_len);
    struct nearest near = { .name = name };
    for (const struct settings_row *row = settings_rows; row->field; row++)
        nearest_offer(&near, row->flag);
    return err_set(err, ERR_INVALID, 0, "unknown option \"%.80s\"%s%s%s; see `iii serve --help`", name,
                   *near.found ? " (did you mean " : "", near.found, *near.found ? "?)" : "");
}

/* Walks the options. With s NULL it only finds the file and --help (returns 1); with s it applies the flags. */
static int read_flags(int argc, char **argv, struct settings *s, const char **ret_config, struct err *err)
{
    for (int i = 1; i < argc;) {
        struct option_at o = option_at(argv, i);
        const struct settings_row *row = flag_row(&o);
        if (is_named(&o, "--help") || is_named(&o, "-h"))
            return 1;
        if (!row && !is_named(&o, "--config") && !is_named(&o, "-c"))
            return unknown_flag(&o, err);
        if ((!row || row->type != 'b') && !o.value) { /* it needs one, and there is no "=" */
            if (o.next >= argc)
                return err_set(err, ERR_INVALID, 0, "option %s needs a value", o.arg);
            o.value = argv[o.next++];
        }
        if (!row)
            *ret_config = o.value;
        if (row && s && settings_set(s, row, o.value ? o.value : "true", err) < 0)
            return err_wrap(err, -EINVAL, "option %s", row->flag);
        i = o.next;
    }
    return 0;
}

static void warn_env(void *arg, const char *text)
{
    (void)arg;
    log_event(LOG_WARN, "config.env", "msg", text, "then", "the default is used", NULL);
}

typedef void env_warn_fn(void *arg, const char *text);

/* Defaults, then the file's text (path NULL: none), the environment, the flags. */
static int settings_make(const struct config *c, const struct buf *text, env_warn_fn *warn, struct settings *ret,
                         struct err *err)
{
    const char *path = NULL;
    struct settings s;
    settings_init(&s);
    int r = c->path ? read_settings(c->path, text, &s, err) : 0;
    if (r == 0) {
        settings_from_env(&s, warn, NULL);
        r = read_flags(c->argc, c->argv, &s, &path, err);
    }
    if (r < 0)
        settings_done(&s);
    else
        *ret = s;
    return r;
}

int config_load(int argc, char **argv, struct config *from, struct settings *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(FILE_MAX);
    struct config c = { .argc = argc, .argv = argv };
    int r = read_flags(argc, argv, NULL, &c.path, err);
    if (r > 0)
        config_help_print();
    if (r == 0 && c.path)
        r = read_text(c.path, &text, err);
    if (r == 0)
        r = settings_make(&c, &text, warn_env, ret, err);
    if (r == 0 && from) {
        c.text = buf_steal(&text, &c.len);
        settings_copy(&c.started, ret);
        *from = c;
    }
    return r;
}

int config_again(const struct config *from, const char *text, size_t len, struct settings *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf copy = BUF_INIT(FILE_MAX);
    if (buf_add(&copy, text, len) < 0)
        return err_set(err, ERR_INVALID, 0, "%s: larger than %d bytes", from->path, FILE_MAX);
    return settings_make(from, &copy, NULL, ret, err);
}

void config_done(struct config *from)
{
    free(from->text);
    from->text = NULL;
    settings_done(&from->started);
}
