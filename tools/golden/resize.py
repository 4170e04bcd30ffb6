"""Pictures at other sizes, by Pillow's LANCZOS: resize, a JSON file.

Each case: from and to [width, height], channels, pixels before and after, row by row. Pillow rounds to whole numbers between
its two passes, so its bytes are within 1 of the exact ones.
"""

import json

import numpy as np
from PIL import Image

from common import DATA, normal

CASES = {"smaller": ((9, 7), (4, 3)), "larger": ((4, 3), (9, 7)), "wider": ((5, 8), (13, 6)), "one": ((6, 5), (1, 1))}
MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def main():
    cases = []
    for name, (before, after) in CASES.items():
        for channels, mode in MODES.items():
            shape = [before[1], before[0], channels]
            pixels = normal(f"resize/{name}/{channels}", shape).mul(60).add(128).clamp(0, 255).numpy().astype(np.uint8)
            if channels == 4:  # what is nearly clear has colours of chance
                pixels[:, :, 3] = 128 + pixels[:, :, 3] // 2
            image = Image.fromarray(pixels.squeeze(-1) if channels == 1 else pixels, mode)
            resized = np.asarray(image.resize(after, Image.LANCZOS))
            case = {"name": f"{name}_{mode}", "from": before, "to": after, "channels": channels}
            cases.append(case | {"before": pixels.flatten().tolist(), "after": resized.flatten().tolist()})
    path = DATA / "golden" / "resize.json"
    path.write_text("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
