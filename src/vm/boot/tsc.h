/* The rate of this CPU's time stamp counter, which an emulated guest sees as its own and gets by the command line. A
 * guest that measures it sometimes hangs. With the CPU's present frequency (in /proc, which changes with the load)
 * its clock would run fast or slow. May include: nothing. */
#pragma once

/* Measures for a millisecond. 0: this CPU has no such counter. */
unsigned long vm_tsc_khz(void);
