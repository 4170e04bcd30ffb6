"""Train the demo model, stage by stage; every stage can be stopped and resumed.

    train.py STATE autoencoder   pictures to latents and back
    train.py STATE latents       encode training scenes into STATE
    train.py STATE text          the text encoder alone, on its auxiliary task
    train.py STATE unet          the diffusion model, with the text encoder
    train.py STATE decoder       the decoder alone, against the frozen encoder

STATE is a folder outside the repository. Each stage keeps its state in STATE/<stage>.pt
and starts from the stages before it, or from the model given with --start.
"""

import argparse
import copy
import math
import os
import pathlib
import random
import time

import numpy as np
import torch
import torch.nn.functional as F

import captions
import diffusion
import latents
import model
import scenes
from checkpoint import Pipeline

SAVE_SECONDS = 180
EMPTY_CAPTION, UNKNOWN_WORD = 0.1, 0.08


def autocast():
    """bf16 pays off only where the processor multiplies it in hardware (AMX)."""
    amx = torch.cpu._is_amx_tile_supported()
    return torch.autocast("cpu", torch.bfloat16, enabled=amx)


def learning_rate(step, total, peak, warmup=60, decay_from=0.4):
    """Linear warm-up, a plateau, then a cosine down to zero."""
    done = min(1.0, step / total)
    fall = max(0.0, (done - decay_from) / (1 - decay_from))
    return peak * min(1, (step + 1) / warmup) * 0.5 * (1 + math.cos(math.pi * fall))


