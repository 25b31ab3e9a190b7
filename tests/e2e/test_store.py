"""The program and its database file: locked, read-only, damaged; what is searched and what is deleted."""
import contextlib
import os
import shutil
import sqlite3
import subprocess
import unittest

import scripted_model
from program import CHINWAG, ProgramCase
from terminal import Terminal


class StoreCase(ProgramCase):
    def setUp(self):
        super().setUp()
        self.model = self.home / "s.gguf"
        scripted_model.write(self.model, ["Hello", " there", "."])

    def open(self, *options, program=None, **kwargs):
        if not program:
            return super().open(*options, **kwargs)
        t = Terminal([*program, *options], 100, 30, self.env)
        self.terminals.append(t)
        return t

    def run_program(self, *options, input="", program=None, **env):
        return subprocess.run([*(program or [CHINWAG]), *options], input=input, capture_output=True, text=True,
                              timeout=60, env={**os.environ, **self.env, **env})

    def talk(self, *questions):
        """One conversation with these questions, each answered."""
        t = self.open("-m", str(self.model))
        for i, q in enumerate(questions, 1):
            self.ask(t, q)
            self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(i,)])
        self.leave(t)


class LockedFile(StoreCase):
    def test_the_screen_shows_while_another_program_holds_the_file(self):
        self.talk("first")
        other = sqlite3.connect(self.db, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        t = self.open("-m", str(self.model))
        t.wait("F1 help")
        self.ask(t, "typed while it is locked")
        t.wait("Not saved")
        other.execute("COMMIT")
        t.wait("Everything is saved again")
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(2,)])
        self.leave(t)


class DamagedFile(StoreCase):
    def test_an_index_without_its_structure_locks_nothing_out(self):
        self.talk("first question")
        with contextlib.closing(sqlite3.connect(self.db)) as db, db:
            db.execute("DELETE FROM message_index_data WHERE id = 10")
        t = self.open("-m", str(self.model), "--resume")
        t.wait("first question")
        t.wait("the search index is built again")
        self.ask(t, "second question")
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(2,)])
        t.key("ctrl-g")
        t.type("first quest\r")
        t.wait(lambda text: text.count("first quest") >= 3)
        t.key("esc")
        t.key("esc")
        self.leave(t)

    def test_damaged_pages_are_put_aside_and_the_rest_is_there(self):
        self.talk("first question")
        with open(self.db, "r+b") as f:
            f.write(b"damaged" * 10)
        t = self.open("-m", str(self.model), "--resume")
        t.wait("first question")
        t.wait("was damaged. Saved: 2 messages of 1")
        self.leave(t)
        kept = [p.name for p in self.db.parent.iterdir() if ".damaged-" in p.name and "journal" not in p.name]
        self.assertEqual(len(kept), 1)
        self.assertEqual((self.db.parent / kept[0]).read_bytes()[:7], b"damaged")

    def test_plain_mode_and_commands_say_it(self):
        self.talk("first question")
        with open(self.db, "r+b") as f:
            f.write(b"damaged" * 10)
        run = self.run_program("--list")
        self.assertIn("first question", run.stdout)
        self.assertIn("was damaged. Saved: 2 messages", run.stderr)
        with open(self.db, "r+b") as f:
            f.write(b"damaged" * 10)
        run = self.run_program("-m", str(self.model), "--resume", input="again\n", CHINWAG_PLAIN="1")
        self.assertIn("was damaged. Saved: 2 messages", run.stdout)
        self.wait_rows("SELECT count(*) FROM message WHERE role = 2 AND state = 0", [(2,)])


class ReadOnlyFile(StoreCase):
    """Root ignores permissions: as root the directory is a read-only mount in a namespace of its own."""

    def setUp(self):
        super().setUp()
        self.talk("first question")

    def program(self):
        directory = self.db.parent
        if os.geteuid():
            directory.chmod(0o500)
            self.addCleanup(directory.chmod, 0o700)
            return [CHINWAG]
        script = f"mount --bind {directory} {directory} && mount -o remount,bind,ro {directory} && exec \"$@\""
        wrapped = ["unshare", "-m", "sh", "-c", script, "sh"]
        if not shutil.which("unshare") or subprocess.run([*wrapped, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no read-only mount can be made here")
        return [*wrapped, CHINWAG]

    def test_it_is_listed(self):
        run = self.run_program("--list", program=self.program())
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("first question", run.stdout)

    def test_a_chat_opens_and_says_that_nothing_is_saved(self):
        t = self.open("-m", str(self.model), "--resume", program=self.program())
        t.wait("first question")
        t.wait("Nothing is saved")
        self.ask(t, "second question")
        t.wait(lambda text: text.count("Hello there.") == 2)
        t.key("ctrl-g")
        t.type("second quest\r")
        t.wait(lambda text: text.count("second quest") >= 3)
        t.key("esc")
        t.key("esc")
        t.key("ctrl-d")
        self.assertEqual(t.end(), 1)
        self.assertIn(b"what was said is in /", t.raw)
        self.assertEqual(self.rows("SELECT count(*) FROM message"), [(2,)])

    def test_an_answer_that_was_to_be_saved_says_that_it_is_not(self):
        run = self.run_program("-m", str(self.model), "-p", "hi", "--save", program=self.program())
        self.assertEqual(run.stdout, "Hello there.\n")
        self.assertEqual(run.returncode, 1)
        self.assertIn("could not be saved", run.stderr)


class Paths(StoreCase):
    def test_an_empty_name_is_wrong_usage(self):
        run = self.run_program("--list", "--db", "")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--db wants the name of a file", run.stderr)

    def test_a_dangling_link_gets_its_target(self):
        link = self.home / "link.db"
        link.symlink_to("target.db")
        run = self.run_program("-m", str(self.model), "-p", "hi", "--save", "--db", str(link))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.home / "target.db").stat().st_size)
        self.assertIn("hi", self.run_program("--list", "--db", str(link)).stdout)


if __name__ == "__main__":
    unittest.main()
