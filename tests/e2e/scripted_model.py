"""A model that says what it is told to: a GGUF file for tests in which every token is followed by one other token.

One-hot embeddings, layers of zeros, and an output matrix that puts a one where the next token stands: the highest logit after
token t is next(t), whatever came before. A byte-level vocabulary lets any text be asked; each piece of the script is a token
of its own besides. The prompt's last token is the newline of "assistant\n", and the script follows it.
"""
import pathlib
import struct

import numpy

TEMPLATES = pathlib.Path(__file__).resolve().parents[1] / "golden/templates"
U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5
NORMAL, CONTROL, USER = 1, 3, 4
WIDTH, HEADS, INNER = 512, 8, 32


def alphabet():
    """GPT-2's characters for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def string(s):
    raw = s.encode()
    return struct.pack("<Q", len(raw)) + raw


def key(name, kind, payload):
    return string(name) + struct.pack("<I", kind) + payload


def array(name, kind, values, pack):
    return key(name, ARRAY, struct.pack("<IQ", kind, len(values)) + b"".join(map(pack, values)))


def write(path, script, again=None, marks=USER, context=2048, begins=False, whole=(), template="qwen3.jinja",
          chatml=True, after=10, architecture="llama", feed_forward=None, matrices=0, **extra):
    """script: the pieces that follow the prompt, each a token. again: the piece's index that follows the last one; None ends
    the answer there. marks: the token type of <think> and </think> in the script. begins: the template begins the thought,
    as that of Qwen3-Thinking does, so that the script goes on with it. whole: pieces that are one token in a prompt, too.
    template: a file of golden/templates, a template's text, or None for a file without one. chatml: the vocabulary has ChatML's
    tokens. after: the prompt's last token, which the script follows. architecture: its general.architecture. feed_forward: its
    length as an array. matrices: the format, ggml's id, that every matrix claims. extra: more tensors, by name with "__" for each dot."""
    letters = alphabet()
    tokens = [letters[b] for b in range(256)] + ["<|endoftext|>", *(["<|im_start|>", "<|im_end|>"] if chatml else ["<a>", "<b>"])]
    types = [NORMAL] * 256 + [CONTROL] * 3
    first, end = len(tokens), 258
    for piece in script:
        kind = marks if piece in ("<think>", "</think>") else USER if piece in whole else NORMAL
        tokens.append("".join(letters[b] for b in piece.encode()) if kind == NORMAL else piece)
        types.append(kind)
    n = len(tokens)
    assert n <= WIDTH
    follows = {after: first, **{first + i: first + i + 1 for i in range(len(script) - 1)}}
    follows[n - 1] = end if again is None else first + again

    embedding = numpy.eye(n, WIDTH, dtype="<f4")
    output = numpy.zeros((n, WIDTH), "<f4")
    for token, next_token in follows.items():
        output[next_token, token] = 1
    square, inner = numpy.zeros((WIDTH, WIDTH), "<f4"), numpy.zeros((INNER, WIDTH), "<f4")
    norm = numpy.ones(WIDTH, "<f4")
    tensors = {"token_embd.weight": embedding, "output.weight": output, "output_norm.weight": norm,
               "blk.0.attn_norm.weight": norm, "blk.0.ffn_norm.weight": norm,
               **{f"blk.0.attn_{x}.weight": square for x in ("q", "k", "v", "output")},
               "blk.0.ffn_gate.weight": inner, "blk.0.ffn_up.weight": inner, "blk.0.ffn_down.weight": inner.T,
               **({f"blk.0.attn_{x}.bias": numpy.zeros(WIDTH, "<f4") for x in "qkv"} if architecture == "qwen2" else {}),
               **{name.replace("__", "."): numpy.asarray(t, "<f4") for name, t in extra.items()}}
    if template and template.endswith(".jinja"):
        template = (TEMPLATES / template).read_text()
    if begins:
        template += "{{- '<|im_start|>assistant\\n<think>\\n' }}"
    number = lambda name, v: key(name, U32, struct.pack("<I", v))
    keys = [key("general.architecture", STRING, string(architecture)), key("general.name", STRING, string("Script")),
            *(number(f"{architecture}.{name}", v) for name, v in (("context_length", context), ("embedding_length", WIDTH),
                                                                  ("block_count", 1), ("attention.head_count", HEADS))),
            array(f"{architecture}.feed_forward_length", U32, feed_forward, lambda v: struct.pack("<I", v)) if feed_forward
            else number(f"{architecture}.feed_forward_length", INNER),
            key(f"{architecture}.attention.layer_norm_rms_epsilon", F32, struct.pack("<f", 1e-6)),
            key("tokenizer.ggml.model", STRING, string("gpt2")), key("tokenizer.ggml.pre", STRING, string("qwen2")),
            array("tokenizer.ggml.tokens", STRING, tokens, string),
            array("tokenizer.ggml.token_type", I32, types, lambda t: struct.pack("<i", t)),
            array("tokenizer.ggml.merges", STRING, [], string),
            number("tokenizer.ggml.eos_token_id", end), number("tokenizer.ggml.bos_token_id", 256),
            *([key("tokenizer.chat_template", STRING, string(template))] if template else [])]
    header, data = b"", b""
    for name, t in tensors.items():
        header += string(name) + struct.pack("<I", t.ndim) + b"".join(struct.pack("<Q", d) for d in t.shape[::-1])
        header += struct.pack("<IQ", matrices if t.ndim == 2 else 0, len(data))
        data += numpy.ascontiguousarray(t).tobytes()
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + header
    pathlib.Path(path).write_bytes(head + bytes(-len(head) % 32) + data)