class Trainer:
    """Optimizer, moving average and saved state of the modules that a stage trains."""

    def __init__(self, path, modules, rates, steps, decay=0.999, weight_decay=0.0):
        self.path, self.modules, self.steps, self.decay = path, modules, steps, decay
        self.peaks, self.step, self.saved, self.sums = rates, 0, time.time(), []
        groups = [
            {"params": list(m.parameters()), "weight_decay": weight_decay if name == "unet" else 0}
            for name, m in modules.items()
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.99), fused=True)
        self.average = {n: clone(m.state_dict()) for n, m in modules.items()}
        if path.exists():
            self.load()

    def load(self):
        state = torch.load(self.path, weights_only=True)
        for name, module in self.modules.items():
            module.load_state_dict(state["modules"][name])
        self.average, self.step = state["average"], state["step"]
        self.optimizer.load_state_dict(state["optimizer"])
        print(f"resumed {self.path.name} at step {self.step}", flush=True)

    def save(self):
        """Write the state under another name first: a kill leaves the old one whole."""
        state = {
            "modules": {n: m.state_dict() for n, m in self.modules.items()},
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
        }
        temporary = self.path.with_suffix(".tmp")
        torch.save(state, temporary)
        temporary.rename(self.path)
        self.saved = time.time()

    def update(self, loss, **report):
        """One step down the gradient; False once the stage is done."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        parameters = [p for m in self.modules.values() for p in m.parameters()]
        norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        for group, peak in zip(self.optimizer.param_groups, self.peaks):
            group["lr"] = learning_rate(self.step, self.steps, peak)
        if torch.isfinite(norm):  # a rare overflow must not poison the moving average
            self.optimizer.step()
        self.step += 1
        decay = min(self.decay, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, module in self.modules.items():
                live = module.state_dict()
                torch._foreach_lerp_(
                    list(self.average[name].values()), list(live.values()), 1 - decay
                )
        self.sums.append(
            [float(torch.as_tensor(v).detach()) for v in (loss, norm, *report.values())]
        )
        if self.step % 50 == 0:
            means = np.mean(self.sums, axis=0)
            text = " ".join(f"{n} {v:.4f}" for n, v in zip(("loss", "norm", *report), means))
            print(f"{time.strftime('%H:%M:%S')} step {self.step} {text}", flush=True)
            self.sums = []
        done = self.step >= self.steps
        if done or time.time() - self.saved > SAVE_SECONDS:
            self.save()
        return not done


def clone(state):
    return {name: value.clone() for name, value in state.items()}


def generators(seed, step):
    """Random numbers of one step; they follow from its number, so a resume repeats nothing."""
    return random.Random(f"{seed} {step}"), torch.Generator().manual_seed(seed * 1_000_003 + step)


def use_averages(pipeline, folder, stages=("autoencoder", "text", "unet", "decoder")):
    """Put the moving averages of finished or running stages into a pipeline."""
    heads = captions.TextHeads()
    parts = {"vae": pipeline.vae, "decoder": pipeline.vae.decoder, "heads": heads}
    parts |= {"unet": pipeline.unet, "text": pipeline.text}
    for stage in stages:
        if (folder / f"{stage}.pt").exists():
            state = torch.load(folder / f"{stage}.pt", weights_only=True, mmap=True)
            for name, average in state["average"].items():
                parts[name].load_state_dict(average)
    return heads


# ---------------------------------------------------------------------- stages


def object_crops(rng, items, pictures, size, each):
    """Square crops, mostly around objects: flat sky teaches an autoencoder little."""
    crops = []
    for scene, picture in zip(items, pictures):
        for _ in range(each):
            x, y = rng.randint(0, scenes.SIZE - size), rng.randint(0, scenes.SIZE - size)
            if rng.random() < 0.7:
                thing = rng.choice(scene.things)
                spread = thing.size * 0.6
                x = thing.x + rng.uniform(-spread, spread) - size / 2
                y = thing.y - thing.size / 2 + rng.uniform(-spread, spread) - size / 2
            x, y = (min(scenes.SIZE - size, max(0, int(v) // 8 * 8)) for v in (x, y))
            crops.append((picture, x, y))
    return crops


def picture_loss(output, target):
    """L1, its gradient for sharp edges, and a little squared error for flat colour."""
    d = output - target
    edges = (d[:, :, 1:] - d[:, :, :-1]).abs().mean() + (
        d[:, :, :, 1:] - d[:, :, :, :-1]
    ).abs().mean()
    return d.abs().mean() + 0.5 * edges + 2 * (d * d).mean()


def psnr(output, target):
    return -10 * math.log10(((output.clamp(-1, 1) - target) ** 2).mean().item() / 4)


def test_pictures(count=16):
    return latents.to_tensor(
        [scenes.render(scenes.sample(random.Random(f"test {i}"))) for i in range(count)]
    )


def train_autoencoder(pipeline, args):
    """Whole autoencoder on 64-pixel crops, then latents are scaled to unit variance."""
    vae = pipeline.vae
    trainer = Trainer(args.state / "autoencoder.pt", {"vae": vae}, [args.rate], args.steps, 0.998)
    running = trainer.step < args.steps
    while running:
        rng, generator = generators(args.seed, trainer.step)
        items = [scenes.sample(rng) for _ in range(4)]
        crops = object_crops(rng, items, [scenes.render(s) for s in items], 64, each=3)
        x = latents.to_tensor([p[y : y + 64, x : x + 64] for p, x, y in crops])
        mean, log_variance = vae.moments(x)
        log_variance = log_variance.clamp(-20, 10)
        noise = torch.randn(mean.shape, generator=generator)
        output = vae.decode(mean + noise * (log_variance / 2).exp())
        kl = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).mean()
        pooled = F.avg_pool2d(output - x, 8).abs().mean()
        loss = picture_loss(output, x) + 0.5 * pooled + 2e-4 * kl
        running = trainer.update(loss, kl=kl)
    vae.load_state_dict(trainer.average["vae"])
    with torch.no_grad():
        x = latents.to_tensor([scenes.render(latents.scene_number(i)) for i in range(64)])
        z = vae.encode(x)
        vae.whiten(z.mean((0, 2, 3)), z.std((0, 2, 3)))
        print(f"psnr {psnr(vae.decode(vae.encode(test_pictures())), test_pictures()):.2f} dB")
    trainer.average["vae"] = clone(vae.state_dict())
    trainer.save()


def train_decoder(pipeline, args):
    """Only the decoder: the encoder stays, so latents and UNet stay valid.

    It decodes crops of whole-picture latents with a margin that does not count, and a
    little noise is added to them, because sampled latents are never quite clean.
    """
    use_averages(pipeline, args.state, ["autoencoder"])
    vae, margin, side = pipeline.vae, 1, 10
    cache = latents.LatentCache(args.state, vae)
    cache.refresh()
    modules = {"decoder": vae.decoder}
    trainer = Trainer(args.state / "decoder.pt", modules, [args.rate], args.steps, 0.998)
    test = test_pictures()
    with torch.no_grad():
        codes = vae.encode(test)
        print(f"psnr before {psnr(vae.decode(codes), test):.2f} dB", flush=True)
    running = trainer.step < args.steps
    while running:
        rng, generator = generators(args.seed, trainer.step)
        chosen = [rng.randrange(len(cache)) for _ in range(args.batch // 3)]
        items = [cache.scenes[i] for i in chosen]
        z, _ = cache.batch(chosen)
        pictures = [(scenes.render(s), row) for row, s in enumerate(items)]
        crops = object_crops(rng, items, pictures, side * 8, each=3)
        inputs, outputs = [], []
        for (picture, row), x, y in crops:
            outputs.append(picture[y : y + side * 8, x : x + side * 8])
            inputs.append(z[row, :, y // 8 : y // 8 + side, x // 8 : x // 8 + side])
        inputs = torch.stack(inputs)
        inputs = inputs + 0.04 * torch.randn(inputs.shape, generator=generator)
        output = vae.decode(inputs.contiguous(memory_format=torch.channels_last))
        inner = slice(margin * 8, (side - margin) * 8)
        loss = picture_loss(
            output[:, :, inner, inner], latents.to_tensor(outputs)[:, :, inner, inner]
        )
        running = trainer.update(loss)
    vae.decoder.load_state_dict(trainer.average["decoder"])
    with torch.no_grad():
        print(f"psnr after {psnr(vae.decode(codes), test):.2f} dB")


def train_text(pipeline, args):
    """The text encoder alone: many captions a second, where the UNet sees few."""
    heads, vocabulary = captions.TextHeads(), pipeline.vocabulary
    modules = {"text": pipeline.text, "heads": heads}
    rates = [args.rate, args.rate]
    trainer = Trainer(args.state / "text.pt", modules, rates, args.steps, 0.99)
    nouns = captions.noun_types(vocabulary)

    def losses(rng, count, sample, full=False):
        items = [sample(rng) for _ in range(count)]
        ids = [vocabulary(scenes.caption(s, rng, full)) for s in items]
        logits = heads(pipeline.text(torch.tensor(ids)))
        return logits, captions.targets(items, ids, nouns, vocabulary)

    running = trainer.step < args.steps
    while running:
        rng, _ = generators(args.seed, trainer.step)
        running = trainer.update(
            captions.heads_loss(*losses(rng, args.batch, scenes.sample_training))
        )
    for name, module in modules.items():
        module.load_state_dict(trainer.average[name])
    kept = lambda rng: next(s for s in iter(lambda: scenes.sample(rng), None) if scenes.held_out(s))
    with torch.no_grad():
        result = losses(random.Random("text test"), 512, kept, full=True)
    print("held-out accuracy", captions.heads_accuracy(*result))


def caption_ids(scene, rng, vocabulary):
    """Tokens of a caption, sometimes dropped, sometimes with a word nobody knows."""
    if rng.random() < EMPTY_CAPTION:
        return vocabulary("")
    ids = vocabulary(scenes.caption(scene, rng))
    if rng.random() < UNKNOWN_WORD:
        ids.insert(rng.randint(1, ids.index(vocabulary.end)), vocabulary.unknown)
    return ids[: model.TEXT_LENGTH]


@torch.no_grad()
def keep_meaning(pipeline, old_text):
    """Fit the UNet's cross-attention to a text encoder that was trained on without it.

    The linear map that best turns new text states into old ones is multiplied into
    the key and value weights, so the UNet understands the new encoder from the start.
    """
    rng, vocabulary = random.Random("meaning"), pipeline.vocabulary
    items = [scenes.sample_training(rng) for _ in range(384)]
    ids = [caption_ids(s, rng, vocabulary) for s in items]
    new, old = (f(torch.tensor(ids)).flatten(0, 1) for f in (pipeline.text, old_text))
    # Padding outnumbers words six to one and says far less.
    ends = torch.tensor([row.index(vocabulary.end) for row in ids])
    words = torch.arange(model.TEXT_LENGTH) <= ends[:, None]
    weight = torch.where(words, 2.0, 1.0).flatten()[:, None]
    matrix = torch.linalg.lstsq(new * weight, old * weight).solution
    rest = ((new @ matrix - old) * weight).square().sum() / (old * weight).square().sum()
    print(f"old text states explained by the new ones: {1 - rest:.3f}", flush=True)
    for name, module in pipeline.unet.named_modules():
        if name.endswith("attn2"):
            for linear in (module.to_k, module.to_v):
                linear.weight.copy_(linear.weight @ matrix.T)


def train_unet(pipeline, args):
    """The diffusion model, with the text encoder and its auxiliary task."""
    old_text = copy.deepcopy(pipeline.text)
    heads = use_averages(pipeline, args.state, ["autoencoder", "text"])
    if args.start and (args.state / "text.pt").exists():
        keep_meaning(pipeline, old_text)
    unet, text, vocabulary = pipeline.unet, pipeline.text, pipeline.vocabulary
    cache = latents.LatentCache(args.state, pipeline.vae)
    modules = {"unet": unet, "text": text, "heads": heads}
    rates = [args.rate, args.rate * 0.3, args.rate * 0.3]
    trainer = Trainer(args.state / "unet.pt", modules, rates, args.steps, 0.999, 0.01)
    nouns, size = captions.noun_types(vocabulary), args.batch
    running = trainer.step < args.steps
    while running:
        if trainer.step % 50 == 0 or not len(cache):
            cache.refresh()
            everything = range(len(cache))
            pairs = [i for i in everything if cache.scenes[i].kind in ("pair", "pair_sky")]
        rng, generator = generators(args.seed, trainer.step)
        chosen = [
            rng.choice(pairs if rng.random() < args.pairs else everything) for _ in range(size)
        ]
        clean, mask = cache.batch(chosen)
        items = [cache.scenes[i] for i in chosen]
        ids = [caption_ids(s, rng, vocabulary) for s in items]
        # One timestep from each of `size` parts of the range: less noisy gradients. The
        # root favours high noise, where the layout of a picture is decided.
        spread = (torch.arange(size) + torch.rand(size, generator=generator)) / size
        t = (spread.sqrt() * diffusion.STEPS).long().clamp(max=diffusion.STEPS - 1)
        noise = torch.randn(clean.shape, generator=generator)
        noisy, velocity = diffusion.add_noise(clean, noise, t)
        # Above t = 600 even the objects' places are open, so the mask would give them away.
        weight = torch.where((t < 600)[:, None, None, None], mask, torch.ones(()))
        with autocast():
            states = text(torch.tensor(ids))
            output = unet(noisy, t, states).float()
            logits = heads(states)
        error = (output - velocity) ** 2
        described = captions.heads_loss(logits, captions.targets(items, ids, nouns, vocabulary))
        loss = (error * weight).mean() / weight.mean() + args.text_weight * described
        quarters = error.detach().mean((1, 2, 3)).chunk(4)
        report = {f"t{i}": q.mean() for i, q in enumerate(quarters)}
        running = trainer.update(
            loss, velocity=error.detach().mean(), text=described, **report, pool=len(cache)
        )


STAGES = {
    # stage: (function, steps, batch, learning rate)
    "autoencoder": (train_autoencoder, 6000, 12, 1.5e-3),
    "latents": (None, 0, 8, 0),
    "text": (train_text, 2500, 128, 1.5e-3),
    "unet": (train_unet, 12000, 32, 8e-4),
    "decoder": (train_decoder, 2500, 12, 6e-4),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("state", type=pathlib.Path, help="folder for states and latents")
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--start", help="a model file (safetensors) to start from")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rate", type=float, help="peak learning rate")
    parser.add_argument("--text-weight", type=float, default=0.03, help="of the auxiliary task")
    parser.add_argument(
        "--pairs", type=float, default=0.25, help="extra share of left/right scenes"
    )
    parser.add_argument(
        "--scenes", type=int, default=8192, help="how many the latents stage encodes"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    function, steps, batch, rate = STAGES[args.stage]
    args.steps, args.batch, args.rate = args.steps or steps, args.batch or batch, args.rate or rate
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    args.state.mkdir(parents=True, exist_ok=True)
    pipeline = Pipeline.load(args.start) if args.start else Pipeline.new()
    if args.stage == "latents":
        use_averages(pipeline, args.state, ["autoencoder"])
        latents.LatentCache(args.state, pipeline.vae).write(args.scenes)
    else:
        function(pipeline, args)


if __name__ == "__main__":
    main()
