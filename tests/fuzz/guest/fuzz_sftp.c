/* Requests of an SFTP client, as the agent decodes them. */
#include "../feed.h"

#include "agent/sftp_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sftp_request q;
    bool has_id = false;
    int r = sftp_request_parse(data, size, &q, &has_id);
    MUST(r <= 0 && (size >= 5 || !has_id));
    MUST(memchr(q.path, '\0', sizeof(q.path)) && memchr(q.other, '\0', sizeof(q.other)));
    if (r == 0 && q.data)
        MUST(q.data >= data && q.data + q.length <= data + size);
    return 0;
}
