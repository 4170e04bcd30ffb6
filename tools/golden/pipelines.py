"""Whole runs, prompt to picture: tiny_sd1, tiny_sd2, tiny_sdxl and the folder tests/data/diffusers_tiny.

Each file is a checkpoint of all its parts under LDM / SGM names, every weight in f16, with the full table of 49,408
tokens. The run is f32 on these exact values: text by transformers or open_clip, UNet and VAE by diffusers, discrete
sigmas, sampler and prediction by k-diffusion (fractional timesteps), euler, 5 steps, CFG 7, noise from torch's CPU
generator with seed 42, x starting at noise * sigmas[0], CFG on the denoised estimates.

tiny_sd1   epsilon; condition = final norm of CLIP-L's last layer
tiny_sd2   v prediction; condition = ln_final of OpenCLIP's last but one layer
tiny_sdxl  epsilon; condition = last but one layers of CLIP-L and OpenCLIP side by side, no norm; y = pooled and
           projected OpenCLIP state, then sinusoids of height, width, crop top and left (0, 0), height, width

Case txt2img: ids, uncond_ids [1, 77] i32 (ids_g, uncond_ids_g: the second encoder's, padded with 0); cond, uncond
[1, 77, width]; y, uncond_y [1, adm]; noise [1, 4, h, w]; sigmas [6]; timesteps [5], as the UNet gets them; steps
[6, 1, 4, h, w]: the start, then the latent after each step; image [1, 3, 8h, 8w]: decoded steps[5] / scale_factor, neither
clamped nor quantised.
Case img2img (tiny_sd1): init [1, 3, 8h, 8w] in -1..1; latent = mean of its distribution * scale_factor; strength 0.6,
so the last 4 of 5 steps; x starting at latent + noise * sigmas[0]; the rest as above, with the same conditions.
Metadata golden.*: prompt, negative_prompt, width, height, steps, cfg, seed, strength.

diffusers_tiny is tiny_sd1 as a diffusers folder with today's attention names, the UNet in shards.
"""

import json
import shutil

import torch
from safetensors.torch import save_file

import clip
import tokenizer
import unet
import vae
from common import DATA, GOLDEN, k_diffusion, normal, rename, save
from schedules import ALPHAS_CUMPROD, discrete, sigmas_of

FOLDER = DATA / "diffusers_tiny"
VOCABULARY, BEGIN, END = 49408, 49406, 49407
STEPS, CFG, SEED, STRENGTH = 5, 7.0, 42, 0.6
WIDTH, HEIGHT = 64, 80
PROMPT, NEGATIVE = "a photo of a fox", "blurry, low quality"

TEXT_WIDTH = 8
CHANNELS = (8, 8, 8, 8)
HEADS = 2


def encode_ids(text, padding):
    words = tokenizer.reference()(text, add_special_tokens=False)["input_ids"]
    ids = [BEGIN, *words, END]
    return torch.tensor([ids + [padding] * (clip.LENGTH - len(ids))])


def clip_l(seed, width=TEXT_WIDTH, heads=HEADS):
    return clip.make_clip_l(width, heads, 2, VOCABULARY, END, seed, half=True)


def openclip(seed):
    return clip.make_openclip(TEXT_WIDTH, HEADS, 2, TEXT_WIDTH, VOCABULARY, seed, half=True)


class Run:
    """A model's denoising loop for a pair of conditions."""

    def __init__(self, model, autoencoder, prediction, cond, uncond, y=None, time_ids=None):
        _, external = k_diffusion()
        wrapper = {"epsilon": external.DiscreteEpsDDPMDenoiser, "v_prediction": external.DiscreteVDDPMDenoiser}
        self.denoiser = wrapper[prediction](self.predict, torch.from_numpy(ALPHAS_CUMPROD), quantize=False)
        self.model, self.autoencoder = model, autoencoder
        self.conditions, self.pooled, self.time_ids = (cond, uncond), y, time_ids

    def predict(self, x, t, context, pooled):
        self.timesteps.append(t.float())
        added = {"text_embeds": pooled, "time_ids": self.time_ids} if pooled is not None else None
        return self.model(x, t.to(x.dtype), context, added_cond_kwargs=added).sample

    def denoise(self, x, sigma):
        cond, uncond = (
            self.denoiser(x, sigma, context=context, pooled=pooled)
            for context, pooled in zip(self.conditions, self.pooled or (None, None))
        )
        return uncond + CFG * (cond - uncond)

    def __call__(self, start, sigmas):
        self.timesteps, steps = [], []
        final = k_diffusion()[0].sample_euler(
            self.denoise, start, sigmas, callback=lambda state: steps.append(state["x"].clone()), disable=True
        )
        return {
            "sigmas": sigmas,
            "timesteps": torch.cat(self.timesteps[::2]),
            "steps": torch.stack([*steps, final]),
            "image": self.autoencoder.decode(final / self.autoencoder.config.scaling_factor).sample,
        }


