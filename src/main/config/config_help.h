/* The help of `iii serve`, made from the table of settings. May include: base/. */
#pragma once

void config_help_print(void);
