#include "models/names/adapter.h"

#include <gtest/gtest.h>

namespace gesso {
namespace {

TEST(AdapterName, IsTakenApart) {
  const auto name = parse_adapter_name("lora_unet_mid_block_attentions_0_proj_in.lora_down.weight");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->module, "lora_unet_mid_block_attentions_0_proj_in");
  EXPECT_EQ(name->suffix, ".lora_down.weight");
  EXPECT_EQ(name->part, AdapterPart::kDown);
  EXPECT_EQ(parse_adapter_name("a.lora_B.bias")->part, AdapterPart::kUpBias);
  EXPECT_EQ(parse_adapter_name("a.lokr_w2_b")->part, AdapterPart::kKronecker);
  EXPECT_EQ(parse_adapter_name("unet:3:up")->module, "unet:3");
  EXPECT_FALSE(parse_adapter_name("input_blocks.0.0.weight"));
  EXPECT_FALSE(parse_adapter_name(".alpha"));
  EXPECT_FALSE(parse_adapter_name(""));
}

TEST(AdapterModules, HaveOneNameWhateverTheTool) {
  for (const char* file_name :
       {"lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q.lora_down.weight",
        "unet.down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q.lora_A.weight",
        "unet.down_blocks.0.attentions.0.transformer_blocks.0.attn1.processor.to_q_lora.down.weight",
        "lycoris_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q.hada_w1_a"}) {
    const std::vector<Names::Entry> tensors{{file_name, {4, 320}, 0}};
    const AdapterModules adapter = read_adapter(tensors);
    ASSERT_EQ(adapter.modules.entries().size(), 1u) << file_name;
    EXPECT_EQ(adapter.modules.entries()[0].name, "down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q");
    EXPECT_TRUE(adapter.factors);
  }
}

TEST(AdapterModules, KnowWidthsAndTextEncoders) {
  const std::vector<Names::Entry> tensors{{"lora_te1_text_model_x.lora_down.weight", {4, 768}, 0},
                                          {"lora_te1_text_model_x.lora_up.weight", {3072, 4}, 1},
                                          {"lora_te1_text_model_x.alpha", {}, 2}};
  const AdapterModules adapter = read_adapter(tensors);
  EXPECT_TRUE(adapter.text_encoder);
  EXPECT_EQ(adapter.scheme, "kohya");
  EXPECT_EQ(adapter.method, "LoRA");
  EXPECT_TRUE(adapter.modules.find({"te1:text_model_x", {3072, 768}}));
}

TEST(AdapterModules, AScaleAloneIsNoAdapter) {
  const std::vector<Names::Entry> tensors{{"activations.0.alpha", {64}, 0}};
  EXPECT_FALSE(read_adapter(tensors).factors);
}

}  // namespace
}  // namespace gesso
