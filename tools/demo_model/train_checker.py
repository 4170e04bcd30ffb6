"""Train the checker: a small network that tells which objects a picture shows.

    train_checker.py STATE --model MODEL

For every type it gives a map of where that type stands; an object counts as found
where its map exceeds one half. It learns from rendered scenes, sharp, blurred, and as
the autoencoder of MODEL returns them, so that it judges shape and not crispness.
"""

import argparse
import os
import pathlib
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import latents
import scenes
from checkpoint import Pipeline
from train import Trainer, generators

CELLS, CELL = 12, scenes.SIZE // 12


class Checker(nn.Module):
    """Pictures to logits, 12x12 cells per type."""

    def __init__(self):
        super().__init__()

        def layer(inputs, outputs, stride):
            conv = nn.Conv2d(inputs, outputs, 3, stride, padding=1)
            return nn.Sequential(conv, nn.GroupNorm(8, outputs), nn.SiLU())

        self.down = nn.Sequential(layer(3, 24, 2), layer(24, 48, 2), layer(48, 96, 2))
        self.same = nn.ModuleList(layer(96, 96, 1) for _ in range(3))
        self.out = nn.Conv2d(96, len(scenes.TYPES), 1)
        nn.init.constant_(self.out.bias, -4.0)  # most cells hold nothing

    def forward(self, x):
        h = self.down(F.avg_pool2d(x, 2))
        for layer in self.same:
            h = h + layer(h)
        return self.out(h)

    @torch.no_grad()
    def found(self, x):
        """Per picture, {type: (certainty, x, y)} of every type that is seen."""
        results = []
        for maps in self(x).sigmoid():
            seen = {}
            for type_, cells in zip(scenes.TYPES, maps):
                best = int(cells.argmax())
                if cells.flatten()[best] > 0.5:
                    row, column = divmod(best, CELLS)
                    place = ((column + 0.5) * CELL, (row + 0.5) * CELL)
                    seen[type_] = (float(cells.flatten()[best]), *place)
            results.append(seen)
        return results

    @classmethod
    def load(cls, path):
        checker = cls()
        checker.load_state_dict(torch.load(path, weights_only=True)["average"]["checker"])
        return checker


def target_maps(scene):
    """1 in the cell of an object's middle, -1 (does not count) in the rest of its box."""
    maps = np.zeros((len(scenes.TYPES), CELLS, CELLS), np.float32)
    cell = lambda v: min(CELLS - 1, max(0, int(v / CELL)))
    for hit in (False, True):
        for thing in scene.things:
            half, middle = thing.size * 0.5, thing.y - thing.size * 0.45
            index = scenes.TYPES.index(thing.type)
            if hit:
                maps[index, cell(middle), cell(thing.x)] = 1
            else:
                rows = slice(cell(middle - half), cell(middle + half) + 1)
                columns = slice(cell(thing.x - half), cell(thing.x + half) + 1)
                maps[index, rows, columns] = -1
    return maps


def soften(pictures, rng):
    """Blur some pictures and shift their colours, in the range of what decoders do."""
    results = []
    for picture in pictures:
        x = picture[None]
        if rng.random() < 0.5:
            size = rng.choice([64, 80, 96, 128])
            x = F.interpolate(x, size=size, mode="bilinear", antialias=True)
            x = F.interpolate(x, size=scenes.SIZE, mode="bilinear")
        shift = torch.tensor([rng.gauss(0, 0.03) for _ in range(3)]).view(1, 3, 1, 1)
        results.append(x * rng.uniform(0.9, 1.05) + shift)
    return torch.cat(results)


def decoded_scenes(path, vae, count):
    """Scenes as the autoencoder returns them; slow to make, so kept in a file."""
    items = [scenes.sample(random.Random(f"checker {i}")) for i in range(count)]
    if not path.exists():
        parts = []
        with torch.no_grad():
            for start in range(0, count, 8):
                x = latents.to_tensor([scenes.render(s) for s in items[start : start + 8]])
                parts += latents.to_pictures(vae.decode(vae.encode(x)))
        with open(path, "wb") as file:
            np.save(file, np.stack(parts))
    return items, np.load(path)


def report(checker, items, pictures):
    """How often named types are found, and how often absent ones are."""
    present = absent = found = wrong = 0
    for start in range(0, len(items), 32):
        seen = checker.found(latents.to_tensor(pictures[start : start + 32]))
        for scene, types in zip(items[start : start + 32], seen):
            named = {g.type for g in scene.groups}
            found += len(named & types.keys())
            wrong += len(types.keys() - named)
            present += len(named)
            absent += len(scenes.TYPES) - len(named)
    return f"named objects found {found / present:.3f}, absent types seen {wrong / absent:.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("state", type=pathlib.Path)
    parser.add_argument("--model", required=True, help="model file, for its autoencoder")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument(
        "--decoded", type=int, default=512, help="scenes sent through the autoencoder"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    vae = Pipeline.load(args.model).vae
    items, pictures = decoded_scenes(args.state / "checker-scenes.npy", vae, args.decoded)
    test = args.decoded // 4  # the first quarter is never trained on
    checker = Checker().to(memory_format=torch.channels_last)
    trainer = Trainer(args.state / "checker.pt", {"checker": checker}, [2e-3], args.steps, 0.995)
    running = trainer.step < args.steps
    while running:
        rng, _ = generators(7, trainer.step)
        chosen = [rng.randrange(test, args.decoded) for _ in range(args.batch // 4)]
        batch = [scenes.sample(rng) for _ in range(args.batch - len(chosen))]
        inputs = [scenes.render(s) for s in batch] + [pictures[i] for i in chosen]
        batch += [items[i] for i in chosen]
        wanted = torch.from_numpy(np.stack([target_maps(s) for s in batch]))
        logits = checker(soften(latents.to_tensor(inputs), rng))
        counts = (wanted >= 0).float()
        loss = F.binary_cross_entropy_with_logits(logits, wanted.clamp(min=0), reduction="none")
        running = trainer.update((loss * counts).sum() / args.batch)
    checker.load_state_dict(trainer.average["checker"])
    print("decoded scenes:", report(checker, items[:test], pictures[:test]))
    items = [scenes.sample(random.Random(f"checker test {i}")) for i in range(384)]
    print("rendered scenes:", report(checker, items, [scenes.render(s) for s in items]))


if __name__ == "__main__":
    main()
