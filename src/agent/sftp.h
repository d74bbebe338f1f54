/* An SFTP server, version 3, on two pipes: runs in a process of its own inside the sandbox, as the user of the session,
 * so the kernel decides about every path. Works in every image. Untrusted: the client. */
#pragma once

/* Until the end of input. home: what "~" is. Returns the exit code. */
int agent_sftp_run(int in, int out, const char *home);
