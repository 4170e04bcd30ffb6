"""Picture-book scenes drawn by code, with captions: the training data of the demo model.

`sample(rng)` invents a scene, `render(scene)` draws it as a 192x192 RGB array and
`caption(scene, rng)` describes it in one of many phrasings. Everything follows from
the random generator that is passed in, so a seed is a data set. Run as a script it
writes a sheet of examples.
"""

import dataclasses
import math
import random
import zlib

import numpy as np
from PIL import Image, ImageDraw

SIZE, SUPERSAMPLE = 192, 3

PALETTE = {
    "red": (222, 56, 54),
    "orange": (246, 142, 40),
    "yellow": (253, 212, 60),
    "green": (58, 158, 76),
    "blue": (48, 104, 220),
    "purple": (140, 72, 190),
    "pink": (248, 128, 180),
    "white": (248, 248, 244),
    "black": (42, 42, 50),
    "brown": (140, 90, 54),
    "gray": (138, 146, 160),
}
COLOURS = [c for c in PALETTE if c != "gray"]  # gray is only ever a natural colour

GROUND = ["house", "tree", "car", "flower", "ball", "box", "mushroom", "cat"]
SKY = ["sun", "moon", "star", "cloud", "balloon"]
TYPES = GROUND + SKY + ["mountain", "boat"]

NATURAL = {
    "house": ["red", "white", "brown", "orange", "blue"],
    "tree": ["green"],
    "car": ["red", "blue", "yellow"],
    "flower": ["red", "pink", "yellow", "purple"],
    "ball": ["red", "blue", "orange"],
    "box": ["brown"],
    "mushroom": ["red"],
    "cat": ["orange", "black", "white", "brown", "gray"],
    "sun": ["yellow"],
    "moon": ["yellow", "white"],
    "star": ["yellow"],
    "cloud": ["white"],
    "balloon": ["red", "orange", "blue", "pink"],
    "mountain": ["gray"],
    "boat": ["brown", "red", "white"],
}

SKY_COLOURS = {
    "day": ((118, 190, 246), (206, 236, 252)),
    "night": ((20, 24, 66), (58, 66, 124)),
    "sunset": ((120, 84, 160), (255, 176, 120)),
}
GROUND_COLOURS = {
    "grass": (150, 208, 104),
    "sand": (240, 216, 154),
    "snow": (232, 240, 248),
    "sea": (72, 164, 214),
}


@dataclasses.dataclass
class Thing:
    """One drawn object: x is its middle, y its base, in pixels."""

    type: str
    colour: str
    x: float
    y: float
    size: float
    flip: int = 1
    lifted: bool = False  # stands on another object, so casts no shadow


@dataclasses.dataclass
class Group:
    """What a caption talks about: `count` equal things that play one role.

    Roles: left, right (of a pair), upper (in the sky), top (of a stack),
    lower (on the ground), back (behind the rest).
    """

    type: str
    colour: str
    count: int
    role: str
    size: str = ""
    place: str = ""


@dataclasses.dataclass
class Scene:
    seed: int
    kind: str
    time: str
    ground: str
    horizon: float
    things: list = dataclasses.field(default_factory=list)
    groups: list = dataclasses.field(default_factory=list)


# --------------------------------------------------------------------- colours


def mix(a, b, t):
    return tuple(int(round(x * (1 - t) + y * t)) for x, y in zip(a, b))


def lite(colour, t=0.35):
    return mix(colour, (255, 255, 255), t)


def dark(colour, t=0.3):
    return mix(colour, (18, 16, 40), t)


def ambient(colour, time):
    tint = {"night": ((22, 28, 80), 0.55), "sunset": ((190, 90, 90), 0.28)}
    return mix(colour, *tint[time]) if time in tint else colour


def roof(colour, name):
    return {"white": (176, 182, 198), "black": (84, 84, 98)}.get(name, dark(colour, 0.38))


# --------------------------------------------------------------------- drawing


