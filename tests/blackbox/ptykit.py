"""Programs on a pseudo terminal of the test: what they print, what is typed, their size."""
import fcntl
import os
import pty
import select
import struct
import termios
import time

import harness


def set_size(fd, rows, cols):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


class Terminal:
    """A command on a pseudo terminal of the test."""

    def __init__(self, env, *argv, size=(24, 80)):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            set_size(0, *size)  # here: its first look is not to come before it
            os.execvpe(argv[0], argv, {**env, "TERM": "xterm"})
        self.got = b""

    def resize(self, rows, cols):
        set_size(self.fd, rows, cols)

    def type(self, text):
        os.write(self.fd, text)

    def saw(self, marker, within_s):
        """Whether the marker comes in that time."""
        end = time.monotonic() + within_s
        while marker not in self.got:
            if not select.select([self.fd], [], [], max(end - time.monotonic(), 0))[0]:
                return False
            try:
                self.got += os.read(self.fd, 65536)
            except OSError as why:
                raise AssertionError(self.got) from why
        return True

    def until(self, marker):
        assert self.saw(marker, harness.DEADLINE_S), self.got
        return self.got

    def _take(self):
        """Reads what is there."""
        while select.select([self.fd], [], [], 0)[0]:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:
                return  # the other end is closed
            self.got += piece

    def exit_code(self):
        """Waits for the end, reading what still comes: a program blocks on a full terminal."""
        def ended():
            self._take()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if not pid:
                return None
            self._take()  # what it wrote between the two
            return [os.waitstatus_to_exitcode(status)]
        return harness.wait_until(ended, "the terminal's end")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)
