#include "weights/importance_observer.h"

#include "base/threads.h"
#include "device/cpu/cpu_device.h"
#include "support/golden.h"

namespace gesso {
namespace {

TEST(ImportanceObserver, SumsTheSquaresOfWhatMatricesAreMultipliedBy) {
  const Golden golden("scaled");
  CpuDevice cpu;
  ImportanceObserver observer;
  const auto store = golden.store("int8.");  // weight [4, 8]
  store->set_file_prefix("model.diffusion_model.");
  const Weight w = store->get("weight", {4, 8});
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i % 7) - 3);
  const Tensor x = from_values(cpu, values, {3, 8});
  (void)linear(x, w, nullptr, {});  // not yet seen
  cpu.set_observers({&observer});
  (void)linear(x, w, nullptr, {});
  (void)linear(x.slice(0, 1), w, nullptr, {});
  (void)activate(x, Activation::kSilu);
  cpu.set_observers({});
  (void)linear(x, w, nullptr, {});

  Imatrix found;
  observer.collect(*store, found);
  ASSERT_EQ(found.entries.size(), 1u);
  const Importance& importance = found.entries.at("model.diffusion_model.weight");
  EXPECT_EQ(importance.rows, 4);
  EXPECT_EQ(importance.calls, 2);
  for (size_t c = 0; c < 8; ++c) {
    double sum = 0;
    for (const size_t row : {0, 1, 2, 0}) sum += static_cast<double>(values[8 * row + c]) * values[8 * row + c];
    EXPECT_EQ(importance.sums[c], sum) << c;
  }
  Imatrix again;
  observer.collect(*store, again);
  EXPECT_TRUE(again.entries.empty()) << "what was collected is gone";
}

}  // namespace
}  // namespace gesso
