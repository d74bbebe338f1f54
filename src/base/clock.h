/* Time in the two forms the project uses. May include: nothing. */
#pragma once
#include <stdint.h>

int64_t clock_wall_ms(void); /* since the Unix epoch: what the API shows */
int64_t clock_mono_us(void); /* for durations and deadlines */
