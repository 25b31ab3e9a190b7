#!/usr/bin/env python3
"""The screen in a real terminal: ui_demo on a pty, its output read by pyte, real keys typed.

UI_DEMO=FILE uses a demo program that was built already.
"""
import base64
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from terminal import Terminal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

def setUpModule():
    global scratch, demo
    scratch = tempfile.mkdtemp(prefix="chinwag-ui-")
    demo = os.environ.get("UI_DEMO") or build_demo()


def tearDownModule():
    shutil.rmtree(scratch)


def build_demo():
    out = os.path.join(scratch, "ui_demo")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "ncursesw", "md4c"], capture_output=True, text=True,
                           check=True).stdout.split()
    sources = [os.path.join(ROOT, room, f) for room in ("ui", "src/base")
               for f in sorted(os.listdir(os.path.join(ROOT, room))) if f.endswith(".c")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-o", out,
                    os.path.join(ROOT, "tests/e2e/ui_demo.c"), *sources, *flags, "-lunistring"], check=True)
    return out


class Ui(Terminal):
    """The demo in a terminal; what the person wanted is in events()."""

    count = 0

    def __init__(self, columns=80, lines=24, before=None, **env):
        """before: a shell command that has the terminal until the demo starts."""
        Ui.count += 1
        self.log = os.path.join(scratch, f"events-{Ui.count}")
        argv = ["sh", "-c", before + '; exec "$0"', demo] if before else [demo]
        super().__init__(argv, columns, lines, {"UI_DEMO_LOG": self.log, "UI_DEMO_DELAY": "5", "TMPDIR": scratch,
                                                  "HOME": scratch, "CHINWAG_PLAIN": "", **env})

    def events(self):
        try:
            with open(self.log) as f:
                return f.read()
        except OSError:
            return ""

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def keys(self, keys):
        """Sends keys in one lump and gives the screen time to follow."""
        before, end = len(self.raw), time.monotonic() + 0.5
        self.send(keys)
        while len(self.raw) == before and time.monotonic() < end:
            self.read(0.02)
        self.settle()

    def settle(self, quiet=0.08):
        """Reads until nothing came for that long."""
        before = None
        while before != len(self.raw):
            before = len(self.raw)
            self.read(quiet)

    def wait_event(self, event, seconds=5):
        return self.wait(lambda _: event in self.events(), seconds)

    def become(self, columns, lines):
        self.resize(columns, lines)
        self.settle(0.15)

    def cursor(self):
        return self.screen.cursor.y, self.screen.cursor.x

    def columns_of(self, y, character):
        return [x for x in range(self.screen.columns) if self.screen.buffer[y][x].data == character]

    def row_of(self, text):
        rows = [y for y, line in enumerate(self.lines()) if text in line]
        if not rows:
            raise AssertionError(f"{text} is not on the screen:\n{self.text()}")
        return rows[0]


class UiTest(unittest.TestCase):
    def start(self, columns=80, lines=24, **env):
        t = Ui(columns, lines, **env)
        self.addCleanup(t.close)
        t.wait("too small" if columns < 24 or lines < 6 else ">", 10)
        t.settle()
        return t

    def answered(self, t, text="question"):
        t.keys(text + "\r")
        t.wait(lambda s: "树下下棋" in s, 20)
        t.settle()


