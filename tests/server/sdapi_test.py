"""/sdapi/v1: the API of AUTOMATIC1111's stable-diffusion-webui, by hand and with webuiapi where it is installed."""
import base64
import json
import os
import threading
import unittest

from serve import Case, Server, main, pixels, png

try:
    import webuiapi
except ImportError:
    webuiapi = None
    if os.environ.get("GESSO_WANT_CLIENTS"):
        raise

PATH, OVER = "/sdapi/v1/txt2img", "/sdapi/v1/img2img"
INFO = """prompt all_prompts negative_prompt all_negative_prompts seed all_seeds subseed all_subseeds subseed_strength width
height sampler_name cfg_scale steps batch_size restore_faces face_restoration_model sd_model_name sd_model_hash sd_vae_name
sd_vae_hash seed_resize_from_w seed_resize_from_h denoising_strength extra_generation_params index_of_first_image infotexts
styles job_timestamp clip_skip is_using_inpainting_conditioning version""".split()


class Sdapi(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(models=("demo.safetensors", "other.safetensors"))
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def paint(self, **body):
        status, headers, answer = self.server.call("POST", PATH, body)
        self.assertEqual(status, 200, answer)
        return answer, json.loads(answer["info"]), headers

    def test_pictures_and_info(self):
        body = {"prompt": "a house", "negative_prompt": "rain", "seed": 5, "steps": 3, "cfg_scale": 6, "batch_size": 2,
                "n_iter": 2, "width": 128, "height": 64, "sampler_name": "DPM++ 2M Karras", "styles": []}
        answer, info, _ = self.paint(**body)
        self.assertEqual(len(answer["images"]), 4)
        self.assertTrue(base64.b64decode(answer["images"][0]).startswith(b"\x89PNG"))
        self.assertEqual(answer["parameters"], body)
        self.assertEqual(list(info), INFO)
        self.assertEqual(info["all_seeds"], [5, 6, 7, 8])
        self.assertEqual((info["width"], info["height"], info["steps"], info["sampler_name"]), (128, 64, 3, "dpm++2m"))
        self.assertEqual(info["extra_generation_params"]["Schedule type"], "karras")
        self.assertTrue(info["infotexts"][0].startswith("a house"))
        self.assertEqual(self.server.outputs(), [])

    def test_samplers_by_any_name(self):
        for body, name in (({}, "euler"), ({"sampler_index": "Euler a"}, "euler_a"),
                           ({"sampler_name": "Heun", "sampler_index": "Euler"}, "heun"),
                           ({"sampler_name": "DPM++ 2M", "scheduler": "Karras"}, "dpm++2m"),
                           ({"sampler_name": None, "scheduler": "Automatic"}, "euler"), ({"scheduler": "automatic"}, "euler")):
            self.assertEqual(self.paint(prompt="x", **body)[1]["sampler_name"], name)
        self.refused(self.server, "POST", PATH, {"prompt": "x", "sampler_name": "nope"}, 400, "sampling_method", "euler")

    def test_numbers_as_text_and_null(self):
        _, info, _ = self.paint(prompt="x", steps="3", cfg_scale="6.5", seed=None, width=64.0)
        self.assertEqual((info["steps"], info["cfg_scale"], info["width"]), (3, 6.5, 64))

    def test_bad_fields(self):
        for body, field in (({"steps": "many"}, "steps"), ({"width": 0}, "width"), ({"seed": 1.5}, "seed"),
                            ({"cfg_scale": -1}, "cfg_scale"), ({"batch_size": 0}, "batch_size"), ({"batch_size": 99}, "batch_count"),
                            ({"override_settings": []}, "override_settings"), ({"send_images": "perhaps"}, "send_images")):
            self.refused(self.server, "POST", PATH, {"prompt": "x", **body}, 400, field)
        self.refused(self.server, "POST", PATH, {}, 400, "prompt")
        for field in ("enable_hr", "restore_faces", "tiling"):
            self.refused(self.server, "POST", PATH, {"prompt": "x", field: True}, 501, field)
        self.refused(self.server, "POST", "/sdapi/v1/extra-single-image", {"image": ""}, 501, text="yet")

    def test_img2img(self):
        picture = base64.b64encode(png(64, 64, lambda x, y: (x, y, 7))).decode()
        mask = base64.b64encode(png(64, 64, lambda x, y: (255 * (x >= 32),) * 3)).decode()
        body = {"prompt": "x", "init_images": ["data:image/png;base64," + picture], "denoising_strength": 0.5}
        status, _, answer = self.server.call("POST", OVER, body)
        self.assertEqual(status, 200, answer)
        self.assertNotIn("init_images", answer["parameters"])
        self.assertEqual(json.loads(answer["info"])["denoising_strength"], 0.5)
        self.assertEqual(pixels(base64.b64decode(answer["images"][0]))[9][20], (0, 0, 0))
        for invert, black in ((0, 50), (1, 20)):
            answer = self.server.call("POST", OVER, {**body, "mask": mask, "mask_blur": 0, "inpainting_mask_invert": invert,
                                                     "inpaint_full_res": False, "inpainting_fill": 0, "width": 64, "height": 64})[2]
            row = pixels(base64.b64decode(answer["images"][0]))[9]
            self.assertEqual((row[black], row[70 - black]), ((0, 0, 0), (70 - black, 9, 7)))
            self.assertIn("inpainting_fill", answer["info"])
        for wrong, status, field in (({"init_images": []}, 400, "init_images"), ({"init_images": ["x"]}, 400, "init_images"),
                                     ({"init_images": [picture] * 2}, 501, "init_images"), ({"mask": "x"}, 400, "mask"),
                                     ({"init_images": None}, 400, "init_images"), ({"resize_mode": 3}, 501, "resize_mode"),
                                     ({"denoising_strength": 2}, 400, "denoising_strength"),
                                     ({"init_images": ["/etc/hostname"]}, 400, "init_images")):
            self.refused(self.server, "POST", OVER, {**body, **wrong}, status, field)

    def test_pictures_as_clients_write_them(self):
        data = png(64, 64, lambda x, y: (255, 255 * (x + y & 1), 7))
        text = base64.b64encode(data).decode()
        self.assertTrue(set("+/") & set(text))
        good = text, "data:image/png;base64," + text, "data:image/jpeg;base64," + text, text.rstrip("="), "\r\n".join(
            text[i:i + 76] for i in range(0, len(text), 76)), " " + text + "\n"
        bad = ("", "data:image/png;base64,", "data:image/png," + text, text.replace("+", "-").replace("/", "_"), text[:-5], "====",
               "https://example.org/a.png", base64.b64encode(b"text").decode())
        for picture in good:
            self.assertEqual(self.server.call("POST", OVER, {"prompt": "x", "init_images": [picture]})[0], 200, picture[:40])
        for picture in bad:
            self.refused(self.server, "POST", OVER, {"prompt": "x", "init_images": [picture]}, 400, "init_images")
            if picture:
                self.refused(self.server, "POST", OVER, {"prompt": "x", "init_images": [text], "mask": picture}, 400, "mask")

    def test_what_has_no_effect_is_reported(self):
        answer, info, headers = self.paint(prompt="x", alwayson_scripts={"ControlNet": {"args": []}}, frobnicate=1,
                                           override_settings={"eta_noise_seed_delta": 1})
        for name in ("ControlNet", "frobnicate", "eta_noise_seed_delta"):
            self.assertIn(name, json.dumps(info["extra_generation_params"]["Warnings"]))
            self.assertIn(name, headers["X-Gesso-Warnings"])

    def test_models(self):
        self.assertEqual([m["title"] for m in self.server.call("GET", "/sdapi/v1/sd-models")[2]],
                         ["demo.safetensors", "other.safetensors"])
        _, info, _ = self.paint(prompt="x", override_settings={"sd_model_checkpoint": "other.safetensors [0123456789]"})
        self.assertEqual(info["sd_model_name"], "other.safetensors")
        self.assertEqual(self.server.call("POST", "/sdapi/v1/options", {"sd_model_checkpoint": "other", "foo": 1})[0], 200)
        self.assertEqual(self.server.call("GET", "/sdapi/v1/options")[2]["sd_model_checkpoint"], "other.safetensors")
        self.assertEqual(self.paint(prompt="x")[1]["sd_model_name"], "other.safetensors")
        self.refused(self.server, "POST", "/sdapi/v1/options", {"sd_model_checkpoint": "../x"}, 404, "sd_model_checkpoint")
        self.server.call("POST", "/sdapi/v1/options", {"sd_model_checkpoint": "demo"})
        self.refused(self.server, "POST", PATH, {"prompt": "x", "override_settings": {"sd_model_checkpoint": "/etc/passwd"}},
                     404, "model")

    def test_models_leave_and_come_back(self):
        loaded = lambda: [m["name"] for m in self.server.call("GET", "/api/v1/models")[2]["models"] if m["loaded"]]
        self.paint(prompt="x", override_settings={"sd_model_checkpoint": "other"})
        self.assertIn("other.safetensors", loaded())
        self.assertEqual(self.server.call("POST", "/sdapi/v1/unload-checkpoint")[::2], (200, {}))
        self.assertEqual(loaded(), [])
        self.assertEqual(self.server.call("POST", "/sdapi/v1/reload-checkpoint")[::2], (200, {}))
        self.assertEqual(loaded(), ["demo.safetensors"])
        self.assertEqual(self.server.call("POST", "/sdapi/v1/refresh-checkpoints")[::2], (200, None))

    def test_save_and_send(self):
        answer, _, _ = self.paint(prompt="x", send_images=False, save_images=True)
        self.assertEqual(answer["images"], [])
        kept = self.server.outputs()
        self.assertEqual(len(kept), 1)
        self.server.call("DELETE", "/api/v1/jobs/" + kept[0])

    def test_picture_info(self):
        picture = self.paint(prompt="a house", seed=9)[0]["images"][0]
        for image in (picture, "data:image/png;base64," + picture, picture[:50] + "\r\n" + picture[50:]):
            status, _, answer = self.server.call("POST", "/sdapi/v1/png-info", {"image": image})
            self.assertEqual((status, answer["info"][:7]), (200, "a house"))
        for image in ("", "====", "!", picture.replace("+", "-").replace("/", "_"), "data:image/png," + picture, 5, "aGVsbG8="):
            self.refused(self.server, "POST", "/sdapi/v1/png-info", {"image": image}, 400, "image")
        self.refused(self.server, "POST", "/sdapi/v1/png-info", {}, 400, "image")

    def test_lists(self):
        for name in ("samplers", "schedulers", "upscalers", "latent-upscale-modes", "loras", "sd-vae", "embeddings", "cmd-flags",
                     "memory", "progress", "options"):
            self.assertEqual(self.server.call("GET", "/sdapi/v1/" + name)[0], 200, name)
        self.assertIn("euler", [s["name"] for s in self.server.call("GET", "/sdapi/v1/samplers")[2]])
        for name in ("refresh-checkpoints", "interrupt", "skip"):
            self.assertEqual(self.server.call("POST", "/sdapi/v1/" + name)[0], 200, name)

    def test_progress_and_interrupt(self):
        with Server(step_ms=20) as server:
            idle = server.call("GET", "/sdapi/v1/progress")[2]
            self.assertEqual((idle["progress"], idle["state"]["job_count"]), (0, 0))
            answer = []
            waiting = threading.Thread(
                target=lambda: answer.append(server.call("POST", PATH, {"prompt": "x", "steps": 150})))
            waiting.start()
            while (now := server.call("GET", "/sdapi/v1/progress")[2])["state"]["sampling_step"] == 0:
                pass
            self.assertEqual(now["state"]["sampling_steps"], 150)
            self.assertGreater(now["progress"], 0)
            step = now["state"]["sampling_step"]  # of which the preview may be one ahead
            self.assertIn(pixels(base64.b64decode(now["current_image"]))[0][0][0], [255 * s // 150 for s in (step, step + 1)])
            now = server.call("GET", "/sdapi/v1/progress?skip_current_image=true")[2]
            self.assertIsNone(now["current_image"])
            server.call("POST", "/sdapi/v1/interrupt")
            waiting.join()
            self.assertEqual(answer[0][0], 503)
            self.assertIn("cancelled", answer[0][2]["detail"])

    @unittest.skipUnless(webuiapi, "the webuiapi package is not installed")
    def test_the_real_client(self):
        api = webuiapi.WebUIApi(port=self.server.port)
        result = api.txt2img(prompt="a house", seed=5, steps=3, batch_size=2)
        self.assertEqual((len(result.images), result.info["seed"]), (2, 5))
        self.assertIn("demo.safetensors", [m["title"] for m in api.get_sd_models()])
        self.assertIn("a house", api.png_info(result.images[0]).info)
        over = api.img2img(images=[result.images[0]], prompt="a house", denoising_strength=0.4, seed=5)
        self.assertEqual((over.image.size, over.info["denoising_strength"]), (result.image.size, 0.4))
        mask = result.images[0].convert("L").point(lambda _: 255)
        self.assertEqual(api.img2img(images=[result.images[0]], mask_image=mask, prompt="x").image.size, result.image.size)
        api.util_set_model("other")
        self.assertEqual(api.util_get_current_model(), "other.safetensors")
        self.assertEqual(api.txt2img(prompt="x", override_settings={"sd_model_checkpoint": "demo"}).info["sd_model_name"],
                         "demo.safetensors")
        api.util_set_model("demo")
        self.assertEqual(sorted(api.util_get_model_names()), ["demo.safetensors", "other.safetensors"])
        self.assertIn("euler", [s["name"] for s in api.get_samplers()])
        self.assertIn("karras", [s["name"] for s in api.get_schedulers()])
        self.assertEqual(api.get_progress()["progress"], 0)
        self.assertEqual(api.get_options()["sd_model_checkpoint"], "demo.safetensors")
        for ask in (api.get_cmd_flags, api.get_upscalers, api.get_loras, api.get_sd_vae, api.get_embeddings, api.get_memory,
                    api.get_latent_upscale_modes, api.get_hypernetworks, api.get_face_restorers, api.get_realesrgan_models,
                    api.get_prompt_styles, api.get_scripts, api.refresh_checkpoints, api.interrupt, api.skip):
            ask()


if __name__ == "__main__":
    main()
