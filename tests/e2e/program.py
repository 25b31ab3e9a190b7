"""What the tests of the whole program share: a home directory of its own, terminals to run it in, its database."""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest

from terminal import Terminal

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHINWAG = os.environ.get("CHINWAG", str(ROOT / "chinwag"))

# The tests' random models write in circles. Programs that end such answers are told to let them go on.
GO_ON = ["--stop-loops", "off"] if b"--stop-loops" in subprocess.run([CHINWAG, "--help"], capture_output=True).stdout else []


class ProgramCase(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="chinwag-test-"))
        self.db = self.home / "data/chinwag/chinwag.db"
        self.env = {"HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"),
                    "XDG_CONFIG_HOME": str(self.home / "config")}
        self.terminals = []

    def tearDown(self):
        for t in self.terminals:
            t.close()
        shutil.rmtree(self.home)

    def open(self, *options, columns=100, lines=30, under=(), **env):
        """The program in a terminal, run by the command `under` if there is one, closed when the test ends; options that name --stop-loops have their way."""
        t = Terminal([*under, CHINWAG, *([] if "--stop-loops" in options else GO_ON), *options], columns, lines, {**self.env, **env})
        self.terminals.append(t)
        return t

    def ask(self, t, question):
        t.type(question)
        t.key("enter")

    def leave(self, t):
        t.key("ctrl-d")
        self.assertEqual(t.end(), 0, t.text())

    def rows(self, query):
        """A reader that meets a hot journal cannot roll it back, so it tries again."""
        for attempt in range(20):
            try:
                with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True, timeout=10) as db:
                    return db.execute(query).fetchall()
            except sqlite3.OperationalError as e:
                if attempt == 19 or "readonly" not in str(e):
                    raise
                time.sleep(0.05)

    def wait_rows(self, query, test, seconds=20):
        """Waits until the query gives what is expected, rows or a function of them, and returns it."""
        test = test if callable(test) else lambda rows, expected=test: rows == expected
        end = time.monotonic() + seconds
        while not test(rows := self.rows(query)):
            if time.monotonic() > end:
                self.fail(f"{query}: {rows}" + "".join(f"; a screen:\n{t.text()}" for t in self.terminals))
            for t in self.terminals:
                if t.status is None:
                    t.read(0.02)
            time.sleep(0.02)
        return rows
