"""A headless Chromium, driven through chromedriver: as much of https://www.w3.org/TR/webdriver2/ as the tests need."""
import base64
import http.client
import json
import os
from pathlib import Path
import shutil
import subprocess
import tempfile
import time

TIMEOUT = 60  # of everything: only a hanging page reaches it
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key under which the standard has a reference to an element
CONTROL, ENTER, ESCAPE = "\ue009", "\ue007", "\ue00c"

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = None if BROWSER and DRIVER else (
    "Chromium and chromedriver are not installed; `tools/install_dependencies.sh ci` installs them")


class Chrome:
    """`with Chrome() as page: page.open(url)`"""

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="gesso-chrome-")
        environment = {**os.environ, "HOME": self._folder.name}
        self._driver = subprocess.Popen([DRIVER, "--port=0", "--log-level=SEVERE"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment, text=True)
        for line in self._driver.stdout:
            if "started successfully on port " in line:
                self._port = int(line.rsplit("on port ", 1)[1].rstrip(".\n"))
                break
        # As root Chromium runs only without its sandbox, which a page of our own does not need; a container has little
        # in /dev/shm.
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,900",
                     "--force-color-profile=srgb", "--hide-scrollbars", f"--user-data-dir={self._folder.name}/profile"]
        wanted = {"goog:chromeOptions": {"binary": BROWSER, "args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = "/session/" + answer["sessionId"]
        self.command("Network.enable")
        return self

    def __exit__(self, *_):
        try:
            self._call("DELETE", self._session)
        finally:
            self._driver.terminate()
            self._driver.communicate(timeout=TIMEOUT)
            self._folder.cleanup()

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT)
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise AssertionError(f"{value['error']}: {value['message'][:1000]}")
        return value

    def _do(self, path, body):
        return self._call("POST", self._session + path, body)

    def command(self, name, **parameters):
        """A command of the DevTools protocol."""
        return self._do("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, url):
        self._do("/url", {"url": url})

    def run(self, script, *arguments):
        """What a function of this body returns; a promise is awaited."""
        return self._do("/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments):
        """Returns what the script does as soon as that is true."""
        end = time.monotonic() + TIMEOUT
        while not (value := self.run(script, *arguments)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {script}; the page says {self.text('error')!r}, {self.text('status')!r}")
            time.sleep(0.02)
        return value

    def find(self, id):
        return self._do("/element", {"using": "css selector", "value": "#" + id})[ELEMENT]

    def text(self, id):
        return self.run("return document.getElementById(arguments[0])?.textContent.trim()", id)

    def value(self, id):
        return self.run("return document.getElementById(arguments[0]).value", id)

    def click(self, id):
        self.run("document.getElementById(arguments[0]).scrollIntoView({block: 'center'})", id)
        self._do(f"/element/{self.find(id)}/click", {})

    def type(self, id, text):
        self._do(f"/element/{self.find(id)}/value", {"text": text})

    def fill(self, id, text):
        """As type(), in place of what is there."""
        self._do(f"/element/{self.find(id)}/clear", {})
        self.type(id, text)

    def select(self, id, value):
        self.run("const s = document.getElementById(arguments[0]); s.value = arguments[1];"
                 "for (const e of ['input', 'change']) s.dispatchEvent(new Event(e, {bubbles: true}))", id, value)

    def press(self, *keys):
        """Keys held down together."""
        actions = [{"type": "keyDown", "value": key} for key in keys] + [{"type": "keyUp", "value": key} for key in keys[::-1]]
        self._do("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def drag(self, id, points):
        """The pointer goes down at the first point and up at the last; pixels from the element's middle."""
        origin = {ELEMENT: self.find(id)}
        moves = [{"type": "pointerMove", "duration": 20, "origin": origin, "x": x, "y": y} for x, y in points]
        actions = moves[:1] + [{"type": "pointerDown", "button": 0}] + moves[1:] + [{"type": "pointerUp", "button": 0}]
        self._do("/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                                           "actions": actions}]})

    def size(self, width, height, phone=False):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def screenshot(self, path, full=False):
        shot = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def errors(self):
        """What the console complained about since the last call."""
        return [entry["message"] for entry in self._do("/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]
