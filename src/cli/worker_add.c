/* Theory of operation. A configuration file is a text that people wrote, so it is edited by lines: find_list() finds
 * the list of workers, scan_list() the entry iii-sandbox in it and the list's indent, and the block is put there or at
 * the list's end. A list in one line is refused. The file is written beside and renamed; the lock file notes the entry.
 *
 * An image is pulled by the server that uses the data folder, if one runs and lets us, otherwise into the folder's own
 * store. */
#include "cli/worker_add.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "cli/data_folder.h"
#include "cli/display.h"
#include "cli/operation_verb.h"
#include "cli/project_file.h"
#include "cli/server_file.h"
#include "cli/worker_lock.h"

#define WORKER "iii-sandbox"

/* The defaults of the contract. Each line is indented by the list's own indent. */
static const char *const block[] = {
    ("- name: " WORKER),
    "  config:",
    "    auto_install: true",
    "    image_allowlist:",
    "      - python",
    "      - node",
    "    default_idle_timeout_secs: " LIMIT_DEFAULT_TEXT(FN_IDLE_S),
    "    max_concurrent_sandboxes: " LIMIT_DEFAULT_TEXT(FN_SANDBOXES),
    "    default_cpus: " LIMIT_DEFAULT_TEXT(CPU),
    "    default_memory_mb: " LIMIT_DEFAULT_TEXT(MEMORY_MB),
};

/* --- the text --- */

static size_t line_len(const char *line)
{
    size_t n = strcspn(line, "\n");
    return n + (line[n] == '\n');
}

static size_t indent_of(const char *line)
{
    return strspn(line, " ");
}

static bool is_blank(const char *line)
{
    const char *p = line + strspn(line, " \t\r");
    return *p == '\n' || *p == '#' || !*p;
}

static void add_block(struct buf *out, size_t indent)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        (void)buf_add_char(out, '\n');
    for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
        (void)buf_addf(out, "%*s%s\n", (int)indent, "", block[i]);
}

/* The line "workers:" or its older name; NULL: none. */
static const char *find_list(const char *text)
{
    for (const char *p = text; *p; p += line_len(p))
        if (strncmp(p, "workers:", 8) == 0 || strncmp(p, "modules:", 8) == 0)
            return p;
    return NULL;
}

/* The text after the colon, without comment: "" a block list follows, "[]" an empty one, otherwise a flow list. */
static enum { LIST_BLOCK, LIST_EMPTY, LIST_FLOW } list_form(const char *line)
{
    const char *p = line + 8 + strspn(line + 8, " \t");
    if (is_blank(p))
        return LIST_BLOCK;
    size_t n = strcspn(p, " \t\r\n#");
    bool is_empty =
        (n == 2 && memcmp(p, "[]", 2) == 0) || (n == 1 && *p == '~') || (n == 4 && memcmp(p, "null", 4) == 0);
    return is_empty && is_blank(p + n) ? LIST_EMPTY : LIST_FLOW;
}

static bool is_ours(const char *line)
{
    const char *p = line + indent_of(line);
    if (strncmp(p, "- name:", 7) != 0)
        return false;
    p += 7 + strspn(p + 7, " \t\"'");
    size_t n = strcspn(p, " \t\r\n\"'#");
    return n == sizeof(WORKER) - 1 && memcmp(p, WORKER, n) == 0;
}

/* The first line after the entry that starts at line. */
static const char *entry_end(const char *line)
{
    size_t indent = indent_of(line);
    const char *p = line + line_len(line), *end = p;
    for (; *p; p += line_len(p)) {
        if (is_blank(p))
            continue;
        if (indent_of(p) <= indent)
            break;
        end = p + line_len(p);
    }
    return end;
}

struct spot {
    const char *ours;  /* our entry, or NULL */
    const char *after; /* where a new entry goes */
    size_t indent;     /* of the list's entries */
};

/* Walks a block list that begins after its key. */
static struct spot scan_list(const char *list)
{
    struct spot s = { .after = list + line_len(list), .indent = 2 };
    bool has_entry = false;
    for (const char *p = s.after; *p; p += line_len(p)) {
        if (is_blank(p))
            continue;
        if (indent_of(p) == 0 && *p != '-')
            break; /* the next key */
        if (!has_entry)
            s.indent = indent_of(p);
        has_entry = true;
        if (indent_of(p) == s.indent && is_ours(p))
            s.ours = p;
        s.after = p + line_len(p);
    }
    return s;
}

