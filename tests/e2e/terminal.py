"""A real terminal for the tests: a program on a pty, its output on a pyte screen."""
import fcntl
import os
import select
import signal
import struct
import termios
import time

import pyte

KEYS = {
    "enter": "\r", "esc": "\x1b", "tab": "\t", "up": "\x1bOA", "down": "\x1bOB", "right": "\x1bOC", "left": "\x1bOD",
    "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "pgup": "\x1b[5~", "pgdn": "\x1b[6~", "alt-enter": "\x1b\r",
    "backspace": "\x7f", "delete": "\x1b[3~",
}


# A local terminal, wherever the tests run.
SURROUNDINGS = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "SSH_CONNECTION": "", "SSH_TTY": "", "ESCDELAY": "", "TMUX": "",
                "STY": ""}


def reset_signals():
    """A shell starts background jobs with SIGINT and SIGQUIT ignored, and what is ignored or blocked stays so."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_DFL)
        except OSError:
            pass  # the C library's own
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


class Stream(pyte.ByteStream):
    """pyte lacks three sequences ncurses uses on every xterm: SU, SD and REP."""
    csi = dict(pyte.ByteStream.csi, S="scroll_up", T="scroll_down", b="repeat")
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}


class Screen(pyte.Screen):
    """Carries them out."""

    def __init__(self, *args):
        super().__init__(*args)
        self.last_drawn = " "

    def draw(self, data):
        super().draw(data)
        self.last_drawn = data[-1:] or self.last_drawn

    def repeat(self, count=1):
        self.draw(self.last_drawn * (count or 1))

    def _scroll(self, count, forward):
        x, y = self.cursor.x, self.cursor.y
        margins = self.margins or pyte.screens.Margins(0, self.lines - 1)
        self.cursor.y = margins.bottom if forward else margins.top
        for _ in range(count or 1):
            self.index() if forward else self.reverse_index()
        self.cursor.x, self.cursor.y = x, y

    def scroll_up(self, count=1):
        self._scroll(count, True)

    def scroll_down(self, count=1):
        self._scroll(count, False)


class Terminal:
    """Runs argv in a terminal of columns x lines. Everything it wrote is in self.raw, the picture on self.screen."""

    def __init__(self, argv, columns=100, lines=30, env=None):
        self.screen = Screen(columns, lines)
        self.stream = Stream(self.screen)
        self.raw = b""
        self.fd, terminal = os.openpty()
        self.before = self.attributes()
        self.resize(columns, lines)  # before the program asks
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.fd)
            os.login_tty(terminal)
            reset_signals()
            os.execvpe(argv[0], argv, {**os.environ, **SURROUNDINGS, **(env or {})})
        os.close(terminal)
        self.status = None

    def resize(self, columns, lines):
        self.screen.resize(lines, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds=0.05):
        """Takes what the program writes for so long; False when it has closed the terminal."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.raw += data
            self.stream.feed(data)
        return True

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait(self, what, seconds=60):
        """Waits until what (a text, or a function of the screen's text) is there, and for what is left of the frame
        that brought it: the terminal hands a frame on in pieces. Returns the seconds until it was there."""
        test = what if callable(what) else lambda text: what in text
        start = time.monotonic()
        while not test(self.text()):
            open_ = self.read(0.01)
            if time.monotonic() - start > seconds or (not open_ and not test(self.text())):
                raise AssertionError(f"{what} did not come within {seconds} s; the screen:\n{self.text()}")
        took = time.monotonic() - start
        self.read(0.02)
        return took

    def send(self, text):
        os.write(self.fd, text if isinstance(text, bytes) else text.encode())

    def key(self, name):
        self.send(KEYS.get(name) or chr(ord(name[-1]) & 31))  # "ctrl-x"

    def type(self, text, delay=0.0):
        for c in text:
            self.send(c)
            if delay:
                self.read(delay)
        self.read(0.05)

    def end(self, seconds=10):
        """Waits for the program's end; returns its exit status, negative for a signal."""
        start = time.monotonic()
        while self.status is None:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() - start > seconds:
                raise AssertionError(f"the program did not end; the screen:\n{self.text()}")
        self.read(0.02)
        return self.status

    def kill(self, sig=signal.SIGKILL):
        if self.status is None:
            os.kill(self.pid, sig)
            return self.end()
        return self.status

    def close(self):
        self.kill()
        os.close(self.fd)

    def attributes(self):
        """The terminal's line discipline as it is now: equal before and after if the program put it back."""
        return termios.tcgetattr(self.fd)
