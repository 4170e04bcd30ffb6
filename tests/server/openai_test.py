"""/v1: the images API of OpenAI, by hand and with the openai package where it is installed."""
import base64
import os
import socket
import unittest

from serve import Case, Server, form, main, pixels, png

try:
    import openai
except ImportError:
    openai = None
    if os.environ.get("GESSO_WANT_CLIENTS"):
        raise

PATH = "/v1/images/generations"


class OpenAi(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def test_bytes(self):
        kept = self.server.outputs()
        for body, count in (({}, 1), ({"n": 3}, 3), ({"n": "2"}, 2), ({"n": None, "model": None}, 1), ({"model": ""}, 1)):
            status, _, answer = self.server.call("POST", PATH, {"prompt": "a house", **body})
            self.assertEqual((status, len(answer["data"])), (200, count), answer)
            self.assertTrue(base64.b64decode(answer["data"][0]["b64_json"]).startswith(b"\x89PNG"))
        self.assertEqual(self.server.outputs(), kept)

    def test_addresses(self):
        answer = self.server.call("POST", PATH, {"prompt": "x", "response_format": "url", "output_format": "webp"})[2]
        url = answer["data"][0]["url"]
        base = f"http://127.0.0.1:{self.server.port}"
        self.assertTrue(url.startswith(base))
        self.assertTrue(self.server.call("GET", url[len(base):])[2].startswith(b"RIFF"))

    def test_sizes(self):
        for size, got in (("auto", "64x64"), ("1024X512", "1024x512"), (None, "64x64"), ("128x64", "128x64")):
            status, _, answer = self.server.call("POST", PATH, {"prompt": "x", "size": size})
            self.assertEqual((status, answer.get("size")), (200, got), answer)
        for size in ("", "1x", "x1", "0x0", "-64x64", "64x64x64", "99999999999x64", "64", 64, "64 x 64"):
            self.refused(self.server, "POST", PATH, {"prompt": "x", "size": size}, 400, "size")
        self.refused(self.server, "POST", PATH, {"prompt": "x", "size": "100x100"}, 400, "width", "multiple")

    def test_bad_fields(self):
        for body, field in (({}, "prompt"), ({"prompt": ["x"]}, "prompt"), ({"prompt": "x", "n": 0}, "n"),
                            ({"prompt": "x", "n": -1}, "n"), ({"prompt": "x", "n": 1000}, "batch_count"),
                            ({"prompt": "x", "n": 1.5}, "n"), ({"prompt": "x", "response_format": "png"}, "response_format"),
                            ({"prompt": "x", "output_format": "gif"}, "output_format"),
                            ({"prompt": "x", "output_compression": 101}, "output_compression"),
                            ({"prompt": "x", "quality": "superb"}, "quality"), ({"prompt": "x", "stream": "maybe"}, "stream"),
                            ({"prompt": "x", "background": "red"}, "background"), ({"prompt": "x", "colour": 1}, "colour")):
            answer = self.refused(self.server, "POST", PATH, body, 400, field)
            self.assertEqual(answer["error"]["type"], "invalid_request_error")
        self.refused(self.server, "POST", PATH, {"prompt": "x", "background": "transparent"}, 501, "background")
        self.refused(self.server, "POST", PATH, {"prompt": "x", "model": "dall-e-9"}, 404, "model", "demo.safetensors")
        self.refused(self.server, "POST", PATH, {"prompt": "fail numeric it is NaN"}, 500, text="it is NaN")

    def test_fields_of_our_own_and_warnings(self):
        body = {"prompt": "x", "steps": 2, "seed": 5, "negative_prompt": "y", "quality": "hd", "user": "me"}
        first, second = self.server.call("POST", PATH, body), self.server.call("POST", PATH, body)
        self.assertEqual(first[2]["data"], second[2]["data"])
        self.assertIn("quality", first[1]["X-Gesso-Warnings"])

    def test_stream(self):
        events = list(self.server.events(PATH, {"prompt": "x", "n": 2, "stream": True}))
        self.assertEqual([name for name, _ in events], ["image_generation.completed"] * 2)
        self.assertTrue(base64.b64decode(events[0][1]["b64_json"]).startswith(b"\x89PNG"))
        events = list(self.server.events(PATH, {"prompt": "fail numeric it is NaN", "stream": True}))
        self.assertEqual((events[0][0], events[0][1]["error"]["message"]), ("error", "it is NaN"))

    def test_partial_images_of_a_stream(self):
        body = {"prompt": "x", "steps": 10, "stream": True, "partial_images": 2}
        events = list(self.server.events(PATH, body))
        kind = "image_generation"
        self.assertEqual([name for name, _ in events], [kind + ".partial_image"] * 2 + [kind + ".completed"])
        self.assertEqual([data["partial_image_index"] for _, data in events[:-1]], [0, 1])
        for (_, data), step in zip(events, (4, 7)):  # thirds of the steps, rounded up
            self.assertEqual((data["type"], data["size"], data["output_format"]), (kind + ".partial_image", "8x8", "png"))
            self.assertEqual(pixels(base64.b64decode(data["b64_json"]))[0][0], (255 * step // 10,) * 3)
        for steps, count in ((2, 1), (1, 0)):  # of few steps there are fewer
            events = list(self.server.events(PATH, {**body, "steps": steps}))
            self.assertEqual([name for name, _ in events[:-1]], [kind + ".partial_image"] * count)
        answer = self.server.call("POST", PATH, {"prompt": "x", "partial_images": 2})
        self.assertIn("partial_images", answer[1]["X-Gesso-Warnings"])
        self.refused(self.server, "POST", PATH, {"prompt": "x", "partial_images": 4}, 400, "partial_images")

    def edit(self, fields, path="/v1/images/edits"):
        kind, body = form(fields)
        return self.server.call("POST", path, body, {"Content-Type": kind})

    def test_edits_paint_where_the_mask_is_transparent(self):
        picture = png(64, 64, lambda x, y: (x, y, 7))
        mask = png(64, 64, lambda x, y: (9, 9, 9, 255 * (x < 32)))
        for name in ("image", "image[]"):
            status, _, answer = self.edit([(name, "a.png", picture), ("mask", "m.png", mask), ("prompt", None, b"a house"),
                                           ("n", None, b"2"), ("mask_blur", None, b"0"), ("size", None, b"64x64")])
            self.assertEqual((status, len(answer.get("data", []))), (200, 2), answer)
            rows = pixels(base64.b64decode(answer["data"][1]["b64_json"]))
            self.assertEqual((rows[9][20], rows[9][50]), ((20, 9, 7), (0, 0, 0)))
        text = base64.b64encode(picture).decode()
        status, _, answer = self.server.call("POST", "/v1/images/edits", {"image": [text], "prompt": "x"})
        self.assertEqual(pixels(base64.b64decode(answer["data"][0]["b64_json"]))[9][20], (0, 0, 0))

    def test_variations_take_the_prompt_inside(self):
        picture = self.server.call("POST", PATH, {"prompt": "a green house", "response_format": "b64_json"})[2]["data"][0]
        status, _, answer = self.edit([("image", "a.png", base64.b64decode(picture["b64_json"])), ("response_format", None, b"url")],
                                      "/v1/images/variations")
        self.assertEqual(status, 200, answer)
        job = self.server.call("GET", "/api/v1/jobs/" + answer["data"][0]["url"].split("/")[-3])[2]
        self.assertEqual((job["request"]["prompt"], job["request"]["strength"]), ("a green house", 0.6))
        self.server.call("DELETE", "/api/v1/jobs/" + job["id"])

    def test_bad_forms(self):
        picture = png(8, 8, lambda x, y: (1, 2, 3))
        for fields, status, field in (
                ([("prompt", None, b"x")], 400, "image"), ([("image", "a.png", picture)], 400, "prompt"),
                ([("image", "a.png", b"GIF89a"), ("prompt", None, b"x")], 400, "image"),
                ([("image", "a.png", picture), ("prompt", None, b"x"), ("mask", "m", b"")], 400, "mask"),
                ([("image", "a.png", picture[:-20]), ("prompt", None, b"x")], 400, "image"),
                ([("image", "a.png", picture), ("prompt", None, b"x"), ("mask", "m", picture[:-20])], 400, "mask"),
                ([("image", "a.png", picture)] * 2 + [("prompt", None, b"x")], 501, "image"),
                ([("image", "a.png", picture), ("prompt", None, b"x"), ("n", None, b"many")], 400, "n"),
                ([("image", "a.png", picture), ("prompt", None, b"\xff")], 400, "prompt"),
                ([("image", "a.png", picture), ("prompt", None, b"x"), ("init_image", None, b"/etc/hostname")], 400, "init_image")):
            got, _, answer = self.edit(fields)
            self.assertEqual((got, answer["error"]["param"]), (status, field), answer)
        kind, body = form([("image", "a.png", picture), ("prompt", None, b"x")])
        for broken in (b"", b"x", body[:-4], body[:100], body.replace(b"\r\n\r\n", b"\r\n"), b"--xYzZY--\r\n",
                       b"--xYzZY\r\n\r\n" + body, b"--xYzZYmore" + body):
            self.refused(self.server, "POST", "/v1/images/edits", broken, 400, headers={"Content-Type": kind})
        for kind in ("multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=" + "x" * 71):
            self.refused(self.server, "POST", "/v1/images/edits", body, 400, headers={"Content-Type": kind})
        self.refused(self.server, "POST", "/v1/images/edits", body, 415, headers={"Content-Type": "text/plain"})

    def test_a_client_that_leaves_takes_its_job_along(self):
        with Server(step_ms=20) as server:
            raw = socket.create_connection(("127.0.0.1", server.port))
            body = b'{"prompt": "left", "steps": 150}'
            raw.sendall(b"POST /v1/images/generations HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            while not (jobs := server.call("GET", "/api/v1/jobs")[2]["jobs"]):
                pass
            server.running(jobs[0]["id"]).close()
            raw.close()
            self.assertEqual(server.finished(jobs[0]["id"])["state"], "cancelled")

    def test_models(self):
        models = self.server.call("GET", "/v1/models")[2]
        self.assertEqual((models["object"], models["data"][0]["id"]), ("list", "demo.safetensors"))
        self.assertEqual(self.server.call("GET", "/v1/models/demo.safetensors")[2]["object"], "model")
        self.refused(self.server, "GET", "/v1/models/nope", None, 404, "model")

    @unittest.skipUnless(openai, "the openai package is not installed")
    def test_the_real_client(self):
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{self.server.port}/v1", api_key="none", max_retries=0)
        self.assertEqual([m.id for m in client.models.list()], ["demo.safetensors"])
        result = client.images.generate(prompt="a house", n=2, size="128x64", output_format="jpeg")
        self.assertEqual(len(result.data), 2)
        self.assertTrue(base64.b64decode(result.data[1].b64_json).startswith(b"\xff\xd8"))
        result = client.images.generate(prompt="a house", response_format="url", extra_body={"steps": 2})
        self.assertIn("/api/v1/jobs/", result.data[0].url)
        events = list(client.images.generate(prompt="a house", stream=True, partial_images=1))
        self.assertEqual([e.type for e in events], ["image_generation.partial_image", "image_generation.completed"])
        with self.assertRaises(openai.BadRequestError) as caught:
            client.images.generate(prompt="a house", size="1x")
        self.assertEqual(caught.exception.param, "size")
        with self.assertRaises(openai.NotFoundError):
            client.images.generate(prompt="a house", model="dall-e-9")
        picture = png(64, 64, lambda x, y: (x, y, 7))
        mask = png(64, 64, lambda x, y: (9, 9, 9, 255 * (x < 32)))
        result = client.images.edit(image=("a.png", picture), mask=("m.png", mask), prompt="a house", n=2)
        self.assertEqual(pixels(base64.b64decode(result.data[1].b64_json))[9][63], (0, 0, 0))
        self.assertEqual(len(client.images.create_variation(image=("a.png", picture), n=2).data), 2)
        with self.assertRaises(openai.BadRequestError):
            client.images.edit(image=("a.png", b"x"), prompt="a house")


if __name__ == "__main__":
    main()
