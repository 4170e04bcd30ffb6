"""CLIP's tokenizer: tests/data/tokenizer/clip_*, 10,000 lines of text and their ids.

Reference: the `tokenizers` pipeline that transformers' CLIPTokenizer builds (NFC, runs of white space to one space,
lower case letter by letter, split, byte-level BPE with </w>), over the merges in open-clip's vocabulary file.
Lines are prompts made of words of that vocabulary, sentences in many scripts, mixtures and runs of their letters,
every character up to U+024F, and random characters of Unicode 3.2 (whose properties no longer change).

Also copies the vocabulary and its licence to src/text/data, and tells how often open_clip's own SimpleTokenizer
(ftfy, HTML entities unescaped, Python's lower case) gives other ids.

Files: clip_lines.jsonl.gz, one JSON string a line; clip_ids.txt.gz, the ids of that line separated by spaces, without
begin, end and padding; clip_named.json, a few readable pairs, among them special tokens written out in the text.
"""

import collections
import gzip
import importlib.metadata
import importlib.util
import json
import pathlib
import random
import sys
import unicodedata

from transformers import CLIPTokenizer

from common import DATA
from tokenizer_text import SENTENCES

OUT = DATA / "tokenizer"
VOCABULARY = DATA.parents[1] / "src" / "text" / "data" / "bpe_simple_vocab_16e6.txt.gz"
MERGES = 49152 - 256 - 2
LINES = 10_000


def copy_vocabulary():
    package = importlib.util.find_spec("open_clip").submodule_search_locations[0]
    licence = next(f for f in importlib.metadata.files("open-clip-torch") if f.name == "LICENSE")
    VOCABULARY.parent.mkdir(parents=True, exist_ok=True)
    VOCABULARY.write_bytes(pathlib.Path(package, VOCABULARY.name).read_bytes())
    VOCABULARY.with_name("bpe_simple_vocab_16e6.LICENSE").write_text(licence.read_text())


def letters_of_bytes():
    """The printable letter that byte-level BPE writes for each byte."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def reference():
    lines = gzip.decompress(VOCABULARY.read_bytes()).decode().split("\n")
    merges = [tuple(line.split()) for line in lines[1 : MERGES + 1]]
    letters = list(letters_of_bytes().values())
    words = [*letters, *(letter + "</w>" for letter in letters), *map("".join, merges)]
    words += ["<|startoftext|>", "<|endoftext|>"]
    assert len(words) == len(set(words)) == 49408
    return CLIPTokenizer(vocab={word: id for id, word in enumerate(words)}, merges=merges)


def make_lines(tokenizer):
    rng = random.Random("clip lines")
    pick = rng.choice
    words = [word.removesuffix("</w>") for word in tokenizer.get_vocab() if word.endswith("</w>")]
    words = sorted(word for word in words if word.isascii())
    assigned = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs", "Co")
    ]
    marks = [c for c in assigned if unicodedata.combining(c)]
    spaces = [c for c in assigned if c.isspace()]
    # Han and Hangul are most of Unicode: give the rest its turn.
    rare = [c for c in assigned if not "\u3400" <= c <= "\ud7ff" and c < "\U00020000"]

    def some(pool, low, high):
        return "".join(pick(pool) for _ in range(rng.randint(low, high)))

    def prompt():
        text = ""
        for _ in range(rng.randint(1, 9)):
            word = pick(words)
            word = pick([word] * 6 + [word.upper(), word.title(), f"({word}:1.{rng.randint(1, 9)})", f"{word}'s"])
            text += word + pick([" "] * 6 + [", ", ",", ". ", "-", " | ", "  "])
        return text.strip() if rng.random() < 0.9 else text

    def slices():
        parts = []
        for _ in range(rng.randint(2, 5)):
            sentence = pick(SENTENCES)
            start = rng.randint(0, max(0, len(sentence) - 1))
            parts.append(sentence[start : start + rng.randint(1, 9)])
        return pick(["", "", " ", "'"]).join(parts)

    def recased():
        sentence = pick(SENTENCES)
        start = rng.randint(0, len(sentence) // 2)
        return pick([str.upper, str.title, str.swapcase])(sentence[start : start + 24])

    def marked():
        return "".join(pick(rare if rng.random() < 0.3 else "aeiouAEIOUsSnN ΩωίИ") + some(marks, 0, 4) for _ in range(5))

    def runs():
        return "".join(pick("'\"!?.,-_*#()[]{}<>|&;:/\\~`^%$@+= st0aé🦊") * rng.randint(1, 5) for _ in range(6))

    def long_word():
        return some(pick(["ab", "abcdefghijklmnopqrstuvwxyz", "0123456789", "äöü", "字", "=", "🦊"]), 40, 160)

    makers = {
        prompt: 3200,
        slices: 2400,
        runs: 900,
        lambda: some(rare, 1, 8): 900,
        lambda: some(assigned, 1, 8): 300,
        lambda: pick(words).join([some(spaces + list(" \t\n"), 0, 2), some(spaces, 1, 3), ""]): 300,
        recased: 400,
        marked: 500,
        long_word: 60,
    }
    lines = list(SENTENCES)
    lines += [f"x{chr(code)}y" for code in (*range(0x250), *range(0x2000, 0x2070), *range(0x3000, 0x3040))]
    lines += [word * 400 for word in ("a", "ha", "9", "!", "'s")]
    for make, count in makers.items():
        lines += [make() for _ in range(count)]
    while len(lines) < LINES:
        lines.append(prompt())
    return lines[:LINES]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)
    print(f"{path.relative_to(DATA)}: {path.stat().st_size / 1e6:.2f} MB")


def compare_with_open_clip(lines, ids):
    from open_clip.tokenizer import SimpleTokenizer

    theirs = SimpleTokenizer(str(VOCABULARY))
    kinds = collections.Counter()
    for line, expected in zip(lines, ids):
        if theirs.encode(line) != expected:
            kinds["entity" if "&" in line else "ASCII" if line.isascii() else "beyond ASCII"] += 1
    print(f"open_clip's SimpleTokenizer differs on {sum(kinds.values())} of {len(lines)} lines: {dict(kinds)}")


def main():
    copy_vocabulary()
    tokenizer = reference()

    def encode(text):
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    lines = make_lines(tokenizer)
    ids = [encode(line) for line in lines]
    write(OUT / "clip_lines.jsonl.gz", "".join(json.dumps(line) + "\n" for line in lines))
    write(OUT / "clip_ids.txt.gz", "".join(" ".join(map(str, row)) + "\n" for row in ids))
    named = [
        *SENTENCES[:4],
        "İstanbul ΟΔΥΣΣΕΥΣ Straße",
        "caf\u00e9 = cafe\u0301",
        "<|startoftext|>a fox<|endoftext|>",
        "a<|endoftext|>b <|endoftext|> c",
    ]
    write(OUT / "clip_named.json", json.dumps({text: encode(text) for text in named}, indent=1) + "\n")
    compare_with_open_clip(lines, ids)


if __name__ == "__main__":
    main()
