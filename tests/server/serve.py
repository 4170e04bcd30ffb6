"""Starts `gesso serve` for tests and talks to it, over http.client or a bare socket."""
import http.client
import json
import os
from pathlib import Path
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PROGRAM = os.environ.get("GESSO_SERVER_UNDER_TEST", "")
TIMEOUT = 60  # of everything: only a hanging server reaches it
GIVES_BACK = ("quarantine_size_mb=1", "thread_local_quarantine_size_kb=64", "allocator_release_to_os_interval_ms=0")


class Server:
    """A server of its own folder and port; `with Server("--queue", "2") as server`."""

    def __init__(self, *options, step_ms=0, folder=None, models=("demo.safetensors",), model=None, files={}, measured=False):
        """`models` are dummies for the fake engine; `model` is the file of -m; `files` lie in the server's folder;
        `measured`: its memory is, and a sanitizer gives back what was freed."""
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="gesso serve é模 ")
        self.folder = Path(folder or self._temporary.name)
        for name in models:
            path = self.folder / "models" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"a model")
        (self.folder / "models").mkdir(exist_ok=True)
        for name, text in files.items():
            (self.folder / name).write_text(text)
        self.model = ["-m", str(model)] if model else ["--no-model"]
        self.options = options
        self.cwd = self.folder
        self.environment = {"PATH": os.environ["PATH"], "GESSO_DEMO_MODEL": str(self.folder / "none"),
                            "GESSO_FAKE_STEP_MS": str(step_ms)}
        self.environment.update((k, v) for k, v in os.environ.items() if k.endswith("SAN_OPTIONS"))
        if measured:
            self.environment["ASAN_OPTIONS"] = ":".join([os.environ.get("ASAN_OPTIONS", ""), *GIVES_BACK]).lstrip(":")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=TIMEOUT)
        if self._temporary:
            self._temporary.cleanup()
        if "Sanitizer" in output:
            raise AssertionError(output)

    def start(self, in_child=None):
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", "--outputs", str(self.folder / "outputs"), "--models",
             str(self.folder / "models"), *self.model, *self.options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment, cwd=self.cwd, text=True,
            preexec_fn=in_child)
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if match := re.search(r"serves http://\S+:(\d+)/", line):
                self.port = int(match[1])
                return
        self.process.communicate()
        raise AssertionError("the server did not start: " + "".join(lines))

    def resident(self):
        """Bytes of memory that the server has."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def own_memory(self):
        """Bytes of it that no file stands for: what a leak would grow."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) << 10

    def outputs(self):
        return sorted(p.name for p in (self.folder / "outputs").iterdir() if not p.name.startswith("."))

    def call(self, method, path, body=None, headers=None):
        """(status, headers, body as JSON where it is JSON)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if data and answer.headers.get("Content-Type") == "application/json":
            data = json.loads(data)
        return answer.status, answer.headers, data

    def events(self, path, body=None):
        """Server-sent events of a path, as (name, data); the connection closes with the generator."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        if body is None:
            connection.request("GET", path)
        else:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream", answer.read()
        try:
            name = None
            while line := answer.readline():
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    name = text[7:]
                elif text.startswith("data: "):
                    yield name, json.loads(text[6:])
        finally:
            connection.close()

    def raw(self, data, shut=False):
        """Everything that comes back for these bytes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT) as connection:
            try:
                connection.sendall(data)
                if shut:
                    connection.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it was refused before all was sent; the answer says why
            return read_all(connection)

    def finished(self, job):
        """The job once it is over."""
        for name, data in self.events(f"/api/v1/jobs/{job}/events"):
            if name in ("completed", "failed", "cancelled"):
                return data
        raise AssertionError("the events ended before the job")

    def running(self, job):
        """Returns when the job is being painted; its events go on."""
        events = self.events(f"/api/v1/jobs/{job}/events")
        for name, data in events:
            if data.get("state") == "running" and data.get("step", 0) > 0:
                return events
        raise AssertionError("the job ended")


def read_all(connection):
    data = b""
    try:
        while part := connection.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    return data


def png(width, height, pixel):
    """A PNG whose pixel(x, y) has 3 channels or 4."""
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    kind = {3: 2, 4: 6}[len(pixel(0, 0))]
    chunk = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def pixels(data):
    """Rows of RGB pixels of a PNG that Gesso wrote."""
    assert data.startswith(b"\x89PNG"), data[:20]
    at, idat = 8, b""
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if name == b"IHDR":
            width, height, depth, kind = struct.unpack(">IIBB", body[:10])
            assert (depth, kind) == (8, 2), (depth, kind)
        elif name == b"IDAT":
            idat += body
        at += 12 + size
    raw, rows, before = zlib.decompress(idat), [], bytes(3 * width)
    for y in range(height):
        start = y * (3 * width + 1)
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + 3 * width])
        for i in range(len(row)):  # the filters of RFC 2083, section 6
            left, up, corner = row[i - 3] if i >= 3 else 0, before[i], before[i - 3] if i >= 3 else 0
            near = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(near - v))
            row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append([tuple(row[i:i + 3]) for i in range(0, len(row), 3)])
        before = bytes(row)
    return rows


def form(fields, boundary="xYzZY"):
    """(content type, body) of [(name, file name or None, bytes)]."""
    body = b""
    for name, file, data in fields:
        header = f'Content-Disposition: form-data; name="{name}"' + (f'; filename="{file}"' if file else "")
        body += f"--{boundary}\r\n{header}\r\n\r\n".encode() + data + b"\r\n"
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


class Case(unittest.TestCase):
    def refused(self, server, method, path, body, status, field=None, text="", headers=None):
        got, _, answer = server.call(method, path, body, headers)
        self.assertEqual(got, status, answer)
        error = answer["error"] if isinstance(answer["error"], dict) else answer
        message = error.get("message") or error.get("detail")
        if field is not None:
            self.assertEqual(error.get("field", error.get("param")), field, message)
        self.assertIn(text, message)
        return answer


def main():
    if not PROGRAM:
        sys.exit("GESSO_SERVER_UNDER_TEST names the program to test")
    unittest.main()
