"""One-shot mode from outside: what goes to stdout and stderr, exit statuses, what is kept and what is left alone."""
import os
import pathlib
import pty
import re
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import scripted_model
from program import GO_ON

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHINWAG = os.environ.get("CHINWAG", str(ROOT / "chinwag"))
NANO = str(ROOT / "tests/golden/qwen2-nano-Q4_0.gguf")  # random weights
# An answer that goes round in circles until the window is full, many seconds later.
ENDLESS = ("-m", NANO, "-t", "1", "-p", "Hello", "-c", "32768", "--temp", "0", "--repeat-penalty", "1", *GO_ON)
ENDLESS_NOTE = rb"\Achinwag: The window of 32768 tokens is larger than the 2048 [^\n]*\n\Z"  # all that it says on stderr
REAL = os.environ.get("CHINWAG_TEST_MODEL", "")
LIMIT_S = 120


class OneShot(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="chinwag-oneshot-")
        self.home = pathlib.Path(self.dir.name)
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        self.env.update({k: v for k, v in os.environ.items() if k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "CHINWAG_CPU")})

    def tearDown(self):
        self.dir.cleanup()

    def start(self, *args, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([CHINWAG, *args], env=self.env, cwd=self.home, stdout=more.pop("stdout", subprocess.PIPE),
                                stderr=subprocess.PIPE, **more)

    def run_(self, *args, stdin=b""):
        return subprocess.run([CHINWAG, *args], env=self.env, cwd=self.home, input=stdin, capture_output=True,
                              timeout=LIMIT_S)

    def ask(self, *args, stdin=b"", model=NANO):
        return self.run_("-m", model, "-t", "1", "--seed", "1", *args, stdin=stdin)

    def one_line(self, result, status, *words):
        """The failure is one line on stderr that begins with the program's name and holds these words; stdout is empty."""
        err = result.stderr.decode()
        self.assertEqual(result.returncode, status, err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith("chinwag: ") and err.endswith("\n"), err)
        self.assertEqual(result.stdout, b"")
        for word in words:
            self.assertIn(word, err)

    def files(self):
        return sorted(str(p.relative_to(self.home)) for p in self.home.rglob("*") if p.is_file())


class Answers(OneShot):
    def test_the_answer_and_a_newline_is_all_there_is(self):
        scripted_model.write(self.home / "s.gguf", ["Hi", " there."])
        r = self.ask("-p", "Hello", model="s.gguf")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"Hi there.\n", b""))
        (self.home / "s.gguf").unlink()
        r = self.ask("-p", "Hello", "-n", "12", "--temp", "0")
        self.assertEqual(r.returncode, 0)
        self.assertGreater(len(r.stdout), 1)
        self.assertTrue(r.stdout.endswith(b"\n"))
        r.stdout.decode()  # valid UTF-8
        self.assertEqual(self.files(), [], "nothing is kept")

    def test_the_same_seed_gives_the_same_answer(self):
        answers = {self.ask("-p", "Hello", "-n", "24", "--temp", "1", "--top-k", "0").stdout for _ in range(2)}
        self.assertEqual(len(answers), 1)

    def test_greedy_answers_do_not_depend_on_the_threads(self):
        answers = {self.run_("-m", NANO, "-p", "Hello", "-n", "24", "--temp", "0", "-t", t).stdout for t in "12"}
        self.assertEqual(len(answers), 1)

    def test_piped_text_belongs_to_the_question(self):
        greedy = ("-n", "16", "--temp", "0")
        typed = self.ask("-p", "Sum up:\n\nsome text", *greedy)
        piped = self.ask("-p", "Sum up:", *greedy, stdin=b"some text\n")
        alone = self.ask("-p", "Sum up:", *greedy)
        only_piped = self.ask("-p", "", *greedy, stdin=b"Sum up:\n\nsome text")
        self.assertEqual(typed.stdout, piped.stdout)
        self.assertEqual(typed.stdout, only_piped.stdout)
        self.assertNotEqual(typed.stdout, alone.stdout)

    def test_the_system_prompt_reaches_the_model(self):
        greedy = ("-p", "Hello", "-n", "16", "--temp", "0")
        self.assertNotEqual(self.ask(*greedy).stdout, self.ask(*greedy, "-s", "Be a pirate.").stdout)

    def test_a_configuration_file_is_obeyed_and_the_command_line_more(self):
        config = self.home / ".config/chinwag/config.ini"
        config.parent.mkdir(parents=True)
        config.write_text(f"model = {NANO}\ntemperature = 0\nmax-tokens = 4\nseed = 1\n")
        short, long = self.run_("-p", "Hello"), self.run_("-p", "Hello", "-n", "40")
        self.assertEqual((short.returncode, long.returncode), (0, 0), short.stderr + long.stderr)
        self.assertTrue(long.stdout.startswith(short.stdout.rstrip(b"\n")[:4]))
        self.assertLess(len(short.stdout), len(long.stdout))

    @unittest.skipUnless(os.path.exists(REAL), "the default model is not here")
    def test_a_real_model_answers(self):
        r = self.ask("-p", "What is the capital of France?", "-n", "40", "--temp", "0", model=REAL)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("Paris", r.stdout.decode())


