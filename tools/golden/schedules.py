"""Noise levels: schedules.safetensors, for the 1,000 scaled-linear betas 0.00085 ... 0.012 of SD 1.x, 2.x and SDXL.

Everything is computed in f64 and stored as f32. `discrete`, `karras`, `exponential` and the conversions are checked
against k-diffusion; the rest are ComfyUI's schedules, written from their definitions:

discrete      t from 999 to 0 in equal steps, sigma interpolated in its logarithm (ComfyUI: normal)
karras        Karras et al. 2022, rho 7;  exponential: equal steps of ln sigma
simple        entry 999 - floor(1000 i / n) of the table, i = 0 ... n-1
sgm_uniform   n + 1 values of t from 999 to 0 in equal steps, without the last
ddim_uniform  entries 1, 1+k, 1+2k ... of the table backwards, k = floor(1000 / n); can be longer than n
beta          entry round(999 F(1 - i / n)), F the inverse of the Beta(0.6, 0.6) distribution, repeats left out
polyexponential  with rho 2, checked against k-diffusion;  kl_optimal  equal steps of arctan sigma (both to sigma_min)
smoothstep    entry round(999 s(1 - i / n)), s(u) = u^2 (3 - 2u)
lcm           diffusers' LCMScheduler, original_inference_steps 50;  ays  the published levels, log-linear between
gits          published levels for coefficient 1.20 (diff-sampler), for 2, 5 and 20 steps; log-linear above
bong_tangent  RES4LYF's: two arctan of slope 8 / (n + 2) that meet at half of the range, at 0.6 of the steps
linear_quadratic  ComfyUI's: 2.5 % of the range in n / 2 equal steps, then the parabola through (n, 1) with that slope
flow.*        on even times shifted by 3 (discrete, simple), or whatever the table: logit_normal (mu 0, std 1.75, logSNR -15
              to 18), flux and flux2 with the mu of diffusers' pipelines. 1,536 tokens.

table.{alphas_cumprod, sigmas} [1000]; <schedule>.<n> [n + 1], descending, with the final 0.
<schedule>.<n>.webui_<strength>: the part an image-to-image run of strength s uses in A1111, its last
min(floor(s n), n - 1) + 1 steps. <schedule>.<n>.comfy_<denoise>: ComfyUI's, the last n steps of a schedule of
floor(n / denoise).
convert.{sigma, t}: t of a sigma; convert.{t_in, sigma_out}: sigma of a t; convert.t_nearest: the table entry whose
ln sigma is nearest, which ComfyUI gives to the model.
"""

import numpy as np
import torch
from scipy.special import expit
from scipy.stats import beta as beta_distribution
from scipy.stats import norm

from common import GOLDEN, k_diffusion, save

STEPS = (1, 2, 5, 20, 37)
STRENGTHS = (0.3, 0.75)

# f32, as checkpoints hold it: that rounding moves the smallest sigmas by more than 1e-5.
ALPHAS_CUMPROD = np.cumprod(1 - np.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2).astype(np.float32).astype(np.float64)
SIGMAS = np.sqrt((1 - ALPHAS_CUMPROD) / ALPHAS_CUMPROD)
LAST = len(SIGMAS) - 1


def sigma_of(t):
    return np.exp(np.interp(t, np.arange(LAST + 1), np.log(SIGMAS)))


def t_of(sigma):
    return np.interp(np.log(sigma), np.log(SIGMAS), np.arange(LAST + 1))


def ramp(start, end, n):
    return np.linspace(start, end, n)


def discrete(n):
    return sigma_of(ramp(LAST, 0, n))


def karras(n, rho=7):
    return ramp(SIGMAS[-1] ** (1 / rho), SIGMAS[0] ** (1 / rho), n) ** rho


def exponential(n):
    return np.exp(ramp(np.log(SIGMAS[-1]), np.log(SIGMAS[0]), n))


def simple(n):
    return SIGMAS[[LAST - int(i * (len(SIGMAS) / n)) for i in range(n)]]


