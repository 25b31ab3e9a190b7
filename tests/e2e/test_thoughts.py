"""What a model thinks before it answers: folded on the screen, kept in the database, never sent back, not on stdout."""
import base64
import os
import re
import signal
import subprocess
import unittest

import scripted_model
from program import CHINWAG, ProgramCase

THOUGHT = "Two and two.\n\n二加二，大家都知道。 Is it five? No."
ANSWER = "It is **four**."
FOUR = ["<think>", "\n\n", "Two", " and", " two.", "\n\n", "二加二，", "大家都知道。", " Is it", " five? No.", "\n\n",
        "</think>", "\n\n", "It is", " **four**", "."]
SHORT = ["<think>", "Two", " and two.", "</think>", "\n\n", "It is", " four."]  # or from the empty thought's end
ENDLESS = ["<think>", "\n\n", "Once", " more", " and", " again"]
WORDS = 3 + 3 + 5 + 4  # of THOUGHT: each Chinese character is one


def prompt_tokens(*messages):
    """Of a chat in the scripted model's vocabulary of bytes: (role, text) pairs, and the header of the next answer."""
    bytes_ = lambda s: len(s.encode())
    return sum(1 + bytes_(role + "\n" + text) + 1 + 1 for role, text in messages) + 1 + bytes_("assistant\n")


class Thoughts(ProgramCase):
    def model(self, script, **options):
        path = self.home / "script.gguf"
        scripted_model.write(path, script, **options)
        return str(path)

    def start(self, model, *options, columns=80, lines=24, **env):
        t = self.open("-m", model, "-t", "1", "--temp", "0", *options, columns=columns, lines=lines, **env)
        t.wait("script F32")
        return t

    def ask(self, t, question="2+2"):
        super().ask(t, question)

    def search(self, t, text, shown):
        t.type(f"/search {text}")
        t.key("enter")
        t.wait(shown)

    def wait_answered(self, t, n=1):
        t.wait(lambda s: s.count("It is four.") == n and "▌" not in s)
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(n,)])

    def line_with(self, t, text):
        """The screen's lines, and which holds the text; however long the thought took, 1 s is said."""
        lines = [re.sub(r"thought for \d+ s", "thought for 1 s", line.rstrip()) for line in t.screen.display]
        found = [i for i, line in enumerate(lines) if text in line]
        self.assertTrue(found, f"{text} is not on the screen:\n{t.text()}")
        return lines, found[0]


