"""Samplers that no installed library has in this form, from their papers: the references of samplers.py beside k-diffusion
and diffusers. Each takes (model, x, sigmas, draw, flow) and gives x after every step.

`model(x, sigma)` is the clean estimate, `model.uncond(x, sigma)` the one without the prompt, `draw()` the next noise. A
latent is alpha image + sigma noise, with alpha = 1, or 1 - sigma where `flow` is set.

Where a sampler is written here in other variables than in the engine, the two check each other: ddim, ddpm, plms and tcd
are in the papers' variance-preserving x / sqrt(1 + sigma^2), lms and deis integrate numerically.
"""

import math

import numpy as np
from scipy import integrate

BELOW_ONE = 0.9999  # where ComfyUI puts the first sigma of a flow, whose logarithm of signal to noise is infinite


def alpha_of(sigma, flow):
    return 1 - sigma if flow else 1.0


def finite(sigmas, flow):
    return [BELOW_ONE if flow and i == 0 and s >= 1 else s for i, s in enumerate(sigmas)]


def ancestral(sigma, following, eta, flow):
    """(sigma to step down to, factor of x there, noise that leads back up)."""
    if flow:
        down = following * (1 + (following / sigma - 1) * eta)
        keep = (1 - following) / (1 - down)
        return down, keep, math.sqrt(following**2 - (down * keep) ** 2)
    up = min(following, eta * math.sqrt(following**2 * (sigma**2 - following**2) / sigma**2))
    return math.sqrt(following**2 - up**2), 1.0, up


def steps_of(step):
    """A sampler from a function of one step: step(model, x, sigma, next sigma, draw, flow, index, sigmas, memory)."""

    def run(model, x, sigmas, draw, flow):
        memory = {}
        for i in range(len(sigmas) - 1):
            x = step(model, x, sigmas[i], sigmas[i + 1], draw, flow, i, sigmas, memory)
            yield x

    return run


def towards(x, denoised, sigma, following):
    return denoised + (x - denoised) * following / sigma


@steps_of
def euler_a(model, x, sigma, following, draw, flow, *_):
    denoised = model(x, sigma)
    if following == 0:
        return denoised
    down, keep, up = ancestral(sigma, following, 1, flow)
    return keep * towards(x, denoised, sigma, down) + up * draw()


@steps_of
def dpm2_a(model, x, sigma, following, draw, flow, *_):
    denoised = model(x, sigma)
    if following == 0:
        return denoised
    down, keep, up = ancestral(sigma, following, 1, flow)
    middle = math.exp((math.log(sigma) + math.log(down)) / 2)
    there = towards(x, denoised, sigma, middle)
    return keep * (x + (there - model(there, middle)) / middle * (down - sigma)) + up * draw()


@steps_of
def dpmpp_2s_a(model, x, sigma, following, draw, flow, *_):
    denoised = model(x, sigma)
    if following == 0:
        return denoised
    down, keep, up = ancestral(sigma, following, 1, flow)
    if sigma == 1:
        middle = BELOW_ONE
    else:
        log_snr = [math.log((1 - s) / s) for s in (sigma, down)]
        middle = 1 / (1 + math.exp(sum(log_snr) / 2))
    there = model(towards(x, denoised, sigma, middle), middle)
    return keep * towards(x, there, sigma, down) + up * draw()


def vp(sigma):
    """alpha-bar of a sigma."""
    return 1 / (1 + sigma**2)


def ddim_with(eta):
    @steps_of
    def ddim(model, x, sigma, following, draw, *_):
        """Song et al. 2020, equations 12 and 16."""
        denoised = model(x, sigma)
        eps, a, a_next = (x - denoised) / sigma, vp(sigma), vp(following)
        std = eta * math.sqrt((1 - a_next) / (1 - a)) * math.sqrt(1 - a / a_next)
        x = math.sqrt(a_next) * denoised + math.sqrt(1 - a_next - std**2) * eps
        if eta and following:
            x = x + std * draw()
        return x / math.sqrt(a_next)

    return ddim


@steps_of
def ddpm(model, x, sigma, following, draw, *_):
    """Ho et al. 2020, algorithm 2 with the smaller variance."""
    eps, a, a_next = (x - model(x, sigma)) / sigma, vp(sigma), vp(following)
    alpha = a / a_next
    x = (x * math.sqrt(a) - (1 - alpha) / math.sqrt(1 - a) * eps) / math.sqrt(alpha)
    if following:
        x = x + math.sqrt((1 - alpha) * (1 - a_next) / (1 - a)) * draw()
    return x / math.sqrt(a_next)


