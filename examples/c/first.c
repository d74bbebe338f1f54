#include <stdio.h>
#include <stdlib.h>

#include <iii_sandbox.h>

int main(void)
{
    struct iii_error err = { 0 };
    const struct iii_config config = { .base_url = getenv("III_SANDBOX_URL"), .token = getenv("III_SANDBOX_TOKEN") };
    III_AUTO_CLIENT iii_client *client = NULL;
    III_AUTO_SANDBOX iii_sandbox *box = NULL;       /* killed at the end of the scope */
    III_AUTO struct iii_exec_result *result = NULL; /* freed at the end of the scope */

    if (iii_client_new(&config, &client, &err) != 0 ||
        iii_create(client, &(struct iii_sandbox_create_options){ .image = "python" }, &box, &err) != 0 ||
        iii_exec(box, "echo hello; exit 3", 10, &result, &err) != 0) {
        fprintf(stderr, "%s: %s\n", iii_code_name(err.code), err.message);
        return 1;
    }
    printf("%s%lld\n", result->stdout_, (long long)result->exit_code);
    return 0;
}
