/* `iii --krun-vm`: one virtual machine by libkrun, which is a library and takes over the process that calls it. Started
 * by the tool inside the machine's confinement, so all it can reach is the machine's own; the names of its files are
 * fixed (VMM_..._PATH). May include: base/, vm/. */
#pragma once

/* argv: CPUS MEMORY_MB COMMAND_LINE. Returns only when the machine could not be started; why is on stderr. */
int libkrun_vm_main(int argc, char **argv);
/* Is the library here (path, or "": as a machine finds it), with all that we call? -ENOENT, or -ENOSYS with the name of
 * what it lacks in ret. For `iii doctor`; loads it into this process. */
int libkrun_vm_probe(const char *path, const char **ret_lack);
