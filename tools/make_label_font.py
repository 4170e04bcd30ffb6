"""Makes src/media/data/misc_fixed_8x13.bin, the font of labels in pictures: python tools/make_label_font.py 8x13.pcf.gz

The source is the font "-Misc-Fixed-Medium-R-Normal--13-120-75-75-C-80-ISO10646-1" of X.Org's font-misc-misc ("Public
domain font. Share and enjoy."), 8x13.pcf.gz in Debian's xfonts-base. Of its characters those up to U+052F (Latin, Greek,
Cyrillic), general punctuation and U+FFFD are kept. The result: for each character, in order, its code point (4 bytes, the
lowest first) and its 13 rows from the top (a byte each, the leftmost pixel in the highest bit).
"""

import gzip
import struct
import sys
from pathlib import Path

WIDTH, HEIGHT = 8, 13
METRICS, BITMAPS, ENCODINGS = 1 << 2, 1 << 3, 1 << 5
OUT = Path(__file__).parent.parent / "src/media/data/misc_fixed_8x13.bin"


def tables(font):
    assert font[:4] == b"\1fcp"
    for i in range(struct.unpack_from("<I", font, 4)[0]):
        kind, form, size, offset = struct.unpack_from("<IIII", font, 8 + 16 * i)
        yield kind, (form, font[offset : offset + size])


def metrics_of(form, data):
    """(left, right, width, ascent, descent) of every glyph."""
    order = ">" if form & 4 else "<"
    if form & 0x100:
        count = struct.unpack_from(order + "H", data, 4)[0]
        return [tuple(b - 0x80 for b in data[6 + 5 * i : 11 + 5 * i]) for i in range(count)]
    count = struct.unpack_from(order + "I", data, 4)[0]
    return [struct.unpack_from(order + "hhhhh", data, 8 + 12 * i) for i in range(count)]


def bitmaps_of(form, data):
    order, padding = ">" if form & 4 else "<", 1 << (form & 3)
    count = struct.unpack_from(order + "I", data, 4)[0]
    offsets = struct.unpack_from(f"{order}{count}I", data, 8)
    bits = data[8 + 4 * count + 16 :]
    assert form & 8, "most significant bit first"
    unit = 1 << (form >> 4 & 3)
    if unit > 1 and not form & 4:  # bytes within a unit lie the other way round
        bits = b"".join(bits[i : i + unit][::-1] for i in range(0, len(bits), unit))
    return offsets, bits, padding


def main():
    found = dict(tables(gzip.decompress(Path(sys.argv[1]).read_bytes())))
    metrics = metrics_of(*found[METRICS])
    offsets, bits, padding = bitmaps_of(*found[BITMAPS])
    form, data = found[ENCODINGS]
    order = ">" if form & 4 else "<"
    low, high, first, last, _ = struct.unpack_from(order + "5H", data, 4)
    codes = struct.unpack_from(f"{order}{(high - low + 1) * (last - first + 1)}H", data, 14)
    out = b""
    for row in range(first, last + 1):
        for column in range(low, high + 1):
            code = row << 8 | column
            glyph = codes[(row - first) * (high - low + 1) + column - low]
            wanted = 0x20 <= code < 0x7F or 0xA0 <= code < 0x300 or 0x370 <= code < 0x530 or 0x2010 <= code < 0x2050
            if glyph == 0xFFFF or not (wanted or code == 0xFFFD):
                continue
            left, right, _, ascent, descent = metrics[glyph]
            rows = [0] * HEIGHT
            for y in range(ascent + descent):
                line = bits[offsets[glyph] + y * padding]
                at = 11 - ascent + y  # the font's ascent is 11
                if 0 <= at < HEIGHT:
                    rows[at] = (line >> left if left >= 0 else line << -left) & 0xFF
            out += struct.pack("<I", code) + bytes(rows)
    OUT.write_bytes(out)
    print(f"{len(out) // (4 + HEIGHT)} characters, {len(out)} bytes")


if __name__ == "__main__":
    main()
