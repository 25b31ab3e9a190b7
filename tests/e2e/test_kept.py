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

    # ---- drafts ----

    def two_conversations(self):
        t = self.start()
        self.ask(t, "Alpha")
        self.wait_answers(1)
        t.key("ctrl-n")
        t.wait("New conversation", 5)
        self.ask(t, "Beta")
        self.wait_answers(2)
        return t

    def switch(self, t, title):
        self.ask(t, f"/open {title}")
        t.wait(lambda s: s.lstrip().startswith(title), 5)

    def prompt(self, t):
        """The lines of the draft."""
        rows = t.text().split("\n")
        start = max(i for i, row in enumerate(rows) if row.startswith(">"))
        text = "\n".join(row[2:] for row in rows[start:-1]).rstrip()
        return "" if text == "type here" else text

    def wait_prompt(self, t, text):
        t.wait(lambda s: self.prompt(t) == text, 5)

    def test_a_draft_stays_with_its_conversation(self):
        t = self.two_conversations()
        t.type("half a thought 你好")
        t.key("f2")  # the panel keeps the draft
        t.wait("Alpha", 5)
        t.key("down")
        t.key("enter")
        t.key("esc")
        t.wait(lambda s: s.lstrip().startswith("Alpha"), 5)
        self.wait_prompt(t, "")
        t.type("of alpha")
        t.key("ctrl-n")
        t.wait("New conversation", 5)
        self.wait_prompt(t, "")
        t.type("a new one")
        t.read(0.3)
        for title, draft in (("Beta", "half a thought 你好"), ("Alpha", "of alpha"), ("Beta", "half a thought 你好")):
            t.key("f2")
            t.wait("Conversations", 5)
            t.send("/" + title + "\r\r")  # the filter; the second Enter must not send the draft left
            t.key("esc")
            t.wait(lambda s: s.lstrip().startswith(title), 5)
            self.wait_prompt(t, draft)
        t.key("enter")
        self.wait_answers(3)
        self.wait_prompt(t, "")
        t.key("ctrl-n")
        self.wait_prompt(t, "a new one")
        self.wait_rows("SELECT text FROM draft ORDER BY text", [("a new one",), ("of alpha",)])

    def test_a_draft_survives_a_crash_a_hang_up_and_leaving(self):
        def die(t):
            self.wait_rows("SELECT text FROM draft", lambda rows: rows and rows[0][0].endswith("你好"), 2)
            t.kill(signal.SIGKILL)

        def hang_up(t):
            t.kill(signal.SIGHUP)

        def leave(t):
            for _ in range(3):
                t.key("ctrl-c")
                t.read(0.1)
            self.assertEqual(t.end(), 0, t.text())

        for leaving in (die, hang_up, leave):
            with self.subTest(leaving.__name__):
                t = self.start()
                t.type("half a thought 你好")
                leaving(t)
                t = self.start()
                t.wait("> half a thought 你好", 5)
                t.key("ctrl-c")
                self.wait_rows("SELECT text FROM draft", [], 5)
                t.read(0.2)
                self.ask(t, "One")
                self.wait_rows(f"SELECT count(*) FROM message WHERE state <> {STREAMING}", lambda r: r[0][0] % 2 == 0)
                t.wait("kettle is on.", 5)
                t.type("its second message 你好")
                leaving(t)
                t = self.start("--resume")
                t.wait("> its second message 你好", 5)
                t.key("ctrl-c")
                self.wait_rows("SELECT text FROM draft", [], 5)
                t.kill()

    def test_a_new_draft_is_not_shown_to_two_programs(self):
        a = self.start()
        a.type("typed in the first window")
        self.wait_rows("SELECT count(*) FROM draft", [(1,)])
        b = self.start()
        b.read(0.5)
        self.wait_prompt(b, "")
        b.type("typed in the second")
        self.wait_rows("SELECT count(*) FROM draft", [(2,)])
        a.kill(signal.SIGKILL)
        c = self.start()
        self.wait_prompt(c, "typed in the first window")
        c.key("enter")
        self.wait_answers(1)
        self.assertEqual(self.rows("SELECT text FROM draft"), [("typed in the second",)])

    def test_a_message_that_waits_survives_a_crash(self):
        t = self.start("-c", "65536", model=self.endless)
        self.ask(t, "Go on")
        self.wait_rows(f"SELECT length(text) FROM message WHERE state = {STREAMING}", lambda r: r and r[0][0] > 20)
        self.ask(t, "It waits")
        self.wait_rows("SELECT text FROM draft", [("It waits",)], 3)
        t.kill(signal.SIGKILL)
        t = self.start("--resume")
        self.wait_prompt(t, "It waits")

    # ---- earlier prompts ----

    def test_prompts_of_all_conversations_are_known_after_a_restart(self):
        t = self.two_conversations()
        self.leave(t)
        t = self.start()
        t.read(0.5)
        t.key("up")
        self.wait_prompt(t, "Beta")
        t.key("up")
        self.wait_prompt(t, "Alpha")
        t.key("down")
        t.key("down")
        t.key("ctrl-r")
        t.wait("Alpha", 5)
        self.assertIn("Beta", t.text())

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
