/* `iii --ssh-listener DATA_DIR HOST_KEY CONNECTIONS`: the process that holds the host key and accepts SSH connections.
 * It is confined before it accepts, and forks a process for each connection, so that an error in one is not an error of
 * others. Its socket to the server is SSH_WIRE_FD; when that closes, it exits and so do its children. May include:
 * base/, os/, ssh/. */
#pragma once

int ssh_listener_main(int argc, char **argv);
