"""FLUX.1: flux1 (the transformer) and tiny_flux1 (a whole run).

Reference: diffusers' FluxTransformer2DModel and FluxPipeline, in f32. Weights: see flow.py.

flux1       dev, heads of 32, under BFL's names. Cases as in unet.py, and: pooled [n, 16], guidance [n] (3.5 and so on,
            not times 1000); out [n, 16, h, w].
tiny_flux1  dev, one head, under diffusers' names (`transformer.`), with T5 (64 tokens) and the decoder of a VAE of 16
            channels; CLIP-L is that of tiny_sdxl. txt2img by FluxPipeline: flow-matching Euler, 5 steps, mu from the size, guidance 3.5, no CFG, noise
            from torch's CPU generator. cond [1, 64, 16]; pooled [1, 4]; noise [1, 16, h, w]; sigmas [6]; steps [6, 1, 16, h, w];
            image [1, 3, 8h, 8w] = decode(steps[5] / scale + shift), not clamped.
"""

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel

import flow
from common import GOLDEN, normal, save

GUIDANCE = 3.5


def make_flux(heads, context, pooled, seed, double=1, single=1):
    model = FluxTransformer2DModel(
        in_channels=4 * flow.LATENT,
        num_layers=double,
        num_single_layers=single,
        attention_head_dim=32,
        num_attention_heads=heads,
        joint_attention_dim=context,
        pooled_projection_dim=pooled,
        guidance_embeds=True,
        axes_dims_rope=(4, 14, 14),
    )
    return flow.randomise(model, seed)


