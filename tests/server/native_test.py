"""/api/v1 and what holds for every API: jobs, results, models, keys, the end of the process."""
import base64
import hashlib
import json
from pathlib import Path
import signal
import threading
import unittest

from serve import Case, Server, main, pixels, png

WEB = Path(__file__).parents[2] / "apps" / "server" / "web"
PNG = b"\x89PNG\r\n\x1a\n"
LONG = {"prompt": "long", "steps": 150}


class Jobs(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(models=("demo.safetensors", "more/other.safetensors"))
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def test_from_request_to_picture(self):
        status, headers, job = self.server.call("POST", "/api/v1/jobs", {"prompt": "a house", "seed": 7, "batch_count": 2})
        self.assertEqual((status, headers["Location"]), (202, "/api/v1/jobs/" + job["id"]))
        names, done = [], None
        for name, data in self.server.events(headers["Location"] + "/events"):
            names.append(name)
            done = data
        self.assertEqual(names[-1], "completed")
        self.assertEqual(done["state"], "completed")
        self.assertEqual([p["seed"] for p in done["pictures"]], [7, 8])
        self.assertEqual((done["request"]["steps"], done["request"]["model"]), (4, "demo.safetensors"))
        self.assertNotIn(str(self.server.folder), json.dumps(done))
        self.assertEqual(self.server.call("GET", headers["Location"])[2], done)
        for picture in done["pictures"]:
            status, headers, data = self.server.call("GET", picture["url"])
            self.assertEqual((status, headers["Content-Type"], data[:8]), (200, "image/png", PNG))
            self.assertIn(b"iTXtparameters", data)

    def test_previews_come_with_the_events(self):
        with Server(step_ms=100) as server:  # so that the events are heard from the first step on
            job = server.call("POST", "/api/v1/jobs", {"prompt": "x", "steps": 6, "preview": "proj", "preview_interval": 2})[2]
            heard = list(server.events(f"/api/v1/jobs/{job['id']}/events"))
            previews = [data for name, data in heard if name == "preview"]
            self.assertEqual([(p["picture"], p["step"], p["steps"]) for p in previews], [(0, 2, 6), (0, 4, 6), (0, 6, 6)])
            for preview in previews:
                kind, data = preview["image"].split(",")
                self.assertEqual(kind, "data:image/png;base64")
                rows = pixels(base64.b64decode(data))
                self.assertEqual((len(rows[0]), len(rows)), (preview["width"], preview["height"]))
                self.assertEqual(rows[0][0], (255 * preview["step"] // 6,) * 3)
            self.assertEqual(heard[-1][0], "completed")
            self.assertNotIn("image", heard[-1][1])
            job = server.call("POST", "/api/v1/jobs", {"prompt": "x", "steps": 6})[2]
            self.assertNotIn("preview", [name for name, _ in server.events(f"/api/v1/jobs/{job['id']}/events")])
        self.assertTrue(self.server.call("GET", "/api/v1/capabilities")[2]["features"]["previews"])
        self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "x", "preview": "oil"}, 400, "preview", "proj")
        self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "x", "preview_interval": 0}, 400, "preview_interval")

    def test_formats(self):
        for name, kind, start in (("jpeg", "image/jpeg", b"\xff\xd8"), ("webp", "image/webp", b"RIFF")):
            job = self.server.call("POST", f"/api/v1/jobs?format={name}&quality=90", {"prompt": "x"})[2]
            picture = self.server.finished(job["id"])["pictures"][0]
            _, headers, data = self.server.call("GET", picture["url"])
            self.assertEqual(headers["Content-Type"], kind)
            self.assertTrue(data.startswith(start))
        self.refused(self.server, "POST", "/api/v1/jobs?format=gif", {"prompt": "x"}, 400, "format")
        self.refused(self.server, "POST", "/api/v1/jobs?quality=0", {"prompt": "x"}, 400, "quality")

    def test_lists_newest_first_and_deletes(self):
        ids = []
        for i in range(4):
            ids.append(self.server.call("POST", "/api/v1/jobs", {"prompt": f"list {i}"})[2]["id"])
            self.server.finished(ids[-1])
        page = self.server.call("GET", "/api/v1/jobs?limit=2")[2]
        self.assertEqual([job["id"] for job in page["jobs"]], ids[:1:-1])
        page = self.server.call("GET", f"/api/v1/jobs?limit=2&before={page['next']}")[2]
        self.assertEqual([job["id"] for job in page["jobs"]], ids[1::-1])
        self.assertEqual(self.server.call("DELETE", "/api/v1/jobs/" + ids[3])[0], 204)
        for path in ("", "/events", "/pictures/0"):
            self.refused(self.server, "GET", f"/api/v1/jobs/{ids[3]}{path}", None, 404)
        self.assertNotIn(ids[3], self.server.outputs())
        self.refused(self.server, "DELETE", "/api/v1/jobs/" + ids[3], None, 404)
        self.refused(self.server, "GET", "/api/v1/jobs?limit=0", None, 400, "limit")
        self.refused(self.server, "GET", "/api/v1/jobs?colour=red", None, 400, "colour")

    def test_bad_requests_name_the_field(self):
        for body, field, text in (
                ({}, "prompt", "missing"), ({"prompt": 5}, "prompt", "a text"), ({"prompt": " "}, "prompt", "blank"),
                ({"prompt": "x", "width": 63}, "width", "64"), ({"prompt": "x", "width": "wide"}, "width", "found"),
                ({"prompt": "x", "height": 1e300}, "height", ""), ({"prompt": "x", "steps": 0}, "steps", ""),
                ({"prompt": "x", "steps": 201}, "steps", "200"),
                ({"prompt": "x", "sigmas": ",".join(str(300 - i) for i in range(202))}, "sigmas", "200"),
                ({"prompt": "x", "batch_count": 17}, "batch_count", "16"),
                ({"prompt": "x", "width": 8192, "height": 8192}, "width", "pixels"), ({"prompt": "x", "width": 8192}, "width", ""),
                ({"prompt": "x", "sampling_method": "nope"}, "sampling_method", "euler"),
                ({"prompt": "x", "scheduler": "nope"}, "scheduler", "karras"), ({"prompt": "x", "threads": 4}, "threads", ""),
                ({"prompt": "x", "memory": "1GiB"}, "memory", ""), ({"prompt": "x", "colour": "red"}, "colour", "unknown")):
            self.refused(self.server, "POST", "/api/v1/jobs", body, 400, field, text)

    def test_bodies_that_are_no_request(self):
        for body in (b"", b"[]", b"null", b"{", b'{"prompt": "x"} x', b'{"prompt": "\xff"}', b'{"a":' * 5000,
                     b'{"prompt": "x", "prompt": "y"}', b'{"prompt": "x", "steps": 1e999}', b"\0"):
            self.refused(self.server, "POST", "/api/v1/jobs", body, 400, headers={"Content-Type": "application/json"})
        self.refused(self.server, "POST", "/api/v1/jobs", b'{"prompt":"x"}', 415, headers={"Content-Type": "text/plain"})

    def test_models_are_names_and_no_paths(self):
        names = [m["name"] for m in self.server.call("GET", "/api/v1/models")[2]["models"]]
        self.assertEqual(names, ["demo.safetensors", "more/other.safetensors"])
        for name in ("other", "other.safetensors", "more/other", "more/other.safetensors"):
            job = self.server.call("POST", "/api/v1/jobs", {"prompt": "x", "model": name})[2]
            self.assertEqual(self.server.finished(job["id"])["request"]["model"], "more/other.safetensors")
        outside = self.server.folder / "outside.safetensors"
        outside.write_bytes(b"secret")
        link = self.server.folder / "models" / "link.safetensors"
        link.symlink_to(outside)
        self.server.call("POST", "/api/v1/models/refresh")
        for name in ("nope", "../outside.safetensors", str(outside), "/etc/passwd", "link.safetensors", "..\\outside", "."):
            answer = self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "x", "model": name}, 404, "model")
            self.assertIn("more/other.safetensors", answer["error"]["message"])
        self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "x", "vae": "../outside.safetensors"}, 404, "vae")
        link.unlink()
        for field in ("init_image", "mask_image"):  # pictures are not taken from the server's own files
            for name in ("/etc/hostname", "/etc/hostnam", "x", 5, ["/etc/hostname"]):
                self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "x", field: name}, 400, field)
        self.assertEqual(self.server.call("GET", "/api/v1/models/inspect?name=other")[2]["family"], "fake")

    def models(self):
        return {m["name"]: m for m in self.server.call("GET", "/api/v1/models")[2]["models"]}

    def test_models_are_loaded_and_unloaded(self):
        self.server.call("POST", "/sdapi/v1/unload-checkpoint")
        self.assertEqual([m["loaded"] for m in self.models().values()], [False, False])
        for name in ("more/other.safetensors", "more%2Fother.safetensors", "other"):
            status, _, answer = self.server.call("POST", f"/api/v1/models/{name}/load")
            self.assertEqual((status, answer["name"], answer["loaded"]), (200, "more/other.safetensors", True), answer)
        self.assertEqual([m["loaded"] for m in self.models().values()], [False, True])
        self.server.finished(self.server.call("POST", "/api/v1/jobs", {"prompt": "x"})[2]["id"])
        self.assertEqual([m["loaded"] for m in self.models().values()], [True, True])
        status, _, answer = self.server.call("POST", "/api/v1/models/demo/unload")
        self.assertEqual((status, answer["loaded"]), (200, False))
        self.assertEqual([m["loaded"] for m in self.models().values()], [False, True])
        self.assertRegex(self.server.call("GET", "/metrics")[2].decode(), r"(?m)^gesso_models_loaded 1$")
        for what in ("load", "unload"):
            self.refused(self.server, "POST", f"/api/v1/models/nope/{what}", None, 404, "name", "demo.safetensors")
            self.refused(self.server, "POST", f"/api/v1/models/../outside/{what}", None, 404, "name")
        self.refused(self.server, "POST", "/api/v1/models//load", None, 404)

    def test_kinds_of_models(self):
        with Server(models=("demo.safetensors", "vae/fine vae.safetensors")) as server:
            models = server.call("GET", "/api/v1/models")[2]["models"]
            self.assertEqual([(m["name"], m["kind"]) for m in models],
                             [("demo.safetensors", "checkpoint"), ("vae/fine vae.safetensors", "vae")])
            self.assertEqual([m["title"] for m in server.call("GET", "/sdapi/v1/sd-models")[2]], ["demo.safetensors"])
            self.assertEqual(server.call("GET", "/sdapi/v1/sd-vae")[2],
                             [{"model_name": "vae/fine vae.safetensors", "filename": "vae/fine vae.safetensors"}])

    def test_a_model_that_nobody_uses_is_closed(self):
        with Server("--idle-unload", "0.005") as server:
            server.call("POST", "/api/v1/models/demo/load")
            while server.call("GET", "/api/v1/models")[2]["models"][0]["loaded"]:
                pass

    def test_tokens_are_counted(self):
        status, _, counts = self.server.call("POST", "/api/v1/tokens", {"prompt": "house", "negative_prompt": "é", "model": "other"})
        self.assertEqual(status, 200, counts)
        self.assertEqual(counts["prompt"], [{"encoder": "fake", "tokens": 5, "room": 75, "chunks": 1}])
        self.assertEqual(counts["negative_prompt"][0]["tokens"], 2)
        self.assertEqual(self.server.call("POST", "/api/v1/tokens", {})[2]["prompt"][0]["tokens"], 0)
        for body, status, field in (({"prompt": 5}, 400, "prompt"), ({"steps": 5}, 400, "steps"), ({"model": "../x"}, 404, "model")):
            self.refused(self.server, "POST", "/api/v1/tokens", body, status, field)

    def test_no_path_of_this_computer_leaves_it(self):
        with Server(step_ms=20) as server:
            path = server.folder / "models" / "demo.safetensors"
            first = server.call("POST", "/api/v1/jobs", LONG)[2]["id"]
            for start in ("fail bad_file", "message"):
                job = server.call("POST", "/api/v1/jobs", {"prompt": f"{start} '{path}' is damaged", "steps": 1})[2]["id"]
                events = server.events(f"/api/v1/jobs/{job}/events")
                next(events)  # it waits
                server.call("DELETE", "/api/v1/jobs/" + first)
                texts = [data.get("text") or data.get("error", {}).get("message") for _, data in events]
                self.assertIn("'demo.safetensors' is damaged", texts)
                first = server.call("POST", "/api/v1/jobs", LONG)[2]["id"]
            server.call("DELETE", "/api/v1/jobs/" + first)

    def test_what_is_being_cancelled_has_no_result(self):
        told = 0
        for i in range(150):
            job = self.server.call("POST", "/api/v1/jobs", {"prompt": f"late {i}", "steps": 1 + i % 3})[2]["id"]
            if self.server.call("DELETE", "/api/v1/jobs/" + job)[0] == 202:
                told += 1
                self.assertEqual(self.server.finished(job)["state"], "cancelled")
            self.assertNotIn(job, self.server.outputs())
        self.assertGreater(told, 0)

    def test_failures_have_their_reason(self):
        for code, text in (("numeric", "the decoder gave NaN"), ("bad_file", "damaged"), ("internal", "oh")):
            job = self.server.call("POST", "/api/v1/jobs", {"prompt": f"fail {code} {text}"})[2]
            done = self.server.finished(job["id"])
            self.assertEqual((done["state"], done["error"]), ("failed", {"code": code, "message": text, "field": None}))
            self.assertEqual(self.server.call("DELETE", "/api/v1/jobs/" + job["id"])[0], 204)
        job = self.server.call("POST", "/api/v1/jobs", {"prompt": "throw"})[2]
        self.assertEqual(self.server.finished(job["id"])["error"]["code"], "internal")
        self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "<lora:../../x:1>"}, 501)

    def test_what_only_the_command_line_does(self):
        self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "x", "grid": "steps=1,2"}, 501, "grid")
        self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "__a__", "wildcards": "/etc"}, 400, "wildcards")

    def test_pictures_come_in_base64_and_leave_nothing(self):
        text = base64.b64encode(png(128, 64, lambda x, y: (x, y, 7))).decode()
        mask = base64.b64encode(png(128, 64, lambda x, y: (255 * (x >= 64),) * 3)).decode()
        body = {"prompt": "x", "init_image": "data:image/png;base64," + text, "mask_image": mask, "mask_blur": 0,
                "width": 128, "height": 64}
        done = self.server.finished(self.server.call("POST", "/api/v1/jobs", body)[2]["id"])
        self.assertEqual(done["state"], "completed", done)
        self.assertEqual(done["request"]["init_image"], "uploaded picture")
        rows = pixels(self.server.call("GET", done["pictures"][0]["url"])[2])
        self.assertEqual((rows[9][20], rows[9][100]), ((20, 9, 7), (0, 0, 0)))
        again = self.server.finished(self.server.call("POST", "/api/v1/jobs", body)[2]["id"])
        self.assertEqual(self.server.call("GET", again["pictures"][0]["url"])[2],
                         self.server.call("GET", done["pictures"][0]["url"])[2])
        self.assertEqual(list((self.server.folder / "outputs" / ".uploads").iterdir()), [])
        self.refused(self.server, "POST", "/api/v1/jobs", {"prompt": "x", "init_image": "R0lGODlh"}, 400, "init_image")
        half = {**body, "init_image": text[:-60]}
        failed = self.server.finished(self.server.call("POST", "/api/v1/jobs", half)[2]["id"])
        self.assertEqual((failed["error"]["code"], failed["error"]["field"]), ("bad_file", "init_image"))
        failed = self.server.finished(self.server.call("POST", "/api/v1/jobs", {**body, "init_image": ""})[2]["id"])
        self.assertEqual((failed["state"], failed["error"]["code"]), ("failed", "usage"))
        self.assertEqual(list((self.server.folder / "outputs" / ".uploads").iterdir()), [])

    def test_descriptions(self):
        capabilities = self.server.call("GET", "/api/v1/capabilities")[2]
        self.assertIn("euler", capabilities["samplers"])
        self.assertIn("karras", capabilities["schedulers"])
        self.assertIn("prompt", self.server.call("GET", "/api/v1/schema")[2]["properties"])
        document = self.server.call("GET", "/openapi.json")[2]
        self.assertEqual(document["openapi"], "3.1.0")
        self.assertIn("delete", document["paths"]["/api/v1/jobs/{id}"])
        metrics = self.server.call("GET", "/metrics")[2].decode()
        self.assertRegex(metrics, r"(?m)^gesso_pictures_total \d+$")

    def test_the_page(self):
        status, headers, page = self.server.call("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotRegex(page.decode(), r"https?://|<script>|style=|onclick=")
        paths = [p.name for p in WEB.iterdir() if p.name != "index.html"]
        self.assertGreater(len(paths), 10)
        for name in paths:
            status, _, data = self.server.call("GET", "/" + name)
            self.assertEqual((status, data), (200, (WEB / name).read_bytes()), name)
            self.assertNotRegex(data.decode(), r"https?://(?!www\.w3\.org/)|eval\(|innerHTML", name)

    def test_what_a_picture_says(self):
        job = self.server.finished(self.server.call("POST", "/api/v1/jobs", {"prompt": "a house", "seed": 3})[2]["id"])
        data = self.server.call("GET", job["pictures"][0]["url"])[2]
        status, _, info = self.server.call("POST", "/api/v1/pictures/info", {"image": base64.b64encode(data).decode()})
        self.assertEqual((status, info["program"], info["request"]["seed"]), (200, "Gesso", 3), info)
        for body, field in (({}, "image"), ({"image": "x"}, "image"), ({"image": 5}, "image"),
                            ({"image": base64.b64encode(data).decode(), "colour": 1}, "colour")):
            self.refused(self.server, "POST", "/api/v1/pictures/info", body, 400, field)

    def test_64_clients_each_get_their_own(self):
        pictures, errors = {}, []

        def paint(i):
            try:
                job = self.server.call("POST", "/api/v1/jobs", {"prompt": f"client {i}", "seed": i})[2]
                done = self.server.finished(job["id"])
                pictures[i] = self.server.call("GET", done["pictures"][0]["url"])[2]
            except Exception as error:  # told below, on the main thread
                errors.append(error)

        threads = [threading.Thread(target=paint, args=(i,)) for i in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(len({hashlib.sha256(p).digest() for p in pictures.values()}), 64)
        for i in (0, 63):  # as a client alone gets it
            self.assertIn(f"client {i}\n".encode(), pictures[i])
            again = self.server.call("POST", "/api/v1/jobs", {"prompt": f"client {i}", "seed": i})[2]
            done = self.server.finished(again["id"])
            self.assertEqual(self.server.call("GET", done["pictures"][0]["url"])[2], pictures[i])


class Queue(Case):
    def test_full_queue_cancel_and_answers_meanwhile(self):
        with Server("--queue", "2", step_ms=20) as server:
            running = server.call("POST", "/api/v1/jobs", LONG)[2]["id"]
            events = server.running(running)
            waiting = [server.call("POST", "/api/v1/jobs", LONG)[2] for _ in range(2)]
            self.assertEqual([job["position"] for job in waiting], [1, 2])
            status, headers, answer = server.call("POST", "/api/v1/jobs", LONG)
            self.assertEqual((status, answer["error"]["code"]), (429, "queue_full"))
            self.assertGreaterEqual(int(headers["Retry-After"]), 1)
            for path in ("/health", "/api/v1/models", "/api/v1/jobs", "/sdapi/v1/options", "/sdapi/v1/progress", "/v1/models", "/metrics"):
                self.assertEqual(server.call("GET", path)[0], 200)
            self.assertEqual(server.call("POST", "/sdapi/v1/options", {"sd_model_checkpoint": "demo"})[0], 200)
            self.assertEqual(server.call("POST", "/api/v1/models/refresh")[0], 200)
            self.assertEqual(server.call("POST", "/api/v1/tokens", {"prompt": "x"})[0], 200)
            self.assertEqual([job["state"] for job in server.call("GET", "/api/v1/jobs")[2]["jobs"]],
                             ["running", "queued", "queued"])
            self.assertEqual(server.call("DELETE", "/api/v1/jobs/" + waiting[0]["id"])[0], 202)
            self.assertEqual(server.finished(waiting[0]["id"])["state"], "cancelled")
            self.assertEqual(server.call("DELETE", "/api/v1/jobs/" + running)[0], 202)
            self.assertEqual([name for name, _ in events][-1], "cancelled")
            server.running(waiting[1]["id"]).close()
            self.assertEqual(server.call("DELETE", "/api/v1/jobs/" + waiting[1]["id"])[0], 202)
            self.assertEqual(server.finished(waiting[1]["id"])["state"], "cancelled")
            self.assertEqual(server.outputs(), [])

    def test_keys_and_fairness(self):
        keys = ["first-key-0123456789", "second-key-0123456789"]
        server = Server("--queue-per-client", "3", step_ms=20)
        (server.folder / "keys").write_text("# of two people\n" + "\n".join(keys) + "\n")
        server.options += ("--api-key-file", str(server.folder / "keys"))
        with server:
            for headers in ({}, {"Authorization": "Bearer nope"}, {"X-API-Key": keys[0] + "x"}, {"Authorization": "Bearer "}):
                self.refused(server, "GET", "/api/v1/jobs", None, 401, headers=headers)
                self.refused(server, "GET", "/no/such/path", None, 401, headers=headers)
            for path in ("/", "/health"):
                self.assertEqual(server.call("GET", path)[0], 200)
            first, second = {"Authorization": "Bearer " + keys[0]}, {"X-API-Key": keys[1]}
            basic = {"Authorization": "Basic dTpmaXJzdC1rZXktMDEyMzQ1Njc4OQ=="}  # u:first-key-0123456789
            self.assertEqual(server.call("GET", "/sdapi/v1/samplers", headers=basic)[0], 200)
            jobs = [server.call("POST", "/api/v1/jobs", LONG, first)[2]["id"] for _ in range(3)]
            server.call("GET", "/api/v1/jobs", headers=first)
            while server.call("GET", "/api/v1/jobs/" + jobs[0], headers=first)[2]["state"] != "running":
                pass
            jobs.append(server.call("POST", "/api/v1/jobs", LONG, first)[2]["id"])
            self.assertEqual(server.call("POST", "/api/v1/jobs", LONG, first)[0], 429)
            other = server.call("POST", "/api/v1/jobs", LONG, second)[2]
            order = [job["id"] for job in server.call("GET", "/api/v1/jobs", headers=first)[2]["jobs"]]
            self.assertLess(order.index(other["id"]), order.index(jobs[2]))
            for job in order[::-1]:
                server.call("DELETE", "/api/v1/jobs/" + job, headers=first)


class Process(Case):
    def test_ends_cleanly_and_answers_what_runs(self):
        with Server(step_ms=20) as server:
            answer = []
            running = server.call("POST", "/api/v1/jobs", {"prompt": "x", "steps": 20})[2]["id"]
            events = server.running(running)
            waiting = server.call("POST", "/api/v1/jobs", LONG)[2]["id"]
            left = server.events(f"/api/v1/jobs/{waiting}/events")
            next(left)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual([name for name, _ in events][-1], "completed")
            self.assertEqual([name for name, _ in left][-1], "cancelled")
            self.assertEqual(server.process.wait(60), 0)
            self.assertEqual(server.outputs(), [running])

    def test_a_second_signal_does_not_wait(self):
        with Server(step_ms=20) as server:
            events = server.running(server.call("POST", "/api/v1/jobs", LONG)[2]["id"])
            server.process.send_signal(signal.SIGINT)
            with self.assertRaises(OSError):  # the first one is heard: nobody new is let in
                while True:
                    server.call("GET", "/health")
            server.process.send_signal(signal.SIGINT)
            server.process.wait(60)
            self.assertEqual(server.process.returncode, 0)
            self.assertEqual([name for name, _ in events][-1], "cancelled")

    def test_kill_loses_nothing_that_was_finished(self):
        with Server(step_ms=20) as server:
            done = server.call("POST", "/api/v1/jobs", {"prompt": "kept", "steps": 1})[2]["id"]
            picture = server.finished(done)["pictures"][0]["url"]
            data = server.call("GET", picture)[2]
            server.running(server.call("POST", "/api/v1/jobs", LONG)[2]["id"]).close()
            server.process.kill()
            server.process.communicate()
            unfinished = server.folder / "outputs" / ".unfinished-job"
            unfinished.mkdir()
            (unfinished / "0.png").write_bytes(b"half")
            server.start()
            self.assertEqual(server.outputs(), [done])
            self.assertEqual(server.call("GET", picture)[2], data)
            self.assertEqual(server.call("GET", "/api/v1/jobs")[2]["jobs"][0]["id"], done)

    def test_two_servers_do_not_share_a_folder(self):
        with Server() as server:
            with self.assertRaisesRegex(AssertionError, "another server keeps its results"):
                Server(folder=server.folder).start()

    def test_a_working_folder_that_is_gone(self):
        with Server() as server:
            server.process.terminate()
            server.process.communicate()
            gone = server.folder / "gone"
            gone.mkdir()
            server.cwd = gone
            server.start(in_child=gone.rmdir)
            for path in ("/sdapi/v1/loras", "/sdapi/v1/upscalers", "/sdapi/v1/sd-vae"):
                self.assertEqual(server.call("GET", path)[::2], (200, []))
            job = server.call("POST", "/api/v1/jobs", {"prompt": "x"})[2]
            self.assertEqual(server.finished(job["id"])["state"], "completed")

    def test_a_thousand_jobs_leave_no_memory_behind(self):
        with Server("--queue", "100", measured=True) as server:
            def paint(count):
                for i in range(count):
                    body = {"prompt": f"client {i}", "seed": i, "width": 64, "height": 64}
                    self.assertEqual(server.call("POST", "/sdapi/v1/txt2img", body)[0], 200)
            paint(200)
            before = server.resident()
            paint(800)
            self.assertLess(server.resident(), before * 1.05 + (1 << 20))

    def test_without_a_model(self):
        with Server(models=()) as server:
            self.refused(server, "POST", "/api/v1/jobs", {"prompt": "x"}, 404, "model", "--models")
            self.assertEqual(server.call("GET", "/v1/models")[2]["data"], [])
            self.assertEqual(server.call("GET", "/sdapi/v1/sd-models")[2], [])
            self.assertEqual(server.call("GET", "/sdapi/v1/loras")[2], [])


if __name__ == "__main__":
    main()
