"""What is kept across restarts and between programs: why answers ended, drafts, prompts, titles; and what that costs the disk."""
import os
import shutil
import re
import signal
import sqlite3
import subprocess
import unittest

import scripted_model
from program import CHINWAG, ProgramCase

USER, ANSWER = 1, 2
STREAMING = 1


class Kept(ProgramCase):
    def setUp(self):
        super().setUp()
        self.short, self.endless = str(self.home / "short.gguf"), str(self.home / "endless.gguf")
        scripted_model.write(self.short, ["The", " kettle", " is", " on."])
        scripted_model.write(self.endless, ["tick ", "tock "], again=0, context=65536)

    def start(self, *options, model=None, columns=110, **more):
        t = self.open("-m", model or self.short, "-t", "1", "--temp", "0", "--repeat-penalty", "1", *options,
                      columns=columns, **more)
        t.wait("F1 help")
        return t

    def wait_answers(self, n):
        self.wait_rows(f"SELECT count(*) FROM message WHERE role = {ANSWER} AND state <> {STREAMING}", [(n,)])

    # ---- a message is on the disk once its time is shown ----

    def test_the_time_of_a_message_says_that_it_is_saved(self):
        t = self.start()
        self.ask(t, "One")
        self.wait_answers(1)
        lock = sqlite3.connect(self.db, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        self.ask(t, "Two")
        t.wait(lambda s: re.search(r"^ you\n   Two$", s, re.M), 5)
        t.wait(lambda s: s.count("kettle is on.") == 2, 10)
        t.read(0.5)
        self.assertRegex(t.text(), r"(?m)^ you \d\d:\d\d\n   One$")
        self.assertRegex(t.text(), r"(?m)^ you\n   Two$")
        lock.close()
        t.wait(lambda s: re.search(r"^ you \d\d:\d\d\n   Two$", s, re.M), 10)
        self.leave(t)

    # ---- why an answer ended ----

    def test_why_an_answer_ended_is_shown_after_a_restart(self):
        t = self.start()
        self.ask(t, "One")
        t.wait("kettle is on.", 10)
        self.wait_answers(1)
        self.leave(t)
        t = self.start("-n", "2", "--resume")
        t.wait("One", 5)
        self.ask(t, "Two")
        t.wait("cut at max-tokens", 10)
        self.leave(t)
        t = self.start("--resume", "-c", "512", model=self.endless)
        t.wait("Two", 5)
        self.ask(t, "Three")
        t.wait("cut at the window", 20)
        self.leave(t)
        t = self.start("--resume", "-c", "65536", model=self.endless)
        t.wait("Three", 5)
        self.ask(t, "Four")
        self.wait_rows(f"SELECT length(text) FROM message WHERE state = {STREAMING}", lambda r: r and r[0][0] > 20)
        t.kill(signal.SIGKILL)
        t = self.start("--resume", lines=60)
        t.wait("interrupted: the program ended", 5)
        t.send("\x1b<")  # Alt-<: the first line
        t.wait("cut at max-tokens", 5)
        t.wait("cut at the window", 5)
        self.assertEqual(self.rows(f"SELECT ending FROM message WHERE role = {ANSWER} ORDER BY id"),
                         [(1,), (3,), (4,), (5,)])

    # ---- what it costs the disk ----

    @unittest.skipUnless(shutil.which("strace"), "strace is not here")
    def test_a_short_turn_costs_few_syncs(self):
        trace = self.home / "trace"
        probe = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True)
        if probe.returncode:
            self.skipTest("strace may not trace here")
        t = self.open("-m", self.short, "-t", "1", under=("strace", "-f", "-e", "trace=fsync,fdatasync", "-o", str(trace)))
        t.wait("F1 help", 20)
        t.wait("short F32", 20)
        counts = []
        for n in range(1, 7):
            before = trace.read_text().count("sync(")
            t.send(f"Question {n}")
            t.wait(f"> Question {n}")
            t.key("enter")  # before the draft is written
            self.wait_answers(n)
            t.read(0.5)
            counts.append(trace.read_text().count("sync(") - before)
        print(f"figure: short turns cost {counts} calls of fsync or fdatasync")
        self.assertLessEqual(sorted(counts)[len(counts) // 2], 6)


if __name__ == "__main__":
    unittest.main()
