#!/usr/bin/env python3
"""What `gesso serve` bears, with the model that ships with it: many clients at once, cancelling, models that come and go,
and being killed. Prints a figure a line and ends with an error when one is not what it should be.

  bench/server_load.py [--program build/dev/apps/cli/gesso] [--clients 64] [--seconds 300] [--cycles 1000]
  bench/server_load.py --quick     the same in less than a minute, for tests: figures of time are shown, not judged
"""
import argparse
import base64
import hashlib
import http.client
import json
import os
from pathlib import Path
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "server"))
import serve  # noqa: E402

MODEL = ROOT / "models" / "demo" / "gesso-demo.safetensors"
SMALL = {"width": 64, "height": 64, "steps": 2}
PICTURES = 8  # different ones that the clients ask for
GROWTH = 1.05  # of memory

failures = []


def figure(name, value, good=True, wanted=""):
    print(f"{name:<58} {value}" + ("" if good else f"   WANTED {wanted}"), flush=True)
    if not good:
        failures.append(name)


def request(i):
    return {"prompt": f"a {['red', 'blue', 'green', 'yellow'][i % 4]} {['house', 'car'][i // 4 % 2]}", "seed": i, **SMALL}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def ask_openai(server, i):
    status, _, answer = server.call("POST", "/v1/images/generations", request(i))
    assert status == 200, answer
    return digest(base64.b64decode(answer["data"][0]["b64_json"]))


def ask_sdapi(server, i):
    body = {**request(i), "override_settings": {}}
    status, _, answer = server.call("POST", "/sdapi/v1/txt2img", body)
    assert status == 200, answer
    return digest(base64.b64decode(answer["images"][0]))


def ask_native(server, i):
    status, _, job = server.call("POST", "/api/v1/jobs", request(i))
    assert status == 202, job
    done = server.finished(job["id"])
    assert done["state"] == "completed", done
    data = server.call("GET", done["pictures"][0]["url"])[2]
    assert server.call("DELETE", "/api/v1/jobs/" + job["id"])[0] == 204
    return digest(data)


APIS = ask_openai, ask_sdapi, ask_native


class Health(threading.Thread):
    """Asks for /health all the time."""

    def __init__(self, server):
        super().__init__()
        self.server, self.times, self.memory, self.ending = server, [], [], False

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        while not self.ending:
            start = time.perf_counter()
            connection.request("GET", "/health")
            connection.getresponse().read()
            self.times.append(time.perf_counter() - start)
            self.memory.append(self.server.resident())
            time.sleep(0.02)

    def end(self):
        self.ending = True
        self.join()


