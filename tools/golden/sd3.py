"""Stable Diffusion 3 and 3.5: sd3 (the transformer) and tiny_sd3 (a whole run).

Reference: diffusers' SD3Transformer2DModel and StableDiffusion3Pipeline, in f32. Weights: see flow.py.

sd3       3.5 medium's parts (normed queries and keys, a second attention in block 0) under diffusers' names. Cases as in
          unet.py, and: y [n, 20]; out [n, 16, h, w].
tiny_sd3  3 medium's parts under SAI's names, with a VAE's decoder. CLIP-L (its pooled state not projected) and OpenCLIP-G
          are those of tiny_sdxl, T5 is that of tiny_flux1. txt2img by StableDiffusion3Pipeline: flow-matching Euler, 5 steps, shift 3 of
          sigmas 1 - i / 5, CFG 4.5. cond, uncond [1, 77 + 64, 16]; y, uncond_y [1, 12]; the rest as in tiny_flux1. Case no_t5: cond,
          as the pipeline has it without T5.
"""

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, SD3Transformer2DModel, StableDiffusion3Pipeline
from diffusers.loaders.single_file_utils import convert_sd3_transformer_checkpoint_to_diffusers
from transformers import CLIPTextConfig, CLIPTextModelWithProjection

import flow
import pipelines
from clip import LENGTH
from common import GOLDEN, normal, save

CFG = 4.5
HEAD = 16


def make_mmdit(heads, context, pooled, seed, qk_norm=None, dual=()):
    model = SD3Transformer2DModel(
        sample_size=16,
        num_layers=2,
        attention_head_dim=HEAD,
        num_attention_heads=heads,
        joint_attention_dim=context,
        caption_projection_dim=heads * HEAD,
        pooled_projection_dim=pooled,
        pos_embed_max_size=12,
        qk_norm=qk_norm,
        dual_attention_layers=dual,
    )
    return flow.randomise(model, seed)


def call(model, x, t, inputs):
    return model(
        hidden_states=x, encoder_hidden_states=inputs["context"], pooled_projections=inputs["y"], timestep=t
    ).sample


def sai_weights(model):
    """The weights as SAI's files have them, fused; diffusers' converter proves it."""
    rest, weights = model.state_dict(), {}

    def move(ours, *theirs):
        for leaf in ("weight", "bias"):
            weights[f"{ours}.{leaf}"] = torch.cat([rest.pop(f"{name}.{leaf}") for name in theirs])

    def move_swapped(ours, theirs):
        for leaf in ("weight", "bias"):
            scale, shift = rest.pop(f"{theirs}.{leaf}").chunk(2)
            weights[f"{ours}.{leaf}"] = torch.cat([shift, scale])

    weights["pos_embed"] = rest.pop("pos_embed.pos_embed")
    move("x_embedder.proj", "pos_embed.proj")
    move("context_embedder", "context_embedder")
    move("final_layer.linear", "proj_out")
    move_swapped("final_layer.adaLN_modulation.1", "norm_out.linear")
    for ours, theirs in (("t_embedder", "timestep_embedder"), ("y_embedder", "text_embedder")):
        move(f"{ours}.mlp.0", f"time_text_embed.{theirs}.linear_1")
        move(f"{ours}.mlp.2", f"time_text_embed.{theirs}.linear_2")
    for i in range(model.config.num_layers):
        x, context, block = f"joint_blocks.{i}.x_block", f"joint_blocks.{i}.context_block", f"transformer_blocks.{i}"
        move(f"{x}.adaLN_modulation.1", f"{block}.norm1.linear")
        move(f"{x}.attn.qkv", *(f"{block}.attn.to_{part}" for part in "qkv"))
        move(f"{x}.attn.proj", f"{block}.attn.to_out.0")
        move(f"{x}.mlp.fc1", f"{block}.ff.net.0.proj")
        move(f"{x}.mlp.fc2", f"{block}.ff.net.2")
        move(f"{context}.attn.qkv", *(f"{block}.attn.add_{part}_proj" for part in "qkv"))
        if i + 1 == model.config.num_layers:
            move_swapped(f"{context}.adaLN_modulation.1", f"{block}.norm1_context.linear")
            continue
        move(f"{context}.adaLN_modulation.1", f"{block}.norm1_context.linear")
        move(f"{context}.attn.proj", f"{block}.attn.to_add_out")
        move(f"{context}.mlp.fc1", f"{block}.ff_context.net.0.proj")
        move(f"{context}.mlp.fc2", f"{block}.ff_context.net.2")
    assert not rest, rest.keys()
    back = convert_sd3_transformer_checkpoint_to_diffusers(dict(weights))
    assert back.keys() == model.state_dict().keys()
    assert all(torch.equal(back[name], value) for name, value in model.state_dict().items())
    return weights


