"""Whole answers under AddressSanitizer and UBSan; generate, cancel and changed settings under ThreadSanitizer."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("CHINWAG_BUILD", "build")
NANO = ROOT / "tests/golden"
MODEL = os.environ.get("CHINWAG_TEST_MODEL", "")


def run(*command, **env):
    """What the command printed; fails on any status but 0, which a sanitizer's report is not."""
    with tempfile.TemporaryDirectory() as home:
        p = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           errors="replace", cwd=ROOT, timeout=1200,
                           env={**os.environ, "HOME": home, "XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home, **env})
    if p.returncode:
        raise AssertionError(f"exit {p.returncode}\n{p.stdout[-3000:]}\n{p.stderr[-6000:]}")
    return p.stdout


@unittest.skipUnless((BUILD / "asan/chinwag").exists(), "the program under AddressSanitizer (make sanitized) is not here")
class Address(unittest.TestCase):
    program = BUILD / "asan/chinwag"

    @unittest.skipUnless(os.path.exists(MODEL), "the default model is not here")
    def test_an_answer_of_the_default_model(self):
        out = run(self.program, "-m", MODEL, "-p", "What is the sea? 海是什么？", "-n", "40", "--seed", "1")
        self.assertTrue(out.strip())

    def test_an_answer_of_every_nano_file_kept_in_a_database(self):
        for model in sorted(NANO.glob("*-nano-*.gguf")):
            for options in ([], ["--kv", "q8_0"], ["--attn-window", "64"], ["--no-repack", "--no-mmap"]):
                run(self.program, "-m", model, "-p", "x " * 60, "-n", "20", "--seed", "1", "--save", *options)


@unittest.skipUnless((BUILD / "tsan/chinwag").exists(), "the program under ThreadSanitizer (make sanitized) is not here")
class Thread(unittest.TestCase):
    def test_generate_cancel_and_settings_changes(self):
        out = run(BUILD / "tsan/tests/unit/src/test_worker", CHINWAG_TEST_MODEL="")
        self.assertIn("test(s) run.", out)

    def test_an_answer_on_three_threads(self):
        run(BUILD / "tsan/chinwag", "-m", NANO / "qwen2-nano-Q4_K_M.gguf", "-p", "x " * 60, "-n", "40", "-t", "3", "--save")


if __name__ == "__main__":
    unittest.main()
