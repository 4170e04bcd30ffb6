#include "io/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "io/shards.h"
#include "pickles.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using namespace std::string_literals;
using namespace testing::pickles;
using testing::put;
using testing::TempFolder;

const std::filesystem::path kFixtures = GESSO_TEST_DATA "/checkpoints";

std::vector<std::string> names(const TensorFile& file) {
  std::vector<std::string> result;
  for (const TensorInfo& t : file.tensors()) result.push_back(t.name);
  return result;
}

CheckpointTensors parse_checkpoint_bytes(const std::string& file) {
  return parse_legacy_checkpoint(std::as_bytes(std::span(file.data(), file.size())), "model.ckpt");
}

bool same_values(const TensorFile& file, const TensorInfo& found, const TensorFile& reference,
                 const TensorInfo& wanted) {
  const auto a = file.read(found), b = reference.read(wanted);
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

TEST(Checkpoint, EveryFormAndProtocolHasTorchsValues) {  // P01; bit by bit
  const auto reference = open_tensor_file(kFixtures / "values.safetensors");
  for (const char* form : {"zip", "legacy"})
    for (int protocol = 0; protocol <= 5; ++protocol) {
      SCOPED_TRACE(fmt::format("{} {}", form, protocol));
      const auto file = open_tensor_file(kFixtures / fmt::format("{}_{}.pt", form, protocol));
      EXPECT_EQ(file->format(), form == "zip"s ? "PyTorch" : "PyTorch, before 1.6");
      ASSERT_EQ(file->tensors().size(), reference->tensors().size());
      for (const TensorInfo& wanted : reference->tensors()) {
        const auto found = std::ranges::find(file->tensors(), wanted.name, &TensorInfo::name);
        ASSERT_NE(found, file->tensors().end()) << wanted.name;
        EXPECT_EQ(found->dtype, wanted.dtype) << wanted.name;
        EXPECT_EQ(found->shape, wanted.shape) << wanted.name;
        EXPECT_TRUE(same_values(*file, *found, *reference, wanted)) << wanted.name;
        file->done(*found);
        EXPECT_TRUE(same_values(*file, *found, *reference, wanted)) << wanted.name << " again";
      }
    }
}

TEST(Checkpoint, MadeContiguousForAllReadersAndLetGoOf) {
  const auto file = open_tensor_file(kFixtures / "zip_2.pt");
  const auto t = *std::ranges::find(file->tensors(), "strides.transposed", &TensorInfo::name);
  const auto first = file->read(t), second = file->read(t);
  EXPECT_EQ(first.data(), second.data());
  const std::vector<std::byte> before(second.begin(), second.end());
  file->done(t);  // one reader is left
  EXPECT_TRUE(std::equal(second.begin(), second.end(), before.begin()));
  file->done(t);
  file->done(t);  // once too often is harmless
  EXPECT_TRUE(std::ranges::equal(file->read(t), before));
  EXPECT_REFUSED(file->read({"no", DType::kU8, Shape{9}, 0, 9}), ErrorCode::kInternal, "'no'");
}

TEST(Checkpoint, TakesTheWeightsOfATrainingCheckpoint) {  // P08
  const auto file = open_tensor_file(kFixtures / "lightning.ckpt");
  EXPECT_EQ(names(*file), (std::vector<std::string>{"first_stage_model.conv.weight", "model.bias"}));
  ASSERT_EQ(file->notes().size(), 1u);
  EXPECT_EQ(file->notes()[0],
            "the weights are those under 'state_dict'; not used, with their numbers of tensors: "
            "'optimizer_states' (2), 'callbacks' (1)");
}

TEST(Checkpoint, AveragedWeightsGoBeforeTheLastOnes) {
  const auto file = open_tensor_file(kFixtures / "ema.pth");
  EXPECT_EQ(names(*file), std::vector<std::string>{"conv_first.weight"});
  ASSERT_EQ(file->notes().size(), 1u);
  EXPECT_NE(file->notes()[0].find("under 'params_ema'; not used, with their numbers of tensors: 'params' (1)"),
            std::string::npos)
      << file->notes()[0];
}

TEST(Checkpoint, UnfoldsParameterDicts) {
  const auto file = open_tensor_file(kFixtures / "embedding.pt");
  EXPECT_EQ(names(*file), (std::vector<std::string>{"string_to_token.*", "string_to_param.*"}));
  EXPECT_EQ(file->tensors()[1].shape, (Shape{2, 4}));
}

TEST(Checkpoint, SixtyFourBitArchives) {
  const auto file = open_tensor_file(kFixtures / "zip64.pt");
  ASSERT_EQ(names(*file), std::vector<std::string>{"weight"});
  float values[4];
  std::memcpy(values, file->read(file->tensors()[0]).data(), sizeof(values));
  EXPECT_EQ(values[3], 3.f);
}

TEST(Checkpoint, MergesWithOthers) {  // offsets of tensors that share a storage
  const auto merged = merge_tensor_files(
      "both", {open_tensor_file(kFixtures / "zip_2.pt"), open_tensor_file(kFixtures / "embedding.pt")});
  const auto reference = open_tensor_file(kFixtures / "values.safetensors");
  for (const TensorInfo& wanted : reference->tensors()) {
    const auto found = std::ranges::find(merged->tensors(), wanted.name, &TensorInfo::name);
    ASSERT_NE(found, merged->tensors().end()) << wanted.name;
    EXPECT_TRUE(same_values(*merged, *found, *reference, wanted)) << wanted.name;
  }
}

TEST(Checkpoint, ProgramsAreNotWeights) {
  EXPECT_REFUSED(open_tensor_file(kFixtures / "module.pt"), ErrorCode::kUnsupported, "torch.nn.modules.linear.Linear");
  EXPECT_REFUSED(open_tensor_file(kFixtures / "torchscript.pt"), ErrorCode::kUnsupported, "TorchScript");
}

TEST(Checkpoint, EveryTruncationIsRefused) {  // P04
  for (const char* name : {"legacy_2.pt", "legacy_0.pt", "zip_4.pt"}) {
    const std::string whole = read_file(kFixtures / name, 1 << 20);
    const TempFolder folder;
    for (size_t size = 0; size < whole.size(); size += size < 600 || size + 40 > whole.size() ? 1 : 37) {
      try {
        open_tensor_file(put(folder / "cut.pt", whole.substr(0, size)));
        ADD_FAILURE() << name << " accepted after " << size << " bytes";
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      }
    }
  }
}

TEST(Checkpoint, AnyDamagedByteIsReadOrRefused) {
  for (const char* name : {"legacy_2.pt", "zip_2.pt", "zip64.pt", "lightning.ckpt"}) {
    const std::string whole = read_file(kFixtures / name, 1 << 20);
    for (size_t at = 0; at < std::min<size_t>(whole.size(), 4000); at += 3) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      const auto bytes = std::as_bytes(std::span(damaged.data(), damaged.size()));
      try {
        const auto found =
            name[0] == 'l' && name[1] == 'e' ? parse_legacy_checkpoint(bytes, "x") : parse_zip_checkpoint(bytes, "x");
        for (const CheckpointTensor& t : found.tensors) EXPECT_LE(t.info.offset + t.window_bytes, damaged.size());
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      }
    }
  }
}

