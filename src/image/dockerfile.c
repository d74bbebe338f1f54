/* The Dockerfile parser: pure, on untrusted text. dockerfile_parse() joins continued lines, drops comments and produces
 * one struct dockerfile_step per instruction; ARG may precede the first FROM, everything else follows it. Texts that an
 * instruction announces with <<NAME are read right after it. Arguments stay raw text until dockerfile_words() splits
 * them and replaces variables (struct expansion), because the variables are known only while the build runs. Every
 * limit and syntax error names the line; on failure the output is empty. */
#include "image/dockerfile.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/strlist.h"

#define NESTING_MAX 8 /* ${A:-${B:-…}} */

/* flags: those it takes, each followed by a space. */
static const struct {
    const char *name, *flags;
    bool has_texts;
} kinds[] = {
    [DOCKERFILE_FROM] = { "FROM", "platform ", false },
    [DOCKERFILE_RUN] = { "RUN", "", true },
    [DOCKERFILE_COPY] = { "COPY", "from chown chmod ", true },
    [DOCKERFILE_ADD] = { "ADD", "chown chmod ", true },
    [DOCKERFILE_ENV] = { "ENV", NULL, false },
    [DOCKERFILE_WORKDIR] = { "WORKDIR", NULL, false },
    [DOCKERFILE_ARG] = { "ARG", "", false },
    [DOCKERFILE_USER] = { "USER", NULL, false },
    [DOCKERFILE_CMD] = { "CMD", NULL, false },
    [DOCKERFILE_ENTRYPOINT] = { "ENTRYPOINT", NULL, false },
    [DOCKERFILE_LABEL] = { "LABEL", NULL, false },
    [DOCKERFILE_EXPOSE] = { "EXPOSE", NULL, false },
    [DOCKERFILE_VOLUME] = { "VOLUME", NULL, false },
    [DOCKERFILE_HEALTHCHECK] = { "HEALTHCHECK", "interval timeout start-period start-interval retries ", false },
    [DOCKERFILE_STOPSIGNAL] = { "STOPSIGNAL", NULL, false },
    [DOCKERFILE_SHELL] = { "SHELL", NULL, false },
    [DOCKERFILE_MAINTAINER] = { "MAINTAINER", NULL, false },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *dockerfile_kind_name(enum dockerfile_kind kind)
{
    return kinds[kind].name;
}

void dockerfile_done(struct dockerfile *d)
{
    for (size_t i = 0; i < d->n_steps; i++) {
        struct dockerfile_step *step = &d->steps[i];
        free(step->args);
        strlist_free(step->flags);
        for (size_t k = 0; k < step->n_texts; k++) {
            free(step->texts[k].name);
            free(step->texts[k].text);
        }
        free(step->texts);
    }
    free(d->steps);
    *d = (struct dockerfile){ 0 };
}

/* --- lines to instructions --- */

struct reader {
    const char *at, *end;
    unsigned line; /* of at */
};

/* One line without its end. */
static bool next_line(struct reader *r, const char **ret, size_t *ret_len)
{
    if (r->at >= r->end)
        return false;
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    size_t len = (size_t)((stop ? stop : r->end) - r->at);
    *ret = r->at;
    r->at += len + (stop ? 1 : 0);
    r->line++;
    *ret_len = len && (*ret)[len - 1] == '\r' ? len - 1 : len;
    return true;
}

static size_t trimmed(const char *text, size_t len)
{
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return len;
}

static int too_long(unsigned line, struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, 0, "Dockerfile line %u: an instruction has at most %d bytes", line,
                   DOCKERFILE_ARGS_MAX);
}

/* Reads one instruction with its continuations into out. 0: end of file. ret_line: its first line. */
static int read_instruction(struct reader *r, struct buf *out, unsigned *ret_line, struct err *err)
{
    const char *text;
    size_t len;
    bool is_going = false;
    buf_clear(out);
    while (next_line(r, &text, &len)) {
        for (; len && isspace((unsigned char)*text); len--)
            text++;
        if (len == 0 || text[0] == '#')
            continue; /* comments are also allowed between continued lines */
        if (!is_going)
            *ret_line = r->line;
        len = trimmed(text, len);
        is_going = len && text[len - 1] == '\\';
        if (buf_add(out, text, is_going ? len - 1 : len) < 0)
            return too_long(*ret_line, err);
        if (!is_going)
            return 1;
    }
    return out->len > 0;
}

