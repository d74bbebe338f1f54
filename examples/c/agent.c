/* What an agent does: variables that live between calls, streamed output, a fork to try something, and an error by
 * its code. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iii_sandbox.h>

static int print_event(const struct iii_exec_stream_chunk *event, void *arg)
{
    (void)arg;
    if (strcmp(event->type, "exit") == 0)
        printf("exit code %s\n", event->data);
    else
        printf("%s", event->data);
    return 0; /* anything else would leave the stream, and so kill the command */
}

static int work(iii_client *client, const iii_sandbox *box, struct iii_error *err)
{
    III_AUTO struct iii_context *context = NULL;
    III_AUTO struct iii_context_result *result = NULL;
    III_AUTO struct iii_sandbox_fork *forks = NULL;
    III_AUTO_SANDBOX iii_sandbox *attempt = NULL;
    III_AUTO struct iii_text *plan = NULL;
    int e;

    if ((e = iii_context_create(box, NULL, &context, err)) != 0 ||
        (e = iii_context_execute(box, context->id, "total = 40", NULL, NULL, err)) != 0 ||
        (e = iii_context_execute(box, context->id, "total + 2", NULL, &result, err)) != 0)
        return e;
    printf("context: %s\n", result->results[0].data);

    if ((e = iii_exec_stream(box, "for i in 1 2 3; do echo step $i; done", print_event, NULL, err)) != 0)
        return e;

    if ((e = iii_fs_write(box, "/workspace/plan", "original", NULL, err)) != 0 ||
        (e = iii_sandbox_fork(box, NULL, &forks, err)) != 0 ||
        (e = iii_handle(client, forks->sandboxes[0].id, &attempt, err)) != 0 ||
        (e = iii_fs_write(attempt, "/workspace/plan", "changed", NULL, err)) != 0 ||
        (e = iii_fs_read(box, "/workspace/plan", &plan, err)) != 0)
        return e;
    printf("after the fork: %s\n", plan->value);

    if (iii_fs_read(box, "/workspace/missing", NULL, err) == III_NOT_FOUND)
        printf("missing: %s\n", iii_code_name(III_NOT_FOUND));
    return 0;
}

int main(void)
{
    struct iii_error err = { 0 };
    const struct iii_config config = { .base_url = getenv("III_SANDBOX_URL"), .token = getenv("III_SANDBOX_TOKEN") };
    III_AUTO_CLIENT iii_client *client = NULL;
    III_AUTO_SANDBOX iii_sandbox *box = NULL;

    if (iii_client_new(&config, &client, &err) != 0 ||
        iii_create(client, &(struct iii_sandbox_create_options){ .image = "python" }, &box, &err) != 0 ||
        work(client, box, &err) != 0) {
        fprintf(stderr, "%s: %s\n", iii_code_name(err.code), err.message);
        return 1;
    }
    return 0;
}
