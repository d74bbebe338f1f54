/* `iii doctor --escape`: starts a server of its own in a throw-away folder, lets hostile programs loose in its
 * sandboxes, and looks from outside at what they reached. May include: base/, os/, loop/, image/. */
#pragma once

/* data_dir: an existing folder on the file system that sandboxes will live on. Takes --escape, --json, --help.
 * Exit code: 0 nothing got out, 1 something did or the suite could not run, 2 wrong usage. */
int escape_main(const char *data_dir, int argc, char **argv);
