#include "cli/rest_call.h"

#include <stdlib.h>
#include <string.h>

#include "cli/rest_client.h"

static const char *server_of(const struct verbs_args *a)
{
    const char *given = verbs_value(a, "server");
    return given && *given ? given : getenv("III_SERVER");
}

bool rest_call_is_wanted(const struct verbs_args *a)
{
    const char *server = server_of(a);
    return server && *server;
}

static int read_answer(struct rest_client_answer *answer, json_t **ret, struct err *err)
{
    if (answer->status >= 400)
        return err_set(err, answer->status == 404 ? ERR_NOT_FOUND : ERR_UPSTREAM, 0, "%.200s (status %d)",
                       answer->error, answer->status);
    if (!json_is_object(answer->body) && !json_is_array(answer->body))
        return err_set(err, ERR_UPSTREAM, 0,
                       "status %d, and a response that is not JSON: is that an iii-sandbox server?", answer->status);
    *ret = STEAL(answer->body);
    return 0;
}

int rest_call_run(const struct verbs_args *a, const struct rest_call *call, json_t **ret, struct err *err)
{
    const char *given = verbs_value(a, "token"), *secret = given && *given ? given : getenv("III_AUTH_TOKEN");
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    rest_client_init(&link, server_of(a), secret ? secret : "", NULL);
    struct rest_client_request req = { .method = call->method, .path = call->path, .body = call->body };
    int r = rest_client_run(&link, &req, &answer, err);
    return r < 0 ? r : read_answer(&answer, ret, err);
}
