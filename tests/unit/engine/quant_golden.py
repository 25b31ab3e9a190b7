#!/usr/bin/env python3
"""Prints the table of test_quant.c: what gguf-py (pip install gguf), a second implementation of the formats, makes of
pseudo-random blocks. The bytes are the ones test_quant.c makes; of the floats there are a hash of all and the first three."""
import struct
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import dequantize

FORMATS = [("F16", 2, 1, [0]), ("BF16", 2, 1, []), ("Q4_0", 18, 32, [0]), ("Q4_1", 20, 32, [0, 2]),
           ("Q5_0", 22, 32, [0]), ("Q5_1", 24, 32, [0, 2]), ("Q8_0", 34, 32, [0]), ("Q2_K", 84, 256, [80, 82]),
           ("Q3_K", 110, 256, [108]), ("Q4_K", 144, 256, [0, 2]), ("Q5_K", 176, 256, [0, 2]), ("Q6_K", 210, 256, [208]),
           ("IQ4_NL", 18, 32, [0]), ("IQ4_XS", 136, 256, [0])]
BLOCKS = 64  # as in test_quant.c

for name, size, block, halves in FORMATS:
    state, data = 1, bytearray()
    for _ in range(size * BLOCKS):
        state = (state * 1664525 + 1013904223) % 2**32
        data.append(state >> 24)
    for b in range(BLOCKS):
        for h in halves:
            data[b * size + h + 1] &= 0xbf  # |half| < 2
    if name == "BF16":
        for b in range(BLOCKS):
            data[b * size + 1] &= 0xbf
    out = dequantize(np.frombuffer(bytes(data), np.uint8), T[name]).astype("<f4").reshape(-1)
    assert out.size == BLOCKS * block
    hashed = 0xcbf29ce484222325
    for (bits,) in struct.iter_unpack("<I", (out + np.float32(0)).tobytes()):  # + 0: no negative zeros
        hashed = ((hashed ^ bits) * 0x100000001b3) % 2**64
    first = ", ".join(f"{float(v):.9g}f" if "." in f"{float(v):.9g}" or "e" in f"{float(v):.9g}" else f"{float(v):.1f}f" for v in out[:3])
    print(f"    {{QUANT_{name}, {{{', '.join(map(str, halves + [-1] * (2 - len(halves))))}}}, 0x{hashed:016x}, {{{first}}}}},")
