/* `iii serve`. May include: everything. */
#pragma once

int daemon_main(int argc, char **argv); /* argv[0] is "serve"; returns the exit code */
