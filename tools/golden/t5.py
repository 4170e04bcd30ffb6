"""T5: its tokenizer (tests/data/tokenizer/t5_ids.txt.gz) and its encoder (t5.safetensors).

Tokenizer. Reference: transformers' T5Tokenizer over the pieces and rules of the spiece.model that FLUX.1 and SD3 come
with. t5_ids.txt.gz has the ids of the lines of clip_lines.jsonl.gz, without the end token; t5_named.json has a few
readable pairs. `python t5.py FOLDER` also copies spiece.model and LICENSE from FOLDER, an unpacked wheel of diffsynth
1.1.9 (its tokenizer_configs/flux/tokenizer_2/), to src/text/data.

Encoder. Reference: transformers' T5EncoderModel, version 1.1 (gated GELU), a table of 600 tokens, under its own names,
weights in f16, arithmetic in f32. Cases: ids [1, tokens] i32; out [1, tokens, width]; bf16_error [1]: the RMS error of
the reference in bf16.
"""

import copy
import gzip
import json
import pathlib
import struct
import sys

import torch
from transformers import T5Config, T5EncoderModel, T5Tokenizer

from common import DATA, GOLDEN, normal, randomise, rename, save
from unet import rms_error

OUT = DATA / "tokenizer"
VOCABULARY = DATA.parents[1] / "src" / "text" / "data" / "t5_spiece.model.gz"
SENTINELS = 100

NAMED = [
    "",
    " ",
    "a photo of a fox",
    "A cat, holding a sign that says “hello world”!",
    "  leading,  double\tand trailing \n",
    "Grüße aus Köln – ½ ﬁne ①",
    "日本語のテキスト",
    "end</s>here <extra_id_0> <pad>",
    "＜/s＞ full width",
    "under▁score ▁▁x",
    "emoji 🦊🦊 fox",
    "zero\u200bwidth\u00adsoft e\u0301 ｶﾞ",
]


def copy_vocabulary(folder):
    files = {path.name: path for path in pathlib.Path(folder).rglob("*")}
    model = next(p for p in pathlib.Path(folder).rglob("spiece.model") if p.parent.parent.name == "flux")
    VOCABULARY.write_bytes(gzip.compress(model.read_bytes(), 9, mtime=0))
    VOCABULARY.with_name("t5_spiece.LICENSE").write_text(files["LICENSE"].read_text())


def fields(message):
    """(number, value) of each field of a protocol buffer message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        yield number, message[at : at + size]
        at += size


def reference():
    pieces, charsmap = [], None
    for number, value in fields(gzip.decompress(VOCABULARY.read_bytes())):
        if number == 1:
            piece = dict(fields(value))
            pieces.append((piece[1].decode(), struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0))
        if number == 3:
            charsmap = dict(fields(value))[2]
    assert len(pieces) == 32_000
    pieces += [(f"<extra_id_{n}>", 0.0) for n in reversed(range(SENTINELS))]
    return T5Tokenizer(vocab=pieces, _spm_precompiled_charsmap=charsmap, extra_ids=SENTINELS)


def tokenizer():
    model = reference()

    def ids(text):
        return model(text, add_special_tokens=False)["input_ids"]

    lines = gzip.decompress((OUT / "clip_lines.jsonl.gz").read_bytes()).decode().splitlines()
    text = "\n".join(" ".join(map(str, ids(json.loads(line)))) for line in lines) + "\n"
    (OUT / "t5_ids.txt.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    named = json.dumps({text: ids(text) for text in NAMED}, ensure_ascii=False, indent=0)
    (OUT / "t5_named.json").write_text(named + "\n")


def make_t5(width=24, heads=3, head=8, layers=2, hidden=40, vocabulary=600, seed="t5"):
    config = T5Config(
        vocab_size=vocabulary,
        d_model=width,
        d_kv=head,
        d_ff=hidden,
        num_layers=layers,
        num_heads=heads,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
    )
    config._attn_implementation = "eager"
    return randomise(T5EncoderModel(config), seed, half=True)


def t5_weights(model, prefix=""):
    """As files have them: the table once, as `shared`."""
    state = {n: v for n, v in model.named_parameters() if n != "encoder.embed_tokens.weight"}
    return rename(state, lambda name: prefix + name, half=True)


def encoder():
    model = make_t5()
    golden = {}
    for case, tokens in {"one": 1, "short": 9, "odd": 77, "far": 300}.items():
        ids = (normal(f"t5/{case}", [1, tokens]).abs() * 200).long() % 600
        out = model(input_ids=ids).last_hidden_state
        reduced = copy.deepcopy(model).bfloat16()(input_ids=ids).last_hidden_state.float()
        golden |= {f"{case}.ids": ids.int(), f"{case}.out": out, f"{case}.bf16_error": rms_error(reduced, out)}
    save(GOLDEN / "t5.safetensors", t5_weights(model), golden, {"t5_heads": model.config.num_heads})


def main(folder=None):
    if folder:
        copy_vocabulary(folder)
    tokenizer()
    encoder()


if __name__ == "__main__":
    main(*sys.argv[1:])