static int edit_block_list(const char *text, const char *list, bool is_reset, struct buf *out,
                           enum worker_add_done *ret)
{
    struct spot s = scan_list(list);
    const char *cut = s.ours && is_reset ? s.ours : s.after, *go_on = s.ours && is_reset ? entry_end(s.ours) : s.after;
    *ret = !s.ours ? WORKER_ADD_ADDED : is_reset ? WORKER_ADD_RESET : WORKER_ADD_KEPT;
    if (*ret == WORKER_ADD_KEPT)
        return buf_add_str(out, text);
    (void)buf_add(out, text, (size_t)(cut - text));
    add_block(out, s.indent);
    return buf_add_str(out, go_on);
}

int worker_add_edit(const char *text, bool is_reset, struct buf *out, enum worker_add_done *ret, struct err *err)
{
    const char *list = find_list(text);
    *ret = WORKER_ADD_ADDED;
    if (!list) {
        (void)buf_add_str(out, text);
        if (out->len > 0 && out->data[out->len - 1] != '\n')
            (void)buf_add_char(out, '\n');
        (void)buf_add_str(out, "workers:\n");
        add_block(out, 2);
        return 0;
    }
    switch (list_form(list)) {
    case LIST_BLOCK:
        return edit_block_list(text, list, is_reset, out, ret);
    case LIST_EMPTY:
        (void)buf_add(out, text, (size_t)(list - text));
        (void)buf_addf(out, "%.8s\n", list);
        add_block(out, 2);
        return buf_add_str(out, list + line_len(list));
    case LIST_FLOW:
        break;
    }
    return err_set(err, ERR_INVALID, 0, "the list of workers is on one line; write one entry per line, then try again");
}

const char *worker_add_entry(const char *text, size_t *ret_len)
{
    const char *list = find_list(text), *ours = list ? scan_list(list).ours : NULL;
    if (ours)
        *ret_len = (size_t)(entry_end(ours) - ours);
    return ours;
}

/* --- the files --- */

/* Whether the server that uses the folder of --data-dir reads the file that was written. */
static void print_server(const struct verbs_args *a, const char *config)
{
    CLEANUP(free_p) char *dir = data_folder_of(a), *whole = realpath(config, NULL);
    CLEANUP(server_file_done) struct server_file server = { 0 };
    if (!server_file_read(dir, &server))
        return;
    if (whole && server.config && strcmp(server.config, whole) == 0)
        (void)fprintf(stderr, "the server at %s rereads it automatically\n", server.rest);
    else
        (void)fprintf(stderr,
                      "warning: the server at %s, which uses %s, reads %s: give that file with `iii -c FILE "
                      "worker add`, or restart the server with -c %s\n",
                      server.rest, dir, server.config ? server.config : "no configuration file", config);
}

/* lock NULL: none was written. */
static void print_result(const struct verbs_args *a, const char *config, const char *lock, enum worker_add_done done)
{
    static const char *const words[] = {
        [WORKER_ADD_ADDED] = "added", [WORKER_ADD_KEPT] = "kept", [WORKER_ADD_RESET] = "reset"
    };
    (void)fprintf(stderr, "%s " WORKER " in %s%s\n", done == WORKER_ADD_ADDED ? "added" : "updated", config,
                  done == WORKER_ADD_KEPT    ? " (its settings were kept; --force --reset-config restores the defaults)"
                  : done == WORKER_ADD_RESET ? " (the defaults were restored)"
                                             : "");
    if (lock)
        (void)fprintf(stderr, "locked in %s\n", lock);
    if (done != WORKER_ADD_KEPT && verbs_value(a, "data-dir"))
        print_server(a, config);
    else if (done != WORKER_ADD_KEPT)
        (void)fprintf(stderr, "a server that runs with this file rereads it automatically\n");
    if (!verbs_value(a, "json"))
        return;
    JSON_OWNED all =
        json_pack("{s:s, s:s, s:s, s:s?}", "worker", WORKER, "done", words[done], "config", config, "lock", lock);
    (void)json_dumpf(all, stdout, JSON_SORT_KEYS);
    (void)printf("\n");
}

