/* Image references of any bytes. What is accepted must be accepted again when it is put together anew. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "image/reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[1024];
    struct reference a, b;
    if (size >= sizeof(text))
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (reference_parse(text, &a, NULL) < 0)
        return 0;
    (void)snprintf(text, sizeof(text), "%s/%s%s%s%s%s", a.host, a.repository, a.tag[0] ? ":" : "", a.tag,
                   a.digest[0] ? "@sha256:" : "", a.digest);
    if (strlen(text) > IMAGE_NAME_MAX) /* the host and folder that were filled in may pass the limit */
        return 0;
    int r = reference_parse(text, &b, NULL);
    assert(r == 0 && strcmp(a.repository, b.repository) == 0 && strcmp(a.tag, b.tag) == 0 &&
           strcmp(a.host, b.host) == 0);
    return 0;
}
