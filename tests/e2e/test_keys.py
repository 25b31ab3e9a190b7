#!/usr/bin/env python3
"""Keys as terminals, networks and other programs really send them: apart, too early, without marks, mixed with replies."""
import os
import signal
import sys
import time
import unittest

import test_ui

setUpModule, tearDownModule = test_ui.setUpModule, test_ui.tearDownModule


class KeysTest(test_ui.UiTest):
    def draft(self, t):
        """The rows of the draft."""
        rows = t.lines()
        rule = max(y for y, line in enumerate(rows) if line.startswith("──"))
        return [line[2:] for line in rows[rule + 1:-1]]

    def apart(self, t, *parts, pause=0.1):
        for part in parts:
            t.send(part)
            t.read(pause)
        t.settle()


class Sequences(KeysTest):
    REPLIES = ("\x1b]11;rgb:ffff/ffff/ffff\x07", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1bP1$r0m\x1b\\", "\x1bP>|xterm(388)\x1b\\",
               "\x1b_Gi=31;OK\x1b\\", "\x1b^any\x1b\\", "\x1bXany\x1b\\")

    def test_replies_of_the_terminal_are_no_keys(self):
        t = self.start()
        for reply in self.REPLIES:
            t.keys("a" + reply + "b")
            self.assertEqual(self.draft(t), ["ab"], repr(reply))
            self.assertIn("F1 help", t.lines()[23])
            self.apart(t, *reply[1:].join(("\x1b", "")).partition(reply[5:])[:2], pause=0.2)
            self.assertEqual(self.draft(t), ["ab"], repr(reply))
            t.keys("\x15")
        self.assertEqual([e for e in t.events().splitlines() if not e.startswith("DRAFT")], [])

    def test_text_right_after_escape_stays(self):
        t = self.start()
        for text in ("quick", "中文", "[", "]"):
            t.keys("\x1b" + text)
            t.read(1.1)  # ESC [ may begin a sequence for a second
            self.assertEqual(self.draft(t), [text])
            t.keys("\x15")

    def test_a_paste_mark_may_come_in_parts(self):
        for pause in (0.03, 0.1):
            for at in range(1, 6):
                t = self.start()
                begin, end = "\x1b[200~", "\x1b[201~"
                self.apart(t, begin[:at], begin[at:] + "one\rtwo" + end[:at], end[at:] + "!", pause=pause)
                self.assertEqual(self.draft(t), ["one", "two!"], (pause, at))
                self.assertNotIn("SEND", t.events())

    def test_over_ssh_a_key_may_come_in_parts(self):
        for env in ({"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22"}, {"SSH_TTY": "/dev/pts/7"}, {"ESCDELAY": "150"}):
            t = self.start(UI_DEMO_DELAY="500", **env)
            t.keys("question\r")
            t.wait("Here is")
            self.apart(t, "a\x1b", "\r", "b\x1b", "[D", "\x1b[", "C", pause=0.06)
            self.apart(t, "\x1b", "[200~two\nlines\x1b[201~", pause=0.06)
            self.assertEqual(self.draft(t), ["a", "btwo", "lines"], env)
            self.assertNotIn("STOP", t.events())
            self.apart(t, "\x1b", "x", pause=0.12)  # Esc, then a letter: both count
            t.wait_event("STOP")
            self.assertEqual(self.draft(t)[-1], "linesx")

    def test_escape_delay_of_the_person(self):
        t = self.start(UI_DEMO_DELAY="500", ESCDELAY="1000", SSH_TTY="/dev/pts/7")
        t.keys("question\r")
        t.wait("Here is")
        t.send("\x1b")
        t.read(0.5)
        self.assertNotIn("STOP", t.events())
        t.wait_event("STOP")


    def test_in_the_plain_dialogue_keys_leave_nothing_in_a_line(self):
        t = self.start(CHINWAG_PLAIN="1")
        t.send("sil\x1bOPe\x1b[Anc\x1b[3~e\x1b]11;rgb:0/0/0\x07\r")
        t.wait_event("SEND 0 0.00 silence|")
        t.send("\x1b[A/stop\r")  # a command, though an answer is awaited
        t.wait_event("STOP")


