/* The backends that the settings name: the default one first. May include: base/, loop/, runtime/, sandbox/. */
#pragma once
#include "base/settings.h"
#include "runtime/docker/docker.h"
#include "runtime/native/native.h"
#include "sandbox/lifecycle/manager.h"

struct backends {
    struct runtime *all[MANAGER_RUNTIMES_MAX];
    size_t n;
};

int backends_check(const struct settings *s,
                   struct err *err); /* ERR_UNSUPPORTED: a backend that this version does not have */
bool backends_has(const struct settings *s, const char *name); /* the settings name it */
/* tls: the engine's files, as backends_tls() named them, or their copies. */
int backends_open(struct loop *l, const struct settings *s, const struct docker_tls *tls,
                  const struct native_options *native, struct backends *ret, struct err *err);
void backends_close(struct backends *b);
/* The group that may open an engine's socket, when a backend needs it. */
bool backends_group(const struct settings *s, gid_t *ret);
/* The files of DOCKER_CERT_PATH that TLS to the engine needs; folder "": none. Caller frees them. */
void backends_tls(const char *folder, struct docker_tls *ret);
void backends_tls_done(struct docker_tls *tls);
