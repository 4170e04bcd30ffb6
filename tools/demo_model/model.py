"""The networks of the demo model, with the tensor names of Stable Diffusion 1.x (LDM).

Everything is plain torch. Because the modules carry the LDM names, a state dict
can be exported as it is. Each constructor argument that the tensor shapes cannot
tell (GroupNorm groups, head size) is a constant here and metadata in the export.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

VAE_CHANNELS, VAE_MULT, VAE_GROUPS, LATENT_CHANNELS = 32, (1, 1, 2, 4), 8, 4
UNET_CHANNELS, UNET_BLOCKS, UNET_GROUPS, HEAD_DIM = 64, (64, 128, 160), 16, 32
UNET_ATTENTION_LEVELS = (1, 2)
TEXT_WIDTH, TEXT_LAYERS, TEXT_HEADS, TEXT_LENGTH = 64, 3, 4, 77

IMAGE_SIZE, LATENT_SIZE = 192, 24


def upsample(x):
    return F.interpolate(x, scale_factor=2.0, mode="nearest")


# ---------------------------------------------------------------- autoencoder


class VaeResBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1 = nn.GroupNorm(VAE_GROUPS, inputs, eps=1e-6)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm2 = nn.GroupNorm(VAE_GROUPS, outputs, eps=1e-6)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        if inputs != outputs:
            self.nin_shortcut = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        h = self.conv1(F.silu(self.norm1(x)))
        h = self.conv2(F.silu(self.norm2(h)))
        return (self.nin_shortcut(x) if hasattr(self, "nin_shortcut") else x) + h


class VaeAttention(nn.Module):
    """Single-head self-attention over the pixels of the smallest map."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(VAE_GROUPS, channels, eps=1e-6)
        for name in ("q", "k", "v", "proj_out"):
            setattr(self, name, nn.Conv2d(channels, channels, 1))

    def forward(self, x):
        h = self.norm(x)
        q, k, v = (f(h).flatten(2).transpose(1, 2) for f in (self.q, self.k, self.v))
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        return x + self.proj_out(h)


class Holder(nn.Module):
    """A namespace: LDM nests blocks in objects that compute nothing themselves."""

    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


def vae_mid(channels):
    return Holder(
        block_1=VaeResBlock(channels, channels),
        attn_1=VaeAttention(channels),
        block_2=VaeResBlock(channels, channels),
    )


