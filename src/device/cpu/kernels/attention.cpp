#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/cpu/kernels/attention.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/threads.h"
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
};
}  // namespace gesso::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace gesso::cpu::HWY_NAMESPACE {
namespace {

constexpr size_t kKeyBlock = 128;                     // a multiple of kTileRows
constexpr size_t kTileWidth = kTileVectors * kLanes;  // queries of a whole tile

constexpr size_t round_up(size_t n, size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// Where a task keeps its things; all float.
struct Layout {
  size_t padded;  // depth rounded up for whole vectors and whole tiles
  size_t stride;  // of a key, value or query row: not a power of two, which would crowd few cache sets
  size_t tile;    // floats of one tile's state: queries, output, running maximum and sum
  size_t total;
  Layout(size_t depth, size_t tiles)
      : padded(round_up(depth, HWY_MAX(HWY_MAX(kLanes, kTileRows), size_t{4}))),
        stride(padded + kLanes),
        tile(2 * padded * kTileWidth + 2 * kTileWidth),
        total(tiles * tile + 2 * kKeyBlock * stride + kKeyBlock * kTileWidth + kTileWidth +
              HWY_MAX(kTileWidth, size_t{4}) * stride + 4 * kLanes) {}
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

// Hides keys after each query: key row j is key first_key + j, lane i is query first_query + i.
template <size_t kVectors>
HWY_INLINE void hide_future(float* s, size_t keys, size_t first_key, size_t first_query) {
  constexpr size_t kWidth = kVectors * kLanes;
  const V minus_infinity = set(-__builtin_inff());
  for (size_t row = first_key > first_query ? 0 : first_query - first_key; row < keys; ++row)
    for (size_t i = 0; i < kVectors; ++i) {
      float* at = s + row * kWidth + i * kLanes;
      // queries in f32 are exact below 2^24 and compared as differences, which are small
      const float offset =
          static_cast<float>(static_cast<int64_t>(first_query + i * kLanes) - static_cast<int64_t>(first_key + row));
      const V distance = hn::Add(hn::Iota(F32(), 0.f), set(offset));
      hn::Store(hn::IfThenElse(hn::Lt(distance, set(0.f)), minus_infinity, hn::Load(F32(), at)), F32(), at);
    }
}

// Scores to weights: raises the running maximum, multiplies the running sum by `decay` = 2^(old maximum - new) and
// adds the weights 2^(score - maximum), which replace the scores. Rows [keys, padded_keys) get weight 0.
template <size_t kVectors>
HWY_INLINE void soften(float* s, size_t keys, size_t padded_keys, float* maximum, float* sum, float* decay) {
  constexpr size_t kWidth = kVectors * kLanes;
  V top[kVectors], total[kVectors];
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) top[i] = hn::Load(F32(), maximum + i * kLanes);
  for (size_t key = 0; key < keys; ++key) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) top[i] = hn::Max(top[i], hn::Load(F32(), s + key * kWidth + i * kLanes));
  }
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) {
    const V change = exp2_nonpositive(hn::Sub(hn::Load(F32(), maximum + i * kLanes), top[i]));
    hn::Store(change, F32(), decay + i * kLanes);
    hn::Store(top[i], F32(), maximum + i * kLanes);
    total[i] = hn::Mul(change, hn::Load(F32(), sum + i * kLanes));
  }
  for (size_t key = 0; key < keys; ++key) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kVectors; ++i) {
      float* at = s + key * kWidth + i * kLanes;
      const V weight = exp2_nonpositive(hn::Sub(hn::Load(F32(), at), top[i]));
      total[i] = hn::Add(total[i], weight);
      hn::Store(weight, F32(), at);
    }
  }
  HWY_UNROLL(4)
  for (size_t i = 0; i < kVectors; ++i) hn::Store(total[i], F32(), sum + i * kLanes);
  for (size_t at = keys * kWidth; at < padded_keys * kWidth; at += kLanes) hn::Store(set(0.f), F32(), s + at);
}

