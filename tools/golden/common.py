"""What every golden script shares: seeded weights and inputs, and the writer of the files.

A golden is one safetensors file: a tiny model with random weights under the names that real checkpoints
use, plus `golden.<case>.<name>` tensors that hold the inputs of a case and what the reference answered.
The engine opens the same file as a checkpoint and must reproduce the answers.

Every random tensor is seeded by its own name, so adding a tensor changes no other one.
"""

import hashlib
import importlib
import importlib.util
import json
import pathlib
import sys
import types

import numpy as np
import torch
from safetensors.torch import save as to_bytes

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data"
GOLDEN = DATA / "golden"

torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
torch.set_grad_enabled(False)


def normal(name, shape):
    """Standard normal f32 values that depend on `name` and `shape` only."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    rng = np.random.Generator(np.random.PCG64(seed))
    return torch.from_numpy(rng.standard_normal(tuple(shape), dtype=np.float32))


def weight(name, shape):
    """A random parameter that keeps activations near unit size and lets no bias or scale go unnoticed."""
    noise = normal(name, shape)
    if name.endswith(("token_embedding.weight", "position_embedding.weight", "positional_embedding")):
        return 0.7 * noise
    if name.endswith("text_projection"):  # stored [in, out], unlike every other matrix
        return noise / shape[0] ** 0.5
    if name.endswith("bias"):
        return 0.1 * noise
    if len(shape) < 2:  # the scale of a norm
        return 1 + 0.2 * noise
    return noise / float(np.prod(shape[1:])) ** 0.5


def randomise(model, seed, half=False):
    """Gives every parameter of `model` the value that `seed` and its name stand for; `half` keeps it exact in f16."""
    for name, parameter in model.named_parameters():
        value = weight(f"{seed}/{name}", parameter.shape)
        parameter.copy_(value.half().float() if half else value)
    return model.eval()


def rename(state, rule, half=False):
    """The tensors of `state` under the names that `rule` gives them, as f16 when they are exact in it."""
    renamed = {}
    for name, tensor in state.items():
        target = rule(name)
        assert target not in renamed, target
        if half:
            assert torch.equal(tensor.half().float(), tensor), name
            tensor = tensor.half()
        renamed[target] = tensor
    return renamed


def in_fixed_order(file):
    """The same safetensors file with sorted metadata, whose order the library leaves to chance."""
    end = 8 + int.from_bytes(file[:8], "little")
    header = json.loads(file[8:end])
    if "__metadata__" in header:
        header = {"__metadata__": dict(sorted(header.pop("__metadata__").items())), **header}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + file[end:]


def save(path, weights, golden, metadata=None):
    """Writes model and golden tensors as one file; refuses values that would make a worthless test."""
    tensors = dict(weights)
    for name, tensor in golden.items():
        tensor = torch.as_tensor(tensor)
        assert tensor.numel() and torch.isfinite(tensor.double()).all(), name
        tensors[f"golden.{name}"] = tensor
    tensors = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(in_fixed_order(to_bytes(tensors, {key: str(value) for key, value in (metadata or {}).items()})))
    print(f"{path.relative_to(DATA)}: {len(tensors)} tensors, {path.stat().st_size / 1e6:.2f} MB")


def k_diffusion():
    """k-diffusion's `sampling` and `external` modules without its training half, whose imports are many."""
    if "k_diffusion" not in sys.modules:
        package = types.ModuleType("k_diffusion")
        package.__path__ = list(importlib.util.find_spec("k_diffusion").submodule_search_locations)
        sys.modules["k_diffusion"] = package
    return importlib.import_module("k_diffusion.sampling"), importlib.import_module("k_diffusion.external")
