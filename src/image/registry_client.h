/* Client of one repository in a registry (OCI distribution, Docker v2): mirrors, login, retries. Blocks; several
 * threads may use one. Untrusted: everything a registry sends; the caller verifies digests (manifests are verified here
 * when requested by digest). May include: base/, image/. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"
#include "image/reference.h"
#include "image/registry_http.h"

struct registry_options {
    const char *mirrors;       /* "docker.io=mirror.example,ghcr.io=http://10.0.0.1:5000"; NULL or "": none */
    const char *plain_hosts;   /* hosts contacted over plain HTTP: "10.0.0.5:5000,lab.example"; NULL or "": none */
    const char *docker_config; /* NULL: Docker's default path */
    const char *private_hosts; /* may be on this host or at private addresses, as do those of the two lists above */
    const char *closed_ports;  /* as in struct outgoing; NULL: none */
    bool is_terse;             /* as in struct registry_http_request */
    const atomic_bool *is_cancelled; /* or NULL */
};

struct registry;

/* options and what it points to must outlive the client. Sends nothing yet. ERR_INVALID for a mirror entry that is not
 * HOST=ADDRESS. */
int registry_open(const struct reference *ref, const struct registry_options *options, struct registry **ret,
                  struct err *err);
struct registry *registry_close(struct registry *r);
DEFINE_CLEANUP(struct registry *, registry_close)

struct registry_doc {
    char *text;
    size_t len;
    char hex[DIGEST_HEX]; /* of text */
};
void registry_doc_done(struct registry_doc *d); /* for CLEANUP() too */

/* hex NULL: by the reference's digest or tag. ERR_NOT_FOUND: unknown, access denied, or no registry was reachable;
 * ERR_UPSTREAM: its reply is unusable. */
int registry_manifest(struct registry *r, const char *hex, struct registry_doc *ret, struct err *err);
/* After a manifest: another document of the repository, by its tag; or those that refer to a manifest
 * (OCI distribution 1.1). ERR_NOT_FOUND: there is none, or the registry does not know such questions. */
int registry_tagged(struct registry *r, const char *tag, struct registry_doc *ret, struct err *err);
int registry_referrers(struct registry *r, const char *hex, struct registry_doc *ret, struct err *err);
/* The blob's bytes from offset on, once each and in order, over as many connections as needed. */
int registry_blob(struct registry *r, const char *hex, int64_t offset, registry_http_sink_fn *sink, void *arg,
                  struct err *err);
