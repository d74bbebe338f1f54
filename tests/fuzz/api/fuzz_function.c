/* Payloads of the sandbox:: functions through every reader of arguments, and command lines into words. A refusal always
 * has its code. */
#include "../feed.h"

#include "api/fn_args.h"
#include "api/shell_words.h"
#include "base/strlist.h"

static void check(struct fn_call *c, int r)
{
    MUST((r == 0) == (c->fault.code == NULL));
    if (c->fault.code) {
        MUST(c->fault.code[0] == 'S' && strlen(c->fault.code) == 4 && c->fault.message[0]);
        JSON_OWNED envelope = fn_fault_json(&c->fault);
        CLEANUP(free_p) char *text = json_write(envelope, NULL);
        MUST(text); /* it can always be sent */
    }
    json_decref(c->fault.fix);
    json_decref(c->fault.extra);
    c->fault = (struct fn_fault){ 0 };
}

static void read_texts(struct fn_call *c)
{
    const char *text = "";
    int64_t number = 5;
    bool is_on = false;
    uint32_t mode = 0;
    check(c, fn_args_str(c, "image", FN_ARG_REQUIRED, &text));
    check(c, fn_args_str(c, "code", FN_ARG_SCALAR | FN_ARG_ANY_BYTES, &text));
    int r = fn_args_int(c, "timeout_ms", 1, 1000, &number);
    MUST(r < 0 || (number >= 1 && number <= 1000));
    check(c, r);
    check(c, fn_args_bool(c, "network", &is_on));
    r = fn_args_mode(c, "0644", &mode);
    MUST(r < 0 || mode <= 07777);
    check(c, r);
    r = fn_args_path(c, "path", &text);
    MUST(r < 0 || text[0] == '/');
    check(c, r);
    r = fn_args_id(c);
    MUST(r < 0 || strlen(c->sandbox_id) == UUID_MAX - 1);
    check(c, r);
}

static void read_lists(struct fn_call *c)
{
    CLEANUP(strlist_free_p) char **list = NULL;
    CLEANUP(strlist_free_p) char **argv = NULL;
    JSON_OWNED env = NULL;
    struct buf bytes = BUF_INIT(0);
    check(c, fn_args_list(c, "include_glob", &list));
    int r = fn_args_command(c, &argv);
    MUST(r < 0 || (argv && argv[0]));
    check(c, r);
    r = fn_args_env(c, &env);
    MUST(r < 0 || json_is_object(env));
    check(c, r);
    check(c, fn_args_base64(c, "content_b64", &bytes));
    buf_done(&bytes);
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
    struct fn_call c = { .in = in };
    read_texts(&c);
    read_lists(&c);
    return 0;
}
