"""What prompts and noise of a request can ask for, on tiny_sd1, whose weights are used: workflows.safetensors.

steps [6, 1, 4, h, w] as in pipelines; of it only the last, `latent` [1, 4, h, w].
seamless, seamless_x: every convolution of UNet and VAE pads circularly (torch's padding mode), along both axes or only
along rows; columns [1, 3, 8h, 8]: the first and last 4 columns of the image, rows [1, 3, 8, 8w]: the same of its rows.
edited: the prompt PROMPT in the first 2 of 5 steps, NEGATIVE after; the negative prompt is empty throughout.
composed: PROMPT with weight 1.2 and "a dog" with weight 0.5, as A1111 combines parts: uncond + CFG * sum of weight *
(part - uncond) on the denoised estimates.
comfyui: states [1, 77, width] of WEIGHTED as ComfyUI weighs them: empty + weight * (state - empty), token by token.
varied: A1111's slerp (modules/rng.py) of the noise of seeds 42 and 7 with strength 0.3; noise [4, h, w].
"""

import torch

import pipelines
import unet
import vae
from common import GOLDEN, save
from schedules import discrete, sigmas_of

WEIGHTED = [("a ", 1.0), ("photo", 1.5), (" of a ", 1.0), ("fox", -0.5)]


def close(model, x, y):
    """Makes every convolution of a model pad circularly along rows (x) and columns (y)."""
    for conv in (m for m in model.modules() if isinstance(m, torch.nn.Conv2d)):
        tall, wide = conv.padding

        def forward(values, weight, bias, conv=conv, tall=tall, wide=wide):
            values = torch.nn.functional.pad(values, (wide, wide, 0, 0), mode="circular" if x else "constant")
            values = torch.nn.functional.pad(values, (0, 0, tall, tall), mode="circular" if y else "constant")
            return torch.nn.functional.conv2d(values, weight, bias, conv.stride, 0, conv.dilation, conv.groups)

        conv._conv_forward = forward
    return model


def models():
    return unet.sd1(pipelines.CHANNELS, pipelines.TEXT_WIDTH, seed="tiny_sd1/unet"), vae.make_vae(
        pipelines.CHANNELS, "tiny_sd1/vae"
    )


def noise_of(seed):
    size = [4, pipelines.HEIGHT // 8, pipelines.WIDTH // 8]
    return torch.randn(size, generator=torch.Generator().manual_seed(seed))


def latent_of(run):
    sigmas = sigmas_of(discrete, pipelines.STEPS)
    result = run(noise_of(pipelines.SEED)[None] * sigmas[0], sigmas)
    return result["steps"][-1], result["image"]


class Edited(pipelines.Run):
    changes_after, later = 2, None

    def denoise(self, x, sigma):
        if len(self.timesteps) == 2 * self.changes_after:
            self.conditions = (self.later, self.conditions[1])
        return super().denoise(x, sigma)


class Composed(pipelines.Run):
    parts = []

    def denoise(self, x, sigma):
        uncond = self.denoiser(x, sigma, context=self.conditions[1], pooled=None)
        result = uncond.clone()
        for context, weight in self.parts:
            result += (self.denoiser(x, sigma, context=context, pooled=None) - uncond) * (weight * pipelines.CFG)
        self.timesteps = self.timesteps[:-1]  # as many for an evaluation as elsewhere: two
        return result


def slerp(share, low, high):
    """Along the rows of each column, as there."""
    unit_low, unit_high = (v / v.norm(dim=1, keepdim=True) for v in (low, high))
    angle = torch.acos((unit_low * unit_high).sum(1, keepdim=True))
    return (torch.sin((1 - share) * angle) * low + torch.sin(share * angle) * high) / torch.sin(angle)


def weighted_states(text):
    words = [(pipelines.tokenizer.reference()(t, add_special_tokens=False)["input_ids"], w) for t, w in WEIGHTED]
    weights = torch.tensor([1.0] + [w for ids, w in words for _ in ids])
    weights = torch.cat([weights, torch.ones(77 - len(weights))])[None, :, None]
    ids = pipelines.encode_ids("".join(t for t, _ in WEIGHTED), pipelines.END)
    states, empty = (text(input_ids=i).last_hidden_state for i in (ids, pipelines.encode_ids("", pipelines.END)))
    return empty + weights * (states - empty)


def main():
    golden = {}
    text = pipelines.clip_l("tiny_sd1/clip")
    state = lambda prompt: text(input_ids=pipelines.encode_ids(prompt, pipelines.END)).last_hidden_state  # noqa: E731
    cond, uncond = state(pipelines.PROMPT), state(pipelines.NEGATIVE)
    with torch.no_grad():
        for name, y in (("seamless", True), ("seamless_x", False)):
            network, autoencoder = (close(m, True, y) for m in models())
            latent, image = latent_of(pipelines.Run(network, autoencoder, "epsilon", cond, uncond))
            golden[f"{name}.latent"] = latent
            golden[f"{name}.columns"] = torch.cat([image[..., :4], image[..., -4:]], -1)
            golden[f"{name}.rows"] = torch.cat([image[..., :4, :], image[..., -4:, :]], -2)
        network, autoencoder = models()
        edited = Edited(network, autoencoder, "epsilon", cond, state(""))
        edited.later = uncond
        golden["edited.latent"] = latent_of(edited)[0]
        composed = Composed(network, autoencoder, "epsilon", cond, uncond)
        composed.parts = [(cond, 1.2), (state("a dog"), 0.5)]
        golden["composed.latent"] = latent_of(composed)[0]
        golden["comfyui.states"] = weighted_states(text)
        golden["varied.noise"] = slerp(0.3, noise_of(42), noise_of(7))
    save(GOLDEN / "workflows.safetensors", {}, golden)


if __name__ == "__main__":
    main()
