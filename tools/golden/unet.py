"""UNets: unet_sd1, unet_sd2 and unet_sdxl, by diffusers' UNet2DConditionModel.

Levels, blocks, kinds of projection and ways of counting heads are those of the real models; channels are few.
The weights are f16, the arithmetic is f32 on their exact values.

Case tensors: x [n, in, h, w]; t [n], whole or fractional steps; context [n, tokens, width]; y [n, adm] (SDXL:
pooled text, then the sinusoids of original height and width, crop top and left, target height and width, whose
numbers are in time_ids [n, 6]); out [n, out, h, w]; bf16_error [1]: the RMS error of the reference in bf16.
"""

import copy

import torch
from diffusers import UNet2DConditionModel
from diffusers.loaders.single_file_utils import convert_ldm_unet_checkpoint
from diffusers.models.embeddings import get_timestep_embedding

from common import GOLDEN, normal, randomise, rename, save
from names import unet_rule

GROUPS = 4

#  case               n   h   w  tokens  steps
CASES = {
    "square": (1, 16, 16, 77, [981]),
    "wide_batch": (2, 8, 16, 77, [1, 500]),
    "tall_fractional": (1, 16, 8, 77, [333.37]),
    "long_context": (2, 8, 8, 154, [0.25, 998.5]),
    "odd": (1, 10, 13, 77, [701]),  # halves to 5x7, 3x4, 2x2: the way up must return to these sizes
}


def make_unet(channels, context, attention, in_channels=4, half=True, seed=None, **config):
    """`attention[i]`: whether level i attends to the text."""
    down = ["CrossAttnDownBlock2D" if has else "DownBlock2D" for has in attention]
    up = ["CrossAttnUpBlock2D" if has else "UpBlock2D" for has in reversed(attention)]
    model = UNet2DConditionModel(
        sample_size=8,
        in_channels=in_channels,
        out_channels=4,
        block_out_channels=channels,
        down_block_types=down,
        up_block_types=up,
        layers_per_block=2,
        norm_num_groups=GROUPS,
        cross_attention_dim=context,
        **config,
    )
    return randomise(model, seed, half)


def sd1(channels=(8, 16, 16, 24), context=24, in_channels=4, seed="unet_sd1"):
    # What diffusers calls attention_head_dim is a number of heads.
    return make_unet(channels, context, (1, 1, 1, 0), in_channels, seed=seed, attention_head_dim=2)


def sd2(channels=(8, 16, 16, 16), context=24, head=8, seed="unet_sd2"):
    return make_unet(
        channels,
        context,
        (1, 1, 1, 0),
        seed=seed,
        use_linear_projection=True,
        attention_head_dim=[width // head for width in channels],
    )


def sdxl(channels=(8, 16, 16), context=32, pooled=24, head=8, seed="unet_sdxl"):
    return make_unet(
        channels,
        context,
        (0, 1, 1),
        seed=seed,
        use_linear_projection=True,
        attention_head_dim=[width // head for width in channels],
        transformer_layers_per_block=(1, 1, 2),
        addition_embed_type="text_time",
        addition_time_embed_dim=256,
        projection_class_embeddings_input_dim=pooled + 6 * 256,
    )


def ldm_unet(model):
    """The weights under LDM names; proves the renaming by diffusers' converter."""
    attention_up = ["CrossAttn" in kind for kind in model.config.up_block_types]
    rule = unet_rule(model.config.layers_per_block, attention_up)
    weights = rename(model.state_dict(), rule, half=True)
    back = convert_ldm_unet_checkpoint(dict(weights), dict(model.config))
    assert back.keys() == model.state_dict().keys()
    assert all(torch.equal(back[name].float(), value) for name, value in model.state_dict().items())
    return weights


def adm(pooled, time_ids):
    """SDXL's vector condition."""
    sizes = get_timestep_embedding(time_ids.flatten(), 256, flip_sin_to_cos=True, downscale_freq_shift=0)
    return torch.cat([pooled, sizes.reshape(len(pooled), -1)], -1)


def in_bf16(model, x, t, context, added):
    """What the reference itself answers with weights and activations in bf16."""
    added = {name: value.bfloat16() for name, value in added.items()} if added else None
    reduced = copy.deepcopy(model).bfloat16()
    return reduced(x.bfloat16(), t, context.bfloat16(), added_cond_kwargs=added).sample.float()


def rms_error(actual, expected):
    """The root mean square of the difference over that of the expected values, [1]."""
    return ((actual - expected).square().mean() / expected.square().mean()).sqrt().reshape(1)


def run(name, model, metadata):
    config, golden = model.config, {}
    for case, (n, h, w, tokens, steps) in CASES.items():
        x = normal(f"{name}/{case}/x", [n, config.in_channels, h, w])
        t = torch.tensor(steps, dtype=torch.float32)
        context = normal(f"{name}/{case}/context", [n, tokens, config.cross_attention_dim])
        inputs, added = {"x": x, "t": t, "context": context}, None
        if config.addition_embed_type:
            pooled = normal(f"{name}/{case}/pooled", [n, config.projection_class_embeddings_input_dim - 6 * 256])
            time_ids = torch.tensor([[h * 8, w * 8, 16.0, 0.0, 1024.0, 768.0 + i] for i in range(n)])
            added = {"text_embeds": pooled, "time_ids": time_ids}
            inputs |= {"time_ids": time_ids, "y": adm(pooled, time_ids)}
        inputs["out"] = model(x, t, context, added_cond_kwargs=added).sample
        inputs["bf16_error"] = rms_error(in_bf16(model, x, t, context, added), inputs["out"])
        golden |= {f"{case}.{key}": value for key, value in inputs.items()}
    save(GOLDEN / f"{name}.safetensors", ldm_unet(model), golden, {"unet_norm_num_groups": GROUPS, **metadata})


def main():
    epsilon = {"prediction_type": "epsilon"}
    run("unet_sd1", sd1(), {"num_heads": 2, **epsilon})
    run("unet_sd2", sd2(), {"num_head_channels": 8, "prediction_type": "v_prediction"})
    run("unet_sdxl", sdxl(), {"num_head_channels": 8, **epsilon})


if __name__ == "__main__":
    main()
