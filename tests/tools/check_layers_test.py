import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_layers  # noqa: E402


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def violations(self, **files):
        for name, text in files.items():
            path = Path(self.folder.name) / name.replace("__", "/").replace("_H", ".h").replace("_CPP", ".cpp")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(check_layers.check(self.folder.name))

    def test_downward_and_own_includes_are_fine(self):
        self.assertEqual(self.violations(
            src__nn__linear_H='#pragma once\n#include "ops/ops.h"\n#include "nn/x.h"\n#include <vector>\n'), [])

    def test_upward_include(self):
        found = self.violations(src__tensor__a_CPP='\n#include "ops/ops.h"\n')
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("src/tensor/a.cpp:2: "), found[0])

    def test_sideways_include(self):
        self.assertEqual(len(self.violations(src__text__a_CPP='#include "vae/kl.h"\n')), 1)

    def test_apps_see_only_the_public_header(self):
        self.assertEqual(self.violations(apps__cli__a_CPP='#include "gesso/gesso.h"\n#include "help.h"\n'), [])
        self.assertEqual(len(self.violations(apps__cli__a_CPP='#include "base/error.h"\n')), 1)

    def test_only_capi_sees_the_public_header(self):
        self.assertEqual(len(self.violations(src__nn__a_CPP='#include "gesso/gesso.h"\n')), 1)
        self.assertEqual(self.violations(src__nn__a_CPP="", src__capi__a_CPP='#include "gesso/gesso.h"\n'), [])

    def test_families_are_named_in_models_only(self):
        self.assertEqual(self.violations(src__models__flux_CPP="// flux\n"), [])
        for line in ('if (family == "sdxl")', "is_flux(x)", "// as SD1 does", "kStableDiffusion"):
            self.assertEqual(len(self.violations(src__nn__a_CPP=line + "\n")), 1, line)

    def test_in_models_only_in_their_own_files(self):
        line = 'if (family == "sdxl")\n'
        self.assertEqual(len(self.violations(src__models__inspect_CPP=line)), 1)
        self.assertEqual(self.violations(src__models__inspect_CPP="x();  // SDXL has it too\n"), [])
        for name in ("src__models__known__tiny_CPP", "src__models__registry_CPP", "src__models__sdxl_CPP"):
            self.assertEqual(self.violations(**{name: line}), [], name)

    def test_ordinary_words_are_no_families(self):
        for line in ("std::swap(a, b);", "wanted", "influx", "a want of", "hwang", "as stable-diffusion.cpp does"):
            self.assertEqual(self.violations(src__nn__a_CPP=line + "\n"), [], line)

    def test_unknown_layer(self):
        self.assertEqual(len(self.violations(src__stuff__a_CPP="")), 1)

    def test_the_repository_keeps_its_layers(self):
        self.assertEqual(list(check_layers.check(Path(__file__).resolve().parents[2])), [])


if __name__ == "__main__":
    unittest.main()
