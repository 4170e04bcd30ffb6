"""quant: blocks of every quantised type of GGUF, what they stand for, and what values become in them.

References: gguf.quants (PyPI gguf) dequantises; libgguf (PyPI, ggml's own C code) quantises, and dequantises Q1_0, which
gguf.quants does not have. Where both can do a thing they are held to each other.

`golden.<type>.blocks` u8 [n, bytes] are random bytes with the scale made a sensible number; `values` f32 [n, elements] is
what they mean. `golden.x` f32 [3, 512] are rows whose halves are of several kinds (plain, one column outstanding, tiny, all
of one sign, zeros to begin with, zeros between); `golden.<type>.plain` u8 [3, ...] are their blocks
(IQ3_S: of the first two; the reference writes what follows an empty group of 32 to the place of that group).

`golden.<type>.digests` i64 [3] are CRC-32 of more than a file in a repository should hold: of the values of DIGEST_BLOCKS
blocks of random bytes (every NaN as 0x7fc00000), and of the blocks of `x` and DIGEST_ROWS random rows, without and with
`golden.importance` f32 [512]. The random bytes are those of the Mersenne twister that C++ has too (std::mt19937).
"""

import zlib

import gguf
import libgguf
import numpy as np
import torch
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from common import GOLDEN, normal, save

TYPES = ("Q1_0 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S "
         "IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4 NVFP4").split()
NEED_IMPORTANCE = ("IQ1_S", "IQ2_XXS", "IQ2_XS")  # without it, all columns count the same
# Where the f16 numbers of a block lie; IQ1_M spreads its one over four words.
F16 = {"Q4_1": [0, 2], "Q5_1": [0, 2], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
       "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": [], "IQ1_M": []}


DIGEST_BLOCKS, DIGEST_ROWS, WIDTH = 512, 32, 512


def random_blocks(name, count):
    elements, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    rng = np.random.Generator(np.random.PCG64(sum(name.encode())))
    blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
    for at in F16.get(name, [0]):
        scales = (rng.standard_normal(count) * 0.05).astype(np.float16)
        blocks[:, at:at + 2] = scales.view(np.uint8).reshape(count, 2)
    if name == "MXFP4":
        blocks[:, 0] = [0, 1, 2, 127][:count]
    if name == "NVFP4":
        blocks[:, :4] = [[0, 1, 7, 8], [9, 0x77, 0x7E, 0x7F], [0x38, 0x40, 0x10, 0x20], [3, 0x30, 0x0F, 0x08]][:count]
    if name == "IQ1_M":  # top bit and the next of the f16 scale, in the last word, hold its size down
        blocks[:, 55] = blocks[:, 55] & 0x0F | 0x20
    return blocks


def one_nan(values):
    """`values` with every NaN the same; its sign and payload are whatever an instruction left."""
    return np.where(np.isnan(values), np.float32(np.nan), values).astype(np.float32)


def reference_values(name, blocks):
    kind = GGMLQuantizationType[name]
    with np.errstate(all="ignore"):
        values = one_nan(libgguf.dequantize_rows(blocks, kind))
        if name != "Q1_0":
            assert np.array_equal(values.view(np.uint32), one_nan(gguf.quants.dequantize(blocks, kind)).view(np.uint32)), name
    return values


def reference_blocks(name, x, importance):
    kind = GGMLQuantizationType[name]
    if importance is None and name in NEED_IMPORTANCE:
        importance = np.ones(WIDTH, np.float32)
    blocks = libgguf.quantize_rows(x, kind, importance)
    if importance is None:
        try:
            assert np.array_equal(blocks, gguf.quants.quantize(x, kind)), name
        except NotImplementedError:
            pass
    return blocks


def crc(array):
    return zlib.crc32(np.ascontiguousarray(array).tobytes())


def digest_of_values(name):
    _, size = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    raw = np.random.RandomState(7).bytes(DIGEST_BLOCKS * size)
    return crc(reference_values(name, np.frombuffer(raw, np.uint8).reshape(DIGEST_BLOCKS, size)))


def digest_rows():
    """Sums of four 16-bit numbers each, exact in f32; a row is half as large as the one before, eight times."""
    raw = np.random.RandomState(8).bytes(DIGEST_ROWS * WIDTH * 8)
    sums = np.frombuffer(raw, "<u2").astype(np.int32).reshape(DIGEST_ROWS, WIDTH, 4).sum(-1) - 131070
    scales = 2.0 ** -(17 + np.arange(DIGEST_ROWS) % 8)
    return (sums * scales[:, None]).astype(np.float32)


def rows():
    x = 0.05 * normal("quant/x", (6, 256)).numpy()
    x[1, 7::64] *= 20
    x[2] *= 1e-4
    x[3] = abs(x[3]) + 0.01
    x[4, :150] = 0
    x[5, ::3] = 0
    return x.astype(np.float32).reshape(3, WIDTH)


def main():
    x = rows()
    importance = np.exp(normal("quant/importance", (WIDTH,)).numpy()).astype(np.float32)
    golden = {"x": torch.from_numpy(x), "importance": torch.from_numpy(importance)}
    for name in TYPES:
        elements, _ = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
        blocks = random_blocks(name, 4 if elements < 128 else 1)
        golden[f"{name}.blocks"] = torch.from_numpy(blocks)
        golden[f"{name}.values"] = torch.from_numpy(reference_values(name, blocks))
        some = x[:2] if name == "IQ3_S" else x
        many = np.concatenate([some, digest_rows()])
        golden[f"{name}.plain"] = torch.from_numpy(reference_blocks(name, some, None))
        digests = [digest_of_values(name)] + [crc(reference_blocks(name, many, w)) for w in (None, importance)]
        golden[f"{name}.digests"] = torch.tensor(digests)
    save(GOLDEN / "quant.safetensors", {}, golden)


if __name__ == "__main__":
    main()
