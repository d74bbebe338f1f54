/* What a registry sends before any digest can be checked: challenge, token, manifest list, manifest; the first byte
 * picks which. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/manifest.h"
#include "image/registry_auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct err err = ERR_INIT;
    const char *bytes = (const char *)data + 1;
    CLEANUP(free_p) char *text = calloc(1, size);
    CLEANUP(free_p) char *token = NULL;
    CLEANUP(manifest_image_done) struct manifest_image image = { 0 };
    static struct registry_auth_challenge challenge;
    char hex[DIGEST_HEX];
    bool is_index;
    if (!text)
        return 0;
    memcpy(text, bytes, size - 1);
    switch (data[0] % 4) {
    case 0:
        (void)registry_auth_parse_challenge(text, &challenge, &err);
        break;
    case 1:
        (void)registry_auth_parse_token(bytes, size - 1, &token, &err);
        break;
    case 2:
        if (manifest_is_index(bytes, size - 1))
            (void)manifest_parse_index(bytes, size - 1, hex, &is_index, &err);
        break;
    default:
        (void)manifest_parse_image(bytes, size - 1, &image, &err);
    }
    return 0;
}
