"""What the soak tests share: a model that answers at once, sessions in a terminal, and what the database must hold."""
import collections
import pathlib
import re
import shutil
import sqlite3
import tempfile
import time

import scripted_model
from program import CHINWAG
from terminal import Terminal

WORDS = [f" word{i}" for i in range(120)]
PERSON = re.compile(r"^ you \d\d:\d\d\n((?:   \S.*\n)+)", re.M)
ALARMS = re.compile(r"locked|busy|Not saved|damaged", re.I)


class House:
    """A home directory with the model and the database of one run."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="chinwag-soak-"))
        self.db = self.path / "data/chinwag/chinwag.db"
        self.model = str(self.path / "s.gguf")
        scripted_model.write(self.model, WORDS, context=4096)
        self.env = {"HOME": str(self.path), "XDG_DATA_HOME": str(self.path / "data"),
                    "XDG_CONFIG_HOME": str(self.path / "config")}

    def close(self):
        shutil.rmtree(self.path)

    def start(self, *options, lines=40):
        return Terminal([CHINWAG, "-m", self.model, "-t", "1", *options], 100, lines, self.env)

    def rows(self, query):
        """Read again while a program writes: this side has no part in the test."""
        for _ in range(100):
            try:
                with sqlite3.connect(self.db, timeout=10) as db:
                    return db.execute(query).fetchall()
            except sqlite3.OperationalError as e:
                if "locked" not in str(e):
                    raise
                time.sleep(0.05)
        raise AssertionError("the database stays locked")

    def latest(self):
        """The conversation that --resume opens, or None."""
        rows = self.rows("SELECT id FROM conversation ORDER BY updated_ms DESC, id DESC LIMIT 1") if self.db.exists() else []
        return rows[0][0] if rows else None

    def conversations(self):
        return [id_ for id_, in self.rows("SELECT id FROM conversation")] if self.db.exists() else []


def sent(terminal):
    """The messages of the person that the screen shows as sent: under "you" and the time, which says that it is saved."""
    shown = []
    for block in PERSON.findall(terminal.text() + "\n"):
        lines = [line.strip() for line in block.splitlines()]
        shown += [line for line in lines if re.fullmatch(r"message-\d+-\d+", line)] if "waiting" not in block else []
    return shown


def check(house, placed, acknowledged):
    """What is wrong, a sentence each. placed: the conversation (a set of possible ones) of each message typed.
    acknowledged: the messages that must be there."""
    wrong = []
    rows = house.rows("SELECT id, conversation_id, parent_id, role, state, text FROM message")
    by_id = {row[0]: row for row in rows}
    found = collections.Counter(text for _, _, _, role, _, text in rows if role == 1)
    wrong += [f"lost: {text}" for text in acknowledged if not found[text]]
    wrong += [f"there {n} times: {text}" for text, n in found.items() if n > 1]
    wrong += [f"nobody typed: {text}" for text in found if text not in placed]
    for _, conversation, _, role, _, text in rows:
        if role == 1 and text in placed and conversation not in placed[text]:
            wrong.append(f"misplaced: {text} is in {conversation}, not in {placed[text]}")
    for id_, conversation, parent, *_, text in rows:
        if parent and (parent not in by_id or by_id[parent][1] != conversation):
            wrong.append(f"unreachable: {text[:40]} hangs from what is not in its conversation")
    for id_, leaf in house.rows("SELECT id, leaf_id FROM conversation"):
        if any(row[1] == id_ for row in rows) and (leaf not in by_id or by_id[leaf][1] != id_):
            wrong.append(f"unreachable: conversation {id_} has no leaf")
    wrong += [f"integrity: {line}" for line, in house.rows("PRAGMA integrity_check") if line != "ok"]
    return wrong


def off_path(house):
    """The person's messages that are not on the path their conversation opens with: reachable as siblings only."""
    rows = house.rows("SELECT id, parent_id, role, text FROM message")
    parent = {id_: above for id_, above, *_ in rows}
    on_path = set()
    for leaf, in house.rows("SELECT leaf_id FROM conversation"):
        while leaf and leaf not in on_path:
            on_path.add(leaf)
            leaf = parent.get(leaf)
    return [text for id_, _, role, text in rows if role == 1 and id_ not in on_path]
