#include "device/cpu/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdlib>

#include "base/error.h"

namespace gesso {
namespace {

class IsaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* value = std::getenv("GESSO_ISA")) saved_ = value;
  }
  void TearDown() override {
    saved_.empty() ? ::unsetenv("GESSO_ISA") : ::setenv("GESSO_ISA", saved_.c_str(), 1);
    hwy::DisableTargets(0);
  }
  std::string saved_;
};

TEST_F(IsaTest, TheEnvironmentNamesTheCap) {
  ::unsetenv("GESSO_ISA");
  EXPECT_EQ(requested_isa(), IsaLevel::kAmx);
  ::setenv("GESSO_ISA", "", 1);
  EXPECT_EQ(requested_isa(), IsaLevel::kAmx);
  for (const IsaLevel level :
       {IsaLevel::kBaseline, IsaLevel::kSse4, IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAmx}) {
    ::setenv("GESSO_ISA", to_string(level), 1);
    EXPECT_EQ(requested_isa(), level);
  }
}

TEST_F(IsaTest, AnUnknownLevelIsAUsageErrorThatListsThem) {
  ::setenv("GESSO_ISA", "avx", 1);
  try {
    requested_isa();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("'avx'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("baseline, sse4, avx2, avx512, amx"));
  }
}

TEST_F(IsaTest, TheCapBindsTheKernelsAndHoldsWhenRepeated) {
  const int64_t all = hwy::SupportedTargets();
  apply_isa_cap(IsaLevel::kAmx);
  EXPECT_EQ(hwy::SupportedTargets(), all);
  if (detected_isa() > IsaLevel::kAvx2) {
    apply_isa_cap(IsaLevel::kAvx2);
    EXPECT_EQ(hwy::SupportedTargets() & (HWY_AVX3 | HWY_AVX3_DL), 0);
    EXPECT_NE(hwy::SupportedTargets() & HWY_AVX2, 0);
    EXPECT_NO_THROW(apply_isa_cap(IsaLevel::kAvx2));
  }
}

TEST_F(IsaTest, DetectionAgreesWithHighway) {
  const int64_t targets = hwy::SupportedTargets();
  EXPECT_EQ(detected_isa() >= IsaLevel::kAvx512, (targets & HWY_AVX3) != 0);
  EXPECT_EQ(detected_isa() >= IsaLevel::kAvx2, (targets & HWY_AVX2) != 0);
  EXPECT_FALSE(has_fast_bf16(IsaLevel::kAvx512));
}

}  // namespace
}  // namespace gesso
