/* What a running server does with a configuration file that changed: what the sandbox:: functions may do (the rows
 * functions.*) is in force for the next call, exactly as after a start with that file; other keys wait for one. A file
 * that a start would refuse changes nothing. */
#pragma once
#include "base/settings.h"
#include "loop/loop.h"
#include "main/config.h"
#include "main/engine_port.h"
#include "os/keeper.h"

struct reload;

/* All are borrowed; from has a file. s: the server's own, whose rows functions.* are kept as they are in force. */
struct reload *reload_new(struct loop *l, const struct config *from, struct settings *s, struct engine_port *engine,
                          struct keeper *keeper);
void reload_ask(struct reload *r); /* reads the file again, and says so even when nothing changed */
struct reload *reload_free(struct reload *r);
