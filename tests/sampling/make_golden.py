"""Writes golden.h beside this file: what torch, k-diffusion and diffusers answer to the questions of these tests.

Needs torch 2.x (a build for x86 with AVX2), k-diffusion 0.1.1 and diffusers; see the head of golden.h for the versions
used. The model is a formula, so that no weights are needed: see `Model`, and formula_model() in samplers_test.cpp.
"""

import importlib.metadata
import importlib.util
import pathlib
import sys
import types

import numpy as np
import torch
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion import rescale_noise_cfg

# The package's __init__ imports what only training needs; the two modules used here do without.
package = types.ModuleType("k_diffusion")
package.__path__ = list(importlib.util.find_spec("k_diffusion").submodule_search_locations)
sys.modules["k_diffusion"] = package
from k_diffusion import external, sampling  # noqa: E402

torch.set_num_threads(1)
CPU_SEEDS = (0, 42, 2**32 + 5, 2**63 - 1, 2**64 - 1)
STEPS = (1, 2, 3, 7, 20)


class Model:
    """Raw outputs with and without a condition, from formulas; guided with scale 5."""

    def __init__(self, alphas_cumprod, slope):
        self.alphas_cumprod = alphas_cumprod
        self.slope = slope  # keeps the latents at the size of real ones: 1 for eps, -0.3 for v

    def apply_model(self, x, t, cond=None):
        t = t.view(-1, 1, 1, 1)
        uncond = self.slope * x * t / 1000
        cond = uncond + 0.05 * torch.sin(3 * x + t / 500)
        return uncond + 5 * (cond - uncond)


def alphas_cumprod():
    """As LDM builds them: f64, stored as f32."""
    betas = np.linspace(0.00085**0.5, 0.012**0.5, 1000, dtype=np.float64) ** 2
    return torch.from_numpy(np.cumprod(1 - betas)).float()


def zero_terminal_snr(alphas):
    """Lin et al. 2023, algorithm 1, with the last value that web UIs use in place of zero."""
    root = alphas.double().sqrt()
    first, last = root[0].clone(), root[-1].clone()
    root = (root - last) * first / (first - last)
    rescaled = root**2
    rescaled[-1] = 4.8973451890853435e-08
    return rescaled.float()


def schedules(wrap, steps):
    t_max = len(wrap.sigmas) - 1
    simple = [wrap.sigmas[t_max - int(i * len(wrap.sigmas) / steps)].item() for i in range(steps)] + [0.0]
    sgm = wrap.t_to_sigma(torch.linspace(t_max, 0, steps + 1)[:-1]).tolist() + [0.0]
    return {
        "discrete": wrap.get_sigmas(steps).tolist(),
        "karras": sampling.get_sigmas_karras(steps, wrap.sigma_min.item(), wrap.sigma_max.item()).tolist(),
        "simple": simple,
        "sgm_uniform": sgm,
    }


def bits(tensor):
    return ", ".join(f"0x{v:08x}" for v in tensor.flatten().numpy().view(np.uint32))


def numbers(values):
    return ", ".join(f"{v:.9g}" for v in values)


def noise_rows():
    for seed in CPU_SEEDS:
        for size in (1, 4, 15, 16, 17, 40):
            generator = torch.Generator().manual_seed(seed)
            noise = torch.randn(size, generator=generator)
            yield f"    {{{seed}u, {{{size}}}, {{{bits(noise[-16:])}}}}},"
    generator = torch.Generator().manual_seed(7)  # the second half of a Box-Muller pair outlives a call
    calls = (3, 20, 5, 16, 2)
    noise = torch.cat([torch.randn(size, generator=generator) for size in calls])
    yield f"    {{7u, {{{', '.join(map(str, calls))}}}, {{{bits(noise[-23:])}}}}},"


def schedule_rows(name, wrap):
    for steps in STEPS:
        for schedule, sigmas in schedules(wrap, steps).items():
            yield f'    {{"{name}", "{schedule}", {steps}, {{{numbers(sigmas)}}}}},'


