"""/v1: the images API of OpenAI, by hand and with the openai package where it is installed."""
import base64
import socket
import unittest

from serve import Case, Server, main

try:
    import openai
except ImportError:
    openai = None

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

    def test_what_is_not_there_yet(self):
        for path in ("/v1/images/edits", "/v1/images/variations"):
            self.refused(self.server, "POST", path, b"x", 501, text="yet", headers={"Content-Type": "multipart/form-data"})

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
        self.assertEqual([e.type for e in events], ["image_generation.completed"])
        with self.assertRaises(openai.BadRequestError) as caught:
            client.images.generate(prompt="a house", size="1x")
        self.assertEqual(caught.exception.param, "size")
        with self.assertRaises(openai.NotFoundError):
            client.images.generate(prompt="a house", model="dall-e-9")
        with self.assertRaises(openai.InternalServerError):
            client.images.edit(image=("a.png", b"x"), prompt="a house")


if __name__ == "__main__":
    main()