class Writing(UiTest):
    def test_chinese_is_typed_and_the_cursor_stands_after_it(self):
        t = self.start()
        t.keys("你好，world 😀")
        self.assertEqual(t.lines()[22], "> 你好，world 😀")
        self.assertEqual(t.cursor(), (22, 2 + 6 + 6 + 2))
        t.keys("\x7f\x7f")
        self.assertEqual(t.lines()[22], "> 你好，world")

    def test_enter_sends_and_thinking_shows_at_once(self):
        t = self.start()
        t.keys("silence")
        t.send("\r")
        took = t.wait("thinking", 1)
        print(f"figure: thinking shows {took * 1000:.0f} ms after Enter")
        self.assertIn("SEND 0 0.00 silence|", t.events())
        self.assertEqual(t.lines()[22], ">")
        y = t.row_of("chinwag ") + 1
        self.assertIn("thinking", t.lines()[y])
        seen = set()
        for _ in range(10):
            t.read(0.1)
            seen.add(t.lines()[y])
        self.assertGreater(len(seen), 2, "the spinner turns")
        t.send("\x1b")
        t.wait_event("STOP")

    def queued(self, delay, *messages):
        """An answer is being written, and messages were sent meanwhile."""
        t = self.start(UI_DEMO_DELAY=delay)
        t.send("question\r")
        t.wait("Here is")
        messages = messages or ("silence",)
        for message in messages:
            t.send(message)
            t.wait("> " + message.partition("\n")[0])
            t.send("\r")
            t.wait_event(f"SEND 0 0.00 {message}|")
        then = "your message is" if len(messages) == 1 else f"your {len(messages)} messages are"
        t.wait(f"writing · then {then} sent")
        self.assertEqual(t.lines()[22], ">")
        return t

    def sent(self, t):
        """The messages and what happened to them, in order."""
        return re.findall("^(?:SEND|STOP|TAKE_BACK)", t.events(), re.M)

    def test_enter_while_an_answer_is_written_sends_when_it_ends(self):
        t = self.queued("20")
        self.assertEqual(t.lines()[20], " waiting (Up edits it): silence")
        self.assertNotIn("  silence\n", t.text())
        t.wait("  silence\n", 30)
        self.assertNotIn("waiting", t.text())
        self.assertIn("树下下棋", t.text(), "the answer came to its end")
        self.assertNotIn("then your message", t.text())
        t.send("\x1b[A")
        t.wait("> silence")  # it is among the earlier prompts

    def test_several_messages_wait_and_are_listed(self):
        t = self.queued("100", "one", "two\nlines", "three", "four", "five")
        self.assertEqual(t.lines()[18:21], [" waiting: one", " waiting: two lines", " … and 3 more (Up edits the last)"])
        t.send("x")
        t.wait(" … and 3 more\n")
        t.send("\x7f")
        t.wait("(Up edits the last)")
        t.send("\x1b[A")
        t.wait_event("TAKE_BACK 0 0.00 five|")
        t.wait("> five")
        self.assertEqual(t.lines()[20], " … and 2 more")
        t.send("!")
        t.wait("> five!")
        t.send("\x1b[A")  # with a draft Up looks at earlier prompts
        t.wait("> five\n")
        t.send("\x1b[B")
        t.wait("> five!")
        t.send("\x1b[B")
        t.send("\r")
        t.wait("and 3 more")
        t.send("/unsend")
        t.wait("> /unsend")
        t.send("\r")
        t.wait("> five!")
        t.send("\x1b")
        t.wait("  one\n")
        self.assertNotIn("  two\n", t.text())

    def test_esc_stops_the_answer_and_the_message_goes_off(self):
        t = self.queued("100")
        t.send("\x1b")
        t.wait("  silence\n")
        self.assertEqual(self.sent(t), ["SEND", "SEND", "STOP"])

    def test_esc_twice_at_once_takes_all_messages_back(self):
        t = self.queued("100", "silence", "more")
        t.send("\x1b\x1b")
        t.wait("stopped")
        t.settle()
        self.assertEqual(t.lines()[21:23], ["> silence", "  more"])
        self.assertEqual(self.sent(t), ["SEND", "SEND", "SEND", "STOP", "TAKE_BACK", "TAKE_BACK"])

    def test_enter_and_up_in_one_go_edit_the_message(self):
        t = self.queued("100", "silence")
        t.send("typo\r\x1b[A!")
        t.wait("> typo!")
        self.assertEqual(self.sent(t), ["SEND", "SEND", "SEND", "TAKE_BACK"])
        self.assertEqual(t.text().count("waiting"), 1)

    def test_ctrl_c_stops_the_answer_and_takes_the_messages_back(self):
        t = self.queued("100", "silence", "more")
        t.keys("and this")
        t.send("\x03")
        t.wait("stopped")
        t.settle()
        self.assertEqual(t.lines()[20:23], ["> silence", "  more", "  and this"])
        self.assertEqual(self.sent(t), ["SEND", "SEND", "SEND", "TAKE_BACK", "TAKE_BACK", "STOP"])

    def test_alt_enter_and_ctrl_j_begin_a_new_line(self):
        t = self.start()
        t.keys("one\x1b\rtwo\nthree")
        self.assertEqual(t.lines()[20:23], ["> one", "  two", "  three"])
        t.keys("\r")
        t.wait_event("SEND 0 0.00 one\ntwo\nthree|")

    def test_a_long_draft_wraps_and_grows_to_a_third(self):
        t = self.start()
        t.keys("字" * 39)
        self.assertEqual(t.lines()[21:23], ["> " + "字" * 38, "  字"])
        self.assertEqual(t.cursor(), (22, 4))
        t.keys("字" * 39 * 20)
        self.assertEqual([y for y, line in enumerate(t.lines()) if line.startswith("───")], [24 - 2 - 8])
        self.assertEqual(t.cursor()[0], 22)
        t.keys("\x1b[A" * 30)
        self.assertEqual(t.cursor()[0], 15)
        self.assertEqual(t.lines()[15][:4], "> 字字")

    def test_readline_keys(self):
        t = self.start()
        t.keys("one two three\x17\x01zero \x1b[1;5Cx\x0b")
        self.assertEqual(t.lines()[22], "> zero onex")
        t.keys("\x15\x1by")
        self.assertEqual(t.lines()[22], "> zero onex")
        t.keys("\x1b[H\x1b[3~\x04")
        self.assertEqual(t.lines()[22], "> ro onex")

    def test_earlier_prompts(self):
        t = self.start()
        self.answered(t, "first 一")
        self.answered(t, "second")
        t.keys("mine\x1b[A")
        self.assertEqual(t.lines()[22], "> second")
        t.keys("\x1b[A")
        self.assertEqual(t.lines()[22], "> first 一")
        t.keys("\x1b[B\x1b[B")
        self.assertEqual(t.lines()[22], "> mine")
        t.keys("\x15\x12fir")
        self.assertTrue(any(line.strip() == "first 一" for line in t.lines()))
        t.keys("\r")
        self.assertEqual(t.lines()[22], "> first 一")
        self.assertEqual(t.events().count("SEND"), 2)

    def drafts(self, t):
        return re.findall(r"^DRAFT 0 (\d)\.00 (.*)\|$", t.events(), re.M)

    def test_the_draft_is_told_when_the_typing_rests(self):
        t = self.start()
        t.keys("one two")
        t.wait_event("DRAFT 0 1.00 one two|", 2)
        t.read(0.5)
        self.assertEqual(len(self.drafts(t)), 1, "once is enough")
        t.keys("\x15/set temp")
        t.wait_event("DRAFT 0 1.00 |", 2)
        t.read(0.5)
        self.assertEqual(len(self.drafts(t)), 2, "a command is no message")
        t.keys("\x15//three")
        t.wait_event("DRAFT 0 1.00 /three|", 2)
        t.keys("\r")
        t.wait_event("SEND 0 0.00 /three|")
        self.assertEqual(self.drafts(t)[-1], ("1", ""))

    def test_the_draft_is_told_now_and_then_though_the_typing_never_rests(self):
        t = self.start()
        for _ in range(40):
            t.type("a ", 0.04)
        t.read(0.5)
        told = self.drafts(t)
        self.assertEqual(told[-1], ("1", "a " * 40))
        self.assertIn("0", [rests for rests, _ in told])
        self.assertLess(len(told), 20)

    def test_unknown_sequences_leave_no_litter(self):
        t = self.start()
        t.keys("a\x1b[1;99X\x1b[?12;4$y\x1b[57415u\x1b[I\x1bOwb")
        self.assertEqual(t.lines()[22], "> ab")


