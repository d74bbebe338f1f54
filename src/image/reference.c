#include "image/reference.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_HOST   "docker.io"
#define DEFAULT_FOLDER "library/"
#define TAG_MAX        128
#define LOWER_DIGITS   "abcdefghijklmnopqrstuvwxyz0123456789"
#define ALL_DIGITS     LOWER_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static int reference_error(const char *text, const char *why, struct err *err)
{
    return err_set(err, ERR_INVALID, 0, "image reference \"%.100s\": %s", text, why);
}

static bool is_host(const char *host)
{
    const char *colon = strchr(host, ':');
    size_t len = colon ? (size_t)(colon - host) : strlen(host);
    if (colon) {
        size_t digits = strspn(colon + 1, "0123456789");
        long port = digits >= 1 && digits <= 5 && colon[1 + digits] == '\0' ? strtol(colon + 1, NULL, 10) : 0;
        if (port < 1 || port > 65535)
            return false;
    }
    while (true) { /* one label at a time */
        size_t n = strcspn(host, ".:");
        if (n == 0 || n > 63 || host[0] == '-' || host[n - 1] == '-' || strspn(host, ALL_DIGITS "-") < n)
            return false;
        if (n >= len)
            return true;
        host += n + 1;
        len -= n + 1;
    }
}

/* Lower-case words joined by one dot, one or two underscores, or any number of dashes. */
static bool is_component(const char *text, size_t len)
{
    size_t at = 0;
    while (true) {
        size_t word = strspn(text + at, LOWER_DIGITS);
        if (word == 0)
            return false;
        at += word;
        if (at >= len)
            return at == len;
        size_t dashes = strspn(text + at, "-"), lows = strspn(text + at, "_");
        if (dashes > 0)
            at += dashes;
        else if (lows == 1 || lows == 2)
            at += lows;
        else if (text[at] == '.')
            at++;
        else
            return false;
    }
}

static bool is_repository(const char *text)
{
    while (true) {
        size_t n = strcspn(text, "/");
        if (!is_component(text, n))
            return false;
        if (text[n] == '\0')
            return true;
        text += n + 1;
    }
}

/* Cuts "@sha256:…" and ":tag" off rest. */
static int cut_tail(const char *text, char *rest, struct reference *r, struct err *err)
{
    char *at = strchr(rest, '@');
    if (at) {
        const char *hex = digest_from_ref(at + 1);
        if (!hex)
            return reference_error(text, "after @ there must be sha256: and 64 lower-case hex digits", err);
        memcpy(r->digest, hex, DIGEST_HEX);
        *at = '\0';
    }
    char *slash = strrchr(rest, '/');
    char *colon = strchr(slash ? slash : rest, ':');
    if (colon) {
        const char *tag = colon + 1;
        size_t len = strlen(tag);
        if (len < 1 || len > TAG_MAX || *tag == '.' || *tag == '-' || strspn(tag, ALL_DIGITS "_.-") != len)
            return reference_error(text, "a tag is 1 to 128 letters, digits, _ . and -, not beginning with . or -",
                                   err);
        memcpy(r->tag, tag, len + 1);
        *colon = '\0';
    } else if (!at) {
        (void)snprintf(r->tag, sizeof(r->tag), "latest");
    }
    return 0;
}

int reference_parse(const char *text, struct reference *ret, struct err *err)
{
    char rest[IMAGE_NAME_MAX + 1];
    struct reference r = { .host = DEFAULT_HOST };
    size_t len = strlen(text);
    if (len == 0 || len > IMAGE_NAME_MAX)
        return reference_error(text, "it must have 1 to 255 bytes", err);
    memcpy(rest, text, len + 1);
    int result = cut_tail(text, rest, &r, err);
    if (result < 0)
        return result;
    const char *path = rest;
    char *slash = strchr(rest, '/');
    size_t n = slash ? (size_t)(slash - rest) : 0;
    /* "example.com", "localhost", "10.0.0.1:5000": tells a host from the first folder of a path. */
    if (memchr(rest, '.', n) || memchr(rest, ':', n) || (n == 9 && memcmp(rest, "localhost", 9) == 0)) {
        *slash = '\0';
        memcpy(r.host, rest, n + 1);
        if (!is_host(r.host))
            return reference_error(text, "the part before the first / is not a host name with an optional port", err);
        path = slash + 1;
    }
    if (!is_repository(path))
        return reference_error(text, "its path must be lower-case letters and digits, joined by . _ __ - and /", err);
    bool is_bare = strcmp(r.host, DEFAULT_HOST) == 0 && !strchr(path, '/');
    (void)snprintf(r.repository, sizeof(r.repository), "%s%s", is_bare ? DEFAULT_FOLDER : "", path);
    *ret = r;
    return 0;
}

void reference_canonical(const char *name, char ret[REFERENCE_MAX])
{
    struct reference r;
    bool has_scheme = strncmp(name, "oci:", 4) == 0 && strchr(name, '/'); /* "oci:latest" is an image called oci */
    bool is_reference = reference_parse(has_scheme ? name + 4 : name, &r, NULL) == 0;
    if (!is_reference)
        (void)snprintf(ret, REFERENCE_MAX, "%s", name);
    else if (*r.digest)
        (void)snprintf(ret, REFERENCE_MAX, "%s/%s@sha256:%s", r.host, r.repository, r.digest);
    else
        (void)snprintf(ret, REFERENCE_MAX, "%s/%s:%s", r.host, r.repository, r.tag);
}