class Input(OneShot):
    """What is piped in, and what is not."""

    def kept(self):
        with sqlite3.connect(self.home / ".local/share/chinwag/chinwag.db") as c:
            return [text for text, in c.execute("SELECT text FROM message WHERE role = 1 ORDER BY id")]

    def test_an_input_that_never_ends_is_named_within_seconds(self):
        read, write = os.pipe()
        p = self.start("-m", NANO, "-t", "1", "-p", "Say hi", "-n", "4", stdin=read)
        os.close(read)
        line = p.stderr.readline().decode()
        self.assertIn("standard input", line)
        self.assertIn("--no-stdin", line)
        self.assertIsNone(p.poll())
        os.write(write, b"the end")
        os.close(write)
        out, err = p.communicate(timeout=LIMIT_S)
        self.assertEqual(p.returncode, 0, err)
        self.assertGreater(len(out), 1)
        self.assertNotIn(b"--no-stdin", err, "once is enough")

    def test_an_input_can_be_left_to_others(self):
        loop = f'while read -r w; do "$0" -m "$1" -t 1 -p "Define $w" --no-stdin -n 4 --save 2>&1; done'
        r = subprocess.run(["sh", "-c", loop, CHINWAG, NANO], env=self.env, cwd=self.home, input=b"one\ntwo\nthree\n",
                           capture_output=True, timeout=LIMIT_S)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(self.kept(), ["Define one", "Define two", "Define three"])

    def test_bytes_that_are_not_utf8_are_replaced_and_named(self):
        r = self.ask("-p", "Explain", "-n", "4", "--save", stdin=b"int x;\n// caf\xe9\nint y;\n")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("line 2, byte 7", r.stderr.decode())
        self.assertIn("iconv", r.stderr.decode())
        r = self.ask("-p", b"Explain caf\xe9", "-n", "4", "--save")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("the text of -p", r.stderr.decode())
        self.assertEqual(self.kept(), ["Explain\n\nint x;\n// caf\ufffd\nint y;", "Explain caf\ufffd"])

    def test_a_byte_order_mark_is_no_part_of_the_text(self):
        for prompt, stdin in (("", b"\xef\xbb\xbfHello"), ("Say", b"\xef\xbb\xbfHello"), ("\ufeffSay", b"Hello")):
            self.assertEqual(self.ask("-p", prompt, "-n", "2", "--save", stdin=stdin).returncode, 0)
        self.assertEqual(self.kept(), ["Hello", "Say\n\nHello", "Say\n\nHello"])
        self.assertNotIn("\ufeff", self.run_("--list").stdout.decode())


