#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "benchmark/benchmarks.h"
#include "benchmark/report.h"
#include "ops/ops.h"

namespace gesso {
namespace {

TEST(Benchmarks, NamesAreUniqueAndSomeAreUsual) {
  std::set<std::string> names;
  int usual = 0;
  for (const Benchmark& benchmark : benchmarks()) {
    EXPECT_TRUE(names.insert(benchmark.name).second) << benchmark.name;
    usual += benchmark.usual;
  }
  EXPECT_GT(usual, 3);
  EXPECT_LT(usual, static_cast<int>(names.size()));
}

TEST(Benchmarks, CostsAreThoseOfTheMetaDevice) {
  CpuDevice device;
  const Measurement m =
      measure({device, DType::kF32, {.f32 = 1e12, .copy = 1e12}}, "sum", "of two",
              [](Device& on, DType compute) { return [x = on.empty({1000}, compute)] { (void)add(x, x); }; });
  EXPECT_EQ(m.name, "sum");
  EXPECT_EQ(m.flops, 1000);
  EXPECT_EQ(m.bytes, 12000);
  EXPECT_GE(m.peak, 4000);  // the result
  EXPECT_GT(m.seconds, 0);
  EXPECT_DOUBLE_EQ(m.fraction, 12000 / 1e12 / m.seconds);
}

TEST(Benchmarks, ReportHasMachineAndResults) {
  std::vector<std::string> lines;
  const Json report = run_benchmarks({.names = {"norm"}, .threads = 1, .precision = "f32"},
                                     [&](const std::string& line) { lines.push_back(line); });
  EXPECT_EQ(report["machine"]["threads"], 1);
  EXPECT_EQ(report["machine"]["precision"], "F32");
  EXPECT_GT(report["machine"]["f32_flops"].get<double>(), 0);
  ASSERT_GE(report["results"].size(), 3u);
  EXPECT_EQ(lines.size(), report["results"].size() + 3);
  for (const Json& result : report["results"]) {
    EXPECT_TRUE(result["name"].get<std::string>().starts_with("norm.")) << result;
    EXPECT_GT(result["fraction_of_limit"].get<double>(), 0) << result;
  }
  EXPECT_GT(report["peak_rss_bytes"].get<int64_t>(), 1 << 20);
}

TEST(Benchmarks, UnknownNamesListTheKnownOnes) {
  try {
    (void)run_benchmarks({.names = {"norm", "nrom"}}, [](const std::string&) {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("there is no benchmark 'nrom'")) << text;
    for (const Benchmark& benchmark : benchmarks()) EXPECT_NE(text.find(benchmark.name), text.npos) << text;
  }
  EXPECT_THROW((void)run_benchmarks({.precision = "f8"}, [](const std::string&) {}), Error);
}

}  // namespace
}  // namespace gesso
