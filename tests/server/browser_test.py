"""The page in a real browser, painting with the demo model: what it does, that it keeps what was typed, that everybody can
read and reach it."""
import base64
import json
import os
from pathlib import Path
import unittest

import chrome
from chrome import CONTROL, ENTER, ESCAPE
from serve import Case, Server, main, pixels

SIDE = 192  # of the demo model's pictures
MODEL = Path(__file__).parents[2] / "models" / "demo" / "gesso-demo.safetensors"
FORGOTTEN = """return new Promise((resolve) => {
  const request = indexedDB.open("gesso", 1);
  request.onsuccess = () => {
    const found = request.result.transaction("kept").objectStore("kept").get("picture");
    found.onsuccess = () => { request.result.close(); resolve(found.result === undefined); };
  };
})"""
PICTURES = "return document.querySelectorAll('#pictures li').length"
SHOTS = os.environ.get("GESSO_SCREENSHOTS")  # a folder: what the tests see is kept there

# Text that is less readable than WCAG 2.1 AA asks for (1.4.3: 4.5, large text 3), from computed styles.
CONTRAST = """
const rgba = (text) => { const c = new OffscreenCanvas(1, 1).getContext("2d"); c.fillStyle = text; c.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = c.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const ground = (e) => { const c = rgba(getComputedStyle(e).backgroundColor);
  return c[3] === 1 ? c : over(c, e.parentElement ? ground(e.parentElement) : [255, 255, 255, 1]); };
const shown = (e) => e.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true }) && e.getBoundingClientRect().width > 1;
const poor = [], seen = [];
const judge = (e, style, what) => {
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const ink = rgba(style.color); ink[3] *= Number(style.opacity);
  const [a, b] = [light(over(ink, ground(e))), light(ground(e))], ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  seen.push(ratio);
  if (ratio < (large ? 3 : 4.5)) poor.push(`${what} ${e.tagName}#${e.id} ${ratio.toFixed(2)}`); };
for (const e of document.querySelectorAll("body *")) {
  if (!shown(e) || e.closest(":disabled")) continue;  // 1.4.3 leaves out what is disabled
  if ([...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.matches("input,select,textarea"))
    judge(e, getComputedStyle(e), "text");
  if (e.placeholder && !e.value) judge(e, getComputedStyle(e, "::placeholder"), "placeholder");
}
return { poor, seen: seen.length, worst: Math.min(...seen) };
"""