def txt2img(run):
    noise = torch.randn([1, 4, HEIGHT // 8, WIDTH // 8], generator=torch.Generator().manual_seed(SEED))
    sigmas = sigmas_of(discrete, STEPS)
    return {"noise": noise, **run(noise * sigmas[0], sigmas)}


def img2img(run):
    low = normal("pipelines/init", [1, 3, HEIGHT // 16, WIDTH // 16])
    init = torch.nn.functional.interpolate(low, (HEIGHT, WIDTH), mode="bilinear").mul(127).round().clamp(-127, 127) / 127
    latent = run.autoencoder.encode(init).latent_dist.mean * run.autoencoder.config.scaling_factor
    noise = torch.randn(latent.shape, generator=torch.Generator().manual_seed(SEED))
    sigmas = sigmas_of(discrete, STEPS)[-(int(STRENGTH * STEPS) + 2) :]
    return {"init": init, "latent": latent, "noise": noise, **run(latent + noise * sigmas[0], sigmas)}


def write(name, weights, cases, metadata):
    golden = {f"{case}.{key}": value for case, tensors in cases.items() for key, value in tensors.items()}
    weights = {name: t.half() if t.is_floating_point() else t for name, t in weights.items()}
    metadata |= {
        "unet_norm_num_groups": unet.GROUPS,
        "vae_norm_num_groups": vae.GROUPS,
        "golden.prompt": PROMPT,
        "golden.negative_prompt": NEGATIVE,
        "golden.width": WIDTH,
        "golden.height": HEIGHT,
        "golden.steps": STEPS,
        "golden.cfg": CFG,
        "golden.seed": SEED,
        "golden.strength": STRENGTH,
    }
    save(GOLDEN / f"{name}.safetensors", weights, golden, metadata)


def both(padding):
    return encode_ids(PROMPT, padding), encode_ids(NEGATIVE, padding)


def sd1():
    text = clip_l("tiny_sd1/clip")
    model = unet.sd1(CHANNELS, TEXT_WIDTH, seed="tiny_sd1/unet")
    autoencoder = vae.make_vae(CHANNELS, "tiny_sd1/vae")
    ids, uncond_ids = both(END)
    cond, uncond = (text(input_ids=row).last_hidden_state for row in (ids, uncond_ids))
    run = Run(model, autoencoder, "epsilon", cond, uncond)
    common = {"ids": ids.int(), "uncond_ids": uncond_ids.int(), "cond": cond, "uncond": uncond}
    weights = clip.clip_l_weights(text, half=True) | unet.ldm_unet(model) | vae.ldm_vae(autoencoder)
    metadata = {
        "prediction_type": "epsilon",
        "scale_factor": autoencoder.config.scaling_factor,
        "num_heads": 2,
        "clip_heads": HEADS,
        "clip_hidden_act": "quick_gelu",
    }
    write("tiny_sd1", weights, {"txt2img": common | txt2img(run), "img2img": img2img(run)}, metadata)
    write_folder(text, model, autoencoder)


def sd2():
    text = openclip("tiny_sd2/clip")
    model = unet.sd2(CHANNELS, TEXT_WIDTH, head=4, seed="tiny_sd2/unet")
    autoencoder = vae.make_vae(CHANNELS, "tiny_sd2/vae")
    ids, uncond_ids = both(0)
    cond, uncond = (text.ln_final(clip.openclip_hidden(text, row)[0][-2]) for row in (ids, uncond_ids))
    run = Run(model, autoencoder, "v_prediction", cond, uncond)
    common = {"ids": ids.int(), "uncond_ids": uncond_ids.int(), "cond": cond, "uncond": uncond}
    weights = clip.openclip_weights(text, "cond_stage_model.model.", half=True)
    weights |= unet.ldm_unet(model) | vae.ldm_vae(autoencoder)
    metadata = {
        "prediction_type": "v_prediction",
        "scale_factor": autoencoder.config.scaling_factor,
        "num_head_channels": 4,
        "clip_heads": HEADS,
        "clip_hidden_act": "gelu",
    }
    write("tiny_sd2", weights, {"txt2img": common | txt2img(run)}, metadata)


def sdxl():
    text_l = clip_l("tiny_sdxl/clip_l", width=4, heads=1)
    text_g = openclip("tiny_sdxl/clip_g")
    model = unet.sdxl(CHANNELS[:3], 4 + TEXT_WIDTH, TEXT_WIDTH, head=4, seed="tiny_sdxl/unet")
    autoencoder = vae.make_vae(CHANNELS, "tiny_sdxl/vae", scale=0.13025)
    time_ids = torch.tensor([[HEIGHT, WIDTH, 0, 0, HEIGHT, WIDTH]], dtype=torch.float32)
    common, conditions, pooled = {}, [], []
    for name, prefix, ids, ids_g in zip(("cond", "uncond"), ("", "uncond_"), both(END), both(0)):
        hidden_l = text_l(input_ids=ids, output_hidden_states=True).hidden_states
        hidden_g, projected = clip.openclip_hidden(text_g, ids_g)
        conditions.append(torch.cat([hidden_l[-2], hidden_g[-2]], -1))
        pooled.append(projected)
        common |= {f"{prefix}ids": ids.int(), f"{prefix}ids_g": ids_g.int(), name: conditions[-1]}
        common |= {f"{prefix}pooled": projected, f"{prefix}y": unet.adm(projected, time_ids)}
    run = Run(model, autoencoder, "epsilon", *conditions, pooled, time_ids)
    weights = clip.clip_l_weights(text_l, "conditioner.embedders.0.transformer.", half=True)
    weights |= clip.openclip_weights(text_g, "conditioner.embedders.1.model.", half=True)
    weights |= unet.ldm_unet(model) | vae.ldm_vae(autoencoder)
    metadata = {
        "prediction_type": "epsilon",
        "scale_factor": autoencoder.config.scaling_factor,
        "num_head_channels": 4,
        "clip_heads": 1,
        "clip_g_heads": HEADS,
    }
    write("tiny_sdxl", weights, {"txt2img": common | txt2img(run)}, metadata)


def write_folder(text, model, autoencoder):
    """The same weights as diffusers saves them; the text encoder by hand, under the names of published folders."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    model.half().save_pretrained(FOLDER / "unet", max_shard_size="100KB")
    autoencoder.half().save_pretrained(FOLDER / "vae")
    text_weights = rename(dict(text.named_parameters()), clip.clip_l_rule(""), half=True)
    (FOLDER / "text_encoder").mkdir()
    save_file(text_weights, str(FOLDER / "text_encoder" / "model.safetensors"), {"format": "pt"})
    text.config.architectures = ["CLIPTextModel"]
    parts = {
        "text_encoder/config.json": text.config.to_diff_dict() | {"dtype": "float16"},
        "scheduler/scheduler_config.json": {
            "_class_name": "PNDMScheduler",
            "beta_end": 0.012,
            "beta_schedule": "scaled_linear",
            "beta_start": 0.00085,
            "num_train_timesteps": 1000,
            "prediction_type": "epsilon",
            "set_alpha_to_one": False,
            "skip_prk_steps": True,
            "steps_offset": 1,
        },
        "model_index.json": {
            "_class_name": "StableDiffusionPipeline",
            "scheduler": ["diffusers", "PNDMScheduler"],
            "text_encoder": ["transformers", "CLIPTextModel"],
            "unet": ["diffusers", "UNet2DConditionModel"],
            "vae": ["diffusers", "AutoencoderKL"],
        },
    }
    for path, content in parts.items():
        (FOLDER / path).parent.mkdir(exist_ok=True)
        (FOLDER / path).write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
    size = sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file())
    print(f"{FOLDER.relative_to(DATA)}: {size / 1e6:.2f} MB")


def main():
    sd1()
    sd2()
    sdxl()


if __name__ == "__main__":
    main()
