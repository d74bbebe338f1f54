/* `iii --krun-vm`: one VM by libkrun, a library that takes over the process that calls it. The tool starts it inside
 * the VM's confinement, so it can reach only the VM's own files, whose names are fixed (VMM_..._PATH). May include:
 * base/, vm/. */
#pragma once

/* argv: CPUS MEMORY_MB COMMAND_LINE. Returns only when the VM could not be started; the reason is on stderr. */
int libkrun_vm_main(int argc, char **argv);
/* Whether the library is installed (path; "": the usual places) with all functions that we call. -ENOENT, or -ENOSYS
 * with the missing function in ret_lack. For `iii doctor`; loads it into this process. */
int libkrun_vm_probe(const char *path, const char **ret_lack);