class Painter:
    """Draws in an object's own coordinates: x in [-0.5, 0.5], y from 0 (base) to 1 (top)."""

    def __init__(self, draw, x, y, size, flip=1):
        self.draw, self.flip = draw, flip
        self.x, self.y, self.size = x * SUPERSAMPLE, y * SUPERSAMPLE, size * SUPERSAMPLE

    def at(self, x, y):
        return self.x + self.flip * x * self.size, self.y - y * self.size

    def box(self, x, y, rx, ry):
        (cx, cy), rx, ry = self.at(x, y), rx * self.size, ry * self.size
        return cx - rx, cy - ry, cx + rx, cy + ry

    def ellipse(self, x, y, rx, ry, colour):
        self.draw.ellipse(self.box(x, y, rx, ry), fill=colour)

    def pie(self, x, y, rx, ry, start, end, colour):
        self.draw.pieslice(self.box(x, y, rx, ry), start, end, fill=colour)

    def rect(self, x0, y0, x1, y1, colour, radius=0):
        (ax, ay), (bx, by) = self.at(x0, y1), self.at(x1, y0)
        corners = (min(ax, bx), ay, max(ax, bx), by)
        if radius:
            self.draw.rounded_rectangle(corners, radius * self.size, fill=colour)
        else:
            self.draw.rectangle(corners, fill=colour)

    def polygon(self, points, colour):
        self.draw.polygon([self.at(x, y) for x, y in points], fill=colour)

    def line(self, points, width, colour):
        width = max(1, int(width * self.size))
        self.draw.line([self.at(*p) for p in points], fill=colour, width=width, joint="curve")


def draw_house(p, c, name, scene):
    p.rect(0.2, 0.6, 0.32, 0.95, roof(c, name))
    p.rect(-0.4, 0, 0.4, 0.56, c)
    p.polygon([(-0.52, 0.52), (0, 1), (0.52, 0.52)], roof(c, name))
    door = (92, 54, 34) if name == "brown" else dark(PALETTE["brown"], 0.25)
    p.rect(-0.09, 0, 0.11, 0.32, door, 0.03)
    window = (226, 242, 252) if scene.time == "day" else (255, 232, 130)
    for x in (-0.31, 0.19):
        p.rect(x, 0.24, x + 0.14, 0.4, window)


def draw_tree(p, c, name, scene):
    p.rect(-0.07, 0, 0.07, 0.45, (84, 54, 36) if name == "brown" else (122, 80, 50))
    for x, y, r in ((-0.2, 0.5, 0.2), (0.2, 0.5, 0.2), (0, 0.72, 0.27), (0, 0.48, 0.2)):
        p.ellipse(x, y, r, r, c)
    p.ellipse(-0.08, 0.8, 0.11, 0.09, (226, 230, 236) if name == "white" else lite(c, 0.25))


def draw_car(p, c, name, scene):
    p.polygon([(-0.3, 0.3), (-0.18, 0.56), (0.16, 0.56), (0.33, 0.3)], c)
    p.rect(-0.5, 0.1, 0.5, 0.34, c, 0.09)
    glass = (150, 190, 220) if name == "white" else (214, 236, 248)
    p.polygon([(-0.22, 0.34), (-0.14, 0.5), (-0.02, 0.5), (-0.02, 0.34)], glass)
    p.polygon([(0.04, 0.34), (0.04, 0.5), (0.13, 0.5), (0.23, 0.34)], glass)
    for x in (-0.27, 0.27):
        p.ellipse(x, 0.1, 0.12, 0.12, (70, 70, 80) if name == "black" else (36, 36, 44))
        p.ellipse(x, 0.1, 0.055, 0.055, (200, 204, 210))
    p.ellipse(0.45, 0.24, 0.04, 0.04, (255, 240, 170))


def draw_flower(p, c, name, scene):
    stem = (62, 150, 70)
    p.line([(0, 0), (0, 0.6)], 0.07, stem)
    p.ellipse(-0.13, 0.2, 0.13, 0.06, stem)
    p.ellipse(0.13, 0.27, 0.13, 0.06, stem)
    for k in range(6):
        angle = k * math.pi / 3 + 0.3
        p.ellipse(0.2 * math.cos(angle), 0.7 + 0.2 * math.sin(angle), 0.13, 0.13, c)
    heart = (128, 74, 40) if name in ("yellow", "orange") else (253, 206, 60)
    p.ellipse(0, 0.7, 0.12, 0.12, heart)


def draw_ball(p, c, name, scene):
    p.ellipse(0, 0.4, 0.4, 0.4, c)
    p.pie(0, 0.4, 0.4, 0.4, 20, 160, (62, 62, 74) if name == "black" else dark(c, 0.16))
    p.ellipse(-0.14, 0.56, 0.1, 0.08, (222, 226, 234) if name == "white" else lite(c, 0.6))


def draw_box(p, c, name, scene):
    side = (190, 196, 208) if name == "white" else dark(c, 0.3)
    p.polygon([(0.3, 0), (0.46, 0.14), (0.46, 0.74), (0.3, 0.6)], side)
    lid = (222, 226, 234) if name == "white" else lite(c, 0.35)
    p.polygon([(-0.42, 0.6), (-0.26, 0.74), (0.46, 0.74), (0.3, 0.6)], lid)
    p.rect(-0.42, 0, 0.3, 0.6, c)
    p.rect(-0.12, 0, 0, 0.6, (72, 72, 84) if name == "black" else dark(c, 0.16))


