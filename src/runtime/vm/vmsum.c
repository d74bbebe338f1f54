#include "runtime/vm/vmsum.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "base/ident.h"

void vmsum_init(struct vmsum *s)
{
    s->state = EVP_MD_CTX_new();
    int is_ok = s->state && EVP_DigestInit_ex(s->state, EVP_sha256(), NULL);
    assert(is_ok); /* fails only when out of memory */
}

void vmsum_add(struct vmsum *s, const void *data, size_t len)
{
    int is_ok = EVP_DigestUpdate(s->state, data, len);
    assert(is_ok);
}

void vmsum_text(struct vmsum *s, const char *text)
{
    vmsum_add(s, text, strlen(text) + 1);
}

int vmsum_file(struct vmsum *s, int fd)
{
    char chunk[65536];
    off_t at = 0;
    ssize_t n;
    while ((n = pread(fd, chunk, sizeof(chunk), at)) > 0) {
        vmsum_add(s, chunk, (size_t)n);
        at += n;
    }
    return n < 0 ? -errno : 0;
}

void vmsum_end(struct vmsum *s, char ret[VMSUM_HEX])
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    int is_ok = EVP_DigestFinal_ex(s->state, raw, NULL);
    assert(is_ok);
    EVP_MD_CTX_free(s->state);
    s->state = NULL;
    ident_hex(raw, 32, ret);
}
