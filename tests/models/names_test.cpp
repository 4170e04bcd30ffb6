#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "models/manifest.h"
#include "models/names/clip.h"
#include "models/names/unet.h"
#include "models/names/vae.h"
#include "models/recognise.h"

namespace gesso {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Our names and shapes of the component of that role, as the placements make them of the file's tensors. Trailing
/// extents of 1 are dropped: tools store a 1x1 convolution with or without them.
std::map<std::string, std::vector<int64_t>> placed(std::string_view manifest_name, Role role) {
  const Manifest manifest = load_manifest(manifest_name);
  const Recognition recognition = recognise(manifest.tensors, manifest.metadata);
  const Component* component = recognition.find(role);
  std::map<std::string, std::vector<int64_t>> result;
  if (!component) return result;
  for (const auto& [index, placement] : component->tensors) {
    const Shape& shape = manifest.tensors[index].shape;
    std::vector<int64_t> dims(shape.begin(), shape.end());
    if (placement.parts > 1) {
      EXPECT_EQ(dims[0] % placement.parts, 0);
      dims[0] = dims[0] / placement.parts * placement.span;
    }
    if (placement.transpose) std::swap(dims.at(0), dims.at(1));
    while (dims.size() > 1 && dims.back() == 1) dims.pop_back();
    EXPECT_TRUE(result.emplace(placement.name, dims).second) << placement.name << " is placed twice";
  }
  return result;
}

struct Pair {
  const char *theirs, *ours;
  Role role;
};

class SameNetwork : public testing::TestWithParam<Pair> {};

TEST_P(SameNetwork, HasTheSameNamesAndShapesInBothNamings) {
  const auto theirs = placed(GetParam().theirs, GetParam().role), ours = placed(GetParam().ours, GetParam().role);
  EXPECT_FALSE(ours.empty());
  EXPECT_EQ(theirs, ours);
}

INSTANTIATE_TEST_SUITE_P(Manifests, SameNetwork,
                         testing::Values(Pair{"sd15-unet-diffusers", "sd15-unet-ldm", Role::kDiffusionModel},
                                         Pair{"flux1-dev-diffusers", "flux1-dev-bfl", Role::kDiffusionModel},
                                         Pair{"flux1-schnell-diffusers", "flux1-schnell-bfl", Role::kDiffusionModel},
                                         Pair{"sd35-large-diffusers", "sd35-large", Role::kDiffusionModel},
                                         Pair{"sd15-unet-ldm-prefixed", "sd15-unet-ldm", Role::kDiffusionModel},
                                         Pair{"sd15-modules-kohya-prefix", "sd15-unet-ldm", Role::kDiffusionModel},
                                         Pair{"sdxl-unet-diffusers", "sdxl-unet-sgm-prefixed", Role::kDiffusionModel},
                                         Pair{"sdxl-modules-kohya-prefix-diffusers-unet", "sdxl-modules-kohya-prefix",
                                              Role::kDiffusionModel},
                                         Pair{"sd15-vae-diffusers-oldattn", "sd15-vae-ldm", Role::kVae},
                                         Pair{"sdxl-vae-diffusers", "sd15-vae-ldm", Role::kVae},
                                         Pair{"sd15-modules-kohya-prefix", "sd15-vae-ldm", Role::kVae},
                                         Pair{"flux1-vae-diffusers", "flux1-ae-bfl", Role::kVae},
                                         Pair{"sd15-ldm-oldclip", "clip-l-hf", Role::kClipL},
                                         Pair{"sd15-ldm", "clip-l-hf", Role::kClipL},
                                         Pair{"sdxl-base-sgm", "clip-l-hf", Role::kClipL},
                                         Pair{"openclip-bigg-sgm", "clip-g-hf", Role::kClipG},
                                         Pair{"sdxl-base-sgm", "clip-g-hf", Role::kClipG}),
                         [](const auto& p) {
                           std::string name = std::string(p.param.theirs) + "_" + std::string(to_string(p.param.role));
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return name;
                         });

TEST(UnetNames, AreThoseOfTheFirstCode) {
  const Manifest manifest = load_manifest("sd15-unet-ldm");
  std::set<std::string> file_names;
  for (const TensorInfo& tensor : manifest.tensors) file_names.insert(tensor.name);
  std::set<std::string> names;
  for (const auto& [name, shape] : placed("sd15-unet-diffusers", Role::kDiffusionModel)) names.insert(name);
  EXPECT_EQ(names, file_names);
}

/// The names of the naming `scheme` as the network places them.
Place place_of(const Network& network, std::string_view scheme, const std::vector<std::string>& file_names) {
  std::vector<Names::Entry> entries;
  for (const std::string& name : file_names) entries.push_back({name, {}, 0});
  for (const Naming& naming : network.namings)
    if (naming.scheme == scheme) return naming.place(Names(entries));
  return {};
}

TEST(UnetNames, BlockNumbersFollowTheLayout) {
  // one resnet a level going down, two going up, attention on the first level of the way up only
  const Place place = place_of(unet_network(), "diffusers",
                               {"down_blocks.0.resnets.0.norm1.weight", "up_blocks.0.resnets.1.norm1.weight",
                                "up_blocks.0.attentions.0.norm.weight"});
  EXPECT_THAT(place("down_blocks.1.resnets.0.norm1.weight"),
              ElementsAre(Placement{"input_blocks.3.0.in_layers.0.weight"}));
  EXPECT_THAT(place("down_blocks.0.downsamplers.0.conv.bias"), ElementsAre(Placement{"input_blocks.2.0.op.bias"}));
  EXPECT_THAT(place("up_blocks.1.resnets.1.conv2.weight"),
              ElementsAre(Placement{"output_blocks.3.0.out_layers.3.weight"}));
  EXPECT_THAT(place("up_blocks.0.upsamplers.0.conv.weight"), ElementsAre(Placement{"output_blocks.1.2.conv.weight"}));
  EXPECT_THAT(place("up_blocks.1.upsamplers.0.conv.weight"), ElementsAre(Placement{"output_blocks.3.1.conv.weight"}));
}

TEST(UnetNames, OthersAreNotPlaced) {
  const Place diffusers = place_of(unet_network(), "diffusers", {"down_blocks.0.resnets.0.norm1.weight"});
  const Place ldm = place_of(unet_network(), "LDM", {});
  for (const char* name :
       {"", ".", "weight", "down_blocks.0.resnets.0.norm1.weights", "down_blocks.0.resnets.00.norm1.weight",
        "down_blocks.999999999999.resnets.0.norm1.weight", "down_blocks.999999.resnets.0.norm1.weight",
        "down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q.bias", "conv_in.extra.weight"})
    EXPECT_THAT(diffusers(name), IsEmpty()) << name;
  for (const char* name :
       {"", "input_blocks.0.0", "input_blocks.1.0.in_layers.1.weight", "input_blocks.01.0.in_layers.0.weight",
        "input_blocks.1.0.in_layers.0.weight.scale", "time_embed.1.weight"})
    EXPECT_THAT(ldm(name), IsEmpty()) << name;
}

TEST(VaeNames, UpLevelsAreCountedFromThePicture) {
  const Place place = place_of(vae_network(), "diffusers", {"decoder.up_blocks.3.resnets.0.norm1.weight"});
  EXPECT_THAT(place("decoder.up_blocks.0.resnets.2.conv1.bias"),
              ElementsAre(Placement{"decoder.up.3.block.2.conv1.bias"}));
  EXPECT_THAT(place("decoder.mid_block.attentions.0.query.weight"),
              ElementsAre(Placement{"decoder.mid.attn_1.q.weight"}));
  EXPECT_THAT(place("decoder.mid_block.attentions.0.to_out.0.bias"),
              ElementsAre(Placement{"decoder.mid.attn_1.proj_out.bias"}));
  EXPECT_THAT(place("encoder.conv_norm_out.weight"), ElementsAre(Placement{"encoder.norm_out.weight"}));
}

TEST(ClipNames, OpenClipSplitsAttentionAndTransposesTheProjection) {
  const Place place = place_of(clip_network(), "OpenCLIP", {});
  const std::string layer = "text_model.encoder.layers.7.self_attn.";
  EXPECT_THAT(place("transformer.resblocks.7.attn.in_proj_bias"),
              ElementsAre(Placement{layer + "q_proj.bias", 0, 3}, Placement{layer + "k_proj.bias", 1, 3},
                          Placement{layer + "v_proj.bias", 2, 3}));
  EXPECT_THAT(place("text_projection"), ElementsAre(Placement{"text_projection.weight", 0, 1, true}));
  EXPECT_THAT(place("text_projection.weight"), ElementsAre(Placement{"text_projection.weight"}));
  EXPECT_THAT(place("transformer.resblocks.7.weight"), IsEmpty());
  EXPECT_THAT(place("logit_scale"), IsEmpty());
}

std::set<std::string> names_of(std::string_view manifest, Role role) {
  std::set<std::string> names;
  for (const auto& [name, shape] : placed(manifest, role)) names.insert(name);
  return names;
}

TEST(MissingNames, NoneInWholeNetworks) {
  EXPECT_THAT(missing_names(unet_network(), names_of("sdxl-refiner-unet-sgm", Role::kDiffusionModel)), IsEmpty());
  EXPECT_THAT(missing_names(unet_network(), names_of("sd15-ldm-tiny", Role::kDiffusionModel)), IsEmpty());
  EXPECT_THAT(missing_names(vae_network(), names_of("sd15-vae-ldm", Role::kVae)), IsEmpty());
  EXPECT_THAT(missing_names(clip_network(), names_of("clip-l-hf", Role::kClipL)), IsEmpty());
}

TEST(MissingNames, EveryTensorOfAnUnetIsMissedExceptWholeOptionalPairs) {
  const auto names = names_of("sd15-unet-ldm", Role::kDiffusionModel);
  for (const char* name :
       {"time_embed.0.weight", "input_blocks.0.0.bias", "input_blocks.4.0.skip_connection.bias", "out.2.weight",
        "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight", "middle_block.1.proj_in.weight"}) {
    auto fewer = names;
    ASSERT_EQ(fewer.erase(name), 1u) << name;
    EXPECT_THAT(missing_names(unet_network(), fewer), ElementsAre(name));
  }
}

TEST(MissingNames, GapsAndLostEndsOfStacks) {
  auto names = names_of("sd15-unet-ldm", Role::kDiffusionModel);
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with("input_blocks.5.") || name.starts_with("output_blocks.11.");
  });
  EXPECT_THAT(missing_names(unet_network(), names), ElementsAre("input_blocks.5.*", "output_blocks.11.*"));
  auto clip = names_of("clip-l-hf", Role::kClipL);
  std::erase_if(clip, [](const std::string& name) {
    return name.find("layers.3.") != name.npos || name.find("final_layer") != name.npos;
  });
  EXPECT_THAT(missing_names(clip_network(), clip),
              ElementsAre("text_model.final_layer_norm.weight", "text_model.final_layer_norm.bias",
                          "text_model.encoder.layers.3.*"));
}

