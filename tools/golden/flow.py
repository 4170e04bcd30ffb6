"""What the scripts of flow transformers share: weights of 8 bits, cases, whole runs.

Every parameter is rounded to float8 (e4m3) and computed with in f32, so that the files stay small. For the same reason
the runs borrow the CLIP encoders of tiny_sdxl, whose tables are most of it, and T5's table ends behind the prompts' ids.
"""

import copy

import torch
from diffusers import AutoencoderKL

import clip
import pipelines
import t5
import tokenizer
from common import normal, weight
from names import vae_rule, vae_tensor
from unet import rms_error

GROUPS, LATENT, TOKENS = 4, 16, 64
WIDTH, HEIGHT, STEPS, SEED = 64, 80, 5, 42
PROMPT, NEGATIVE = "a photo of a cat", "low quality"
VOCABULARY = 2048  # of T5

#  case              n  h   w   tokens  steps
CASES = {
    "square": (1, 8, 8, 20, [981]),
    "wide_batch": (2, 4, 10, 20, [1, 500]),
    "tall_fractional": (1, 10, 6, 33, [333.37]),
    "short_text": (1, 6, 6, 1, [12.5]),
}


def randomise(model, seed):
    for name, parameter in model.named_parameters():
        parameter.copy_(weight(f"{seed}/{name}", parameter.shape).to(torch.float8_e4m3fn).float())
    return model.eval()


def packed(state):
    """The tensors as float8 where they are exact in it, else (tables of positions) as they are."""
    reduced = {name: tensor.to(torch.float8_e4m3fn) for name, tensor in state.items()}
    return {n: reduced[n] if torch.equal(reduced[n].float(), t) else t for n, t in state.items()}


def run_cases(name, model, make_inputs, call):
    """Golden tensors of every case; `call(model, x, t, inputs)` answers for x [n, channels, h, w]."""
    golden = {}
    reduced = copy.deepcopy(model).bfloat16()
    for case, (n, h, w, tokens, steps) in CASES.items():
        x = normal(f"{name}/{case}/x", [n, LATENT, h, w])
        t = torch.tensor(steps, dtype=torch.float32)
        inputs = make_inputs(f"{name}/{case}", n, tokens)
        out = call(model, x, t, inputs)
        in_bf16 = call(reduced, x.bfloat16(), t, {k: v.bfloat16() for k, v in inputs.items()}).float()
        case_tensors = {"x": x, "t": t, **inputs, "out": out, "bf16_error": rms_error(in_bf16, out)}
        golden |= {f"{case}.{key}": value for key, value in case_tensors.items()}
    return golden


def vae(seed, scale, shift):
    channels = (8, 8, 8, 8)
    model = AutoencoderKL(
        down_block_types=["DownEncoderBlock2D"] * 4,
        up_block_types=["UpDecoderBlock2D"] * 4,
        block_out_channels=channels,
        layers_per_block=2,
        latent_channels=LATENT,
        norm_num_groups=GROUPS,
        scaling_factor=scale,
        shift_factor=shift,
        use_quant_conv=False,
        use_post_quant_conv=False,
        sample_size=64,
    )
    return randomise(model, seed)


def vae_weights(model, prefix):
    """Under LDM names, the decoder alone: painting needs no more."""
    rule = vae_rule(len(model.config.block_out_channels), prefix)
    state = {rule(name): tensor for name, tensor in model.state_dict().items() if name.startswith("decoder.")}
    return {name: vae_tensor(name, tensor) for name, tensor in state.items()}


def clip_l():
    """That of tiny_sdxl."""
    return pipelines.clip_l("tiny_sdxl/clip_l", width=4, heads=1)


def t5_encoder():
    return randomise(t5.make_t5(16, 2, 4, 2, 16, VOCABULARY), "flow/t5")


def t5_weights(model, prefix):
    return {prefix + n: v for n, v in model.named_parameters() if n != "encoder.embed_tokens.weight"}


def tokenizers():
    words = tokenizer.reference()
    words.model_max_length = clip.LENGTH
    return words, t5.reference()


def noise():
    return torch.randn([1, LATENT, HEIGHT // 8, WIDTH // 8], generator=torch.Generator().manual_seed(SEED))


def metadata(cfg, **more):
    golden = dict(prompt=PROMPT, negative_prompt=NEGATIVE, width=WIDTH, height=HEIGHT, steps=STEPS, cfg=cfg, seed=SEED)
    common = {"vae_norm_num_groups": GROUPS, "text_tokens": TOKENS}
    return common | {f"golden.{key}": value for key, value in golden.items()} | more
