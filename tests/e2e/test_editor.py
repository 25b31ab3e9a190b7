#!/usr/bin/env python3
"""$EDITOR as it really behaves: it fails after saving, writes a byte order mark, is stopped with Ctrl-Z, or outlives us."""
import glob
import os
import shutil
import signal
import unittest

import test_ui
from terminal import Terminal

setUpModule, tearDownModule = test_ui.setUpModule, test_ui.tearDownModule


class EditorTest(test_ui.UiTest):
    def script(self, text):
        path = os.path.join(test_ui.scratch, "editor")
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def editor(self, text):
        return self.start(EDITOR=self.script(text), VISUAL="")

    def files(self):
        return glob.glob(os.path.join(test_ui.scratch, "*.md"))


class Ends(EditorTest):
    def test_what_was_saved_is_taken_though_the_editor_failed(self):
        for end in ("exit 1", "kill -9 $$"):
            t = self.editor(f'printf "my long prompt\\n" >"$1"\n{end}\n')
            t.keys("x\x05")
            t.wait("> my long prompt", 5)
            t.settle()
            self.assertIn("ended with an error", t.lines()[23])
            self.assertEqual(self.files(), [])

    def test_the_editor_may_be_any_command(self):
        path = self.script('printf "$WORD" >"$1"\n')
        for command in (f"WORD=a {path}", f"WORD=b; export WORD; {path}", f"exec env WORD=c {path}"):
            t = self.start(EDITOR=command, VISUAL="")
            t.keys("\x05")
            t.wait("> " + command[command.index("WORD=") + 5], 5)

    def test_without_a_change_the_draft_stays(self):
        for end in ("exit 1", 'rm "$1"; exit 1', 'rm "$1"'):
            t = self.editor(end + "\n")
            t.keys("x\x1b\ry\x1b\r\x05")
            t.wait("the draft is as it was", 5)
            self.assertEqual(t.lines()[20:23], ["> x", "  y", ""])
            self.assertEqual(self.files(), [])

    def test_a_byte_order_mark_is_no_text(self):
        t = self.editor(r'''printf '\357\273\277/help\r\n' >"$1"''' + "\n")
        t.keys("\x05")
        t.wait("> /help", 5)
        t.keys("\r")
        t.wait("/regenerate")
        self.assertEqual(t.events(), "")

    def test_a_text_too_long_is_cut_but_kept(self):
        t = self.editor('head -c 5000000 /dev/zero | tr "\\0" a >"$1"\n')
        t.keys("\x05")
        t.wait("the whole text is in", 20)
        self.assertEqual([os.path.getsize(f) for f in self.files()], [5000000])
        os.unlink(self.files()[0])

    def test_what_was_saved_stays_when_the_program_has_to_leave(self):
        t = self.editor('printf "saved\\n" >"$1"\necho "in the editor"\nsleep 5\n')
        t.keys("\x05")
        t.wait(lambda _: b"in the editor" in t.raw, 5)
        os.kill(t.pid, signal.SIGTERM)
        t.end(5)
        with open(self.files()[0]) as f:
            self.assertEqual(f.read(), "saved\n")
        self.assertIn(("the text from the editor is in " + self.files()[0]).encode(), t.raw)
        os.unlink(self.files()[0])


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Stops(EditorTest):
    def shell(self, text):
        t = Terminal(["bash", "--norc", "--noprofile", "-i"], 80, 24,
                     {"PS1": "shell> ", "EDITOR": self.script(text), "VISUAL": "", "TMPDIR": test_ui.scratch, "HOME": test_ui.scratch,
                      "CHINWAG_PLAIN": ""})
        self.addCleanup(t.close)
        t.wait("shell>", 5)
        t.send(test_ui.demo + "\n")
        t.wait("F1 help", 10)
        return t

    def test_the_program_stops_with_its_editor_and_goes_on_with_it(self):
        for stop in ("kill -STOP $$", "kill -TSTP 0"):
            t = self.shell(f'echo "in the editor"\n{stop}\nprintf "written after fg" >"$1"\n')
            n = len(t.raw)
            t.send("a draft\x05")
            t.wait(lambda _: b"shell>" in t.raw[n:], 5)
            self.assertIn(b"in the editor", t.raw[n:])
            t.send("fg\n")
            t.wait("> written after fg", 5)
            t.wait("F1 help")
            t.send("!")
            t.wait("> written after fg!")


if __name__ == "__main__":
    unittest.main()
