#!/usr/bin/env python3
"""Kills the program again and again and looks for what was acknowledged: soak_kill.py [ROUNDS [SEED]].

In each round the program is started in one of the ways below, messages are sent from the first moment on, and it is killed (-9) at
a random moment, in some rounds right after the screen shows a message as sent. A message is acknowledged once the screen shows it as sent, or the database has it. Every acknowledged
message must be in the database once, in the conversation it was typed into, on the path that conversation opens with.
"""
import collections
import random
import sys
import time

from soak import House, check, off_path, sent

KILLS = (0.08, 0.25, 0.8)  # the longest times from the start to the kill, in seconds; and:
WHEN_SHOWN = 0.02  # the longest time from the moment a message is shown as sent, in some rounds
WAYS = ("new", "resume", "resume", "number", "question", "question for a conversation")


def options_of(way, house, text, rng):
    """The options of a start, and the conversation it is to open: None = a new one."""
    ids, latest = house.conversations(), house.latest()
    if way == "resume":
        return ["--resume"], latest
    if way == "question":
        return [text], None
    if way != "new" and ids:
        chosen = rng.choice(ids)
        if way == "number":
            return ["--resume", str(chosen)], chosen
        return [f"--resume={chosen}", text], chosen
    return [], None


class Round:
    def __init__(self, house, number, rng):
        self.house, self.number, self.rng = house, number, rng
        self.before = set(house.conversations())
        self.texts, self.seen = [], set()

    def text(self):
        self.texts.append(f"message-{self.number}-{len(self.texts) + 1}")
        return self.texts[-1]

    def look(self, t, seconds):
        open_ = t.read(seconds)
        self.seen.update(sent(t))
        return open_

    def run(self):
        way = self.rng.choice(WAYS)
        first = self.text()
        options, self.conversation = options_of(way, self.house, first, self.rng)
        typed = first not in options
        wait_for = self.rng.choice((None, None, "anything", "> "))
        longest = self.rng.choice((*KILLS, None))
        kill_at = time.monotonic() + self.rng.uniform(0, longest or KILLS[-1])
        t = self.house.start("-n", str(self.rng.choice((4, 40, 120))), *options)
        while typed and wait_for and time.monotonic() < kill_at:
            if t.raw if wait_for == "anything" else wait_for in t.text():
                break
            self.look(t, 0.005)
        if typed:
            t.send(first + "\r")
        more_at = time.monotonic() + self.rng.uniform(0.05, KILLS[-1])
        while (now := time.monotonic()) < kill_at:
            if now > more_at:
                t.send(self.text() + "\r")
                more_at = now + self.rng.uniform(0.05, KILLS[-1])
            self.look(t, min(0.005, kill_at - now))
            if longest is None and self.texts[-1] in self.seen:
                kill_at, longest = time.monotonic() + self.rng.uniform(0, WHEN_SHOWN), WHEN_SHOWN
        t.kill()
        self.look(t, 0.02)  # what it had written before
        t.close()
        return way

    def placed(self):
        """The conversations each message may be in: the one opened, or one that this round began."""
        new = set(self.house.conversations()) - self.before
        assert len(new) <= (not self.conversation), f"round {self.number} began {len(new)} conversations"
        return {text: {self.conversation} if self.conversation else new for text in self.texts}


def soak(rounds, seed=None, report=print):
    """The number of things that are wrong; report gets a line about each, and the counts."""
    seed = seed if seed is not None else random.randrange(1 << 30)
    rng, house = random.Random(seed), House()
    placed, acknowledged, ways, wrong = {}, set(), collections.Counter(), []
    first_seen, start = 0, time.monotonic()
    for number in range(1, rounds + 1):
        r = Round(house, number, rng)
        ways[r.run()] += 1
        placed.update(r.placed() if house.db.exists() else {text: set() for text in r.texts})
        acknowledged |= r.seen
        first_seen += r.texts[0] in r.seen
        known = house.rows("SELECT count(*) FROM message WHERE role = 1")[0][0] if house.db.exists() else 0
        if house.db.exists():
            now_wrong = [w for w in check(house, placed, acknowledged) if w not in wrong]
            now_wrong += [w for w in (f"off the path: {text}" for text in off_path(house)) if w not in wrong]
            for w in now_wrong:
                report(f"round {number}: {w}")
            wrong += now_wrong
    report(f"figure: {rounds} kills in {time.monotonic() - start:.0f} s, seed {seed}: "
           + ", ".join(f"{n} x {way}" for way, n in sorted(ways.items())))
    report(f"figure: {len(placed)} messages sent, {len(acknowledged)} shown as sent (the first one in {first_seen} rounds), "
           f"{known} in the database, in {len(house.conversations())} conversations; {len(wrong)} wrong")
    if not wrong:
        house.close()
    else:
        report(f"the database is kept: {house.db}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(soak(int(sys.argv[1]) if len(sys.argv) > 1 else 500, int(sys.argv[2]) if len(sys.argv) > 2 else None) > 0)
