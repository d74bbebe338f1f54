#include "api/asset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"

#define GZIP    (15 + 16) /* zlib's number for the largest window and gzip's head */
#define TAG_MAX 48

static char *unpack(const struct asset *asset)
{
    char *out = xzalloc(asset->size + 1);
    z_stream z = { .next_in = (unsigned char *)(uintptr_t)asset->packed,
                   .avail_in = (unsigned)asset->packed_len,
                   .next_out = (unsigned char *)out,
                   .avail_out = (unsigned)asset->size };
    bool is_whole = inflateInit2(&z, GZIP) == Z_OK && inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0;
    (void)inflateEnd(&z); /* of what was ours alone */
    if (is_whole)
        return out;
    free(out);
    return NULL;
}

bool asset_accepts(struct http_req *r, const char *header, const char *what)
{
    const char *value = http_req_header(r, header), *at = value ? strstr(value, what) : NULL;
    return at && strncmp(at + strlen(what), ";q=0", 4) != 0;
}

void asset_reply(struct http_req *r, const struct asset *asset, const char *type, const char *vary)
{
    char tag[TAG_MAX], varies[TAG_MAX];
    bool is_packed = asset_accepts(r, "accept-encoding", "gzip");
    (void)snprintf(tag, sizeof(tag), "\"%s%s\"", asset->tag, is_packed ? "-gzip" : "");
    (void)snprintf(varies, sizeof(varies), "%s%sAccept-Encoding", vary ? vary : "", vary ? ", " : "");
    http_req_add_header(r, "ETag", tag);
    http_req_add_header(r, "Vary", varies);
    http_req_add_header(r, "X-Content-Type-Options", "nosniff");
    http_req_add_header(r, "Referrer-Policy", "no-referrer");
    const char *known = http_req_header(r, "if-none-match");
    if (known && (strcmp(known, "*") == 0 || strstr(known, tag))) {
        http_req_reply(r, 304, type, "", 0);
        return;
    }
    CLEANUP(free_p) char *plain = is_packed ? NULL : unpack(asset);
    if (is_packed)
        http_req_add_header(r, "Content-Encoding", "gzip");
    if (is_packed || plain)
        http_req_reply(r, 200, type, is_packed ? (const char *)asset->packed : plain,
                       is_packed ? asset->packed_len : asset->size);
    else
        http_req_reply(r, 500, "text/plain", "the file cannot be unpacked\n", 28);
}
