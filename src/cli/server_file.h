/* server.json in the data folder: how the command line finds the server that uses the folder. The server writes it when
 * it listens; a file whose process is gone counts as none. Untrusted: its text. May include: base/, os/, cli/. */
#pragma once
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"

struct server_file {
    char *rest;   /* "http://127.0.0.1:3111" */
    char *config; /* its configuration file, an absolute path; NULL: none */
};
/* For this process. host may be an address that stands for all. */
int server_file_write(const char *dir, const char *host, unsigned port, bool is_secure, const char *config,
                      struct err *err);
/* False: no server uses the folder, as far as can be seen. Caller calls server_file_done(). */
bool server_file_read(const char *dir, struct server_file *ret);
/* Whether rest is an address of this host. Whoever may write the folder could name any: no token goes elsewhere. */
bool server_file_is_local(const struct server_file *f);
void server_file_done(struct server_file *f);