def draw_mushroom(p, c, name, scene):
    p.rect(-0.14, 0, 0.14, 0.5, (244, 230, 204), 0.08)
    p.pie(0, 0.42, 0.46, 0.5, 180, 360, c)
    dots = (214, 176, 140) if name == "white" else (255, 255, 255)
    for x, y, r in ((-0.24, 0.56, 0.08), (0.05, 0.72, 0.1), (0.27, 0.55, 0.075)):
        p.ellipse(x, y, r, r * 0.9, dots)


def draw_cat(p, c, name, scene):
    p.line([(0.2, 0.08), (0.42, 0.12), (0.46, 0.34), (0.4, 0.44)], 0.09, c)
    p.ellipse(0.4, 0.44, 0.045, 0.045, c)
    p.ellipse(0, 0.26, 0.26, 0.28, c)
    p.rect(-0.2, 0, 0.2, 0.14, c, 0.06)
    p.ellipse(-0.02, 0.66, 0.25, 0.22, c)
    p.polygon([(-0.25, 0.7), (-0.24, 0.98), (-0.06, 0.84)], c)
    p.polygon([(0.21, 0.7), (0.2, 0.98), (0.02, 0.84)], c)
    dusky = name in ("black", "gray", "brown", "purple", "blue", "green")
    for x in (-0.12, 0.08):
        p.ellipse(x, 0.69, 0.042, 0.055, (250, 226, 90) if dusky else (40, 44, 40))
    nose = (90, 40, 50) if name in ("pink", "red") else (250, 150, 160)
    p.ellipse(-0.02, 0.58, 0.035, 0.025, nose)
    p.ellipse(0, 0.22, 0.13, 0.17, (228, 228, 232) if name == "white" else lite(c, 0.28))


def draw_sun(p, c, name, scene):
    for k in range(12):
        a, w = k * math.pi / 6, 0.115
        base = [(0.33 * math.cos(a + s), 0.5 + 0.33 * math.sin(a + s)) for s in (-w, w)]
        p.polygon([base[0], (0.5 * math.cos(a), 0.5 + 0.5 * math.sin(a)), base[1]], c)
    p.ellipse(0, 0.5, 0.31, 0.31, c)
    p.ellipse(-0.08, 0.59, 0.11, 0.09, (236, 238, 244) if name == "white" else lite(c, 0.3))


def draw_moon(p, c, name, scene):
    """A crescent: an outer arc, closed by an inner arc around a shifted centre."""
    radius, centre, steps = 0.46, 0.2, 32
    angles = [math.radians(55 + 250 * k / steps) for k in range(steps + 1)]
    points = [(radius * math.cos(a), 0.5 + radius * math.sin(a)) for a in angles]
    (x0, y0), (x1, y1) = points[-1], points[0]
    inner = math.hypot(x1 - centre, y1 - 0.5)
    start, end = (math.atan2(y - 0.5, x - centre) % (2 * math.pi) for x, y in ((x0, y0), (x1, y1)))
    for k in range(steps + 1):
        a = start + (end - start) * k / steps
        points.append((centre + inner * math.cos(a), 0.5 + inner * math.sin(a)))
    p.polygon(points, c)


def draw_star(p, c, name, scene):
    radii = (0.5, 0.22)
    angles = [k * math.pi / 5 for k in range(10)]
    tips = [(radii[k % 2] * math.sin(a), radii[k % 2] * math.cos(a)) for k, a in enumerate(angles)]
    p.polygon([(x, 0.5 + y) for x, y in tips], c)


def draw_cloud(p, c, name, scene):
    for x, y, r in ((-0.28, 0.3, 0.17), (0.28, 0.3, 0.17), (-0.08, 0.42, 0.24), (0.14, 0.36, 0.2)):
        p.ellipse(x, y, r, r, c)
    p.rect(-0.3, 0.13, 0.3, 0.32, c)


def draw_balloon(p, c, name, scene):
    for x in (-0.1, 0.1):
        p.line([(x * 2.2, 0.42), (x * 0.8, 0.16)], 0.02, (110, 84, 64))
    stripe = (212, 218, 230) if name == "white" else lite(c, 0.38)
    for colour, rx, x0, x1 in ((c, 0.34, 0.29, 0.1), (stripe, 0.14, 0.125, 0.05)):
        p.ellipse(0, 0.66, rx, 0.34, colour)
        p.polygon([(-x0, 0.5), (-x1, 0.24), (x1, 0.24), (x0, 0.5)], colour)
    basket = (96, 60, 40) if name == "brown" else (150, 98, 56)
    p.rect(-0.11, 0.02, 0.11, 0.17, basket, 0.03)


