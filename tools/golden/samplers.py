"""Samplers: samplers.safetensors, whole runs of k-diffusion's samplers on a denoiser that can be written down.

    denoised = 0.7 x / (1 + sigma) + 0.1 tanh(x)    (elementwise)

Runs are computed in f64 from inputs that are exact in f32, and stored as f32.

Case <sampler>.<schedule>.<n>: sigmas [n + 1]; steps [n + 1, 1, 4, 2, 2]: the start, noise * sigmas[0], then x after each
step; noise [k, 1, 4, 2, 2], where the sampler asked for any: its k draws in the order it asked for them, and
noise_sigmas [k, 2], the levels from and to which each draw leads. eta and s_noise are 1, there is no churn.
dpmpp_2m_sde is the midpoint variant, dpmpp_2m_sde_heun the other; these and dpmpp_3m_sde have no run of one step.
"""

import torch

from common import GOLDEN, k_diffusion, normal, save
from schedules import discrete, karras, sigmas_of

SHAPE = (1, 4, 2, 2)
STEPS = (1, 2, 7, 20)
SAMPLERS = {
    "euler": {},
    "euler_ancestral": {},
    "heun": {},
    "dpm_2": {},
    "dpm_2_ancestral": {},
    "lms": {},
    "dpmpp_2s_ancestral": {},
    "dpmpp_sde": {},
    "dpmpp_2m": {},
    "dpmpp_2m_sde": {"solver_type": "midpoint"},
    "dpmpp_2m_sde_heun": {"solver_type": "heun"},
    "dpmpp_3m_sde": {},
}
NOISY = ("ancestral", "sde")


def denoise(x, sigma):
    return 0.7 * x / (1 + sigma[:, None, None, None]) + 0.1 * x.tanh()


def run(sampler, sigmas):
    """x at the start and after every step, the noise drawn, and the levels it was drawn for."""
    sampling, _ = k_diffusion()
    steps, noise, levels, more = [], [], [], dict(SAMPLERS[sampler])
    if any(word in sampler for word in NOISY):

        def draw(sigma, sigma_next):
            noise.append(normal(f"samplers/noise/{len(noise)}", SHAPE))
            levels.append(torch.stack([torch.as_tensor(sigma), torch.as_tensor(sigma_next)]))
            return noise[-1].double()

        more["noise_sampler"] = draw
    sample = getattr(sampling, "sample_" + sampler.replace("_sde_heun", "_sde"))
    start = normal("samplers/x", SHAPE) * sigmas[0]  # f32, as the engine would have it
    final = sample(
        denoise,
        start.double(),
        sigmas.double(),
        callback=lambda state: steps.append(state["x"].clone()),
        disable=True,
        **more,
    )
    return torch.stack([*steps, final]), noise, levels


def main():
    golden = {}
    for sampler in SAMPLERS:
        for schedule in (discrete, karras):
            for n in STEPS:
                if n == 1 and "m_sde" in sampler:
                    continue  # the reference fails on a run that is one step to zero
                sigmas, case = sigmas_of(schedule, n), f"{sampler}.{schedule.__name__}.{n}"
                steps, noise, levels = run(sampler, sigmas)
                assert len(steps) == n + 1
                golden |= {f"{case}.sigmas": sigmas, f"{case}.steps": steps.float()}
                if noise:
                    golden[f"{case}.noise"] = torch.stack(noise)
                    golden[f"{case}.noise_sigmas"] = torch.stack(levels).float()
    save(GOLDEN / "samplers.safetensors", {}, golden)


if __name__ == "__main__":
    main()
