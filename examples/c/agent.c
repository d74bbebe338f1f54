/* What an agent does: variables that live between calls, output as it comes, a fork to try something, and an error by
 * its code. */
#include <stdio.h>

#include <iii_sandbox.h>

static int print(const char *data, size_t size, void *arg)
{
    fwrite(data, 1, size, arg);
    return 0; /* anything else would leave, and so kill the command */
}

static int work(const iii_sandbox *box, struct iii_error *err)
{
    III_AUTO struct iii_context_result *code = NULL;
    III_AUTO struct iii_exec_result *steps = NULL;
    III_AUTO_SANDBOX iii_sandbox *attempt = NULL;
    III_AUTO struct iii_text *plan = NULL;
    int e;

    if ((e = iii_run_code(box, "total = 40", NULL, NULL, err)) != 0 ||
        (e = iii_run_code(box, "total + 2", NULL, &code, err)) != 0)
        return e;
    printf("code: %s\n", iii_code_text(code));

    if ((e = iii_exec(box, "for i in 1 2 3; do echo step $i; done",
                      &(struct iii_exec_options){ .on_stdout = print, .arg = stdout, .check = true }, &steps, err)) !=
        0)
        return e;
    printf("exit code %d\n", (int)steps->exit_code);

    if ((e = iii_fs_write(box, "/workspace/plan", "original", NULL, err)) != 0 ||
        (e = iii_fork(box, &attempt, err)) != 0 ||
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
    III_AUTO_SANDBOX iii_sandbox *box = NULL;

    if (iii_create(NULL, NULL, &box, &err) != 0 || work(box, &err) != 0) {
        fprintf(stderr, "%s: %s\n", iii_code_name(err.code), err.message);
        return 1;
    }
    return 0;
}
