#include "mcp/mcp_prompt.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"

#define ARGS_MAX 3
#define TEXT_MAX ((size_t)1 << 20)

static const struct prompt {
    const char *name, *title, *help;
    struct {
        const char *name, *help;
        const char *fallback; /* NULL: required */
    } args[ARGS_MAX];
    const char *text; /* {name} is replaced by the argument */
} prompts[] = {
    { "run_code",
      "Run code in a sandbox",
      "Run a piece of code in a new sandbox and explain its output",
      { { "code", "Source code", NULL }, { "language", "Language of the code", "python" } },
      "Run this {language} code in a new sandbox: sandbox_create, then sandbox_run_code. Show its output, explain an "
      "error if there is one, and remove the sandbox with sandbox_kill.\n\n{code}" },
    { "test_repository",
      "Test a git repository",
      "Clone a repository into a new sandbox, run its tests and report",
      { { "url", "Address of the repository", NULL },
        { "branch", "Branch to test", "its default branch" },
        { "image", "Image of the sandbox", "the default image" } },
      "Create a sandbox with network access (sandbox_create with network: true) from {image}. Clone {url}, {branch}, "
      "with sandbox_git_clone. Read its documents to find out how its tests are run, install what they need, run them "
      "with sandbox_exec, and report which fail and why. Remove the sandbox with sandbox_kill." },
    { "inspect_sandbox",
      "Find out what a sandbox does",
      "Look at the state, processes, output and resource use of a sandbox",
      { { "sandboxId", "Id of the sandbox", NULL } },
      "Find out what sandbox {sandboxId} is doing, without changing it: sandbox_metrics, "
      "sandbox_process_list, sandbox_stream_logs and sandbox_list_files. Report what is unusual and what to do about "
      "it." },
};
#define N_PROMPTS (sizeof(prompts) / sizeof(prompts[0]))

static const struct prompt *find(const char *name)
{
    for (size_t i = 0; i < N_PROMPTS; i++)
        if (strcmp(prompts[i].name, name) == 0)
            return &prompts[i];
    return NULL;
}

json_t *mcp_prompt_list(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < N_PROMPTS; i++) {
        const struct prompt *p = &prompts[i];
        json_t *args = json_array();
        for (size_t k = 0; k < ARGS_MAX && p->args[k].name; k++)
            (void)json_array_append_new(args, json_pack("{s:s, s:s, s:b}", "name", p->args[k].name, "description",
                                                        p->args[k].help, "required", p->args[k].fallback == NULL));
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "name", p->name, "title", p->title,
                                                    "description", p->help, "arguments", args));
    }
    return json_pack("{s:o}", "prompts", list);
}

bool mcp_prompt_has(const char *name, const char *argument)
{
    const struct prompt *p = find(name);
    for (size_t k = 0; p && k < ARGS_MAX && p->args[k].name; k++)
        if (strcmp(p->args[k].name, argument) == 0)
            return true;
    return false;
}

/* The value for {name} in a text of ours; NULL: err says why. */
static const char *value_of(const struct prompt *p, const char *name, size_t len, const json_t *args, struct err *err)
{
    size_t k = 0;
    while (strncmp(p->args[k].name, name, len) != 0 || p->args[k].name[len])
        k++;
    const json_t *given = json_object_get(args, p->args[k].name);
    if (json_is_string(given))
        return json_string_value(given);
    if (given)
        (void)err_set(err, ERR_INVALID, 0, "%s: %s: a text is needed", p->name, p->args[k].name);
    else if (!p->args[k].fallback)
        (void)err_set(err, ERR_INVALID, 0, "%s: %s: it is required", p->name, p->args[k].name);
    return given ? NULL : p->args[k].fallback;
}

int mcp_prompt_get(const char *name, const json_t *args, json_t **ret, struct err *err)
{
    const struct prompt *p = find(name);
    CLEANUP(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    bool is_full = false;
    if (!p)
        return err_set(err, ERR_INVALID, 0, "Unknown prompt: %.100s", name);
    for (const char *at = p->text; *at && !is_full;) {
        size_t len = strcspn(at, *at == '{' ? "}" : "{");
        const char *value = *at == '{' ? value_of(p, at + 1, len - 1, args, err) : at;
        if (!value)
            return -EINVAL;
        is_full = buf_add(&text, value, *at == '{' ? strlen(value) : len) < 0;
        at += len + (*at == '{');
    }
    if (is_full)
        return err_set(err, ERR_INVALID, 0, "%s: its arguments have more than %zu bytes", p->name, TEXT_MAX);
    *ret = json_pack("{s:s, s:[{s:s, s:{s:s, s:o}}]}", "description", p->help, "messages", "role", "user", "content",
                     "type", "text", "text", json_text(buf_text(&text), text.len));
    return 0;
}
