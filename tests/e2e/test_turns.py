"""Turns: each message goes into the conversation it was meant for, in order, and is answered. The model is a nano one with random
weights: what it says does not matter here."""
import os
import signal
import sqlite3
import subprocess
import time
import unittest

from program import CHINWAG, ROOT, ProgramCase

NANO = str(ROOT / "tests/golden/qwen2-nano-Q4_0.gguf")
SHORT = ("-m", NANO, "-t", "1", "--seed", "1", "-n", "8")
ENDLESS = ("-m", NANO, "-t", "1", "--seed", "1", "--temp", "0", "--repeat-penalty", "1", "-c", "65536")
USER, ANSWER = 1, 2
COMPLETE, STREAMING, INTERRUPTED = 0, 1, 2
QUESTIONS = f"SELECT conversation_id, text FROM message WHERE role = {USER} ORDER BY id"
UNANSWERED = f"SELECT text FROM message q WHERE role = {USER} AND NOT EXISTS (SELECT * FROM message WHERE parent_id = q.id)"


class Turns(ProgramCase):
    def plain(self, lines, *options):
        """What the plain dialogue prints when these lines are piped in."""
        run = subprocess.run([CHINWAG, *SHORT, *options], input="".join(line + "\n" for line in lines).encode(),
                             env={**os.environ, **self.env, "CHINWAG_PLAIN": "1"}, capture_output=True, timeout=60)
        self.assertEqual(run.returncode, 0, run)
        return run.stdout.decode()

    def start(self, *options):
        t = self.open(*SHORT, *options)
        t.wait("F1 help")
        return t

    def send(self, t, message):
        """Types a message and then Enter: in one go they would be a paste."""
        t.send(message)
        t.wait("> " + message, 5)
        t.send("\r")

    def lock(self):
        """Another program holds the file: nothing can be read until the connection returned is closed."""
        db = sqlite3.connect(self.db, isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        return db

    # ---- a conversation that is still being loaded ----

    def test_piped_lines_go_into_the_resumed_conversation(self):
        self.plain(["first"])
        self.plain(["again", "and again"], "--resume")
        (c, text), *rest = self.rows(QUESTIONS)
        self.assertEqual((text, rest), ("first", [(c, "again"), (c, "and again")]))
        self.assertEqual(self.rows(UNANSWERED), [])

    def test_what_is_sent_before_the_resumed_conversation_is_there_goes_into_it(self):
        self.plain(["first"])
        lock = self.lock()
        t = self.open(*SHORT, "--resume")
        t.wait("type here", 5)
        t.send("early bird\r")
        t.read(0.5)
        lock.close()
        self.wait_rows(QUESTIONS, lambda rows: len(rows) == 2)
        self.wait_rows(UNANSWERED, [])
        t.wait("first", 5)
        (c, _), (early, text) = self.rows(QUESTIONS)
        self.assertEqual((early, text), (c, "early bird"))
        self.leave(t)

    def test_a_command_for_the_conversation_shown_waits_for_the_resumed_one(self):
        self.plain(["first"])
        self.plain(["/rename Named later"], "--resume")
        self.assertEqual(self.rows("SELECT title FROM conversation"), [("Named later",)])

    def test_a_message_sent_at_once_after_choosing_a_conversation_goes_into_that(self):
        self.plain(["first", "/new", "second"])
        (first, _), (second, _) = self.rows(QUESTIONS)
        t = self.start("--resume", str(second))
        t.wait("second", 5)
        t.send("/open first\r")
        t.wait(lambda text: "first" in text.splitlines()[0], 5)
        t.key("f2")
        t.wait("Conversations", 5)
        t.wait("second", 5)
        t.send("\x1bOB\rmeant for the second\r\x1b")
        self.wait_rows(QUESTIONS, lambda rows: len(rows) == 3)
        (c, _), = [row for row in self.rows(QUESTIONS) if row[1] == "meant for the second"]
        self.assertIn(c, (first, second))
        t.wait("meant for the second", 5)
        self.assertEqual({first: "first", second: "second"}[c], t.text().splitlines()[0].split("  ")[0].strip())
        self.leave(t)

    def test_there_is_nothing_to_resume(self):
        out = self.plain(["hello"], "--resume")
        self.assertIn("no conversation to resume", out)
        self.assertEqual(self.rows(UNANSWERED), [])

    # ---- lines piped into the plain dialogue ----

    def test_the_question_after_each_command_is_answered(self):
        self.plain(["one", "/new", "two", "/delete", "y", "three", "/set temperature 0", "/settings", "/conversations", "four", "/open one",
                    "five"])
        self.assertEqual(self.rows(UNANSWERED), [])
        questions = self.rows(QUESTIONS)
        self.assertEqual([text for _, text in questions], ["one", "three", "four", "five"])
        self.assertEqual(questions[0][0], questions[3][0], "/open is done before the next line")
        self.assertEqual(self.rows(f"SELECT count(*) FROM message WHERE state = {STREAMING}"), [(0,)])

    def test_what_the_last_line_asks_for_is_printed(self):
        self.plain(["a question about otters"])
        self.assertIn("1. a question about otters", self.plain(["/conversations"]))
        self.assertIn("a question about otters", self.plain(["/search otters"]).split("Found:")[1])
        self.assertIn("you", self.plain(["/open otters"]))

    # ---- messages sent while an answer is written ----

    def test_messages_sent_while_an_answer_is_written_are_sent_one_by_one(self):
        t = self.open(*ENDLESS)
        t.wait("F1 help")
        self.send(t, "one")
        t.wait("writing", 5)
        self.send(t, "two")
        self.send(t, "three")
        t.wait("then your 2 messages are sent", 5)
        self.assertEqual([text for _, text in self.rows(QUESTIONS)], ["one"])
        t.key("esc")
        self.wait_rows(QUESTIONS, lambda rows: len(rows) == 2)
        t.wait("then your message is sent", 5)
        t.key("esc")
        self.wait_rows(QUESTIONS, lambda rows: len(rows) == 3)
        t.wait(lambda text: "waiting" not in text, 5)
        self.wait_rows(f"SELECT count(*) FROM message WHERE role = {ANSWER}", [(3,)])
        t.key("esc")
        path = self.rows("WITH RECURSIVE p(id, parent_id, text, role, n) AS (SELECT m.id, m.parent_id, m.text, m.role, 0 FROM message m "
                         "JOIN conversation c ON c.leaf_id = m.id UNION ALL SELECT m.id, m.parent_id, m.text, m.role, n + 1 FROM p "
                         f"JOIN message m ON m.id = p.parent_id) SELECT text FROM p WHERE role = {USER} ORDER BY n DESC")
        self.assertEqual(path, [("one",), ("two",), ("three",)])
        self.leave(t)

    def test_a_waiting_message_stays_with_its_conversation_and_its_answer_is_announced(self):
        t = self.open(*ENDLESS, "-n", "12000")
        t.wait("F1 help")
        self.send(t, "one")
        t.wait("writing", 5)
        self.send(t, "two")
        t.wait("waiting", 5)
        t.key("ctrl-n")
        t.wait(lambda text: "waiting" not in text, 5)
        self.assertIn("New conversation", t.text())
        self.assertIn("> type here", t.text(), "the draft has nothing of it")
        self.wait_rows(QUESTIONS, lambda rows: [text for _, text in rows] == ["one", "two"])
        t.wait("one” has been answered", 30)
        self.wait_rows(UNANSWERED, [])
        self.assertEqual(len({c for c, _ in self.rows(QUESTIONS)}), 1)
        self.leave(t)

    def test_what_waits_when_the_program_ends_is_kept(self):
        t = self.open(*ENDLESS)
        t.wait("F1 help")
        self.send(t, "one")
        t.wait("writing", 5)
        self.send(t, "two")
        self.send(t, "three")
        t.wait("2 messages", 5)
        self.leave(t)
        self.assertEqual([text for _, text in self.rows(QUESTIONS)], ["one", "two", "three"])
        t = self.start("--resume")
        t.wait("  two\n", 5)
        t.wait("  three\n", 5)
        self.leave(t)

    def test_plain_lines_typed_while_an_answer_is_written_wait_and_commands_do_not(self):
        t = self.open(*ENDLESS, CHINWAG_PLAIN="1")
        t.wait("is ready", 10)
        t.send("one\n")
        self.wait_rows(f"SELECT length(text) FROM message WHERE state = {STREAMING}", lambda rows: rows and rows[0][0] > 20)
        t.send("two\n")
        t.wait("/unsend takes it back", 5)
        t.send("three\n/unsend\n/stop\n")
        t.wait("Not sent: three", 5)
        self.wait_rows(QUESTIONS, lambda rows: [text for _, text in rows] == ["one", "two"])
        t.send("/stop\n")
        self.wait_rows(f"SELECT count(*) FROM message WHERE role = {ANSWER} AND state = {INTERRUPTED}", [(2,)])
        t.send("\x04")
        self.assertEqual(t.end(), 0)

    # ---- the model and its window ----

    def test_a_model_chosen_while_an_answer_is_written_says_that_it_waits(self):
        other = self.home / "other.gguf"
        other.symlink_to(ROOT / "tests/golden/qwen2-nano-Q8_0.gguf")
        t = self.open(*ENDLESS)
        t.wait("F1 help")
        self.send(t, "one")
        t.wait("writing", 5)
        self.send(t, f"/model {other}")
        t.wait("other.gguf is loaded when the answer being written has ended", 2)
        self.send(t, "two")
        t.wait("waiting", 5)
        t.key("esc")
        models = self.wait_rows(f"SELECT model FROM message WHERE role = {ANSWER} ORDER BY id", lambda rows: len(rows) == 2)
        self.assertEqual([model for model, in models], ["qwen2-nano Q4_0", "other Q8_0"], "the one that writes it")
        t.key("esc")
        self.leave(t)

    def test_the_window_gauge_knows_an_answer_that_was_killed(self):
        t = self.open(*ENDLESS)
        t.wait("F1 help")
        self.send(t, "one")
        self.wait_rows(f"SELECT length(text) FROM message WHERE state = {STREAMING}", lambda rows: rows and rows[0][0] > 20)
        t.kill(signal.SIGKILL)
        (used,), = self.rows(f"SELECT prompt_tokens + generated_tokens FROM message WHERE role = {ANSWER}")
        self.assertGreater(used, 20)
        t = self.start("--resume")
        t.wait(f"{used}/", 5)
        self.leave(t)


if __name__ == "__main__":
    unittest.main()
