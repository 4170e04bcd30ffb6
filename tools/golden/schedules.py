"""Noise levels: schedules.safetensors, for the 1,000 scaled-linear betas 0.00085 ... 0.012 of SD 1.x, 2.x and SDXL.

Everything is computed in f64 and stored as f32. `discrete`, `karras`, `exponential` and the conversions are checked
against k-diffusion; the rest are ComfyUI's schedules, written from their definitions:

discrete      t from 999 to 0 in equal steps, sigma interpolated in its logarithm (ComfyUI: normal)
karras        Karras et al. 2022, rho 7;  exponential: equal steps of ln sigma
simple        entry 999 - floor(1000 i / n) of the table, i = 0 ... n-1
sgm_uniform   n + 1 values of t from 999 to 0 in equal steps, without the last
ddim_uniform  entries 1, 1+k, 1+2k ... of the table backwards, k = floor(1000 / n); can be longer than n
beta          entry round(999 F(1 - i / n)), F the inverse of the Beta(0.6, 0.6) distribution, repeats left out

table.{alphas_cumprod, sigmas} [1000]; <schedule>.<n> [n + 1], descending, with the final 0.
<schedule>.<n>.webui_<strength>: the part an image-to-image run of strength s uses in A1111, its last
min(floor(s n), n - 1) + 1 steps. <schedule>.<n>.comfy_<denoise>: ComfyUI's, the last n steps of a schedule of
floor(n / denoise).
convert.{sigma, t}: t of a sigma; convert.{t_in, sigma_out}: sigma of a t; convert.t_nearest: the table entry whose
ln sigma is nearest, which ComfyUI gives to the model.
"""

import numpy as np
import torch
from scipy.stats import beta as beta_distribution

from common import GOLDEN, k_diffusion, save

STEPS = (1, 2, 5, 20, 37)
STRENGTHS = (0.3, 0.75)

ALPHAS_CUMPROD = np.cumprod(1 - np.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2)
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


SCHEDULES = (discrete, karras, exponential, simple, sgm_uniform, ddim_uniform, beta)


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
            for strength in STRENGTHS:
                steps = min(int(strength * n), n - 1) + 1
                golden[f"{name}.webui_{strength}"] = sigmas[-(steps + 1) :]
                golden[f"{name}.comfy_{strength}"] = sigmas_of(schedule, int(n / strength))[-(n + 1) :]

    sigma = np.array([0.001, SIGMAS[0], 0.03, 0.1, SIGMAS[500], 0.5, 1, 2, 5, 10, 14.6, SIGMAS[-1], 20, 80])
    t_in = np.array([0, 0.25, 1, 10.5, 333.37, 500, 701, 998.5, 999])
    golden |= {"convert.sigma": sigma, "convert.t": t_of(sigma)}
    golden["convert.t_nearest"] = np.abs(np.log(sigma)[:, None] - np.log(SIGMAS)).argmin(1).astype(float)
    golden |= {"convert.t_in": t_in, "convert.sigma_out": sigma_of(t_in)}
    save(GOLDEN / "schedules.safetensors", {}, {name: torch.as_tensor(v).float() for name, v in golden.items()})


if __name__ == "__main__":
    main()
