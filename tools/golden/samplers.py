"""Samplers: samplers.safetensors, whole runs on a denoiser that can be written down (elementwise):

    denoised = 0.7 x / (1 + sigma) + 0.1 tanh(x);   without the prompt 0.5 x / (1 + sigma)

Runs are computed in f64 from inputs that are exact in f32, and stored as f32. Case <sampler>.<schedule>.<n>: x after each
step [n, 4, 2, 2], only the last of those for dpm_fast and dpm_adaptive [1, 4, 2, 2]. sigmas.<schedule>.<n> [n + 1];
schedules are discrete, karras and flow, even times shifted by 3, whose latents are (1 - sigma) image + sigma noise.
x [4, 2, 2]: a run starts with it times sigmas[0] in f32; noise [k, 4, 2, 2]: the k-th draw. eta is what the engine
takes by itself (1 for euler_a, *_a, *sde, ddpm; 0 for the rest), or what follows the sampler's name ("tcd@0.3"). No churn.

References: k-diffusion for what it has, also for those of them that are the same for a flow; diffusers for uni_pc
(order 3); the papers for the others (sampler_formulas.py), among them the flow forms with noise, which k-diffusion does not
have. dpm++2m_sde_bt takes its noise from torchsde's Brownian tree of seed 7. dpm_fast and dpm_adaptive end at the sigma
before 0, in n - 1 evaluations, and one more takes them to 0. A run of one step to 0 is the estimate.
"""

import torch

import sampler_formulas as formulas
import schedules
from common import GOLDEN, k_diffusion, normal, save

SHAPE = (1, 4, 2, 2)
STEPS = (1, 2, 7, 20)
FLOW_SHIFT = 3
TREE_SEED = 7


class Model:
    def __call__(self, x, sigma, **_):
        sigma = torch.as_tensor(sigma, dtype=torch.float64).reshape(-1, 1, 1, 1)
        return 0.7 * x / (1 + sigma) + 0.1 * x.tanh()

    def uncond(self, x, sigma):
        return 0.5 * x / (1 + sigma)


def flow(n):
    t = 1 - torch.arange(n, dtype=torch.float64) / n
    return (FLOW_SHIFT * t / (1 + (FLOW_SHIFT - 1) * t)).numpy()


def k_diffusion_sampler(name, **more):
    """One of k-diffusion's, as a function (model, x, sigmas, draw, flow) of the steps."""

    def run(model, x, sigmas, draw, _):
        sampling, _ = k_diffusion()
        if len(sigmas) == 2:
            return [model(x, sigmas[0])]  # some of the references fail on a run that is one step to zero
        noise = {"noise_sampler": lambda *_: draw()} if name.endswith(("ancestral", "sde")) else {}
        steps, levels = [], torch.tensor(sigmas, dtype=torch.float64)
        callback = lambda state: steps.append(state["x"].clone())
        final = getattr(sampling, "sample_" + name)(model, x, levels, callback=callback, disable=True, **(noise | more))
        return [*steps[1:], final]

    return run


def dpmpp_2m_sde_bt(model, x, sigmas, draw, flow):
    sampling, _ = k_diffusion()
    if len(sigmas) == 2:
        return [model(x, sigmas[0])]
    tree = sampling.BrownianTreeNoiseSampler(x.float(), torch.tensor(sigmas[-2]), torch.tensor(sigmas[0]), TREE_SEED)
    noise = lambda *levels: tree(*levels).double()
    return k_diffusion_sampler("dpmpp_2m_sde", noise_sampler=noise)(model, x, sigmas, draw, flow)


def dpm_solver(name):
    def run(model, x, sigmas, *_):
        sampling, _ = k_diffusion()
        if len(sigmas) > 2:
            more = {"n": len(sigmas) - 2} if name == "dpm_fast" else {}
            x = getattr(sampling, "sample_" + name)(model, x, sigmas[-2], sigmas[0], disable=True, **more)
        return [model(x, sigmas[-2])]

    return run


def uni_pc(variant):
    def run(model, x, sigmas, _, flow):
        from diffusers import UniPCMultistepScheduler

        scheduler = UniPCMultistepScheduler(
            solver_order=3, solver_type=variant, prediction_type="sample", use_flow_sigmas=flow
        )
        scheduler.set_timesteps(len(sigmas) - 1)
        levels = formulas.finite(sigmas, flow)
        scheduler.sigmas = torch.tensor(levels, dtype=torch.float64)
        scheduler.timesteps = torch.arange(len(sigmas) - 1)
        scale = [1.0 if flow else formulas.vp(s) ** 0.5 for s in levels]
        y = x * scale[0]
        for i, t in enumerate(scheduler.timesteps):
            # The corrector changes the latent within step(), so that its own latent is asked for before the estimate.
            denoised = model(y / scale[i], levels[i])
            if levels[i + 1] == 0:  # the limit of the step, which bh1 there computes as infinity times nothing
                yield denoised
                return
            y = scheduler.step(denoised, t, y).prev_sample
            yield y / scale[i + 1]

    return run


