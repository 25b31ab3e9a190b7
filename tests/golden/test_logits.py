"""The engine's distributions are as close to what the file means as llama.cpp's, with every kernel set of this CPU."""
import os
import pathlib
import shlex
import shutil
import subprocess
import unittest

import numpy as np

import golden

ARM64 = pathlib.Path(os.environ.get("CHINWAG_BUILD", golden.HERE.parent.parent / "build"), "arm64/chinwag")
EXACT_FORMATS = ("F32", "F16", "BF16")  # float weights: no activation is quantized, so nothing but rounding may differ


def reference(row):
    path = golden.find(row["logits"])
    return np.fromfile(path, "<f4").reshape(len(row["positions"]), row["vocab"])


def check_nano_files(test, sets):
    """Every nano file with every kernel set: finite, and within its bound of the reference."""
    worst, checked = 0.0, 0
    for row in golden.rows("nano-logits.jsonl"):
        with test.subTest(row["model"]):
            model = golden.find(row["model"])
            if model is None:
                test.skipTest(f"{row['model']} is not here")
            exact = row["model"].rsplit("-", 1)[1].removesuffix(".gguf") in EXACT_FORMATS
            bound = 1e-5 if exact else 1.2 * row["peer_kl_mean"] + 1e-6
            for cpu in sets:
                z = golden.logits(model, row["ids"], env={"CHINWAG_CPU": cpu})
                test.assertTrue(np.isfinite(z).all(), cpu)
                kl = golden.divergence(reference(row), z[row["positions"]]).mean()
                test.assertLessEqual(kl, bound, cpu)
                worst, checked = max(worst, kl / bound), checked + 1
    print(f"figure: {checked} pairs of nano file and kernel set ({', '.join(sets)}); "
          f"largest KL is {worst:.2f} of its bound")


class Logits(unittest.TestCase):
    def test_smollm2(self):
        model = golden.find("SmolLM2-135M-Instruct.Q4_1.gguf")
        if model is None:
            self.skipTest("SmolLM2-135M-Instruct.Q4_1.gguf is not here")
        rows = golden.rows("smollm2-logits.jsonl")
        peer = np.mean([r["peer_kl_mean"] for r in rows])
        for cpu in golden.kernel_sets():
            ours = [golden.logits(model, r["ids"], env={"CHINWAG_CPU": cpu}) for r in rows]
            self.assertTrue(all(np.isfinite(z).all() for z in ours))
            kl = np.mean([golden.divergence(reference(r), z[r["positions"]]).mean() for r, z in zip(rows, ours)])
            print(f"figure: {cpu}: KL to the reference {kl:.6f}, {kl / peer:.2f} x llama.cpp's {peer:.6f}")
            self.assertLessEqual(kl, 1.3 * peer, cpu)

    def test_every_golden_nano_file_is_tried_or_named(self):
        check_nano_files(self, golden.kernel_sets())

    def test_threads_do_not_change_a_bit(self):
        model = golden.find("qwen2-nano-Q4_K_M.gguf")
        ids = golden.rows("nano-logits.jsonl")[0]["ids"]
        for cpu in golden.kernel_sets():
            one, two, three = (golden.logits(model, ids, threads=t, env={"CHINWAG_CPU": cpu}) for t in (1, 2, 3))
            self.assertEqual(one.tobytes(), two.tobytes(), cpu)
            self.assertEqual(one.tobytes(), three.tobytes(), cpu)


@unittest.skipUnless(ARM64.exists() and shutil.which("qemu-aarch64"), "the program for arm64 (make arm64) or qemu is not here")
class Arm64(unittest.TestCase):
    def setUp(self):
        self.native, golden.CHINWAG = golden.CHINWAG, f"qemu-aarch64 {shlex.quote(str(ARM64))}"

    def tearDown(self):
        golden.CHINWAG = self.native

    def test_every_golden_nano_file_with_neon(self):
        sets = golden.kernel_sets()
        self.assertEqual(sets, ["scalar", "neon", "neondot"])
        check_nano_files(self, ["neon", "neondot"])

    def test_the_kernels_equal_the_scalar_ones(self):
        for program in sorted((ARM64.parent / "tests/unit/engine").glob("test_*")):
            if program.suffix == "":
                p = subprocess.run(["qemu-aarch64", program], cwd=golden.HERE.parent.parent, capture_output=True, text=True)
                self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
                self.assertIn("test(s) run.", p.stdout)


if __name__ == "__main__":
    unittest.main()