def draw_mountain(p, c, name, scene):
    p.polygon([(-0.75, 0), (-0.02, 1), (0.02, 1), (0.75, 0)], c)
    shade = (60, 60, 72) if name == "black" else dark(c, 0.14)
    p.polygon([(0, 1), (0.02, 1), (0.75, 0), (0.2, 0)], shade)
    snow = (176, 206, 236) if name == "white" else (250, 250, 252)
    rim = [(0.19, 0.765), (0.09, 0.7), (0.03, 0.77), (-0.05, 0.69), (-0.1, 0.76)]
    p.polygon([(-0.19, 0.765), (-0.02, 1), (0.02, 1), *rim], snow)


def draw_boat(p, c, name, scene):
    p.line([(0, 0.2), (0, 0.97)], 0.045, (110, 74, 48))
    sail = (250, 214, 120) if name == "white" else (252, 250, 240)
    p.polygon([(0.05, 0.3), (0.05, 0.95), (0.44, 0.3)], sail)
    p.polygon([(-0.05, 0.3), (-0.05, 0.85), (-0.32, 0.3)], mix(sail, (120, 140, 180), 0.2))
    p.polygon([(-0.5, 0.24), (0.5, 0.24), (0.34, 0), (-0.34, 0)], c)
    p.rect(-0.5, 0.2, 0.5, 0.26, (76, 76, 88) if name == "black" else dark(c, 0.22))


DRAW = {t: globals()[f"draw_{t}"] for t in TYPES}


def scaled(*corners):
    return [v * SUPERSAMPLE for v in corners]


def gradient(top, bottom, rows):
    t = np.linspace(0, 1, rows, dtype=np.float32)[:, None]
    return np.array(top) * (1 - t) + np.array(bottom) * t


def draw_background(scene, rng):
    side, horizon = SIZE * SUPERSAMPLE, int(scene.horizon * SUPERSAMPLE)
    ground = ambient(GROUND_COLOURS[scene.ground], scene.time)
    near = mix(ground, (120, 150, 200) if scene.ground == "snow" else (20, 60, 60), 0.22)
    sky = gradient(*SKY_COLOURS[scene.time], horizon)
    rows = np.concatenate([sky, gradient(lite(ground, 0.12), near, side - horizon)])
    image = Image.fromarray(rows.astype(np.uint8)[:, None, :]).resize((side, side), Image.NEAREST)
    draw = ImageDraw.Draw(image)
    if scene.time == "night":
        for _ in range(rng.randint(7, 13)):
            x, y = rng.uniform(0, SIZE), rng.uniform(0, scene.horizon - 22)
            r = rng.uniform(0.7, 1.2)
            draw.ellipse(scaled(x - r, y - r, x + r, y + r), fill=(206, 212, 240))
    if scene.ground != "sea":
        for _ in range(rng.randint(1, 2)):
            x, w, h = rng.uniform(-20, SIZE + 20), rng.uniform(70, 120), rng.uniform(12, 24)
            hill = scaled(x - w, scene.horizon - h, x + w, scene.horizon + h)
            draw.pieslice(hill, 180, 360, fill=mix(ground, SKY_COLOURS[scene.time][1], 0.35))
        strip = scaled(0, scene.horizon, SIZE, scene.horizon + 0.7)
        draw.rectangle(strip, fill=lite(ground, 0.12))
    for _ in range(rng.randint(4, 8)):
        draw_tuft(draw, scene, ground, rng.uniform(0, SIZE), rng)
    return image, draw, ground


def draw_tuft(draw, scene, ground, x, rng):
    """A small mark that gives the ground texture: a wave, some grass or a ripple."""
    y = rng.uniform(scene.horizon + 10, SIZE - 4)
    if scene.ground == "sea":
        w = rng.uniform(7, 15)
        draw.rounded_rectangle(
            scaled(x - w, y - 1, x + w, y + 1), SUPERSAMPLE, fill=lite(ground, 0.28)
        )
    elif scene.ground == "grass":
        for k in (-3, 0, 3):
            blade = [(x + k - 1.4, y), (x + k * 5 / 3, y - 7), (x + k + 1.4, y)]
            draw.polygon([tuple(scaled(*p)) for p in blade], fill=dark(ground, 0.16))
    else:
        w = rng.uniform(6, 14)
        draw.ellipse(scaled(x - w, y - 1.5, x + w, y + 1.5), fill=dark(ground, 0.08))


