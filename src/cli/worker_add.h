/* `iii worker add`: the sandbox worker's block in the configuration file, or an image in the store. The file is edited
 * as text, so that comments and order stay; worker_lock.h records beside it what was added. May include: base/,
 * cli/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "cli/verbs.h"

int worker_add_run(const struct verbs_args *a);

enum worker_add_done { WORKER_ADD_ADDED, WORKER_ADD_KEPT, WORKER_ADD_RESET };
/* text with an entry iii-sandbox in its list of workers, into out. An existing entry is kept, or replaced by the
 * defaults when is_reset. -EINVAL: the list has a form that is not edited here (err says so). */
int worker_add_edit(const char *text, bool is_reset, struct buf *out, enum worker_add_done *ret, struct err *err);
/* The entry iii-sandbox in a text that worker_add_edit() made; NULL: none. Borrowed. */
const char *worker_add_entry(const char *text, size_t *ret_len);
