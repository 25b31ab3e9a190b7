"""Several conversations, answers and models in one chat: what is asked, shown, kept and forgotten. The model is a nano one whose
weights are random: what it says does not matter here, but it says it at once, and without end where that is wanted."""
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from program import CHINWAG, ROOT, ProgramCase

NANO = str(ROOT / "tests/golden/qwen2-nano-Q4_0.gguf")
SHORT = ("-n", "8")
ENDLESS = ("--temp", "0", "--repeat-penalty", "1", "-c", "65536")  # "Hello" is answered in circles
USER, ANSWER = 1, 2
COMPLETE, STREAMING, INTERRUPTED = 0, 1, 2


class Conversations(ProgramCase):
    def start(self, *options, model=NANO):
        t = self.open(*(["-m", model] if model else []), "-t", "1", "--seed", "1", *options, columns=110)
        t.wait("F1 help")
        return t

    def wait_answers(self, n):
        self.wait_rows(f"SELECT count(*) FROM message WHERE role = {ANSWER} AND state <> {STREAMING}", [(n,)])

    # ---- what is kept ----

    def test_nothing_is_kept_of_a_conversation_without_messages(self):
        t = self.start(*SHORT)
        t.key("ctrl-n")
        t.read(0.2)
        self.leave(t)
        self.assertEqual(self.rows("SELECT * FROM conversation"), [])

    def test_messages_are_a_path_and_the_title_is_the_first_line(self):
        t = self.start(*SHORT)
        self.ask(t, "The first question")
        self.wait_answers(1)
        self.ask(t, "The second")
        self.wait_answers(2)
        self.leave(t)
        (title, leaf), = self.rows("SELECT title, leaf_id FROM conversation")
        self.assertEqual(title, "The first question")
        messages = self.rows("SELECT id, parent_id, role, model FROM message ORDER BY id")
        self.assertEqual([m[2] for m in messages], [USER, ANSWER, USER, ANSWER])
        self.assertEqual([m[1] for m in messages], [None] + [m[0] for m in messages[:3]])
        self.assertEqual(leaf, messages[3][0])
        self.assertIsNone(messages[0][3])
        self.assertIn("nano", messages[1][3])

    def test_the_second_turn_evaluates_only_what_is_new(self):
        t = self.start(*SHORT)
        self.ask(t, "A first question that is long enough to be worth keeping")
        self.wait_answers(1)
        self.ask(t, "And now?")
        self.wait_answers(2)
        first, second = self.rows(f"SELECT prompt_tokens, evaluated_tokens, generated_tokens FROM message WHERE role = {ANSWER} "
                                  "ORDER BY id")
        self.assertLessEqual(first[1], first[0])
        self.assertGreater(second[0], first[0])
        self.assertLessEqual(second[1], second[0] - first[0], "the first prompt is in the cache")

    def test_what_is_typed_is_read_before_it_is_sent(self):
        evaluated = f"SELECT prompt_tokens, evaluated_tokens FROM message WHERE role = {ANSWER} ORDER BY id"
        t = self.start(*SHORT)
        self.ask(t, "A first question that is long enough to be worth keeping")
        self.wait_answers(1)
        self.leave(t)
        t = self.start(*SHORT, "--resume")
        t.wait("A first question", 5)
        t.wait(lambda text: "loading" not in text, 10)
        t.type("How far is it from the station to the castle?", 0.01)
        t.read(1)
        t.key("enter")
        self.wait_answers(2)
        (_, _), (prompt, left) = self.rows(evaluated)
        self.assertGreater(prompt, 60)
        self.assertEqual(left, 0, "the history, the draft and the end of the prompt were read while it rested")
        t.type("Something that is thrown away", 0.01)
        t.read(0.5)
        t.key("ctrl-c")
        self.ask(t, "And now?")
        self.wait_answers(3)
        self.assertLess(self.rows(evaluated)[2][1], 25)

    def test_an_answer_grows_in_the_store_while_it_is_written(self):
        t = self.start(*ENDLESS)
        self.ask(t, "Hello")
        self.wait_rows(f"SELECT length(text) FROM message WHERE state = {STREAMING}", lambda r: r and r[0][0] > 20)
        (before,), = self.rows(f"SELECT length(text) FROM message WHERE role = {ANSWER}")
        self.wait_rows(f"SELECT length(text) FROM message WHERE role = {ANSWER}", lambda r: r[0][0] > before, 2)
        t.kill(signal.SIGKILL)

    def test_sigterm_ends_in_order(self):
        t = self.start(*ENDLESS)
        self.ask(t, "Hello")
        self.wait_rows(f"SELECT length(text) FROM message WHERE role = {ANSWER}", lambda r: r and r[0][0] > 20)
        t.kill(signal.SIGTERM)
        self.assertEqual(t.status, 0)
        self.assertIn(b"\x1b[?1049l", t.raw)
        self.assertEqual(self.rows(f"SELECT state FROM message WHERE role = {ANSWER}"), [(INTERRUPTED,)])

    # ---- several at once ----

    def test_an_answer_goes_on_while_another_conversation_is_open(self):
        t = self.start(*ENDLESS)
        self.ask(t, "Hello")
        self.wait_rows(f"SELECT length(text) FROM message WHERE state = {STREAMING}", lambda r: r and r[0][0] > 20)
        t.key("ctrl-n")
        t.wait("New conversation", 5)
        (before,), = self.rows(f"SELECT length(text) FROM message WHERE role = {ANSWER}")
        self.wait_rows(f"SELECT length(text) FROM message WHERE role = {ANSWER}", lambda r: r[0][0] > before, 3)

        # A question here waits for it, and Esc stops it.
        self.ask(t, "Hello again, this is another one")
        t.wait("finished first", 5)
        self.assertEqual(self.rows(f"SELECT count(*) FROM message WHERE role = {ANSWER}"), [(1,)])
        t.key("esc")
        self.wait_rows(f"SELECT state FROM message WHERE role = {ANSWER} ORDER BY id LIMIT 1", [(INTERRUPTED,)])
        self.wait_rows(f"SELECT count(*) FROM message WHERE role = {ANSWER}", [(2,)])
        t.key("esc")
        self.wait_answers(2)
        self.assertEqual(len(self.rows("SELECT DISTINCT conversation_id FROM message")), 2)
        self.leave(t)

    def test_a_conversation_is_found_growing_when_it_is_opened_again(self):
        t = self.start(*ENDLESS)
        self.ask(t, "Hello")
        self.wait_rows(f"SELECT length(text) FROM message WHERE state = {STREAMING}", lambda r: r and r[0][0] > 20)
        t.key("ctrl-n")
        t.wait("New conversation", 5)
        t.key("f2")
        t.wait("Conversations", 5)
        t.read(0.3)
        t.key("enter")
        t.wait("writing", 5)
        t.wait("▌", 5)
        early = t.text()
        t.wait(lambda s: s != early and "▌" in s, 5)
        t.key("esc")
        t.read(0.2)
        t.key("esc")
        t.wait("stopped", 5)

    def test_deleting_what_is_being_written_leaves_nothing(self):
        t = self.start(*ENDLESS)
        self.ask(t, "Hello")
        self.wait_rows(f"SELECT length(text) FROM message WHERE state = {STREAMING}", lambda r: r and r[0][0] > 20)
        self.ask(t, "/delete")
        t.read(0.2)
        t.send("y")
        self.wait_rows("SELECT count(*) FROM message", [(0,)])
        t.wait("New conversation", 5)
        self.ask(t, "Hello")
        self.wait_rows(f"SELECT count(*) FROM message WHERE role = {ANSWER}", [(1,)])
        t.key("esc")
        self.wait_answers(1)
        self.leave(t)
        self.assertEqual(self.rows("SELECT count(*) FROM conversation"), [(1,)])

    def test_answering_again_keeps_the_first_answer(self):
        t = self.start(*SHORT)
        self.ask(t, "A question")
        self.wait_answers(1)
        self.ask(t, "/regenerate")
        self.wait_answers(2)
        first, second = self.rows(f"SELECT id, parent_id FROM message WHERE role = {ANSWER} ORDER BY id")
        self.assertEqual(first[1], second[1])
        leaf = "SELECT leaf_id FROM conversation"
        self.assertEqual(self.rows(leaf), [(second[0],)])

        # Both can be shown, and each gone on from.
        t.wait("(2/2)", 5)
        t.type("\x1bp")
        t.wait("(1/2)", 5)
        self.wait_rows(leaf, [(first[0],)])
        self.ask(t, "Zebra")
        self.wait_answers(3)
        self.assertEqual(self.rows("SELECT parent_id FROM message WHERE text = 'Zebra'"), [(first[0],)])
        t.wait("(1/2)", 5)
        self.leave(t)

        # What lies on another path than the one shown is found, and opened on its own.
        with sqlite3.connect(self.db) as db:
            db.execute("UPDATE conversation SET leaf_id = ?", (second[0],))
        t = self.start(*SHORT, "--resume")
        t.wait("(2/2)", 5)
        self.assertNotIn("Zebra", t.text())
        self.ask(t, "/search Zebra")
        t.wait("Found", 5)
        t.read(0.3)
        t.key("enter")
        t.wait("(1/2)", 5)
        self.wait_rows(leaf, lambda rows: rows not in ([(first[0],)], [(second[0],)]))
        self.leave(t)

    def test_a_new_name_stays(self):
        t = self.start(*SHORT)
        self.ask(t, "A question")
        self.wait_answers(1)
        self.ask(t, "/rename Something else")
        self.wait_rows("SELECT title FROM conversation", [("Something else",)])
        t.wait("Something else", 5)
        self.ask(t, "Another question")
        self.wait_answers(2)
        self.assertEqual(self.rows("SELECT title FROM conversation"), [("Something else",)])
        self.leave(t)

    def test_resume_by_number_and_earlier_prompts(self):
        t = self.start(*SHORT)
        self.ask(t, "The older one")
        self.wait_answers(1)
        t.key("ctrl-n")
        t.wait("New conversation", 5)
        self.ask(t, "The younger one")
        self.wait_answers(2)
        self.leave(t)
        older, younger = [r[0] for r in self.rows("SELECT id FROM conversation ORDER BY id")]
        t = self.start(*SHORT, "--resume", str(older))
        t.wait("The older one", 5)
        self.leave(t)
        t = self.start(*SHORT)
        t.read(0.3)
        t.key("up")
        t.wait("> The younger one", 5)
        t = self.start(*SHORT, "--resume")
        t.wait("The younger one", 5)
        t = self.open("-m", NANO, "--resume", "12")
        self.assertEqual(t.end(), 1)
        self.assertIn(b"chinwag: there is no conversation 12", t.raw)

    def test_a_resumed_chat_outlives_a_conversation_that_another_window_deleted(self):
        t = self.start(*SHORT)
        self.ask(t, "A question")
        self.wait_answers(1)
        self.leave(t)
        t = self.start(*SHORT, "--resume")
        t.wait("A question", 5)
        t.key("ctrl-n")
        t.wait("New conversation", 5)
        t.key("f2")
        t.wait("A question", 5)
        with sqlite3.connect(self.db, timeout=10) as db:
            db.execute("DROP TRIGGER message_index_delete")  # needs chinwag's tokenizer
            db.execute("DELETE FROM message")
            db.execute("DELETE FROM conversation")
        db.close()
        t.key("enter")
        t.wait("no longer there", 5)
        self.leave(t)

    def test_the_system_prompt_of_the_command_line_is_for_the_conversation_resumed_alone(self):
        t = self.start(*SHORT, "-s", "Be brief.")
        self.ask(t, "A question")
        self.wait_answers(1)
        t.key("ctrl-n")
        t.wait("New conversation", 5)
        self.ask(t, "The younger one")
        self.wait_answers(2)
        self.leave(t)
        t = self.start(*SHORT, "--resume", "-s", "Be a pirate.")
        t.wait("The younger one", 5)
        t.key("ctrl-n")
        t.wait("New conversation", 5)
        t.key("f2")
        t.wait("A question", 5)
        t.key("down")
        t.key("enter")
        t.key("esc")
        t.wait(lambda s: s.lstrip().startswith("A question"), 5)
        self.ask(t, "And now?")
        self.wait_answers(3)
        self.leave(t)
        self.assertEqual(self.rows("SELECT system FROM conversation ORDER BY id LIMIT 1"), [("Be brief.",)])

    # ---- settings ----

    def test_a_setting_changed_is_there_next_time_and_the_command_line_wins(self):
        kept = "SELECT value FROM setting WHERE key = '%s'"
        t = self.start(*SHORT)
        t.wait("temp 0.70", 5)
        self.ask(t, "/set temperature 0.35")
        self.wait_rows(kept % "temperature", [("0.35",)])
        self.ask(t, "/set system Be brief.")
        self.wait_rows(kept % "system", [("Be brief.",)])
        self.leave(t)
        t = self.start(*SHORT)
        t.wait("temp 0.35", 5)
        self.ask(t, "A question")
        self.wait_answers(1)
        self.assertEqual(self.rows("SELECT system FROM conversation"), [("Be brief.",)])
        self.ask(t, "/set system none")
        self.wait_rows("SELECT system FROM conversation", [("",)])
        self.ask(t, "/set system Be kind.")
        self.wait_rows("SELECT system FROM conversation", [("Be kind.",)])
        self.ask(t, "/set system")
        t.wait("system is: Be kind.")
        self.ask(t, "/set system default")
        self.wait_rows("SELECT system FROM conversation", [(None,)])
        self.assertEqual(self.rows(kept % "system"), [], "the model's own is what nobody has set")
        self.leave(t)
        t = self.start(*SHORT, "--temp", "0.9")
        t.wait("temp 0.90", 5)
        self.ask(t, "/set temp 0.2")
        self.wait_rows(kept % "temperature", [("0.2",)])
        t.wait("temp 0.20", 20)
        self.ask(t, "/set temperature default")
        self.wait_rows(kept % "temperature", [])
        t.wait("temp 0.70", 20)
        self.ask(t, "/set seed 7")
        self.ask(t, "/set context 512")
        t.wait("context is set at the start: --context", 5)
        t.key("f3")
        t.wait(lambda s: re.search(r"seed \* +7", s) and re.search(r"max-tokens \* +8", s), 5)
        self.assertEqual(self.rows(kept % "seed"), [], "a seed is for this run")

    # ---- lines ----

    def test_what_is_piped_into_the_plain_dialogue_is_answered_to_its_end(self):
        env = {**os.environ, **self.env, "CHINWAG_PLAIN": "1"}
        done = subprocess.run([CHINWAG, "-m", NANO, "-t", "1", "-n", "8"], input=b"One\n/set temperature 0\nTwo\\\nlines\nlast",
                              env=env, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.rows(f"SELECT text FROM message WHERE role = {USER} ORDER BY id"),
                         [("One",), ("Two\nlines",), ("last",)])
        self.wait_answers(3)

    # ---- models ----

    def config(self, text):
        (self.home / "config/chinwag").mkdir(parents=True)
        (self.home / "config/chinwag/config.ini").write_text(text)

    def test_a_model_that_cannot_be_loaded_is_replaced_by_another(self):
        bad = self.home / "bad.gguf"
        bad.write_bytes(pathlib.Path(NANO).read_bytes()[:5000])
        self.config(f"model = {bad}\n")
        models = self.home / "data/chinwag/models"
        models.mkdir(parents=True)
        shutil.copy(NANO, models / "tiny.gguf")
        t = self.start(*SHORT, model=None)
        t.wait("/model FILE loads another one", 10)
        self.assertIn("bad.gguf", t.text())
        self.ask(t, "A question asked too early")
        t.wait("Kept, and answered as soon as there is a model", 5)
        self.ask(t, "/model /nonexistent.gguf")
        t.wait("/nonexistent.gguf: No such file", 5)
        t.wait("Models at hand: tiny.gguf", 5)
        self.ask(t, f"/model {NANO}")
        self.wait_answers(1)
        self.assertEqual(self.rows("SELECT value FROM setting WHERE key = 'model'"), [(NANO,)])
        self.leave(t)
        t = self.start(*SHORT, model=None)  # remembered
        t.wait("qwen2-nano", 10)

    def test_a_model_named_on_the_command_line_must_load(self):
        bad = self.home / "bad.gguf"
        bad.write_bytes(pathlib.Path(NANO).read_bytes()[:5000])
        t = self.open("-m", str(bad))
        self.assertEqual(t.end(), 1)
        last = t.raw.decode(errors="replace").rstrip("\r\n").rsplit("\n", 1)[-1]
        self.assertRegex(last, r"chinwag: \S*bad\.gguf: ")
        t = self.open("-m", "/nonexistent.gguf")
        self.assertEqual(t.end(), 1)
        self.assertEqual(t.raw, b"chinwag: /nonexistent.gguf: No such file or directory\r\n")

    # ---- a store that fails ----

    def test_that_something_is_not_saved_stands_there_until_it_is(self):
        t = self.start(*SHORT)
        self.ask(t, "first")
        self.wait_answers(1)
        lock = sqlite3.connect(self.db, timeout=10, isolation_level=None)
        self.addCleanup(lock.close)
        lock.execute("BEGIN EXCLUSIVE")
        self.ask(t, "second")
        t.wait(lambda text: text.splitlines()[-1].startswith(" Not saved:"), 20)
        end = time.monotonic() + 5  # longer than any flash
        while time.monotonic() < end:
            t.read(0.1)
        t.type("x")
        t.read(0.3)
        self.assertIn("Not saved:", t.text().splitlines()[-1])
        lock.execute("ROLLBACK")
        t.wait(lambda text: "saved again" in text.splitlines()[-1], 20)
        t.wait(lambda text: "F1 help" in text.splitlines()[-1], 20)

    def test_what_cannot_be_saved_of_any_conversation_is_put_beside(self):
        beside = self.home / "beside"
        beside.mkdir()
        self.env["TMPDIR"] = str(beside)
        t = self.start(*ENDLESS)
        with sqlite3.connect(self.db, timeout=10, isolation_level=None) as lock:
            lock.execute("BEGIN EXCLUSIVE")
            self.ask(t, "Hello")
            t.wait("▌", 10)
            t.key("ctrl-n")
            t.wait("New conversation", 5)
            self.ask(t, "A question that waits")
            t.wait("finished first", 5)
            t.key("ctrl-n")
            t.wait("New conversation", 5)
            t.key("ctrl-d")
            self.assertEqual(t.end(20), 1)
        lock.close()
        last = t.raw.decode(errors="replace").rstrip("\r\n").rsplit("\n", 1)[-1]
        self.assertIn("could not be saved", last)
        self.assertIn("locked", last)
        texts = []
        for path in beside.iterdir():
            self.assertIn(str(path), last)
            texts.append(path.read_text())
        texts.sort()
        self.assertEqual(len(texts), 2, last)
        self.assertEqual(texts[0], "you:\nA question that waits\n\n")
        self.assertRegex(texts[1], r"\Ayou:\nHello\n\nchinwag:\n.{10}")

    # ---- the window ----

    def test_a_small_window_never_ends_a_chat(self):
        t = self.start("-c", "512", "-n", "24")
        for i in range(1, 16):
            self.ask(t, f"Question {i}: my dog Rex is {i} years old and lives in Lisbon.")
            self.wait_answers(i)
        t.wait(lambda s: re.search(r"\d+ in summary", s), 10)
        self.assertGreater(self.rows("SELECT count(*) FROM summary")[0][0], 0)
        self.assertLessEqual(self.rows("SELECT max(prompt_tokens + generated_tokens) FROM message")[0][0], 512)
        self.assertEqual(self.rows("SELECT count(*) FROM message"), [(30,)], "nothing of the transcript is lost")
        self.leave(t)
        t = self.start("-c", "512", "-n", "24", "--resume")
        t.wait(lambda s: re.search(r"\d+ in summary", s), 10)
        self.ask(t, "/summary")
        t.wait("In place of the first", 5)
        self.ask(t, "And now?")
        self.wait_answers(16)
        self.leave(t)


if __name__ == "__main__":
    unittest.main()
