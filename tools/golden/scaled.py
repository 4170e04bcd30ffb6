"""scaled: 8-bit floats, and weights of 8 bits with scales in tensors beside them.

References: torch's float8 types; comfy_kitchen (PyPI, the quantisation of ComfyUI) for int8 and its rotation.

`codes_e4m3` and `codes_e5m2` are the 256 codes, `golden.codes_*` i32 the bits of their values as f32 (NaN: 0x7fc00000).
`NAME.weight` with its scales are weights in each spelling; `golden.NAME` f32 is what they mean (of `grid`, which is larger
than one block each way, the rows in `golden.grid_rows`).
"""

import json

import comfy_kitchen.backends.eager.quantization as comfy
import torch

from common import GOLDEN, normal, save

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def bits(values):
    values = torch.where(values.isnan(), torch.tensor(float("nan")), values)
    return values.view(torch.int32) & torch.where(values.isnan(), 0x7FC00000, -1).to(torch.int32)


def text(**entries):
    return torch.tensor(list(json.dumps(entries).encode()), dtype=torch.uint8)


def main():
    tensors, golden = {}, {}
    codes = torch.arange(256, dtype=torch.uint8)
    for name, kind in (("e4m3", E4M3), ("e5m2", E5M2)):
        tensors[f"codes_{name}"] = codes.view(kind)
        golden[f"codes_{name}"] = bits(codes.view(kind).float())

    def add(name, kind, shape, scale, ending, scale_shape=None):
        weight = (normal(name, shape) * 40).to(kind)
        tensors[f"{name}.weight"] = weight
        tensors[f"{name}.{ending}"] = scale.reshape(scale_shape) if scale_shape is not None else scale
        return weight.float()

    one = torch.tensor(0.0123)
    golden["old_scalar"] = add("old_scalar", E4M3, (4, 6), one, "scale_weight", ()) * one
    golden["new_scalar"] = add("new_scalar", E5M2, (4, 6), one, "weight_scale", (1,)) * one
    rows = normal("rows", (5,)).abs()
    golden["channel"] = add("channel", E4M3, (5, 3, 2, 2), rows, "weight_scale") * rows.reshape(5, 1, 1, 1)
    golden["column"] = add("column", E4M3, (5, 6), rows, "weight_scale", (5, 1)) * rows.reshape(5, 1)
    grid = normal("grid", (2, 2)).abs()
    values = add("grid", E4M3, (130, 132), grid, "weight_scale_inv")
    values *= grid.repeat_interleave(128, 0)[:130].repeat_interleave(128, 1)[:, :132]
    golden["grid_rows"] = torch.tensor([0, 1, 127, 128, 129])
    golden["grid"] = values[golden["grid_rows"]]

    weight, scale = comfy.quantize_int8_tensorwise(normal("int8", (4, 8)))
    tensors |= {"int8.weight": weight, "int8.weight_scale": scale, "int8.comfy_quant": text(format="int8_tensorwise")}
    golden["int8"] = comfy.dequantize_int8_simple(weight, scale)
    for size, width in ((4, 12), (64, 128), (256, 512)):
        name = f"rotated_{size}"
        weight, scale = comfy.quantize_int8_convrot_weight(normal(name, (3, width)), size)
        tensors |= {f"{name}.weight": weight, f"{name}.weight_scale": scale,
                    f"{name}.comfy_quant": text(format="int8_tensorwise", convrot=True, convrot_groupsize=size)}
        golden[name] = comfy.dequantize_int8_convrot_weight(weight, scale, size)
    save(GOLDEN / "scaled.safetensors", tensors, golden)


if __name__ == "__main__":
    main()