ADAMS_BASHFORTH = {1: [1], 2: [3 / 2, -1 / 2], 3: [23 / 12, -16 / 12, 5 / 12], 4: [55 / 24, -59 / 24, 37 / 24, -9 / 24]}


def weighted(weights, values):
    return sum(w * v for w, v in zip(weights, values))


def transfer(x, eps, sigma, following):
    """Liu et al. 2022, equation 11."""
    a, b = vp(sigma), vp(following)
    x = x * math.sqrt(a)
    lower = math.sqrt(a) * (math.sqrt((1 - b) * a) + math.sqrt((1 - a) * b))
    return (math.sqrt(b / a) * x - (b - a) / lower * eps) / math.sqrt(b)


@steps_of
def plms(model, x, sigma, following, draw, flow, i, sigmas, memory):
    denoised = model(x, sigma)
    eps = memory.setdefault("eps", [])
    eps.insert(0, (x - denoised) / sigma)
    if following == 0:
        return denoised
    if i == 0:
        there = transfer(x, eps[0], sigma, following)
        return transfer(x, (eps[0] + (there - model(there, following)) / following) / 2, sigma, following)
    return transfer(x, weighted(ADAMS_BASHFORTH[min(i + 1, 4)], eps), sigma, following)


@steps_of
def ipndm(model, x, sigma, following, draw, flow, i, sigmas, memory):
    denoised = model(x, sigma)
    slopes = memory.setdefault("slopes", [])
    slopes.insert(0, (x - denoised) / sigma)
    if following == 0:
        return denoised
    return x + (following - sigma) * weighted(ADAMS_BASHFORTH[min(i + 1, 4)], slopes)


@steps_of
def ipndm_v(model, x, sigma, following, draw, flow, i, sigmas, memory):
    """Weights as diff-sampler publishes them, term by term."""
    denoised = model(x, sigma)
    d = memory.setdefault("slopes", [])
    d.insert(0, (x - denoised) / sigma)
    if following == 0:
        return denoised
    h = [sigmas[i + 1 - k] - sigmas[i - k] for k in range(min(i + 1, 4))]
    if i == 0:
        weights = [1]
    elif i == 1:
        weights = [(2 + h[0] / h[1]) / 2, -h[0] / h[1] / 2]
    else:
        first = (1 - h[0] / (3 * (h[0] + h[1])) * (h[0] * (h[0] + h[1])) / (h[1] * (h[1] + h[2]))) / 2
        weights = [
            (2 + h[0] / h[1]) / 2 + first,
            -h[0] / h[1] / 2 - (1 + h[1] / h[2]) * first,
            first * h[1] / h[2],
        ]
        if i > 2:
            second = (1 - h[0] / (3 * (h[0] + h[1]))) / 2
            second += (1 - h[0] / (2 * (h[0] + h[1]))) * h[0] / (6 * (h[0] + h[1] + h[2]))
            second *= h[0] * (h[0] + h[1]) * (h[0] + h[1] + h[2])
            second /= h[1] * (h[1] + h[2]) * (h[1] + h[2] + h[3])
            far = h[1] * (h[1] + h[2]) / (h[2] * (h[2] + h[3]))
            weights[0] += second
            weights[1] -= (1 + h[1] / h[2] + far) * second
            weights[2] += (h[1] / h[2] + far * (1 + h[2] / h[3])) * second
            weights.append(-second * far * h[1] / h[2])
    return x + h[0] * weighted(weights, d)


