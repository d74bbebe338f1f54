/* `iii doctor`: what this host can do for a server with these settings. May include: base/, cli/, escape/, runtime/,
 * main/. */
#pragma once

/* argv[0] is the verb. --config FILE and --data-dir FOLDER are those of `iii serve`. Returns the exit code. */
int doctor_run_main(int argc, char **argv);
