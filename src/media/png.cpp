#include <png.h>

#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"
#include "media/codec.h"
#include "media/codecs.h"
#include "media/guard.h"

namespace gesso {
namespace {

void on_error(png_structp png, const char* message) {
  static_cast<CodecError*>(png_get_error_ptr(png))->raise(message);
}
void on_warning(png_structp, const char*) {}

/// A libpng reader over bytes in memory.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Both throw kBadFile with libpng's reason.
  void read_header(std::string_view name);
  Image read_pixels(std::string_view name);

 private:
  static void feed(png_structp png, png_bytep target, size_t count) {
    auto& self = *static_cast<Reader*>(png_get_io_ptr(png));
    if (count > self.bytes_.size() - self.at_) png_error(png, "the data end early");
    std::memcpy(target, self.bytes_.data() + self.at_, count);
    self.at_ += count;
  }
  void run(std::string_view name, bool done) const {
    if (!done) fail(ErrorCode::kBadFile, "{} is a damaged or truncated PNG: {}", name, error_.message);
  }

  std::string_view bytes_;
  size_t at_ = 0;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  CodecError error_;
};

void Reader::read_header(std::string_view name) {
  // Text and colour profiles are not for the pixels: skipped, so that nothing of theirs is decompressed.
  static constexpr png_byte kSkipped[] = "tEXt\0zTXt\0iTXt\0iCCP\0sPLT\0eXIf";
  run(name, guarded(error_, [this] {
        png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &error_, on_error, on_warning);
        info_ = png_ ? png_create_info_struct(png_) : nullptr;
        if (!info_) error_.raise("out of memory");
        png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, kSkipped, 6);
        png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // ours follow, with their own message
        png_set_read_fn(png_, this, feed);
        png_read_info(png_, info_);
      }));
  check_picture_size(png_get_image_width(png_, info_), png_get_image_height(png_, info_), name);
}

Image Reader::read_pixels(std::string_view name) {
  Image image;
  run(name, guarded(error_, [&] {
        png_set_expand(png_);  // palettes, fewer than 8 bits, tRNS
        png_set_scale_16(png_);
        const int type = png_get_color_type(png_, info_);
        const bool alpha = (type & PNG_COLOR_MASK_ALPHA) || png_get_valid(png_, info_, PNG_INFO_tRNS);
        if (type == PNG_COLOR_TYPE_GRAY_ALPHA || (type == PNG_COLOR_TYPE_GRAY && alpha)) png_set_gray_to_rgb(png_);
        png_set_interlace_handling(png_);
        png_read_update_info(png_, info_);
        image.width = static_cast<int>(png_get_image_width(png_, info_));
        image.height = static_cast<int>(png_get_image_height(png_, info_));
        image.channels = png_get_channels(png_, info_);
        if (png_get_rowbytes(png_, info_) != static_cast<size_t>(image.width) * static_cast<size_t>(image.channels))
          error_.raise("unexpected pixel format");
      }));
  const size_t row_bytes = static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
  image.pixels.resize(row_bytes * static_cast<size_t>(image.height));
  std::vector<png_bytep> rows(static_cast<size_t>(image.height));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = image.pixels.data() + y * row_bytes;
  run(name, guarded(error_, [&] {
        png_read_image(png_, rows.data());
        png_read_end(png_, nullptr);
      }));
  return image;
}

/// A libpng writer into a string.
class Writer {
 public:
  Writer() = default;
  ~Writer() { png_destroy_write_struct(&png_, &info_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string write(const Image& image) {
    std::vector<png_bytep> rows(static_cast<size_t>(image.height));
    const size_t row_bytes = static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
    // libpng takes pointers to mutable rows but writes through none of them
    for (size_t y = 0; y < rows.size(); ++y) rows[y] = const_cast<png_bytep>(image.pixels.data()) + y * row_bytes;
    const bool done = guarded(error_, [&] {
      png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &error_, on_error, on_warning);
      info_ = png_ ? png_create_info_struct(png_) : nullptr;
      if (!info_) error_.raise("out of memory");
      png_set_write_fn(png_, this, take, flush);
      png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), 8,
                   image.channels == 1   ? PNG_COLOR_TYPE_GRAY
                   : image.channels == 3 ? PNG_COLOR_TYPE_RGB
                                         : PNG_COLOR_TYPE_RGB_ALPHA,
                   PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_set_compression_level(png_, 6);
      png_write_info(png_, info_);
      png_write_image(png_, rows.data());
      png_write_end(png_, nullptr);
    });
    if (!done)
      fail(ErrorCode::kOutOfMemory, "cannot encode a PNG of {}x{}: {}", image.width, image.height, error_.message);
    return std::move(bytes_);
  }

 private:
  static void take(png_structp png, png_bytep data, size_t count) {
    auto& self = *static_cast<Writer*>(png_get_io_ptr(png));
    if (!self.append(data, count)) png_error(png, "out of memory");
  }
  static void flush(png_structp) {}
  bool append(const png_byte* data, size_t count) noexcept {
    try {
      bytes_.append(reinterpret_cast<const char*>(data), count);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  std::string bytes_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  CodecError error_;
};

}  // namespace

Image decode_png(std::string_view bytes, std::string_view name) {
  Reader reader(bytes);
  reader.read_header(name);
  return reader.read_pixels(name);
}

std::string encode_png(const Image& image) {
  check_image(image);
  return Writer().write(image);
}

}  // namespace gesso
