#include <stdio.h>

#include <iii_sandbox.h>

int main(void)
{
    struct iii_error err = { 0 };
    III_AUTO_SANDBOX iii_sandbox *box = NULL;        /* killed at the end of the scope */
    III_AUTO struct iii_context_result *code = NULL; /* freed at the end of the scope */
    III_AUTO struct iii_exec_result *result = NULL;

    if (iii_create(NULL, NULL, &box, &err) != 0 || iii_run_code(box, "x = 20", NULL, NULL, &err) != 0 ||
        iii_run_code(box, "x * 2 + 2", NULL, &code, &err) != 0 ||
        iii_exec(box, "echo $NAME; exit 3", &(struct iii_exec_options){ III_ENV({ "NAME", "hello" }) }, &result,
                 &err) != 0) {
        fprintf(stderr, "%s: %s\n", iii_code_name(err.code), err.message);
        return 1;
    }
    printf("%s\n%s%lld\n", iii_code_text(code), result->stdout_, (long long)result->exit_code);
    return 0;
}