class TooEarly(KeysTest):
    def early(self, *typed):
        t = test_ui.Ui(before="sleep 0.3")
        self.addCleanup(t.close)
        for text in typed:
            t.send(text)
            time.sleep(0.02)
        t.wait("F1 help")
        t.settle()
        return t

    def test_enter_before_the_program_has_the_terminal_sends(self):
        t = self.early("silence", "\r")
        t.wait_event("SEND 0 0.00 silence|")
        self.assertEqual(self.draft(t), [""])

    def test_text_before_it_is_in_the_draft(self):
        t = self.early("half a thou")
        self.assertEqual(self.draft(t), ["half a thou"])
        t.keys("ght\r")
        t.wait_event("SEND 0 0.00 half a thought|")

    def test_enter_while_another_program_had_the_terminal_sends(self):
        path = os.path.join(test_ui.scratch, "editor")
        with open(path, "w") as f:
            f.write('#!/bin/sh\nprintf "silence\\n" >"$1"\necho in the editor\nsleep 0.3\n')
        os.chmod(path, 0o755)
        t = self.start(EDITOR=path, VISUAL="")
        t.keys("\x05")
        t.wait(lambda _: b"in the editor" in t.raw)
        t.send("\r")
        t.wait_event("SEND 0 0.00 silence|")


class Surroundings(KeysTest):
    def test_signals_that_were_blocked_or_ignored_before_the_start(self):
        wrapper = ("import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()); "
                   "[signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM)]; "
                   "os.execv(sys.argv[1], sys.argv[1:])")
        path = os.path.join(test_ui.scratch, "editor")
        with open(path, "w") as f:
            f.write('#!/bin/sh\nprintf "from the editor" >"$1"\n')
        os.chmod(path, 0o755)
        t = test_ui.Ui(before=f'exec "{sys.executable}" -c \'{wrapper}\' "$0"', EDITOR=path, VISUAL="")
        self.addCleanup(t.close)
        t.wait("F1 help", 10)
        t.keys("\x05")
        t.wait("> from the editor", 5)
        os.kill(t.pid, signal.SIGINT)
        t.wait("draft cleared", 5)
        t.resize(60, 20)
        t.wait(lambda _: t.lines()[18].startswith(">"), 5)
        os.kill(t.pid, signal.SIGTERM)
        self.assertEqual(t.end(), 0)


class Characters(KeysTest):
    def test_emoji_newer_than_the_c_library_are_drawn(self):
        t = self.start()
        t.keys("a\U0001fae8b")  # Unicode 15
        self.assertEqual(self.draft(t), ["a\U0001fae8b"])
        self.assertEqual(t.cursor(), (22, 2 + 4))

    def test_invisible_characters_take_no_step_of_the_caret(self):
        t = self.start()
        for invisible in "\u200b\ufeff\u2060\u202e\u2066\u200e":
            t.keys("a" + invisible + "b\x1b[D")
            self.assertEqual(t.cursor(), (22, 3))
            t.keys("\x1b[D")
            self.assertEqual(t.cursor(), (22, 2), repr(invisible))
            t.keys("\x1b[F\x7f\x7f")
            self.assertEqual(t.cursor(), (22, 2), repr(invisible))


class TooSmall(KeysTest):
    def test_no_key_goes_to_a_draft_that_is_not_seen(self):
        t = self.start()
        t.keys("a draft")
        t.become(20, 5)
        t.wait("too small")
        t.keys("!\r\x7f\x1b[200~pasted\x1b[201~/quit\r\x0f\x05")
        t.become(80, 24)
        self.assertEqual(self.draft(t), ["a draft"])
        self.assertEqual([e for e in t.events().splitlines() if not e.startswith("DRAFT")], [])

    def test_ctrl_c_stops_the_answer_and_leaves(self):
        t = self.start(UI_DEMO_DELAY="500")
        t.keys("question\r")
        t.wait("Here is")
        t.keys("a draft")
        t.become(20, 5)
        t.send("\x03")
        t.wait_event("STOP")
        t.settle()
        t.send("\x03")
        t.wait("again")
        self.assertNotIn("QUIT", t.events())
        t.send("\x03")
        self.assertEqual(t.end(), 0)


