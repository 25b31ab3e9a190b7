"""Token ids equal those of the models' original tokenizers, on every golden line."""
import json
import unittest

import golden


class Tokens(unittest.TestCase):
    def check(self, file, model, key, *options):
        path = golden.find(model)
        if path is None:
            self.skipTest(f"{model} is not here")
        lines = golden.rows(file)
        out = golden.run("tokenize", "-m", path, "--jsonl", *options,
                         stdin="".join(json.dumps(r["text"]) + "\n" for r in lines)).stdout
        ids = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(ids), len(lines))
        for row, got in zip(lines, ids):
            self.assertEqual(got, row[key], row["text"])
        print(f"figure: {len(ids)} lines of {file} ({key}) equal")

    def test_smollm2_typed_text(self):
        self.check("tokens-smollm2.jsonl", "SmolLM2-135M-Instruct.Q4_1.gguf", "plain")

    def test_qwen25_typed_text(self):
        self.check("tokens-qwen2.5.jsonl", "qwen2.5-vocab.gguf", "plain")

    def test_qwen25_special_tokens(self):
        self.check("tokens-qwen2.5.jsonl", "qwen2.5-vocab.gguf", "special", "--special")

    def test_a_line_that_is_no_json_string_is_refused(self):
        p = golden.run("tokenize", "-m", golden.find("qwen2.5-vocab.gguf"), "--jsonl", stdin='"a"\n[1]\n', check=False)
        self.assertEqual(p.returncode, 1)
        self.assertRegex(p.stderr, r"\Achinwag: line 2 .*\n\Z")


if __name__ == "__main__":
    unittest.main()
