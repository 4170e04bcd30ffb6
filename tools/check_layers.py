#!/usr/bin/env python3
"""Holds the sources to the layers of ARCHITECTURE.md.

- A file of src/ includes only its own layer and those below it.
- A file of apps/ includes, of ours, only gesso/gesso.h and its own folder.
- No file of src/ or apps/ names a model family, but those of src/models that are about one: src/models/known/, the
  registry, and files called after a family. Elsewhere in src/models only comments may, as an example.

Prints one line a violation, "file:line: why", and exits with 1 if there is any.
"""
import re
import sys
from pathlib import Path

# Lowest first; layers of one row may not include each other.
ROWS = [
    ["base"],
    ["tensor"],
    ["io", "media", "device"],
    ["ops"],
    ["weights"],
    ["nn"],
    ["sampling", "text", "vae", "adapters", "upscale"],
    ["models"],
    ["pipeline"],
    ["benchmark"],
    ["capi"],
]
LEVEL = {layer: level for level, row in enumerate(ROWS) for layer in row}

# Not words that have another meaning in code: chroma, cascade, svd. Not programs: stable-diffusion.cpp.
FAMILIES = re.compile(
    r"(?<![a-z])k?(sd_?[123](?:_?\d)?|sdxl|stable_?-?diffusion(?!\.cpp|-webui)|flux|qwen|wan2?|hunyuan|ltxv?|pixart|"
    r"z_?image|kolors|hidream|auraflow|animatediff|krea|boogu|sefi|ideogram)(?![a-z])",
    re.IGNORECASE)
# Files that must name families, and why.
FAMILY_EXEMPT = {
    "apps/cli/compatibility.cpp": "lists the option names of other programs",
    "src/benchmark/benchmarks.cpp": "measures the networks that people run, under their names",
    "src/sampling/extra_args.cpp": "schedules have the names that other programs gave them",
    "src/sampling/schedule.cpp": "schedules have the names that other programs gave them",
    "src/sampling/schedule.h": "schedules have the names that other programs gave them",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def sources(root, folder):
    base = root / folder
    if base.is_dir():
        for path in sorted(base.rglob("*")):
            if path.suffix in {".h", ".cpp", ".c", ".inc"} and path.is_file():
                yield path


def layer_of_include(included):
    """The layer an include names ("tensor/shape.h": tensor), or None for a library's."""
    first = included.split("/")[0]
    return first if "/" in included and first in LEVEL else None


def check_src_include(layer, included):
    if included.startswith("gesso/") and layer != "capi":
        return "only capi sees the public header"
    other = layer_of_include(included)
    if other is None or other == layer:
        return None
    if LEVEL[other] > LEVEL[layer]:
        return f"{layer} includes {included}, which lies above it"
    if LEVEL[other] == LEVEL[layer]:
        return f"{layer} includes {included}, which lies beside it"
    return None


def check_app_include(included):
    if layer_of_include(included):
        return f"an app includes {included}; it sees only gesso/gesso.h"
    if included.startswith("gesso/") and included != "gesso/gesso.h":
        return f"an app includes {included}; it sees only gesso/gesso.h"
    return None


def check_file(root, path):
    name = path.relative_to(root).as_posix()
    parts = name.split("/")
    in_src, layer = parts[0] == "src", parts[1] if len(parts) > 2 else None
    if in_src and layer not in LEVEL:
        yield f"{name}:1: src/{layer} is no layer; add it to tools/check_layers.py"
        return
    in_models = in_src and layer == "models"
    names_families = name in FAMILY_EXEMPT or in_models and (
        "known" in parts or path.stem == "registry" or FAMILIES.search(path.stem))
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            why = check_src_include(layer, match[1]) if in_src else check_app_include(match[1])
            if why:
                yield f"{name}:{number}: {why}"
        code = line.split("//")[0] if in_models else line
        if not names_families and (match := FAMILIES.search(code)):
            yield f"{name}:{number}: names the family '{match[1]}'; only its own file in src/models may"


def check(root):
    root = Path(root)
    for folder in ("src", "apps", "include"):
        for path in sources(root, folder):
            yield from check_file(root, path)


def main():
    violations = list(check(Path(__file__).resolve().parent.parent))
    for line in violations:
        print(line)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
