/* Confines the TLS listener once it has read the key: another user (as root), no capabilities, no new privileges, and
 * only the system calls that move bytes. May include: base/, os/. */
#pragma once
#include "base/err.h"

int tls_confine_enter(struct err *err);
