#!/usr/bin/env python3
"""Full-size models from end to end: checkpoints of random weights with the names and shapes of real files.

usage: full_size_test.py GESSO MANIFESTS FOLDER [MODEL...]

Writes each checkpoint to FOLDER (2 to 7 GB, removed again), lets GESSO inspect it, plan, and paint a picture, and
checks what it says. Weights are f16 with a spread of 1/sqrt(fan-in), norms are 1, biases 0.
"""
import array
import gzip
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import time

# name: manifests that together are the file, what inspect must say, size and steps to paint
MODELS = {
    "sd15": (["sd15-ldm"], "Stable Diffusion 1.x", 512, 2),
    "sd21": (["sd2-unet-ldm", "sd2-openclip-h-ldm", "sd15-vae-ldm"], "Stable Diffusion 2.x", 512, 2),
    "sdxl": (["sdxl-base-sgm"], "Stable Diffusion XL", 512, 1),
}
POOL = 1 << 20


def pool_of(exponent, pools={}):
    """Normal f16 values with a spread of 2^exponent, as bytes."""
    if exponent not in pools:
        rng = random.Random(exponent)
        pools[exponent] = struct.pack(f"<{POOL}e", *(rng.gauss(0, 2.0**exponent) for _ in range(POOL)))
    return pools[exponent]


def content(name, shape):
    """The bytes of one f16 tensor, in pieces."""
    count = math.prod(shape)
    if len(shape) <= 1:
        is_scale = name.endswith("weight")
        yield (b"\x00\x3c" if is_scale else b"\x00\x00") * count
        return
    pool = pool_of(round(math.log2(1 / math.sqrt(max(1, math.prod(shape[1:]))))))
    size, start = 2 * count, 2 * (hash(name) % (POOL // 2))
    while size > 0:
        piece = pool[start : start + size]
        yield piece
        size -= len(piece)
        start = 0


def write(path, folder, manifests):
    tensors = {}
    for name in manifests:
        tensors |= json.load(gzip.open(folder / f"{name}.json.gz"))["tensors"]
    header, offset = {}, 0
    for name, shape in tensors.items():
        integer = name.endswith("position_ids")
        size = math.prod(shape) * (8 if integer else 2)
        header[name] = {"dtype": "I64" if integer else "F16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in tensors.items():
            if name.endswith("position_ids"):
                file.write(array.array("q", range(math.prod(shape))).tobytes())
            else:
                for piece in content(name, shape):
                    file.write(piece)


def run(*command):
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"$ {' '.join(map(str, command))}   ({time.monotonic() - start:.1f} s)\n{done.stdout}{done.stderr}", flush=True)
    return done.stdout + done.stderr


def check(gesso, manifests, folder, name):
    parts, family, size, steps = MODELS[name]
    model, picture = folder / f"{name}.safetensors", folder / f"{name}.png"
    if not model.exists():
        write(model, manifests, parts)
    try:
        said = run(gesso, "inspect", model)
        assert family in said and "missing" not in said, said
        common = ["-m", model, "-p", "a lighthouse", "-W", str(size), "-H", str(size), "--steps", str(steps)]
        assert "peak memory" in run(gesso, *common, "--dry-run")
        run(gesso, *common, "-o", picture)
        assert picture.read_bytes().startswith(b"\x89PNG"), picture
    finally:
        model.unlink(missing_ok=True)


def main():
    gesso, manifests, folder, *names = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or MODELS:
        check(gesso, pathlib.Path(manifests), folder, name)


if __name__ == "__main__":
    main()
