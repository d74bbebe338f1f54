/* `iii --vm-tool DATA_DIR IMAGE_DIR FIRECRACKER LIBKRUN`: does what needs privilege for a VM. Each process serves
 * one request (tool_wire.h) on descriptor 3. May include: base/, os/, vm/. */
#pragma once
#include "os/keeper.h"

int vm_tool_main(int argc, char **argv);
