/* Calls of the engine's functions over REST, for people: workers call each other on the engine's port. */
#include <stdlib.h>
#include <string.h>

#include "api/api_core.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "engine/engine.h"

#define INVOKED_MAX 256 /* without an answer, those included whose caller has left */

/* One call, until the function answers or the loop ends. */
struct invoked {
    struct api *api;
    struct call *c; /* NULL: answered already */
    struct timer *limit;
    struct loop_end *end;
};

/* The engine has stopped and dropped the answer; the api is gone, too. */
static void on_loop_end(void *arg)
{
    struct invoked *i = arg;
    timer_free(i->limit);
    free(i);
}

static void on_limit(void *arg)
{
    struct invoked *i = arg;
    struct call *c = STEAL(i->c);
    if (c)
        call_error(c, ERR_TIMEOUT, "function %.200s did not answer within %lld s: raise \"timeout\" (max %d)",
                   call_str(c, "functionId", ""), (long long)call_int(c, "timeout", LIMIT_DEFAULT(CALL_WAIT_S)),
                   (int)LIMIT_MAX(CALL_WAIT_S));
}

static void on_cancelled(void *arg)
{
    struct invoked *i = arg;
    call_error(STEAL(i->c), ERR_CAPACITY, "the caller has left");
}

static void on_answer(void *arg, json_t *result, const struct engine_error *error)
{
    struct invoked *i = arg;
    struct call *c = STEAL(i->c);
    loop_end_free(i->end);
    timer_free(i->limit);
    i->api->n_invoked--;
    free(i);
    if (!c)
        return;
    call_on_cancel(c, NULL, NULL);
    if (!error)
        call_ok(c, json_pack("{s:O*}", "result", result));
    else
        call_error(c,
                   strcmp(error->code, "function_not_found") == 0  ? ERR_NOT_FOUND
                   : strcmp(error->code, "INVALID_ARGUMENTS") == 0 ? ERR_INVALID
                                                                   : ERR_UPSTREAM,
                   "%s: %.1000s", error->code, error->message ? error->message : "");
}

void api_function_call(struct call *c)
{
    struct api *a = call_api(c);
    const struct caller *who = call_who(c);
    if (!a->engine) {
        call_error(c, ERR_UNSUPPORTED, "this server has no engine");
        return;
    }
    if (who && *who->operations) { /* a function may do anything */
        call_error(c, ERR_FORBIDDEN, "a token with operations cannot call functions: use an admin's token without");
        return;
    }
    if (a->n_invoked >= INVOKED_MAX) {
        call_error(c, ERR_CAPACITY, "limit of %d functions that are called over REST reached: try again", INVOKED_MAX);
        return;
    }
    struct invoked *i = xzalloc(sizeof(*i));
    a->n_invoked++;
    *i = (struct invoked){ .api = a, .c = c };
    i->limit = timer_new(a->loop, call_int(c, "timeout", LIMIT_DEFAULT(CALL_WAIT_S)) * 1000, 0, on_limit, i);
    i->end = loop_on_end(a->loop, on_loop_end, i);
    call_on_cancel(c, on_cancelled, i);
    engine_invoke(a->engine, call_str(c, "functionId", ""), json_get(call_params(c), "payload"), NULL, on_answer, i);
}
