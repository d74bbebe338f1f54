/* Payloads of the sandbox:: functions through the whole pipeline of calls, and command lines into words. There is no
 * sandbox, so each call is refused, and a refusal always has its code. */
#include "../feed.h"

#include "api/api_core.h"
#include "api/fn.h"
#include "api/shell_words.h"
#include "base/strlist.h"
#include "loop/loop.h"

static void on_done(void *arg, int status, json_t *body)
{
    const char *code = json_get_str(body, "code", "");
    CLEANUP(free_p) char *text = json_write(body, NULL);
    MUST(status >= 400 && code[0] == 'S' && strlen(code) == 4 && *json_get_str(body, "message", "") && text);
    ++*(int *)arg;
}

static struct api *make_api(void)
{
    static struct settings settings;
    static struct manager manager;
    static struct keyring *keys;
    static struct loop *loop;
    static struct api *api;
    if (api)
        return api;
    settings_init(&settings);
    manager.settings = &settings;
    manager.sandboxes = map_new();
    MUST(loop_new(&loop, NULL) == 0 && store_open(STORE_IN_MEMORY, &manager.store, NULL) == 0);
    MUST(keyring_new(loop, NULL, "", &keys, NULL) == 0);
    MUST(api_new(loop, &manager, &settings, keys, &api, NULL) == 0 && fn_new(&manager, api, NULL) == 0);
    return api;
}

static void call_all(json_t *in)
{
    for (int op = OP_COUNT; op < OP_ALL; op++) {
        int answers = 0;
        const struct field *first = spec_ops[op].fields;
        if (!(spec_ops[op].flags & OP_FUNCTION) || !first->name || first->ref != REF_SANDBOX)
            continue; /* the others need images */
        JSON_OWNED copy = json_deep_copy(in);
        call_run(make_api(), (enum op_id)op, copy, NULL, on_done, &answers);
        MUST(answers == 1);
    }
}

static void split_words(const char *text)
{
    CLEANUP(strlist_free_p) char **words = NULL;
    if (shell_words_split(text, &words) < 0)
        return;
    size_t total = 0;
    for (char **w = words; w && *w; w++)
        total += strlen(*w);
    MUST(total <= strlen(text)); /* words are pieces of the text, nothing is added */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(free_p) char *text = feed_text(data, size);
    split_words(text);
    (void)shell_words_has_space(text);
    JSON_OWNED in = NULL;
    if (json_read((const char *)data, size, &in, NULL) < 0 || !json_is_object(in))
        return 0;
    call_all(in);
    return 0;
}