class Cut(OneShot):
    """An answer that a limit ended says so, on stderr, and is no failure."""

    def setUp(self):
        super().setUp()
        scripted_model.write(self.home / "s.gguf", ["one", " two", " three", " four"])
        scripted_model.write(self.home / "endless.gguf", ["la", " la"], again=0)

    def test_by_max_tokens(self):
        r = self.ask("-p", "Count", "-n", "3", model="s.gguf")
        self.assertEqual((r.returncode, r.stdout), (0, b"one two three\n"))
        self.assertEqual(r.stderr, b"chinwag: the answer was cut at 3 tokens (-n sets the limit)\n")
        r = self.ask("-p", "Count", "-n", "5", model="s.gguf")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"one two three four\n", b""))

    def test_by_the_window(self):
        r = self.ask("-p", "Sing", "-c", "300", *GO_ON, model="endless.gguf")
        self.assertEqual(r.returncode, 0)
        self.assertTrue(r.stdout.endswith(b"\n"))
        self.assertEqual(r.stderr, b"chinwag: the answer was cut: the window of 300 tokens is full (-c sets its size)\n")


class Streams(OneShot):
    def test_the_answer_comes_piece_by_piece(self):
        p = self.start(*ENDLESS)
        first = os.read(p.stdout.fileno(), 65536)
        self.assertGreater(len(first), 0)
        self.assertIsNone(p.poll(), "the first piece comes before the end")
        p.kill()
        p.communicate()

    def test_ctrl_c_stops_with_130(self):
        p = self.start(*ENDLESS)
        self.assertGreater(len(os.read(p.stdout.fileno(), 65536)), 0)
        p.send_signal(signal.SIGINT)
        begin = time.monotonic()
        out, err = p.communicate(timeout=LIMIT_S)
        self.assertEqual(p.returncode, 130)
        self.assertRegex(err, ENDLESS_NOTE)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertTrue(out.endswith(b"\n"), out[-20:])

    def test_a_reader_that_leaves_is_no_failure(self):
        p = self.start(*ENDLESS)
        os.read(p.stdout.fileno(), 1)
        p.stdout.close()
        self.assertEqual(p.wait(timeout=LIMIT_S), 0)
        self.assertRegex(p.stderr.read(), ENDLESS_NOTE)
        p.stderr.close()

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            p = self.start("-m", NANO, "-t", "1", "-p", "Hello", "-n", "50", stdout=full)
            _, err = p.communicate(timeout=LIMIT_S)
        self.assertEqual(p.returncode, 1)
        self.assertEqual(err.count(b"\n"), 1)
        self.assertIn(b"No space left", err)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_commands_fail_on_a_full_disk_too(self):
        for args in (("inspect", NANO), ("bench", "-m", NANO, "-p", "1", "-n", "1"), ("--help",)):
            with self.subTest(args), open("/dev/full", "wb") as full:
                p = self.start(*args, stdout=full)
                _, err = p.communicate(timeout=LIMIT_S)
                self.assertEqual(p.returncode, 1)
                self.assertEqual(err.count(b"\n"), 1)
                self.assertIn(b"No space left", err)

    def test_a_closed_output_is_a_failure_and_no_file_is_written_into(self):
        r = subprocess.run(["sh", "-c", f'exec "$0" -m "$1" -t 1 -p Hello -n 5 --save >&-', CHINWAG, NANO], env=self.env,
                           cwd=self.home, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LIMIT_S)
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertEqual(r.stderr.count(b"\n"), 1)

    def test_a_terminal_gets_no_control_characters_and_a_pipe_the_same_text(self):
        leader, follower = pty.openpty()
        p = self.start("-m", NANO, "-t", "1", "--seed", "3", "-p", "Hello", "-n", "60", "--temp", "2", "--top-k", "0",
                       stdout=follower)
        os.close(follower)
        shown = b""
        try:
            while chunk := os.read(leader, 65536):
                shown += chunk
        except OSError:
            pass  # EIO: the other side has closed
        os.close(leader)
        p.communicate(timeout=LIMIT_S)
        text = shown.replace(b"\r\n", b"\n").decode()
        self.assertGreater(len(text), 10)
        self.assertEqual([c for c in text if ord(c) < 32 and c not in "\n\t" or 0x7f <= ord(c) < 0xa0], [])


