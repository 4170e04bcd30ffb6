#!/usr/bin/env python3
"""Real upscalers against torch: usage: upscale_test.py GESSO FOLDER

$GESSO_UPSCALERS is a folder with upscalers (.pth, .safetensors: RRDBNet in either naming, SRVGGNetCompact). Needs torch,
safetensors and Pillow; without them or the folder the test is skipped (exit code 77). $GESSO_UPSCALERS_PYTHON names the
Python that has them, when it is not this one.

For each file, three pictures drawn here (a landscape of gradients and noise, shapes with hard edges, fine stripes) must
come out of `gesso upscale` within 1/255 of what torch makes of them, in f32. Then one that takes several tiles is set
against the same in one.
"""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
SIZE = (72, 56)  # width, height
# What tiles change, in 255ths. Networks that see no further than the overlap: nothing but a rounding here and there.
# Deep ones draw some texture otherwise, which is not worse, and passes from tile to tile over 16 pixels: 23 blocks gave
# 0.05 in the mean and 3 at most.
EXACT, DEEP_MEAN, DEEP_MOST = 1, 0.25, 12


def run_elsewhere():
    """In the Python that has torch, when this one has not."""
    python = os.environ.pop("GESSO_UPSCALERS_PYTHON", None)  # so that it is tried once
    if not python:
        print("skipped: needs torch, safetensors and Pillow ($GESSO_UPSCALERS_PYTHON: the Python that has them)")
        sys.exit(SKIPPED)
    os.execv(python, [python, "-B", *sys.argv])


def pictures(width, height):
    import numpy as np

    rng = np.random.default_rng(7)
    y, x = np.mgrid[0:height, 0:width] / max(width, height)
    hill = y > 0.55 + 0.1 * np.sin(6 * x)
    land = np.where(hill[..., None], [90, 140, 60], np.stack([120 + 90 * y, 160 + 60 * y, 230 - 30 * y], -1))
    land = land + rng.normal(0, 8, land.shape)
    shapes = np.full((height, width, 3), 235.0)
    for _ in range(14):
        cx, cy, r = rng.random(), rng.random() * height / width, 0.03 + 0.12 * rng.random()
        inside = (x - cx) ** 2 + (y - cy) ** 2 < r * r if rng.random() < 0.5 else abs(x - cx) + abs(y - cy) < r
        shapes[inside] = rng.integers(0, 255, 3)
    angle = 40 + 200 * x
    stripes = np.stack([127 + 120 * np.sin(angle * (x + y)), 127 + 120 * np.sin(90 * y), 255 * ((x * 40).astype(int) % 2)], -1)
    return {"land": land, "shapes": shapes, "stripes": stripes}


def load(path):
    import torch
    from safetensors.torch import load_file

    return load_file(path) if path.suffix == ".safetensors" else torch.load(path, map_location="cpu", weights_only=True)


def upscaled(gesso, model, picture, result, *options):
    from PIL import Image
    import numpy as np

    command = [gesso, "upscale", picture, "--upscale-model", model, "--precision", "f32", "-o", result, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return np.asarray(Image.open(result)).astype(int)


def check(gesso, model, folder):
    import numpy as np
    import torch
    from PIL import Image
    from upscale_networks import RRDBNet, network_of

    network = network_of(load(model))
    for name, values in pictures(*SIZE).items():
        pixels = np.clip(np.rint(values), 0, 255).astype(np.uint8)
        picture = folder / f"{name}.png"
        Image.fromarray(pixels).save(picture)
        x = torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255
        with torch.no_grad():
            expected = network(x).clamp(0, 1).mul(255).round()[0].permute(1, 2, 0).numpy().astype(int)
        difference = abs(upscaled(gesso, model, picture, folder / "result.png") - expected)
        print(f"{model.name}, {name}: within {difference.max()}/255, {np.mean(difference > 0):.2%} differ", flush=True)
        assert difference.max() <= 1, (model, name)

    pixels = np.clip(np.rint(pictures(168, 120)["land"]), 0, 255).astype(np.uint8)
    picture = folder / "larger.png"
    Image.fromarray(pixels).save(picture)
    whole = upscaled(gesso, model, picture, folder / "whole.png")
    difference = abs(upscaled(gesso, model, picture, folder / "tiled.png", "--tile", "112") - whole)
    print(f"{model.name}, in tiles: mean {difference.mean():.3f}/255, at most {difference.max()}/255", flush=True)
    deep = isinstance(network, RRDBNet) and len(network.body) > 3
    assert difference.mean() <= (DEEP_MEAN if deep else EXACT) and difference.max() <= (DEEP_MOST if deep else EXACT)


def main():
    gesso, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    models = os.environ.get("GESSO_UPSCALERS")
    if not models:
        print("skipped: $GESSO_UPSCALERS names no folder")
        sys.exit(SKIPPED)
    try:
        import PIL  # noqa: F401
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        run_elsewhere()
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "golden"))
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(p for p in pathlib.Path(models).iterdir() if p.suffix in (".pth", ".safetensors"))
    assert files, f"no upscaler in {models}"
    for model in files:
        check(gesso, model, folder)


if __name__ == "__main__":
    main()