@steps_of
def deis(model, x, sigma, following, draw, flow, i, sigmas, memory):
    """Zhang and Chen 2022, tAB of order 3, integrated over the time of the diffusion."""
    denoised = model(x, sigma)
    slopes = memory.setdefault("slopes", [])
    slopes.insert(0, (x - denoised) / sigma)
    if following == 0:
        return denoised
    low, high = math.log(0.002**2 + 1), math.log(80**2 + 1)
    beta_d = 2 * (low / 1e-3 - high) / (1e-3 - 1)
    beta_min = high - beta_d / 2
    t_of = lambda s: (math.sqrt(beta_min**2 + 2 * beta_d * math.log(s**2 + 1)) - beta_min) / beta_d
    exponent = lambda t: beta_d * t**2 / 2 + beta_min * t  # ln(1 + sigma^2)
    sigma_rate = lambda t: (beta_d * t + beta_min) * math.exp(exponent(t)) / (2 * math.sqrt(math.expm1(exponent(t))))
    nodes = [t_of(sigmas[i - k]) for k in range(min(i + 1, 3))]

    def weight(j):
        def integrand(t):
            others = [(t - n) / (nodes[j] - n) for k, n in enumerate(nodes) if k != j]
            return sigma_rate(t) * float(np.prod(others))

        return integrate.quad(integrand, nodes[0], t_of(following), epsabs=0, epsrel=1e-11, limit=200)[0]

    return x + weighted([weight(j) for j in range(len(nodes))], slopes)


@steps_of
def lcm(model, x, sigma, following, draw, flow, *_):
    denoised = model(x, sigma)
    return alpha_of(following, flow) * denoised + following * draw() if following else denoised


def tcd_with(eta, table):
    @steps_of
    def tcd(model, x, sigma, following, draw, *_):
        """Zheng et al. 2024, algorithm 4: to (1 - eta) of the timestep, then up."""
        denoised = model(x, sigma)
        if following == 0:
            return denoised
        eps = (x - denoised) / sigma
        t = np.interp(math.log(following), np.log(table), np.arange(len(table)))
        a_next = vp(following)
        a_down = vp(table[math.floor((1 - eta) * t + 1e-6)]) if eta else a_next
        x = math.sqrt(a_down) * denoised + math.sqrt(1 - a_down) * eps
        if eta:
            x = math.sqrt(a_next / a_down) * x + math.sqrt(max(0, 1 - a_next / a_down)) * draw()  # 0 but for rounding
        return x / math.sqrt(a_next)

    return tcd


def phi(order, h):
    """phi functions of exponential integrators."""
    return math.expm1(h) / h if order == 1 else (phi(order - 1, h) - 1 / math.factorial(order - 1)) / h


def res_multistep_with(eta):
    @steps_of
    def res_multistep(model, x, sigma, following, draw, flow, i, sigmas, memory):
        denoised = model(x, sigma)
        down, keep, up = ancestral(sigma, following, eta, flow) if eta and following else (following, 1.0, 0.0)
        if i == 0 or down == 0:
            x = towards(x, denoised, sigma, down)
        else:
            h = math.log(sigma) - math.log(down)
            c = (math.log(memory["down"]) - math.log(sigmas[i - 1])) / h
            b = phi(2, -h) / c
            x = math.exp(-h) * x + h * ((phi(1, -h) - b) * denoised + b * memory["denoised"])
        memory.update(down=down, denoised=denoised)
        return keep * x + up * draw() if up else x

    return res_multistep


@steps_of
def res_2s(model, x, sigma, following, *_):
    denoised = model(x, sigma)
    if following == 0:
        return denoised
    h, c = math.log(sigma) - math.log(following), 0.5
    there = x + h * c * phi(1, -c * h) * (denoised - x)
    b = phi(2, -h) / c
    later = model(there, sigma * math.exp(-c * h))
    return x + h * ((phi(1, -h) - b) * (denoised - x) + b * (later - x))


def er_sde(model, x, sigmas, draw, flow):
    scale = lambda v: v * (np.exp(v**0.3) + 10)
    sigmas = finite(sigmas, flow)
    ratios = [s / alpha_of(s, flow) for s in sigmas]
    denoised, slopes = [], []
    for i in range(len(sigmas) - 1):
        denoised.append(model(x, sigmas[i]))
        if sigmas[i + 1] == 0:
            yield denoised[-1]
            continue
        s, t, alpha = ratios[i], ratios[i + 1], alpha_of(sigmas[i + 1], flow)
        r = scale(t) / scale(s)
        y = r * x / alpha_of(sigmas[i], flow) + (1 - r) * denoised[-1]
        points = t + np.arange(200) * (s - t) / 200
        if i > 0:
            slopes.append((denoised[-1] - denoised[-2]) / (s - ratios[i - 1]))
            y = y + (t - s + (1 / scale(points)).sum() * (s - t) / 200 * scale(t)) * slopes[-1]
        if i > 1:
            bend = (slopes[-1] - slopes[-2]) / ((s - ratios[i - 2]) / 2)
            y = y + ((t - s) ** 2 / 2 + ((points - s) / scale(points)).sum() * (s - t) / 200 * scale(t)) * bend
        x = alpha * (y + math.sqrt(t**2 - s**2 * r**2) * draw())
        yield x