/* Reads the lines up to one that is t->name. is_tabbed: tabs at their beginnings do not count. */
static int read_text(struct reader *r, unsigned line, bool is_tabbed, struct dockerfile_text *t, struct err *err)
{
    CLEANUP(buf_done) struct buf body = BUF_INIT(DOCKERFILE_ARGS_MAX);
    const char *text;
    size_t len;
    while (next_line(r, &text, &len)) {
        for (; is_tabbed && len && *text == '\t'; len--)
            text++;
        if (len == strlen(t->name) && strncmp(text, t->name, len) == 0) {
            t->text = xstrdup(buf_text(&body));
            return 0;
        }
        if (memchr(text, '\0', len))
            return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: contains a NUL byte", r->line);
        if (buf_add(&body, text, len) < 0 || buf_add_char(&body, '\n') < 0)
            return too_long(line, err);
    }
    return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: the text <<%.60s has no end: a line %.60s is missing",
                   line, t->name, t->name);
}

/* Words like <<NAME, <<-NAME and <<"NAME" announce texts, which follow the instruction. */
static int read_texts(struct reader *r, struct dockerfile_step *step, struct err *err)
{
    bool is_only = true; /* no word is anything else */
    for (const char *at = step->args; *at; at += strspn(at, " \t")) {
        const char *word = at;
        char quote = '\0';
        for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
            if (*at == '\\' && at[1] && quote != '\'')
                at++;
            else if (*at == quote || (!quote && (*at == '"' || *at == '\'')))
                quote = quote ? '\0' : *at;
        }
        size_t digits = strspn(word, "0123456789");
        bool is_tabbed = word[digits] && strncmp(word + digits, "<<-", 3) == 0;
        const char *name = word + digits + 2 + is_tabbed;
        bool is_text = strncmp(word + digits, "<<", 2) == 0 && name < at && !memchr(name, '<', (size_t)(at - name));
        bool is_quoted = is_text && at - name > 2 && (*name == '"' || *name == '\'') && at[-1] == *name;
        is_only = is_only && is_text && digits == 0;
        if (!is_text)
            continue;
        step->texts = xrealloc(step->texts, (step->n_texts + 1) * sizeof(*step->texts));
        struct dockerfile_text *t = &step->texts[step->n_texts++];
        *t = (struct dockerfile_text){ .name = xstrndup(name + is_quoted, (size_t)(at - name) - 2 * is_quoted),
                                       .is_literal = is_quoted };
        int result = read_text(r, step->line, is_tabbed, t, err);
        if (result < 0)
            return result;
    }
    if (step->kind != DOCKERFILE_RUN || step->n_texts == 0)
        return 0;
    /* A shell knows <<NAME itself; a text alone is the script. */
    CLEANUP(buf_done) struct buf command = BUF_INIT(DOCKERFILE_ARGS_MAX);
    int bad = is_only ? 0 : buf_addf(&command, "%s\n", step->args);
    for (size_t i = 0; i < step->n_texts && bad == 0; i++)
        bad = is_only ? buf_add_str(&command, step->texts[i].text)
                      : buf_addf(&command, "%s%s\n", step->texts[i].text, step->texts[i].name);
    if (bad < 0)
        return too_long(step->line, err);
    free(step->args);
    step->args = xstrdup(buf_text(&command));
    return *step->args ? 0 : err_set(err, ERR_INVALID, 0, "Dockerfile line %u: the script is empty", step->line);
}

static int add_step(struct dockerfile *d, struct reader *reader, const struct buf *text, unsigned line, bool *has_from,
                    struct err *err)
{
    const char *word = text->data;
    size_t n = strcspn(word, " \t"), len = trimmed(word, text->len), kind = 0;
    if (memchr(text->data, '\0', text->len))
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: contains a NUL byte", line);
    n = n < len ? n : len;
    while (kind < N_KINDS && (strlen(kinds[kind].name) != n || strncasecmp(kinds[kind].name, word, n) != 0))
        kind++;
    if (kind == N_KINDS)
        return err_set(err, ERR_INVALID, 0,
                       "Dockerfile line %u: \"%.*s\" is not supported: FROM, RUN, COPY, ADD, ENV, WORKDIR, ARG, USER, "
                       "CMD, ENTRYPOINT, LABEL, EXPOSE, VOLUME, HEALTHCHECK, STOPSIGNAL, SHELL and MAINTAINER are",
                       line, (int)(n < 40 ? n : 40), word);
    if (d->n_steps == DOCKERFILE_STEPS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "Dockerfile line %u: more than %d instructions", line,
                       DOCKERFILE_STEPS_MAX);
    if (kind == DOCKERFILE_FROM)
        *has_from = true;
    else if (!*has_from && kind != DOCKERFILE_ARG)
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s before FROM: only ARG is allowed there", line,
                       kinds[kind].name);
    d->steps = xrealloc(d->steps, (d->n_steps + 1) * sizeof(*d->steps));
    struct dockerfile_step *step = &d->steps[d->n_steps++];
    *step = (struct dockerfile_step){ .kind = (enum dockerfile_kind)kind, .line = line };
    const char *at = word + n + strspn(word + n, " \t");
    while (kinds[kind].flags && strncmp(at, "--", 2) == 0) {
        size_t all = strcspn(at, " \t");
        CLEANUP(free_p) char *flag = xstrndup(at, all);
        int name = (int)strcspn(flag, "=");
        CLEANUP(free_p) char *known = xasprintf("%.*s ", name - 2, flag + 2);
        const char *found = strstr(kinds[kind].flags, known);
        if (!found || (found > kinds[kind].flags && found[-1] != ' '))
            return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s: the option %.*s is not supported", line,
                           kinds[kind].name, name, flag);
        if (!flag[name] || !flag[name + 1])
            return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s: the option %.*s needs a value: %.*s=…", line,
                           kinds[kind].name, name, flag, name, flag);
        strlist_add(&step->flags, flag);
        at += all + strspn(at + all, " \t");
    }
    step->args = xstrndup(at, len > (size_t)(at - word) ? len - (size_t)(at - word) : 0);
    if (!*step->args)
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s needs an argument", line, kinds[kind].name);
    return kinds[kind].has_texts && *step->args != '[' ? read_texts(reader, step, err) : 0;
}

