"""Guidances: guidance.safetensors, the outputs that each makes of a network's, for an eps prediction at sigma 2.

x and the outputs cond, uncond, empty, no_picture are [4, 4, 4]. <guidance>.<variant> [4, 4, 4] is the guided output:

cfg.plain, cfg.rescale   scale 7; with rescale 0.7: diffusers' rescale_noise_cfg
apg.first, apg.second    scale 7, eta 0.2, momentum -0.5, threshold 5, the second call with cond and uncond swapped and the
                         momentum of the first: diffusers' normalized_guidance on clean estimates, its threshold times
                         sqrt(values) / 256
perp_neg.plain           scale 7, negative scale 1.5: written from the paper (Armandpour et al. 2023, section 4)
dynamic_thresholding.plain, .percentile  scale 15, mimic scale 7, percentile 1 and 0.9: written from the definition (means and
                         ranges per channel)
image.plain              scale 7, image scale 1.5: InstructPix2Pix, equation 3
"""

import torch
from diffusers.guiders.adaptive_projected_guidance import MomentumBuffer, normalized_guidance
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion import rescale_noise_cfg

from common import GOLDEN, normal, save

SHAPE, SIGMA, SCALE = (1, 4, 4, 4), 2.0, 7.0


def apg(x, cond, uncond, buffer, threshold=5):
    """Output of the guided estimate; eps = (x - estimate) / sigma."""
    clean = [x - SIGMA * output for output in (cond, uncond)]
    size = clean[0].numel() ** 0.5 / 256
    guided = normalized_guidance(*clean, SCALE - 1, buffer, 0.2, threshold * size, use_original_formulation=True)
    return (x - guided) / SIGMA


def perp_neg(cond, negative, empty, scale):
    towards, away = cond - empty, negative - empty
    across = away - (away * towards).sum() / (towards**2).sum() * towards
    return empty + SCALE * (towards - scale * across)


def thresholding(cond, uncond, percentile, scale=15, mimic=7):
    guided, wanted = (uncond + s * (cond - uncond) for s in (scale, mimic))
    means = guided.mean((2, 3), keepdim=True)
    centred = guided - means
    most = (wanted - wanted.mean((2, 3), keepdim=True)).abs().amax((2, 3), keepdim=True)
    quantile = torch.quantile(centred.abs().flatten(2), percentile, dim=2)[:, :, None, None]
    limit = torch.maximum(most, quantile)
    return centred.clamp(-limit, limit) / limit * most + means


def main():
    x, cond, uncond, empty, no_picture = (
        normal(f"guidance/{name}", SHAPE) for name in ("x", "cond", "uncond", "empty", "no_picture")
    )
    golden = {"x": x, "cond": cond, "uncond": uncond, "empty": empty, "no_picture": no_picture}
    x, cond, uncond, empty, no_picture = (tensor.double() for tensor in golden.values())
    guided, buffer = uncond + SCALE * (cond - uncond), MomentumBuffer(-0.5)
    answers = {
        "cfg.plain": guided,
        "cfg.rescale": rescale_noise_cfg(guided, cond, 0.7),
        "apg.first": apg(x, cond, uncond, buffer),
        "apg.second": apg(x, uncond, cond, buffer),
        "perp_neg.plain": perp_neg(cond, uncond, empty, 1.5),
        "dynamic_thresholding.plain": thresholding(cond, uncond, 1.0),
        "dynamic_thresholding.percentile": thresholding(cond, uncond, 0.9),
        "image.plain": no_picture + 1.5 * (uncond - no_picture) + SCALE * (cond - uncond),
    }
    golden |= {name: answer.float() for name, answer in answers.items()}
    save(GOLDEN / "guidance.safetensors", {}, {name: tensor[0] for name, tensor in golden.items()})


if __name__ == "__main__":
    main()
