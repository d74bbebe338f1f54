/* `iii doctor --escape`: starts a private server in a temporary folder, runs hostile programs in its sandboxes, and
 * checks from outside what they reached. May include: base/, os/, loop/, image/. */
#pragma once

/* data_dir: an existing folder on the file system that sandboxes will use. Accepts --escape, --json, --help. Exit code:
 * 0 nothing escaped, 1 something did or the suite could not run, 2 wrong usage. */
int escape_main(const char *data_dir, int argc, char **argv);