class PastesWithoutMarks(KeysTest):
    def test_lines_in_one_reading_are_one_draft(self):
        for text, lines in (("one\rtwo\rthree\r", ["one", "two", "three", ""]), ("one\r\ntwo", ["one", "two"]),
                            ("\tone\r\r  two\r", ["    one", "", "  two", ""])):
            t = self.start()
            t.keys(text)
            self.assertEqual(self.draft(t), lines)
            self.assertNotIn("SEND", t.events())
        t = self.start()
        t.keys("one\rtwo\rthree\r")
        t.read(0.1)
        t.keys("\r")
        t.wait_event("SEND 0 0.00 one\ntwo\nthree|")

    def test_a_long_one_comes_in_several_readings(self):
        t = self.start()
        text = "".join(f"line {i} of a text that is longer than a terminal hands on at once\r" for i in range(300))
        t.send(text)
        t.wait("line 299")
        t.settle()
        self.assertNotIn("SEND", t.events())
        t.read(0.1)
        t.keys("\r")
        t.wait_event("SEND 0 0.00 line 0 of")
        self.assertIn("\nline 299 of a text that is longer than a terminal hands on at once|", t.events())

    def test_one_line_and_enter_sends(self):
        for text in ("question\r", "question\r\n"):
            t = self.start()
            t.keys(text)
            t.wait_event("SEND 0 0.00 question|")
            self.assertEqual(self.draft(t), [""])

    def test_enter_then_text_is_typing(self):
        t = self.start()
        t.keys("silence")
        t.keys("\rnext")
        t.wait_event("SEND 0 0.00 silence|")
        self.assertEqual(self.draft(t), ["next"])


class Slashes(KeysTest):
    def test_pasted_text_is_sent_as_it_is(self):
        for text in ("// returns the sum\nint add(int a, int b);", "/help\nis printed by the tool", "/etc\n/usr", "/help", "/quit now",
                     "//"):
            t = self.start()
            t.keys("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")
            t.read(0.1)
            t.keys("\r")
            t.wait_event(f"SEND 0 0.00 {text}|")
            t.keys("\x03\x1b[A\r")  # from the earlier prompts, too
            t.wait(lambda _: t.events().count(f"SEND 0 0.00 {text}|") == 2)

    def test_several_lines_that_were_typed_are_a_message(self):
        t = self.start()
        t.keys("/help\x1b\ris printed by the tool\r")
        t.wait_event("SEND 0 0.00 /help\nis printed by the tool|")

    def test_a_command_followed_by_prose_does_not_run(self):
        t = self.start()
        for text in ("/exit code 137 means what?", "/new year wishes for a baker", "/bye in five languages", "/clear explanation",
                     "/help me write a letter", "/thoughts on love", "/stop the clocks"):
            t.keys(text + "\r")
            self.assertEqual(self.draft(t), [text])
            self.assertIn(text.split()[0] + " takes ", t.lines()[23])
            self.assertEqual([e for e in t.events().splitlines() if not e.startswith("DRAFT")], [])
            t.keys("\x15")

    def test_switch_words_of_models_are_messages(self):
        for text in ("/think why is the sky blue?", "/no_think hi", "why? /no_think", "/think"):
            t = self.start()
            t.keys(text + "\r")
            t.wait_event(f"SEND 0 0.00 {text}|")

    def test_an_edited_earlier_prompt_is_kept_until_something_is_sent(self):
        t = self.start()
        self.answered(t, "first")
        self.answered(t, "second")
        t.keys("mine\x1b[A!\x1b[A?\x1b[B")
        self.assertEqual(self.draft(t), ["second!"])
        t.keys("\x1b[A")
        self.assertEqual(self.draft(t), ["first?"])
        t.keys("\x1b[B\x1b[B")
        self.assertEqual(self.draft(t), ["mine"])
        t.keys("\x12first\r")  # found, not typed over what was being written
        t.keys("\x1b[B\x1b[B")
        self.assertEqual(self.draft(t), ["mine"])
        self.answered(t, "")
        t.keys("\x1b[A\x1b[A")
        self.assertEqual(self.draft(t), ["second"])


if __name__ == "__main__":
    unittest.main()
