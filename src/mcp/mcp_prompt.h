/* Prompts: tasks for which an agent's user picks a sandbox. Untrusted: names and arguments. May include: base/, spec/.
 */
#pragma once
#include "base/err.h"
#include "base/json.h"

json_t *mcp_prompt_list(void); /* result of prompts/list; caller owns */
/* The result of prompts/get. ERR_INVALID: there is no such prompt, or the argument that err names is missing or not a
 * text. Caller owns *ret. */
int mcp_prompt_get(const char *name, const json_t *args, json_t **ret, struct err *err);
bool mcp_prompt_has(const char *name, const char *argument);
