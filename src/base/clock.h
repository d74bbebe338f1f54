/* Time in the two forms the project uses. May include: nothing. */
#pragma once
#include <stdint.h>

int64_t clock_wall_ms(void); /* since the Unix epoch: what the API shows */
int64_t clock_mono_us(void); /* for durations and deadlines */
/* Converts a wall-clock time to a monotonic deadline: a later change of the wall clock does not move it. A time in the
 * past is due now. wall_ms and mono_us are the current times. */
int64_t clock_deadline_us(int64_t at_wall_ms, int64_t wall_ms, int64_t mono_us);
