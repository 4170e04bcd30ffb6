#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/attention.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/threads.h"
#include "device/cpu/kernels/attention_softmax-inl.h"
#include "device/cpu/kernels/attention_tile-inl.h"
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/scratch.h"
#include "device/cpu/kernels/simd-inl.h"

// Flash attention (Dao et al. 2022, arXiv:2205.14135): a task owns some queries of one head and walks over blocks of
// keys, keeping per query the largest score so far, the sum of weights and the weighted sum of values, rescaled
// whenever the largest score grows. Scores are kept times log2(e), for exp2.

#ifndef GESSO_ATTENTION_HEAD
#define GESSO_ATTENTION_HEAD
namespace gesso::cpu {
// One head of one batch entry: first elements of its token 0, tokens `stride` elements apart.
struct AttentionHead {
  const void *q, *k, *v;
  void* y;
  size_t stride, depth, key_count;
  float scale;
  bool causal;
  const float* bias;  // [key_count][query_count], or null
  size_t query_count;
};
}  // namespace gesso::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace {

constexpr size_t kTileWidth = kTileVectors * kLanes;  // queries of a whole tile

constexpr size_t round_up(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// How a task lays out its memory; all float.
struct Layout {
  size_t keys;    // of a block: few enough that keys and values stay in the level 2 cache; a multiple of kTileRows
  size_t padded;  // depth rounded up for whole vectors, whole tiles and the transposition
  size_t stride;  // of a row of keys, values or queries: not a power of two, which would crowd few cache sets
  size_t tile;    // floats of a tile's state
  size_t shared;  // floats of the Workspace
  explicit Layout(size_t depth)
      : keys(depth <= 256 ? 128 : 64),
        padded(round_up(depth, HWY_MAX(HWY_MAX(kLanes, kTileRows), size_t{4}))),
        stride(padded + kLanes),
        tile(2 * padded * kTileWidth + 2 * kTileWidth),
        shared(2 * keys * stride + (keys + 1 + stride) * kTileWidth + 4 * kLanes) {}
};

// What a tile of queries carries from one block of keys to the next.
struct TileState {
  float *q, *o;          // [padded][width]: queries times scale and log2(e), and sums of values not yet divided
  float *maximum, *sum;  // [width]: of scores, and of weights
  TileState(const Layout& layout, float* memory)
      : q(memory),
        o(q + layout.padded * kTileWidth),
        maximum(o + layout.padded * kTileWidth),
        sum(maximum + kTileWidth) {}
};

// What the tiles of a task share, in this order.
struct Workspace {
  float *k, *v;  // [keys][stride]: the present block
  float* s;      // [keys][width]: scores, then weights
  float* decay;  // [width]
  float* rows;   // [width][stride]: queries or results, one a row
  float* four;   // for transpose()
  Workspace(const Layout& layout, float* memory)
      : k(memory),
        v(k + layout.keys * layout.stride),
        s(v + layout.keys * layout.stride),
        decay(s + layout.keys * kTileWidth),
        rows(decay + kTileWidth),
        four(rows + kTileWidth * layout.stride) {}
};

// rows x columns of T to f32 times `factor`, columns filled up to whole vectors and rows up to `padded_rows` with 0.
template <class T>
HWY_INLINE void stage(const T* from, size_t from_stride, size_t rows, size_t columns, float factor, size_t padded_rows,
                      size_t to_stride, float* to) {
  const V f = set(factor);
  for (size_t row = 0; row < rows; ++row)
    for (size_t i = 0; i < columns; i += kLanes)
      hn::Store(hn::Mul(f, load_n(from + row * from_stride + i, HWY_MIN(kLanes, columns - i))), F32(),
                to + row * to_stride + i);
  for (size_t row = rows; row < padded_rows; ++row)
    for (size_t i = 0; i < columns; i += kLanes) hn::Store(set(0.f), F32(), to + row * to_stride + i);
}

// to[column][row] = from[row][column]; rows a multiple of 4, columns of kLanes. `four` holds 4 kLanes floats.
HWY_INLINE void transpose(const float* from, size_t from_stride, size_t rows, size_t columns, float* four,
                          size_t to_stride, float* to) {
  for (size_t row = 0; row < rows; row += 4)
    for (size_t column = 0; column < columns; column += kLanes) {
      const float* at = from + row * from_stride + column;
      hn::StoreInterleaved4(hn::Load(F32(), at), hn::Load(F32(), at + from_stride),
                            hn::Load(F32(), at + 2 * from_stride), hn::Load(F32(), at + 3 * from_stride), F32(), four);
      for (size_t i = 0; i < kLanes; ++i)
        __builtin_memcpy(to + (column + i) * to_stride + row, four + 4 * i, 4 * sizeof(float));
    }
}

struct Block {
  size_t first, keys, padded_keys;
};

// One block of keys for one tile of queries: scores, softmax, weighted values.
// `count` queries of the tile are real.
template <size_t kVectors>
void attend_block(const AttentionHead& head, const Layout& layout, const Block& block, size_t first_query, size_t count,
                  const TileState& tile, const Workspace& w) {
  constexpr size_t kWidth = kVectors * kLanes;
  for (size_t key = 0; key < block.padded_keys; key += kTileRows)
    score_tile<kVectors>(tile.q, head.depth, w.k + key * layout.stride, layout.stride, w.s + key * kWidth);
  if (head.bias)
    add_bias<kVectors>(w.s, block.keys, head.bias + block.first * head.query_count + first_query, head.query_count,
                       count);
  if (head.causal && block.first + block.keys > first_query + 1)
    hide_future<kVectors>(w.s, block.keys, block.first, first_query);
  soften<kVectors>(w.s, block.keys, block.padded_keys, tile.maximum, tile.sum, w.decay);
  for (size_t column = 0; column < head.depth; column += kTileRows)
    value_tile<kVectors>(w.s, block.padded_keys, w.v + column, layout.stride, w.decay, tile.o + column * kWidth);
}

using AttendBlock = void (*)(const AttentionHead&, const Layout&, const Block&, size_t, size_t, const TileState&,
                             const Workspace&);
constexpr AttendBlock kAttendBlock[] = {nullptr, attend_block<1>, attend_block<2>, attend_block<3>, attend_block<4>};
static_assert(kTileVectors <= 4);

// Vectors that hold `queries` (at most a tile's), and at least four of them for the transposition.
HWY_INLINE size_t vectors_for(size_t queries) {
  return HWY_MAX(round_up(queries, kLanes), size_t{4}) / kLanes;
}

template <class T>
HWY_INLINE void start_tile(const AttentionHead& head, const Layout& layout, size_t first_query, size_t count,
                           const TileState& tile, const Workspace& w) {
  const size_t width = vectors_for(count) * kLanes;
  const T* q = static_cast<const T*>(head.q) + first_query * head.stride;
  stage(q, head.stride, count, head.depth, head.scale * 1.44269504f, width, layout.stride, w.rows);
  transpose(w.rows, layout.stride, width, round_up(head.depth, kLanes), w.four, width, tile.q);
  for (size_t i = 0; i < layout.padded * width; i += kLanes) hn::Store(set(0.f), F32(), tile.o + i);
  for (size_t i = 0; i < width; i += kLanes) {
    hn::Store(set(-__builtin_inff()), F32(), tile.maximum + i);
    hn::Store(set(0.f), F32(), tile.sum + i);
  }
}

template <class T>
HWY_INLINE void finish_tile(const AttentionHead& head, const Layout& layout, size_t first_query, size_t count,
                            const TileState& tile, const Workspace& w) {
  const size_t width = vectors_for(count) * kLanes;
  for (size_t column = 0; column < head.depth; ++column)
    for (size_t i = 0; i < width; i += kLanes) {
      float* at = tile.o + column * width + i;
      hn::Store(hn::Div(hn::Load(F32(), at), hn::Load(F32(), tile.sum + i)), F32(), at);
    }
  transpose(tile.o, width, round_up(head.depth, 4), width, w.four, layout.stride, w.rows);
  for (size_t row = 0; row < count; ++row) {
    T* y = static_cast<T*>(head.y) + (first_query + row) * head.stride;
    for (size_t i = 0; i < head.depth; i += kLanes)
      store_n(hn::Load(F32(), w.rows + row * layout.stride + i), y + i, HWY_MIN(kLanes, head.depth - i));
  }
}

template <class T>
HWY_INLINE void attend(const AttentionHead& head, size_t first_query, size_t queries, float* memory) {
  const Layout layout(head.depth);
  const size_t tiles = (queries + kTileWidth - 1) / kTileWidth, end_query = first_query + queries;
  const Workspace w(layout, memory + tiles * layout.tile);
  const auto state = [&](size_t tile) { return TileState(layout, memory + tile * layout.tile); };
  const auto first_of = [&](size_t tile) { return first_query + tile * kTileWidth; };
  const auto count_of = [&](size_t tile) { return HWY_MIN(kTileWidth, end_query - first_of(tile)); };

  for (size_t tile = 0; tile < tiles; ++tile)
    start_tile<T>(head, layout, first_of(tile), count_of(tile), state(tile), w);
  const size_t visible = head.causal ? HWY_MIN(head.key_count, end_query) : head.key_count;
  for (size_t first = 0; first < visible; first += layout.keys) {
    const size_t keys = HWY_MIN(layout.keys, visible - first);
    const Block block{first, keys, round_up(keys, kTileRows)};
    const size_t at = first * head.stride;
    stage(static_cast<const T*>(head.k) + at, head.stride, keys, head.depth, 1.f, block.padded_keys, layout.stride,
          w.k);
    stage(static_cast<const T*>(head.v) + at, head.stride, keys, head.depth, 1.f, block.padded_keys, layout.stride,
          w.v);
    for (size_t tile = 0; tile < tiles; ++tile) {
      const size_t begin = first_of(tile), count = count_of(tile);
      if (head.causal && first >= begin + count) continue;
      kAttendBlock[vectors_for(count)](head, layout, block, begin, count, state(tile), w);
    }
  }
  for (size_t tile = 0; tile < tiles; ++tile)
    finish_tile<T>(head, layout, first_of(tile), count_of(tile), state(tile), w);
}

}  // namespace

