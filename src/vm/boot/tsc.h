/* The rate of this CPU's time stamp counter, which an emulated guest sees as its own. It is told by the command line:
 * left to find out for itself, a guest hangs every now and then, and told the CPU's present speed (which /proc has, and
 * which changes with the load) its clock would run fast or slow. May include: nothing. */
#pragma once

/* Counts for a millisecond. 0: this CPU has no such counter. */
unsigned long vm_tsc_khz(void);
