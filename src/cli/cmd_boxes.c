#include "cli/cmd_boxes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/cmd_create.h"
#include "cli/display.h"
#include "cli/duration.h"
#include "cli/engine_connect.h"
#include "cli/operation_args.h"
#include "cli/operation_output.h"
#include "cli/operation_verb.h"

/* --- ps and list --- */

/* All sandboxes that params select, page by page. 0 with *ret, which the caller owns, or an exit code. */
static int list_all(const struct rest_client *l, json_t *params, json_t **ret)
{
    JSON_OWNED all = json_array();
    (void)json_object_set_new(params, "pageSize", json_integer(LIMIT_MAX(PAGE_SIZE)));
    for (json_int_t page = 1;; page++) {
        CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
        (void)json_object_set_new(params, "page", json_integer(page));
        int code = operation_verb_call(l, &spec_ops[OP_ID_sandbox_list], params, &answer);
        if (code != 0)
            return code;
        json_t *items = json_get(answer.body, "items");
        (void)json_array_extend(all, items);
        if (json_array_size(items) == 0 || (int64_t)json_array_size(all) >= json_get_int(answer.body, "total", 0))
            break;
    }
    *ret = STEAL(all);
    return 0;
}

/* A row of `ps`; wide: with what few look for. */
static json_t *ps_row(const json_t *box, bool is_wide)
{
    char created[32], expires[32];
    int64_t now = clock_wall_ms(), end = json_get_int(box, "expiresAt", 0);
    const char *id = json_get_str(box, "id", ""), *name = json_get_str(box, "name", "");
    const json_t *config = json_get(box, "config"), *command = json_get(box, "entrypoint");
    json_t *row =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id", id, "image", json_get_str(box, "image", ""), "status",
                  json_get_str(box, "status", ""), "created",
                  display_span(now - json_get_int(box, "createdAt", now), " ago", created), "expires",
                  end ? display_span(end - now, "", expires) : "never", "name", strcmp(name, id) == 0 ? "" : name);
    if (is_wide)
        (void)json_object_update_new(row, json_pack("{s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*}", "cpu",
                                                    json_get(config, "cpu"), "memoryMb", json_get(config, "memory"),
                                                    "network", json_get(config, "network"), "backend",
                                                    json_get(box, "backend"), "command", command, "resolvedImage",
                                                    json_get(box, "resolvedImage"), "parentId",
                                                    json_get(box, "parentId"), "tenant", json_get(box, "tenant")));
    return row;
}

int cmd_boxes_ps(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    JSON_OWNED params = json_object();
    JSON_OWNED boxes = NULL;
    JSON_OWNED rows = json_array();
    struct operation_output_style style;
    bool has_page = verbs_value(a, "page") || verbs_value(a, "page-size");
    int code = operation_output_style(a, &style);
    code = code ? code : operation_args_take(a, params, NULL);
    if (code == 0 && has_page)
        code = verbs_usage_error(a->verb, "all pages are listed: omit --page and --page-size");
    code = code ? code : operation_verb_link(a, &link);
    code = code ? code : list_all(&link, params, &boxes);
    if (code != 0)
        return code;
    bool shows_expired = verbs_value(a, "all") || verbs_value(a, "status");
    for (size_t i = 0; i < json_array_size(boxes);) {
        const json_t *box = json_array_get(boxes, i);
        if (!shows_expired && strcmp(json_get_str(box, "status", ""), "expired") == 0) {
            (void)json_array_remove(boxes, i);
            continue;
        }
        (void)json_array_append_new(rows, ps_row(box, style.is_wide));
        i++;
    }
    if (style.form == OPERATION_OUTPUT_JSON)
        display_json(boxes, stdout);
    else if (style.form == OPERATION_OUTPUT_NAME)
        operation_output_names("SandboxPage", rows, stdout);
    else if (json_array_size(rows) > 0)
        operation_output_table(rows, &style, stdout);
    else
        (void)puts("ID  IMAGE  STATUS  CREATED  EXPIRES  NAME");
    return fflush(stdout) == EOF ? 1 : 0;
}