size_t attention_tile_width() {
  return kTileWidth;
}
size_t attention_scratch_floats(size_t depth, size_t queries) {
  const Layout layout(depth);
  return (queries + kTileWidth - 1) / kTileWidth * layout.tile + layout.shared;
}
void attend_f32(const AttentionHead& head, size_t first_query, size_t queries, float* memory) {
  attend<float>(head, first_query, queries, memory);
}
void attend_bf16(const AttentionHead& head, size_t first_query, size_t queries, float* memory) {
  attend<uint16_t>(head, first_query, queries, memory);
}

}  // namespace gesso::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gesso::cpu {

HWY_EXPORT(attention_tile_width);
HWY_EXPORT(attention_scratch_floats);
HWY_EXPORT(attend_f32);
HWY_EXPORT(attend_bf16);

namespace {

using Attend = void (*)(const AttentionHead&, size_t first_query, size_t queries, float* memory);

// Queries of one task. Several tiles share each staged block of keys, at least four and as many as leave their state
// in the level 2 cache; fewer when there would be too few tasks for the threads.
int64_t queries_per_task(int64_t heads, int64_t queries, int64_t depth, int64_t tile) {
  const int64_t tiles = (queries + tile - 1) / tile;
  const int64_t in_cache = std::max<int64_t>(4, 32768 / (depth * tile));
  const int64_t for_all = std::max<int64_t>(1, heads * tiles / (4 * thread_count()));
  return std::min({in_cache, for_all, tiles}) * tile;
}

}  // namespace

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, const Attention& a, Tensor& y) {
  const int64_t queries = q.dim(1), keys = k.dim(1), row = q.dim(2), depth = row / a.heads;
  if (y.elements() == 0) return;
  if (keys == 0) {
    std::memset(y.raw(), 0, static_cast<size_t>(y.bytes()));
    return;
  }
  const Attend attend =
      q.dtype() == DType::kBF16 ? HWY_DYNAMIC_DISPATCH(attend_bf16) : HWY_DYNAMIC_DISPATCH(attend_f32);
  const auto tile = static_cast<int64_t>(HWY_DYNAMIC_DISPATCH(attention_tile_width)());
  const int64_t heads = q.dim(0) * a.heads, per_task = queries_per_task(heads, queries, depth, tile);
  const int64_t tasks = (queries + per_task - 1) / per_task, size = size_of(q.dtype());
  const size_t floats =
      HWY_DYNAMIC_DISPATCH(attention_scratch_floats)(static_cast<size_t>(depth), static_cast<size_t>(per_task));
  parallel_for(heads * tasks, 1, [&](int64_t begin, int64_t end) {
    auto* memory = static_cast<float*>(scratch(Scratch::kTask, sizeof(float) * floats));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / tasks / a.heads, column = i / tasks % a.heads * depth * size;
      const int64_t first = i % tasks * per_task;
      const int64_t q_at = batch * queries * row * size + column, k_at = batch * keys * row * size + column;
      const AttentionHead head{q.data<std::byte>() + q_at,
                               k.data<std::byte>() + k_at,
                               v.data<std::byte>() + k_at,
                               y.data<std::byte>() + q_at,
                               static_cast<size_t>(row),
                               static_cast<size_t>(depth),
                               static_cast<size_t>(keys),
                               a.scale,
                               a.causal,
                               bias ? bias.data<float>() + i / tasks % bias.dim(0) * keys * queries : nullptr,
                               static_cast<size_t>(queries)};
      attend(head, static_cast<size_t>(first), static_cast<size_t>(std::min(per_task, queries - first)), memory);
    }
  });
}

}  // namespace gesso::cpu
#endif
