#include "cli/sandbox_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "cli/display.h"
#include "cli/engine_connect.h"
#include "cli/operation_args.h"
#include "cli/operation_output.h"
#include "cli/operation_verb.h"

static const struct op *const upload_op = &spec_ops[OP_ID_fs_upload];

/* Connects, checks that the sandbox exists (the contract's first step), then calls. 0 or an exit code. */
static int call_on_box(const struct verbs_args *a, const struct op *op, const json_t *params,
                       struct rest_client_answer *answer)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    JSON_OWNED box = json_pack("{s:O?}", "id", json_object_get(params, "id"));
    int code = operation_verb_link(a, &link);
    if (code == 0 && !json_get(box, "id"))
        return engine_connect_fail_text("an operand is not UTF-8");
    if (code == 0)
        code = operation_verb_call(&link, &spec_ops[OP_ID_sandbox_get], box, answer);
    rest_client_answer_done(answer);
    return code != 0 ? code : operation_verb_call(&link, op, params, answer);
}

/* Prints the reply as JSON with --json, otherwise the contract's text. */
static int print_reply(const struct verbs_args *a, const json_t *answer, const char *text)
{
    if (verbs_wants_json(a))
        display_json(answer, stdout);
    else
        (void)printf("%s\n", text);
    return fflush(stdout) == EOF ? 1 : 0;
}

int sandbox_files_read(const struct verbs_args *a)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    JSON_OWNED params = json_pack("{s:s, s:s}", "id", a->words[0], "path", a->words[1]);
    int code = call_on_box(a, a->verb->op, params, &answer);
    return code != 0 ? code : operation_verb_show(a, a->verb->op, answer.body);
}

int sandbox_files_write(const struct verbs_args *a)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    CLEANUP(free_p) char *piped = NULL;
    size_t len = a->n_words > 2 ? strlen(a->words[2]) : 0;
    if (a->n_words < 3 && operation_args_slurp("-", &piped, &len) < 0)
        return 1;
    json_t *content = json_stringn(piped ? piped : a->words[2], len);
    if (!content)
        return engine_connect_fail_text("the content is not UTF-8; `iii-sandbox cp` accepts any bytes");
    JSON_OWNED params = json_pack("{s:s, s:s, s:o}", "id", a->words[0], "path", a->words[1], "content", content);
    CLEANUP(free_p) char *text = xasprintf("Written: %s", a->words[1]);
    int code = call_on_box(a, a->verb->op, params, &answer);
    return code != 0 ? code : print_reply(a, answer.body, text);
}

/* Sends a local file, or standard input for "-". 0 or an exit code. */
static int send_file(const struct verbs_args *a, const char *id, const char *local, const char *remote,
                     struct rest_client_answer *answer)
{
    CLEANUP(free_p) char *bytes = NULL;
    size_t len = 0;
    if (operation_args_slurp(local, &bytes, &len) < 0)
        return 1;
    CLEANUP(free_p) char *text = try_alloc(BASE64_SIZE(len) + 1);
    if (!text)
        return engine_connect_fail_text("no memory for the file");
    base64_encode(bytes, len, text);
    JSON_OWNED params = json_pack("{s:s, s:s, s:s}", "id", id, "path", remote, "content", text);
    return call_on_box(a, upload_op, params, answer);
}

int sandbox_files_upload(const struct verbs_args *a)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    CLEANUP(free_p) char *text = xasprintf("Uploaded: %s -> %s", a->words[1], a->words[2]);
    int code = send_file(a, a->words[0], a->words[1], a->words[2], &answer);
    return code != 0 ? code : print_reply(a, answer.body, text);
}

int sandbox_files_ls(const struct verbs_args *a)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    const char *path = a->n_words > 1 ? a->words[1] : "/workspace";
    JSON_OWNED params = json_pack("{s:s, s:s}", "id", a->words[0], "path", path);
    int code = call_on_box(a, &spec_ops[OP_ID_fs_list], params, &answer);
    if (code != 0)
        return code;
    if (verbs_wants_json(a)) {
        display_json(answer.body, stdout);
        return fflush(stdout) == EOF ? 1 : 0;
    }
    for (size_t i = 0; i < json_array_size(answer.body); i++) {
        const json_t *entry = json_array_get(answer.body, i);
        bool is_folder = json_get_bool(entry, "isDirectory", false);
        CLEANUP(free_p) char *name = display_clean(json_get_str(entry, "name", ""));
        (void)printf("%c %10lld %s%s%s\n", is_folder ? 'd' : '-', (long long)json_get_int(entry, "size", 0),
                     is_folder ? display_on(stdout, DISPLAY_BOLD) : "", name, is_folder ? display_off(stdout) : "");
    }
    return fflush(stdout) == EOF ? 1 : 0;
}

int sandbox_files_mv(const struct verbs_args *a)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    CLEANUP(free_p) char *text = xasprintf("Moved: %s -> %s", a->words[1], a->words[2]);
    JSON_OWNED params =
        json_pack("{s:s, s:[{s:s, s:s}]}", "id", a->words[0], "moves", "from", a->words[1], "to", a->words[2]);
    int code = call_on_box(a, &spec_ops[OP_ID_fs_move], params, &answer);
    return code != 0 ? code : print_reply(a, answer.body, text);
}
