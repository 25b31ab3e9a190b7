#!/usr/bin/env python3
"""Runs every test and ends with one line: N passed, N failed[, N skipped].

  run.py [--build DIR] [NAME...]     all tests, or those whose file name contains one of NAME

Unit tests are cmocka programs (DIR/tests/unit/<room>/test_*); golden and end-to-end tests are Python unittest files
(tests/golden/test_*.py, tests/e2e/test_*.py). All run with the repository as working directory. What a machine lacks is
skipped, and named. A line "figure: ..." that a test prints is shown.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_S = 1500  # for one test file


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []


def reset_signals():
    """A shell without job control starts background jobs with SIGINT and SIGQUIT ignored, and programs that are started
    with ignored signals ignore them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def run(command, env):
    """Exit status and whole output of a command; a status of its own where it does not end."""
    try:
        p = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=LIMIT_S, text=True, errors="replace")
        return p.returncode, p.stdout
    except subprocess.TimeoutExpired as e:
        return f"no end after {LIMIT_S} s", (e.stdout or b"").decode(errors="replace")


def count(name, status, passed, failed, skipped, tally):
    """Adds one file's results; a file that failed without naming a test, or ran none, is a failure too."""
    if not failed and (status != 0 or not passed + len(skipped)):
        failed = [f"(exit {status}, {passed} tests)"]
    tally.passed += passed
    tally.failed += [f"{name}: {t}" for t in failed]
    tally.skipped += [f"{name}: {t}" for t in skipped]
    return bool(failed)


def cmocka(program, name, env, tally):
    status, out = run([str(program)], env)
    failed = list(dict.fromkeys(re.findall(r"^\[  FAILED  \] (\w+)$", out, re.M)))
    passed = len(re.findall(r"^\[       OK \] ", out, re.M))
    skipped = list(dict.fromkeys(re.findall(r"^\[  SKIPPED \] (\w+)$", out, re.M)))
    return count(name, status, passed, failed, skipped, tally), out


def python(script, name, env, tally):
    status, out = run([sys.executable, str(ROOT / "tests/run.py"), "--unittest", str(script)], env)
    result = re.search(r"^unittest: (\d+) passed$", out, re.M)
    failed = re.findall(r"^unittest failed: (.*)$", out, re.M)
    skipped = re.findall(r"^unittest skipped: (.*)$", out, re.M)
    return count(name, status if result else "no result", int(result[1]) if result else 0, failed, skipped, tally), out


def unittest_file(path):
    """One Python file's tests in this process, its results in lines that python() reads."""
    import importlib.util
    import unittest
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(pathlib.Path(path).parent))
    spec.loader.exec_module(module)

    class Result(unittest.TextTestResult):
        successes = 0

        def addSuccess(self, test):
            super().addSuccess(test)
            self.successes += 1

    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(
        unittest.defaultTestLoader.loadTestsFromModule(module))
    bad = result.failures + result.errors
    for test, _ in bad:
        print("unittest failed:", test)
    for test, why in result.skipped:
        print("unittest skipped:", test, why)
    print(f"unittest: {result.successes} passed")
    return 0 if result.wasSuccessful() else 1


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default="build", help="where the unit tests were built")
    ap.add_argument("--unittest", help=argparse.SUPPRESS)
    ap.add_argument("names", nargs="*")
    a = ap.parse_args()
    reset_signals()
    if a.unittest:
        return unittest_file(a.unittest)
    env = dict(os.environ, LC_ALL="C.UTF-8", PYTHONPATH=str(ROOT / "tests"), PYTHONUNBUFFERED="1")
    env.setdefault("CHINWAG", str(ROOT / "chinwag"))
    jobs = [(cmocka, (ROOT / a.build / p.relative_to(ROOT)).with_suffix(""), p)
            for p in sorted(ROOT.glob("tests/unit/*/test_*.c"))]
    jobs += [(python, p, p) for d in ("golden", "e2e") for p in sorted((ROOT / "tests" / d).glob("test_*.py"))]
    tally = Tally()
    for kind, path, source in jobs:
        if a.names and not any(n in str(source) for n in a.names):
            continue
        name = str(source.relative_to(ROOT / "tests"))
        start = time.monotonic()
        bad, out = kind(path, name, env, tally)
        print(f"{'FAILED' if bad else 'ok':7s}{name} ({time.monotonic() - start:.1f} s)", flush=True)
        if bad:
            print(out, flush=True)
        for figure in re.findall(r"figure: (.*)$", out, re.M) if not bad else []:
            print("         " + figure, flush=True)
    for what, names in (("skipped", tally.skipped), ("failed", tally.failed)):
        for n in names:
            print(f"{what}: {n}")
    end = f"{tally.passed} passed, {len(tally.failed)} failed"
    print(end + (f", {len(tally.skipped)} skipped" if tally.skipped else ""))
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
