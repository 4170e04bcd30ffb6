"""CLIP text encoders: clip_l, clip_h and clip_g.

clip_l: transformers' CLIPTextModel with quick_gelu, under the names of SD 1.x.
clip_h: OpenCLIP's TextTransformer with gelu, under the names of SD 2.x, which conditions on the last but one
        layer sent through ln_final.
clip_g: the same class under the names of SDXL's second encoder, which conditions on the last but one layer as
        it is, and on the projected end-of-text state.

The token table has 600 rows instead of 49,408: 598 begins a text, 599 ends it.

Case tensors: ids [1, 77] i32; hidden.0 (token + position) ... hidden.<layers> [1, 77, width], before the final
norm; last = final norm of the last layer; penultimate_normed = final norm of the last but one; pooled [1, width]
= `last` at the first end-of-text token; projected [1, out] (clip_h, clip_g) = pooled @ text_projection.
"""

import torch
from open_clip.transformer import TextTransformer
from transformers import CLIPTextConfig, CLIPTextModel

from common import GOLDEN, normal, randomise, rename, save

VOCABULARY, BEGIN, END, LENGTH = 600, 598, 599, 77


def cases(own_padding, other_padding):
    """Rows of ids; real prompts are padded with the end token (CLIP-L) or with 0 (OpenCLIP)."""

    def row(count, padding):
        words = (normal(f"clip/words/{count}", [count]).abs() * 200).long() % BEGIN
        ids = [BEGIN, *words.tolist(), END]
        return torch.tensor([ids + [padding] * (LENGTH - len(ids))])

    return {
        "empty": row(0, own_padding),
        "short": row(7, own_padding),
        "other_padding": row(7, other_padding),
        "full": row(LENGTH - 2, own_padding),
    }


def openclip_hidden(model, ids):
    """States before the first and after every block of OpenCLIP's transformer."""
    hidden = []
    hooks = [
        block.register_forward_pre_hook(lambda _, args: hidden.append(args[0].clone()))
        for block in model.transformer.resblocks
    ]
    hooks.append(model.transformer.register_forward_hook(lambda _, __, output: hidden.append(output.clone())))
    projected = model(ids)
    for hook in hooks:
        hook.remove()
    return hidden, projected


def make_clip_l(width=24, heads=3, layers=2, vocabulary=VOCABULARY, end=END, seed="clip_l", half=False):
    config = CLIPTextConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=LENGTH,
        hidden_act="quick_gelu",
        bos_token_id=end - 1,
        eos_token_id=end,
        pad_token_id=end,
        projection_dim=width,
    )
    config._attn_implementation = "eager"
    return randomise(CLIPTextModel(config), seed, half)


def clip_l_rule(prefix="cond_stage_model.transformer."):
    """Checkpoints have `text_model.` in front, which newer transformers leave out of their own names."""
    return lambda name: prefix + (name if name.startswith("text_model.") else "text_model." + name)


def clip_l_weights(model, prefix="cond_stage_model.transformer.", half=False):
    weights = rename(dict(model.named_parameters()), clip_l_rule(prefix), half)
    weights[f"{prefix}text_model.embeddings.position_ids"] = torch.arange(LENGTH)[None]
    return weights


def make_openclip(width, heads, layers, out, vocabulary=VOCABULARY, seed="clip_h", half=False):
    model = TextTransformer(LENGTH, vocabulary, width, heads, layers, output_dim=out, pool_type="argmax")
    return randomise(model, seed, half)


def openclip_weights(model, prefix, half=False):
    weights = rename(dict(model.named_parameters()), lambda name: prefix + name, half)
    weights[f"{prefix}logit_scale"] = torch.tensor(4.6052)
    return weights


def clip_l():
    model = make_clip_l()
    norm = getattr(model, "text_model", model).final_layer_norm
    golden = {}
    for case, ids in cases(own_padding=END, other_padding=0).items():
        output = model(input_ids=ids, output_hidden_states=True)
        hidden = output.hidden_states[: model.config.num_hidden_layers + 1]
        assert torch.equal(norm(hidden[-1]), output.last_hidden_state)
        golden[f"{case}.ids"] = ids.int()
        golden |= {f"{case}.hidden.{layer}": state for layer, state in enumerate(hidden)}
        golden[f"{case}.last"] = output.last_hidden_state
        golden[f"{case}.penultimate_normed"] = norm(hidden[-2])
        golden[f"{case}.pooled"] = output.pooler_output
    save(
        GOLDEN / "clip_l.safetensors",
        clip_l_weights(model),
        golden,
        {"clip_heads": model.config.num_attention_heads, "clip_hidden_act": "quick_gelu"},
    )


def openclip(name, prefix, heads_key, width, heads, layers, out):
    model = make_openclip(width, heads, layers, out, seed=name)
    golden = {}
    for case, ids in cases(own_padding=0, other_padding=END).items():
        hidden, projected = openclip_hidden(model, ids)
        assert len(hidden) == layers + 1
        last = model.ln_final(hidden[-1])
        pooled = last[torch.arange(len(ids)), ids.argmax(-1)]
        assert torch.allclose(pooled @ model.text_projection, projected, atol=1e-6)
        golden[f"{case}.ids"] = ids.int()
        golden |= {f"{case}.hidden.{layer}": state for layer, state in enumerate(hidden)}
        golden[f"{case}.last"] = last
        golden[f"{case}.penultimate_normed"] = model.ln_final(hidden[-2])
        golden[f"{case}.pooled"] = pooled
        golden[f"{case}.projected"] = projected
    save(
        GOLDEN / f"{name}.safetensors",
        openclip_weights(model, prefix),
        golden,
        {heads_key: heads, "clip_hidden_act": "gelu"},
    )


def main():
    clip_l()
    openclip("clip_h", "cond_stage_model.model.", "clip_heads", width=24, heads=2, layers=2, out=20)
    openclip("clip_g", "conditioner.embedders.1.model.", "clip_g_heads", width=32, heads=4, layers=2, out=32)


if __name__ == "__main__":
    main()
