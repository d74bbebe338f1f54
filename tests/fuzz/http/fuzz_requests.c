/* A stream of requests as a sandbox sends it. The first byte says how it is cut; cutting it in another way must clear
 * the same bytes for the same hosts. What is cleared must be readable by the parser again. */
#include "../feed.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/http_requests.h"

struct outcome {
    size_t cleared, heads;
    int result;
};

static bool on_request(void *arg, const struct http_requests_head *head)
{
    struct outcome *o = arg;
    o->heads++;
    MUST(*head->method && head->target && (!head->host || !strpbrk(head->host, " \t/@,\r\n")));
    return !head->host || strcmp(head->host, "evil") != 0;
}

static struct outcome run(const char *data, size_t size, size_t step)
{
    struct outcome o = { 0 };
    CLEANUP(http_requests_free_p) struct http_requests *r = http_requests_new(on_request, &o);
    size_t fed = 0;
    for (size_t pass; fed < size && o.result == 0;) {
        size_t part = size - fed < step ? size - fed : step;
        o.result = http_requests_feed(r, data + fed, part, &pass);
        fed += part;
        o.cleared += pass;
        MUST(o.cleared <= fed);
    }
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 60000)
        return 0;
    CLEANUP(free_p) char *bytes = feed_bytes(data + 1, size - 1);
    struct outcome whole = run(bytes, size - 1, size), cut = run(bytes, size - 1, 1 + data[0] % 16);
    MUST(whole.result == cut.result && whole.heads == cut.heads);
    MUST(whole.result < 0 || whole.cleared == cut.cleared);
    MUST(run(bytes, whole.cleared, size).result == 0);
    return 0;
}
