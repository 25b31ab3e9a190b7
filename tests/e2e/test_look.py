"""How the screen looks and what leaves it: the mouse, the clipboard, formulas, colours. Scripted answers on a real terminal."""
import base64
import os
import re
import shutil
import subprocess
import time
import unittest

import scripted_model
from program import CHINWAG, ProgramCase

MOUSE_ON = b"1000h"


class Look(ProgramCase):
    def start(self, script=("Hi.",), *options, columns=80, lines=24, **env):
        model = self.home / "script.gguf"
        scripted_model.write(model, list(script))
        t = self.open("-m", str(model), "-t", "1", "--temp", "0", *options, columns=columns, lines=lines, **env)
        t.wait("script F32")
        return t

    def config(self, text):
        path = self.home / "config/chinwag"
        path.mkdir(parents=True)
        (path / "config.ini").write_text(text)

    def answered(self, t, n=1):
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(n,)])
        t.wait(lambda s: "▌" not in s and "writing" not in s)
        t.read(0.1)


class Mouse(Look):
    def test_off_is_remembered(self):
        t = self.start()
        t.wait(lambda _: MOUSE_ON in t.raw)
        self.ask(t, "/mouse off")
        t.wait("the mouse selects text")
        self.wait_rows("SELECT value FROM setting WHERE key = 'mouse'", [("off",)])
        self.leave(t)
        t = self.start()
        t.read(0.3)
        self.assertNotIn(MOUSE_ON, t.raw)
        self.ask(t, "/mouse on")
        t.wait(lambda _: MOUSE_ON in t.raw)
        self.leave(t)
        t = self.start()
        t.wait(lambda _: MOUSE_ON in t.raw)

    def test_off_in_the_configuration_file(self):
        self.config("mouse = off\n")
        t = self.start()
        t.read(0.3)
        self.assertNotIn(MOUSE_ON, t.raw)
        self.ask(t, "/set mouse")
        t.wait("mouse is: off")
        self.ask(t, "/set mouse on")
        t.wait(lambda _: MOUSE_ON in t.raw)

    def test_a_switch_takes_on_and_off_alone(self):
        t = self.start()
        t.wait(lambda _: MOUSE_ON in t.raw)
        for command in "mouse", "thoughts":
            self.ask(t, f"/{command} of")
            t.wait(f'/{command} takes on or off, not "of"')
        self.assertNotIn(b"1000l", t.raw)


CODE = ["1. Make it:\n\n", "   ```sh\n", "   cat <<EOF > a\n", "   x\n", "   EOF\n", "   ```\n", "2. Look:\n\n", "   ```\n",
        "   cat a\n", "   ```\n", "Done."]


class Copying(Look):
    def copied(self, t, said):
        """What the terminal was sent last, after the program says so."""
        t.wait(said)
        return base64.b64decode(re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", t.raw)[-1]).decode()

    def test_a_code_block_is_copied_without_fence_and_indentation(self):
        t = self.start(CODE)
        self.ask(t, "hi")
        self.answered(t)
        self.ask(t, "/copy code")
        self.assertEqual(self.copied(t, "sent the last code block (6 bytes) to the terminal"), "cat a\n")
        self.ask(t, "/copy 1")
        self.assertEqual(self.copied(t, "sent code block 1 of 2 (20 bytes)"), "cat <<EOF > a\nx\nEOF\n")
        self.ask(t, "/copy")
        self.assertEqual(self.copied(t, "sent the last answer"), "".join(CODE))

    def test_what_cannot_be_copied_is_said(self):
        t = self.start(CODE)
        self.ask(t, "/copy")
        t.wait("there is no answer to copy")
        self.ask(t, "hi")
        self.answered(t)
        for argument, said in (("cod", 'not "cod"'), ("3", "the last answer has 2 code blocks"), ("0", 'not "0"')):
            self.ask(t, f"/copy {argument}")
            t.wait(said)
        self.assertNotIn(b"\x1b]52", t.raw)

    def test_screen_gets_it_in_pieces(self):
        t = self.start(["word " * 200], STY="1.pts")
        self.ask(t, "hi")
        self.answered(t)
        t.key("ctrl-y")
        t.wait("to the terminal, through screen")
        pieces = re.findall(rb"\x1bP(.*?)\x1b\\", t.raw, re.S)
        self.assertGreater(len(pieces), 5)
        self.assertLess(max(map(len, pieces)), 256)
        sequence = re.fullmatch(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", b"".join(pieces))
        self.assertEqual(base64.b64decode(sequence[1]).decode(), ("word " * 200))

    def test_more_than_terminals_take_is_said(self):
        t = self.start(["x" * 1000] * 80)
        self.ask(t, "hi")
        self.answered(t)
        t.key("ctrl-y")
        t.wait("sent 80000 bytes, more than many terminals take, to the terminal")


@unittest.skipUnless(shutil.which("tmux"), "tmux is not here")
class InTmux(Look):
    """tmux as it comes, without a configuration file, which ignores OSC 52 from the programs inside it."""

    def tmux(self, *command):
        return subprocess.run(["tmux", "-L", "test", "-f", "/dev/null", *command], capture_output=True, text=True,
                              env={**os.environ, **self.env, "TMUX": "", "TMUX_TMPDIR": str(self.home),
                                   "LC_ALL": "C.UTF-8"})

    def wait_screen(self, text, seconds=20):
        for _ in range(seconds * 20):
            screen = self.tmux("capture-pane", "-p").stdout
            if text in screen:
                return
            time.sleep(0.05)
        self.fail(f"{text} is not on the screen:\n{screen}")

    def start_in_tmux(self, script, path=None):
        model = self.home / "script.gguf"
        scripted_model.write(model, script)
        self.addCleanup(self.tmux, "kill-server")
        command = f"PATH={path or os.environ['PATH']} {CHINWAG} -m {model} -t 1 --temp 0"
        self.assertEqual(self.tmux("new-session", "-d", "-x", "100", "-y", "30", command).returncode, 0)
        self.wait_screen("script F32")
        self.tmux("send-keys", "hi", "Enter")
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(1,)])

    def test_tmux_gets_it_in_its_buffer(self):
        self.start_in_tmux(["Ein ", "Wort ", "你好"])
        self.tmux("send-keys", "C-y")
        self.wait_screen("sent the last answer (15 bytes) to tmux, for its buffer and its terminal")
        self.assertEqual(self.tmux("show-buffer").stdout, "Ein Wort 你好")

    def test_without_the_tmux_command_it_says_what_tmux_needs(self):
        self.start_in_tmux(["Hi."], path="/nowhere")
        self.tmux("send-keys", "C-y")
        self.wait_screen('to tmux, which needs "set-clipboard on"')


