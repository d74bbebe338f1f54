/* Create a sandbox, run a command, write and read a file, run Python. Build:
 *   cc quickstart.c $(pkg-config --cflags --libs iiisandbox)
 * Needs a server: III_SANDBOX_URL, III_SANDBOX_TOKEN. */
#include <stdio.h>
#include <stdlib.h>

#include <iii_sandbox.h>

static int fail(const struct iii_error *err)
{
    fprintf(stderr, "%s: %s\n", iii_code_name(err->code), err->message);
    return 1;
}

int main(void)
{
    struct iii_error err = { 0 };
    const struct iii_config config = { .base_url = getenv("III_SANDBOX_URL"), .token = getenv("III_SANDBOX_TOKEN") };
    /* Cleaned up at the end of the scope, in reverse order: results, the sandbox (killed), the client. */
    III_AUTO_CLIENT iii_client *client = NULL;
    III_AUTO_SANDBOX iii_sandbox *box = NULL;
    III_AUTO struct iii_exec_result *result = NULL;
    III_AUTO struct iii_text *note = NULL;
    III_AUTO struct iii_code_result *code = NULL;

    if (iii_client_new(&config, &client, &err) != 0)
        return fail(&err);
    if (iii_create(client, &(struct iii_sandbox_create_options){ .image = "python", .memory = III_INT(256) }, &box,
                   &err) != 0)
        return fail(&err);
    if (iii_exec(box, "echo hello; exit 3", 10, &result, &err) != 0)
        return fail(&err);
    printf("%s%lld\n", result->stdout_, (long long)result->exit_code);

    if (iii_fs_write(box, "/workspace/note.txt", "kept\n", NULL, &err) != 0 ||
        iii_fs_read(box, "/workspace/note.txt", &note, &err) != 0)
        return fail(&err);
    printf("%s", note->value);

    if (iii_interp_execute(box, "print(sum(range(101)))", NULL, &code, &err) != 0)
        return fail(&err);
    printf("%s", code->output);
    return 0;
}
