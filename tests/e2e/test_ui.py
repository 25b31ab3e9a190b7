#!/usr/bin/env python3
"""The screen in a real terminal: ui_demo on a pty, its output read by pyte, real keys typed.

Run: /usr/bin/python3 tests/e2e/test_ui.py [Test.method ...]   (needs python3-pyte, a C compiler, the libraries)
UI_DEMO=FILE uses a demo program that was built already.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import pyte

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRATCH = tempfile.mkdtemp(prefix="chinwag-ui-")


def build_demo():
    if os.environ.get("UI_DEMO"):
        return os.environ["UI_DEMO"]
    out = os.path.join(SCRATCH, "ui_demo")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "ncursesw", "md4c"], capture_output=True, text=True,
                           check=True).stdout.split()
    sources = [os.path.join(ROOT, "ui", f) for f in os.listdir(os.path.join(ROOT, "ui")) if f.endswith(".c")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-o", out,
                    os.path.join(ROOT, "tests/e2e/ui_demo.c")] + sources + flags + ["-lunistring"], check=True)
    return out


DEMO = None


class Stream(pyte.ByteStream):
    """pyte lacks three sequences ncurses uses on every xterm: SU, SD and REP."""
    csi = dict(pyte.ByteStream.csi, S="scroll_up", T="scroll_down", b="repeat")
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}


class Screen(pyte.Screen):
    """Adds those, and notes which private modes are on."""

    def __init__(self, *args):
        super().__init__(*args)
        self.modes_seen = set()
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

    def set_mode(self, *modes, **kwargs):
        if kwargs.get("private"):
            self.modes_seen |= set(modes)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes, **kwargs):
        if kwargs.get("private"):
            self.modes_seen -= set(modes)
        super().reset_mode(*modes, **kwargs)


class Terminal:
    def __init__(self, rows=24, columns=80, **env):
        self.screen = Screen(columns, rows)
        self.stream = Stream(self.screen)
        self.raw = b""
        self.log = os.path.join(SCRATCH, "events-%d" % time.monotonic_ns())
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "HOME": SCRATCH,
                       "UI_DEMO_LOG": self.log, "UI_DEMO_DELAY": "5", "TMPDIR": SCRATCH}
        environment.update(env)
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.fd = master
        self.process = subprocess.Popen([DEMO], stdin=slave, stdout=slave, stderr=slave, env=environment,
                                        preexec_fn=self._take_terminal)

    @staticmethod
    def _take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def pump(self, seconds=0.0):
        """Reads what there is, for that long."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            ready, _, _ = select.select([self.fd], [], [], max(0, left))
            if not ready:
                return
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return
            if not data:
                return
            self.raw += data
            self.stream.feed(data)

    def type(self, keys, settle=0.05):
        os.write(self.fd, keys.encode() if isinstance(keys, str) else keys)
        self.pump(settle)

    def text(self):
        return "\n".join(self.lines())

    def lines(self):
        # In pyte the second cell of a wide character is an empty string.
        return ["".join(self.screen.buffer[y][x].data for x in range(self.screen.columns)).rstrip()
                for y in range(self.screen.lines)]

    def wait(self, what, seconds=5.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if what(self) if callable(what) else re.search(what, self.text()):
                return self
            self.pump(0.02)
        raise AssertionError("waited in vain for %r; the screen:\n%s" % (what, self.text()))

    def wait_event(self, pattern, seconds=5.0):
        return self.wait(lambda t: re.search(pattern, t.events()), seconds)

    def events(self):
        try:
            with open(self.log) as f:
                return f.read()
        except OSError:
            return ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)
        self.process.send_signal(signal.SIGWINCH)
        self.pump(0.15)

    def cell_column(self, y, character):
        for x in range(self.screen.columns):
            if self.screen.buffer[y][x].data == character:
                return x
        return -1

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.fd)


if __name__ == "__main__":
    DEMO = build_demo()
    unittest.main(verbosity=1)
