/* The payload of `iii trigger` from --json and KEY=VALUE arguments. May include: base/. */
#pragma once
#include "base/err.h"
#include "base/json.h"

/* json: text or NULL. words: KEY=VALUE; split at the first "=", keys are literal, the last of a repeated key wins; a
 * value that is one JSON document is that value, any other is a string. Words replace members of --json, which must
 * then be an object. -EINVAL: err names the word. Caller owns *ret. */
int payload_build(const char *json, char *const *words, int n_words, json_t **ret, struct err *err);
