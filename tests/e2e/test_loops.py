"""An answer that repeats itself without end is ended, says so, and is known for it later."""
import subprocess
import unittest

import scripted_model
from program import CHINWAG, ProgramCase

LINE = "The dog is a good dog.\n"


class Loops(ProgramCase):
    def model(self, *script, again=None):
        path = self.home / "script.gguf"
        scripted_model.write(path, script, again=again, context=4096)
        return str(path)

    def one_shot(self, *options, model, question="Hello"):
        return subprocess.run([CHINWAG, "-m", model, "-p", question, *options], env={**self.env, "LC_ALL": "C.UTF-8"},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    def test_a_loop_ends_the_answer_with_a_footnote(self):
        t = self.open("-m", self.model("Well: ", LINE, again=1), "--stop-loops", "on")
        self.ask(t, "Hello")
        t.wait("repeating itself; Alt-R answers again", 20)
        t.type("/set stop-loops off")
        t.key("enter")
        t.wait("stop-loops", 5)
        self.ask(t, "/regenerate")
        t.wait("cut at the window", 60)
        self.leave(t)
        texts = [text for text, in self.rows("SELECT text FROM message WHERE role = 2 ORDER BY id")]
        self.assertIn(texts[0].count(LINE), range(12, 100))
        self.assertGreater(texts[1].count(LINE), 1000)

    def test_the_footnote_is_there_after_a_restart(self):
        model = self.model("Well: ", LINE, again=1)
        t = self.open("-m", model, "--stop-loops", "on")
        self.ask(t, "Hello")
        t.wait("repeating itself; Alt-R answers again", 20)
        self.leave(t)
        t = self.open("-m", model, "--stop-loops", "on", "--resume")
        t.wait("repeating itself; Alt-R answers again", 20)
        self.leave(t)

    def test_one_shot_says_it_in_one_line_and_succeeds(self):
        model = self.model("Well: ", LINE, again=1)
        r = self.one_shot(model=model)
        self.assertEqual(r.returncode, 0)
        self.assertEqual(r.stderr, "chinwag: the answer repeated itself and was ended (--stop-loops off lets it go on)\n")
        self.assertIn(r.stdout.count(LINE), range(12, 100))
        r = self.one_shot("--stop-loops", "off", "-n", "300", model=model)
        self.assertEqual(r.stdout.count(LINE), 299)

    def test_a_loop_within_a_thought_is_a_failure(self):
        r = self.one_shot(model=self.model("<think>", "and more ", again=1))
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertEqual(r.stderr,
                         "chinwag: the model repeated itself in its thought and was stopped: there is no answer\n")

    def test_what_the_question_asks_for_is_written_in_full(self):
        lines = [f"{LINE}"] * 60
        r = self.one_shot(model=self.model(*lines), question="Write 60 times that the dog is a good dog.")
        self.assertEqual((r.stdout.count(LINE), r.stderr), (60, ""))
        r = self.one_shot(model=self.model(*lines), question="Write that the dog is a good dog.")
        self.assertLess(r.stdout.count(LINE), 60)


if __name__ == "__main__":
    unittest.main()
