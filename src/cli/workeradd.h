/* `iii worker add`: the sandbox worker's block in the configuration file, or an image in the store. The file is edited
 * as text, so that comments and order stay; beside it workerlock.h keeps what was added. May include: base/, cli/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "cli/verbs.h"

int workeradd_run(const struct verbs_args *a);

enum workeradd_done { WORKERADD_ADDED, WORKERADD_KEPT, WORKERADD_RESET };
/* text with an entry iii-sandbox in its list of workers, into out. An entry that is there is kept, or replaced by the
 * defaults when is_reset. -EINVAL: the list is written in a form that is not edited here (err says so). */
int workeradd_edit(const char *text, bool is_reset, struct buf *out, enum workeradd_done *ret, struct err *err);
/* The entry iii-sandbox in a text that workeradd_edit() made; NULL: there is none. Borrowed. */
const char *workeradd_entry(const char *text, size_t *ret_len);