def cfg_pp_with(eta):
    @steps_of
    def euler_cfg_pp(model, x, sigma, following, draw, flow, *_):
        denoised, uncond = model(x, sigma), model.uncond(x, sigma)
        if following == 0:
            return denoised
        a, b = alpha_of(sigma, flow), alpha_of(following, flow)
        noise = (x - a * uncond) / sigma
        up = 0
        if eta:
            level, level_next = (sigma / a if a else math.inf), following / b
            share = 1 if a == 0 else (level**2 - level_next**2) / level**2
            up = min(level_next, eta * level_next * math.sqrt(share))
        x = b * denoised + b * math.sqrt((following / b) ** 2 - up**2) * noise
        return x + b * up * draw() if up else x

    return euler_cfg_pp


@steps_of
def euler_ge(model, x, sigma, following, draw, flow, i, sigmas, memory):
    denoised = model(x, sigma)
    slope = (x - denoised) / sigma
    bar = slope if i == 0 else 2 * slope + (1 - 2) * memory["slope"]
    memory["slope"] = slope
    return x + (following - sigma) * bar if following else denoised


@steps_of
def dpmpp_2m_v2(model, x, sigma, following, draw, flow, i, sigmas, memory):
    denoised, before = model(x, sigma), memory.get("denoised")
    memory["denoised"] = denoised
    if i == 0 or following == 0:
        return towards(x, denoised, sigma, following)
    h, h_before = math.log(sigma / following), math.log(sigmas[i - 1] / sigma)
    r = max(h, h_before) / min(h, h_before)
    estimate = (1 + 1 / (2 * r)) * denoised - 1 / (2 * r) * before
    return following / sigma * x - math.expm1(-(h + h_before) / 2) * estimate


def log_snr(sigma, flow):
    return math.log(alpha_of(sigma, flow) / sigma)


def dpmpp_2m_sde(model, x, sigmas, draw, flow, third=False):
    """eta 1. The 3M form takes the Heun form of 2M in its second step."""
    sigmas = finite(sigmas, flow)
    denoised, h = [], []
    for i in range(len(sigmas) - 1):
        sigma, following = sigmas[i], sigmas[i + 1]
        denoised.insert(0, model(x, sigma))
        if following == 0:
            yield denoised[0]
            continue
        h.insert(0, log_snr(following, flow) - log_snr(sigma, flow))
        alpha, full = alpha_of(following, flow), 2 * h[0]
        x = following / sigma * math.exp(-h[0]) * x - alpha * math.expm1(-full) * denoised[0]
        if i > 0 and not third:
            x = x - alpha * math.expm1(-full) / 2 * h[0] / h[1] * (denoised[0] - denoised[1])
        if i > 0 and third:
            phi_2 = math.expm1(-full) / full + 1
            near = (denoised[0] - denoised[1]) * h[0] / h[1]
            if i == 1:
                x = x + alpha * phi_2 * near
            else:
                far, r0, r1 = (denoised[1] - denoised[2]) * h[0] / h[2], h[1] / h[0], h[2] / h[0]
                x = x + alpha * phi_2 * (near + (near - far) * r0 / (r0 + r1))
                x = x - alpha * (phi_2 / full - 0.5) * (near - far) / (r0 + r1)
        x = x + following * math.sqrt(-math.expm1(-full)) * draw()
        yield x


def dpmpp_3m_sde(*arguments):
    return dpmpp_2m_sde(*arguments, third=True)


def dpmpp_sde(model, x, sigmas, draw, flow):
    sigmas = finite(sigmas, flow)
    for sigma, following in zip(sigmas, sigmas[1:]):
        denoised = model(x, sigma)
        if following == 0:
            yield denoised
            continue
        middle = (log_snr(sigma, flow) + log_snr(following, flow)) / 2
        middle = 1 / (1 + math.exp(middle)) if flow else math.exp(-middle)

        def step(there, estimate):
            a, b = alpha_of(sigma, flow), alpha_of(there, flow)
            down, _, up = ancestral(sigma / a, there / b, 1, False)
            return b * (towards(x / a, estimate, sigma / a, down) + up * draw())

        between = step(middle, denoised)
        x = step(following, model(between, middle))
        yield x