def many_clients(server, clients, seconds, judge):
    wanted = {i: ask_openai(server, i) for i in range(PICTURES)}
    wrong, errors, counts = [], [], [0] * clients
    end = time.monotonic() + seconds

    def work(client):
        while time.monotonic() < end:
            i = (client + counts[client]) % PICTURES
            try:
                if APIS[client % len(APIS)](server, i) != wanted[i]:
                    wrong.append(i)
            except Exception as error:  # told below
                errors.append(error)
                return
            counts[client] += 1

    health = Health(server)
    health.start()
    threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    health.end()
    name = f"{clients} clients for {seconds} s: "
    figure(name + "pictures", sum(counts))
    figure(name + "answers that failed", len(errors), not errors, f"0: {errors[:1]}")
    figure(name + "pictures that differ from the serial run", len(wrong), not wrong, "0")
    figure(name + "fewest, most of one client", f"{min(counts)}, {max(counts)}", min(counts) > 0, "all served")
    early = statistics.mean(health.memory[len(health.memory) // 5: len(health.memory) * 2 // 5])
    late = statistics.mean(health.memory[len(health.memory) * 4 // 5:])
    figure(name + "memory at first, at last", f"{early / 1e6:.1f} MB, {late / 1e6:.1f} MB ({late / early - 1:+.1%})",
           late < early * GROWTH, "at most 5% more")
    times = sorted(health.times)
    p99 = times[len(times) * 99 // 100]
    figure(name + "/health p50, p99, worst", f"{1e3 * times[len(times) // 2]:.1f}, {1e3 * p99:.1f}, {1e3 * times[-1]:.1f} ms",
           p99 < 0.05 or not judge, "p99 under 50 ms")
    figure(name + "left in the store", len(server.outputs()), not server.outputs(), "0")


def processor_seconds(pid):
    """Of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def overhead(program, pictures, judge):
    """Painting by the server against painting by the command line, which starts and loads once for all its pictures. On one
    thread, in time of the processor, which holds on a busy machine too."""
    body = {"prompt": "a red house", "seed": 1, "steps": 20 if judge else 2}

    def by_command_line(count):
        with tempfile.TemporaryDirectory() as folder:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([program, "generate", "-m", MODEL, "-p", body["prompt"], "--steps", str(body["steps"]), "-s", "1",
                            "-b", str(count), "-t", "1", "-o", f"{folder}/a.png"], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def by_server(count):
        start = processor_seconds(server.process.pid)
        for i in range(count):
            assert server.call("POST", "/v1/images/generations", {**body, "seed": 1 + i})[0] == 200
        return processor_seconds(server.process.pid) - start

    with serve.Server("-t", "1", models=(), model=MODEL) as server:
        by_server(1)
        ratios = []
        for _ in range(9 if judge else 1):  # turns, since the machine is not always equally fast
            line = by_command_line(1 + pictures) - by_command_line(1)
            ratios.append(by_server(pictures) / line)
    ratio = statistics.median(ratios)
    figure("a picture by the server against the command line", f"{ratio - 1:+.1%}", ratio < 1.05 or not judge, "at most 5% more")


def cancelling(server, rounds, judge):
    body = {"prompt": "a red house", "steps": 200}
    times, steps = [], []
    for _ in range(rounds):
        job = server.call("POST", "/api/v1/jobs", body)[2]["id"]
        events = server.events(f"/api/v1/jobs/{job}/events")
        ticks = []
        for name, data in events:
            if name == "progress" and data["stage"] == "denoise" and data["step"] > 0:
                ticks.append(time.perf_counter())
            if len(ticks) == 10:
                break
        steps += [b - a for a, b in zip(ticks, ticks[1:])]
        start = time.perf_counter()
        server.call("DELETE", "/api/v1/jobs/" + job)
        while server.call("GET", "/health")[2]["running"]:
            pass
        times.append(time.perf_counter() - start)
        events.close()
    step, median = statistics.median(steps), statistics.median(times)
    figure("cancel to idle: median, worst; a step", f"{1e3 * median:.1f}, {1e3 * max(times):.1f} ms; {1e3 * step:.1f} ms",
           median < step or not judge, "under one step")


def cycles(server, count):
    with serve.Server(models=(), model=MODEL) as other:  # nothing else has been painted there
        assert other.call("POST", "/v1/images/generations", request(0))[0] == 200
        kept = other.call("GET", "/api/v1/models")[2]["models"][0]["memory_bytes"]
        before = other.resident()
        other.call("POST", "/sdapi/v1/unload-checkpoint")
        back = before - other.resident()
        figure("weights of a model; memory given back by unloading it", f"{kept / 1e6:.1f}, {back / 1e6:.1f} MB", back > kept / 2,
               "most of it")
    memory = []
    for i in range(count):
        name = ("one", "two")[i % 2]
        assert server.call("POST", f"/api/v1/models/{name}/load")[0] == 200
        body = {**request(i), "model": name, "steps": 1}
        assert server.call("POST", "/v1/images/generations", body)[0] == 200
        status, _, answer = server.call("POST", f"/api/v1/models/{name}/unload")
        assert status == 200 and not answer["loaded"], answer
        memory.append(server.own_memory())
    early, late = statistics.mean(memory[count // 5: count * 2 // 5]), statistics.mean(memory[count * 4 // 5:])
    figure(f"{count} times load, paint, unload: own memory at first, at last",
           f"{early / 1e6:.1f} MB, {late / 1e6:.1f} MB ({late / early - 1:+.1%})", late < early * GROWTH, "at most 5% more")
    names = ("one.safetensors", "two.safetensors")
    loaded = [m["name"] for m in server.call("GET", "/api/v1/models")[2]["models"] if m["loaded"] and m["name"] in names]
    figure("of these models are left loaded", len(loaded), not loaded, "0")


def killing(server, rounds):
    """Clients paint and keep; the process is killed amid it."""
    promised, lost = {}, 0
    for _ in range(rounds):
        gone, before = threading.Event(), len(promised)

        def work(i):
            while not gone.is_set():
                try:
                    job = server.call("POST", "/api/v1/jobs", request(i))[2]["id"]
                    done = server.finished(job)
                    promised[job] = digest(server.call("GET", done["pictures"][0]["url"])[2])
                except (OSError, AssertionError, http.client.HTTPException):
                    return  # it is dead

        threads = [threading.Thread(target=work, args=(i,)) for i in range(PICTURES)]
        for thread in threads:
            thread.start()
        while len(promised) < before + 3:
            time.sleep(0.01)
        server.process.kill()
        gone.set()
        for thread in threads:
            thread.join()
        server.process.communicate()
        server.start()
        for job, wanted in promised.items():
            status, _, data = server.call("GET", f"/api/v1/jobs/{job}/pictures/0")
            lost += status != 200 or digest(data) != wanted
    folder = server.folder / "outputs"
    left = [p.name for p in folder.iterdir() if p.name.startswith(".unfinished")] + [p.name for p in (folder / ".uploads").iterdir()]
    figure(f"killed {rounds} times while painting: results promised, lost", f"{len(promised)}, {lost}", promised and not lost, "none lost")
    figure("files left over from before", len(left), not left, "0")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "dev" / "apps" / "cli" / "gesso"))
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--threads", default="0", help="of the server; 1 where other work keeps the processors busy")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", default="overhead,cancel,clients,cycles,kill", help="which of them (default: all)")
    options = parser.parse_args()
    if options.quick:
        options.clients, options.seconds, options.cycles = 16, 6, 40
    serve.PROGRAM, serve.TIMEOUT = options.program, 900  # a client's turn comes after all others'
    parts, judge = options.parts.split(","), not options.quick
    if "overhead" in parts:
        overhead(options.program, 8 if judge else 4, judge)
    with serve.Server("-t", options.threads, "--queue", str(4 * options.clients), "--max-connections", str(2 * options.clients + 64), models=(),
                      model=MODEL) as server:
        for name in ("one", "two"):
            (server.folder / "models" / f"{name}.safetensors").write_bytes(MODEL.read_bytes())
        server.call("POST", "/api/v1/models/refresh")
        if "cancel" in parts:
            cancelling(server, 20 if judge else 3, judge)
        if "clients" in parts:
            many_clients(server, options.clients, options.seconds, judge)
        if "cycles" in parts:
            cycles(server, options.cycles)
        if "kill" in parts:
            killing(server, 10 if judge else 2)
    if failures:
        sys.exit("not as it should be: " + ", ".join(failures))


if __name__ == "__main__":
    main()
