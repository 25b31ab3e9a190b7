"""What is said about a model before it answers: its chat template, a window or a number of threads that does not suit it."""
import os
import pathlib
import re
import resource
import subprocess
import time
import unittest

import numpy
import scripted_model
from program import CHINWAG, ROOT, ProgramCase

NANO = str(ROOT / "tests/golden/qwen2-nano-Q4_0.gguf")
# Templates that are not understood, or are damaged.
ALPACA = "{% for m in messages %}{{ '### Instruction:\\n' + m['content'] }}{% endfor %}{{ '### Response:\\n' }}"
GEMMA = "{{ bos_token }}{% for m in messages %}{{ '<start_of_turn>' + m['role'] + '\\n' + m['content'] }}{% endfor %}"
ZEPHYR_VARIANT = "{% for m in messages %}{{ '<|user|>\\n' + m['content'] + '<|end|>' }}{% endfor %}{{ '<|assistant|>' }}"
BROKEN = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] }}{% endfo"
UNKNOWN = {"alpaca": ALPACA, "gemma": GEMMA, "zephyr": ZEPHYR_VARIANT, "broken": BROKEN}


class Case(ProgramCase):
    def model(self, pieces, **more):
        path = str(self.home / f"script-{len(list(self.home.glob('*.gguf')))}.gguf")
        scripted_model.write(path, pieces, **more)
        return path

    def run_(self, *args):
        return subprocess.run([CHINWAG, *args], env={**os.environ, **self.env}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)

    def answer(self, model, *args):
        r = self.run_("-m", model, *(() if "-t" in args else ("-t", "1")), "-p", "Hello", *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        r.stderr = "".join(line for line in r.stderr.splitlines(True) if "answer was cut" not in line)
        return r


class Templates(Case):
    def test_p_says_once_that_a_template_is_not_understood_and_what_is_used_instead(self):
        for name, template in UNKNOWN.items():
            for chatml in (True, False):
                with self.subTest(name, chatml=chatml):
                    r = self.answer(self.model(["Hi"], template=template, chatml=chatml, after=10 if chatml else 58))
                    self.assertEqual(r.stdout, "Hi\n")
                    self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
                    self.assertIn("chat template is not understood", r.stderr)
                    self.assertIn("chatml" if chatml else "User: / Assistant:", r.stderr)

    def test_p_says_that_there_is_no_template(self):
        r = self.answer(self.model(["Hi"], template=None))
        self.assertRegex(r.stderr, r"\Achinwag: .*has no chat template: the chatml format.*base model.*\n\Z")

    def test_nothing_is_said_of_a_template_that_is_understood(self):
        for template in ("qwen3.jinja", "chatml.jinja", "smollm2.jinja", "qwen2.5.jinja"):
            self.assertEqual(self.answer(self.model(["Hi"], template=template)).stderr, "", template)

    def test_inspect_says_it(self):
        out = self.run_("inspect", self.model(["Hi"], template=ALPACA)).stdout
        self.assertRegex(out, r"(?m)^template +chatml: the file's chat template is not understood")
        out = self.run_("inspect", self.model(["Hi"], template=None, chatml=False)).stdout
        self.assertRegex(out, r"(?m)^template +none: the file has no chat template")
        out = self.run_("inspect", self.model(["Hi"])).stdout
        self.assertRegex(out, r"(?m)^template +qwen3$")

    def test_the_chat_says_it_once_in_a_notice(self):
        t = self.open("-m", self.model(["Hi"], template=GEMMA), "-t", "1", columns=140)
        t.wait("is not understood")
        self.ask(t, "one")
        t.wait("Hi")
        self.ask(t, "two")
        self.wait_rows("select count(*) from message where role = 2 and state = 1", lambda r: True)
        t.read(0.5)
        self.assertEqual(t.text().count("is not understood"), 1, t.text())
        self.leave(t)


class PlainTranscript(Case):
    """Without a chat format nothing ends a turn but the label of the next."""
    TURNS = [" Hi", " there.", "\n", "User", ":", " and you?", "\n", "Assistant", ":", " fine.", "\n"]

    def plain(self, pieces, **more):
        return self.model(pieces, template=None, chatml=False, after=58, **more)

    def test_the_answer_ends_before_the_next_turn(self):
        r = self.answer(self.plain(self.TURNS, again=0))
        self.assertEqual(r.stdout, "Hi there.\n")

    def test_the_chat_stores_the_answer_without_it_and_goes_on(self):
        t = self.open("-m", self.plain(self.TURNS, again=0), "-t", "1", columns=140)
        t.wait("no chat template")
        for n, question in enumerate(("one", "two"), 1):
            self.ask(t, question)
            self.wait_rows("select text from message where role = 2", [("Hi there.",)] * n)
        self.leave(t)

    def test_words_that_only_look_like_a_label_stay(self):
        pieces = [" Ask", " the", " User", ":", "\n", "Users", ":", "\n", "Use", "r", " it", "\n", "\n", "Assist", "ant", ":", " no"]
        r = self.answer(self.plain(pieces))
        self.assertEqual(r.stdout, "Ask the User:\nUsers:\nUser it\n")

    def test_an_end_of_text_ends_it_too(self):
        self.assertEqual(self.answer(self.plain([" Yes", ".", "\n", "Us"])).stdout, "Yes.\nUs\n")


class Limits(Case):
    def test_a_window_larger_than_what_the_model_was_trained_on_is_said_once(self):
        r = self.answer(NANO, "-c", "4096", "-n", "2")
        self.assertRegex(r.stderr, r"\Achinwag: The window of 4096 tokens is larger than the 2048 .*\n\Z")
        self.assertEqual(self.answer(NANO, "-c", "2048", "-n", "2").stderr, "")

    def test_more_threads_than_cores_are_said_once_with_the_speed_to_expect(self):
        cores = int(subprocess.run([CHINWAG, "inspect", NANO], capture_output=True, text=True).stdout.split(" threads")[0]
                    .rsplit(" ", 1)[1])
        r = self.answer(NANO, "-n", "2", "-t", str(cores * 4))
        self.assertRegex(r.stderr, rf"\Achinwag: {cores * 4} threads on {cores} cores?: .* %.*-t {cores}\).*\n\Z")


class Contents(Case):
    """Tensors and keys that change what a model says: used, or refused by name."""

    def refused(self, *words, **more):
        r = self.run_("-m", self.model(["Hi"], **more), "-p", "Hello")
        self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (1, "", 1), r.stderr)
        for word in words:
            self.assertIn(word, r.stderr)

    def test_the_bias_of_the_logits_of_qwen2_is_added(self):
        bias = numpy.zeros(256 + 3 + 2)
        bias[260] = 50  # the second piece, whatever came before
        pieces = ["Hi", "You"]
        self.assertEqual(self.answer(self.model(pieces, architecture="qwen2"), "-n", "4").stdout, "HiYou\n")
        r = self.answer(self.model(pieces, architecture="qwen2", output__bias=bias), "-n", "4")
        self.assertEqual(r.stdout, "YouYouYouYou\n")
        greedy = self.answer(self.model(pieces, architecture="qwen2", output__bias=bias), "-n", "4", "--temp", "0",
                             "--repeat-penalty", "1")
        self.assertEqual(greedy.stdout, "YouYouYouYou\n")

    def test_tensors_without_a_place_are_refused_by_name(self):
        for name in ("output_norm.bias", "token_embd_norm.weight", "rope_factors_long.weight", "rope_factors_short.weight",
                     "output.bias", "cls.weight"):
            self.refused(f"the tensor {name} has no place", **{name.replace(".", "__"): numpy.ones(8)})
        self.refused("the tensor output_norm.bias has no place", architecture="qwen2", output_norm__bias=numpy.ones(8))

    def test_a_format_that_is_not_read_is_named(self):
        self.refused("is in the format MXFP4", matrices=39)

    def test_figures_of_every_layer_may_be_arrays_of_equal_numbers(self):
        self.assertEqual(self.answer(self.model(["Hi"], feed_forward=[32, 32, 32])).stdout, "Hi\n")
        self.refused("layers that differ in llama.feed_forward_length (32 and 64)", feed_forward=[32, 64])
        self.refused("feed_forward_length holds 0", feed_forward=[0, 0])


    def test_a_window_that_memory_can_never_hold_is_refused_before_anything_is_answered(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        for command in (("-p", "Hello"), ("bench", "-d", "1048000")):
            args = command[:1] + ("-m", NANO, "-t", "1") + command[1:] if command[0] != "-p" else ("-m", NANO, "-t", "1", *command)
            window = () if command[0] == "bench" else ("-c", "1048576")
            r = subprocess.run([CHINWAG, *args, *window], env={**os.environ, **self.env}, stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, timeout=120, preexec_fn=limit)
            self.assertEqual((r.returncode, r.stdout), (1, ""), command)
            self.assertRegex(r.stderr, r"(?m)^chinwag: a window of \d+ tokens needs 1.0 GiB of memory, .*1.0 GiB in all: "
                             r"--kv q8_0 makes it .*-c \d+ is the largest", command)


class Shortened(Case):
    """A model file that is cut short while it is read."""

    def test_p_and_bench_say_so(self):
        for command in (("-p", "Hello", "--temp", "0", "--repeat-penalty", "1"), ("bench", "-n", "100000")):
            with self.subTest(command[0]):
                path = self.home / "short.gguf"
                path.write_bytes(pathlib.Path(NANO).read_bytes())
                args = [command[0], "-m", str(path), *command[1:]] if command[0] == "bench" else ["-m", str(path), *command]
                p = subprocess.Popen([CHINWAG, *args, "-t", "1", "--no-repack"], env={**os.environ, **self.env},
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                if command[0] == "bench":
                    time.sleep(0.5)
                else:
                    p.stdout.read(1)
                os.truncate(path, 4096)
                out, err = p.communicate(timeout=120)
                self.assertEqual(p.returncode, 1, err)
                self.assertRegex(err.splitlines()[-1], r"\Achinwag: .*file.* was cut short")


class Seeds(Case):
    """With a fixed seed an answer depends on the conversation alone."""
    ANSWERS = "select text from message where role = 2 and state != 1 and text != '' order by created_ms, id"

    def setUp(self):
        super().setUp()
        self.options = ("-m", NANO, "-t", "1", "--temp", "1", "-n", "24", "--seed", "7")

    def test_the_same_question_gets_the_same_answer_in_every_new_conversation(self):
        t = self.open(*self.options)
        answers = lambda n: [r[0] for r in self.wait_rows(self.ANSWERS, lambda rows: len(rows) == n)]
        self.ask(t, "Name one")
        first = answers(1)[0]
        t.key("ctrl-n")
        self.ask(t, "Name one")
        self.assertEqual(answers(2)[1], first)
        self.ask(t, "And another")
        self.assertNotEqual(answers(3)[2], first)
        self.ask(t, "/set seed 8")
        t.key("ctrl-n")
        self.ask(t, "Name one")
        self.assertNotEqual(answers(4)[3], first)
        self.ask(t, "/set seed 7")
        t.key("ctrl-n")
        self.ask(t, "Name one")
        self.assertEqual(answers(5)[4], first)
        t.send(b"\x1br")
        self.assertNotEqual(answers(6)[5], first)
        self.leave(t)
        printed = self.run_(*self.options, "-p", "Name one").stdout
        self.assertEqual(printed.strip(), first.strip())


class Inspect(Case):
    def test_tells_what_it_can_of_a_file_that_cannot_be_run(self):
        cases = {
            "the architecture \"gemma3\" is not supported": ({"architecture": "gemma3"}, "gemma3: 1 layers, 512 wide"),
            "MXFP4": ({"matrices": 39}, "mostly MXFP4"),
            "output_norm.bias": ({"output_norm__bias": numpy.ones(8)}, "llama: 1 layers, 512 wide"),
        }
        for why, (more, shown) in cases.items():
            with self.subTest(why):
                r = self.run_("inspect", self.model(["Hi"], **more))
                self.assertEqual(r.returncode, 1)
                self.assertEqual(r.stderr.count("\n"), 1)
                self.assertIn(why, r.stderr)
                self.assertIn(shown, r.stdout)
                for line in ("name", "architecture", "attention", "parameters", "weights", "tokenizer", "template", "window"):
                    self.assertRegex(r.stdout, rf"(?m)^{line} ")

    def test_counts_the_cache_in_its_type_and_the_compute_buffers(self):
        memory = r"(?m)^memory +([\d.]+) MiB: ([\d.]+) of weights \+ ([\d.]+) of KV cache at -c (\d+) --kv (\w+) \+ ([\d.]+) of compute"
        out = self.run_("inspect", NANO, "-c", "2048").stdout
        total, weights, kv, n, kind, compute = re.search(memory, out).groups()
        self.assertAlmostEqual(float(total), float(weights) + float(kv) + float(compute), delta=0.2)
        self.assertEqual((n, kind), ("2048", "f16"))
        smaller = re.search(memory, self.run_("inspect", NANO, "-c", "2048", "--kv", "q8_0").stdout)
        self.assertAlmostEqual(float(smaller[3]) / float(kv), 34 / 64, delta=0.03)
        self.assertGreater(float(compute), 1)
        self.assertEqual(self.run_("inspect", NANO, "--kv", "f8").returncode, 2)


if __name__ == "__main__":
    unittest.main()
