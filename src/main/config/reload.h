/* Applies a changed configuration file to a running server: the limits of the sandbox:: functions (the rows
 * functions.*) apply to the next call, exactly as after a start with that file; other keys wait for a restart. A file
 * that a start would reject changes nothing. */
#pragma once
#include "base/settings.h"
#include "loop/loop.h"
#include "main/config/config.h"
#include "main/engine_port.h"
#include "os/keeper.h"

struct reload;

/* All are borrowed; from has a file. s: the server's own settings, whose rows functions.* are kept up to date. */
struct reload *reload_new(struct loop *l, const struct config *from, struct settings *s, struct engine_port *engine,
                          struct keeper *keeper);
void reload_ask(struct reload *r); /* reads the file again, and reports it even when nothing changed */
struct reload *reload_free(struct reload *r);
