/* What the TLS door gives up once it has read the key: another user (as root), all capabilities, new privileges, and
 * every system call but those that move bytes. May include: base/, os/. */
#pragma once
#include "base/err.h"

int tls_confine_enter(struct err *err);