int dockerfile_parse(const char *text, size_t len, struct dockerfile *ret, struct err *err)
{
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    CLEANUP(buf_done) struct buf one = BUF_INIT(DOCKERFILE_ARGS_MAX);
    struct reader reader = { .at = text, .end = text + len };
    bool has_from = false;
    unsigned line = 0;
    int r;
    if (len > DOCKERFILE_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "the Dockerfile has %zu bytes, at most %d are read", len,
                       DOCKERFILE_BYTES_MAX);
    while ((r = read_instruction(&reader, &one, &line, err)) > 0) {
        r = one.len ? add_step(&d, &reader, &one, line, &has_from, err) : 0;
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    if (!has_from)
        return err_set(err, ERR_INVALID, 0, "the Dockerfile has no FROM");
    *ret = d;
    d = (struct dockerfile){ 0 };
    return 0;
}

const char *dockerfile_flag(const struct dockerfile_step *step, const char *name)
{
    size_t n = strlen(name);
    for (char *const *flag = step->flags; flag && *flag; flag++)
        if (strncmp(*flag + 2, name, n) == 0 && (*flag)[2 + n] == '=')
            return *flag + 3 + n;
    return NULL;
}

/* --- words --- */

bool dockerfile_is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return len > 0 && !isdigit((unsigned char)text[0]);
}

int dockerfile_exec_form(const struct dockerfile_step *step, char ***ret, struct err *err)
{
    JSON_OWNED list = NULL;
    if (step->args[0] != '[' || json_read(step->args, strlen(step->args), &list, NULL) < 0 || !json_is_array(list))
        return 0;
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        const json_t *word = json_array_get(list, i);
        if (!json_is_string(word) || strlen(json_string_value(word)) != json_string_length(word))
            return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s: the list may hold only strings", step->line,
                           kinds[step->kind].name);
    }
    if (n > DOCKERFILE_WORDS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "Dockerfile line %u: more than %d arguments", step->line,
                       DOCKERFILE_WORDS_MAX);
    if (n == 0)
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s: the list is empty", step->line,
                       kinds[step->kind].name);
    *ret = strlist_from_json(list);
    return 1;
}

struct expansion {
    const struct dockerfile_step *step;
    char *const *vars;
    struct buf out;
    struct err *err;
};

static int expand_error(const struct expansion *x, const char *what)
{
    return err_set(x->err, ERR_INVALID, 0, "Dockerfile line %u: %s: %s", x->step->line, kinds[x->step->kind].name,
                   what);
}

static int expand_put(struct expansion *x, const char *text, size_t len)
{
    if (buf_add(&x->out, text, len) == 0)
        return 0;
    return err_set(x->err, ERR_TOO_LARGE, 0, "Dockerfile line %u: over %d bytes after variables are replaced",
                   x->step->line, DOCKERFILE_ARGS_MAX);
}

static int expand_variable(struct expansion *x, const char **at, int depth);

/* Expands text up to the closing brace. is_used: it becomes part of the result. */
static int expand_default(struct expansion *x, const char **at, bool is_used, int depth)
{
    size_t mark = x->out.len;
    int r = 0;
    while (r == 0 && **at && **at != '}') {
        if (**at == '$') {
            r = expand_variable(x, at, depth + 1);
        } else {
            if (**at == '\\' && (*at)[1])
                (*at)++;
            r = expand_put(x, *at, 1);
            (*at)++;
        }
    }
    if (!is_used && x->out.data) {
        x->out.len = mark;
        x->out.data[mark] = '\0';
    }
    return r;
}

