"""The program and its database file: locked, read-only, damaged; what is searched and what is deleted."""
import sqlite3
import unittest

import scripted_model
from program import ProgramCase


class StoreCase(ProgramCase):
    def setUp(self):
        super().setUp()
        self.model = self.home / "s.gguf"
        scripted_model.write(self.model, ["Hello", " there", "."])

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


if __name__ == "__main__":
    unittest.main()
