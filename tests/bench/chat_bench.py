#!/usr/bin/env python3
"""What a person waits for, measured on the real program in a terminal.

  chat_bench.py [--peer DIR] [--rounds N] [--threads N] [--only NAME] MODEL.gguf...

  screen    from the start until the screen is drawn and has answered a key: in milliseconds
  first     from the start of `-p` with a prompt of about 30 tokens to its end after one token, the file in the page cache;
            in turns with llama-completion of DIR, as a ratio
  enter     from Enter to the first token, in steps of decoding: 1,500 tokens of history, a draft of 60 tokens typed at six
            keys a second, sent at once and after a pause of two seconds
  esc       from Esc in the prefill of 2,000 tokens on one thread to "stopped" on the screen: in milliseconds, of which 25
            are the wait for what may follow an escape character
"""
import argparse
import os
import pathlib
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
from terminal import Terminal  # noqa: E402

WORDS = ("the of and to in is was that for it with as his on be at by had not are but from or have an they which one you "
         "were all her she there would their we him been has when who will no more if out so said what up its about than "
         "into them can only other time new some could these two may first then do any like my now over such our man").split()
PROMPT = ("The quick brown fox jumps over the lazy dog while the old keeper of the lighthouse counts the ships that pass by "
          "the harbour in the evening light of")


def words(n, seed):
    pick = random.Random(seed)
    return " ".join(pick.choice(WORDS) for _ in range(n))


class Home:
    """A fresh home directory and a program started in it."""

    def __init__(self, a, model, *options):
        self.path = tempfile.mkdtemp()
        self.db = pathlib.Path(self.path, "chinwag.db")
        self.started = time.monotonic()
        self.t = Terminal([str(a.chinwag), "-m", str(model), "--seed", "1", "--db", str(self.db), *options], 100, 30,
                          {"HOME": self.path, "XDG_CONFIG_HOME": self.path, "XDG_DATA_HOME": self.path})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.t.close()
        shutil.rmtree(self.path)

    def rows(self, query):
        try:
            with sqlite3.connect(f"file:{self.db}?mode=ro", uri=True, timeout=10) as db:
                return db.execute(query).fetchall()
        except sqlite3.OperationalError:  # not made yet
            return []

    def wait_answers(self, n):
        while len(self.rows("SELECT 1 FROM message WHERE role = 2 AND state <> 1")) < n:
            self.t.read(0.1)

    def paste(self, text):
        self.t.send(f"\x1b[200~{text}\x1b[201~")


def screen(a, model):
    times = []
    for _ in range(a.rounds):
        with Home(a, model) as h:
            h.t.send("q")
            h.t.wait(lambda text: "> q" in text)
            times.append(1000 * (time.monotonic() - h.started))
    return f"{statistics.median(times):.0f} ms ({min(times):.0f}–{max(times):.0f})"


def seconds(command):
    start = time.monotonic()
    subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def first(a, model):
    ours, peers = [], []
    same = ["-m", model, "-p", PROMPT, "-n", 1, "-t", a.threads]
    turns = [lambda: ours.append(seconds([a.chinwag, *same]))]
    if a.peer:
        turns.append(lambda: peers.append(seconds([pathlib.Path(a.peer, "llama-completion"), *same, "-no-cnv"])))
    for i in range(a.rounds):
        for turn in turns if i % 2 else turns[::-1]:
            turn()
    result = f"{1000 * statistics.median(ours):.0f} ms"
    if peers:
        ratios = [o / p for o, p in zip(ours, peers)]
        result += (f"   llama.cpp {1000 * statistics.median(peers):.0f} ms   ratio {statistics.median(ratios):.2f} "
                   f"({min(ratios):.2f}–{max(ratios):.2f})")
    return result


def enter(a, model, pause):
    with Home(a, model, "-n", "24", "-t", str(a.threads)) as h:
        h.t.wait("> ")
        h.paste(words(1450, 1))
        h.t.key("enter")
        h.wait_answers(1)
        h.t.read(2)
        h.t.type(words(58, 2), 1 / 6)
        h.t.read(pause)
        h.t.key("enter")
        h.wait_answers(2)
        prompt, evaluated, generated, first_ms, decode_ms = h.rows(
            "SELECT prompt_tokens, evaluated_tokens, generated_tokens, first_token_ms, decode_ms FROM message "
            "WHERE role = 2 ORDER BY id")[-1]
    if generated < 2:
        return "the answer was too short to tell"
    step = decode_ms / (generated - 1)
    return f"{first_ms / step:.2f} steps ({first_ms:.1f} ms; {evaluated} of {prompt} tokens were left)"


def esc(a, model):
    times = []
    for i in range(a.rounds):
        with Home(a, model, "-t", "1") as h:
            h.t.wait("> ")
            h.paste(words(1960, i))
            h.t.key("enter")
            h.t.wait("you ")
            while not h.rows("SELECT 1 FROM message WHERE role = 2"):  # the model is there: reading has begun
                h.t.read(0.05)
            h.t.read(1 + 0.3 * i)
            start = time.monotonic()
            h.t.key("esc")
            h.t.wait("stopped")
            times.append(1000 * (time.monotonic() - start))
    return f"{statistics.median(times):.0f} ms ({min(times):.0f}–{max(times):.0f})"


TESTS = {
    "screen": screen,
    "first": first,
    "enter at once": lambda a, model: enter(a, model, 0),
    "enter after a pause": lambda a, model: enter(a, model, 2),
    "esc": esc,
}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("models", nargs="+")
    ap.add_argument("--chinwag", default=ROOT / "chinwag")
    ap.add_argument("--peer", default="", help="directory of llama-completion")
    ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    ap.add_argument("--only", default="", help="what the name of a measurement must begin with")
    a = ap.parse_args()
    for model in a.models:
        print(pathlib.Path(model).name)
        for name, test in TESTS.items():
            if name.startswith(a.only):
                print(f"  {name:20s} {test(a, model)}", flush=True)


if __name__ == "__main__":
    main()
