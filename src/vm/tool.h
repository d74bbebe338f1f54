/* `iii --vm-tool DATA_DIR IMAGE_DIR FIRECRACKER LIBKRUN`: what a virtual machine needs privilege for, one request
 * (tool_wire.h) on descriptor 3 for each process of it. May include: base/, os/, vm/. */
#pragma once
#include "os/keeper.h"

int vm_tool_main(int argc, char **argv);