class Pasting(UiTest):
    def test_a_paste_is_text_and_never_submits(self):
        t = self.start()
        t.keys("\x1b[200~one\rtwo\r\n\x1b[31mred\x03\x04\r\x1b[201~")
        self.assertEqual([line.rstrip() for line in t.lines()[19:23]], ["> one", "  two", "  red", ""])
        self.assertEqual(t.events(), "")
        t.keys("\r")
        t.wait_event("SEND 0 0.00 one\ntwo\nred|")

    def test_without_its_end_mark_it_neither_freezes_nor_submits(self):
        t = self.start()
        t.keys("\x1b[200~one\rtwo")
        t.read(0.5)
        t.keys("more\rof it\r")
        self.assertNotIn("SEND", t.events())
        t.read(0.5)
        t.keys("x")
        t.read(0.1)
        t.keys("\r")
        t.wait_event("SEND 0 0.00 one\ntwomore\nof it\nx|")

    def test_bytes_that_are_no_character_cost_nothing_else(self):
        t = self.start()
        for typed, shown in ((b"\x1b[200~caf\xe9 au lait cr\xe8me END\x1b[201~", "caf\ufffd au lait cr\ufffdme END"),
                             (b"caf\xe9 au lait", "caf\ufffd au lait"),
                             (b"A\xff\xfeB hello", "A\ufffd\ufffdB hello"),
                             (b"ab \xf0\x9f\x91 cd", "ab \ufffd cd"),
                             (b"a\xe2\x80\x1b[D-", "a-\ufffd")):
            t.keys(typed)
            self.assertEqual(t.lines()[22], "> " + shown)
            t.keys("\x15\x1b[F\x15")

    def test_a_character_may_come_in_parts(self):
        t = self.start()
        for byte in "树".encode():
            t.send(bytes([byte]))
            t.read(0.1)
        t.settle()
        self.assertEqual(t.lines()[22], "> 树")

    def test_a_large_paste(self):
        t = self.start()
        start = time.monotonic()
        t.send("\x1b[200~")
        for _ in range(100):
            t.send("The quick brown fox jumps over the lazy dog. 今天天气很好。\r" * 8)
            t.read(0.001)
        t.send("\x1b[201~end")
        t.wait(lambda _: t.lines()[22].endswith("end"), 20)
        print(f"figure: a paste of 52 KB is there after {time.monotonic() - start:.2f} s")
        self.assertNotIn("SEND", t.events())


