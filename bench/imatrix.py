"""Shows what an importance matrix does for quantised models: paints with the demo model to collect it, quantises the
model with and without, and compares latents over 50 other prompts.
usage: bench/imatrix.py BUILD [--types q3_K,q4_K,q4_0] [--model FILE]"""
import argparse
import itertools
import pathlib
import random
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parents[1]
COLOURS = "red blue green yellow orange purple pink brown white black".split()
THINGS = "house tree car flower ball box mushroom cat balloon boat".split()
SKIES = "sun moon star cloud".split()
PLACES = ["on grass", "on sand", "in the snow", "by the sea", "at night", "at sunset"]


def prompts(seed, count):
    """Texts that the demo model knows the words of."""
    rng = random.Random(seed)
    texts = [f"a {rng.choice(COLOURS)} {thing} under a {rng.choice(COLOURS)} {rng.choice(SKIES)} {place}"
             for thing, place in itertools.product(THINGS, PLACES)]
    rng.shuffle(texts)
    return texts[:count]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", help="folder of a build with gesso and latent_psnr")
    parser.add_argument("--types", default="q3_K,q4_K,q4_0")
    parser.add_argument("--model", default=str(HERE / "models/demo/gesso-demo.safetensors"))
    arguments = parser.parse_args()
    gesso = pathlib.Path(arguments.build) / "apps/cli/gesso"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "seen.txt").write_text("\n".join(prompts(1, 20)) + "\n")
        (folder / "asked.txt").write_text("\n".join(prompts(2, 50)) + "\n")
        subprocess.run([gesso, "generate", "-m", arguments.model, "--prompts-from-file", folder / "seen.txt",
                        "--seed", "1000", "-o", folder / "seen.png", "--imatrix-out", folder / "m.gguf"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        files = []
        for kind in arguments.types.split(","):
            for ending, options in (("", []), (" with imatrix", ["--imatrix", folder / "m.gguf"])):
                files.append(folder / f"{kind}{ending}.gguf")
                subprocess.run([gesso, "convert", arguments.model, "-o", files[-1], "--type", kind, *options],
                               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Rows of 64 and 160 hold no whole block of 256: q3_K falls back to iq4_nl there, q4_K to q5_0.
        subprocess.run([pathlib.Path(arguments.build) / "bench/latent_psnr", folder / "asked.txt", arguments.model,
                        *files], check=True)


if __name__ == "__main__":
    main()
