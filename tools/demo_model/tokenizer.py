"""CLIP's byte-pair tokenizer, and the compact vocabulary that training uses.

The merges file (`bpe_simple_vocab_16e6.txt.gz`) comes with the package open-clip-torch.
"""

import functools
import gzip
import importlib.util
import pathlib
import re

import scenes

BEGIN, END, LENGTH, SIZE = 49406, 49407, 77, 49408
PATTERN = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d|[^\W\d_]+|\d|(?:[^\s\w]|_)+", re.IGNORECASE)


def default_merges():
    package = importlib.util.find_spec("open_clip")
    if package is None:
        raise SystemExit("no tokenizer merges: pip install --no-deps open-clip-torch")
    return pathlib.Path(package.origin).with_name("bpe_simple_vocab_16e6.txt.gz")


def byte_symbols():
    """CLIP's printable stand-in for each byte, in the order of the vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    return dict(zip(printable + rest, map(chr, printable + [256 + i for i in range(len(rest))])))


class Tokenizer:
    def __init__(self, merges=None):
        with gzip.open(merges or default_merges(), "rt", encoding="utf-8") as file:
            lines = file.read().split("\n")[1 : SIZE - 512 - 2 + 1]
        pairs = [tuple(line.split()) for line in lines]
        self.symbols = byte_symbols()
        letters = list(self.symbols.values())
        entries = letters + [c + "</w>" for c in letters] + ["".join(p) for p in pairs]
        self.ids = {text: i for i, text in enumerate(entries)}
        self.ranks = {pair: i for i, pair in enumerate(pairs)}

    @functools.lru_cache(None)
    def word(self, word):
        parts = [self.symbols[b] for b in word.encode()]
        parts[-1] += "</w>"
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:]))
            best = min(pairs, key=lambda p: self.ranks.get(p, len(self.ranks)))
            if best not in self.ranks:
                break
            merged, i = [], 0
            while i < len(parts):
                if tuple(parts[i : i + 2]) == best:
                    merged.append("".join(best))
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return [self.ids[p] for p in parts]

    def __call__(self, text):
        """The 77 token ids of a prompt, padded with the end token as SD 1.x does."""
        ids = [i for w in PATTERN.findall(" ".join(text.lower().split())) for i in self.word(w)]
        ids = [BEGIN, *ids][: LENGTH - 1]
        return ids + [END] * (LENGTH - len(ids))


class Vocabulary:
    """Numbers only the tokens that captions use; the rest share one trained row.

    49408 rows would be a third of the parameters, and nearly all of them untrained.
    """

    def __init__(self, tokenizer=None):
        self.tokenizer = tokenizer or Tokenizer()
        used = {i for w in scenes.words() for i in self.tokenizer(w)} - {BEGIN, END}
        self.tokens = [BEGIN, END, *sorted(used)]
        self.index = {token: i for i, token in enumerate(self.tokens)}
        self.unknown, self.end = len(self.tokens), 1

    def __len__(self):
        return len(self.tokens) + 1

    def __call__(self, text):
        return [self.index.get(i, self.unknown) for i in self.tokenizer(text)]
