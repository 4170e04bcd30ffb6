"""The auxiliary task of the text encoder: its outputs must tell what is in the scene.

Gradients through the UNet alone teach a small text encoder far too slowly. Two tasks
give it direct ones. Where a noun stands, the output must tell the noun's type, colour
and count. And the last seven positions, which are padding in any sensible prompt, are
slots: each must describe what stands in one part of the picture (left, right, ...).
So cross-attention finds "what is on the left" at a fixed place, in a fixed code, and
need not learn English to get left and right.
"""

import torch
import torch.nn.functional as F
from torch import nn

import model
import scenes

SLOTS = ("left", "right", "upper", "top", "lower", "back")
SLOT_START = model.TEXT_LENGTH - len(SLOTS) - 1
SETTING = model.TEXT_LENGTH - 1
COLOURS, GROUNDS, TIMES = list(scenes.PALETTE), list(scenes.GROUND_COLOURS), list(scenes.TIMES)
NOTHING, IGNORE = len(scenes.TYPES), -100
THING = (len(scenes.TYPES) + 1, len(COLOURS), 4)  # classes: type, colour, count - 1
PLACE = (len(TIMES), len(GROUNDS))


class TextHeads(nn.Module):
    """Linear read-outs of the text encoder; used in training only."""

    def __init__(self):
        super().__init__()
        self.noun = nn.Linear(model.TEXT_WIDTH, sum(THING))
        self.slot = nn.Linear(model.TEXT_WIDTH, sum(THING))
        self.setting = nn.Linear(model.TEXT_WIDTH, sum(PLACE))

    def forward(self, states):
        """Logits of nouns, slots and the setting."""
        slots = states[:, SLOT_START:SETTING]
        return self.noun(states), self.slot(slots), self.setting(states[:, SETTING])


def noun_types(vocabulary):
    """Which type a token means, by the last token of each noun."""
    found = {}
    for type_, names in scenes.SYNONYMS.items():
        for name in names:
            for noun in (name, scenes.plural(name)):
                ids = vocabulary(noun)
                found[ids[ids.index(vocabulary.end) - 1]] = type_
    return found


def slot_of(group):
    if group.place in ("left", "right"):
        return SLOTS.index(group.place)
    return SLOTS.index(group.role)


def thing_classes(group):
    return scenes.TYPES.index(group.type), COLOURS.index(group.colour), group.count - 1


def targets(batch_scenes, ids, nouns, vocabulary):
    """Classes for the heads; a scene whose caption was dropped is ignored."""
    count = len(ids)
    noun = torch.full((count, model.TEXT_LENGTH, 3), IGNORE)
    slot = torch.full((count, len(SLOTS), 3), IGNORE)
    setting = torch.full((count, 2), IGNORE)
    for row, (scene, tokens) in enumerate(zip(batch_scenes, ids)):
        end = tokens.index(vocabulary.end)
        if end == 1:
            continue
        slot[row, :, 0] = NOTHING
        by_type = {}
        for group in scene.groups:
            slot[row, slot_of(group)] = torch.tensor(thing_classes(group))
            by_type.setdefault(group.type, []).append(group)
        for position, token in enumerate(tokens[:end]):
            groups = by_type.get(nouns.get(token), [])
            if len(groups) == 1:  # a noun that two groups share is ambiguous
                noun[row, position] = torch.tensor(thing_classes(groups[0]))
        setting[row] = torch.tensor([TIMES.index(scene.time), GROUNDS.index(scene.ground)])
    return noun, slot, setting


def heads_loss(logits, classes):
    loss = 0
    for output, target in zip(logits, classes):
        sizes = THING if target.shape[-1] == 3 else PLACE
        for part, wanted in zip(output.split(sizes, dim=-1), target.unbind(-1)):
            loss = loss + F.cross_entropy(
                part.flatten(0, -2), wanted.flatten(), ignore_index=IGNORE
            )
    return loss


@torch.no_grad()
def heads_accuracy(logits, classes):
    """Share of right answers for (nouns, slots) by (type, colour, count), then time, ground."""
    rates = []
    for output, target in zip(logits, classes):
        sizes = THING if target.shape[-1] == 3 else PLACE
        for part, wanted in zip(output.split(sizes, dim=-1), target.unbind(-1)):
            right = part.argmax(-1) == wanted
            rates.append(round(right[wanted != IGNORE].float().mean().item(), 3))
    return rates