def sampler_rows(denoisers):
    functions = {
        "euler": sampling.sample_euler,
        "euler_a": sampling.sample_euler_ancestral,
        "heun": sampling.sample_heun,
        "dpm++2m": sampling.sample_dpmpp_2m,
    }
    for prediction, wrap in denoisers.items():
        for schedule, steps in (("discrete", 1), ("karras", 2), ("discrete", 7), ("karras", 20), ("simple", 20)):
            sigmas = torch.tensor(schedules(wrap, steps)[schedule])
            for name, function in functions.items():
                generator = torch.Generator().manual_seed(3)
                draw = lambda *_: torch.randn(1, 4, 2, 2, generator=generator)
                x = draw() * sigmas[0]
                more = {"noise_sampler": draw, "eta": 0.8, "s_noise": 1.05} if name == "euler_a" else {}
                x = function(wrap, x, sigmas, extra_args={"cond": None}, disable=True, **more)
                yield f'    {{"{prediction}", "{schedule}", {steps}, "{name}", {{{numbers(x.flatten().tolist())}}}}},'


def rescale_row():
    generator = torch.Generator().manual_seed(9)
    cond, uncond = torch.randn(2, 1, 4, 2, 2, generator=generator)
    guided = uncond + 7.5 * (cond - uncond)
    return numbers(rescale_noise_cfg(guided, cond, guidance_rescale=0.7).flatten().tolist())


def main():
    alphas = alphas_cumprod()
    plain = external.CompVisDenoiser(Model(alphas, 1))
    velocity = external.CompVisVDenoiser(Model(alphas, -0.3))
    zsnr = external.CompVisVDenoiser(Model(zero_terminal_snr(alphas), -0.3))
    points = torch.tensor([0.0, 0.25, 1.0, 250.5, 500.0, 998.2, 999.0])
    levels = torch.tensor([0.001, 0.0292, 0.05, 0.5, 1.0, 5.5, 14.6, 20.0])
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("torch", "k-diffusion", "diffusers"))
    lines = [
        f"// Made by make_golden.py with {versions}. Do not edit.",
        "// clang-format off",
        "#pragma once",
        "#include <cstdint>",
        "#include <string_view>",
        "#include <vector>",
        "",
        "namespace gesso::golden {",
        "",
        "struct CpuNoise {",
        "  uint64_t seed;",
        "  std::vector<int> calls;      // sizes drawn one after the other from one generator",
        "  std::vector<uint32_t> bits;  // of the last values drawn",
        "};",
        "inline const std::vector<CpuNoise> kCpuNoise = {",
        *noise_rows(),
        "};",
        "",
        f"inline const std::vector<double> kTimesteps = {{{numbers(points.tolist())}}};",
        f"inline const std::vector<double> kSigmas = {{{numbers(plain.t_to_sigma(points).tolist())}}};",
        f"inline const std::vector<double> kZsnrSigmas = {{{numbers(zsnr.t_to_sigma(points).tolist())}}};",
        f"inline const std::vector<double> kLevels = {{{numbers(levels.tolist())}}};",
        f"inline const std::vector<double> kLevelTimesteps = {{{numbers(plain.sigma_to_t(levels).tolist())}}};",
        "",
        "struct ScheduleCase {",
        "  std::string_view table, schedule;",
        "  int steps;",
        "  std::vector<double> sigmas;",
        "};",
        "inline const std::vector<ScheduleCase> kSchedules = {",
        *schedule_rows("scaled_linear", plain),
        *schedule_rows("zsnr", zsnr),
        "};",
        "",
        "// 4x2x2 latents, CPU noise of seed 3; euler_a with eta 0.8 and s_noise 1.05.",
        "struct SamplerCase {",
        "  std::string_view prediction, schedule;",
        "  int steps;",
        "  std::string_view sampler;",
        "  std::vector<double> latent;",
        "};",
        "inline const std::vector<SamplerCase> kSamplers = {",
        *sampler_rows({"eps": plain, "v": velocity}),
        "};",
        "",
        "// CPU noise of seed 9: 16 values for cond, 16 for uncond in one call; scale 7.5, rescale 0.7.",
        f"inline const std::vector<double> kRescaled = {{{rescale_row()}}};",
        "",
        "}  // namespace gesso::golden",
    ]
    (pathlib.Path(__file__).parent / "golden.h").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
