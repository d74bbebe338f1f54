#!/usr/bin/env python3
"""embed.py FILE OUT SYMBOL: a C file whose SYMBOL[] and SYMBOL_size are the bytes of FILE."""
import os
import sys

path, out, symbol = sys.argv[1:4]
with open(out, "w", encoding="utf-8") as f:
    f.write(f'''/* Made by tools/embed.py. */
#include <stddef.h>
__asm__(".section .rodata\\n.global {symbol}\\n.balign 16\\n{symbol}:\\n.incbin \\"{os.path.abspath(path)}\\"\\n"
        ".global {symbol}_end\\n{symbol}_end:\\n.byte 0\\n.previous\\n");
extern const unsigned char {symbol}[], {symbol}_end[];
size_t {symbol}_size(void);
size_t {symbol}_size(void)
{{
    return (size_t)({symbol}_end - {symbol});
}}
''')