struct Block {
  const float *k, *v;
  size_t first, keys, padded_keys;
};

// One block of keys for one tile of queries, whose state is q, o [depth][width], maximum, sum [width].
template <size_t kVectors>
void attend_tile(const AttentionHead& head, const Layout& layout, const Block& block, size_t first_query, float* state,
                 float* s, float* decay) {
  constexpr size_t kWidth = kVectors * kLanes;
  float* q = state;
  float* o = q + layout.padded * kTileWidth;
  float* maximum = o + layout.padded * kTileWidth;
  float* sum = maximum + kTileWidth;
  for (size_t key = 0; key < block.padded_keys; key += kTileRows)
    score_tile<kVectors>(q, head.depth, block.k + key * layout.stride, layout.stride, s + key * kWidth);
  if (head.causal && block.first + block.keys > first_query + 1)
    hide_future<kVectors>(s, block.keys, block.first, first_query);
  soften<kVectors>(s, block.keys, block.padded_keys, maximum, sum, decay);
  for (size_t column = 0; column < head.depth; column += kTileRows)
    value_tile<kVectors>(s, block.padded_keys, block.v + column, layout.stride, decay, o + column * kWidth);
}

void attend_tile(size_t vectors, const AttentionHead& head, const Layout& layout, const Block& block,
                 size_t first_query, float* state, float* s, float* decay) {
  static_assert(kTileVectors <= 4);
  switch (vectors) {
    case 1:
      return attend_tile<1>(head, layout, block, first_query, state, s, decay);
    case 2:
      return attend_tile<2>(head, layout, block, first_query, state, s, decay);
    case 3:
      return attend_tile<3>(head, layout, block, first_query, state, s, decay);
    default:
      return attend_tile<kTileVectors>(head, layout, block, first_query, state, s, decay);
  }
}

// Vectors that hold `queries` (at most a tile's), and at least four of them for the transposition.
HWY_INLINE size_t vectors_for(size_t queries) {
  return HWY_MAX(round_up(HWY_MIN(queries, kTileWidth), kLanes), size_t{4}) / kLanes;
}

template <class T>
HWY_INLINE void attend(const AttentionHead& head, size_t first_query, size_t queries, float* memory) {
  const size_t tiles = (queries + kTileWidth - 1) / kTileWidth;
  const Layout layout(head.depth, tiles);
  float* states = memory;
  float* k = states + tiles * layout.tile;
  float* v = k + kKeyBlock * layout.stride;
  float* s = v + kKeyBlock * layout.stride;
  float* decay = s + kKeyBlock * kTileWidth;
  float* rows = decay + kTileWidth;
  float* four = rows + HWY_MAX(kTileWidth, size_t{4}) * layout.stride;
  const float factor = head.scale * 1.44269504f;

  for (size_t tile = 0; tile < tiles; ++tile) {
    const size_t begin = tile * kTileWidth, count = HWY_MIN(kTileWidth, queries - begin);
    const size_t width = vectors_for(count) * kLanes;
    float* state = states + tile * layout.tile;
    stage(static_cast<const T*>(head.q) + (first_query + begin) * head.stride, head.stride, count, head.depth, factor,
          width, layout.stride, rows);
    transpose(rows, layout.stride, width, round_up(head.depth, kLanes), four, width, state);
    float* o = state + layout.padded * kTileWidth;
    for (size_t i = 0; i < layout.padded * kTileWidth; i += kLanes) hn::Store(set(0.f), F32(), o + i);
    float* maximum = o + layout.padded * kTileWidth;
    for (size_t i = 0; i < kTileWidth; i += kLanes) {
      hn::Store(set(-__builtin_inff()), F32(), maximum + i);
      hn::Store(set(0.f), F32(), maximum + kTileWidth + i);
    }
  }

  const size_t visible = head.causal ? HWY_MIN(head.key_count, first_query + queries) : head.key_count;
  for (size_t first = 0; first < visible; first += kKeyBlock) {
    const size_t keys = HWY_MIN(kKeyBlock, visible - first), padded_keys = round_up(keys, kTileRows);
    stage(static_cast<const T*>(head.k) + first * head.stride, head.stride, keys, head.depth, 1.f, padded_keys,
          layout.stride, k);
    stage(static_cast<const T*>(head.v) + first * head.stride, head.stride, keys, head.depth, 1.f, padded_keys,
          layout.stride, v);
    for (size_t tile = 0; tile < tiles; ++tile) {
      const size_t begin = tile * kTileWidth, count = HWY_MIN(kTileWidth, queries - begin);
      if (head.causal && first >= first_query + begin + count) continue;
      attend_tile(vectors_for(count), head, layout, Block{k, v, first, keys, padded_keys}, first_query + begin,
                  states + tile * layout.tile, s, decay);
    }
  }

  for (size_t tile = 0; tile < tiles; ++tile) {
    const size_t begin = tile * kTileWidth, count = HWY_MIN(kTileWidth, queries - begin);
    const size_t width = vectors_for(count) * kLanes;
    float* o = states + tile * layout.tile + layout.padded * kTileWidth;
    const float* sum = o + layout.padded * kTileWidth + kTileWidth;
    for (size_t column = 0; column < head.depth; ++column)
      for (size_t i = 0; i < width; i += kLanes)
        hn::Store(hn::Div(hn::Load(F32(), o + column * width + i), hn::Load(F32(), sum + i)), F32(),
                  o + column * width + i);
    transpose(o, width, round_up(head.depth, 4), width, four, layout.stride, rows);
    T* y = static_cast<T*>(head.y) + (first_query + begin) * head.stride;
    for (size_t row = 0; row < count; ++row)
      for (size_t i = 0; i < head.depth; i += kLanes)
        store_n(hn::Load(F32(), rows + row * layout.stride + i), y + row * head.stride + i,
                HWY_MIN(kLanes, head.depth - i));
  }
}

}  // namespace