/* *at: the dollar sign; on return just after the variable. */
static int expand_variable(struct expansion *x, const char **at, int depth)
{
    const char *name = *at + 1;
    bool has_brace = *name == '{';
    if (depth > NESTING_MAX)
        return expand_error(x, "variables are nested too deeply");
    name += has_brace ? 1 : 0;
    size_t len = 0;
    while (isalnum((unsigned char)name[len]) || name[len] == '_')
        len++;
    if (!has_brace && !dockerfile_is_name(name, len)) { /* a lone dollar */
        (*at)++;
        return expand_put(x, "$", 1);
    }
    if (!dockerfile_is_name(name, len))
        return expand_error(x, "after ${ the name of a variable is expected");
    CLEANUP(free_p) char *key = xstrndup(name, len);
    const char *value = strlist_env_get(x->vars, key);
    value = value ? value : "";
    *at = name + len;
    if (!has_brace)
        return expand_put(x, value, strlen(value));
    bool is_minus = strncmp(*at, ":-", 2) == 0, is_plus = strncmp(*at, ":+", 2) == 0;
    int r = *value && !is_plus ? expand_put(x, value, strlen(value)) : 0;
    if (is_minus || is_plus) {
        *at += 2;
        r = r < 0 ? r : expand_default(x, at, is_plus == (*value != '\0'), depth);
    }
    if (r < 0)
        return r;
    if (**at != '}')
        return expand_error(x, "in ${…} only ${NAME}, ${NAME:-text} and ${NAME:+text} are supported");
    (*at)++;
    return 0;
}

/* Reads one word from *at on; *at is not white space. */
static int read_word(struct expansion *x, const char **at)
{
    char quote = '\0';
    int r = 0;
    while (r == 0 && **at && (quote || !isspace((unsigned char)**at))) {
        char c = **at;
        if (c == '$' && quote != '\'') {
            r = expand_variable(x, at, 0);
            continue;
        }
        (*at)++;
        if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? '\0' : c;
        } else if (c == '\\' && quote != '\'' && **at && (!quote || strchr("\"\\$", **at))) {
            r = expand_put(x, *at, 1);
            (*at)++;
        } else {
            r = expand_put(x, &c, 1);
        }
    }
    return r == 0 && quote ? expand_error(x, "a quote is not closed") : r;
}

int dockerfile_words(const struct dockerfile_step *step, char *const *vars, char ***ret, struct err *err)
{
    CLEANUP(strlist_free_p) char **list = NULL;
    CLEANUP(strlist_free_p) char **words = NULL;
    struct expansion x = { .step = step, .vars = vars, .out = BUF_INIT(DOCKERFILE_ARGS_MAX), .err = err };
    bool can_list = step->kind == DOCKERFILE_COPY || step->kind == DOCKERFILE_ADD || step->kind == DOCKERFILE_VOLUME;
    int r = can_list ? dockerfile_exec_form(step, &list, err) : 0;
    bool is_list = r > 0;
    const char *at = step->args;
    for (size_t n = 0; r >= 0 && (is_list ? list[n] != NULL : *at != '\0'); n++) {
        buf_clear(&x.out);
        r = 0;
        if (n == DOCKERFILE_WORDS_MAX)
            r = err_set(err, ERR_TOO_LARGE, 0, "Dockerfile line %u: more than %d arguments", step->line,
                        DOCKERFILE_WORDS_MAX);
        else if (is_list) /* its entries have no quotes or white space to interpret, only variables */
            for (const char *in = list[n]; r == 0 && *in;)
                r = *in == '$' ? expand_variable(&x, &in, 0) : expand_put(&x, in++, 1);
        else
            r = read_word(&x, &at);
        if (r == 0)
            strlist_add(&words, buf_text(&x.out));
        while (!is_list && isspace((unsigned char)*at))
            at++;
    }
    buf_done(&x.out);
    if (r < 0)
        return r;
    *ret = STEAL(words);
    return 0;
}

int dockerfile_expand(const struct dockerfile_step *step, const char *text, char *const *vars, char **ret,
                      struct err *err)
{
    struct expansion x = { .step = step, .vars = vars, .out = BUF_INIT(DOCKERFILE_ARGS_MAX), .err = err };
    int r = 0;
    while (r == 0 && *text) {
        if (*text == '$') {
            r = expand_variable(&x, &text, 0);
        } else {
            text += *text == '\\' && text[1] == '$';
            r = expand_put(&x, text++, 1);
        }
    }
    if (r == 0)
        *ret = xstrdup(buf_text(&x.out));
    buf_done(&x.out);
    return r;
}
