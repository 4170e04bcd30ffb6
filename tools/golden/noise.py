"""Seeded noise: noise.safetensors, what torch.randn gives on the CPU and on CUDA.

cpu.*: torch itself, a fresh generator for each tensor. Its engine keeps 32 bits of the seed. Below 16 values it draws
double normals one by one in pairs (the second of a pair waits in the generator, also for the next call); from 16 on it
fills blocks of 16 in f32, and a last block that is not full is drawn anew over the last 16 values.

cuda.*: Philox4x32-10 as CUDA's kernel uses it, written from its definition (Salmon et al., SC11). Value i of the
generator's call c comes from the counter (c, 0, i, 0) under the key (seed low, seed high); the first two of the four
words, a and b, give sqrt(-2 ln u) sin v with u = a 2^-32 + 2^-33 and v = b 2pi 2^-32 + pi 2^-32 in f32. This is the
stream that A1111 calls NV; a real device gives it as long as it has a thread for every value.

<device>.<seed>.<size>: a whole tensor; .<size>.first and .last: its first 32 and last 8 values.
<device>.<seed>.latent: the shape [4, 64, 64]. <device>.<seed>.call.<n>: successive calls of one generator.
"""

import numpy as np
import torch

from common import GOLDEN, save

SEEDS = (0, 1, 42, 123456789, 2**32 + 5, 2**63 - 1)
SIZES = (1, 5, 15, 16, 17, 31, 64)
LATENT = (4, 64, 64)
CALLS = (5, 4, 16, 3, 33)

# What A1111's documentation of this stream prints for seed 0.
KNOWN = [-0.92466259, -0.42534415, -2.6438457, 0.14518388, -0.12086647, -0.57972564]


def philox(counter, key):
    """Ten rounds on four uint32 arrays."""
    word = np.uint64(0xFFFFFFFF)
    counter, (low, high) = [c.astype(np.uint64) for c in counter], (np.uint64(k) for k in key)
    for _ in range(10):
        a, b = counter[0] * np.uint64(0xD2511F53), counter[2] * np.uint64(0xCD9E8D57)
        counter = [(b >> np.uint64(32)) ^ counter[1] ^ low, b & word, (a >> np.uint64(32)) ^ counter[3] ^ high, a & word]
        low, high = (low + np.uint64(0x9E3779B9)) & word, (high + np.uint64(0xBB67AE85)) & word
    return counter


def fused(words, scale):
    """words * scale + scale / 2 with f32 words and scale, rounded once."""
    return (words.astype(np.float32).astype(np.float64) * scale + scale / 2).astype(np.float32)


def cuda_randn(seed, count, call=0):
    index = np.arange(count, dtype=np.uint32)
    zero = np.zeros_like(index)
    a, b, *_ = philox((zero + np.uint32(call), zero, index, zero), (seed & 0xFFFFFFFF, seed >> 32))
    u = fused(a, float(np.float32(2.0**-32)))
    v = fused(b, float(np.float32(2 * np.pi * 2.0**-32)))
    logarithm = np.log(u.astype(np.float64)).astype(np.float32)
    radius = np.sqrt(np.float32(-2) * logarithm)
    return torch.from_numpy(radius * np.sin(v.astype(np.float64)).astype(np.float32))


def main():
    assert np.allclose(cuda_randn(0, len(KNOWN)), KNOWN, atol=1e-6)
    golden = {}

    def add(name, make):
        golden.update({f"{name}.{size}": make(size) for size in SIZES})
        latent = make(int(np.prod(LATENT)))
        golden[f"{name}.{latent.numel()}.first"] = latent[:32]
        golden[f"{name}.{latent.numel()}.last"] = latent[-8:]

    for seed in SEEDS:
        add(f"cpu.{seed}", lambda size: torch.randn(size, generator=torch.Generator().manual_seed(seed)))
        add(f"cuda.{seed}", lambda size: cuda_randn(seed, size))
    golden["cpu.42.latent"] = torch.randn(LATENT, generator=torch.Generator().manual_seed(42))
    golden["cuda.42.latent"] = cuda_randn(42, int(np.prod(LATENT))).reshape(LATENT)
    generator = torch.Generator().manual_seed(42)
    for call, size in enumerate(CALLS):
        golden[f"cpu.42.call.{call}"] = torch.randn(size, generator=generator)
        golden[f"cuda.42.call.{call}"] = cuda_randn(42, size, call)
    save(GOLDEN / "noise.safetensors", {}, golden)


if __name__ == "__main__":
    main()