TEST(MissingNames, GapsWithinABlock) {
  auto names = names_of("sdxl-unet-sgm-prefixed", Role::kDiffusionModel);
  std::erase_if(names,
                [](const std::string& name) { return name.starts_with("input_blocks.7.1.transformer_blocks.3."); });
  EXPECT_THAT(missing_names(unet_network(), names), ElementsAre("input_blocks.7.1.transformer_blocks.3.*"));
}

TEST(MissingNames, HalfAnAutoencoderIsWhole) {
  auto names = names_of("sd15-vae-ldm", Role::kVae);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("encoder."); });
  EXPECT_THAT(missing_names(vae_network(), names), IsEmpty());
  std::erase_if(names, [](const std::string& name) { return name.starts_with("decoder.mid.attn_1."); });
  EXPECT_EQ(missing_names(vae_network(), names).size(), 10u);
}

/// The names that llama.cpp gives a T5 encoder of two blocks (gguf-py, tensor_mapping.py), and those of transformers.
TEST(T5Names, OfLlamaCpp) {
  const std::pair<std::string, std::string> layers[] = {
      {"attn_norm", "0.layer_norm"},         {"attn_q", "0.SelfAttention.q"},     {"attn_k", "0.SelfAttention.k"},
      {"attn_v", "0.SelfAttention.v"},       {"attn_o", "0.SelfAttention.o"},     {"ffn_norm", "1.layer_norm"},
      {"ffn_gate", "1.DenseReluDense.wi_0"}, {"ffn_up", "1.DenseReluDense.wi_1"}, {"ffn_down", "1.DenseReluDense.wo"}};
  std::map<std::string, std::string> names{
      {"token_embd.weight", "shared.weight"},
      {"enc.output_norm.weight", "encoder.final_layer_norm.weight"},
      {"enc.blk.0.attn_rel_b.weight", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"}};
  for (const std::string block : {"0", "1"})
    for (const auto& [theirs, ours] : layers)
      names.emplace("enc.blk." + block + "." + theirs + ".weight",
                    "encoder.block." + block + ".layer." + ours + ".weight");
  std::vector<TensorInfo> tensors;
  for (const auto& [theirs, ours] : names) tensors.push_back({theirs, DType::kF16, Shape{32, 32}, 0, 0});
  const Recognition t5 = recognise(tensors, {});
  const Component* component = t5.find(Role::kT5);
  ASSERT_TRUE(component);
  EXPECT_EQ(component->family->id, "t5");
  EXPECT_EQ(component->scheme, "llama.cpp");
  EXPECT_EQ(component->complete, true) << component->missing.size();
  EXPECT_THAT(t5.unknown, IsEmpty());
  for (const auto& [index, placement] : component->tensors)
    EXPECT_EQ(placement.name, names.at(tensors[index].name)) << tensors[index].name;

  tensors.push_back({"enc.blk.1.attn_rel_b.weight", DType::kF16, Shape{32, 32}, 0, 0});
  EXPECT_EQ(recognise(tensors, {}).components.at(0).family->id, "umt5") << "each block has its own positions there";
}

}  // namespace
}  // namespace gesso