class Reading(UiTest):
    def test_markdown_and_wide_characters_line_up(self):
        t = self.start()
        self.answered(t)
        y = t.row_of("week │")
        bars = t.columns_of(y, "│")
        self.assertEqual(len(bars), 2)
        for row in (y + 2, y + 3):
            self.assertEqual(t.columns_of(row, "│"), bars)
        self.assertEqual(t.columns_of(y + 1, "┼"), bars)
        heading = t.screen.buffer[t.row_of("Advice")][3]
        self.assertTrue(heading.bold)
        wrapped = t.lines()[t.row_of("今天天气")]
        self.assertTrue(all(len(line) <= 80 for line in t.lines()))
        self.assertTrue(wrapped.startswith("   今天"))
        self.assertFalse(t.lines()[t.row_of("今天天气") + 1].strip()[0] in "，。")

    def test_every_width_is_drawn_without_straddling(self):
        t = self.start(80, 60)
        self.answered(t)
        for columns in list(range(24, 60, 5)) + [79, 80, 81, 99, 100, 101]:
            t.become(columns, 60)
            rule = t.row_of("─┼─")
            bars = t.columns_of(rule, "┼")
            self.assertEqual(len(bars), 2)
            for row in (rule - 1, rule + 1, rule + 2):
                self.assertEqual(t.columns_of(row, "│"), bars, t.text())

    def test_the_view_stays_while_text_arrives(self):
        t = self.start(80, 14, UI_DEMO_DELAY="30")
        t.send("question\r")
        t.wait("week │ long run │ 备注", 10)
        t.wait("Advice", 10)
        t.send("\x1b[5~")
        t.wait(lambda _: "you " in t.lines()[1])
        before = t.lines()[1:8]
        t.wait(lambda s: re.search(r"↓ \d+ new lines", s), 10)
        self.assertEqual(t.lines()[1:8], before)
        t.keys("\x1b[1;5F")
        t.wait(lambda s: "树下下棋" in s and "new line" not in s, 20)

    def test_the_wheel_scrolls_three_lines(self):
        t = self.start()
        self.answered(t)
        first = t.lines()[1:4]
        t.keys("\x1b[<64;10;10M")
        self.assertEqual(t.lines()[4:6], first[:2])
        t.keys("\x1b[<65;10;10M")
        self.assertEqual(t.lines()[1:4], first)
        t.keys("/mouse off\r")
        self.assertIn(b"\x1b[?1006;1000l", t.raw[-400:])

    def test_model_text_cannot_command_the_terminal(self):
        t = self.start()
        t.keys("evil\r")
        t.wait("end", 10)
        self.assertNotIn(b"\x1b]0;", t.raw)
        self.assertIn("before ␛[31m␛]0;owned␇ after ␛[2J end", t.text())

    def test_find(self):
        t = self.start()
        self.answered(t)
        t.keys("\x06rest")
        y = t.row_of("• Rest.")
        self.assertEqual(t.screen.buffer[y][5].bg, "green")
        t.keys("\x15公园\r")
        t.keys("n")
        self.assertEqual(t.screen.buffer[t.row_of("今天天气")][t.columns_of(t.row_of("今天天气"), "园")[0]].data, "园")
        t.keys("\x15nowhere to be found")
        self.assertIn("not found", t.lines()[23])
        t.keys("\x1b")
        self.assertIn("F1 help", t.lines()[23])

    def test_stopping(self):
        t = self.start(UI_DEMO_DELAY="40")
        t.send("question\r")
        t.wait("Here is", 10)
        t.send("\x1b")
        t.wait("stopped", 2)
        self.assertIn("STOP", t.events())

    def test_copying(self):
        t = self.start()
        self.answered(t)
        t.keys("\x19")
        found = re.search(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", t.raw)
        self.assertIn("老人们在树下下棋。\n", base64.b64decode(found[1]).decode())


class Commands(UiTest):
    def test_an_unknown_command_keeps_the_draft(self):
        t = self.start()
        t.keys("/serch x\r")
        self.assertIn("/search", t.lines()[23])
        self.assertEqual(t.lines()[22], "> /serch x")
        self.assertEqual(t.events(), "")

    def test_a_slash_can_be_said(self):
        t = self.start()
        self.answered(t, "//quit")
        self.answered(t, "/usr/bin is a path")
        self.assertIn("SEND 0 0.00 /quit|", t.events())
        self.assertIn("SEND 0 0.00 /usr/bin is a path|", t.events())

    def test_tab_completes(self):
        t = self.start()
        t.keys("/sett\t")
        self.assertEqual(t.lines()[22], "> /settings")
        t.keys("\x15/set te\t0.5\r")
        t.wait_event("SET 0 0.50 temperature|")
        t.keys("/re\t")
        self.assertEqual(t.lines()[22], "> /regenerate")
        t.keys("\t")
        self.assertEqual(t.lines()[22], "> /retry")
        t.keys("\x1b[Z")
        self.assertEqual(t.lines()[22], "> /regenerate")

    def test_every_one_has_its_event(self):
        for typed, event in (("/new", "NEW"), ("/rename A title", "RENAME 0 0.00 A title|"), ("/search 肉", "SEARCH 0 0.00 肉|"),
                             ("/model a.gguf", "MODEL 0 0.00 a.gguf|"), ("/set system Be brief.", "SET_TEXT 0 0.00 system|Be brief."),
                             ("/conversations", "LIST"), ("/open 红烧", "OPEN 2"), ("/system Be brief.", "SET_TEXT 0 0.00 system|Be brief."),
                             ("/set context 512", "SET_TEXT 0 0.00 context|512"), ("/bye", "QUIT"), ("/quit", "QUIT")):
            t = self.start()
            t.keys(typed + "\r")
            t.wait_event(event)

    def test_ctrl_c_clears_then_asks_then_quits(self):
        t = self.start()
        t.keys("a draft\x03")
        self.assertEqual(t.lines()[22].strip(), ">" if "type here" not in t.lines()[22] else "> type here")
        t.keys("\x03")
        self.assertIn("again to quit", t.lines()[23])
        t.keys("x")
        self.assertIn("F1 help", t.lines()[23], "any other key is an answer")
        t.keys("\x7f\x03")
        self.assertIn("again to quit", t.lines()[23])
        self.assertNotIn("QUIT", t.events())
        t.send("\x03")
        self.assertEqual(t.end(), 0)

    def test_ctrl_c_in_a_burst_goes_one_step_each(self):
        t = self.start()
        t.keys("silence\r")
        t.wait("thinking")
        t.keys("a draft")
        t.keys("\x03\x03\x03")
        self.assertEqual(t.events().count("STOP"), 1)
        self.assertNotIn("a draft", t.lines()[22])
        self.assertIn("again to quit", t.lines()[23])
        self.assertNotIn("QUIT", t.events())
        t.send("\x03")
        self.assertEqual(t.end(), 0)

    def test_ctrl_d_leaves_on_an_empty_draft_only(self):
        t = self.start()
        t.keys("ab\x01\x04")
        self.assertEqual(t.lines()[22], "> b")
        t.keys("\x04")
        t.send("\x04")
        self.assertEqual(t.end(), 0)
        self.assertEqual(t.attributes(), t.before)

    def test_help_is_the_table(self):
        t = self.start(100, 75)
        t.keys("\x1bOP")
        for expected in ("Ctrl-O", "/regenerate", "Alt-Enter", "set-clipboard", "Ctrl-Home"):
            self.assertIn(expected, t.text())
        t.keys("\x1b")
        self.assertNotIn("/regenerate", t.text())

    def editor(self, script):
        path = os.path.join(scratch, "editor")
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(path, 0o755)
        return self.start(EDITOR="exec " + path, VISUAL="")

    def test_the_editor_gets_the_draft_and_gives_it_back(self):
        t = self.editor('echo "in the editor"\nsleep 0.3\necho "and 更多" >>"$1"\n')
        t.keys("draft\x05")
        t.wait(lambda _: t.lines()[21:23] == ["> draft", "  and 更多"], 5)
        self.assertIn(b"in the editor", t.raw)
        t.keys("!")
        self.assertEqual(t.lines()[22], "  and 更多!")
        self.assertEqual([f for f in os.listdir(scratch) if f.endswith(".md")], [])

    @unittest.skipUnless(os.path.exists("/proc/self/status"), "no /proc")
    def test_the_editor_is_killed_by_broken_pipes_as_any_program(self):
        t = self.editor('grep SigIgn /proc/self/status >"$1"\n')  # this test's own Python ignores the signal
        t.keys("\x05")
        t.wait("SigIgn", 5)
        ignored = int(re.search(r"SigIgn:\s*([0-9a-f]{16})", t.text())[1], 16)
        self.assertFalse(ignored >> (signal.SIGPIPE - 1) & 1)

    def test_an_editor_that_will_not_leave_does_not_hold_the_program(self):
        t = self.editor('trap "" TERM\necho "in the editor"\nwhile :; do sleep 0.05; done\n')
        t.keys("\x05")
        t.wait(lambda _: b"in the editor" in t.raw, 5)
        os.kill(t.pid, signal.SIGTERM)
        t.end(5)
        self.assertEqual([f for f in os.listdir(scratch) if f.endswith(".md")], [])


class Panels(UiTest):
    def test_the_list_stands_alone_where_there_is_no_room_beside_it(self):
        t = self.start()
        self.answered(t)
        t.keys("\x0f")
        self.assertIn("Conversations", t.lines()[1])
        self.assertNotIn("chinwag", t.text())
        self.assertEqual(t.columns_of(5, "│"), [])
        t.keys("\x1b")
        self.assertIn("树下下棋", t.text())

    def test_conversations_open_rename_delete_and_filter(self):
        t = self.start()
        t.keys("\x0f")
        t.wait_event("LIST")
        t.wait("怎么做红烧肉")
        t.keys("\x1b[Br\x15新的名字\r")
        t.wait_event("RENAME 2 0.00 新的名字|")
        t.keys("dn")
        self.assertNotIn("DELETE", t.events())
        t.keys("d")
        self.assertIn("delete? y/n", t.text())
        t.keys("y")
        t.wait_event("DELETE 2")
        t.keys("/long")
        self.assertNotIn("怎么做红烧肉", t.text())
        t.keys("\r")
        t.wait_event("OPEN 3")

    def test_search_results_open(self):
        t = self.start()
        t.keys("\x07五花肉\r")
        t.wait_event("SEARCH 0 0.00 五花肉|")
        t.wait("冷水下锅")
        self.assertIn("you, now", t.text())
        t.keys("\r")
        t.wait_event("OPEN 2")
        t.wait("Opened")
        y = t.row_of("五花肉切块")  # the match is in view, and marked
        self.assertEqual(t.screen.buffer[y][3].bg, "green")

    def test_settings_act_while_an_answer_streams(self):
        t = self.start(120, 24, UI_DEMO_DELAY="40")
        t.send("question\r")
        t.wait("Here is", 10)
        t.send("\x14\x1b[C")
        t.wait_event("SET 0 0.75 temperature|")
        t.wait("temp 0.75")
        t.send("1.2\r")
        t.wait_event("SET 0 1.20 temperature|")
        t.send("9\r")
        t.wait_event("SET 0 2.00 temperature|")
        t.wait("temperature takes a number from 0.00 to 2.00")
        t.send("\x1b[B\x1b[B\x1b[B\r\x15Be brief.\r")
        t.wait_event("SET_TEXT 0 0.00 system|Be brief.")
        t.send("\x1b")
        t.wait(lambda s: "Settings" not in s)
        self.assertNotIn("STOP", t.events(), "Esc closes the panel first")
        t.send("\x1b")
        t.wait_event("STOP")

    def test_an_empty_text_setting_says_what_it_means(self):
        t = self.start(120, 24)
        t.keys("\x14\x1b[B\x1b[B\x1b[B")
        t.keys("\r\x15")
        self.assertEqual(t.lines()[22], "system: the model's own", "what an empty field means stands in it")
        t.keys("x")
        self.assertEqual(t.lines()[22], "system: x")
        t.keys("\x7f\r")
        t.wait_event("SET_TEXT 0 0.00 system|\n")
        self.assertRegex(t.text(), r"system +the model's own")

    def test_the_models_at_hand_are_offered(self):
        t = self.start()
        t.send("\x1bOS")
        t.wait_event("MODELS 0 0.00 |")
        t.wait("qwen-a.gguf")
        t.keys("\x1b[B\x1b[B")
        self.assertEqual(t.lines()[22], "model file: qwen-a.gguf")
        t.keys("\x15")
        t.keys("\t")  # what both begin with
        t.wait_event("MODELS 0 0.00 qwen-|")
        t.keys("\t\r")
        t.wait_event("MODEL 0 0.00 qwen-b.gguf|")

    def test_a_number_wants_digits_and_can_have_its_default_again(self):
        t = self.start(120, 24)
        t.keys("\x14x")
        self.assertIn("temperature takes a number from 0.00 to 2.00", t.lines()[23])
        t.keys("1.25")
        self.assertRegex(t.text(), r"temperature +1\.25 *\n", "the digits stand where the value's stood")
        column = t.lines()[t.row_of("temperature")].rindex("5")
        t.keys("a\r")
        t.wait_event("SET 0 1.25 temperature|")
        self.assertEqual(t.lines()[t.row_of("temperature")].rindex("5"), column)
        t.keys("d")
        t.wait_event("RESET 0 0.00 temperature|")
        t.keys("\x1b")
        t.keys("/set top-p default \r")
        t.wait_event("RESET 0 0.00 top-p|")

    def test_beside_the_transcript_where_there_is_room(self):
        t = self.start(120, 30)
        self.answered(t)
        t.keys("\x0f")
        t.wait("Half-marathon plan  ")
        self.assertIn("│ you ", t.text())
        t.keys("\t typed")
        self.assertIn(">  typed", t.text())
        t.keys("\x1b")
        self.assertNotIn("Conversations", t.text())

    def test_in_the_smallest_terminal_the_selected_row_is_seen(self):
        t = self.start(24, 6)
        t.keys("\x0f")
        t.wait_event("LIST")
        t.wait("Half-marathon plan")
        t.keys("\x1b[B")
        self.assertIn("怎么做红烧肉", t.text())
        t.keys("d")
        self.assertIn("delete? y/n", t.text())
        t.keys("n")
        t.keys("\x1b")
        t.keys("\x14\x1b[B\x1b[B")
        self.assertIn("top-k", t.text())

    def test_in_the_smallest_terminal_a_list_keeps_to_its_rows(self):
        t = self.start(24, 6)
        t.keys("\x07五花肉\r")
        t.wait("Found: 五花肉")
        self.assertEqual(t.lines()[3], "─" * 24)
        t.keys("/no such title")
        self.assertIn("nothing found", t.lines()[2])
        self.assertEqual(t.lines()[3], "─" * 24)

    def test_the_settings_stand_beside_the_answer_or_cover_it(self):
        t = self.start(80, 24)
        self.answered(t)
        t.keys("\x14")
        for row in range(1, 21):
            self.assertRegex(t.lines()[row].ljust(80), r"\A.{1,42}│")
        self.assertIn("树下下棋", t.text())
        t.become(63, 24)
        self.assertNotIn("│", "".join(t.lines()[1:21]))
        self.assertNotIn("树下下棋", t.text())

    def test_a_setting_named_without_a_value_is_said_and_kept(self):
        t = self.start()
        t.keys("/set temp\r")
        self.assertIn("temperature is 0.70, of 0.00 to 2.00", t.text())
        t.keys("/set system Be brief.\r")
        t.wait_event("SET_TEXT 0 0.00 system|Be brief.")
        t.keys("/set system\r")
        self.assertIn("system is: Be brief.", t.text())
        self.assertEqual(t.events().count("SET_TEXT"), 1)


class Sizes(UiTest):
    def test_too_small_says_so_and_recovers(self):
        t = self.start(20, 5)
        t.become(80, 24)
        self.assertIn("F1 help", t.lines()[23])
        t.keys("a draft 草稿")
        t.become(20, 5)
        self.assertIn("too small", t.text())
        t.become(24, 6)
        self.assertIn("> a draft 草稿", t.text())
        t.become(80, 24)
        self.assertEqual(t.lines()[22], "> a draft 草稿")

    def test_one_cell_is_survived(self):
        t = self.start()
        self.answered(t)
        for columns, lines in ((1, 1), (2, 1), (1, 30), (300, 6), (24, 100), (80, 24)):
            t.become(columns, lines)
        self.assertIn("树下下棋", t.text())

    def test_the_scroll_position_survives_resizing(self):
        t = self.start(80, 16)
        self.answered(t)
        self.answered(t, "again")
        t.keys("\x1b[5~\x1b[5~")
        first = t.lines()[1]
        for columns, lines in ((50, 16), (120, 20), (33, 9), (80, 16)):
            t.become(columns, lines)
            self.assertIn("↓", t.text())
        self.assertEqual(t.lines()[1], first)

    def test_narrow_lines_drop_what_matters_least(self):
        t = self.start(30, 10)
        self.assertEqual(t.lines()[9], " 612/2048 │ F1 help")
        self.assertEqual(t.lines()[0], " Half-marathon plan")


class Leaving(UiTest):
    def expect_restored(self, t):
        self.assertEqual(t.attributes(), t.before)
        for mode in (b"1049", b"2004", b"1000"):
            last = re.findall(rb"\x1b\[\?(?:\d+;)*" + mode + rb"(?:;\d+)*([hl])", t.raw)[-1]
            self.assertEqual(last, b"l", mode)
        self.assertGreater(t.raw.rfind(b"\x1b[?25h"), t.raw.rfind(b"\x1b[?25l"))

    def test_signals_end_it_in_order(self):
        for sig in (signal.SIGTERM, signal.SIGHUP):
            t = self.start()
            os.kill(t.pid, sig)
            self.assertEqual(t.end(), 0)
            self.assertIn("QUIT", t.events())
            self.expect_restored(t)

    def test_fatal_signals_give_the_terminal_back(self):
        for sig in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGQUIT, signal.SIGUSR1,
                    signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU):
            t = self.start()
            t.keys("x")
            os.kill(t.pid, sig)
            self.assertEqual(t.end(), -sig)
            self.expect_restored(t)

    def test_abort_and_exit_within(self):
        for text, status in (("crash", -signal.SIGABRT), ("exit", 3)):
            t = self.start()
            t.keys(text + "\r")
            self.assertEqual(t.end(), status)
            self.expect_restored(t)

    def test_sigint_is_the_key(self):
        t = self.start()
        t.keys("a draft")
        os.kill(t.pid, signal.SIGINT)
        t.wait("draft cleared")

    def test_a_terminal_that_goes_away_ends_it(self):
        t = self.start()
        os.close(t.fd)
        end = time.monotonic() + 5
        while "QUIT" not in t.events() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertIn("QUIT", t.events())
        os.waitpid(t.pid, 0)
        t.status = 0
        t.fd = os.open("/dev/null", os.O_RDWR)

    def test_it_stops_and_goes_on(self):
        t = self.start()
        t.keys("a draft")
        os.kill(t.pid, signal.SIGSTOP)
        os.kill(t.pid, signal.SIGCONT)
        n = len(t.raw)
        t.settle(0.2)
        for on in (b"\x1b[?1049h", b"\x1b[?2004h", b"1000h"):
            self.assertIn(on, t.raw[n:])
        self.assertEqual(t.lines()[22], "> a draft")

    def test_idle_it_uses_no_time(self):
        t = self.start()
        t.settle(0.3)

        def ticks():
            with open(f"/proc/{t.pid}/stat") as f:
                return sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])
        before = ticks()
        t.read(2)
        self.assertLessEqual(ticks() - before, 1)


