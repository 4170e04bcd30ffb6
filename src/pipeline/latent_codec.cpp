#include "pipeline/latent_codec.h"

#include "device/device.h"
#include "ops/ops.h"

namespace gesso {
namespace {

/// Where the values of a picture or latent lie: `channels` values a place side by side, or plane by plane.
struct Layout {
  int width, height, channels;
  bool planes;
  size_t at(int x, int y, int channel) const {
    const auto index = [](int outer, int size, int inner) {
      return static_cast<size_t>(outer) * static_cast<size_t>(size) + static_cast<size_t>(inner);
    };
    if (!planes) return index(y, width, x) * static_cast<size_t>(channels) + static_cast<size_t>(channel);
    return index(channel, height, y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  }
  size_t size() const {
    return at(0, 0, 0) + static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  }
};

/// The part of `whole` under a tile, `scale` values a place of the tile each way.
std::vector<float> cut(const std::vector<float>& whole, const Layout& from, const Layout& to, int left, int top) {
  std::vector<float> part(to.size());
  for (int c = 0; c < to.channels; ++c)
    for (int y = 0; y < to.height; ++y)
      for (int x = 0; x < to.width; ++x)
        part[to.at(x, y, c)] = whole[from.at((left + x) % from.width, (top + y) % from.height, c)];
  return part;
}

/// Adds the part, weighed, to what the whole has there.
void lay(std::vector<float>& whole, const Layout& to, const std::vector<float>& part, const Layout& from,
         const AxisTile& column, const AxisTile& row, int scale) {
  for (int c = 0; c < from.channels; ++c)
    for (int y = 0; y < from.height; ++y)
      for (int x = 0; x < from.width; ++x)
        whole[to.at((column.begin * scale + x) % to.width, (row.begin * scale + y) % to.height, c)] +=
            row.weights[static_cast<size_t>(y)] * column.weights[static_cast<size_t>(x)] * part[from.at(x, y, c)];
}

/// The tiles of a latent; those along an axis that is cut meet round the ring by themselves, so that the device must
/// not close each of them.
struct TileGrid {
  TileGrid(const Tiling& tiling, Wrap whole, int width, int height, int scale)
      : columns(tiles_along(width, tiling.width, tiling.overlap, whole.x, scale)),
        rows(tiles_along(height, tiling.height, tiling.overlap, whole.y, scale)),
        wrap{whole.x && columns.size() == 1, whole.y && rows.size() == 1} {}
  int count() const { return static_cast<int>(columns.size() * rows.size()); }
  std::vector<AxisTile> columns, rows;
  Wrap wrap;  ///< within a tile
};

}  // namespace

Tensor upload(Device& device, const Latent& latent, DType dtype) {
  const Tensor x = from_values(device, latent.values, {1, latent.channels, latent.height, latent.width});
  return cast(to_channels_last(x), dtype);
}

Latent download(const Tensor& x) {
  const Tensor y = to_channels_first(cast(x, DType::kF32));
  return {static_cast<int>(y.dim(1)), static_cast<int>(y.dim(2)), static_cast<int>(y.dim(3)), to_values(y)};
}

std::vector<float> LatentCodec::decode_whole(Device& device, const Latent& latent, DType dtype) const {
  if (tiny_) {
    std::vector<float> values = to_values(cast((*tiny_->decoder)(upload(device, latent, dtype)), DType::kF32));
    for (float& v : values) v = 2 * v - 1;
    return values;
  }
  const LatentFormat& format = model_->latent_format();
  Latent unscaled = latent;
  for (float& value : unscaled.values) value = value / format.factor + format.shift;
  return to_values(cast(model_->decode(upload(device, unscaled, dtype)), DType::kF32));
}

Latent LatentCodec::encode_whole(Device& device, const std::vector<float>& picture, int width, int height,
                                 DType dtype) const {
  if (tiny_ && tiny_->encoder) {
    std::vector<float> values = picture;
    for (float& v : values) v = 0.5f * v + 0.5f;
    return download((*tiny_->encoder)(cast(from_values(device, values, {1, height, width, 3}), dtype)));
  }
  Latent latent = download(model_->encode_picture(cast(from_values(device, picture, {1, height, width, 3}), dtype)));
  const LatentFormat& format = model_->latent_format();
  for (float& value : latent.values) value = (value - format.shift) * format.factor;
  return latent;
}

std::vector<float> LatentCodec::decode(Device& device, const Latent& latent, DType dtype, const OnTile& on_tile) const {
  const int scale = model_->latent_format().scale;
  const TileGrid grid(tiling_, device.wrap(), latent.width, latent.height, scale);
  if (grid.count() == 1) return decode_whole(device, latent, dtype);
  const Wrapping wrapping(device, grid.wrap);
  const Layout from{latent.width, latent.height, latent.channels, true};
  const Layout picture{scale * latent.width, scale * latent.height, 3, false};
  std::vector<float> values(picture.size(), 0.f);
  int done = 0;
  for (const AxisTile& row : grid.rows)
    for (const AxisTile& column : grid.columns) {
      const Layout part{column.size, row.size, latent.channels, true};
      const Latent tile{part.channels, part.height, part.width,
                        cut(latent.values, from, part, column.begin, row.begin)};
      lay(values, picture, decode_whole(device, tile, dtype), {scale * column.size, scale * row.size, 3, false}, column,
          row, scale);
      if (on_tile) on_tile(++done, grid.count());
    }
  return values;
}

Latent LatentCodec::encode(Device& device, const std::vector<float>& picture, int width, int height, DType dtype,
                           const OnTile& on_tile) const {
  const LatentFormat& format = model_->latent_format();
  const int scale = format.scale;
  const TileGrid grid(tiling_, device.wrap(), width / scale, height / scale, 1);
  if (grid.count() == 1) return encode_whole(device, picture, width, height, dtype);
  const Wrapping wrapping(device, grid.wrap);
  Latent latent = zero_latent(format.channels, height / scale, width / scale);
  const Layout from{width, height, 3, false}, to{latent.width, latent.height, latent.channels, true};
  int done = 0;
  for (const AxisTile& row : grid.rows)
    for (const AxisTile& column : grid.columns) {
      const Layout part{scale * column.size, scale * row.size, 3, false};
      const Latent tile = encode_whole(device, cut(picture, from, part, scale * column.begin, scale * row.begin),
                                       part.width, part.height, dtype);
      lay(latent.values, to, tile.values, {tile.width, tile.height, tile.channels, true}, column, row, 1);
      if (on_tile) on_tile(++done, grid.count());
    }
  return latent;
}

int LatentCodec::tiles(Wrap wrap, int width, int height) const {
  return TileGrid(tiling_, wrap, width, height, 1).count();
}

std::vector<WeightStore*> LatentCodec::weights() const {
  std::vector<WeightStore*> stores;
  if (tiny_) stores.push_back(tiny_->store.get());
  if (WeightStore* own = model_->decoder_weights()) stores.push_back(own);
  return stores;
}

}  // namespace gesso