int cmd_boxes_list(const struct verbs_args *a)
{
    JSON_OWNED params = json_object();
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    int code = operation_args_take(a, params, NULL);
    code = code ? code : operation_verb_link(a, &link);
    code = code ? code : operation_verb_call(&link, a->verb->op, params, &answer);
    if (code != 0 || link.is_json || verbs_value(a, "output"))
        return code ? code : operation_verb_show(a, a->verb->op, answer.body);
    const json_t *items = json_get(answer.body, "items");
    size_t n = json_array_size(items), total = (size_t)json_get_int(answer.body, "total", 0);
    if (n == 0) {
        (void)puts("No active sandboxes");
        return 0;
    }
    (void)printf("%s%-32s%-25s%-10s%s%s\n", display_on(stdout, DISPLAY_BOLD), "ID", "IMAGE", "STATUS", "EXPIRES",
                 display_off(stdout));
    for (size_t i = 0; i < n; i++) {
        const json_t *box = json_array_get(items, i);
        char when[16] = "never";
        time_t s = (time_t)(json_get_int(box, "expiresAt", 0) / 1000);
        struct tm tm;
        if (s && localtime_r(&s, &tm))
            (void)strftime(when, sizeof(when), "%H:%M:%S", &tm);
        CLEANUP(free_p) char *id = display_clean(json_get_str(box, "id", ""));
        CLEANUP(free_p) char *image = display_clean(json_get_str(box, "image", ""));
        CLEANUP(free_p) char *state = display_clean(json_get_str(box, "status", ""));
        const char *colour = operation_output_colour(state, stdout);
        (void)printf("%-32s%-24s %s%-10s%s%s\n", id, image, colour, state, *colour ? display_off(stdout) : "", when);
    }
    if (n < total && display_is_terminal(stderr))
        (void)fprintf(stderr, "%zu of %zu; use --page and --page-size for the others\n", n, total);
    return fflush(stdout) == EOF ? 1 : 0;
}

/* --- several --- */

/* Carries out an operation on a sandbox, with options or NULL; on success prints the response with --json, otherwise
 * text and the id as it was given. is_forced: one that does not exist is fine. 0 or an exit code. */
static int change(const struct rest_client *l, const struct op *op, json_t *options, const char *text, const char *id,
                  bool is_forced)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    JSON_OWNED params = options ? json_copy(options) : json_object();
    if (json_object_set_new(params, "id", json_string(id)) < 0)
        return engine_connect_fail_text("the id is not UTF-8");
    int r = rest_client_op(l, &(struct rest_client_call){ .op = op, .params = params }, &answer, &err);
    if (r == 0 && is_forced && answer.status == 404)
        return 0;
    int code = operation_verb_verdict(l, &answer, r, &err);
    if (code == 0 && l->is_json)
        display_json(answer.body, stdout);
    else if (code == 0)
        (void)printf("%s%s\n", text, id);
    return code;
}

int cmd_boxes_each(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    JSON_OWNED options = json_object();
    int code = operation_args_take(a, options, NULL);
    if (code == 0)
        code = operation_verb_link(a, &link);
    int r = code;
    for (int i = 0; r == 0 && i < a->n_words; i++) {
        int one = change(&link, a->verb->op, options, "", a->words[i], false);
        code = one ? one : code;
    }
    return fflush(stdout) == EOF ? 1 : code;
}

int cmd_boxes_kill(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    int code = operation_verb_link(a, &link), r = code;
    for (int i = 0; r == 0 && i < a->n_words; i++) {
        CLEANUP(rest_client_answer_done) struct rest_client_answer box = { 0 };
        int one = operation_verb_get(&link, a->words[i], &box);
        one = one ? one : change(&link, &spec_ops[OP_ID_sandbox_kill], NULL, "Killed sandbox: ", a->words[i], false);
        code = one ? one : code;
    }
    return fflush(stdout) == EOF ? 1 : code;
}

/* All of the caller's: an admin sees those of every tenant, and does not mean them. */
static int remove_all(const struct rest_client *l)
{
    JSON_OWNED params = json_object();
    JSON_OWNED boxes = NULL;
    int code = list_all(l, params, &boxes);
    size_t n = json_array_size(boxes);
    const char *first = json_get_str(json_array_get(boxes, 0), "tenant", "");
    for (size_t i = 0; i < n; i++) {
        const char *tenant = json_get_str(json_array_get(boxes, i), "tenant", "");
        if (strcmp(tenant, first) != 0)
            return engine_connect_fail_text(
                "--all would remove sandboxes of several tenants: name them, or use a token of the tenant");
    }
    for (size_t i = 0; i < n; i++) {
        int one =
            change(l, &spec_ops[OP_ID_sandbox_kill], NULL, "", json_get_str(json_array_get(boxes, i), "id", ""), true);
        code = one ? one : code;
    }
    return code;
}

int cmd_boxes_rm(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    bool is_all = verbs_value(a, "all");
    if (is_all == (a->n_words > 0))
        return verbs_usage_error(a->verb, is_all ? "--all takes no ids" : "missing operand: %s rm ID..., or --all",
                                 a->program->name);
    int code = operation_verb_link(a, &link), r = code;
    if (r == 0 && is_all)
        code = remove_all(&link);
    for (int i = 0; r == 0 && i < a->n_words; i++) {
        int one = change(&link, &spec_ops[OP_ID_sandbox_kill], NULL, "", a->words[i], verbs_value(a, "force"));
        code = one ? one : code;
    }
    return fflush(stdout) == EOF ? 1 : code;
}

