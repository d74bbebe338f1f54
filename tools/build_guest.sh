#!/bin/sh
# build_guest.sh OUT ROOT FILES...: the agent as one small static program, and OUT.debug, the same with symbols for gdb. Kernel headers come after
# musl's own.
set -eu
out=$1 root=$2
shift 2
musl-gcc -static -Os -g -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror \
    -fstack-protector-strong -ffunction-sections -fdata-sections -Wl,--gc-sections \
    -I"$root/src" -idirafter /usr/include -idirafter "/usr/include/$(gcc -print-multiarch)" "$@" -o "$out"
cp "$out" "$out.debug"
strip "$out"