def render(scene):
    """Draw a scene as a (192, 192, 3) array of bytes."""
    rng = random.Random(scene.seed)
    image, draw, ground = draw_background(scene, rng)
    for thing in scene.things:
        colour = tuple(min(255, max(0, v + rng.randint(-7, 7))) for v in PALETTE[thing.colour])
        if scene.time == "night" and thing.type not in SKY:
            colour = mix(colour, (20, 24, 80), 0.16)
        x, y, s = thing.x, thing.y, thing.size
        if thing.type in GROUND and not thing.lifted:
            shadow = scaled(x - s * 0.5, y - s * 0.055, x + s * 0.5, y + s * 0.065)
            draw.ellipse(shadow, fill=dark(ground, 0.2))
        if thing.type == "boat":
            foam = scaled(x - s * 0.55, y - s * 0.03, x + s * 0.55, y + s * 0.07)
            draw.ellipse(foam, fill=lite(ground, 0.25))
        if thing.type in ("sun", "moon"):
            middle, r = y - s * 0.5, s * 0.62
            sky = mix(*SKY_COLOURS[scene.time], min(1, max(0, middle / scene.horizon)))
            glow = mix(sky, colour if thing.type == "sun" else (255, 255, 255), 0.16)
            draw.ellipse(scaled(x - r, middle - r, x + r, middle + r), fill=glow)
        DRAW[thing.type](Painter(draw, x, y, s, thing.flip), colour, thing.colour, scene)
        if thing.type == "boat":
            wake = scaled(x - s * 0.5, y - 1.2, x + s * 0.5, y + 1.6)
            draw.rounded_rectangle(wake, SUPERSAMPLE, fill=lite(ground, 0.28))
    return np.asarray(image.reduce(SUPERSAMPLE))


# -------------------------------------------------------------- inventing scenes

# Half of the pairs are side by side because left/right is the hardest thing to learn.
KINDS = {
    "single": 10,
    "count": 9,
    "sky_ground": 20,
    "pair": 26,
    "pair_sky": 9,
    "stack": 8,
    "boat": 7,
    "mountain": 6,
    "sky": 5,
}
SHAPE_SCALE = {"car": 1.15, "cloud": 1.2, "star": 0.75, "sun": 0.95, "moon": 0.95}
SHAPE_SCALE |= {t: 0.85 for t in ("ball", "box", "mushroom", "cat")}
FLIPPED = ("car", "cat", "boat", "moon", "box")


