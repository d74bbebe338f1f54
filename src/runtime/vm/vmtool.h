/* `iii --vm-tool DATA_DIR IMAGE_DIR FIRECRACKER LIBKRUN`: what a virtual machine needs privilege for, one request
 * (vmwire.h) on descriptor 3 for each process of it. May include: base/, os/, runtime/vm/. */
#pragma once
#include "os/keeper.h"

int vmtool_main(int argc, char **argv);
