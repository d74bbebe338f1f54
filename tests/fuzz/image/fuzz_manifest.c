/* The JSON files of image archives; the first byte picks which. */
#include <stdint.h>

#include "image/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const char *text = (const char *)data + 1;
    CLEANUP(manifest_parts_done) struct manifest_parts parts = { 0 };
    CLEANUP(manifest_config_done) struct manifest_config config = { 0 };
    char hex[DIGEST_HEX];
    bool is_index;
    struct err err = ERR_INIT;
    switch (data[0] % 4) {
    case 0:
        (void)manifest_parse_docker(text, size - 1, &parts, &err);
        break;
    case 1:
        (void)manifest_parse_index(text, size - 1, hex, &is_index, &err);
        break;
    case 2:
        (void)manifest_parse_oci(text, size - 1, &parts, &err);
        break;
    default:
        (void)manifest_parse_config(text, size - 1, &config, &err);
    }
    return 0;
}