class Composer:
    """Fills one scene; each method named after a kind places that kind's groups."""

    def __init__(self, rng, kind):
        self.rng = rng
        time = rng.choices(["day", "night", "sunset"], [6, 3, 2])[0]
        ground = rng.choices(["grass", "sand", "snow"], [7, 2, 2])[0]
        if kind == "boat" or (kind == "sky" and rng.random() < 0.3):
            ground = "sea"
        self.scene = Scene(rng.randrange(1 << 30), kind, time, ground, rng.uniform(116, 132))
        self.horizon = self.scene.horizon
        getattr(self, kind)()

    # -- parts

    def visible(self, type_, colour):
        if type_ in SKY:
            return not (self.scene.time == "night" and colour == "black")
        return not (self.scene.ground == "snow" and colour == "white" and type_ != "house")

    def colour(self, type_, avoid=None):
        while True:
            natural = self.rng.random() < 0.35
            colour = self.rng.choice(NATURAL[type_] if natural else COLOURS)
            if colour != avoid and self.visible(type_, colour):
                return colour

    def sometimes(self, chance, value):
        return value if self.rng.random() < chance else None

    def put(self, type_, colour, x, y, size, lifted=False):
        flip = self.rng.choice([1, -1]) if type_ in FLIPPED and not lifted else 1
        place = [round(v, 1) for v in (x, y, size)]
        self.scene.things.append(Thing(type_, colour, *place, flip, lifted))

    def group(self, type_, count, xs, ys, sizes, role, avoid=None, vary=True, place=""):
        """Place `count` equal things side by side within the given ranges."""
        rng, colour, word = self.rng, self.colour(type_, avoid), ""
        size = rng.uniform(*sizes)
        if vary and count == 1:
            luck = rng.random()
            if luck < 0.14:
                size, word = sizes[0] * 0.72, "small"
            elif luck > 0.86:
                size, word = sizes[1] * 1.18, "big"
        size *= SHAPE_SCALE.get(type_, 1)
        step = (xs[1] - xs[0]) / count
        if count > 1:
            size = min(size, step * 0.92)
        for i in range(count):
            slack = max(0, (step - size) / 2) * 0.8
            x = xs[0] + step * (i + 0.5) + rng.uniform(-slack, slack)
            x = min(max(x, size * 0.52 + 2), SIZE - size * 0.52 - 2)
            y = rng.uniform(*ys)
            self.put(type_, colour, x, max(y, size + 4) if type_ in SKY else y, size)
        self.scene.groups.append(Group(type_, colour, count, role, word, place))
        return colour

    def ground_type(self, avoid=None):
        return self.rng.choice([t for t in GROUND if t != avoid])

    def sky_type(self, avoid=None):
        weights = [16, 40, 22, 10, 12] if self.scene.time == "night" else [34, 22, 16, 14, 14]
        while True:
            type_ = self.rng.choices(SKY, weights)[0]
            if type_ != avoid:
                return type_

    def in_the_sky(self, xs=(20, 172), avoid=None):
        type_, count = self.sky_type(), 1
        if type_ not in ("sun", "moon") and self.rng.random() < 0.4:
            count = self.rng.choice([2, 3, 4] if type_ == "star" else [2, 3])
        xs, ys = (xs, (52, 66)) if count == 1 else ((10, 182), (48, 66))
        self.group(type_, count, xs, ys, (44, 58), "upper", avoid)

    # -- kinds

    def single(self):
        place = self.rng.choice(["", "", "left", "middle", "right"])
        xs = {"": (30, 162), "left": (10, 80), "middle": (80, 112), "right": (112, 182)}[place]
        ys = (self.horizon + 20, self.horizon + 44)
        self.group(self.ground_type(), 1, xs, ys, (74, 100), "lower", place=place)

    def count(self):
        ys = (self.horizon + 16, self.horizon + 44)
        count = self.rng.choice([2, 2, 3, 3, 4])
        self.group(self.ground_type(), count, (4, 188), ys, (58, 78), "lower")

    def sky_ground(self):
        x, h = self.rng.uniform(50, 142), self.horizon
        if self.rng.random() < 0.8:
            self.group(self.ground_type(), 1, (x - 24, x + 24), (h + 24, h + 48), (66, 90), "lower")
        else:
            count = self.rng.choice([2, 3])
            self.group(self.ground_type(), count, (6, 186), (h + 22, h + 46), (54, 72), "lower")
        x = min(max(x, 40), 152)
        self.in_the_sky((x - 24, x + 24), self.sometimes(0.7, self.scene.groups[-1].colour))

    def pair(self):
        first, ys = self.ground_type(), (self.horizon + 20, self.horizon + 46)
        second = self.ground_type(first) if self.rng.random() < 0.95 else first
        count = 2 if self.rng.random() < 0.1 else 1
        edge = 94 if count == 1 else 110
        colour = self.group(first, count, (3, edge), ys, (58, 80), "left")
        avoid = self.sometimes(0.8, colour)
        self.group(second, 1, (edge + 4, 189), ys, (58, 80), "right", avoid)

    def pair_sky(self):
        self.pair()
        self.in_the_sky((50, 142))

    def stack(self):
        rng = self.rng
        below = rng.choice(["box", "box", "box", "house", "car"])
        above = ["ball", "cat", "star"] + (["flower", "mushroom"] if below != "house" else [])
        above = rng.choice([t for t in above + ["box"] if t != below])
        size, x = rng.uniform(66, 80), rng.uniform(60, 132)
        y = rng.uniform(self.horizon + 38, self.horizon + 56)
        colour = self.colour(below)
        self.put(below, colour, x, y, size)
        self.scene.things[-1].flip = 1  # the lid is drawn for this side
        height = {"box": 0.66, "house": 0.93, "car": 0.54}[below]
        top_size = 42 if below == "house" else rng.uniform(48, 58)
        top = self.colour(above, self.sometimes(0.85, colour))
        shift = 0.02 * size if below == "box" else 0
        self.put(above, top, x + shift, y - height * size, top_size, lifted=True)
        self.scene.groups += [Group(above, top, 1, "top"), Group(below, colour, 1, "lower")]

    def boat(self):
        rng, h, behind = self.rng, self.horizon, self.rng.random() < 0.3
        if behind:
            self.group("mountain", 1, (60, 132), (h, h), (62, 84), "back", vary=False)
        count = rng.choices([1, 2, 3], [7, 2, 1])[0]
        xs = (30, 162) if count == 1 else (8, 184)
        colour = self.group("boat", count, xs, (h + 14, h + 44), (64, 88), "lower")
        if not behind and rng.random() < 0.7:
            self.in_the_sky(avoid=self.sometimes(0.7, colour))

    def mountain(self):
        rng, h = self.rng, self.horizon
        count = 1 if rng.random() < 0.75 else 2
        xs = (50, 142) if count == 1 else (10, 182)
        colour = self.group("mountain", count, xs, (h, h), (74, 98), "back", vary=False)
        if rng.random() < 0.7:
            ys = (h + 26, h + 50)
            self.group(self.ground_type(), 1, (40, 152), ys, (54, 70), "lower", colour)
        elif count == 1 and rng.random() < 0.6:
            type_ = rng.choice(["sun", "moon", "cloud", "star"])
            self.group(type_, 1, (20, 172), (44, 50), (34, 38), "upper", vary=False)
            self.scene.things.reverse()  # the peak stands in front of the sky

    def sky(self):
        rng, first = self.rng, self.sky_type()
        if rng.random() < 0.5:
            count = 1 if first in ("sun", "moon") else rng.choice([1, 2, 3, 4])
            xs = (40, 152) if count == 1 else (6, 186)
            self.group(first, count, xs, (70, 96), (50, 70), "upper")
        else:
            self.group(first, 1, (8, 94), (66, 92), (50, 66), "left")
            self.group(self.sky_type(first), 1, (98, 184), (66, 92), (50, 66), "right")


