"""Remakes every golden under tests/data: `python tools/golden/make_all.py`.

Needs what tools/requirements.txt pins. With the same packages the bytes come out the same; on another processor
the last bits of expected outputs may differ, names, weights and inputs never.
"""

import importlib

SCRIPTS = [
    "clip", "unet", "vae", "tokenizer", "noise", "schedules", "samplers", "guidance", "pipelines", "inpaint", "resize", "t5",
    "flux", "sd3", "quant", "scaled", "workflows", "taesd", "upscale"
]


def main():
    for script in SCRIPTS:
        importlib.import_module(script).main()


if __name__ == "__main__":
    main()
