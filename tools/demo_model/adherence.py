"""Measure how well pictures follow their prompts, on scenes kept out of training.

    adherence.py MODEL --engine PATH/gesso --checker STATE/checker.pt
    adherence.py MODEL --sampler torch     the sampler of this folder instead of the engine
    adherence.py MODEL --sampler scenes    the true scenes through the autoencoder: the ceiling

Every prompt names two coloured objects and their places. Pixels tell whether both
colours are there and in the right order; the checker tells whether the objects are.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import tempfile

import numpy as np
import torch
from PIL import Image

import diffusion
import latents
import scenes
from checkpoint import Pipeline
from train_checker import Checker

# White, black and gray are left out: clouds, wheels and snow have them in any picture.
COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "pink", "brown"]
BACKGROUND, OTHER = -1, -2
MINIMUM_PIXELS, MARGIN, REACH = 220, 8, 46


def reference_colours():
    """All colours that scenes are made of, each with the name it counts as."""
    found = []
    for index, name in enumerate(COLOURS):
        colour = scenes.PALETTE[name]
        found += [(colour, index), (scenes.mix(colour, (20, 24, 80), 0.16), index)]
    plain = [scenes.PALETTE[c] for c in ("white", "black", "gray")]
    for time, (top, bottom) in scenes.SKY_COLOURS.items():
        plain += [scenes.mix(top, bottom, k / 6) for k in range(7)]
        for ground in scenes.GROUND_COLOURS.values():
            ground = scenes.ambient(ground, time)
            plain += [ground, scenes.lite(ground, 0.12), scenes.dark(ground, 0.2)]
            plain += [scenes.mix(ground, (20, 60, 60), 0.22), scenes.mix(ground, bottom, 0.35)]
    found += [(colour, BACKGROUND) for colour in plain]
    return np.array([c for c, _ in found], np.float32), np.array([i for _, i in found])


def colour_map(picture, references):
    """Name every pixel after the nearest reference colour, unless none is near."""
    colours, names = references
    pixels = picture.reshape(-1, 3).astype(np.float32)
    distance = ((pixels[:, None] - colours) ** 2).sum(-1)
    labels = np.where(distance.min(1) > REACH**2, OTHER, names[distance.argmin(1)])
    return labels.reshape(picture.shape[:2])


def two_groups(scene):
    """The two named groups: the upper or left one first."""
    by_role = {g.role: g for g in scene.groups}
    roles = ("left", "right") if scene.kind == "pair" else ("upper", "lower")
    return [by_role[r] for r in roles]


def check_colours(picture, scene, references):
    """Whether both colours are there, and whether they are in the right order."""
    labels, places = colour_map(picture, references), []
    for group in two_groups(scene):
        rows, columns = np.nonzero(labels == COLOURS.index(group.colour))
        if len(rows) < MINIMUM_PIXELS:
            return False, False
        places.append(columns.mean() if scene.kind == "pair" else rows.mean())
    return True, bool(places[0] < places[1] - MARGIN)


def check_objects(seen, scene):
    """Share of the named types that were found, and whether both stand in order."""
    first, second = (g.type for g in two_groups(scene))
    share = sum(t in seen for t in (first, second)) / 2
    axis = 1 if scene.kind == "pair" else 2
    ordered = share == 1 and (first == second or seen[first][axis] < seen[second][axis])
    return share, bool(ordered)


def test_prompts(count, seed=9):
    """Held-out scenes with a caption that names both colours and the places."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        kind = "sky_ground" if len(found) % 5 < 3 else "pair"
        scene = scenes.sample(rng, kind)
        colours = {g.colour for g in scene.groups}
        if scenes.held_out(scene) and len(colours) == 2 and colours <= set(COLOURS):
            found.append((scenes.caption(scene, rng, full=True), scene))
    return found


# ------------------------------------------------------------ making the pictures


def engine_pictures(args, prompts):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "picture.png")
        for number, (prompt, _) in enumerate(prompts):
            command = [args.engine, "generate", "-m", args.model, "-p", prompt]
            command += ["-W", "192", "-H", "192", "--steps", str(args.steps)]
            command += ["--cfg-scale", f"{args.cfg_scale:g}", "-s", str(args.seed + number)]
            subprocess.run([*command, "-o", file], check=True, capture_output=True)
            yield np.asarray(Image.open(file).convert("RGB"))


def torch_pictures(args, prompts, batch=20):
    pipeline = Pipeline.load(args.model)
    for start in range(0, len(prompts), batch):
        texts = [p for p, _ in prompts[start : start + batch]]
        seeds = [args.seed + start + i for i in range(len(texts))]
        x = diffusion.sample(pipeline, texts, seeds, args.steps, args.cfg_scale)
        yield from latents.to_pictures(x)


@torch.no_grad()
def scene_pictures(args, prompts):
    vae = Pipeline.load(args.model).vae
    for _, scene in prompts:
        yield from latents.to_pictures(
            vae.decode(vae.encode(latents.to_tensor([scenes.render(scene)])))
        )


SAMPLERS = {"engine": engine_pictures, "torch": torch_pictures, "scenes": scene_pictures}


def summary(results):
    def rate(key, kind=None):
        values = [r[key] for r in results if kind in (None, r["kind"]) and r.get(key) is not None]
        return round(float(np.mean(values)), 3) if values else None

    return {
        "prompts": len(results),
        "both colours": rate("colours"),
        "both colours and place": rate("place"),
        "left/right": rate("place", "pair"),
        "above/below": rate("place", "sky_ground"),
        "named objects found": rate("objects"),
        "both objects and place": rate("object_place"),
        "both objects and place, left/right": rate("object_place", "pair"),
        "both objects and place, above/below": rate("object_place", "sky_ground"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="model file (safetensors)")
    parser.add_argument("--sampler", choices=SAMPLERS, default="engine")
    parser.add_argument("--engine", default="gesso", help="the gesso program")
    parser.add_argument("--checker", help="the trained checker; without it objects are not judged")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--cfg-scale", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--json", type=pathlib.Path, help="write every judgement here")
    parser.add_argument("--sheet", help="write a sheet of the first 40 pictures here")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    checker = Checker.load(args.checker) if args.checker else None
    prompts, references, results, pictures = test_prompts(args.count), reference_colours(), [], []
    for (prompt, scene), picture in zip(prompts, SAMPLERS[args.sampler](args, prompts)):
        colours, place = check_colours(picture, scene, references)
        result = {"prompt": prompt, "kind": scene.kind, "colours": colours, "place": place}
        if checker:
            seen = checker.found(latents.to_tensor([picture]))[0]
            share, ordered = check_objects(seen, scene)
            result |= {"objects": share, "object_place": ordered, "seen": sorted(seen)}
        results.append(result)
        pictures.append(picture)
    figures = summary(results)
    for name, value in figures.items():
        print(f"{name:36} {'-' if value is None else value}")
    if args.json:
        args.json.write_text(json.dumps({"figures": figures, "results": results}, indent=1))
    if args.sheet:
        shown = pictures[: min(40, len(pictures)) // 8 * 8]
        Image.fromarray(scenes.sheet(shown, 8)).save(args.sheet)


if __name__ == "__main__":
    main()
