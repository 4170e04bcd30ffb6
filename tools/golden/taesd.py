"""The tiny autoencoders: taesd, by diffusers' AutoencoderTiny under its own names, 4 channels wide.

Case tensors: image [n, 3, 8h, 8w] in -1..1 and encoded [n, 4, h, w], what the encoder makes of it; latent [n, 4, h, w],
some of it beyond the clamp at 3, and decoded [n, 3, 8h, 8w] in about -1..1. Latents are as the denoiser has them.
Weights are f16.
"""

from diffusers import AutoencoderTiny

from common import GOLDEN, normal, randomise, rename, save

CASES = {"square": (1, 3, 3), "batch": (2, 2, 1), "odd": (1, 1, 5)}
CHANNELS = (4, 4, 4, 4)


def make_tiny(seed="taesd"):
    model = AutoencoderTiny(encoder_block_out_channels=CHANNELS, decoder_block_out_channels=CHANNELS)
    return randomise(model, seed, half=True)


def main():
    model, golden = make_tiny(), {}
    for case, (n, h, w) in CASES.items():
        image = normal(f"taesd/{case}/image", [n, 3, 8 * h, 8 * w]).mul(0.5).clamp(-1, 1)
        latent = normal(f"taesd/{case}/latent", [n, 4, h, w]).mul(2)
        golden |= {f"{case}.image": image, f"{case}.encoded": model.encode(image).latents}
        golden |= {f"{case}.latent": latent, f"{case}.decoded": model.decode(latent).sample}
    save(GOLDEN / "taesd.safetensors", rename(model.state_dict(), lambda name: name, half=True), golden)


if __name__ == "__main__":
    main()
