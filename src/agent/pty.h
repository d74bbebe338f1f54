/* Terminals from the sandbox's own devpts. */
#pragma once
#include <stdint.h>

/* 0 with both ends open (close-on-exec, master non-blocking), or -errno. */
int agent_pty_open(uint16_t cols, uint16_t rows, int *ret_master, int *ret_slave);
void agent_pty_resize(int master, uint16_t cols, uint16_t rows); /* the kernel signals the foreground group */
