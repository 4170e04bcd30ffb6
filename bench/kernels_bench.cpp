// Throughput of the CPU's own kernels, per second of processor time and so per core, beside the f32 multiply-add peak
// measured in the same run: the ratio of the two means something on a busy machine too.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels_bench.cpp"
#include <benchmark/benchmark.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "base/threads.h"
#include "device/cpu/isa.h"
#include "device/cpu/kernels/kernels.h"
#include "device/device.h"

HWY_BEFORE_NAMESPACE();
namespace gesso::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Independent chains, enough to hide the latency; returns something that depends on all of them.
float multiply_add_chains(int64_t steps, int64_t* flops) {
  const hn::ScalableTag<float> d;
  auto a = hn::Set(d, 1.f), b = a, c = a, e = a, f = a, g = a, h = a, i = a, j = a, k = a;
  const auto x = hn::Set(d, 0.999f), y = hn::Set(d, 1e-3f);
  for (int64_t s = 0; s < steps; ++s) {
    a = hn::MulAdd(a, x, y), b = hn::MulAdd(b, x, y), c = hn::MulAdd(c, x, y), e = hn::MulAdd(e, x, y);
    f = hn::MulAdd(f, x, y), g = hn::MulAdd(g, x, y), h = hn::MulAdd(h, x, y), i = hn::MulAdd(i, x, y);
    j = hn::MulAdd(j, x, y), k = hn::MulAdd(k, x, y);
  }
  *flops = steps * 20 * static_cast<int64_t>(hn::Lanes(d));
  const auto sum =
      hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(hn::Add(h, i), hn::Add(j, k))));
  return hn::GetLane(sum);
}

}  // namespace gesso::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gesso {
namespace {

HWY_EXPORT(multiply_add_chains);

class HostDevice : public Device {
 public:
  std::string_view name() const override { return "host"; }
  std::shared_ptr<Storage> allocate(int64_t bytes) override {
    void* data = std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64));
    return std::shared_ptr<Storage>(new Storage(*this, data, bytes), [data](Storage* s) {
      delete s;
      std::free(data);
    });
  }

 private:
  const Kernels* begin(const OpCost&) override { return nullptr; }
};

Tensor filled(const Shape& shape, DType dtype) {
  static HostDevice device;
  Tensor f32 = device.empty(shape, DType::kF32);
  for (int64_t i = 0; i < f32.elements(); ++i) f32.data<float>()[i] = std::sin(static_cast<float>(i % 100003));
  Tensor t = device.empty(shape, dtype);
  cpu::cast(f32, t);
  return t;
}

void set_rate(benchmark::State& state, const char* name, double per_iteration) {
  state.counters[name] =
      benchmark::Counter(per_iteration * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void peak(benchmark::State& state) {
  int64_t flops = 0;
  for (auto _ : state)
    parallel_for(thread_count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t mine = 0;
        benchmark::DoNotOptimize(HWY_DYNAMIC_DISPATCH(multiply_add_chains)(1000000, &mine));
        if (i == 0) flops = mine;
      }
    });
  set_rate(state, "flops", static_cast<double>(flops * thread_count()));
}
BENCHMARK(peak)->MeasureProcessCPUTime();

void attention(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const int64_t d = state.range(1), heads = state.range(2), tq = state.range(3), tk = state.range(4), b = 2;
  const Tensor q = filled({b, tq, heads * d}, dtype), k = filled({b, tk, heads * d}, dtype),
               v = filled(k.shape(), dtype);
  Tensor y = filled(q.shape(), dtype);
  const Attention a{static_cast<int>(heads), 1 / std::sqrt(static_cast<float>(d)), false};
  for (auto _ : state) cpu::attention(q, k, v, a, y);
  set_rate(state, "flops", static_cast<double>(4 * b * heads * tq * tk * d));
}
constexpr int64_t kF32 = static_cast<int64_t>(DType::kF32), kBF16 = static_cast<int64_t>(DType::kBF16);
BENCHMARK(attention)
    ->ArgNames({"type", "d", "heads", "tq", "tk"})
    ->Args({kF32, 40, 8, 4096, 4096})
    ->Args({kF32, 64, 8, 4096, 4096})
    ->Args({kBF16, 64, 8, 4096, 4096})
    ->Args({kF32, 128, 8, 4096, 4096})
    ->Args({kF32, 512, 1, 4096, 4096})
    ->Args({kF32, 80, 8, 1024, 1024})
    ->Args({kF32, 160, 8, 256, 256})
    ->Args({kF32, 40, 8, 4096, 77})
    ->Args({kF32, 64, 12, 77, 77})
    ->MeasureProcessCPUTime();