TEST(Checkpoint, HandMadeFileIsRead) {  // so that the refusals below fail for their own reasons
  const auto found =
      parse_checkpoint_bytes(legacy(dict("w", tensor("FloatStorage", 2, {2}, {1})), {{"0", 2, "01234567"}}));
  ASSERT_EQ(found.tensors.size(), 1u);
  EXPECT_EQ(found.tensors[0].info.shape, Shape{2});
  EXPECT_TRUE(found.tensors[0].contiguous);
}

TEST(Checkpoint, ExpandedViewsAreBounded) {  // P02
  const auto expanded = [](int rows) {
    return legacy(dict("w", tensor("FloatStorage", 1, {rows, 1000}, {0, 0})), {{"0", 1, "0123"}});
  };
  EXPECT_EQ(parse_checkpoint_bytes(expanded(262)).tensors.size(), 1u);
  EXPECT_REFUSED(parse_checkpoint_bytes(expanded(263)), ErrorCode::kBadFile, "'w': an expanded view of 1052000 bytes");
  EXPECT_REFUSED(parse_checkpoint_bytes(expanded(2'000'000'000)), ErrorCode::kBadFile, "'w'");
}

TEST(Checkpoint, StridesStayInTheStorage) {
  const std::vector<Storage> one{{"0", 2, "01234567"}};
  for (const auto& [shape, strides] : std::vector<std::pair<std::vector<int>, std::vector<int>>>{
           {{3}, {1}}, {{2}, {2}}, {{2, 2}, {1, 1}}, {{2147483647, 2147483647, 2147483647}, {1, 1, 1}}, {{2}, {-1}}})
    EXPECT_REFUSED(parse_checkpoint_bytes(legacy(dict("w", tensor("FloatStorage", 2, shape, strides)), one)),
                   ErrorCode::kBadFile, "'w'");
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy(dict("w", tensor("FloatStorage", 2, {2}, {1, 1})), one)),
                 ErrorCode::kBadFile, "strides");
  EXPECT_REFUSED(parse_checkpoint_bytes(
                     legacy(dict("w", tensor("FloatStorage", 2, std::vector<int>(9, 1), std::vector<int>(9, 1))), one)),
                 ErrorCode::kUnsupported, "9 dimensions");
}

TEST(Checkpoint, StorageSizesAreHeldToTheType) {  // P07
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy(dict("w", tensor("FloatStorage", 4, {4}, {1})), {{"0", 2, "01234567"}})),
                 ErrorCode::kBadFile, "said to have 4 elements of 4 bytes, but has 8 bytes");
  EXPECT_REFUSED(
      parse_checkpoint_bytes(legacy(dict("w", tensor("ComplexFloatStorage", 1, {1}, {1})), {{"0", 1, "01234567"}})),
      ErrorCode::kUnsupported, "element type");
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy(dict("w", tensor("FloatStorage", 1, {1}, {1})), {})),
                 ErrorCode::kBadFile, "the storage '0' is missing");
}

