"""The commands for machines: perplexity as llama-perplexity measures it, inspect on every golden file, bench's figures."""
import hashlib
import json
import os
import pathlib
import re
import unittest

import golden

# The first 20 KiB of the GNU GPL, version 3, as Debian's base-files has it; llama-perplexity (llama.cpp of llama-cpp-python
# 0.3.36, -c 512) says 18.4942 of it with SmolLM2-135M-Instruct.Q4_1.
TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
TEXT_BYTES = 20480
TEXT_SHA256 = "7bd5042dff282b594d8cddf285059b1e837ccefa2414c001859ec8154ea0e281"
PEER_PERPLEXITY = 18.4942


def default_model(test):
    model = golden.find("SmolLM2-135M-Instruct.Q4_1.gguf")
    if model is None:
        test.skipTest("SmolLM2-135M-Instruct.Q4_1.gguf is not here")
    return model


class Perplexity(unittest.TestCase):
    def test_is_within_a_hundredth_of_the_peers(self):
        model = default_model(self)
        text = TEXT.read_bytes()[:TEXT_BYTES] if TEXT.exists() else b""
        if hashlib.sha256(text).hexdigest() != TEXT_SHA256:
            self.skipTest(f"{TEXT} is not the text that was measured")
        path = pathlib.Path(os.environ.get("TMPDIR", "/tmp"), f"chinwag-perplexity-{os.getpid()}.txt")
        path.write_bytes(text)
        self.addCleanup(path.unlink)
        out = golden.run("perplexity", "-m", model, "-f", path, "-c", 512).stdout
        ours = float(re.search(r"perplexity ([\d.]+) over 2040 tokens in 8 windows of 512", out).group(1))
        print(f"figure: perplexity {ours}, llama-perplexity's {PEER_PERPLEXITY}: {ours / PEER_PERPLEXITY - 1:+.2%}")
        self.assertLess(abs(ours / PEER_PERPLEXITY - 1), 0.01)

    def test_a_text_shorter_than_a_window_is_refused(self):
        p = golden.run("perplexity", "-m", golden.find("qwen2-nano-Q4_0.gguf"), "-f", golden.HERE / "golden.py",
                       "-c", 100000, check=False)
        self.assertEqual(p.returncode, 1)
        self.assertRegex(p.stderr, r"\Achinwag: .*fewer than one window.*\n\Z")


    def test_the_text_begins_with_bos_where_the_file_says_so(self):
        raw = golden.find("qwen2-nano-Q4_0.gguf").read_bytes()
        key = b"tokenizer.ggml.add_bos_token"
        at = raw.index(key) + len(key) + 4
        path = pathlib.Path(os.environ.get("TMPDIR", "/tmp"), f"chinwag-bos-{os.getpid()}.gguf")
        self.addCleanup(path.unlink)
        figures = []
        for add in (0, 1):
            path.write_bytes(raw[:at] + bytes([add]) + raw[at + 1:])
            figures.append(golden.run("perplexity", "-m", path, "-f", golden.HERE / "golden.py", "-c", 64).stdout)
        self.assertEqual(figures[0], golden.run("perplexity", "-m", golden.find("qwen2-nano-Q4_0.gguf"), "-f",
                                                golden.HERE / "golden.py", "-c", 64).stdout)
        self.assertNotEqual(figures[0], figures[1])

    def test_takes_the_type_of_the_cache_and_an_attention_window(self):
        text = golden.HERE / "golden.py"
        model = golden.find("qwen2-nano-Q4_0.gguf")
        figure = lambda *more: golden.run("perplexity", "-m", model, "-f", text, "-c", 256, *more).stdout
        self.assertNotEqual(figure(), figure("--kv", "q8_0"))
        self.assertNotEqual(figure(), figure("--attn-window", 64))
        self.assertEqual(figure(), figure("--kv", "f16", "--attn-window", 0))
        p = golden.run("perplexity", "-m", model, "-f", text, "--kv", "f8", check=False)
        self.assertEqual((p.returncode, p.stdout), (2, ""))


class Inspect(unittest.TestCase):
    def test_tells_what_every_nano_file_is(self):
        files = sorted({row["model"] for row in golden.rows("nano-logits.jsonl")})
        seen = 0
        for name in files:
            model = golden.find(name)
            if model is None:
                continue
            with self.subTest(name):
                out = golden.run("inspect", model, "-c", 64).stdout
                architecture = name.split("-")[0]
                self.assertRegex(out, rf"(?m)^architecture +{architecture}: 2 layers, (256|160) wide")
                self.assertRegex(out, r"(?m)^tokenizer +qwen2, 544 tokens$")
                self.assertRegex(out, r"(?m)^template +chatml$")
                self.assertRegex(out, r"(?m)^memory +.*KV cache at -c 64 ")
                seen += 1
        print(f"figure: {seen} of {len(files)} nano files inspected")
        self.assertGreaterEqual(seen, 8)


class Bench(unittest.TestCase):
    def test_prints_one_object_with_its_figures(self):
        out = golden.run("bench", "-m", golden.find("qwen2-nano-Q4_0.gguf"), "-p", 32, "-n", 8, "-d", 40, "-t", 2,
                         "--json").stdout
        figures = json.loads(out)
        for key in ("pp_tps", "tg_tps", "load_ms", "ttft_ms", "rss_kb", "vocab_ms"):
            self.assertGreater(figures[key], 0, key)
        self.assertEqual((figures["threads"], figures["depth"]), (2, 40))

    def test_says_how_long_the_vocabulary_took(self):
        figures = json.loads(golden.run("bench", "-m", default_model(self), "-p", 1, "-n", 1, "--json").stdout)
        print(f"figure: the vocabulary of 49,152 tokens took {figures['vocab_ms']:.0f} ms, the model {figures['load_ms']:.0f} ms")
        self.assertLess(figures["vocab_ms"], figures["load_ms"])


if __name__ == "__main__":
    unittest.main()