class Chance(UiTest):
    KEYS = ("\r \x1b \x1b[A \x1b[B \x1b[C \x1b[D \x1b[5~ \x1b[6~ \x1bOP \x0f \x14 \x07 \x06 \x12 \t \x1b[Z \x7f \x17 \x15 \x0b \x01 "
            "\x1by \n \x1b\r \x19 \x0c \x1b[1;5H \x1b[1;5F \x1b[5;3~ n d r y / /set /find 公园 question\r evil\r é 中文 😀 👨‍👩‍👧 "
            "\x1b[200~pasted\rtext\x1b[201~ \x1b[200~open \x1b[<64;3;3M \x1b[M \x10 \x1bb \x1bf \x1b[3~ \x1bd \x0e 1 . -").split(" ")

    def test_any_keys_in_any_size_are_survived(self):
        chance = random.Random(1)
        t = self.start()
        for _ in range(300):
            if chance.random() < 0.1:
                t.resize(chance.choice((1, 2, 24, 30, 60, 80, 100, 130, 200)), chance.choice((1, 2, 5, 6, 7, 10, 24, 50)))
            t.send("".join(chance.choice(self.KEYS) for _ in range(chance.randint(1, 12))))
            t.read(0.005)
        os.kill(t.pid, signal.SIGTERM)
        self.assertEqual(t.end(), 0)
        self.assertEqual(t.attributes(), t.before)


