/* What git prints, as the objects of the interface. Untrusted: all of it (it comes out of a sandbox). May include:
 * base/. */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"

/* Of `git status --porcelain=v1 --branch -z`: {branch, clean, files}. */
json_t *git_status_json(const char *out, size_t len);
/* Of `git log -z --format=GIT_LOG_FORMAT`: {entries}. */
#define GIT_LOG_FORMAT "%H%x00%s%x00%an%x00%aI"
json_t *git_log_json(const char *out, size_t len);
/* Of `git for-each-ref --format=GIT_REF_FORMAT refs/heads refs/remotes`: array of "main", "remotes/origin/main", …;
 * names that only point to another one (remotes/origin/HEAD) are left out. */
#define GIT_REF_FORMAT "%(refname)%09%(symref)"
json_t *git_refs_json(const char *out, size_t len);

/* An argument that git must not take for an option. -EINVAL: err names the field. NULL is fine. */
int git_check_word(const char *field, const char *word, struct err *err);
int git_check_url(const char *url, struct err *err);