def run_mid(mid, x):
    return mid.block_2(mid.attn_1(mid.block_1(x)))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        channels = VAE_CHANNELS
        self.conv_in = nn.Conv2d(3, channels, 3, padding=1)
        self.down = nn.ModuleList()
        for level, mult in enumerate(VAE_MULT):
            outputs = VAE_CHANNELS * mult
            stage = Holder(block=nn.ModuleList([VaeResBlock(channels, outputs)]))
            channels = outputs
            if level + 1 < len(VAE_MULT):
                stage.downsample = Holder(conv=nn.Conv2d(channels, channels, 3, stride=2))
            self.down.append(stage)
        self.mid = vae_mid(channels)
        self.norm_out = nn.GroupNorm(VAE_GROUPS, channels, eps=1e-6)
        self.conv_out = nn.Conv2d(channels, 2 * LATENT_CHANNELS, 3, padding=1)

    def forward(self, x):
        h = self.conv_in(x)
        for stage in self.down:
            h = stage.block[0](h)
            if hasattr(stage, "downsample"):
                h = stage.downsample.conv(F.pad(h, (0, 1, 0, 1)))
        return self.conv_out(F.silu(self.norm_out(run_mid(self.mid, h))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        channels = VAE_CHANNELS * VAE_MULT[-1]
        self.conv_in = nn.Conv2d(LATENT_CHANNELS, channels, 3, padding=1)
        self.mid = vae_mid(channels)
        stages = []
        for level in reversed(range(len(VAE_MULT))):
            outputs = VAE_CHANNELS * VAE_MULT[level]
            blocks = [VaeResBlock(channels, outputs), VaeResBlock(outputs, outputs)]
            stage = Holder(block=nn.ModuleList(blocks))
            channels = outputs
            if level > 0:
                stage.upsample = Holder(conv=nn.Conv2d(channels, channels, 3, padding=1))
            stages.append(stage)
        self.up = nn.ModuleList(reversed(stages))
        self.norm_out = nn.GroupNorm(VAE_GROUPS, channels, eps=1e-6)
        self.conv_out = nn.Conv2d(channels, 3, 3, padding=1)

    def forward(self, z):
        h = run_mid(self.mid, self.conv_in(z))
        for stage in reversed(self.up):
            for block in stage.block:
                h = block(h)
            if hasattr(stage, "upsample"):
                h = stage.upsample.conv(upsample(h))
        return self.conv_out(F.silu(self.norm_out(h)))


class Autoencoder(nn.Module):
    """KL autoencoder, 8x smaller per side: pictures in [-1, 1], latents of unit variance."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()
        self.quant_conv = nn.Conv2d(2 * LATENT_CHANNELS, 2 * LATENT_CHANNELS, 1)
        self.post_quant_conv = nn.Conv2d(LATENT_CHANNELS, LATENT_CHANNELS, 1)

    def moments(self, x):
        return self.quant_conv(self.encoder(x)).chunk(2, dim=1)

    def encode(self, x):
        return self.moments(x)[0]

    def decode(self, z):
        return self.decoder(self.post_quant_conv(z))

    @torch.no_grad()
    def whiten(self, mean, std):
        """Fold a shift and scale of the latents into the two 1x1 convolutions.

        The diffusion model then sees unit variance and needs no scale factor.
        """
        n = LATENT_CHANNELS
        weight, bias = self.quant_conv.weight, self.quant_conv.bias
        weight[:n] /= std[:, None, None, None]
        bias[:n] = (bias[:n] - mean) / std
        bias[n:] -= 2 * std.log()
        weight, bias = self.post_quant_conv.weight, self.post_quant_conv.bias
        bias += weight[:, :, 0, 0] @ mean
        weight *= std[None, :, None, None]


# ----------------------------------------------------------------------- unet


class ResBlock(nn.Module):
    def __init__(self, inputs, outputs, time_width):
        super().__init__()
        self.in_layers = nn.Sequential(
            nn.GroupNorm(UNET_GROUPS, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1)
        )
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(time_width, outputs))
        self.out_layers = nn.Sequential(
            nn.GroupNorm(UNET_GROUPS, outputs),
            nn.SiLU(),
            nn.Dropout(0),  # keeps LDM's numbering of the convolution after it
            nn.Conv2d(outputs, outputs, 3, padding=1),
        )
        same = inputs == outputs
        self.skip_connection = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, emb, context):
        h = self.in_layers(x) + self.emb_layers(emb)[:, :, None, None]
        return self.skip_connection(x) + self.out_layers(h)


class CrossAttention(nn.Module):
    def __init__(self, width, context_width):
        super().__init__()
        self.heads = width // HEAD_DIM
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_k = nn.Linear(context_width, width, bias=False)
        self.to_v = nn.Linear(context_width, width, bias=False)
        self.to_out = nn.Sequential(nn.Linear(width, width))

    def forward(self, x, context):
        split = lambda t: t.unflatten(-1, (self.heads, HEAD_DIM)).transpose(1, 2)
        q, k, v = split(self.to_q(x)), split(self.to_k(context)), split(self.to_v(context))
        h = F.scaled_dot_product_attention(q, k, v)
        return self.to_out(h.transpose(1, 2).flatten(2))


class GatedLinear(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.proj = nn.Linear(width, 2 * hidden)

    def forward(self, x):
        value, gate = self.proj(x).chunk(2, dim=-1)
        return value * F.gelu(gate)


class TransformerBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn1 = CrossAttention(width, width)
        self.attn2 = CrossAttention(width, TEXT_WIDTH)
        layers = (GatedLinear(width, 4 * width), nn.Dropout(0), nn.Linear(4 * width, width))
        self.ff = Holder(net=nn.Sequential(*layers))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))

    def forward(self, x, context):
        h = self.norm1(x)
        x = x + self.attn1(h, h)
        x = x + self.attn2(self.norm2(x), context)
        return x + self.ff.net(self.norm3(x))


class SpatialTransformer(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(UNET_GROUPS, channels, eps=1e-6)
        self.proj_in = nn.Conv2d(channels, channels, 1)
        self.transformer_blocks = nn.ModuleList([TransformerBlock(channels)])
        self.proj_out = nn.Conv2d(channels, channels, 1)

    def forward(self, x, emb, context):
        height, width = x.shape[2:]
        h = self.proj_in(self.norm(x)).permute(0, 2, 3, 1).flatten(1, 2)
        h = self.transformer_blocks[0](h, context)
        h = h.unflatten(1, (height, width)).permute(0, 3, 1, 2)
        return x + self.proj_out(h)


class Resample(nn.Module):
    """LDM names the convolution `op` when going down and `conv` when going up."""

    def __init__(self, channels, down):
        super().__init__()
        self.down = down
        conv = nn.Conv2d(channels, channels, 3, stride=2 if down else 1, padding=1)
        setattr(self, "op" if down else "conv", conv)

    def forward(self, x, emb, context):
        return self.op(x) if self.down else self.conv(upsample(x))


class Stem(nn.Conv2d):
    def forward(self, x, emb, context):
        return super().forward(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        time_width = 4 * UNET_CHANNELS
        self.time_embed = nn.Sequential(
            nn.Linear(UNET_CHANNELS, time_width), nn.SiLU(), nn.Linear(time_width, time_width)
        )

        def block(inputs, outputs, level):
            parts = [ResBlock(inputs, outputs, time_width)]
            if level in UNET_ATTENTION_LEVELS:
                parts.append(SpatialTransformer(outputs))
            return parts

        channels, skips, levels = UNET_CHANNELS, [UNET_CHANNELS], len(UNET_BLOCKS)
        stem = Stem(LATENT_CHANNELS, channels, 3, padding=1)
        self.input_blocks = nn.ModuleList([nn.ModuleList([stem])])
        for level, outputs in enumerate(UNET_BLOCKS):
            self.input_blocks.append(nn.ModuleList(block(channels, outputs, level)))
            channels = outputs
            skips.append(channels)
            if level + 1 < levels:
                self.input_blocks.append(nn.ModuleList([Resample(channels, down=True)]))
                skips.append(channels)
        middle = [ResBlock(channels, channels, time_width), SpatialTransformer(channels)]
        self.middle_block = nn.ModuleList([*middle, ResBlock(channels, channels, time_width)])
        self.output_blocks = nn.ModuleList()
        for level in reversed(range(levels)):
            for last in (False, True):
                parts = block(channels + skips.pop(), UNET_BLOCKS[level], level)
                channels = UNET_BLOCKS[level]
                if last and level > 0:
                    parts.append(Resample(channels, down=False))
                self.output_blocks.append(nn.ModuleList(parts))
        final = nn.Conv2d(channels, LATENT_CHANNELS, 3, padding=1)
        self.out = nn.Sequential(nn.GroupNorm(UNET_GROUPS, channels), nn.SiLU(), final)

    def forward(self, x, t, context):
        half = UNET_CHANNELS // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(half) / half)
        angles = t.float()[:, None] * freqs
        emb = self.time_embed(torch.cat([angles.cos(), angles.sin()], dim=-1))

        def run(parts, h):
            for part in parts:
                h = part(h, emb, context)
            return h

        h, skips = x.contiguous(memory_format=torch.channels_last), []
        for parts in self.input_blocks:
            h = run(parts, h)
            skips.append(h)
        h = run(self.middle_block, h)
        for parts in self.output_blocks:
            h = run(parts, torch.cat([h, skips.pop()], dim=1))
        return self.out(h)


# --------------------------------------------------------------- text encoder


class TextAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(width, width))

    def forward(self, x):
        split = lambda t: t.unflatten(-1, (TEXT_HEADS, -1)).transpose(1, 2)
        q, k, v = (split(f(x)) for f in (self.q_proj, self.k_proj, self.v_proj))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(h.transpose(1, 2).flatten(2))


class TextLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.self_attn = TextAttention(width)
        self.mlp = Holder(fc1=nn.Linear(width, 4 * width), fc2=nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.self_attn(self.layer_norm1(x))
        h = self.mlp.fc1(self.layer_norm2(x))
        return x + self.mlp.fc2(h * torch.sigmoid(1.702 * h))


class TextEncoder(nn.Module):
    """CLIP's text transformer, over a compact vocabulary (see tokenizer.Vocabulary)."""

    def __init__(self, vocabulary_size):
        super().__init__()
        self.text_model = Holder(
            embeddings=Holder(
                token_embedding=nn.Embedding(vocabulary_size, TEXT_WIDTH),
                position_embedding=nn.Embedding(TEXT_LENGTH, TEXT_WIDTH),
            ),
            encoder=Holder(layers=nn.ModuleList(TextLayer(TEXT_WIDTH) for _ in range(TEXT_LAYERS))),
            final_layer_norm=nn.LayerNorm(TEXT_WIDTH),
        )

    def forward(self, ids):
        model = self.text_model
        h = model.embeddings.token_embedding(ids) + model.embeddings.position_embedding.weight
        for layer in model.encoder.layers:
            h = layer(h)
        return model.final_layer_norm(h)
