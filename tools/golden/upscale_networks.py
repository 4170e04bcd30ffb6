"""Upscaling networks in torch, written from their publications: the reference of upscale.py and of tests/large.

RRDBNet: Wang et al. 2018 (ESRGAN); Real-ESRGAN (2021) folds squares of pixels into channels for x2 and x1. ESRGAN+:
Rakotonirina and Rasoanaivo 2020. SRVGGNetCompact: Real-ESRGAN's small network. Parameters have the names of BasicSR.
"""

import re

import torch
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def leaky(x):
    return F.leaky_relu(x, 0.2)


class DenseBlock(nn.Module):
    def __init__(self, features, growth, plus):
        super().__init__()
        for k in range(5):
            self.add_module(f"conv{k + 1}", conv(features + k * growth, growth if k < 4 else features))
        self.conv1x1 = nn.Conv2d(features, growth, 1, bias=False) if plus else None

    def forward(self, x):
        x1 = leaky(self.conv1(x))
        x2 = leaky(self.conv2(torch.cat([x, x1], 1)))
        if self.conv1x1 is not None:
            x2 = x2 + self.conv1x1(x)
        x3 = leaky(self.conv3(torch.cat([x, x1, x2], 1)))
        x4 = leaky(self.conv4(torch.cat([x, x1, x2, x3], 1)))
        if self.conv1x1 is not None:
            x4 = x4 + x2
        return x + 0.2 * self.conv5(torch.cat([x, x1, x2, x3, x4], 1))


class Block(nn.Module):
    def __init__(self, features, growth, plus):
        super().__init__()
        for k in range(3):
            self.add_module(f"rdb{k + 1}", DenseBlock(features, growth, plus))

    def forward(self, x):
        return x + 0.2 * self.rdb3(self.rdb2(self.rdb1(x)))


class RRDBNet(nn.Module):
    """`unit`: side of the squares that are folded first; `doublings`: conv_up layers. Scale: 2^doublings / unit."""

    def __init__(self, features, growth, blocks, doublings=2, unit=1, plus=False):
        super().__init__()
        self.unit, self.doublings = unit, doublings
        self.conv_first = conv(3 * unit * unit, features)
        self.body = nn.Sequential(*(Block(features, growth, plus) for _ in range(blocks)))
        self.conv_body = conv(features, features)
        for k in range(doublings):
            self.add_module(f"conv_up{k + 1}", conv(features, features))
        self.conv_hr = conv(features, features)
        self.conv_last = conv(features, 3)

    @property
    def scale(self):
        return 2**self.doublings // self.unit

    def forward(self, x):
        """x [n, 3, h, w] in [0, 1], of any size: where it is no multiple of the unit, it is mirrored at its ends."""
        height, width = x.shape[2:]
        x = F.pad(x, (0, -width % self.unit, 0, -height % self.unit), "reflect")
        first = self.conv_first(F.pixel_unshuffle(x, self.unit))
        y = first + self.conv_body(self.body(first))
        for k in range(self.doublings):
            y = leaky(getattr(self, f"conv_up{k + 1}")(F.interpolate(y, scale_factor=2, mode="nearest")))
        y = self.conv_last(leaky(self.conv_hr(y)))
        return y[:, :, : height * self.scale, : width * self.scale]


class SRVGGNetCompact(nn.Module):
    def __init__(self, features, convs, scale):
        super().__init__()
        self.scale = scale
        layers = [conv(3, features), nn.PReLU(features)]
        for _ in range(convs):
            layers += [conv(features, features), nn.PReLU(features)]
        self.body = nn.Sequential(*layers, conv(features, 3 * scale * scale))

    def forward(self, x):
        return F.pixel_shuffle(self.body(x), self.scale) + F.interpolate(x, scale_factor=self.scale, mode="nearest")


def old_name(name, blocks, doublings):
    """The name that ESRGAN's first release gives a parameter of RRDBNet."""
    layer, parameter = name.rsplit(".", 1)
    if found := re.fullmatch(r"body\.(\d+)\.rdb(\d)\.(conv\d)", layer):
        return f"model.1.sub.{found[1]}.RDB{found[2]}.{found[3]}.0.{parameter}"
    if found := re.fullmatch(r"body\.(\d+)\.rdb(\d)\.conv1x1", layer):
        return f"model.1.sub.{found[1]}.RDB{found[2]}.conv1x1.{parameter}"
    if found := re.fullmatch(r"conv_up(\d)", layer):
        return f"model.{3 * int(found[1])}.{parameter}"
    last = 4 + 3 * doublings
    places = {"conv_first": "0", "conv_body": f"1.sub.{blocks}", "conv_hr": last - 2, "conv_last": last}
    return f"model.{places[layer]}.{parameter}"


def network_of(state):
    """The network whose parameters these are, in any naming, with its values in f32."""
    state = state.get("params_ema", state.get("params", state))
    if "body.1.weight" in state:
        scale = round((list(state.values())[-1].shape[0] / 3) ** 0.5)
        net = SRVGGNetCompact(state["body.0.weight"].shape[0], (len(state) - 5) // 3, scale)
    else:
        old = "model.0.weight" in state
        names = "\n".join(state)
        blocks = len(set(re.findall(r"^model\.1\.sub\.(\d+)\.RDB" if old else r"^body\.(\d+)\.", names, re.M)))
        last = max(map(int, re.findall(r"^model\.(\d+)\.", names, re.M)), default=0)
        doublings = (last - 4) // 3 if old else len(set(re.findall(r"^conv_up(\d)\.", names, re.M)))
        first = state["model.0.weight" if old else "conv_first.weight"]
        dense = state["model.1.sub.0.RDB1.conv1.0.weight" if old else "body.0.rdb1.conv1.weight"]
        net = RRDBNet(
            first.shape[0], dense.shape[0], blocks, doublings, round((first.shape[1] / 3) ** 0.5), "conv1x1" in names
        )
        if old:
            state = {name: state[old_name(name, blocks, doublings)] for name in net.state_dict()}
    net.load_state_dict({name: tensor.float() for name, tensor in state.items()})
    return net.eval()