TEST(Checkpoint, NothingIsEverRun) {  // P11
  const TempFolder folder;
  const auto canary = folder / "canary";
  for (const char* global :
       {"os\nsystem", "posix\nsystem", "subprocess\nPopen", "builtins\nexec", "__builtin__\neval"}) {
    const std::string call = "c"s + global + "\n" + text("touch '" + canary.string() + "'") + "\x85R";
    EXPECT_REFUSED(open_tensor_file(put(folder / "evil.pt", legacy(dict("w", call), {}))), ErrorCode::kBadFile,
                   std::string(global).substr(std::string(global).find('\n') + 1));
    EXPECT_FALSE(std::filesystem::exists(canary));
  }
}

TEST(Checkpoint, UnknownObjectsAreInertAndNamed) {  // P08
  const std::string object = "cacme.util\nMeter\n)R}" + text("sum") + "K\x05sb";
  const auto found = parse_checkpoint_bytes(legacy(
      "}(" + text("meter") + object + text("w") + tensor("FloatStorage", 2, {2}, {1}) + "u", {{"0", 2, "01234567"}}));
  EXPECT_EQ(found.tensors.size(), 1u);
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_NE(found.notes[0].find("'acme.util.Meter'"), std::string::npos) << found.notes[0];
  const std::string strange = "cacme.util\nrebuild\n(" + tensor("FloatStorage", 2, {2}, {1}) + "tR";
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy(dict("w", strange), {{"0", 2, "01234567"}})), ErrorCode::kUnsupported,
                 "tensor 'w' is made by 'acme.util.rebuild'");
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy(object, {})), ErrorCode::kUnsupported,
                 "a whole Python object of 'acme.util.Meter'");
}

TEST(Checkpoint, UnfoldingIsBounded) {
  std::string bomb = "}";  // each dict holds the one before twice: 2^30 paths
  for (int i = 0; i < 30; ++i)
    bomb +=
        "q\x01"
        "0}(" +
        text("a") + "h\x01" + text("b") + "h\x01u";
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy(bomb, {})), ErrorCode::kBadFile, "unfold");
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy("}q\x01" + text("a") + "h\x01s", {})), ErrorCode::kBadFile,
                 "deep");  // holds itself
  const std::string same =
      "}(" + text("w") + tensor("FloatStorage", 2, {2}, {1}) + text("w") + tensor("FloatStorage", 2, {2}, {1}) + "u";
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy(same, {{"0", 2, "01234567"}})), ErrorCode::kBadFile, "'w' twice");
  EXPECT_REFUSED(parse_checkpoint_bytes(legacy("}", {})), ErrorCode::kBadFile, "no tensors");
  EXPECT_REFUSED(
      parse_checkpoint_bytes(legacy(dict("\xff", tensor("FloatStorage", 2, {2}, {1})), {{"0", 2, "01234567"}})),
      ErrorCode::kBadFile, "UTF-8");
}

TEST(Checkpoint, TellsOtherPicklesAndZipsApart) {  // P05
  const TempFolder folder;
  EXPECT_REFUSED(open_tensor_file(put(folder / "a.pt", "\x80\x04}."s)), ErrorCode::kUnsupported, "not of torch.save");
  EXPECT_REFUSED(open_tensor_file(put(folder / "b.pt", "PK\x05\x06"s + std::string(18, '\0'))), ErrorCode::kUnsupported,
                 "no data.pkl");
  EXPECT_REFUSED(open_tensor_file(put(folder / "c.pt", std::string(257, '\0') + "ustar\0"s + std::string(200, '\0'))),
                 ErrorCode::kUnsupported, "tar archive");
  std::string old = legacy("}", {});
  old[old.find("M\xe9\x03") + 1] = 'x';
  EXPECT_REFUSED(parse_checkpoint_bytes(old), ErrorCode::kUnsupported, "unknown version");
}

}  // namespace
}  // namespace gesso
