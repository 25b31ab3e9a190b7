"""What the golden tests share: where files are, how chinwag is run, divergence between distributions."""
import json
import os
import pathlib
import shlex
import subprocess
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
# A command line: the tests of another architecture put an emulator before the program.
CHINWAG = os.environ.get("CHINWAG", str(HERE.parent.parent / "chinwag"))
MODEL = pathlib.Path(os.environ.get("CHINWAG_TEST_MODEL", "-"))
SHARED = pathlib.Path(os.environ.get("CHINWAG_GOLDEN", HERE.parent.parent.parent / "shared"))


def find(name):
    """A golden file by name: here, then in CHINWAG_GOLDEN or ../shared; None where it is in neither."""
    if MODEL.name == name and MODEL.exists():
        return MODEL
    for directory in (HERE, SHARED, SHARED / "golden", SHARED / "data/models"):
        if (directory / name).exists():
            return directory / name
    return None


def rows(name):
    with open(HERE / name, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def run(*args, stdin="", env=None, check=True):
    p = subprocess.run([*shlex.split(CHINWAG), *map(str, args)], input=stdin, capture_output=True, text=True, encoding="utf-8",
                       env={**os.environ, **(env or {})}, timeout=600)
    if check and p.returncode:
        raise AssertionError(f"chinwag {args[0]}: exit {p.returncode}: {p.stderr}")
    return p


def logits(model, ids, threads=2, env=None):
    """Float32 logits, positions x vocabulary, of one prefill."""
    with tempfile.NamedTemporaryFile(suffix=".f32") as out:
        run("logits", "-m", model, "--tokens", ",".join(map(str, ids)), "-t", threads, "--raw", out.name, env=env)
        return np.fromfile(out.name, "<f4").reshape(len(ids), -1)


def divergence(reference, ours):
    """KL(reference ‖ ours) in nats, per row, over the whole vocabulary."""
    def log_softmax(z):
        z = z.astype(np.float64)
        z = z - z.max(-1, keepdims=True)
        return z - np.log(np.exp(z).sum(-1, keepdims=True))
    p, q = log_softmax(reference), log_softmax(ours)
    return (np.exp(p) * (p - q)).sum(-1)


def kernel_sets():
    """The kernel sets this CPU has, by asking for each."""
    sets = []
    for name in ("scalar", "avx2", "avxvnni", "avx512", "avx512vnni", "neon", "neondot"):
        p = run("logits", "-m", find("qwen2-nano-Q4_0.gguf"), "--tokens", "1", "--raw", os.devnull,
                env={"CHINWAG_CPU": name}, check=False)
        if p.returncode == 0:
            sets.append(name)
    return sets