class Keeping(OneShot):
    def db(self):
        return self.home / ".local/share/chinwag/chinwag.db"

    def rows(self, sql, path=None):
        with sqlite3.connect(path or self.db()) as c:
            return c.execute(sql).fetchall()

    def test_save_makes_a_conversation_and_resume_goes_on_with_it(self):
        first = self.ask("-p", "My name is Dana.", "-n", "8", "--save")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(self.db().stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.db().parent.stat().st_mode & 0o777, 0o700)
        (conversation, title), = self.rows("SELECT id, title FROM conversation")
        self.assertEqual(title, "My name is Dana.")
        again = self.ask("-p", "Who am I?", "-n", "8", "--resume", str(conversation))
        self.assertEqual(again.returncode, 0, again.stderr)
        latest = self.ask("-p", "And now?", "-n", "8", "--resume")
        self.assertEqual(latest.returncode, 0, latest.stderr)
        messages = self.rows("SELECT role, state, text, prompt_tokens FROM message ORDER BY id")
        self.assertEqual([m[0] for m in messages], [1, 2] * 3)
        self.assertEqual({m[1] for m in messages}, {0})
        self.assertEqual(messages[1][2].rstrip("\n"), first.stdout.decode().rstrip("\n"))
        prompts = [m[3] for m in messages[1::2]]
        self.assertGreater(prompts[1], prompts[0] + 8, "the earlier turns are in the prompt")
        self.assertGreater(prompts[2], prompts[1])
        self.assertEqual(len(self.rows("SELECT id FROM conversation")), 1)

    def test_db_names_another_file(self):
        other = self.home / "other.db"
        r = self.ask("-p", "Hello", "-n", "4", "--save", "--db", str(other))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual({f.split("-")[0] for f in self.files()}, {"other.db"})
        self.assertEqual(len(self.rows("SELECT id FROM message", other)), 2)

    def test_an_interrupted_answer_is_kept_as_such(self):
        p = self.start(*ENDLESS, "--save")
        got = os.read(p.stdout.fileno(), 65536)
        p.send_signal(signal.SIGINT)
        rest, _ = p.communicate(timeout=LIMIT_S)
        (state, text), = self.rows("SELECT state, text FROM message WHERE role = 2")
        self.assertEqual(state, 2)
        self.assertEqual(text.rstrip("\n"), (got + rest).decode().rstrip("\n"))

    def test_what_a_killed_program_had_written_is_there(self):
        p = self.start(*ENDLESS, "--save")
        os.read(p.stdout.fileno(), 65536)
        time.sleep(0.6)
        p.kill()
        p.communicate()
        self.ask("-p", "Next", "-n", "2", "--save")
        texts = self.rows("SELECT text, state FROM message WHERE role = 2 ORDER BY id")
        self.assertGreater(len(texts[0][0]), 0)
        self.assertEqual(texts[0][1], 2)

    def test_list_prints_the_numbers_that_resume_takes(self):
        r = self.run_("--list")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"", b""))
        self.assertEqual(self.files(), [], "no database is made to say that there is none")
        for question in ("My name is Dana.", "天气怎么样？"):
            self.assertEqual(self.ask("-p", question, "-n", "4", "--save").returncode, 0)
        with sqlite3.connect(self.db()) as c:
            c.execute("UPDATE conversation SET title = 'red \x1b[31m\nline' WHERE title LIKE '天%'")
        r = self.run_("--list")
        self.assertEqual((r.returncode, r.stderr), (0, b""))
        lines = r.stdout.decode().splitlines()
        found = [re.fullmatch(r"(\d{4,6})  (\d{4}-\d\d-\d\d \d\d:\d\d)  (.*)", line).groups() for line in lines]
        rows = self.rows("SELECT id, title FROM conversation ORDER BY updated_ms DESC")
        self.assertEqual([title for *_, title in found], ["red [31m", "My name is Dana."])
        for (number, *_), (id_, _) in zip(found, rows):
            self.assertTrue(str(id_).endswith(number))
        r = self.ask("-p", "And?", "-n", "4", "--resume", found[1][0])
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(self.run_("--list").stdout.decode().split("  ")[0], found[1][0], "the latest comes first")

    def test_resume_takes_a_title_and_names_the_candidates(self):
        for question in ("A plan for the garden", "A plan for the kitchen"):
            self.assertEqual(self.ask("-p", question, "-n", "2", "--save").returncode, 0)
        self.assertEqual(self.ask("-p", "Which seeds?", "-n", "2", "--resume", "GARDEN").returncode, 0)
        self.assertEqual(self.rows("SELECT c.title FROM message m JOIN conversation c ON c.id = m.conversation_id "
                                   "WHERE m.text = 'Which seeds?'"), [("A plan for the garden",)])
        self.one_line(self.ask("-p", "x", "--resume", "plan"), 1, "2 conversations", "garden", "kitchen")
        self.one_line(self.ask("-p", "x", "--resume", "attic"), 1, "no conversation 'attic'")
        self.assertEqual(len(self.rows("SELECT id FROM conversation")), 2)

    def test_list_of_what_is_no_database_fails(self):
        (self.home / "text.db").write_text("not a database, but a text that is long enough to look like one" * 20)
        self.one_line(self.run_("--list", "--db", "text.db"), 1, "text.db")
        self.one_line(self.run_("--list", "--db", "text.db/chinwag.db"), 1, "text.db")

    def test_resuming_what_is_not_there(self):
        self.one_line(self.ask("-p", "Hello", "--resume"), 1, "no conversation")
        self.one_line(self.ask("-p", "Hello", "--resume", "99"), 1, "no conversation 99")

    def test_a_database_that_cannot_be_used_is_said_before_anything_is_answered(self):
        (self.home / "text.db").write_text("not a database, but a text that is long enough to look like one" * 20)
        self.one_line(self.ask("-p", "Hello", "--save", "--db", "text.db"), 1, "text.db")
        self.one_line(self.ask("-p", "Hello", "--save", "--db", "text.db/below.db"), 1, "text.db")
        self.one_line(self.ask("-p", "Hello", "--save", "--db", "/proc/x.db"), 1, "/proc")
        self.one_line(self.ask("-p", "Hello", "--save", "--db", str(self.home)), 1, str(self.home))
        self.assertTrue((self.home / "text.db").read_text().startswith("not a database"))


