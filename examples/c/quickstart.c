/* Create a sandbox, run a command, write and read a file, run Python. Build:
 *   cc quickstart.c $(pkg-config --cflags --libs iiisandbox)
 * Needs a server: III_SANDBOX_URL (http://localhost:3111), III_SANDBOX_TOKEN when it has tokens. */
#include <stdio.h>

#include <iii_sandbox.h>

static int fail(const struct iii_error *err)
{
    fprintf(stderr, "%s: %s\n", iii_code_name(err->code), err->message);
    return 1;
}

int main(void)
{
    struct iii_error err = { 0 };
    /* Cleaned up at the end of the scope: results are freed, the sandbox is killed. */
    III_AUTO_SANDBOX iii_sandbox *box = NULL;
    III_AUTO struct iii_exec_result *result = NULL;
    III_AUTO unsigned char *note = NULL;
    III_AUTO struct iii_context_result *code = NULL;
    size_t size = 0;

    if (iii_create(NULL, &(struct iii_sandbox_create_options){ .image = "python", .memory = III_INT(256) }, &box,
                   &err) != 0)
        return fail(&err);
    if (iii_exec(box, "echo hello; exit 3", &(struct iii_exec_options){ .timeout_s = 10 }, &result, &err) != 0)
        return fail(&err);
    printf("%s%lld\n", result->stdout_, (long long)result->exit_code);

    if (iii_write_file(box, "note.txt", "kept\n", 5, &err) != 0 ||
        iii_read_file(box, "note.txt", &note, &size, &err) != 0)
        return fail(&err);
    printf("%.*s", (int)size, (const char *)note);

    if (iii_run_code(box, "sum(range(101))", NULL, &code, &err) != 0)
        return fail(&err);
    printf("%s\n", iii_code_text(code));
    return 0;
}