int cmd_boxes_inspect(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    JSON_OWNED all = json_array();
    int code = operation_verb_link(a, &link), r = code;
    for (int i = 0; r == 0 && i < a->n_words; i++) {
        CLEANUP(rest_client_answer_done) struct rest_client_answer box = { 0 };
        int one = operation_verb_get(&link, a->words[i], &box);
        if (one == 0)
            (void)json_array_append(all, box.body);
        code = one ? one : code;
    }
    if (r == 0)
        display_json(all, stdout);
    return fflush(stdout) == EOF ? 1 : code;
}

/* --- one --- */

int cmd_boxes_update(const struct verbs_args *a)
{
    static const char *const own[] = { "memory", "cpu", NULL };
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    JSON_OWNED options = json_object();
    int code = operation_args_take(a, options, own);
    code = code ? code : cmd_create_sizes(a, options);
    code = code ? code : operation_verb_link(a, &link);
    return code ? code : change(&link, a->verb->op, options, "", a->words[0], false);
}

int cmd_boxes_renew(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    const struct op *op = &spec_ops[OP_ID_sandbox_renew];
    struct err err = ERR_INIT;
    int64_t ms;
    if (duration_or_seconds(a->words[1], &ms, &err) < 0)
        return verbs_usage_error(a->verb, "%s", err.msg);
    JSON_OWNED params = json_pack("{s:s, s:I}", "id", a->words[0], "expiresAt", (json_int_t)(clock_wall_ms() + ms));
    int code = operation_verb_link(a, &link);
    code = code ? code : operation_verb_call(&link, op, params, &answer);
    return code ? code : operation_verb_show(a, op, answer.body);
}

/* "8000/tcp -> http://127.0.0.1:40123"; for one port only the address. */
int cmd_boxes_port(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    const struct op *op = &spec_ops[OP_ID_port_list];
    JSON_OWNED params = json_pack("{s:s}", "id", a->words[0]);
    char *end = NULL;
    long wanted = a->n_words > 1 ? strtol(a->words[1], &end, 10) : 0;
    if (end && (end == a->words[1] || (*end && strcmp(end, "/tcp") != 0 && strcmp(end, "/udp") != 0)))
        return verbs_usage_error(a->verb, "\"%s\" is not a port", a->words[1]);
    int code = operation_verb_link(a, &link);
    code = code ? code : operation_verb_call(&link, op, params, &answer);
    if (code != 0 || link.is_json || verbs_value(a, "output"))
        return code ? code : operation_verb_show(a, op, answer.body);
    const json_t *ports = json_get(answer.body, "ports");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(ports); i++) {
        const json_t *port = json_array_get(ports, i);
        int64_t inner = json_get_int(port, "containerPort", 0);
        const char *protocol = json_get_str(port, "protocol", "tcp");
        if (end && (inner != wanted || (*end && strcmp(end + 1, protocol) != 0)))
            continue;
        CLEANUP(free_p) char *plain = xasprintf("127.0.0.1:%lld", (long long)json_get_int(port, "hostPort", 0));
        CLEANUP(free_p) char *url = display_clean(json_get_str(port, "url", plain));
        if (end)
            (void)printf("%s\n", url);
        else
            (void)printf("%lld/%s -> %s\n", (long long)inner, protocol, url);
        n++;
    }
    if (end && n == 0) {
        CLEANUP(free_p)
        char *text = xasprintf("port %s of %s is not exposed; `%s port expose %s %ld` exposes it", a->words[1],
                               a->words[0], a->program->name, a->words[0], wanted);
        return engine_connect_fail_text(text);
    }
    return fflush(stdout) == EOF ? 1 : 0;
}

int cmd_boxes_info(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer health = { 0 }, metrics = { 0 }, images = { 0 };
    JSON_OWNED nothing = json_object();
    JSON_OWNED names = json_array();
    int code = operation_verb_link(a, &link);
    code = code ? code : operation_verb_call(&link, &spec_ops[OP_ID_health], nothing, &health);
    code = code ? code : operation_verb_call(&link, &spec_ops[OP_ID_metrics_global], nothing, &metrics);
    code = code ? code : operation_verb_call(&link, &spec_ops[OP_ID_image_list], nothing, &images);
    if (code != 0)
        return code;
    const json_t *backends = json_get(metrics.body, "backends");
    for (size_t i = 0; i < json_array_size(backends); i++)
        (void)json_array_append(names, json_get(json_array_get(backends, i), "name"));
    JSON_OWNED info = json_pack(
        "{s:s, s:s, s:O*, s:O*, s:O*, s:O, s:O*, s:I, s:O*, s:O*}", "client", a->hooks->version, "server", link.url,
        "status", json_get(health.body, "status"), "problems", json_get(health.body, "problems"), "missing",
        json_get(health.body, "missing"), "backends", names, "sandboxes", json_get(metrics.body, "activeSandboxes"),
        "images", (json_int_t)json_array_size(json_get(images.body, "images")), "totalCreated",
        json_get(metrics.body, "totalCreated"), "uptimeSeconds", json_get(metrics.body, "uptimeSeconds"));
    return operation_verb_show(a, &spec_ops[OP_ID_health], info);
}
