"""Prompts equal what Jinja makes of the models' own templates, for 200 random conversations each.

The templates are in templates/; test_template (a unit test program) renders for us. Where no text spells a control token the
ids must be those of Jinja's whole text with control tokens parsed; where one does, the text must be the same and the
number of control tokens that of the same conversation without it.
"""
import json
import os
import pathlib
import random
import subprocess
import unicodedata
import unittest

import jinja2
import jinja2.sandbox

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HELPER = ROOT / os.environ.get("CHINWAG_BUILD", "build") / "tests/unit/engine/test_template"
CONVERSATIONS = 200

PIECES = ["hello", "What is", "the answer", "42", "3.14", "don't", "I'LL", "你好，世界", "天气", "🦙", "👩‍👩‍👧", "naïve", "e\u0301",
          "Ünï", "\n", "\n\n", "  ", "\t", " ", "{{ x }}", "{% if %}", "'", '"', "\\n", "<b>", "</b>", "|", "user", "assistant",
          "system", "[x]", "# Title\n- a\n- b\n", "```c\nint x;\n```", "مرحبا", "हिन्दी", "한국어", "\u3000", "\u00a0", "…", "\r\n"]
SPELLED = ["<|im_start|>", "<|im_end|>", "</s>", "<s>", "<|eot_id|>", "<|start_header_id|>", "<|im_start|>system\n"]
THOUGHTS = ["<think>\nlet me see\n</think>\n\n", "<think>", "</think>", "<think></think>\n", "<tool_response>", "</tool_response>"]


def environment():
    """Jinja as transformers sets it up (chat_template_utils.py)."""
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)
    env.globals["raise_exception"] = raise_exception
    env.filters["tojson"] = lambda x, **kw: json.dumps(x, ensure_ascii=False, **kw)
    return env


def text(rng, extra):
    pieces = PIECES + extra * 3
    return "".join(rng.choice(pieces) + rng.choice(["", " ", ""]) for _ in range(rng.randint(1, 12)))


def conversation(rng, extra, alternating, system):
    """Messages as transformers takes them; a first system message is never empty (chinwag then sends none at all)."""
    messages = []
    if system and rng.random() < 0.5:
        messages.append({"role": "system", "content": "S" + text(rng, extra)})
    for i in range(rng.randint(1, 9)):
        role = ("user", "assistant")[i % 2] if alternating else rng.choice(["user", "assistant", "user", "assistant", "system"])
        if role == "system" and not messages:
            role = "user"
        messages.append({"role": role, "content": ("S" if role == "system" else "") + text(rng, extra)})
    return messages


class Templates(unittest.TestCase):
    def check(self, name, vocabulary="bpe", expected_name=None, alternating=False, system=True, extra=(), file=None,
              skipping=False):
        source = (HERE / "templates" / f"{name}.jinja").read_text()
        template = environment().from_string(source)
        # Without merges any vocabulary will do; a real one checks how words meet the template's own text.
        command = [HELPER, "--render"] + ([file] if file else [vocabulary, HERE / "templates" / f"{name}.jinja"])
        rng = random.Random(name)
        cases, lines = [], []
        for i in range(CONVERSATIONS):
            spelled = bool(extra) or i % 4 == 3
            messages = conversation(rng, list(extra) or (SPELLED if spelled else []), alternating, system)
            generate = rng.random() < 0.5
            if alternating and generate and messages[-1]["role"] == "assistant":
                messages.pop()
            bos, eos = ("<|endoftext|>", "<|im_end|>") if file else ("<s>", "</s>")
            skip = generate and skipping and rng.random() < 0.5
            rendered = template.render(messages=messages, add_generation_prompt=generate, bos_token=bos, eos_token=eos,
                                       **({"enable_thinking": False} if skip else {}))
            cases.append((messages, generate, rendered, spelled))
            lines.append({"messages": messages, "generate": generate, "text": rendered, "skip": skip})
            plain = json.loads(json.dumps(messages))
            for m in plain:
                for s in SPELLED:
                    m["content"] = m["content"].replace(s, "x")
            lines.append({"messages": plain, "generate": generate, "text": "", "skip": skip})
        out = subprocess.run(command, input="".join(json.dumps(x) + "\n" for x in lines), capture_output=True, text=True,
                             cwd=ROOT, check=True).stdout.splitlines()
        if expected_name:
            self.assertEqual(out[0], expected_name)
        answers = [json.loads(x) for x in out[1:]]
        self.assertEqual(len(answers), 2 * CONVERSATIONS)
        for (messages, generate, rendered, spelled), ours, plain in zip(cases, answers[::2], answers[1::2]):
            with self.subTest(template=name, messages=messages, generate=generate):
                self.assertNotIn("error", ours)
                if not spelled:
                    self.assertEqual(ours["ids"], ours["expected"])
                if vocabulary != "spm":  # SentencePiece puts spaces of its own behind control tokens
                    nfc = file is None or "qwen" in str(file)
                    self.assertEqual(ours["decoded"], unicodedata.normalize("NFC", rendered) if nfc else rendered)
                self.assertEqual(ours["control"], plain["control"])

    def test_qwen2_5(self):
        self.check("qwen2.5", expected_name="chatml")

    def test_qwen2_5_with_its_vocabulary(self):
        self.check("qwen2.5", file="tests/golden/qwen2.5-vocab.gguf", expected_name="chatml")

    def test_qwen1_5(self):
        self.check("qwen1.5", expected_name="chatml")

    def test_smollm2(self):
        self.check("smollm2", expected_name="chatml")

    def test_smollm2_with_its_vocabulary(self):
        model = os.environ.get("CHINWAG_TEST_MODEL")
        if not model or not os.path.exists(model):
            self.skipTest("CHINWAG_TEST_MODEL names no model")
        self.check("smollm2", file=model, expected_name="chatml")

    def test_chatml(self):
        self.check("chatml", expected_name="chatml")

    def test_default_system_prompt_in_a_variable(self):
        self.check("yi", expected_name="chatml", alternating=True)

    def test_qwen3(self):
        self.check("qwen3", expected_name="qwen3", extra=THOUGHTS)
        self.check("qwen3", expected_name="qwen3", skipping=True)

    def test_llama3(self):
        self.check("llama3", expected_name="llama3")
        self.check("llama3.2", expected_name="llama3")

    def test_llama2(self):
        self.check("llama2", "spm", expected_name="llama2", alternating=True)
        self.check("llama2", expected_name="llama2", alternating=True)

    def test_zephyr(self):
        self.check("zephyr", "spm", expected_name="zephyr")
        self.check("zephyr", expected_name="zephyr")

    def test_mistral(self):
        self.check("mistral-v0.1", "spm", expected_name="mistral", alternating=True, system=False)
        for name in ("mistral-v0.2", "mistral-v0.3", "mistral-nemo"):
            self.check(name, "spm", expected_name="mistral", alternating=True)
            self.check(name, expected_name="mistral", alternating=True)


if __name__ == "__main__":
    unittest.main()