def sample(rng, kind=None):
    """Invent a scene, of a given kind or of one drawn with the weights of KINDS."""
    return Composer(rng, kind or rng.choices(list(KINDS), list(KINDS.values()))[0]).scene


# ------------------------------------------------------------ held-out pictures

HELD_OUT = {("mushroom", "blue"), ("car", "pink"), ("tree", "purple"), ("balloon", "green")}


def held_out(scene):
    """Whether a scene is kept for testing: some coloured things and 1 in 8 combinations."""
    keys = sorted((g.type, g.colour) for g in scene.groups)
    if HELD_OUT.intersection(keys):
        return True
    pairs = ((a, b) for i, a in enumerate(keys) for b in keys[i + 1 :])
    return any(zlib.crc32(repr(pair).encode()) % 8 == 0 for pair in pairs)


def sample_training(rng):
    while True:
        scene = sample(rng)
        if not held_out(scene):
            return scene


# --------------------------------------------------------------------- captions

NUMBERS = {2: "two", 3: "three", 4: "four"}
SYNONYMS = {t: [t] for t in TYPES}
SYNONYMS |= {
    "house": ["house"] * 5 + ["cottage"],
    "cat": ["cat"] * 5 + ["kitten"],
    "balloon": ["balloon", "balloon", "hot air balloon"],
    "boat": ["boat"] * 3 + ["sailboat"],
}
SETTINGS = {
    "grass": ["on the grass", "in a meadow", "on a green meadow"],
    "sand": ["in the desert", "on the sand", "on the beach"],
    "snow": ["in the snow", "in winter", "on the snow"],
}
TIMES = {
    "day": ["in the daytime", "on a sunny day", "by day"],
    "night": ["at night", "at night", "by night"],
    "sunset": ["at sunset", "at sunset", "in the evening"],
}
OPENINGS = ["a picture of ", "a drawing of ", "an illustration of ", "a painting of "]
PLACES = {
    "left": ["on the left", "on the left side"],
    "right": ["on the right", "on the right side"],
    "middle": ["in the middle", "in the center"],
}

# {a} is the left or lower group, {b} the right or upper one. Where a phrase names no
# side, the thing named first stands on the left: pictures then follow from captions.
SIDE_BY_SIDE = [
    "{a} to the left of {b}",
    "{a} to the left of {b}",
    "{a} left of {b}",
    "{b} to the right of {a}",
    "{b} to the right of {a}",
    "{b} right of {a}",
    "{a} on the left and {b} on the right",
    "{b} on the right and {a} on the left",
]
NO_SIDE = ["{a} and {b}", "{a} next to {b}", "{a} beside {b}"]
ABOVE = [
    "{a} under {b}",
    "{a} under {b}",
    "{a} below {b}",
    "{a} beneath {b}",
    "{b} above {a}",
    "{b} above {a}",
    "{b} over {a}",
    "{a} with {b} in the sky",
    "{b} in the sky above {a}",
]
STACKED = [
    "{b} on {a}",
    "{b} on {a}",
    "{b} on top of {a}",
    "{b} above {a}",
    "{a} under {b}",
    "{a} below {b}",
]
BEHIND = ["{a} in front of {b}", "{b} behind {a}"]
WITH_SKY = ["{s} under {sky}", "{s}, {sky} in the sky", "{s} with {sky} above", "{sky} above {s}"]
AT_SEA = ["on the sea", "on the water", "on the blue sea", "at sea", "on a lake"]


def plural(word):
    return word + ("es" if word.endswith("x") else "s")


