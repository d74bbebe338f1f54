#include "vm/digest.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

#include "base/ident.h"

void vm_digest_init(struct vm_digest *s)
{
    s->state = EVP_MD_CTX_new();
    int is_ok = s->state && EVP_DigestInit_ex(s->state, EVP_sha256(), NULL);
    assert(is_ok); /* fails only when out of memory */
}

void vm_digest_add(struct vm_digest *s, const void *data, size_t len)
{
    int is_ok = EVP_DigestUpdate(s->state, data, len);
    assert(is_ok);
}

void vm_digest_text(struct vm_digest *s, const char *text)
{
    vm_digest_add(s, text, strlen(text) + 1);
}

int vm_digest_file(struct vm_digest *s, int fd)
{
    char chunk[65536];
    off_t at = 0;
    ssize_t n;
    while ((n = pread(fd, chunk, sizeof(chunk), at)) > 0) {
        vm_digest_add(s, chunk, (size_t)n);
        at += n;
    }
    return n < 0 ? -errno : 0;
}

void vm_digest_end(struct vm_digest *s, char ret[VM_DIGEST_HEX])
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    int is_ok = EVP_DigestFinal_ex(s->state, raw, NULL);
    assert(is_ok);
    EVP_MD_CTX_free(s->state);
    s->state = NULL;
    ident_hex(raw, 32, ret);
}
