#!/usr/bin/env python3
"""Two programs at one database for a while: soak_two.py [MINUTES [SEED]].

Both run in terminals of their own; each is started with its own new conversation, with the latest one, or with the one the other
has open, sends messages (at times several at once), begins new conversations, leaves once it is idle and is started again.
At the end every message typed must be in the database once, in the conversation it was typed into, reachable from its conversation's first
message; neither screen may ever have spoken of a locked, busy or damaged file.
"""
import random
import re
import sys
import time

from soak import ALARMS, House, check, off_path, sent

BUSY = re.compile(r"loading|reading|thinking|writing|waits|waiting|summariz")


class Actor:
    """One of the two: its terminal, and what it types where."""

    def __init__(self, house, number, rng):
        self.house, self.number, self.rng = house, number, rng
        self.other = None
        self.t, self.n, self.starts, self.quits = None, 0, 0, 0
        self.conversation = None  # the one open; None = new, not known yet
        self.typed = {}  # text: conversation; None = the one that begins with it
        self.group = []  # messages of the new conversation that is not known yet
        self.alarms, self.shared = [], 0
        self.next_at = 0

    def start(self):
        options = []
        way = self.rng.choice(("new", "other", "other", "latest"))
        self.conversation = None
        if way == "other" and self.other.conversation:
            self.conversation = self.other.conversation
            options = ["--resume", str(self.conversation)]
            self.shared += 1
        elif way == "latest" and not self.other.t and self.house.latest():
            self.conversation = self.house.latest()  # nobody else can change which it is
            options = ["--resume"]
        self.t = self.house.start("-n", str(self.rng.choice((3, 30, 120))), *options)
        self.starts += 1
        self.leave_at = time.monotonic() + self.rng.uniform(2, 15)
        self.next_at = time.monotonic() + self.rng.uniform(0, 1)

    def send(self):
        self.n += 1
        text = f"message-{self.number}-{self.n}"
        self.typed[text] = self.conversation
        if not self.conversation:
            self.group.append(text)
        self.t.send(text + "\r")
        self.next_at = time.monotonic() + self.rng.choice((0.02, 0.3, 1.0, 2.0))

    def settle(self):
        """The conversation that a new one's first message began."""
        if not self.group:
            return
        rows = self.house.rows(f"SELECT conversation_id FROM message WHERE role = 1 AND text = '{self.group[0]}'") \
            if self.house.db.exists() else []
        if rows:
            self.conversation = rows[0][0]
            for text in self.group:
                self.typed[text] = self.conversation
            self.group = []

    def idle(self):
        return not BUSY.search(self.t.text())

    def leave(self):
        self.t.key("ctrl-d")
        status = self.t.end(20)
        if status:
            self.alarms.append(f"exit status {status}: {self.t.text()[-200:]}")
        self.take_alarms()
        self.settle()
        self.t.close()
        self.t, self.quits = None, self.quits + 1
        self.conversation = None

    def take_alarms(self):
        found = ALARMS.search(self.t.text())
        if found and (line := next(l for l in self.t.text().splitlines() if ALARMS.search(l)).strip()) not in self.alarms:
            self.alarms.append(line)

    def act(self):
        if not self.t:
            self.start()
        self.t.read(0.01)
        self.take_alarms()
        self.settle()
        now = time.monotonic()
        if now > self.leave_at:
            if self.idle():
                self.leave()
        elif now > self.next_at:
            if self.conversation and self.idle() and self.rng.random() < 0.05:
                self.t.key("ctrl-n")
                self.conversation = None
                self.next_at = now + 0.3
            else:
                self.send()


def soak(minutes, seed=None, report=print):
    """The number of things that are wrong; report gets a line about each, and the counts."""
    seed = seed if seed is not None else random.randrange(1 << 30)
    house, rng = House(), random.Random(seed)
    actors = [Actor(house, 1, random.Random(rng.random())), Actor(house, 2, random.Random(rng.random()))]
    actors[0].other, actors[1].other = actors[1], actors[0]
    end = time.monotonic() + minutes * 60
    while time.monotonic() < end:
        for a in actors:
            a.act()
    for a in actors:
        limit = time.monotonic() + 60
        while a.t and not (a.idle() and time.monotonic() > a.next_at) and time.monotonic() < limit:
            for each in actors:
                if each.t:
                    each.t.read(0.02)
        if a.t:
            a.leave()
    typed = {**actors[0].typed, **actors[1].typed}
    begun = {c for c, in house.rows("SELECT id FROM conversation")}
    placed = {text: {conversation} if conversation else begun for text, conversation in typed.items()}
    wrong = check(house, placed, typed) + [f"program {a.number}: {x}" for a in actors for x in a.alarms]
    for w in wrong:
        report(w)
    forked = len(off_path(house))
    report(f"figure: {minutes:g} minutes, seed {seed}: {sum(a.starts for a in actors)} starts, {sum(a.shared for a in actors)} of "
           f"them into the conversation the other had open, {len(begun)} conversations")
    report(f"figure: {len(typed)} messages typed, {len(wrong)} things wrong; {forked} messages are on a branch beside "
           "the path shown")
    if not wrong:
        house.close()
    else:
        report(f"the database is kept: {house.db}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(soak(float(sys.argv[1]) if len(sys.argv) > 1 else 30, int(sys.argv[2]) if len(sys.argv) > 2 else None) > 0)