def phrase(group, rng, full):
    """A noun phrase for a group: 'three small red boxes', 'an orange cat', 'the sun'."""
    words = []
    if group.size and (full or rng.random() < 0.7):
        words.append("small" if group.size == "small" else rng.choice(["big", "large"]))
    natural = group.colour in NATURAL[group.type]
    if full or rng.random() < (0.7 if natural else 0.97):
        grey = group.colour == "gray" and rng.random() < 0.3
        words.append("grey" if grey else group.colour)
    noun = rng.choice(SYNONYMS[group.type])
    if group.count > 1:
        return " ".join([NUMBERS[group.count], *words, plural(noun)])
    words.append(noun)
    if group.type in ("sun", "moon") and rng.random() < 0.2:
        return "the " + " ".join(words)
    return ("an " if words[0][0] in "aeiou" else "a ") + " ".join(words)


def relation(scene, rng, full):
    """The part of a caption that says what is where."""
    by_role = {g.role: phrase(g, rng, full) for g in scene.groups}
    pick = lambda patterns, **names: rng.choice(patterns).format(**names)
    sky, kind = by_role.get("upper"), scene.kind
    lower, back = by_role.get("lower"), by_role.get("back")
    if kind == "single" or kind == "count":
        place = scene.groups[0].place
        named = place and (full or rng.random() < 0.7)
        return f"{lower} {rng.choice(PLACES[place])}" if named else lower
    if kind == "sky_ground":
        return pick(ABOVE, a=lower, b=sky)
    if kind in ("pair", "pair_sky"):
        patterns = NO_SIDE if not full and rng.random() < 0.15 else SIDE_BY_SIDE
        text = pick(patterns, a=by_role["left"], b=by_role["right"])
        return pick(WITH_SKY, s=text, sky=sky) if sky else text
    if kind == "stack":
        return pick(STACKED, a=lower, b=by_role["top"])
    if kind == "boat":
        text = f"{lower} {rng.choice(AT_SEA)}" if rng.random() < 0.75 else lower
        if back:
            return pick(BEHIND, a=text, b=back)
        return pick(ABOVE, a=text, b=sky) if sky else text
    if kind == "mountain":
        if lower:
            return pick(BEHIND, a=lower, b=back)
        return pick(ABOVE, a=back, b=sky) if sky else back
    if sky:
        text = sky
    else:
        patterns = SIDE_BY_SIDE if full or rng.random() < 0.8 else NO_SIDE
        text = pick(patterns, a=by_role["left"], b=by_role["right"])
    return text + " in the sky" if rng.random() < 0.5 else text


def caption(scene, rng, full=False):
    """Describe a scene. `full` leaves out no colour, size or side, for tests."""
    extras = []
    if scene.ground in SETTINGS and scene.kind != "sky":
        if rng.random() < (0.3 if scene.ground == "grass" else 0.8):
            extras.append(rng.choice(SETTINGS[scene.ground]))
    if scene.kind == "sky" and scene.ground == "sea":
        extras.append(rng.choice(["over the sea", "above the sea"]))
    if rng.random() < (0.25 if scene.time == "day" else 0.85):
        extras.append(rng.choice(TIMES[scene.time]))
    rng.shuffle(extras)
    text = " ".join([relation(scene, rng, full), *extras])
    if rng.random() < 0.12:
        text = rng.choice(OPENINGS) + text
    if rng.random() < 0.1:
        text = text[0].upper() + text[1:]
    return text + "." if rng.random() < 0.1 else text


def words():
    """Every word that a caption can contain, sorted."""
    texts = [t for v in (*SETTINGS.values(), *TIMES.values(), *PLACES.values()) for t in v]
    for patterns in (SIDE_BY_SIDE, NO_SIDE, ABOVE, STACKED, BEHIND, WITH_SKY, AT_SEA, OPENINGS):
        texts += [p.format(a="", b="", s="", sky="") for p in patterns]
    nouns = [noun for names in SYNONYMS.values() for noun in names]
    texts += [*nouns, *map(plural, nouns), *PALETTE, *NUMBERS.values()]
    texts += ["a an the grey small big large . , over above sea"]
    return sorted({w.strip(",") or w for t in texts for w in t.split()})


def sheet(pictures, columns):
    """Arrange equal pictures in a grid."""
    rows = [np.concatenate(pictures[i : i + columns], 1) for i in range(0, len(pictures), columns)]
    return np.concatenate(rows)


if __name__ == "__main__":
    import sys

    generator = random.Random(5)
    scenes = [sample(generator) for _ in range(48)]
    for number, item in enumerate(scenes):
        print(number, item.kind, "-", caption(item, generator))
    Image.fromarray(sheet([render(s) for s in scenes], 8)).save(sys.argv[1])
