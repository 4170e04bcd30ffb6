"""The KL autoencoder of SD 1.x, 2.x and SDXL: vae_kl, by diffusers' AutoencoderKL under LDM names.

Case tensors: image [n, 3, 8h, 8w]; mean and logvar [n, 4, h, w] of its latent distribution (logvar as the encoder
gives it, before any clamp), unscaled; latent [n, 4, h, w] and decoded [n, 3, 8h, 8w], where `latent` is what the
decoder gets (the scale factor is not applied) and `decoded` is not clamped.
"""

import torch
from diffusers import AutoencoderKL
from diffusers.loaders.single_file_utils import convert_ldm_vae_checkpoint

from common import GOLDEN, normal, randomise, rename, save
from names import vae_rule, vae_tensor

GROUPS = 4
CASES = {"square": (1, 6, 6), "odd": (1, 5, 7), "batch": (2, 3, 4), "single": (1, 1, 1)}


def make_vae(channels=(8, 8, 16, 16), seed="vae_kl", half=True, scale=0.18215):
    levels = len(channels)
    model = AutoencoderKL(
        down_block_types=["DownEncoderBlock2D"] * levels,
        up_block_types=["UpDecoderBlock2D"] * levels,
        block_out_channels=channels,
        layers_per_block=2,
        latent_channels=4,
        norm_num_groups=GROUPS,
        scaling_factor=scale,
        sample_size=64,
    )
    return randomise(model, seed, half)


def ldm_vae(model):
    """The weights under LDM names; proves the renaming by diffusers' converter."""
    weights = rename(model.state_dict(), vae_rule(len(model.config.block_out_channels)), half=True)
    weights = {name: vae_tensor(name, tensor) for name, tensor in weights.items()}
    back = convert_ldm_vae_checkpoint(dict(weights), dict(model.config))
    assert back.keys() == model.state_dict().keys()
    assert all(torch.equal(back[name].float(), value) for name, value in model.state_dict().items())
    return weights


def main():
    model, golden = make_vae(), {}
    for case, (n, h, w) in CASES.items():
        image = normal(f"vae_kl/{case}/image", [n, 3, 8 * h, 8 * w]).mul(0.5).clamp(-1, 1)
        latent = normal(f"vae_kl/{case}/latent", [n, 4, h, w])
        mean, logvar = model._encode(image).chunk(2, 1)
        golden |= {f"{case}.image": image, f"{case}.mean": mean, f"{case}.logvar": logvar}
        golden |= {f"{case}.latent": latent, f"{case}.decoded": model.decode(latent).sample}
    save(
        GOLDEN / "vae_kl.safetensors",
        ldm_vae(model),
        golden,
        {"vae_norm_num_groups": GROUPS, "scale_factor": model.config.scaling_factor},
    )


if __name__ == "__main__":
    main()
