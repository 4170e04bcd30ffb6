"""Painting over a part of a picture: tiny_sd1_inpaint, a UNet of 9 channels for the rest of tiny_sd1.

Cases: network, by that UNet, which sees the mask and the latent of the picture without the masked part (prepared as
diffusers' StableDiffusionInpaintPipeline does, but with the mean of the latent distribution); kept, by tiny_sd1's own
UNet, where the picture is put back outside of the mask before and after every evaluation (ComfyUI's KSamplerX0Inpaint).
Tensors: init [1, 3, 8h, 8w] whole numbers from 0 to 255; mask [8h, 8w], 1 is painted anew; strength [1]; extra [1, 5, h, w]
(network); the rest as in pipelines.img2img. Conditions and metadata are those of tiny_sd1.
"""

import torch

import pipelines
import unet
import vae
from common import normal
from schedules import discrete, sigmas_of


class Inpainting(pipelines.Run):
    extra = None

    def predict(self, x, t, context, pooled):
        return super().predict(torch.cat([x, self.extra], 1), t, context, pooled)


class Keeping(pipelines.Run):
    """Puts the picture back around the mask, with as much noise as the step has."""

    def denoise(self, x, sigma):
        x = x * self.mask + (self.latent + self.noise * sigma) * (1 - self.mask)
        return super().denoise(x, sigma) * self.mask + self.latent * (1 - self.mask)


def picture_and_mask():
    low = normal("inpaint/init", [1, 3, pipelines.HEIGHT // 16, pipelines.WIDTH // 16])
    size = (pipelines.HEIGHT, pipelines.WIDTH)
    init = torch.nn.functional.interpolate(low, size, mode="bilinear").mul(50).add(128).round().clamp(0, 255)
    mask = torch.zeros(size)
    mask[21:50, 11:43] = 1
    return init, mask


def latent_of(autoencoder, picture):
    return autoencoder.encode(picture).latent_dist.mean * autoencoder.config.scaling_factor


def extra_input(autoencoder, picture, mask):
    latent_size = (pipelines.HEIGHT // 8, pipelines.WIDTH // 8)
    small = torch.nn.functional.interpolate(mask[None, None], size=latent_size)
    return torch.cat([small, latent_of(autoencoder, picture * (mask < 0.5))], 1)


def run(model, strength):
    """What a run starts with: strength s of n steps leaves the last s * n."""
    init, mask = picture_and_mask()
    latent = latent_of(model.autoencoder, init / 127.5 - 1)
    noise = torch.randn(latent.shape, generator=torch.Generator().manual_seed(pipelines.SEED))
    model.latent, model.noise = latent, noise
    sigmas = sigmas_of(discrete, pipelines.STEPS)[-(round(strength * pipelines.STEPS) + 1) :]
    known = {"init": init, "mask": mask, "latent": latent, "strength": torch.tensor([strength])}
    return known | model(latent + noise * sigmas[0], sigmas)


def main():
    text = pipelines.clip_l("tiny_sd1/clip")
    autoencoder = vae.make_vae(pipelines.CHANNELS, "tiny_sd1/vae")
    cond, uncond = (text(input_ids=ids).last_hidden_state for ids in pipelines.both(pipelines.END))
    nine = unet.sd1(pipelines.CHANNELS, pipelines.TEXT_WIDTH, in_channels=9, seed="tiny_sd1_inpaint/unet")
    network = Inpainting(nine, autoencoder, "epsilon", cond, uncond)
    init, mask = picture_and_mask()
    network.extra = extra_input(autoencoder, init / 127.5 - 1, mask)
    four = unet.sd1(pipelines.CHANNELS, pipelines.TEXT_WIDTH, seed="tiny_sd1/unet")
    kept = Keeping(four, autoencoder, "epsilon", cond, uncond)
    kept.mask = torch.nn.functional.max_pool2d(mask[None, None], 8)
    cases = {"network": {"extra": network.extra} | run(network, 1.0), "kept": run(kept, 0.8)}
    metadata = {"prediction_type": "epsilon", "num_heads": 2}
    pipelines.write("tiny_sd1_inpaint", unet.ldm_unet(nine), cases, metadata)


if __name__ == "__main__":
    main()