K_DIFFUSION = {
    "euler": "euler", "heun": "heun", "dpm2": "dpm_2", "dpm++2m": "dpmpp_2m", "lms": "lms",
    "euler_a": "euler_ancestral", "dpm2_a": "dpm_2_ancestral", "dpm++2s_a": "dpmpp_2s_ancestral",
    "dpm++2m_sde": "dpmpp_2m_sde", "dpm++3m_sde": "dpmpp_3m_sde", "dpm++sde": "dpmpp_sde",
}  # fmt: skip
NOISELESS = ("euler", "heun", "dpm2", "dpm++2m", "lms")

DIFFUSION = {name: k_diffusion_sampler(theirs) for name, theirs in K_DIFFUSION.items()}
EITHER = {
    "dpm++2mv2": formulas.dpmpp_2m_v2,
    "dpm_fast": dpm_solver("dpm_fast"),
    "dpm_adaptive": dpm_solver("dpm_adaptive"),
    "ipndm": formulas.ipndm,
    "ipndm_v": formulas.ipndm_v,
    "deis": formulas.deis,
    "lcm": formulas.lcm,
    "uni_pc": uni_pc("bh1"),
    "uni_pc_bh2": uni_pc("bh2"),
    "res_multistep": formulas.res_multistep_with(0),
    "res_multistep@1": formulas.res_multistep_with(1),
    "res_2s": formulas.res_2s,
    "er_sde": formulas.er_sde,
    "euler_cfg_pp": formulas.cfg_pp_with(0),
    "euler_a_cfg_pp": formulas.cfg_pp_with(1),
    "euler_ge": formulas.euler_ge,
}
DIFFUSION |= EITHER | {
    "dpm++2m_sde_bt": dpmpp_2m_sde_bt,
    "ddim": formulas.ddim_with(0),
    "ddim@0.5": formulas.ddim_with(0.5),
    "ddim_trailing": formulas.ddim_with(0),
    "ddpm": formulas.ddpm,
    "plms": formulas.plms,
    "tcd": formulas.tcd_with(0, schedules.SIGMAS),
    "tcd@0.3": formulas.tcd_with(0.3, schedules.SIGMAS),
}
FLOW = EITHER | {name: DIFFUSION[name] for name in NOISELESS}
FLOW |= {
    "euler_a": formulas.euler_a,
    "dpm2_a": formulas.dpm2_a,
    "dpm++2s_a": formulas.dpmpp_2s_a,
    "dpm++2m_sde": formulas.dpmpp_2m_sde,
    "dpm++3m_sde": formulas.dpmpp_3m_sde,
    "dpm++sde": formulas.dpmpp_sde,
}


def run(sampler, sigmas, is_flow):
    """x after every step, and how often noise was drawn."""
    drawn = []

    def draw():
        drawn.append(normal(f"samplers/noise/{len(drawn)}", SHAPE))
        return drawn[-1].double()

    start = normal("samplers/x", SHAPE) * sigmas[0]  # f32, as the engine would have it
    steps = list(sampler(Model(), start.double(), sigmas.double().tolist(), draw, is_flow))
    return torch.stack(steps).squeeze(1), len(drawn)


def check_formulas():
    """The formulas that k-diffusion has too, against it."""
    for name in ("dpmpp_2m_sde", "dpmpp_3m_sde", "dpmpp_sde"):
        sigmas = schedules.sigmas_of(schedules.karras, 7)
        ours, _ = run(getattr(formulas, name), sigmas, False)
        theirs, _ = run(k_diffusion_sampler(name), sigmas, False)
        assert torch.allclose(ours, theirs, rtol=1e-9, atol=1e-12), name


def main():
    check_formulas()
    golden, most = {"x": normal("samplers/x", SHAPE)[0]}, 0
    for schedule in (schedules.discrete, schedules.karras, flow):
        is_flow = schedule is flow
        for n in STEPS:
            case = f"{schedule.__name__}.{n}"
            golden[f"sigmas.{case}"] = sigmas = schedules.sigmas_of(schedule, n)
            for name, sampler in (FLOW if is_flow else DIFFUSION).items():
                if n == 20 and schedule is schedules.discrete:
                    continue
                steps, drawn = run(sampler, sigmas, is_flow)
                assert len(steps) in (n, 1), name
                most = max(most, drawn)
                golden[f"{name}.{case}"] = steps.float()
    golden["noise"] = torch.cat([normal(f"samplers/noise/{k}", SHAPE) for k in range(most)])
    save(GOLDEN / "samplers.safetensors", {}, golden)


if __name__ == "__main__":
    main()
