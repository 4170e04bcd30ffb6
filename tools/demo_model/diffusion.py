"""The noise schedule of Stable Diffusion 1.x with v-prediction, and a DDIM sampler."""

import torch

import model

STEPS = 1000
BETAS = torch.linspace(0.00085**0.5, 0.012**0.5, STEPS, dtype=torch.float64) ** 2
ALPHA_BAR = torch.cumprod(1 - BETAS, 0)
SIGNAL, NOISE = ALPHA_BAR.sqrt().float(), (1 - ALPHA_BAR).sqrt().float()


def add_noise(latents, noise, t):
    """The noisy latents at timesteps t and the velocity that the UNet must predict."""
    signal, sigma = SIGNAL[t][:, None, None, None], NOISE[t][:, None, None, None]
    return signal * latents + sigma * noise, signal * noise - sigma * latents


@torch.no_grad()
def sample(pipeline, prompts, seeds, steps=20, cfg=4.0):
    """Draw one picture per prompt with classifier-free guidance; a batch in [-1, 1]."""
    shape = (model.LATENT_CHANNELS, model.LATENT_SIZE, model.LATENT_SIZE)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    x = torch.stack([torch.randn(shape, generator=g) for g in generators])
    ids = [pipeline.vocabulary(p) for p in prompts] + [pipeline.vocabulary("")] * len(prompts)
    context = pipeline.text(torch.tensor(ids))
    times = [STEPS - 1 - i * (STEPS // steps) for i in range(steps)]
    for t, following in zip(times, [*times[1:], None]):
        both = pipeline.unet(torch.cat([x, x]), torch.full((len(ids),), t), context)
        wanted, plain = both.chunk(2)
        v = plain + cfg * (wanted - plain)
        clean = SIGNAL[t] * x - NOISE[t] * v
        noise = NOISE[t] * x + SIGNAL[t] * v
        x = clean if following is None else SIGNAL[following] * clean + NOISE[following] * noise
    return torch.cat([pipeline.vae.decode(part) for part in x.split(8)])
