/* Code and packages outside of contexts: a snippet in a fresh interpreter, and the image's package managers.
 * May include: base/, guest/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/sandbox.h"

struct interpreter;

/* Once: the reply (borrowed), or NULL with err. Never from inside the call that asked. */
typedef void interpreter_fn(void *arg, json_t *reply, const struct err *err);

/* Writes the code to a file of its own, runs it and removes the file. fn gets an InterpretResult. ERR_INVALID for an
 * unknown language, ERR_UNSUPPORTED when the image has no interpreter for it. */
int interpreter_execute(struct sandbox *s, const char *language, const char *code, interpreter_fn *fn, void *arg,
                        struct interpreter **ret, struct err *err);
/* packages: array of names; manager: python|pip|javascript|typescript|npm|go|bash|apt. fn gets an InstallResult. */
int interpreter_install(struct sandbox *s, const char *manager, const json_t *packages, interpreter_fn *fn, void *arg,
                        struct interpreter **ret, struct err *err);
/* fn gets a KernelList of the interpreters that the image has. */
int interpreter_kernels(struct sandbox *s, interpreter_fn *fn, void *arg, struct interpreter **ret, struct err *err);
void interpreter_cancel(struct interpreter *i); /* the processes are killed, the file removed; no callback */
/* Whether a package manager can take it for a package: not an option, without spaces and control bytes. */
bool interpreter_is_package(const char *name);
