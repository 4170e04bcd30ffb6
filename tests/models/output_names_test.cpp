#include "models/output_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/manifest.h"

namespace gesso {
namespace {

/// A component of `from`, named as in `to`, has exactly the names that the same component of `to` has.
struct LayoutPair {
  const char *from, *to;
  Role role;
  Layout layout;
};

std::set<std::string> names_without_prefix(const Manifest& manifest, const Component& component) {
  std::set<std::string> names;
  for (const PlacedTensor& placed : component.tensors)
    names.insert(manifest.tensors[placed.tensor_index].name.substr(component.prefix.size()));
  return names;
}

class OutputNamesOfFiles : public ::testing::TestWithParam<LayoutPair> {};

TEST_P(OutputNamesOfFiles, AreThoseOfRealFiles) {
  const Manifest from = load_manifest(GetParam().from), to = load_manifest(GetParam().to);
  const Recognition source = recognise(from.tensors, from.metadata), target = recognise(to.tensors, to.metadata);
  const Component *mine = source.find(GetParam().role), *theirs = target.find(GetParam().role);
  ASSERT_TRUE(mine && theirs);
  std::set<std::string> ours, names;
  for (const PlacedTensor& placed : mine->tensors) ours.insert(placed.placement.name);
  const std::vector<const Component*> all = {mine};
  const OutputNaming naming = output_naming(GetParam().layout, *mine, all);
  EXPECT_EQ(naming.prefix, "");
  for (const Renamed& renamed : output_names(naming, *mine, ours)) names.insert(renamed.name);
  EXPECT_EQ(names, names_without_prefix(to, *theirs));
}

TEST(OutputNames, NumbersBeyondEveryModelAreRefused) {
  const Manifest manifest = load_manifest("sd15-ldm");
  const Recognition recognition = recognise(manifest.tensors, manifest.metadata);
  const Component* unet = recognition.find(Role::kDiffusionModel);
  ASSERT_TRUE(unet);
  const std::vector<const Component*> all = {unet};
  const OutputNaming naming = output_naming(Layout::kDiffusers, *unet, all);
  EXPECT_THAT([&] { (void)output_names(naming, *unet, {"input_blocks.999999.0.in_layers.2.weight"}); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("numbered up to 999999")));
}

INSTANTIATE_TEST_SUITE_P(
    Manifests, OutputNamesOfFiles,
    ::testing::Values(LayoutPair{"sd15-unet-ldm", "sd15-unet-diffusers", Role::kDiffusionModel, Layout::kDiffusers},
                      LayoutPair{"sd15-unet-diffusers", "sd15-unet-ldm", Role::kDiffusionModel, Layout::kLdm},
                      LayoutPair{"sdxl-unet-sgm-prefixed", "sdxl-unet-diffusers", Role::kDiffusionModel,
                                 Layout::kDiffusers},
                      LayoutPair{"sdxl-unet-diffusers", "sdxl-unet-sgm-prefixed", Role::kDiffusionModel, Layout::kLdm},
                      LayoutPair{"flux1-dev-bfl", "flux1-dev-diffusers", Role::kDiffusionModel, Layout::kDiffusers},
                      LayoutPair{"flux1-schnell-diffusers", "flux1-schnell-bfl", Role::kDiffusionModel, Layout::kLdm},
                      LayoutPair{"sd35-large", "sd35-large-diffusers", Role::kDiffusionModel, Layout::kDiffusers},
                      LayoutPair{"sd35-large-diffusers", "sd35-large", Role::kDiffusionModel, Layout::kLdm},
                      LayoutPair{"sd15-vae-diffusers-oldattn", "sd15-vae-ldm", Role::kVae, Layout::kLdm},
                      LayoutPair{"sd15-vae-ldm", "sdxl-vae-diffusers", Role::kVae, Layout::kDiffusers},
                      LayoutPair{"flux1-ae-bfl", "flux1-vae-diffusers", Role::kVae, Layout::kDiffusers},
                      LayoutPair{"clip-g-hf", "openclip-bigg-sgm", Role::kClipG, Layout::kLdm},
                      LayoutPair{"openclip-bigg-sgm", "clip-g-hf", Role::kClipG, Layout::kDiffusers}),
    [](const auto& p) {
      std::string name = std::string(p.param.from) + "_as_" + p.param.to;
      for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      return name;
    });

TEST(OutputNaming, PrefixesAreThoseOfCheckpoints) {
  const auto prefixes = [](std::string_view manifest_name, Layout layout) {
    const Manifest manifest = load_manifest(manifest_name);
    const Recognition found = recognise(manifest.tensors, manifest.metadata);
    std::vector<const Component*> all;
    for (const Component& c : found.components) all.push_back(&c);
    std::map<Role, std::string> result;
    for (const Component* c : all) {
      const OutputNaming naming = output_naming(layout, *c, all);
      result[c->role] = naming.prefix + " " + std::string(naming.scheme);
    }
    return result;
  };
  using Prefixes = std::map<Role, std::string>;
  EXPECT_EQ(prefixes("sd15-ldm", Layout::kLdm), (Prefixes{{Role::kDiffusionModel, "model.diffusion_model. LDM"},
                                                          {Role::kClipL, "cond_stage_model.transformer. HF"},
                                                          {Role::kVae, "first_stage_model. LDM"}}));
  EXPECT_EQ(prefixes("sdxl-base-sgm", Layout::kLdm),
            (Prefixes{{Role::kDiffusionModel, "model.diffusion_model. LDM"},
                      {Role::kClipL, "conditioner.embedders.0.transformer. HF"},
                      {Role::kClipG, "conditioner.embedders.1.model. OpenCLIP"},
                      {Role::kVae, "first_stage_model. LDM"}}));
  EXPECT_EQ(prefixes("sd3-medium-incl-clips-t5", Layout::kLdm),
            (Prefixes{{Role::kDiffusionModel, "model.diffusion_model. SAI"},
                      {Role::kClipL, "text_encoders.clip_l.transformer. HF"},
                      {Role::kClipG, "text_encoders.clip_g.transformer. HF"},
                      {Role::kT5, "text_encoders.t5xxl.transformer. HF"},
                      {Role::kVae, "first_stage_model. LDM"}}));
  EXPECT_EQ(prefixes("sdxl-base-sgm", Layout::kDiffusers), (Prefixes{{Role::kDiffusionModel, "unet. diffusers"},
                                                                     {Role::kClipL, "text_encoder. HF"},
                                                                     {Role::kClipG, "text_encoder_2. HF"},
                                                                     {Role::kVae, "vae. diffusers"}}));
  EXPECT_EQ(prefixes("sd3-medium-incl-clips-t5", Layout::kDiffusers).at(Role::kT5), "text_encoder_3. HF");
}

TEST(OutputNaming, RefusesWhatHasNoOtherNames) {
  const Manifest manifest = load_manifest("controlnet-sd15-ldm");
  const Recognition found = recognise(manifest.tensors, manifest.metadata);
  const std::vector<const Component*> all = {&found.components.front()};
  EXPECT_THROW((void)output_naming(Layout::kDiffusers, *all[0], all), Error);
}

}  // namespace
}  // namespace gesso