@unittest.skipIf(chrome.MISSING, chrome.MISSING)
class Page(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(models=(), model=MODEL)
        cls.server.__enter__()
        cls.browser = chrome.Chrome()
        cls.page = cls.browser.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__(None, None, None)
        cls.server.__exit__(None, None, None)

    def setUp(self):
        for job in self.jobs():
            self.server.call("DELETE", "/api/v1/jobs/" + job["id"])
        while any(job["state"] in ("running", "queued") for job in self.jobs()):
            pass
        self.page.size(1280, 900)
        self.open()
        self.page.run("localStorage.clear(); sessionStorage.clear();"
                      "return new Promise((done) => { indexedDB.deleteDatabase('gesso').onsuccess = done; }).then(() => true)")
        self.open()

    def tearDown(self):
        if SHOTS:
            self.page.screenshot(Path(SHOTS) / f"{self._testMethodName}.png")
        self.assertEqual(self.page.errors(), [])

    def jobs(self):
        return self.server.call("GET", "/api/v1/jobs")[2]["jobs"]

    def open(self):
        self.page.open(f"http://127.0.0.1:{self.server.port}/")
        self.page.wait("return document.getElementById('model').options.length > 1")

    def paint(self, prompt="a red house", steps="2", **fields):
        before = self.page.run(PICTURES)
        self.page.fill("prompt", prompt)
        self.page.fill("steps", steps)
        for name, value in fields.items():
            self.page.fill(name, value)
        self.page.click("generate")
        self.page.wait(PICTURES + " > arguments[0]", before)
        return self.jobs()[0]

    def picture(self, job, index=0):
        return self.server.call("GET", job["pictures"][index]["url"])[2]

    def put_picture(self, name="init.png", prompt="a yellow sun"):
        """Has a picture painted and gives it to the page as a file; returns its bytes."""
        data = self.picture(self.paint(prompt, seed="5"))
        path = self.server.folder / name
        path.write_bytes(data)
        self.page.run("document.getElementById('over').open = true")
        self.page.type("file", str(path))
        self.page.wait("return document.getElementById('init').naturalWidth === arguments[0] && "
                       "!document.getElementById('picture-settings').hidden", SIDE)
        self.page.run("document.getElementById('canvas').scrollIntoView({block: 'center'})")
        return data

    def test_generates(self):
        self.page.type("prompt", "a red house under a yellow sun")
        self.page.fill("steps", "3")
        self.page.fill("batch_count", "2")
        self.page.press(CONTROL, ENTER)
        self.page.wait(PICTURES + " == 2")
        self.page.wait("return [...document.querySelectorAll('#latest img')].map((i) => i.naturalWidth).join() === arguments[0]",
                       f"{SIDE},{SIDE}")
        self.assertTrue(self.page.text("status").startswith("painted in"))
        job = self.jobs()[0]
        self.assertEqual((job["request"]["prompt"], job["request"]["steps"], len(job["pictures"])),
                         ("a red house under a yellow sun", 3, 2))
        self.assertEqual(self.page.value("seed"), str(job["request"]["seed"]))
        self.page.wait("return !document.getElementById('unload').hidden")
        self.assertRegex(self.page.text("model-state"), r"^loaded, \d+ MiB$")
        self.page.click("unload")
        self.page.wait("return document.getElementById('unload').hidden")
        self.assertFalse(self.server.call("GET", "/api/v1/models")[2]["models"][0]["loaded"])

    def test_progress_and_cancel(self):
        self.page.type("prompt", "a red house")
        self.page.fill("steps", "200")
        self.page.click("generate")
        self.page.click("generate")  # a second one waits
        self.page.wait("return document.getElementById('bar').value > 0.01")
        self.assertRegex(self.page.wait("return (/step [0-9]+ of 200, .* left/.exec(document.getElementById('what').textContent))?.[0]"), "left")
        self.page.wait("return document.getElementById('what').textContent.includes('1 more behind it')")
        self.page.press(ESCAPE)
        self.page.wait("return document.getElementById('status').textContent === 'cancelled' && document.getElementById('cancel-all').hidden")
        self.page.wait("return document.getElementById('bar').value > 0")
        self.page.click("cancel")
        self.page.wait("return document.getElementById('work').hidden")
        self.assertEqual([job["state"] for job in self.jobs()], ["cancelled"] * 2)
        self.assertEqual(self.page.run(PICTURES), 0)

    def test_the_place_in_the_queue(self):
        first = self.server.call("POST", "/api/v1/jobs", {"prompt": "x", "steps": 200})[2]["id"]
        self.page.type("prompt", "a red house")
        self.page.fill("steps", "1")
        self.page.click("generate")
        self.page.wait("return document.getElementById('what').textContent === '1 job before this one'")
        self.server.call("DELETE", "/api/v1/jobs/" + first)
        self.page.wait(PICTURES + " == 1")

    def test_paints_only_where_the_brush_was(self):
        before = pixels(self.put_picture())
        width = self.page.run("return document.getElementById('mask').getBoundingClientRect().width")
        self.page.drag("mask", [(-0.3 * width, -0.2 * width), (0, -0.2 * width), (0.1 * width, -0.25 * width)])
        self.assertEqual(self.page.text("mask-note"), "Only the painted part changes.")
        after = pixels(self.picture(self.paint("a green tree", "4", mask_blur="0")))
        changed = {(x, y) for y in range(SIDE) for x in range(SIDE) if before[y][x] != after[y][x]}
        radius = 40 / 400 / 2 * SIDE + 2  # of the brush, and a pixel or two of its soft edge
        near = [(SIDE * (0.5 - 0.3 + 0.01 * i), SIDE * 0.3) for i in range(31)] + [
            (SIDE * (0.5 + 0.01 * i), SIDE * (0.3 - 0.005 * i)) for i in range(11)]
        self.assertGreater(len(changed), 500)
        for x, y in changed:
            self.assertTrue(any((x + 0.5 - a) ** 2 + (y + 0.5 - b) ** 2 <= radius**2 for a, b in near), (x, y))
        self.page.click("undo")
        self.assertEqual(self.page.text("mask-note"), "Paint on the picture to change only a part of it.")

    def test_paints_with_the_keyboard_and_erases(self):
        self.put_picture()
        inked = ("const m = document.getElementById('mask'), d = m.getContext('2d').getImageData(0, 0, m.width, m.height).data;"
                 "return d.filter((v, i) => i % 4 === 3 && v > 0).length")
        self.page.run("document.getElementById('mask').focus()")
        self.page.press("\ue014")  # right
        self.page.press(" ")
        one = self.page.run(inked)
        self.assertGreater(one, 200)
        self.page.click("erase")
        self.page.run("document.getElementById('mask').focus()")
        self.page.press(" ")
        self.assertLess(self.page.run(inked), one / 4)  # the edge is soft
        self.page.click("clear")
        self.assertEqual(self.page.run(inked), 0)

    def test_reload_keeps_everything(self):
        self.put_picture()
        self.page.drag("mask", [(-40, -40), (40, 40)])
        wanted = {"prompt": "a blue car", "negative_prompt": "rain", "width": "192", "height": "256", "steps": "7", "cfg_scale": "3.5",
                  "seed": "99", "batch_count": "2", "strength": "0.6", "x-values": "1,2"}
        self.page.run("document.getElementById('grid').open = true")
        for name, value in wanted.items():
            self.page.fill(name, value)
        for name, value in {"sampling_method": "heun", "scheduler": "karras", "inpaint_area": "masked", "theme": "dark", "x-axis": "seed"}.items():
            self.page.select(name, value)
            wanted[name] = value
        self.page.run("document.getElementById('lock').click()")
        self.page.fill("steps", "200")
        wanted["steps"] = "200"
        self.page.click("generate")
        self.page.wait("return !document.getElementById('work').hidden && document.getElementById('bar').value > 0")
        self.open()
        self.assertEqual({name: self.page.value(name) for name in wanted}, wanted)
        self.assertTrue(self.page.run("return document.getElementById('lock').checked && document.getElementById('over').open"))
        self.page.wait("return document.getElementById('mask-note').textContent === 'Only the painted part changes.'")
        self.assertEqual(self.page.run("return document.getElementById('init').naturalWidth"), SIDE)
        self.page.wait("return !document.getElementById('work').hidden && document.getElementById('bar').value > 0")
        self.page.click("cancel")
        self.page.wait("return document.getElementById('work').hidden")
        self.page.click("remove")
        self.page.wait(FORGOTTEN)  # the browser's store works while the page goes on
        self.open()
        self.page.wait("return !document.getElementById('drop').hidden")

    def test_settings_come_from_pictures(self):
        job = self.paint("a blue car at night", "3", seed="12", cfg_scale="3", negative_prompt="rain")
        self.open()
        for name in ("prompt", "seed", "cfg_scale", "negative_prompt"):
            self.page.fill(name, "1")
        self.page.run("document.querySelector('#pictures button').click()")
        self.page.wait("return document.getElementById('viewer').open")
        self.assertIn("Steps: 3", self.page.text("recipe"))
        self.page.click("use")
        shown = [self.page.value(name) for name in ("prompt", "steps", "cfg_scale", "negative_prompt", "seed")]
        self.assertEqual(shown[:4], ["a blue car at night", "3", "3", "rain"])
        self.assertEqual(int(shown[4]), job["pictures"][0]["seed"])
        self.assertTrue(self.page.run("return document.getElementById('lock').checked"))
        again = self.page.run(PICTURES)
        self.page.click("generate")
        self.page.wait(PICTURES + " > arguments[0]", again)
        self.assertEqual(pixels(self.picture(self.jobs()[0])), pixels(self.picture(job)))

    def test_settings_come_from_a_dropped_picture(self):
        text = "a white boat\nNegative prompt: fog\nSteps: 6, Sampler: DPM++ 2M Karras, CFG scale: 5.5, Seed: 77, Size: 256x192, Model: other"
        data = self.picture(self.paint())
        where = data.index(b"iTXt") - 4
        end = where + 12 + int.from_bytes(data[where:where + 4], "big")
        while data[end + 4:end + 8] == b"iTXt":
            end += 12 + int.from_bytes(data[end:end + 4], "big")
        import zlib
        chunk = b"tEXtparameters\0" + text.encode()
        foreign = data[:where] + (len(chunk) - 4).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big") + data[end:]
        self.page.run("""
            const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0)), transfer = new DataTransfer();
            transfer.items.add(new File([bytes], "a.png", { type: "image/png" }));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));""",
                      base64.b64encode(foreign).decode())
        self.page.wait("return !document.getElementById('picture-settings').hidden")
        self.page.click("picture-settings")
        wanted = {"prompt": "a white boat", "negative_prompt": "fog", "steps": "6", "sampling_method": "dpm++2m", "scheduler": "karras",
                  "cfg_scale": "5.5", "seed": "77", "width": "256", "height": "192", "model": ""}
        self.assertEqual({name: self.page.value(name) for name in wanted}, wanted)

    def test_a_pasted_picture_and_one_that_is_none(self):
        paste = """
            const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0)), transfer = new DataTransfer();
            transfer.items.add(new File([bytes], "a", { type: "image/png" }));
            document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));"""
        self.page.run(paste, base64.b64encode(b"no picture").decode())
        self.page.wait("return document.getElementById('error').textContent.includes('no picture')")
        self.page.run(paste, base64.b64encode(self.picture(self.paint())).decode())
        self.page.wait("return !document.getElementById('easel').hidden")

    def test_grids(self):
        self.page.type("prompt", "a red house")
        self.page.run("document.getElementById('grid').open = true")
        self.page.select("x-axis", "steps")
        self.page.fill("x-values", "1-3 (+2), 4")
        self.page.select("y-axis", "prompt")
        self.page.fill("y-values", "red, blue")
        self.page.click("paint-grid")
        self.page.wait("return [...document.querySelectorAll('table.grid img')].filter((i) => i.naturalWidth === 192).length == 6")
        self.assertEqual(self.page.run("return [...document.querySelectorAll('table.grid th')].map((e) => e.textContent)"),
                         ["steps 1", "steps 3", "steps 4", "red", "blue"])
        requests = [job["request"] for job in reversed(self.jobs())]
        self.assertEqual([(r["steps"], r["prompt"]) for r in requests],
                         [(s, f"a {c} house") for c in ("red", "blue") for s in (1, 3, 4)])
        self.assertEqual(len({r["seed"] for r in requests}), 1)
        for values, message in (("x", "numbers"), ("1", "one picture"), ("1-200", "too many")):
            self.page.select("y-axis", "")
            self.page.fill("x-values", values)
            self.page.click("paint-grid")
            self.page.wait("return document.getElementById('error').textContent.includes(arguments[0])", message)

    def test_counts_tokens(self):
        self.page.type("prompt", "a red house")
        self.page.wait("return document.getElementById('prompt-count').textContent === '3 / 75 tokens'")
        self.page.fill("negative_prompt", "rain " * 80)
        self.page.wait("return document.getElementById('negative_prompt-count').textContent === '80 tokens, 2 × 75'")

    def test_errors_point_at_their_field(self):
        self.page.type("prompt", "a red house")
        self.page.fill("width", "100")
        self.page.click("generate")
        self.page.wait("return document.getElementById('width').getAttribute('aria-invalid') === 'true'")
        self.assertIn("multiple", self.page.text("error"))
        self.assertEqual(self.page.run("return document.activeElement.id"), "width")
        self.assertIn("400", "".join(self.page.errors()))  # the browser's own line about the answer, and nothing else

    def test_the_viewer(self):
        for seed in ("1", "2"):
            self.paint(seed=seed)
        self.page.run("document.querySelector('#latest button').click()")
        self.page.wait("return document.getElementById('viewer').open && document.getElementById('large').naturalWidth > 0")
        first = self.page.run("return document.getElementById('large').src")
        self.page.press("\ue014")  # right: older
        self.assertNotEqual(self.page.run("return document.getElementById('large').src"), first)
        self.page.click("delete")
        self.page.wait(PICTURES + " == 1")
        self.assertEqual(self.page.run("return document.getElementById('large').src"), first)
        self.page.click("paint-over")
        self.page.wait("return !document.getElementById('easel').hidden && !document.getElementById('viewer').open")

    def test_a_key(self):
        with Server("--api-key-file", "keys", models=(), model=MODEL, files={"keys": "a-key-of-sixteen-characters\n"}) as server:
            self.page.open(f"http://127.0.0.1:{server.port}/")
            self.page.wait("return document.getElementById('gate').open")
            self.page.type("key", "a-key-of-sixteen-characters" + ENTER)
            self.page.wait("return document.getElementById('model').options.length > 1")
            self.page.type("prompt", "a red house")
            self.page.fill("steps", "1")
            self.page.click("generate")
            self.page.wait("return document.querySelector('#latest img')?.naturalWidth > 0")
            self.assertIn("401", "".join(self.page.errors()))

    def everything_open(self):
        """The page with all of it unfolded: pictures, the mask, a grid, an error."""
        self.put_picture()
        self.page.run("document.getElementById('grid').open = true")
        self.page.select("x-axis", "steps")
        self.page.fill("x-values", "1,2,3")
        self.page.click("paint-grid")
        self.page.wait("return document.querySelectorAll('table.grid img').length == 3")
        self.page.run("const e = document.getElementById('error'); e.hidden = false; e.textContent = 'Something is ' + 'wrong'.repeat(40)")

    def test_fits_a_phone(self):
        self.everything_open()
        for width in (320, 360, 412):
            self.page.size(width, 740, phone=True)
            for dialog in (None, "viewer", "gate"):
                if dialog == "viewer":
                    self.page.run("document.querySelector('#pictures button').click()")
                elif dialog:
                    self.page.run("document.getElementById(arguments[0]).showModal()", dialog)
                wide = self.page.run("""
                    const cut = [...document.querySelectorAll("button, input, select, textarea, a, h1, p, label")].filter((e) => {
                      const box = e.getBoundingClientRect(), name = e.id || e.textContent;
                      return box.width > 1 && !e.closest("table") && (box.right > innerWidth + 1 || box.left < -1); });
                    return [document.documentElement.scrollWidth - innerWidth, ...cut.map((e) => e.id || e.textContent)];""")
                self.assertEqual(wide, [0], (width, dialog))
                if SHOTS:
                    self.page.screenshot(Path(SHOTS) / f"phone-{width}-{dialog}.png")
                if dialog:
                    self.page.run("document.getElementById(arguments[0]).close()", dialog)
        small = self.page.run("""
            return [...document.querySelectorAll("button:not(.link), select, input:not([type=checkbox])")].filter((e) => {
              const box = e.getBoundingClientRect(); return box.width > 1 && (box.width < 24 || box.height < 24); }).map((e) => e.id)""")
        self.assertEqual(small, [])  # WCAG 2.2, 2.5.8

    def test_everything_has_a_name(self):
        self.everything_open()
        roles = {"button", "textbox", "combobox", "listbox", "spinbutton", "checkbox", "slider", "link", "image", "progressbar", "dialog",
                 "form", "DisclosureTriangle"}
        self.page.run("document.getElementById('work').hidden = false")
        for dialog in (None, "viewer", "gate"):
            if dialog == "viewer":
                self.page.run("document.querySelector('#pictures button').click()")
            elif dialog:
                self.page.run("document.getElementById(arguments[0]).showModal()", dialog)
            nodes = [n for n in self.page.command("Accessibility.getFullAXTree")["nodes"]
                     if not n.get("ignored") and n["role"]["value"] in roles]
            nameless = [n for n in nodes if not n.get("name", {}).get("value", "").strip()]
            self.assertEqual([json.dumps(n)[:400] for n in nameless if not decorative(n)], [], dialog)
            self.assertGreater(len(nodes), {None: 40, "viewer": 8, "gate": 3}[dialog])
            if dialog:
                self.page.run("document.getElementById(arguments[0]).close()", dialog)

    def test_can_be_read_in_the_dark_and_in_the_light(self):
        self.everything_open()
        self.page.run("document.getElementById('work').hidden = false; document.getElementById('what').textContent = 'painting'")
        grounds = set()
        for theme, system in (("light", "dark"), ("dark", "light"), ("", "light"), ("", "dark")):
            self.page.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": system}])
            self.page.select("theme", theme)
            for dialog in (None, "viewer", "gate"):
                if dialog == "viewer":
                    self.page.run("document.querySelector('#pictures button').click()")
                elif dialog:
                    self.page.run("document.getElementById(arguments[0]).showModal()", dialog)
                found = self.page.run(CONTRAST)
                self.assertEqual(found["poor"], [], (theme, system, dialog))
                self.assertGreater(found["seen"], 40)
                if dialog:
                    self.page.run("document.getElementById(arguments[0]).close()", dialog)
            grounds.add((theme or system, self.page.run("return getComputedStyle(document.body).backgroundColor")))
        self.assertEqual(len(grounds), 2, grounds)
        self.page.command("Emulation.setEmulatedMedia", features=[])

    def test_the_keyboard_reaches_everything(self):
        self.page.run("document.getElementById('grid').open = document.getElementById('over').open = true; document.body.focus()")
        wanted = set(self.page.run("""
            return [...document.querySelectorAll("button, input, select, textarea, summary")].filter((e) => e.checkVisibility()
              && !e.disabled && !e.closest("dialog")).map((e) => e.id || e.textContent)"""))
        reached = set()
        for _ in range(len(wanted) + 10):
            self.page.press("\ue004")  # tab
            reached.add(self.page.run("const e = document.activeElement; return e.id || e.textContent"))
        self.assertEqual(wanted - reached, set())

    def test_nothing_comes_from_elsewhere(self):
        loaded = self.page.run("return performance.getEntriesByType('resource').map((e) => new URL(e.name).origin)")
        self.assertEqual(set(loaded), {f"http://127.0.0.1:{self.server.port}"})
        refused = self.page.run("""
            const script = document.createElement("script"); script.textContent = "window.ran = true"; document.head.append(script);
            return window.ran !== true""")
        self.assertTrue(refused)
        self.assertIn("Content Security Policy", "".join(self.page.errors()))


def decorative(node):
    """An image whose alt is empty on purpose: the logo beside its name."""
    return node["role"]["value"] == "image" and not node.get("name", {}).get("value")


if __name__ == "__main__":
    main()
