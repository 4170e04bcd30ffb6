#include "sampling/names.h"

#include <gtest/gtest.h>

#include "sampling/helpers.h"

namespace gesso {
namespace {

struct Row {
  std::string_view name;
  std::vector<std::string_view> aliases;
};

const std::vector<Row> kRows = {{"dpm++2m", {"k_dpmpp_2m"}}, {"euler", {}}};

TEST(Names, SpellingsOfOtherProgramsAreOneName) {
  for (const char* name : {"dpm++2m", "DPM++ 2M", "dpmpp_2m", "dpmpp-2m", "K_DPMPP_2M"})
    EXPECT_EQ(find_row(kRows, "sampler", name).name, "dpm++2m") << name;
  EXPECT_EQ(match_row(kRows, "dpm++2s"), nullptr);
  EXPECT_EQ(match_row(kRows, ""), nullptr);
}

TEST(Names, UnknownNameIsAnsweredWithTheNearestAndAllKnown) {
  expect_error(ErrorCode::kUsage, "unknown sampler 'eulre' (did you mean 'euler'?); known: dpm++2m, euler",
               [] { find_row(kRows, "sampler", "eulre"); });
  expect_error(ErrorCode::kUsage, "unknown sampler 'xyz'; known:", [] { find_row(kRows, "sampler", "xyz"); });
}

TEST(Names, HostileNameStaysOneShortLine) {
  const std::string name = "a\nb" + std::string(1'000'000, 'x');
  try {
    find_row(kRows, "sampler", name);
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_LT(message.size(), 200u);
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  std::string long_utf8(59, 'x');  // the cut would fall inside of the two bytes of a letter
  long_utf8 += "\xC3\xA9\xC3\xA9";
  expect_error(ErrorCode::kUsage, std::string(59, 'x') + "...'", [&] { find_row(kRows, "sampler", long_utf8); });
}

}  // namespace
}  // namespace gesso
