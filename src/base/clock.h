/* Time in the two forms the project uses. May include: nothing. */
#pragma once
#include <stdint.h>

int64_t clock_wall_ms(void); /* since the Unix epoch: what the API shows */
int64_t clock_mono_us(void); /* for durations and deadlines */
/* A point of the wall clock as one of the other: nothing happens early or late when the wall clock is set later on.
 * What is over already is due now. wall_ms and mono_us are this moment. */
int64_t clock_deadline_us(int64_t at_wall_ms, int64_t wall_ms, int64_t mono_us);