def sgm_uniform(n):
    return sigma_of(ramp(LAST, 0, n + 1)[:-1])


def ddim_uniform(n):
    return SIGMAS[1 :: max(len(SIGMAS) // n, 1)][::-1]


def beta(n):
    entries = np.rint(beta_distribution.ppf(1 - np.arange(n) / n, 0.6, 0.6) * LAST).astype(int)
    return SIGMAS[sorted(set(entries), reverse=True)]


def polyexponential(n, rho=2):
    low, high = np.log(SIGMAS[0]), np.log(SIGMAS[-1])
    return np.exp(low + ramp(1, 0, n) ** rho * (high - low))


def kl_optimal(n):
    return np.tan(ramp(np.arctan(SIGMAS[-1]), np.arctan(SIGMAS[0]), n))


def smoothstep(n):
    u = 1 - np.arange(n) / n
    return SIGMAS[np.floor(u**2 * (3 - 2 * u) * LAST + 0.5).astype(int)]


def lcm(n):
    from diffusers import LCMScheduler

    scheduler = LCMScheduler(original_inference_steps=50)
    scheduler.set_timesteps(n)
    return SIGMAS[scheduler.timesteps.numpy()]


def log_linear(levels, n):
    return np.exp(np.interp(ramp(0, len(levels) - 1, n + 1), np.arange(len(levels)), np.log(levels)))[:-1]


AYS = [14.6146412293, 6.4745760956, 3.8636745985, 2.6946151520, 1.8841921177, 1.3943805092, 0.9642583904,
       0.6523686016, 0.3977456272, 0.1515232662, 0.0291671582]  # fmt: skip


def ays(n):
    from diffusers.schedulers import AysSchedules

    # The levels as ComfyUI has them; diffusers rounds them to about three digits.
    assert np.allclose(AYS[:-1], AysSchedules["StableDiffusionSigmas"][:-1], rtol=4e-3), AYS
    return log_linear(AYS, n)


GITS = {
    2: [14.61464119, 0.803307],
    5: [14.61464119, 2.84484982, 1.24153244, 0.59516323, 0.25053367],
    20: [14.61464119, 7.49001646, 4.65472794, 3.07277966, 2.19988537, 1.61558151, 1.24153244, 0.95350921, 0.74807048,
         0.59516323, 0.50118381, 0.41087446, 0.34370604, 0.29807833, 0.25053367, 0.22545385, 0.19894916, 0.17026083,
         0.13792117, 0.09824532],
}  # fmt: skip


def gits(n):
    if n == 1:
        return SIGMAS[-1:]
    return np.array(GITS[n]) if n in GITS else log_linear([*GITS[20], 0.02916753], n)


def bong_tangent(n):
    if n == 1:
        return SIGMAS[-1:]
    count, low, high = n + 2, SIGMAS[0], SIGMAS[-1]
    first, middle = int(count * 0.6), (low + high) / 2

    def part(length, pivot, start, end):
        v = (2 / np.pi * np.arctan(-0.2 / (count / 40) * (np.arange(length) - pivot)) + 1) / 2
        return (v - v[-1]) / (v[0] - v[-1]) * (start - end) + end if length > 1 else np.array([start])

    return np.concatenate([part(first, first, high, middle)[:-1], part(count - first, 0, middle, low)])[:-1]


def linear_quadratic(n, threshold=0.025):
    if n == 1:
        return SIGMAS[-1:]
    lines = n // 2
    slope = threshold / lines
    # a i^2 + b i + c with the line's value and slope at i = lines, and 1 at i = n
    a, b, c = np.linalg.solve([[lines**2, lines, 1], [2 * lines, 1, 0], [n**2, n, 1]], [threshold, slope, 1])
    i = np.arange(n)
    return SIGMAS[-1] * (1 - np.where(i < lines, slope * i, a * i**2 + b * i + c))


SCHEDULES = (discrete, karras, exponential, simple, sgm_uniform, ddim_uniform, beta, polyexponential, kl_optimal)
SCHEDULES += (smoothstep, lcm, ays, gits, bong_tangent, linear_quadratic)

WITH_STRENGTH = SCHEDULES[:7]
TOKENS = 1536


def shifted(time, shift):
    return shift * time / (1 + (shift - 1) * time)


def even(n):
    return 1 - np.arange(n) / n


def logit_normal(n):
    logits = 0.5 * np.log(TOKENS / 1024) + 1.75 * norm.ppf(even(n))
    return np.clip(expit(logits), expit(-7.5), expit(9))


def flux(n):
    from diffusers.pipelines.flux.pipeline_flux import calculate_shift

    return shifted(even(n), np.exp(calculate_shift(TOKENS)))


def flux2(n):
    from diffusers.pipelines.flux2.pipeline_flux2 import compute_empirical_mu

    return shifted(even(n), np.exp(compute_empirical_mu(TOKENS, n)))


FLOW = {
    "discrete": lambda n: shifted((ramp(999, 0, n) + 1) / 1000, 3),
    "simple": lambda n: shifted((1000 - np.floor(np.arange(n) * 1000 / n)) / 1000, 3),
    "logit_normal": logit_normal,
    "flux": flux,
    "flux2": flux2,
}


def sigmas_of(schedule, n):
    return torch.from_numpy(np.append(schedule(n), 0.0)).float()


def check_with_k_diffusion():
    sampling, external = k_diffusion()
    wrapper = external.DiscreteEpsDDPMDenoiser(None, torch.from_numpy(ALPHAS_CUMPROD), quantize=False)
    low, high = SIGMAS[0], SIGMAS[-1]
    for n in STEPS:
        theirs = {
            discrete: wrapper.get_sigmas(n),
            karras: sampling.get_sigmas_karras(n, low, high),
            exponential: sampling.get_sigmas_exponential(n, low, high),
            polyexponential: sampling.get_sigmas_polyexponential(n, low, high, rho=2),
        }
        for schedule, expected in theirs.items():
            assert torch.allclose(sigmas_of(schedule, n), expected.float(), rtol=2e-6, atol=0), (schedule, n)
    sigmas = torch.linspace(0.03, 14.6, 50, dtype=torch.float64)
    assert np.allclose(wrapper.sigma_to_t(sigmas), t_of(sigmas.numpy()), rtol=1e-9)


def main():
    check_with_k_diffusion()
    golden = {"table.alphas_cumprod": ALPHAS_CUMPROD, "table.sigmas": SIGMAS}
    for schedule in SCHEDULES:
        for n in STEPS:
            name, sigmas = f"{schedule.__name__}.{n}", sigmas_of(schedule, n)
            golden[name] = sigmas
            if schedule not in WITH_STRENGTH:
                continue
            for strength in STRENGTHS:
                steps = min(int(strength * n), n - 1) + 1
                golden[f"{name}.webui_{strength}"] = sigmas[-(steps + 1) :]
                golden[f"{name}.comfy_{strength}"] = sigmas_of(schedule, int(n / strength))[-(n + 1) :]

    for name, schedule in FLOW.items():
        for n in STEPS:
            golden[f"flow.{name}.{n}"] = np.append(schedule(n), 0)

    sigma = np.array([0.001, SIGMAS[0], 0.03, 0.1, SIGMAS[500], 0.5, 1, 2, 5, 10, 14.6, SIGMAS[-1], 20, 80])
    t_in = np.array([0, 0.25, 1, 10.5, 333.37, 500, 701, 998.5, 999])
    golden |= {"convert.sigma": sigma, "convert.t": t_of(sigma)}
    golden["convert.t_nearest"] = np.abs(np.log(sigma)[:, None] - np.log(SIGMAS)).argmin(1).astype(float)
    golden |= {"convert.t_in": t_in, "convert.sigma_out": sigma_of(t_in)}
    save(GOLDEN / "schedules.safetensors", {}, {name: torch.as_tensor(v).float() for name, v in golden.items()})


if __name__ == "__main__":
    main()
