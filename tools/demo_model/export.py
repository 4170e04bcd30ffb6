"""Write the trained model as one safetensors file that Stable Diffusion programs can read.

    export.py MODEL [--state STATE] [--start FILE]

Takes the moving averages in STATE on top of FILE, or FILE alone.
"""

import argparse
import os
import pathlib

import model
from checkpoint import Pipeline

# What tensor shapes cannot tell, and what draws well by default.
METADATA = {
    "modelspec.architecture": "stable-diffusion-v1",
    "modelspec.title": "Gesso demo",
    "modelspec.license": "MIT",
    "prediction_type": "v_prediction",
    "scale_factor": "1.0",
    "vae_norm_num_groups": str(model.VAE_GROUPS),
    "unet_norm_num_groups": str(model.UNET_GROUPS),
    "num_head_channels": str(model.HEAD_DIM),
    "clip_heads": str(model.TEXT_HEADS),
    "image_size": str(model.IMAGE_SIZE),
    "default_steps": "20",
    "default_cfg_scale": "4",
    "default_sampler": "euler",
    "default_scheduler": "sgm_uniform",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output")
    parser.add_argument("--state", type=pathlib.Path, help="training state to export")
    parser.add_argument("--start", help="the model file that training started from")
    args = parser.parse_args()
    pipeline = Pipeline.load(args.start) if args.start else Pipeline.new()
    if args.state:
        from train import use_averages

        use_averages(pipeline, args.state)
    pipeline.save(args.output, METADATA)
    print(f"{args.output}: {os.path.getsize(args.output) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