def with_projection(state, width, heads, act, projection):
    """transformers' CLIP with these weights."""
    config = CLIPTextConfig(
        vocab_size=pipelines.VOCABULARY,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=2,
        num_attention_heads=heads,
        max_position_embeddings=LENGTH,
        hidden_act=act,
        bos_token_id=pipelines.BEGIN,
        eos_token_id=pipelines.END,
        projection_dim=width,
    )
    config._attn_implementation = "eager"
    model = CLIPTextModelWithProjection(config).eval()
    model.load_state_dict({"text_model." + n.removeprefix("text_model."): v for n, v in state.items()}, strict=False)
    model.text_projection.weight.copy_(projection)
    missing = model.state_dict().keys() - {"text_model." + n.removeprefix("text_model.") for n in state}
    assert missing == {"text_projection.weight"}, missing
    return model


def clip_l():
    """That of tiny_sdxl, which has no projection."""
    plain = flow.clip_l()
    return with_projection(dict(plain.named_parameters()), 4, 1, "quick_gelu", torch.eye(4))


_OPENCLIP = {"ln_1": "layer_norm1", "ln_2": "layer_norm2", "mlp.c_fc": "mlp.fc1", "mlp.c_proj": "mlp.fc2"}


def clip_g():
    """That of tiny_sdxl, as transformers has it."""
    plain = pipelines.openclip("tiny_sdxl/clip_g")
    state = {
        "embeddings.token_embedding.weight": plain.token_embedding.weight,
        "embeddings.position_embedding.weight": plain.positional_embedding,
    }
    for name, tensor in plain.ln_final.named_parameters():
        state[f"final_layer_norm.{name}"] = tensor
    for i, block in enumerate(plain.transformer.resblocks):
        for name, tensor in block.named_parameters():
            layer, _, leaf = name.rpartition(".")
            if name.startswith("attn.in_proj_"):
                for part, chunk in zip("qkv", tensor.chunk(3)):
                    state[f"encoder.layers.{i}.self_attn.{part}_proj.{name.removeprefix('attn.in_proj_')}"] = chunk
            else:
                state[f"encoder.layers.{i}.{_OPENCLIP.get(layer, 'self_attn.out_proj')}.{leaf}"] = tensor
    return with_projection(state, pipelines.TEXT_WIDTH, pipelines.HEADS, "gelu", plain.text_projection.T)


def transformer():
    def inputs(name, n, tokens):
        return {"context": normal(f"{name}/context", [n, tokens, 24]), "y": normal(f"{name}/y", [n, 20])}

    model = make_mmdit(2, 24, 20, "sd3", "rms_norm", (0,))
    golden = flow.run_cases("sd3", model, inputs, call)
    save(GOLDEN / "sd3.safetensors", flow.packed(model.state_dict()), golden)


def whole_run():
    text_l, text_g, t5 = clip_l(), clip_g(), flow.t5_encoder()
    model, vae = make_mmdit(2, 16, 12, "tiny_sd3"), flow.vae("tiny_sd3/vae", 1.5305, 0.0609)
    words, pieces = flow.tokenizers()
    words_g, _ = flow.tokenizers()
    words_g.pad_token = "!"
    scheduler = FlowMatchEulerDiscreteScheduler(shift=3.0)
    pipe = StableDiffusion3Pipeline(model, scheduler, vae, text_l, words, text_g, words_g, t5, pieces)
    pipe.set_progress_bar_config(disable=True)
    noise, steps = flow.noise(), []

    def keep(_, __, ___, state):
        steps.append(state["latents"].clone())
        return {}

    texts = dict(prompt=flow.PROMPT, negative_prompt=flow.NEGATIVE, max_sequence_length=flow.TOKENS)
    pipe(
        **texts,
        height=flow.HEIGHT,
        width=flow.WIDTH,
        num_inference_steps=flow.STEPS,
        sigmas=[1 - i / flow.STEPS for i in range(flow.STEPS)],
        guidance_scale=CFG,
        latents=noise,
        output_type="latent",
        callback_on_step_end=keep,
    )
    cond, uncond, y, uncond_y = pipe.encode_prompt(prompt_2=None, prompt_3=None, **texts)
    pipe.text_encoder_3 = None
    without, *_ = pipe.encode_prompt(prompt_2=None, prompt_3=None, **texts)
    golden = {
        "cond": cond,
        "uncond": uncond,
        "y": y,
        "uncond_y": uncond_y,
        "noise": noise,
        "sigmas": scheduler.sigmas,
        "steps": torch.stack([noise, *steps]),
        "image": vae.decode(steps[-1] / vae.config.scaling_factor + vae.config.shift_factor).sample,
    }
    weights = {f"model.diffusion_model.{name}": tensor for name, tensor in sai_weights(model).items()}
    weights |= flow.vae_weights(vae, "first_stage_model.")
    more = {"num_head_channels": HEAD, "scale_factor": 1.5305, "shift_factor": 0.0609}
    save(
        GOLDEN / "tiny_sd3.safetensors",
        flow.packed(weights),
        {f"txt2img.{key}": value for key, value in golden.items()} | {"no_t5.cond": without},
        flow.metadata(CFG, **more),
    )


def main():
    transformer()
    whole_run()


if __name__ == "__main__":
    main()
