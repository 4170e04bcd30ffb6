#include "benchmark/benchmarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "benchmark/pattern_file.h"
#include "device/meta/meta_device.h"
#include "ops/ops.h"
#include "pipeline/model_files.h"
#include "pipeline/upscaler.h"
#include "weights/pattern_weight.h"

namespace gesso {

std::span<const std::byte> embedded_manifest_sd15();
std::span<const std::byte> embedded_manifest_sdxl();
std::span<const std::byte> embedded_manifest_x4plus();

namespace {

using Report = std::function<void(Measurement)>;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Tensor filled(Device& device, const Shape& shape, DType dtype) {
  if (device.name() == "meta") return device.empty(shape, dtype);  // which books what it is told to do
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = pattern(static_cast<int64_t>(i), 1.f);
  return cast(from_values(device, values, shape), dtype);
}

Weight weight(const Shape& shape) {
  return std::make_shared<PatternWeight>("pattern", shape);
}

// ---- single operations, at the shapes where the networks of most people spend their time

struct Matmul {
  const char* where;
  int64_t rows, in, out;
};
constexpr Matmul kMatmuls[] = {
    {"SD 1.5: feed-forward in", 8192, 320, 2560},  {"SD 1.5: query", 8192, 320, 320},
    {"SD 1.5: feed-forward out", 2048, 2560, 640}, {"SD 1.5: cross-attention keys", 154, 768, 640},
    {"SDXL: feed-forward in", 2048, 1280, 10240},  {"SDXL: feed-forward out", 2048, 5120, 1280},
    {"FLUX.1: feed-forward", 4608, 3072, 12288},   {"text encoder: feed-forward", 77, 768, 3072},
};

void run_matmul(const BenchmarkSetup& setup, const Report& report) {
  for (const Matmul& m : kMatmuls)
    report(measure(setup, fmt::format("matmul.{}x{}x{}", m.rows, m.in, m.out), m.where,
                   [&](Device& device, DType compute) {
                     return [x = filled(device, {m.rows, m.in}, compute), w = weight({m.out, m.in}),
                             b = weight({m.out})] { (void)linear(x, w, b); };
                   }));
}

struct Convolution {
  const char* where;
  int64_t n, side, in, out;
  int kernel, stride;
};
constexpr Convolution kConvolutions[] = {
    {"SD 1.5: first level", 2, 64, 320, 320, 3, 1},
    {"SD 1.5: second level", 2, 32, 640, 640, 3, 1},
    {"SD 1.5: third level", 2, 16, 1280, 1280, 3, 1},
    {"SD 1.5: fourth level", 2, 8, 1280, 1280, 3, 1},
    {"SD 1.5: up, with its skip", 2, 16, 2560, 1280, 3, 1},
    {"SD 1.5: down", 2, 64, 320, 320, 3, 2},
    {"SD 1.5: latent in", 2, 64, 4, 320, 3, 1},
    {"decoder, 512x512: 512 channels", 1, 128, 512, 512, 3, 1},
    {"decoder, 512x512: 256 channels", 1, 512, 256, 256, 3, 1},
    {"decoder, 512x512: 128 channels", 1, 512, 128, 128, 3, 1},
    {"decoder, 512x512: picture out", 1, 512, 128, 3, 3, 1},
};

void run_conv(const BenchmarkSetup& setup, const Report& report) {
  for (const Convolution& c : kConvolutions)
    report(measure(
        setup,
        fmt::format("conv.{}x{}x{}x{}-{}.{}x{}s{}", c.n, c.side, c.side, c.in, c.out, c.kernel, c.kernel, c.stride),
        c.where, [&](Device& device, DType compute) {
          const int pad = c.kernel / 2;
          return [x = filled(device, {c.n, c.side, c.side, c.in}, compute),
                  w = weight({c.out, c.in, c.kernel, c.kernel}), b = weight({c.out}),
                  conv = Conv2d{.stride = c.stride, .top = pad, .left = pad, .bottom = pad, .right = pad}] {
            (void)conv2d(x, w, b, conv);
          };
        }));
}

struct AttentionCase {
  const char* where;
  int64_t n, heads, width, queries, keys;
};
constexpr AttentionCase kAttentions[] = {
    {"SD 1.5, 512x512", 2, 8, 40, 4096, 4096},     {"SDXL, 1024x1024", 2, 10, 64, 4096, 4096},
    {"FLUX.1, 1024x1024", 1, 24, 128, 4608, 4608}, {"SD 1.5, second level", 2, 8, 80, 1024, 1024},
    {"SD 1.5, to the text", 2, 8, 40, 4096, 77},   {"decoder, 512x512", 1, 1, 512, 4096, 4096},
};

void run_attention(const BenchmarkSetup& setup, const Report& report) {
  for (const AttentionCase& a : kAttentions)
    report(measure(setup, fmt::format("attention.{}x{}x{}.{}-{}", a.n, a.heads, a.width, a.queries, a.keys), a.where,
                   [&](Device& device, DType compute) {
                     return [q = filled(device, {a.n, a.queries, a.heads * a.width}, compute),
                             k = filled(device, {a.n, a.keys, a.heads * a.width}, compute),
                             how = Attention{static_cast<int>(a.heads), 1 / std::sqrt(static_cast<float>(a.width)),
                                             false}] { (void)attention(q, k, k, how); };
                   }));
}

void run_norms(const BenchmarkSetup& setup, const Report& report) {
  const auto group = [&](int64_t n, int64_t side, int64_t c) {
    report(measure(setup, fmt::format("norm.group.{}x{}x{}x{}", n, side, side, c), "with SiLU",
                   [&](Device& device, DType compute) {
                     return [x = filled(device, {n, side, side, c}, compute), w = weight({c}),
                             g = GroupNorm{32, 1e-5f, Activation::kSilu}] { (void)group_norm(x, w, w, g); };
                   }));
  };
  const auto layer = [&](int64_t rows, int64_t c) {
    report(measure(setup, fmt::format("norm.layer.{}x{}", rows, c), "", [&](Device& device, DType compute) {
      return [x = filled(device, {1, rows, c}, compute), w = weight({c})] { (void)layer_norm(x, w, w, 1e-5f); };
    }));
  };
  group(2, 64, 320), group(2, 16, 1280), group(1, 512, 128);
  layer(8192, 320), layer(4608, 3072);
}

void run_elementwise(const BenchmarkSetup& setup, const Report& report) {
  const auto one = [&](const char* name, const Shape& shape, Tensor (*op)(const Tensor&)) {
    report(measure(setup, fmt::format("{}.{}", name, fmt::join(shape, "x")), "", [&](Device& device, DType compute) {
      return [x = filled(device, shape, compute), op] { (void)op(x); };
    }));
  };
  one("silu", {2, 4096, 1280}, [](const Tensor& x) { return activate(x, Activation::kSilu); });
  one("geglu", {2, 4096, 2560}, geglu);
  one("add", {2, 4096, 1280}, [](const Tensor& x) { return add(x, x); });
  one("to_channels_last", {1, 128, 512, 512}, to_channels_last);
  one("concat", {2, 64, 64, 320}, [](const Tensor& x) { return concat(x, x); });
}

void run_convert(const BenchmarkSetup& setup, const Report& report) {
  for (const auto& [from, to] : {std::pair(DType::kF16, DType::kF32), std::pair(DType::kF16, DType::kBF16),
                                 std::pair(DType::kF32, DType::kBF16), std::pair(DType::kBF16, DType::kF32)})
    report(measure(setup, fmt::format("convert.{}-{}", to_string(from), to_string(to)), "16 M elements",
                   [from = from, to = to](Device& device, DType) {
                     return [x = filled(device, {1 << 24}, from), to] { (void)cast(x, to); };
                   }));
}

// ---- whole networks, of the real shapes and a pattern's values

struct Network {
  const char* name;
  std::span<const std::byte> (*manifest)();
  int size;  ///< of the picture
};
constexpr Network kSd15{"sd15", embedded_manifest_sd15, 512};
constexpr Network kSdxl{"sdxl", embedded_manifest_sdxl, 1024};

LoadedModel load(const Network& network) {
  return load_model(std::make_shared<PatternFile>(network.name, network.manifest()));
}

Measurement measure_text(const BenchmarkSetup& setup, const Network& network, LatentDiffusion& model) {
  return measure(setup, fmt::format("{}-text", network.name), "a prompt of one chunk",
                 [&](Device& device, DType compute) {
                   return [&, compute] {
                     (void)model.encode(device, compute, "a red house under a yellow sun",
                                        {.width = network.size, .height = network.size});
                   };
                 });
}

Measurement measure_denoiser(const BenchmarkSetup& setup, const Network& network, LatentDiffusion& model) {
  MetaDevice shapes;
  const Conditioning text = model.encode(shapes, setup.compute, "", {.width = network.size, .height = network.size});
  const LatentFormat& format = model.latent_format();
  const int64_t side = network.size / format.scale;
  return measure(setup, fmt::format("{}-unet", network.name),
                 fmt::format("one step of {}x{} with guidance", network.size, network.size),
                 [&](Device& device, DType compute) {
                   const Tensor x = filled(device, {2, side, side, format.channels}, compute);
                   const Tensor context = filled(device, {2, text.context.dim(1), text.context.dim(2)}, compute);
                   const Tensor vector = text.vector ? filled(device, {2, text.vector.dim(1)}, compute) : Tensor();
                   return [&model, x, context, vector] { (void)model.predict(x, 500.f, context, vector); };
                 });
}

Measurement measure_decoder(const BenchmarkSetup& setup, const Network& network, LatentDiffusion& model) {
  const int64_t side = network.size / model.latent_format().scale;
  return measure(setup, fmt::format("{}-vae", network.name), fmt::format("{}x{}", network.size, network.size),
                 [&](Device& device, DType compute) {
                   return [&model, z = filled(device, {1, side, side, model.latent_format().channels}, compute)] {
                     (void)model.decode(z);
                   };
                 });
}

template <const Network& network, Measurement (*what)(const BenchmarkSetup&, const Network&, LatentDiffusion&)>
void run_network(const BenchmarkSetup& setup, const Report& report) {
  const LoadedModel loaded = load(network);
  report(what(setup, network, *loaded.model));
}

void run_upscaler(const BenchmarkSetup& setup, const Report& report) {
  constexpr int64_t kSide = 128;
  const Upscaler upscaler(std::make_shared<PatternFile>("x4plus", embedded_manifest_x4plus()));
  report(measure(setup, "upscale-x4plus", fmt::format("a tile of {0}x{0}", kSide), [&](Device& device, DType compute) {
    return [&upscaler, x = filled(device, {1, kSide, kSide, 3}, DType::kF32), compute] {
      (void)upscaler.network()(x, compute);
    };
  }));
}

}  // namespace

Measurement measure(const BenchmarkSetup& setup, std::string name, std::string what, const Prepare& prepare) {
  Measurement m{.name = std::move(name), .what = std::move(what)};
  MetaDevice meta;
  const std::function<void()> booked = prepare(meta, setup.compute);  // whose weights the device remembers
  booked();
  m.flops = meta.flops();
  m.bytes = meta.traffic_bytes() + meta.weight_elements() * size_of(setup.compute);

  const std::function<void()> work = prepare(setup.device, setup.compute);
  work();  // weights are prepared, memory is touched
  m.seconds = 1e30;
  double spent = 0;
  setup.device.reset_peak();
  for (int run = 0; run < 2 || (spent < 0.5 && run < 1000); ++run) {
    const double seconds = seconds_of(work);
    m.seconds = std::min(m.seconds, seconds);
    spent += seconds;
  }
  m.peak = setup.device.peak_bytes();
  m.fraction = setup.limits.seconds(setup.compute, m.flops, m.bytes) / m.seconds;
  setup.device.trim();
  return m;
}

std::span<const Benchmark> benchmarks() {
  static const Benchmark table[] = {
      {"matmul", "linear layers", true, run_matmul},
      {"conv", "convolutions", true, run_conv},
      {"attention", "attention, of a text and of a picture with itself", true, run_attention},
      {"norm", "group and layer norms", true, run_norms},
      {"elementwise", "activations, sums, joins", true, run_elementwise},
      {"convert", "conversions between types, as of weights while they load", true, run_convert},
      {"sd15-text", "text encoder of SD 1.5", true, run_network<kSd15, measure_text>},
      {"sd15-unet", "UNet of SD 1.5, 512x512, with guidance", true, run_network<kSd15, measure_denoiser>},
      {"sd15-vae", "decoder of SD 1.5, 512x512", true, run_network<kSd15, measure_decoder>},
      {"upscale-x4plus", "Real-ESRGAN's network of 23 blocks, x4", true, run_upscaler},
      {"sdxl-text", "text encoders of SDXL", false, run_network<kSdxl, measure_text>},
      {"sdxl-unet", "UNet of SDXL, 1024x1024, with guidance; takes 12 GB in f32", false,
       run_network<kSdxl, measure_denoiser>},
      {"sdxl-vae", "decoder of SDXL, 1024x1024", false, run_network<kSdxl, measure_decoder>},
  };
  return table;
}

}  // namespace gesso