class Mistakes(OneShot):
    def test_wrong_usage_is_status_2(self):
        for args in (("--nonsense",), ("-p",), ("-p", "x", "--temp", "warm"), ("-p", "x", "-n", "5x"), ("what", "is"),
                     ("-p", "x", "--kv", "q4"), ("--save",)):
            with self.subTest(args):
                self.one_line(self.run_(*args), 2)

    def test_a_command_used_wrongly_says_in_one_line_how_to_use_it(self):
        for name, *args in (("bench", "-x"), ("bench", "-m"), ("bench", "--nonsense"), ("inspect",), ("inspect", "-x", NANO),
                            ("logits", "-m", NANO, "--what"), ("perplexity", "-x"), ("tokenize", "-m", NANO, "-j"),
                            ("tokenize", "-m", NANO)):
            with self.subTest((name, *args)):
                self.one_line(self.run_(name, *args), 2, f"usage: chinwag {name} ")
        self.one_line(self.run_("bench", "-m", NANO, "extra"), 2, "[--no-repack] [--no-mmap]")

    def test_the_commands_for_machines_have_help(self):
        for name in ("tokenize", "logits", "bench", "inspect", "perplexity"):
            with self.subTest(command=name):
                for args in (("--help",), ("-h",), ("-m", "none.gguf", "--help")):
                    r = self.run_(name, *args)
                    self.assertEqual((r.returncode, r.stderr), (0, b""))
                    usage, options = r.stdout.decode().split("\n\n")
                    self.assertTrue(usage.startswith(f"Usage: chinwag {name} "), usage)
                    named = {word for word in re.findall(r"(?<![\w-])--?[a-z][\w-]*", usage.splitlines()[0])}
                    told = {line.split()[0] for line in options.splitlines()}
                    self.assertEqual(named, told, "each option of the usage is told of")

    def test_no_question_is_wrong_usage(self):
        self.one_line(self.ask("-p", ""), 2, "no question")
        self.one_line(self.ask("-p", "", stdin=b"\n\n"), 2, "no question")

    def test_input_that_is_no_text_is_refused_with_its_place(self):
        self.one_line(self.ask("-p", "x", stdin=b"one\na\0b"), 1, "standard input", "NUL", "line 2, byte 2")
        self.one_line(self.ask("-p", "x", stdin=b"\xff\xfeh\0"), 1, "UTF-16", "iconv")

    def test_files_that_are_no_model(self):
        whole = pathlib.Path(NANO).read_bytes()
        for name, content in (("empty.gguf", b""), ("text.gguf", b"hello world, this is no model\n"),
                              ("header.gguf", whole[:1000]), ("short.gguf", whole[: len(whole) // 2]),
                              ("last.gguf", whole[:-1])):
            with self.subTest(name):
                (self.home / name).write_bytes(content)
                self.one_line(self.run_("-m", name, "-p", "x"), 1, name)
        self.one_line(self.run_("-m", "nosuch.gguf", "-p", "x"), 1, "nosuch.gguf", "No such file")
        self.one_line(self.run_("-m", str(self.home), "-p", "x"), 1, "directory")
        for args in (("-m", "", "-p", "x"), ("inspect", "")):
            self.one_line(self.run_(*args), 1, "the name of the model's file is empty")

    def test_what_an_argument_says_is_not_obeyed_by_the_terminal(self):
        for args, status in ((("-m", "a\nb\x1b[31m\u009b", "-p", "x"), 1), (("inspect", "a\nb\x1b[31m\u009b"), 1),
                             (("x", "a\nb\x1b[31m\u009b"), 2)):
            with self.subTest(args):
                self.one_line(self.run_(*args), status, "a\\x0ab\\x1b[31m\\xc2\\x9b")
        self.one_line(self.run_("-m", b"caf\xe9 \xe4\xbd\xa0", "-p", "x"), 1, "caf\\xe9 你")

    def test_a_text_without_end_is_refused(self):
        self.one_line(self.run_("perplexity", "-m", NANO, "-f", "/dev/zero"), 1, "/dev/zero is longer than 64 MB")

    def test_no_model_says_where_to_put_one(self):
        self.one_line(self.run_("-p", "x"), 1, str(self.home / ".local/share/chinwag/models"), "make model")

    def test_a_vocabulary_alone_cannot_answer(self):
        self.one_line(self.run_("-m", str(ROOT / "tests/golden/qwen2.5-vocab.gguf"), "-p", "x"), 1, "qwen2.5-vocab")

    def test_a_bad_configuration_names_the_line(self):
        config = self.home / ".config/chinwag/config.ini"
        config.parent.mkdir(parents=True)
        config.write_text("top-k = 3\ntemprature = 1\n")
        self.one_line(self.ask("-p", "x"), 1, "config.ini:2", "temprature")

    def test_a_directory_in_the_configurations_place(self):
        (self.home / ".config/chinwag/config.ini").mkdir(parents=True)
        self.one_line(self.ask("-p", "x"), 1, "config.ini: this is a directory")

    def test_the_chat_without_a_terminal(self):
        self.one_line(self.run_("-m", NANO), 1, "terminal")


class About(OneShot):
    def test_help_and_version_go_to_stdout(self):
        for option, words in (("--help", ("Usage: chinwag", "--temp", "--resume", "tokenize", "130")),
                              ("--version", ("chinwag 0.", "MIT"))):
            r = self.run_(option)
            self.assertEqual((r.returncode, r.stderr), (0, b""))
            for word in words:
                self.assertIn(word, r.stdout.decode())


if __name__ == "__main__":
    unittest.main()