static int lock_entry(const struct verbs_args *a, const char *config, const char *text, const char *path,
                      struct err *err)
{
    struct worker_lock_entry entry = { .name = WORKER, .version = a->hooks->version, .config = config };
    JSON_OWNED lock = NULL;
    int r = worker_lock_load(path, &lock, err);
    if (r < 0)
        return r;
    entry.text = worker_add_entry(text, &entry.len);
    return worker_lock_put(path, lock, &entry, err);
}

static int add_block_to_file(const struct verbs_args *a)
{
    const char *env = getenv("III_CONFIG_PATH");
    const char *given = verbs_value(a, "config"), *config = given ? given : env && *env ? env : "config.yaml";
    bool is_reset = verbs_value(a, "force") && verbs_value(a, "reset-config");
    CLEANUP(free_p) char *lock = worker_lock_path(config);
    CLEANUP(buf_done) struct buf before = BUF_INIT(PROJECT_FILE_MAX), after = BUF_INIT(2 * PROJECT_FILE_MAX);
    struct err err = ERR_INIT;
    enum worker_add_done done = WORKER_ADD_KEPT;
    int r = project_file_read(config, &before, &err);
    if (r == 0)
        r = worker_add_edit(buf_text(&before), is_reset, &after, &done, &err);
    if (r == 0 && done != WORKER_ADD_KEPT)
        r = project_file_write(config, &after, &err);
    if (r < 0) {
        (void)fprintf(stderr, "error: %s\n", err.msg);
        return 1;
    }
    bool is_locked = lock_entry(a, config, buf_text(&after), lock, &err) == 0;
    if (!is_locked) /* the worker was added all the same */
        (void)fprintf(stderr, "warning: %s\n", err.msg);
    print_result(a, config, is_locked ? lock : NULL, done);
    return 0;
}

/* --- images --- */

/* Lets the server that uses the folder pull it, into wherever its backend has its images. 0, or an exit code; < 0: no
 * server uses the folder, or it does not let us. */
static int pull_by_server(const struct verbs_args *a, const char *dir, const char *image)
{
    CLEANUP(server_file_done) struct server_file server = { 0 };
    CLEANUP(rest_client_done) struct rest_client client = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    const char *token = getenv("III_SANDBOX_TOKEN"), *other = getenv("III_AUTH_TOKEN");
    struct err err = ERR_INIT;
    if (!server_file_read(dir, &server))
        return -ENOENT;
    if (!server_file_is_local(&server))
        token = other = "";
    rest_client_init(&client, server.rest, token && *token ? token : other ? other : "", NULL);
    client.is_json = verbs_value(a, "json");
    JSON_OWNED params = json_pack("{s:s}", "image", image);
    struct rest_client_call call = { .op = &spec_ops[OP_ID_image_pull], .params = params };
    int r = params ? rest_client_op(&client, &call, &answer, &err) : -EINVAL;
    if (r < 0 || answer.status == 401 || answer.status == 403)
        return -EACCES;
    r = operation_verb_verdict(&client, &answer, r, &err);
    if (r != 0)
        return r;
    (void)fprintf(stderr, "pulled %s by the server at %s\n", image, server.rest);
    if (client.is_json)
        display_json(answer.body, stdout);
    return 0;
}

static int pull_image(const struct verbs_args *a, char *name)
{
    CLEANUP(free_p) char *dir = data_folder_of(a);
    int r = pull_by_server(a, dir, name);
    if (r >= 0)
        return r;
    char verb[] = "image", command[] = "pull", json[] = "--json", option[] = "--data-dir";
    char *argv[] = { verb, command, name, option, dir, verbs_value(a, "json") ? json : NULL, NULL };
    return a->hooks->image(verbs_value(a, "json") ? 6 : 5, argv) == 0 ? 0 : 1; /* the error was printed */
}

/* --- the command --- */

int worker_add_run(const struct verbs_args *a)
{
    int r = 0;
    for (int i = 0; r == 0 && i < a->n_words; i++) {
        char *name = a->words[i];
        if (strcmp(name, WORKER) == 0) {
            r = add_block_to_file(a);
        } else if (strchr(name, '/') || (strchr(name, ':') && !strchr(name, '@'))) { /* an image */
            r = pull_image(a, name);
        } else {
            (void)fprintf(stderr,
                          "error: \"%s\" cannot be added as a worker: it is " WORKER ", or an image to pull, such as "
                          "docker.io/library/%s:latest\n",
                          name, name);
            r = 1;
        }
    }
    return r;
}
