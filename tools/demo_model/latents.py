"""Encoded training scenes, kept on disk so that training can stop and go on.

Scene number i is always the same scene, so a shard holds nothing but latents:
scenes, and from them captions, are made again from their numbers.
"""

import pathlib
import random
import zlib

import numpy as np
import torch

import model
import scenes

SHARD = 256
OBJECT_WEIGHT = 2.5  # how much more an error inside an object counts than one outside


def scene_number(index):
    return scenes.sample_training(random.Random(f"scene {index}"))


def to_tensor(pictures):
    """Byte pictures to a batch in [-1, 1]."""
    batch = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2)
    return (batch.float() / 127.5 - 1).contiguous(memory_format=torch.channels_last)


def to_pictures(batch):
    bytes_ = ((batch.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8)
    return list(bytes_.permute(0, 2, 3, 1).contiguous().numpy())


def object_mask(scene):
    """Per latent pixel, the weight of its error: objects matter more than sky and grass."""
    mask = np.ones((model.LATENT_SIZE, model.LATENT_SIZE), np.float32)
    for thing in scene.things:
        half = thing.size * (0.75 if thing.type == "mountain" else 0.55)
        rows = slice(max(0, int((thing.y - thing.size) / 8)), int(thing.y / 8) + 1)
        columns = slice(max(0, int((thing.x - half) / 8)), int((thing.x + half) / 8) + 1)
        mask[rows, columns] = OBJECT_WEIGHT
    return mask


class LatentCache:
    def __init__(self, folder, vae):
        # The name changes with the scenes and with the encoder, as either makes old shards wrong.
        scene = scene_number(0)
        tag = zlib.crc32(scenes.render(scene).tobytes())
        for value in vae.encoder.state_dict().values():
            tag = zlib.crc32(value.contiguous().numpy().tobytes(), tag)
        self.vae, self.folder = vae, pathlib.Path(folder) / f"latents-{tag:08x}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.shards, self.scenes, self.masks = [], [], []

    def __len__(self):
        return len(self.scenes)

    def path(self, shard):
        return self.folder / f"{shard:05d}.npy"

    @torch.no_grad()
    def write(self, count, batch=8):
        """Encode scenes until the first `count` are on disk."""
        for shard in range((count + SHARD - 1) // SHARD):
            if self.path(shard).exists():
                continue
            first, parts = shard * SHARD, []
            for start in range(first, first + SHARD, batch):
                pictures = [scenes.render(scene_number(i)) for i in range(start, start + batch)]
                parts.append(self.vae.encode(to_tensor(pictures)).half().contiguous().numpy())
            temporary = self.path(shard).with_suffix(".tmp")
            with open(temporary, "wb") as file:
                np.save(file, np.concatenate(parts))
            temporary.rename(self.path(shard))
            print(f"latents: {first + SHARD} scenes", flush=True)

    def refresh(self):
        """Take in the shards that another process has finished since the last look."""
        while self.path(len(self.shards)).exists():
            first = len(self.shards) * SHARD
            self.shards.append(np.load(self.path(len(self.shards))))
            found = [scene_number(i) for i in range(first, first + SHARD)]
            self.masks.append(np.stack([object_mask(s) for s in found]))
            self.scenes += found

    def batch(self, indices):
        pick = lambda parts: torch.from_numpy(
            np.stack([parts[i // SHARD][i % SHARD] for i in indices])
        ).float()
        return pick(self.shards), pick(self.masks)[:, None]
