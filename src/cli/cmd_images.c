#include "cli/cmd_images.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/display.h"
#include "cli/engine_connect.h"
#include "cli/operation_verb.h"

struct pulling {
    const struct verbs_args *a;
    struct display_bar bar;
    json_t *image; /* of the last event; owned */
    int code;
};

static int on_progress(void *arg, const json_t *event)
{
    struct pulling *p = arg;
    const char *type = json_get_str(event, "type", "");
    if (strcmp(type, "progress") == 0) {
        p->bar.total = json_get_int(event, "total", -1);
        display_bar_move(&p->bar, json_get_int(event, "done", 0));
    } else if (strcmp(type, "done") == 0) {
        p->image = json_incref(json_get(event, "image"));
    } else if (strcmp(type, "error") == 0) {
        display_bar_end(&p->bar);
        p->code = engine_connect_fail_text(json_get_str(event, "error", "the pull failed"));
    }
    return 0;
}

int cmd_images_pull(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct pulling p = { .a = a };
    struct err err = ERR_INIT;
    JSON_OWNED params = json_pack("{s:s}", "image", a->words[0]);
    CLEANUP(free_p) char *clean = display_clean(a->words[0]), *label = xasprintf("pulling %s", clean);
    int code = operation_verb_link(a, &link);
    if (code != 0)
        return code;
    display_bar_start(&p.bar, label, -1);
    struct rest_client_call call = {
        .op = &spec_ops[OP_ID_image_pull], .params = params, .on_event = on_progress, .arg = &p, .wants_events = true
    };
    int r = rest_client_op(&link, &call, &answer, &err);
    display_bar_end(&p.bar);
    code = operation_verb_verdict(&link, &answer, r, &err);
    code = code ? code : p.code;
    JSON_OWNED image = p.image ? p.image : json_incref(answer.body);
    if (code == 0 && !link.is_json && !verbs_value(a, "output"))
        (void)printf("%s\n", json_get_str(image, "name", a->words[0]));
    else if (code == 0)
        code = operation_verb_show(a, &spec_ops[OP_ID_image_pull], image);
    return fflush(stdout) == EOF ? 1 : code;
}

int cmd_images_rm(const struct verbs_args *a)
{
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    int code = operation_verb_link(a, &link), r = code;
    for (int i = 0; r == 0 && i < a->n_words; i++) {
        CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
        JSON_OWNED params = json_pack("{s:s}", "name", a->words[i]);
        int one = operation_verb_call(&link, &spec_ops[OP_ID_image_delete_query], params, &answer);
        if (one == 0 && link.is_json)
            display_json(answer.body, stdout);
        else if (one == 0)
            (void)printf("%s\n", a->words[i]);
        code = one ? one : code;
    }
    return fflush(stdout) == EOF ? 1 : code;
}