class Surroundings(UiTest):
    def test_no_colour_where_it_is_not_wanted(self):
        t = self.start(NO_COLOR="1")
        self.answered(t)
        self.assertIsNone(re.search(rb"\x1b\[(?:[0-9]+;)*[34][0-7]m", t.raw))

    def test_without_a_language_it_is_utf8_all_the_same(self):
        t = self.start(LC_ALL="", LANG="", LC_CTYPE="")
        t.keys("中文")
        self.assertEqual(t.lines()[22], "> 中文")

    def test_an_unknown_terminal_is_named(self):
        t = Ui(TERM="no-such-terminal")
        self.addCleanup(t.close)
        self.assertEqual(t.end(), 1)
        self.assertIn(b'terminal type "no-such-terminal" is unknown', t.raw)

    def test_other_terminals(self):
        for term in ("linux", "screen-256color", "tmux-256color", "vt100", "rxvt"):
            if subprocess.run(["infocmp", term], capture_output=True).returncode:
                continue
            t = self.start(TERM=term)
            t.keys("abc\x1bOA\x1b[A")
            self.assertEqual(t.lines()[22], "> abc", term)
            t.keys("\x15\x04")
            self.assertEqual(t.end(), 0)
            self.assertEqual(t.attributes(), t.before)

    def test_plain_lines_for_screen_readers(self):
        for env in ({"CHINWAG_PLAIN": "1"}, {"TERM": "dumb"}):
            t = self.start(**env)
            t.send("question\r")
            t.wait(lambda _: "树下下棋".encode() in t.raw, 20)
            t.send("/set temperature 0.4\r")
            t.wait_event("SET 0 0.40 temperature|")
            t.send("/conversations\r")
            t.wait("2. 怎么做红烧肉")
            t.send("/open 2\r")
            t.wait_event("OPEN 2")
            t.send("one\\\rtwo\r")
            t.wait_event("SEND 0 0.00 one\ntwo|")
            self.assertNotIn(b"\x1b", t.raw)
            t.send("/quit\r")
            self.assertEqual(t.end(), 0)


if __name__ == "__main__":
    unittest.main()
