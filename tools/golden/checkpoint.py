"""Checkpoints of torch.save in every form, and their values.

Reference: torch itself. `tests/data/checkpoints/<form>_<protocol>.pt` are one state dict (every element type that the
engine has, every kind of stride, shared storages) as zip archive and in the legacy form, pickle protocols 0 to 5;
`values.safetensors` beside them has what torch shows for each. The other files are shapes that checkpoints come in:

- lightning.ckpt    weights under state_dict, beside optimizer states, a callback, a namespace, numpy values
- ema.pth           params and params_ema, as trainers of upscalers write; legacy
- embedding.pt      a textual inversion: string_to_param is a ParameterDict
- module.pt         a whole module, not its weights
- torchscript.pt    a TorchScript program
- zip64.pt          entries and directory with 64-bit sizes

Run alone: `python tools/golden/checkpoint.py`.
"""

import argparse
import collections
import io
import zipfile

import numpy as np
import torch
from common import DATA, in_fixed_order, normal
from safetensors.torch import save as to_bytes

FOLDER = DATA / "checkpoints"
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
# These have no storage class of their own: torch saves them as bytes and a dtype.
UNTYPED = [torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32, torch.uint64]


def state():
    """The tensors, one of each kind, under names as modules have them."""
    tensors = collections.OrderedDict()
    for dtype in FLOATS + UNTYPED[:2]:
        tensors[f"types.{str(dtype)[6:]}"] = normal(f"checkpoint/{dtype}", (2, 3)).to(dtype)
    for dtype in WHOLE + UNTYPED[2:]:
        tensors[f"types.{str(dtype)[6:]}"] = torch.tensor([0, 1, 100, 7]).to(dtype)
    tensors["types.bool"] = torch.tensor([True, False, True])
    base = normal("checkpoint/base", (2, 3, 4, 5))
    tensors["strides.channels_last"] = base.contiguous(memory_format=torch.channels_last)
    tensors["strides.transposed"] = normal("checkpoint/matrix", (3, 5)).t()
    tensors["strides.permuted"] = normal("checkpoint/permuted", (2, 3, 4)).half().permute(2, 0, 1)
    tensors["strides.expanded"] = normal("checkpoint/row", (1, 4)).expand(3, 4)
    tensors["strides.every_second"] = torch.arange(12)[1::2]
    tensors["shared.whole"] = base.reshape(6, 20)
    tensors["shared.rows"] = tensors["shared.whole"][2:4]
    tensors["shared.column"] = tensors["shared.whole"][:, 3]
    tensors["shared.again"] = tensors["shared.whole"]
    tensors["shapes.scalar"] = torch.tensor(2.5)
    tensors["shapes.empty"] = torch.zeros(0)
    tensors["shapes.empty_rows"] = torch.zeros(0, 7)
    tensors["shapes.ones"] = normal("checkpoint/ones", (1, 4, 1)).transpose(0, 2)
    tensors["parameter"] = torch.nn.Parameter(normal("checkpoint/parameter", (3,)))
    tensors._metadata = {"": {"version": 1}}  # what Module.state_dict() leaves there
    return tensors


class Callback:  # stands for a class that the reader does not have
    def __init__(self, tensor):
        self.best = tensor


def lightning():
    weights = {"first_stage_model.conv.weight": normal("checkpoint/conv", (2, 2)), "model.bias": torch.ones(2).half()}
    moments = {0: {"exp_avg": torch.zeros(2, 2), "step": torch.tensor(3.0)}}
    return {"epoch": 4, "global_step": 10**12, "pytorch-lightning_version": "1.4.2", "state_dict": weights,
            "optimizer_states": [{"state": moments, "param_groups": [{"lr": 1e-4, "params": [0]}]}],
            "callbacks": {"stop": Callback(torch.ones(1)), "score": np.float64(0.5), "curve": np.arange(3)},
            "hyper_parameters": argparse.Namespace(width=8, name="größe")}


def upscaler():
    return {key: {"conv_first.weight": normal(f"checkpoint/{key}", (2, 3))} for key in ("params", "params_ema")}


def zip64():
    """The archive of torch written anew with 64-bit fields for every entry, as files over 4 GiB have."""
    plain = io.BytesIO()
    torch.save({"weight": torch.arange(4.0)}, plain)
    target = io.BytesIO()
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in source.namelist():
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as entry:
                entry.write(source.read(name))
    data = bytearray(target.getvalue())
    # Python writes 64-bit sizes only where they are needed: move those of the directory into an extra field.
    end = data.rindex(b"PK\x05\x06")
    begin = int.from_bytes(data[end + 16:end + 20], "little")
    directory, at, count = bytearray(), begin, 0
    while at < end:
        entry = data[at:at + 46]
        name, extra = (int.from_bytes(entry[i:i + 2], "little") for i in (28, 30))
        sizes = [int.from_bytes(entry[i:i + 4], "little") for i in (24, 20, 42)]
        for i in (24, 20, 42):
            entry[i:i + 4] = b"\xff" * 4
        field = b"\x01\x00\x18\x00" + b"".join(s.to_bytes(8, "little") for s in sizes)
        entry[30:32] = len(field).to_bytes(2, "little")
        directory += entry + data[at + 46:at + 46 + name] + field
        at += 46 + name + extra
        count += 1
    number = lambda value, size: value.to_bytes(size, "little")
    record = b"PK\x06\x06" + number(44, 8) + number(45, 2) * 2 + number(0, 8) + number(count, 8) * 2 \
        + number(len(directory), 8) + number(begin, 8)
    locator = b"PK\x06\x07" + number(0, 4) + number(begin + len(directory), 8) + number(1, 4)
    tail = b"PK\x05\x06" + number(0, 4) + b"\xff" * 4 + b"\xff" * 8 + number(0, 2)
    return bytes(data[:begin] + directory + record + locator + tail)


def write(name, value, protocol=2, legacy=False):
    torch.save(value, FOLDER / name, pickle_protocol=protocol, _use_new_zipfile_serialization=not legacy)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    tensors = state()
    for protocol in range(6):
        write(f"zip_{protocol}.pt", tensors, protocol)
        write(f"legacy_{protocol}.pt", tensors, protocol, legacy=True)
    values = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    (FOLDER / "values.safetensors").write_bytes(in_fixed_order(to_bytes(values)))
    write("lightning.ckpt", lightning())
    write("ema.pth", upscaler(), legacy=True)
    words = torch.nn.ParameterDict()
    words.__dict__["_parameters"] = collections.OrderedDict({"*": torch.nn.Parameter(normal("checkpoint/word", (2, 4)))})
    write("embedding.pt", {"string_to_token": {"*": torch.tensor(265)}, "string_to_param": words, "name": "cat"})
    write("module.pt", torch.nn.Linear(2, 2))
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), str(FOLDER / "torchscript.pt"))
    (FOLDER / "zip64.pt").write_bytes(zip64())
    print(f"checkpoints: {sum(f.stat().st_size for f in FOLDER.iterdir()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
