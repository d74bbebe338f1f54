/* Credentials for a registry out of Docker's own configuration: ~/.docker/config.json, with credential helpers. The
 * file is the user's; what a helper prints is bounded. Blocks while a helper runs. May include: base/, image/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct dockercred {
    char *user, *secret; /* NULL: none known */
    bool is_identity;    /* secret is a refresh token, not a password */
};
void dockercred_done(struct dockercred *c); /* wipes */

char *dockercred_path(void);      /* where Docker's configuration is, or would be; NULL: nowhere. Caller frees */
bool dockercred_has_helper(void); /* it names programs that are asked for credentials */

/* host as in references ("docker.io", "localhost:5000"). path NULL: $DOCKER_CONFIG/config.json, else
 * $HOME/.docker/config.json. No file, or nothing for this host: 0 with both NULL. */
int dockercred_find(const char *path, const char *host, struct dockercred *ret, struct err *err);
