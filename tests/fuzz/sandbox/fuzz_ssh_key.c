/* Public keys for SSH, as a client sends them. */
#include "../feed.h"

#include "base/cleanup.h"
#include "sandbox/net/ssh_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(free_p) char *text = feed_text(data, size);
    struct ssh_keys_parsed first, again;
    if (ssh_keys_parse(text, &first, NULL) < 0)
        return 0;
    MUST(first.bits >= 256 && first.bits <= 16384);
    MUST(first.comment >= text && first.comment <= text + size);
    MUST(ssh_keys_parse(text, &again, NULL) == 0 && strcmp(first.fingerprint, again.fingerprint) == 0);
    return 0;
}