size_t attention_tile_width() {
  return kTileWidth;
}
size_t attention_scratch_floats(size_t depth, size_t queries) {
  return Layout(depth, (queries + kTileWidth - 1) / kTileWidth).total;
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

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Attention& a, Tensor& y) {
  const int64_t queries = q.dim(1), keys = k.dim(1), row = q.dim(2), depth = row / a.heads;
  if (y.elements() == 0) return;
  if (keys == 0) {
    std::memset(y.raw(), 0, static_cast<size_t>(y.bytes()));
    return;
  }
  // Several tiles share each staged block of keys, as many as leave their state in the level 2 cache; fewer when
  // there would be too few tasks for the threads.
  const auto tile = static_cast<int64_t>(HWY_DYNAMIC_DISPATCH(attention_tile_width)());
  const int64_t heads = q.dim(0) * a.heads, tiles = (queries + tile - 1) / tile;
  const int64_t in_cache = std::max<int64_t>(1, 65536 / (depth * tile));
  const int64_t for_all = std::max<int64_t>(1, heads * tiles / (4 * thread_count()));
  const int64_t per_task = std::min({in_cache, for_all, tiles}) * tile, tasks = (queries + per_task - 1) / per_task;
  const int64_t size = size_of(q.dtype());
  parallel_for(heads * tasks, 1, [&](int64_t begin, int64_t end) {
    auto* memory = static_cast<float*>(
        scratch(Scratch::kTask, sizeof(float) * HWY_DYNAMIC_DISPATCH(attention_scratch_floats)(
                                                    static_cast<size_t>(depth), static_cast<size_t>(per_task))));
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
                               a.causal};
      const auto count = static_cast<size_t>(std::min(per_task, queries - first));
      if (q.dtype() == DType::kBF16)
        HWY_DYNAMIC_DISPATCH(attend_bf16)(head, static_cast<size_t>(first), count, memory);
      else
        HWY_DYNAMIC_DISPATCH(attend_f32)(head, static_cast<size_t>(first), count, memory);
    }
  });
}

}  // namespace gesso::cpu
#endif