def call(model, x, t, inputs):
    n, c, h, w = x.shape
    out = model(
        hidden_states=FluxPipeline._pack_latents(x, n, c, h, w),
        encoder_hidden_states=inputs["context"],
        pooled_projections=inputs["pooled"],
        timestep=(t / 1000).to(x.dtype),
        guidance=inputs["guidance"],
        txt_ids=torch.zeros(inputs["context"].shape[1], 3),
        img_ids=FluxPipeline._prepare_latent_image_ids(n, h // 2, w // 2, "cpu", torch.float32),
    ).sample
    return FluxPipeline._unpack_latents(out, 8 * h, 8 * w, 8)


_EMBEDDERS = {"timestep_embedder": "time_in", "text_embedder": "vector_in", "guidance_embedder": "guidance_in"}
_DOUBLE = {
    "img_mod.lin": ["norm1.linear"],
    "txt_mod.lin": ["norm1_context.linear"],
    "img_attn.qkv": ["attn.to_q", "attn.to_k", "attn.to_v"],
    "txt_attn.qkv": ["attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"],
    "img_attn.proj": ["attn.to_out.0"],
    "txt_attn.proj": ["attn.to_add_out"],
    "img_mlp.0": ["ff.net.0.proj"],
    "img_mlp.2": ["ff.net.2"],
    "txt_mlp.0": ["ff_context.net.0.proj"],
    "txt_mlp.2": ["ff_context.net.2"],
}
_SINGLE = {
    "modulation.lin": ["norm.linear"],
    "linear1": ["attn.to_q", "attn.to_k", "attn.to_v", "proj_mlp"],
    "linear2": ["proj_out"],
}
_DOUBLE_NORMS = {
    "img_attn.norm.query_norm.scale": "attn.norm_q.weight",
    "img_attn.norm.key_norm.scale": "attn.norm_k.weight",
    "txt_attn.norm.query_norm.scale": "attn.norm_added_q.weight",
    "txt_attn.norm.key_norm.scale": "attn.norm_added_k.weight",
}
_SINGLE_NORMS = {"norm.query_norm.scale": "attn.norm_q.weight", "norm.key_norm.scale": "attn.norm_k.weight"}


def bfl_weights(model):
    """The weights as BFL's files have them, fused. (diffusers' converter cannot prove it: it knows one width only.)"""
    rest, weights = model.state_dict(), {}

    def move(ours, theirs):
        for leaf in ("weight", "bias"):
            weights[f"{ours}.{leaf}"] = torch.cat([rest.pop(f"{name}.{leaf}") for name in theirs])

    for theirs, ours in _EMBEDDERS.items():
        move(f"{ours}.in_layer", [f"time_text_embed.{theirs}.linear_1"])
        move(f"{ours}.out_layer", [f"time_text_embed.{theirs}.linear_2"])
    move("img_in", ["x_embedder"])
    move("txt_in", ["context_embedder"])
    move("final_layer.linear", ["proj_out"])
    for leaf in ("weight", "bias"):
        scale, shift = rest.pop(f"norm_out.linear.{leaf}").chunk(2)
        weights[f"final_layer.adaLN_modulation.1.{leaf}"] = torch.cat([shift, scale])
    for theirs, ours, count, fused, norms in (
        ("transformer_blocks", "double_blocks", model.config.num_layers, _DOUBLE, _DOUBLE_NORMS),
        ("single_transformer_blocks", "single_blocks", model.config.num_single_layers, _SINGLE, _SINGLE_NORMS),
    ):
        for i in range(count):
            for name, parts in fused.items():
                move(f"{ours}.{i}.{name}", [f"{theirs}.{i}.{part}" for part in parts])
            for name, part in norms.items():
                weights[f"{ours}.{i}.{name}"] = rest.pop(f"{theirs}.{i}.{part}")
    assert not rest, rest.keys()
    return weights


def transformer():
    def inputs(name, n, tokens):
        return {
            "context": normal(f"{name}/context", [n, tokens, 24]),
            "pooled": normal(f"{name}/pooled", [n, 16]),
            "guidance": torch.tensor([GUIDANCE + i for i in range(n)]),
        }

    model = make_flux(2, 24, 16, "flux1")
    golden = flow.run_cases("flux1", model, inputs, call)
    save(GOLDEN / "flux1.safetensors", flow.packed(bfl_weights(model)), golden)


def whole_run():
    text, t5, model = flow.clip_l(), flow.t5_encoder(), make_flux(1, 16, 4, "tiny_flux1")
    vae = flow.vae("tiny_flux1/vae", 0.3611, 0.1159)
    scheduler = FlowMatchEulerDiscreteScheduler(
        shift=3.0, use_dynamic_shifting=True, base_shift=0.5, max_shift=1.15, base_image_seq_len=256, max_image_seq_len=4096
    )
    words, pieces = flow.tokenizers()
    pipe = FluxPipeline(scheduler, vae, text, words, t5, pieces, model)
    pipe.set_progress_bar_config(disable=True)
    h, w = flow.HEIGHT // 8, flow.WIDTH // 8
    noise, steps = flow.noise(), []

    def unpack(latents):
        return FluxPipeline._unpack_latents(latents, flow.HEIGHT, flow.WIDTH, 8)

    def keep(_, __, ___, state):
        steps.append(unpack(state["latents"]))
        return {}

    size = dict(height=flow.HEIGHT, width=flow.WIDTH, num_inference_steps=flow.STEPS, guidance_scale=GUIDANCE)
    latents = FluxPipeline._pack_latents(noise, 1, flow.LATENT, h, w)
    pipe(flow.PROMPT, latents=latents, output_type="latent", max_sequence_length=flow.TOKENS, callback_on_step_end=keep, **size)
    cond, pooled, _ = pipe.encode_prompt(flow.PROMPT, None, max_sequence_length=flow.TOKENS)
    golden = {
        "cond": cond,
        "pooled": pooled,
        "noise": noise,
        "sigmas": scheduler.sigmas,
        "steps": torch.stack([noise, *steps]),
        "image": vae.decode(steps[-1] / vae.config.scaling_factor + vae.config.shift_factor).sample,
    }
    weights = {f"transformer.{name}": tensor for name, tensor in model.state_dict().items()}
    weights |= flow.t5_weights(t5, "text_encoders.t5xxl.transformer.")
    weights |= flow.vae_weights(vae, "vae.")
    meta = flow.metadata(1.0, scale_factor=0.3611, shift_factor=0.1159)
    save(
        GOLDEN / "tiny_flux1.safetensors",
        flow.packed(weights),
        {f"txt2img.{key}": value for key, value in golden.items()},
        meta | {"golden.guidance": GUIDANCE},
    )


def main():
    transformer()
    whole_run()


if __name__ == "__main__":
    main()