class OnTheScreen(Thoughts):
    def test_the_thought_is_a_line_above_the_answer_until_it_is_unfolded(self):
        t = self.start(self.model(FOUR))
        self.ask(t)
        self.wait_answered(t)
        lines, y = self.line_with(t, "▸ thought for 1 s")
        self.assertEqual(lines[y], f"   ▸ thought for 1 s · {WORDS} words · Alt-T shows it")
        self.assertTrue(lines[y - 1].startswith(" chinwag "))
        self.assertEqual(lines[y + 1], "   It is four.")
        self.assertNotIn("知道", t.text())
        t.send("\x1bt")
        t.wait("知道")
        lines, y = self.line_with(t, "▾ thought for 1 s")
        self.assertEqual(lines[y + 1:y + 6], ["   │ Two and two.", "   │", "   │ 二加二，大家都知道。 Is it five? No.", "",
                                             "   It is four."])
        self.assertTrue(t.screen.buffer[y + 1][5].data == "T")
        t.resize(30, 24)
        t.wait("   │ 二加二，大家都知道。 Is\n   │ it five? No.\n")
        self.line_with(t, "   ▾ thought for 1 s · 15 wo…")
        t.resize(80, 24)
        t.wait("知道。 Is it five? No.")
        t.type("/thoughts")
        t.key("enter")
        t.wait(lambda s: "知道" not in s and "▸ thought for" in s)
        self.leave(t)
        (text,), = self.rows("SELECT text FROM message WHERE role = 2")
        self.assertEqual(text, f"<think>\n\n{THOUGHT}\n\n</think>\n\n{ANSWER}")

    def test_a_conversation_opened_again_folds_it_and_finding_shows_it(self):
        model = self.model(FOUR)
        t = self.start(model)
        self.ask(t)
        self.wait_answered(t)
        self.leave(t)
        t = self.start(model, "--resume")
        t.wait(f"▸ thought · {WORDS} words")
        self.assertIn("It is four.", t.text())
        self.assertNotIn("知道", t.text())
        t.type("/find 知道")
        t.key("enter")
        t.wait("│ 二加二，大家都知道")
        t.wait("1 of 1")
        t.key("esc")
        t.read(0.2)
        t.key("esc")
        t.wait(lambda s: "知道" not in s)
        self.search(t, "知道", "chinwag, now")
        self.assertNotIn("<think>", t.text())
        t.key("esc")
        t.wait(lambda s: "Found" not in s)
        self.search(t, "four", "It is **four**")
        self.assertNotIn("</think>", t.text())
        t.key("esc")
        t.wait(lambda s: "Found" not in s)
        self.search(t, "知道", "chinwag, now")
        t.key("enter")
        t.wait("│ 二加二，大家都知道")

    def test_the_answer_alone_is_copied_and_sent_back(self):
        t = self.start(self.model(FOUR))
        self.ask(t)
        self.wait_answered(t)
        t.key("ctrl-y")
        t.wait(f"sent the last answer ({len(ANSWER)} bytes)")
        self.assertIn(b"\x1b]52;c;" + base64.b64encode(ANSWER.encode()), t.raw)
        self.ask(t, "3+3")
        self.wait_answered(t, 2)
        self.leave(t)
        self.assertEqual(self.rows("SELECT prompt_tokens FROM message WHERE role = 2 ORDER BY id"),
                         [(prompt_tokens(("user", "2+2")),),
                          (prompt_tokens(("user", "2+2"), ("assistant", ANSWER), ("user", "3+3")),)])
        self.assertEqual(self.rows("SELECT title FROM conversation"), [("2+2",)])

    def test_a_summary_holds_nothing_of_it(self):
        t = self.start(self.model(FOUR), "-c", "1024")
        for i in range(14):
            self.ask(t, f"My dog number {i} is called Rex{i}.")
            self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(i + 1,)])
            t.wait(lambda s: "▌" not in s and "summarizing" not in s)
        self.leave(t)
        summaries = [s for s, in self.rows("SELECT text FROM summary")]
        self.assertTrue(summaries)
        self.assertIn("is called Rex", summaries[0])
        for s in summaries:
            self.assertNotIn("think", s)
            self.assertNotIn("Two and", s)
            self.assertNotIn("二加二", s)

    def test_marks_that_are_control_tokens_fold_too(self):
        t = self.start(self.model(FOUR, marks=scripted_model.CONTROL))
        self.ask(t)
        self.wait_answered(t)
        self.line_with(t, f"▸ thought for 1 s · {WORDS} words")

    def test_a_thought_that_the_template_begins_is_one(self):
        t = self.start(self.model(["Two", " and two.", "\n\n", "</think>", "\n\n", "It is", " **four**", "."], begins=True))
        self.ask(t)
        self.wait_answered(t)
        self.line_with(t, "▸ thought for 1 s · 3 words")
        self.leave(t)
        self.assertEqual(self.rows("SELECT text FROM message WHERE role = 2"),
                         [(f"<think>\nTwo and two.\n\n</think>\n\n{ANSWER}",)])

    def test_an_empty_thought_shows_nothing(self):
        t = self.start(self.model(["<think>", "\n\n", "</think>", "\n\n", "It is", " four."]))
        self.ask(t)
        self.wait_answered(t)
        lines, y = self.line_with(t, "It is four.")
        self.assertTrue(lines[y - 1].startswith(" chinwag "), t.text())

    def test_with_thinking_off_it_answers_at_once(self):
        model = self.model(SHORT, whole=["\n\n"])
        t = self.start(model)
        self.ask(t)
        self.wait_answered(t)
        self.ask(t, "/set thinking never")
        t.wait("thinking takes one of: off, on")
        self.ask(t, "/set thinking  off ")
        t.wait("thinking is off")
        self.ask(t, "3+3")
        self.wait_answered(t, 2)
        self.leave(t)
        self.assertEqual(self.rows("SELECT text FROM message WHERE role = 2 ORDER BY id"),
                         [("<think>Two and two.</think>\n\nIt is four.",), ("It is four.",)])
        t = self.start(model)
        t.key("f3")
        t.wait(lambda s: re.search(r"thinking \* +off", s))
        t.type("k" * 30 + "j" * 8)
        t.wait("off: answer without thinking")
        t.key("left")
        t.wait(lambda s: re.search(r"thinking +on", s))
        t.key("esc")
        t.wait(lambda s: "thinking" not in s)
        self.ask(t)
        t.wait("▸ thought for")

    def test_marks_elsewhere_are_text(self):
        t = self.start(self.model(["Write ", "<think>", " first. It is", " four."]))
        self.ask(t, "<think>what</think>")
        t.wait("Write <think> first. It is four.")
        self.assertIn("<think>what</think>", t.text())
        self.assertNotIn("thought", t.text())