void group_norm(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const int64_t side = state.range(1), c = state.range(2), n = state.range(3);
  const Tensor x = filled({n, side, side, c}, dtype), scale = filled({c}, DType::kF32);
  Tensor y = filled(x.shape(), dtype);
  const GroupNorm g{32, 1e-5f, state.range(4) ? Activation::kSilu : Activation::kNone};
  for (auto _ : state) cpu::group_norm(x, {}, scale, scale, g, y);
  set_rate(state, "bytes", static_cast<double>(3 * x.bytes()));  // read twice, written once
}
BENCHMARK(group_norm)
    ->ArgNames({"type", "side", "c", "n", "silu"})
    ->Args({kF32, 64, 320, 2, 0})
    ->Args({kF32, 64, 320, 2, 1})
    ->Args({kBF16, 64, 320, 2, 1})
    ->Args({kF32, 16, 1280, 2, 1})
    ->Args({kF32, 512, 128, 1, 1})
    ->MeasureProcessCPUTime();

void layer_norm(benchmark::State& state) {
  const auto dtype = static_cast<DType>(state.range(0));
  const Tensor x = filled({2, 4096, state.range(1)}, dtype), scale = filled({state.range(1)}, DType::kF32);
  Tensor y = filled(x.shape(), dtype);
  for (auto _ : state) cpu::layer_norm(x, scale, scale, 1e-5f, y);
  set_rate(state, "bytes", static_cast<double>(2 * x.bytes()));
}
BENCHMARK(layer_norm)
    ->ArgNames({"type", "c"})
    ->Args({kF32, 320})
    ->Args({kBF16, 320})
    ->Args({kF32, 1280})
    ->MeasureProcessCPUTime();

void activate(benchmark::State& state) {
  const Tensor x = filled({2, 4096, 1280}, static_cast<DType>(state.range(0)));
  Tensor y = filled(x.shape(), x.dtype());
  for (auto _ : state) cpu::activate(x, static_cast<Activation>(state.range(1)), y);
  set_rate(state, "bytes", static_cast<double>(2 * x.bytes()));
}
BENCHMARK(activate)->ArgNames({"type", "activation"})->ArgsProduct({{kF32, kBF16}, {1, 2, 3}})->MeasureProcessCPUTime();

void geglu(benchmark::State& state) {
  const Tensor x = filled({2, 4096, 2560}, static_cast<DType>(state.range(0)));
  Tensor y = filled({2, 4096, 1280}, x.dtype());
  for (auto _ : state) cpu::geglu(x, y);
  set_rate(state, "bytes", static_cast<double>(x.bytes() + y.bytes()));
}
BENCHMARK(geglu)->ArgName("type")->Arg(kF32)->Arg(kBF16)->MeasureProcessCPUTime();

void to_channels_last(benchmark::State& state) {
  const Tensor x = filled({1, state.range(0), 512, 512}, DType::kF32);
  Tensor y = filled({1, 512, 512, state.range(0)}, DType::kF32);
  for (auto _ : state) cpu::to_channels_last(x, y);
  set_rate(state, "bytes", static_cast<double>(2 * x.bytes()));
}
BENCHMARK(to_channels_last)->ArgName("c")->Arg(3)->Arg(128)->MeasureProcessCPUTime();

}  // namespace
}  // namespace gesso

// GESSO_ISA caps this program too.
int main(int argc, char** argv) {
  gesso::apply_isa_cap(gesso::requested_isa());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
#endif
