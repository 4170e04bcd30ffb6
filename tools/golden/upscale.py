"""Upscaling networks with random weights: upscale_* of upscale_networks.py, in each naming and kind of file.

Case tensors: x [1, 3, h, w] in [0, 1], y [1, 3, scale h, scale w], what the network makes of it (not clamped).

- upscale_x4: RRDBNet of 2 blocks, BasicSR's names
- upscale_old: ESRGAN+ (1 block, x4), the names of ESRGAN's first release
- upscale_x1: RRDBNet of 1 block that folds squares of 4 pixels
- upscale_x2: RRDBNet of 1 block that folds squares of 2; its weights are upscale_x2.pth, where they lie in
  "params_ema" as BasicSR saves them; the safetensors file holds the case alone
- upscale_compact: SRVGGNetCompact, x2
"""

import torch
from torch import nn

from common import GOLDEN, normal, randomise, rename, save
from upscale_networks import RRDBNet, SRVGGNetCompact, network_of, old_name


def made(network, seed):
    """Random weights that are exact in f16 and give values near those of a picture."""
    randomise(network, seed, half=True)
    for module in network.modules():
        if isinstance(module, nn.PReLU):
            module.weight.copy_((0.3 * normal(f"{seed}/slopes", module.weight.shape)).half().float())
    last = network.conv_last if isinstance(network, RRDBNet) else network.body[-1]
    last.weight.copy_(last.weight.mul(0.125).half().float())
    last.bias.fill_(0.5 if isinstance(network, RRDBNet) else 0)
    return network


def case(network, seed, height, width):
    x = normal(f"{seed}/x", [1, 3, height, width]).mul(0.25).add(0.5).clamp(0, 1)
    return {"case.x": x, "case.y": network(x)}


def half(network, rule=lambda name: name):
    weights = rename(network.state_dict(), rule, half=True)
    state = dict(weights)
    again = network_of(state)
    assert all(torch.equal(again.state_dict()[name], value) for name, value in network.state_dict().items())
    return weights


def main():
    x4 = made(RRDBNet(3, 1, 2), "upscale_x4")
    save(GOLDEN / "upscale_x4.safetensors", half(x4), case(x4, "upscale_x4", 4, 5))
    plus = made(RRDBNet(3, 1, 1, plus=True), "upscale_old")
    weights = half(plus, lambda name: old_name(name, 1, 2))
    save(GOLDEN / "upscale_old.safetensors", weights, case(plus, "upscale_old", 3, 4))
    x1 = made(RRDBNet(3, 1, 1, unit=4), "upscale_x1")
    save(GOLDEN / "upscale_x1.safetensors", half(x1), case(x1, "upscale_x1", 8, 12))
    x2 = made(RRDBNet(3, 1, 1, unit=2), "upscale_x2")
    save(GOLDEN / "upscale_x2.safetensors", {}, case(x2, "upscale_x2", 6, 10))
    torch.save({"params_ema": half(x2)}, GOLDEN / "upscale_x2.pth")
    compact = made(SRVGGNetCompact(6, 2, 2), "upscale_compact")
    save(GOLDEN / "upscale_compact.safetensors", half(compact), case(compact, "upscale_compact", 7, 5))


if __name__ == "__main__":
    main()
