/* Somebody without a token of this server that another party vouches for: an OpenID Connect issuer (oidc.h), or a
 * certificate authority (client_cert.h). Has the rights of a token. May include: base/, store/token_file.h. */
#pragma once
#include "base/digest.h"
#include "store/token_file.h"

#define IDENTITY_SUBJECT_MAX 255 /* bytes: what OpenID Connect allows; a longer name of a certificate is cut */

struct identity {
    struct token_file_token token; /* what it may do, until when; id and hash are not set */
    char subject[IDENTITY_SUBJECT_MAX + 1];
    char key[DIGEST_HEX]; /* digest of the issuer's key, or of the certificate */
};

/* A name for messages and the audit log: what may not be part of a token's name becomes _. */
void identity_name(const char *subject, char ret[TOKEN_FILE_NAME_MAX + 1]);
