"""How the screen looks and what leaves it: the mouse, the clipboard, formulas, colours. Scripted answers on a real terminal."""
import base64
import os
import re
import shutil
import subprocess
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


if __name__ == "__main__":
    unittest.main()
