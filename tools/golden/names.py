"""From the names diffusers gives to UNet and VAE weights to the names in LDM / SGM checkpoints.

Written from the layout of the two formats; unet.py and vae.py check it by sending the result back through
diffusers' own converter.
"""

import re

_RESNET = {
    "norm1": "in_layers.0",
    "conv1": "in_layers.2",
    "time_emb_proj": "emb_layers.1",
    "norm2": "out_layers.0",
    "conv2": "out_layers.3",
    "conv_shortcut": "skip_connection",
}
_UNET_ENDS = {
    "conv_in": "input_blocks.0.0",
    "time_embedding.linear_1": "time_embed.0",
    "time_embedding.linear_2": "time_embed.2",
    "add_embedding.linear_1": "label_emb.0.0",
    "add_embedding.linear_2": "label_emb.0.2",
    "conv_norm_out": "out.0",
    "conv_out": "out.2",
}


def unet_rule(resnets, attention_up, prefix="model.diffusion_model."):
    """`resnets`: residual blocks per level on the way down; `attention_up[i]`: whether up block i has attention."""

    def rule(name):
        body, leaf = name.rsplit(".", 1)
        if body in _UNET_ENDS:
            return f"{prefix}{_UNET_ENDS[body]}.{leaf}"
        parts = name.split(".")
        if parts[0] == "mid_block":
            kind, index, rest = parts[1], int(parts[2]), parts[3:]
            block, slot = f"middle_block.{1 if kind == 'attentions' else 2 * index}", None
        else:
            side, level, kind, index, rest = parts[0], int(parts[1]), parts[2], int(parts[3]), parts[4:]
            if side == "down_blocks":
                if kind == "downsamplers":
                    return f"{prefix}input_blocks.{(level + 1) * (resnets + 1)}.0.op.{leaf}"
                block = f"input_blocks.{1 + level * (resnets + 1) + index}"
            else:
                if kind == "upsamplers":
                    slot = 2 if attention_up[level] else 1
                    return f"{prefix}output_blocks.{level * (resnets + 1) + resnets}.{slot}.conv.{leaf}"
                block = f"output_blocks.{level * (resnets + 1) + index}"
            slot = 1 if kind == "attentions" else 0
        if kind == "resnets":
            rest = [_RESNET[rest[0]], *rest[1:]]
        return ".".join([prefix + block, *([] if slot is None else [str(slot)]), *rest])

    return rule


_VAE_ATTENTION = {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out.0": "proj_out"}


def vae_rule(levels, prefix="first_stage_model."):
    """`levels`: resolutions of the autoencoder; LDM counts those of the decoder from the finest."""

    def rule(name):
        name = name.replace("conv_shortcut", "nin_shortcut").replace("conv_norm_out", "norm_out")
        name = re.sub(r"down_blocks\.(\d+)\.resnets\.(\d+)", r"down.\1.block.\2", name)
        name = re.sub(r"down_blocks\.(\d+)\.downsamplers\.0", r"down.\1.downsample", name)
        name = re.sub(
            r"up_blocks\.(\d+)\.resnets\.(\d+)", lambda m: f"up.{levels - 1 - int(m[1])}.block.{m[2]}", name
        )
        name = re.sub(r"up_blocks\.(\d+)\.upsamplers\.0", lambda m: f"up.{levels - 1 - int(m[1])}.upsample", name)
        name = re.sub(r"mid_block\.resnets\.(\d)", lambda m: f"mid.block_{int(m[1]) + 1}", name)
        name = re.sub(
            r"mid_block\.attentions\.0\.(.+)\.(weight|bias)",
            lambda m: f"mid.attn_1.{_VAE_ATTENTION[m[1]]}.{m[2]}",
            name,
        )
        return prefix + name

    return rule


def vae_tensor(name, tensor):
    """LDM keeps the matrices of the VAE's attention as 1x1 convolutions."""
    return tensor[:, :, None, None] if ".mid.attn_1." in name and tensor.ndim == 2 else tensor
