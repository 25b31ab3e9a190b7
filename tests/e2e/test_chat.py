"""The real program with the real model in a real terminal: what a person does, and what they must see."""
import ctypes
import os
import platform
import re
import shutil
import signal
import unittest

from program import ProgramCase

MODEL = os.environ.get("CHINWAG_TEST_MODEL", "")


@unittest.skipUnless(os.path.exists(MODEL), "the default model is not here")
class Chat(ProgramCase):
    def start(self, *options, slow=False, **size):
        """slow: with the scalar kernels, so that an answer takes long enough to be cut off."""
        t = self.open("-m", MODEL, "--seed", "1", *options, **size, **({"CHINWAG_CPU": "scalar"} if slow else {}))
        t.wait("> ")
        return t

    def wait_answers(self, n, seconds=90):
        """Waits until n answers are complete in the database."""
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(n,)], seconds)

    def test_question_stop_temperature_quit_and_restart(self):
        t = self.start("-n", "400", slow=True)
        first = t.wait("SmolLM2")
        self.ask(t, "Write a long story about a lighthouse keeper.")
        t.wait("you ")
        t.wait(lambda s: re.search(r"\d+/\d+", s) and "tok/s" in s)
        early = t.text()
        t.read(0.5)
        self.assertNotEqual(early, t.text(), "the answer streams")

        # The temperature moves while the answer streams.
        t.key("f3")
        t.wait("temperature")
        before = re.search(r"temp (\d\.\d+)", t.text()).group(1)
        t.key("right")
        t.wait(lambda s: re.search(r"temp (\d\.\d+)", s) and re.search(r"temp (\d\.\d+)", s).group(1) != before)
        t.key("esc")
        t.read(0.2)

        # Esc stops it, at once.
        t.key("esc")
        took = t.wait(lambda s: "stopped" in s and "writing" not in s, 5)
        print(f"figure: the screen says 'stopped' {took * 1000:.0f} ms after Esc")
        text = t.text()
        t.read(0.5)
        self.assertEqual(re.sub(r"\d", "", text), re.sub(r"\d", "", t.text()), "nothing is written after the stop")

        # It leaves the terminal as it was, and all is there again.
        t.key("ctrl-d")
        self.assertEqual(t.end(), 0)
        self.assertIn(b"\x1b[?1049l", t.raw)
        t = self.start()
        t.key("f2")
        t.wait("Write a long story")
        t.key("enter")
        t.wait("lighthouse keeper.")
        t.wait("stopped")
        print(f"figure: model name on the screen {first * 1000:.0f} ms after the first drawing")

    def test_a_killed_program_keeps_every_word_that_was_shown(self):
        t = self.start(lines=60, slow=True)
        self.ask(t, "Tell me about the sea.")
        t.wait("tok/s")
        t.read(1.0)
        shown = " ".join(re.search(r"chinwag \d\d:\d\d\n(.*?)\n *\n *─", t.text(), re.S).group(1).split())
        t.read(0.4)  # acknowledged at least every 250 ms
        t.kill(signal.SIGKILL)
        t = self.start("--resume")
        t.wait("Tell me about the sea.")
        kept = self.rows("SELECT text, state FROM message ORDER BY id")
        self.assertEqual(kept[0], ("Tell me about the sea.", 0))
        self.assertEqual(kept[1][1], 2, "the answer cut off is marked as interrupted")
        letters = "".join(c for c in kept[1][0] if c.isalnum())
        self.assertIn("".join(c for c in shown.rstrip("▌") if c.isalnum()), letters)

    def test_a_reopened_conversation_reaches_the_model(self):
        t = self.start("-n", "12")
        self.ask(t, "My name is Ottoline.")
        self.wait_answers(1)
        self.ask(t, "I live in Reykjavik.")
        self.wait_answers(2)
        first, second = self.rows("SELECT prompt_tokens, evaluated_tokens FROM message WHERE role = 2 ORDER BY id")
        self.assertLess(second[1], 24, "the second turn evaluates its new tokens only")
        t.key("ctrl-d")
        self.assertEqual(t.end(), 0)
        t = self.start("-n", "12", "--resume")
        t.wait("Ottoline")
        t.wait("SmolLM2")
        t.read(2)  # the model is there: the turns before are read
        self.ask(t, "What is my name?")
        self.wait_answers(3)
        third = self.rows("SELECT prompt_tokens, evaluated_tokens FROM message WHERE role = 2 ORDER BY id")[2]
        self.assertGreater(third[0], second[0], "the prompt holds the turns before the restart")
        self.assertLess(third[1], 24, "they were read before the question came")
        print(f"figure: the second turn evaluated {second[1]} of {second[0]} tokens; after a restart {third[1]} of {third[0]}")

    @unittest.skipUnless(platform.machine() == "x86_64", "the number of the tgkill system call is that of x86-64")
    def test_a_fault_in_any_thread_gives_the_terminal_back(self):
        t = self.start()
        t.wait("SmolLM2")
        last = max(int(tid) for tid in os.listdir(f"/proc/{t.pid}/task"))
        self.assertNotEqual(last, t.pid)
        ctypes.CDLL(None).syscall(234, t.pid, last, signal.SIGSEGV)  # tgkill
        self.assertEqual(t.end(), -signal.SIGSEGV)
        self.assertIn(b"\x1b[?1049l", t.raw)
        self.assertEqual(t.attributes(), t.before)

    def test_a_model_file_cut_short_while_in_use_gets_a_sentence(self):
        model = self.home / "copy.gguf"
        shutil.copyfile(MODEL, model)
        t = self.start("--no-repack", "-n", "4", "-m", str(model))
        t.wait("copy")
        self.ask(t, "Is anybody there?")
        self.wait_answers(1)
        os.truncate(model, 4096)
        self.ask(t, "Still there?")
        self.assertEqual(t.end(), -signal.SIGBUS)
        self.assertIn(b"was cut short", t.raw.split(b"\x1b[?1049l")[-1])
        self.assertEqual(t.attributes(), t.before)
        self.wait_answers(1)

    def test_chinese_lines_up(self):
        t = self.start("-n", "8")
        t.type("你好，世界🙂")
        t.wait("你好")
        row = next(y for y, line in enumerate(t.screen.display) if "你" in line)
        self.assertEqual((t.screen.cursor.y, t.screen.cursor.x), (row, 2 + 2 * 5 + 2))
        t.key("enter")
        t.wait(lambda s: s.count("你好") >= 1 and "you " in s)

    def test_too_small_and_back(self):
        t = self.start("-n", "8")
        t.type("a draft")
        t.resize(20, 5)
        t.wait(lambda s: "needs at least" in s or "too small" in s, 5)
        t.resize(100, 30)
        t.wait("> a draft", 5)

    def test_started_too_small(self):
        t = self.open("-m", MODEL, columns=20, lines=5)
        t.wait(lambda s: "needs at" in s or "too small" in s, 5)
        t.resize(100, 30)
        t.wait("> ", 5)
        t.key("ctrl-d")
        self.assertEqual(t.end(), 0)


if __name__ == "__main__":
    unittest.main()