class Formulas(Look):
    def test_they_are_shown_as_they_came(self):
        pieces = [r"For all $\forall\,\varepsilon$ ", r"\[ a_{1}*b_{1} \le \frac{a}{b} \] ", r"and \(x_i * y_i * z\); ",
                  "it costs $5 and *$10*."]
        t = self.start(pieces, columns=120)
        self.ask(t, "hi")
        self.answered(t)
        shown = "".join(pieces).replace("*$10*", "$10")
        t.wait(shown[:100])
        self.assertIn(shown, re.sub(r"\n +", " ", t.text()))
        y = next(y for y, line in enumerate(t.screen.display) if "For all" in line)
        row = t.screen.buffer[y]
        self.assertFalse([x for x in range(118) if row[x].italics and row[x].data not in "$10 "], "nothing is italic")
        self.ask(t, "/find \\frac")
        t.wait("1 of 1")
        x = t.screen.display[y].index("\\frac")
        self.assertEqual({row[x + i].bg for i in range(5)}, {"green"})
        self.assertNotEqual(row[x + 5].bg, "green")


XTERM = {"red": (205, 0, 0), "green": (0, 205, 0), "brown": (205, 205, 0), "blue": (0, 0, 238), "magenta": (205, 0, 205),
         "cyan": (0, 205, 205), "white": (229, 229, 229), "black": (0, 0, 0)}


def luminance(colour):
    """WCAG 2.1's relative luminance of a colour of pyte's."""
    rgb = XTERM.get(colour) or tuple(bytes.fromhex(colour))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class Colours(Look):
    SCRIPT = ["# Heading\n\n", "Some `code` and\n\n", "> a quote\n\n", "```\n", "block\n", "```\n", " on"] + [" and on"] * 60

    def all_roles(self, **env):
        """A screen with every kind of text: an answer cut by a limit of tokens, a notice, a nearly full window."""
        t = self.start(self.SCRIPT, "-n", "60", "-c", "128", **env)
        self.ask(t, "hi")
        t.wait("max-tokens")
        self.ask(t, "/summary")
        t.wait("The model sees every message")
        return t

    def cells(self, t):
        for y, line in enumerate(t.screen.display):
            for x in range(t.screen.columns):
                yield y, x, t.screen.buffer[y][x]

    def check(self, t):
        colours = {c.fg for _, _, c in self.cells(t) if c.fg != "default" and c.bg == "default" and not c.reverse}
        self.assertTrue(colours)
        for colour in colours:
            light = luminance(colour)
            self.assertGreaterEqual(1.05 / (light + 0.05), 3, f"{colour} on white")
            self.assertGreaterEqual((light + 0.05) / 0.05, 3, f"{colour} on black")

    def test_text_can_be_read_on_white_and_on_black(self):
        self.check(self.all_roles())

    def test_so_it_can_with_eight_colours(self):
        self.check(self.all_roles(TERM="xterm"))

    def test_without_colours_notices_are_not_only_dim(self):
        t = self.all_roles(NO_COLOR="1")
        self.assertEqual({c.fg for _, _, c in self.cells(t)}, {"default"})
        for text in "The model sees every message", "max-tokens":
            y = next(y for y, line in enumerate(t.screen.display) if text in line)
            self.assertEqual(t.screen.display[y][1], "·")
            self.assertTrue(t.screen.buffer[y][5].italics)


if __name__ == "__main__":
    unittest.main()