class BrokenOff(Thoughts):
    def start_thinking(self, model):
        t = self.start(model, "-c", "32768", CHINWAG_CPU="scalar")
        self.ask(t)
        t.wait(lambda s: re.search(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] thinking \d+ s · \d+ words · Alt-T shows it", s))
        return t

    def endless(self):
        return self.model(ENDLESS, again=3, context=32768)

    def test_it_is_seen_to_think_until_esc_and_nothing_of_it_is_sent_back(self):
        t = self.start_thinking(self.endless())
        self.assertNotIn("more and again", t.text())
        first = re.search(r"· (\d+) words", t.text())[1]
        t.wait(lambda s: (m := re.search(r"· (\d+) words", s)) and int(m[1]) > int(first))
        t.send("\x1bt")
        t.wait(lambda s: re.search(r"│ (more and )?again more and again", s))
        t.send("\x1bt")
        t.wait(lambda s: "more and again" not in s)
        t.key("esc")
        t.wait("stopped")
        self.line_with(t, "▸ unfinished thought for ")
        self.ask(t, "and?")
        t.wait(lambda s: s.count("words") == 2)
        t.key("esc")
        t.wait(lambda s: s.count("stopped") == 2)
        self.leave(t)
        counts = self.rows("SELECT prompt_tokens FROM message WHERE role = 2 ORDER BY id")
        self.assertEqual(counts[1], (prompt_tokens(("user", "2+2\n\nand?")),))

    def test_after_kill_9_it_is_an_unfinished_thought(self):
        model = self.endless()
        t = self.start_thinking(model)
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND text LIKE '<think>%again more%'", [(1,)])
        t.kill(signal.SIGKILL)
        t = self.start(model, "--resume", "-c", "32768")
        t.wait("▸ unfinished thought · ")
        self.assertNotIn("more and again", t.text())
        self.assertIn("interrupted", t.text())


class InLines(Thoughts):
    def one_shot(self, model, *options):
        return subprocess.run([CHINWAG, "-m", model, "-t", "1", "--temp", "0", "-p", "2+2", *options], env={**os.environ, **self.env},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, text=True)

    def test_standard_output_gets_the_answer_alone(self):
        model = self.model(FOUR)
        r = self.one_shot(model, "--save")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, ANSWER + "\n", ""))
        self.assertEqual(self.rows("SELECT text FROM message WHERE role = 2"),
                         [(f"<think>\n\n{THOUGHT}\n\n</think>\n\n{ANSWER}",)])
        r = self.one_shot(model, "--thoughts")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, ANSWER + "\n", THOUGHT + "\n\n"))
        r = self.one_shot(self.model(SHORT, whole=["\n\n"]), "--thoughts", "--thinking", "off")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "It is four.\n", ""))

    def test_no_answer_for_thinking_is_a_failure(self):
        r = self.one_shot(self.model(ENDLESS, again=3), "-n", "20")
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertRegex(r.stderr, r"\Achinwag: the model was still thinking[^\n]*\n\Z")

    def test_a_thought_without_an_end_is_a_failure(self):
        r = self.one_shot(self.model(ENDLESS))
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertRegex(r.stderr, r"\Achinwag: the model ended within its thought[^\n]*\n\Z")

    def test_a_terminal_is_told_that_it_thinks(self):
        t = self.open("-m", self.model(FOUR), "-t", "1", "--temp", "0", "-p", "2+2", columns=80, lines=24)
        self.assertEqual(t.end(), 0)
        self.assertIn(f"chinwag: thinking (--thoughts shows it)\n{ANSWER}\n", t.text())

    def test_the_plain_dialogue_tells_of_it_and_reads_it_out_only_if_asked(self):
        t = self.start(self.model(ENDLESS, again=3), "-c", "32768", CHINWAG_PLAIN="1", CHINWAG_CPU="scalar")
        self.ask(t)
        t.wait(lambda s: re.search(r"chinwag [\d:]+\nthinking\n", s))
        self.ask(t, "/stop")
        t.wait("stopped")
        self.assertNotIn("again", t.text())
        t.key("ctrl-d")
        self.assertEqual(t.end(), 0)
        t = self.start(self.model(FOUR), CHINWAG_PLAIN="1")
        self.ask(t, "/thoughts")
        t.wait("what a model thinks is shown")
        self.ask(t, "3+3")
        t.wait(f"thinking:\n{THOUGHT}\nanswer:\n{ANSWER}\n")


if __name__ == "__main__":
    unittest.main()
