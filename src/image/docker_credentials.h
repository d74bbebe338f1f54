/* Credentials for a registry from Docker's own configuration: ~/.docker/config.json, with credential helpers. The file
 * is the user's; a helper's output is bounded. Blocks while a helper runs. May include: base/, image/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct docker_credentials {
    char *user, *secret; /* NULL: none known */
    bool is_identity;    /* secret is a refresh token, not a password */
};
void docker_credentials_done(struct docker_credentials *c); /* wipes the secret */

char *
docker_credentials_path(void); /* path of Docker's configuration, existing or not; NULL: no home folder. Caller frees */
bool docker_credentials_has_helper(void); /* the configuration names credential helpers to run */

/* host as in references ("docker.io", "localhost:5000"). path NULL: $DOCKER_CONFIG/config.json, else
 * $HOME/.docker/config.json. No file, or nothing for this host: 0 with both NULL. */
int docker_credentials_find(const char *path, const char *host, struct docker_credentials *ret, struct err *err);
