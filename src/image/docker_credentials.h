/* Credentials for a registry out of Docker's own configuration: ~/.docker/config.json, with credential helpers. The
 * file is the user's; what a helper prints is bounded. Blocks while a helper runs. May include: base/, image/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct docker_credentials {
    char *user, *secret; /* NULL: none known */
    bool is_identity;    /* secret is a refresh token, not a password */
};
void docker_credentials_done(struct docker_credentials *c); /* wipes */

char *docker_credentials_path(void); /* where Docker's configuration is, or would be; NULL: nowhere. Caller frees */
bool docker_credentials_has_helper(void); /* it names programs that are asked for credentials */

/* host as in references ("docker.io", "localhost:5000"). path NULL: $DOCKER_CONFIG/config.json, else
 * $HOME/.docker/config.json. No file, or nothing for this host: 0 with both NULL. */
int docker_credentials_find(const char *path, const char *host, struct docker_credentials *ret, struct err *err);
