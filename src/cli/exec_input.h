/* `iii-sandbox exec -i`: passes standard input to a command of a sandbox, of any length and in constant memory. The
 * command is a durable one, which is terminated when we are. May include: base/, spec/, cli/. */
#pragma once
#include "base/json.h"
#include "cli/rest_client.h"

/* params: id, command and the other fields of exec. Returns the command's exit code, or 1 after the error was
 * printed. */
int exec_input_run(const struct verbs_args *a, const struct rest_client *l, const json_t *params);
