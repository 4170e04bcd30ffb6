"""Reading and writing the model as one safetensors file with Stable Diffusion 1.x names."""

import dataclasses

import torch
from safetensors import safe_open
from safetensors.torch import save_file

import model
import tokenizer

UNET = "model.diffusion_model."
VAE = "first_stage_model."
TEXT = "cond_stage_model.transformer."
TOKEN_TABLE = "text_model.embeddings.token_embedding.weight"


@dataclasses.dataclass
class Pipeline:
    """All parts of the model, in evaluation order: prompt, latents, picture."""

    vocabulary: tokenizer.Vocabulary
    text: model.TextEncoder
    unet: model.UNet
    vae: model.Autoencoder

    @classmethod
    def new(cls):
        vocabulary = tokenizer.Vocabulary()
        text, unet, vae = model.TextEncoder(len(vocabulary)), model.UNet(), model.Autoencoder()
        for part in (unet, vae):  # oneDNN is faster with the channels last
            part.to(memory_format=torch.channels_last)
        return cls(vocabulary, text, unet, vae)

    @classmethod
    def load(cls, path):
        pipeline = cls.new()
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name).float() for name in file.keys()}
        for prefix, part in ((UNET, pipeline.unet), (VAE, pipeline.vae), (TEXT, pipeline.text)):
            state = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
            if prefix == TEXT:
                state[TOKEN_TABLE] = compact(state[TOKEN_TABLE], pipeline.vocabulary)
            part.load_state_dict(state)
        return pipeline

    def save(self, path, metadata):
        """Write everything as f16, with the token table grown to CLIP's full size."""
        text = dict(self.text.state_dict())
        text[TOKEN_TABLE] = expand(text[TOKEN_TABLE], self.vocabulary)
        parts = ((UNET, self.unet.state_dict()), (VAE, self.vae.state_dict()), (TEXT, text))
        tensors = {
            prefix + name: value.detach().half().contiguous(memory_format=torch.contiguous_format)
            for prefix, state in parts
            for name, value in state.items()
        }
        save_file(tensors, path, metadata)


def unused_token(vocabulary):
    return next(i for i in range(tokenizer.SIZE) if i not in vocabulary.index)


def compact(table, vocabulary):
    return table[[*vocabulary.tokens, unused_token(vocabulary)]]


def expand(table, vocabulary):
    full = table[vocabulary.unknown].repeat(tokenizer.SIZE, 1)
    full[vocabulary.tokens] = table[:-1]
    return full
