#include <cstdio>
// jpeglib.h needs stdio.h before it
#include <jerror.h>
#include <jpeglib.h>

#include <array>
#include <new>
#include <utility>

#include "base/error.h"
#include "media/codec.h"
#include "media/codecs.h"
#include "media/guard.h"

namespace gesso {
namespace {

/// Scans beyond which a progressive file is taken for an attack: real ones have about ten.
constexpr int kMaxScans = 200;

struct Errors : jpeg_error_mgr {
  CodecError error;

  Errors() {
    jpeg_std_error(this);
    error_exit = [](j_common_ptr codec) { of(codec).raise(codec); };
    output_message = [](j_common_ptr) {};
    emit_message = [](j_common_ptr codec, int level) {
      const int code = codec->err->msg_code;
      const bool damage = code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_JPEG_EOF;
      if (level < 0 && damage) of(codec).raise(codec);
    };
  }
  [[noreturn]] void raise(j_common_ptr codec) {
    char text[JMSG_LENGTH_MAX];
    format_message(codec, text);
    error.raise(text);
  }
  static Errors& of(j_common_ptr codec) { return *static_cast<Errors*>(codec->err); }
};

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}
  ~Reader() { jpeg_destroy_decompress(&codec_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Image read(std::string_view bytes) {
    run(guarded(errors_.error, [&] { read_header(bytes); }));
    check_picture_size(codec_.image_width, codec_.image_height, name_);
    run(guarded(errors_.error, [&] { jpeg_start_decompress(&codec_); }));
    Image image{
        static_cast<int>(codec_.output_width), static_cast<int>(codec_.output_height), codec_.output_components, {}};
    const size_t row_bytes = static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
    image.pixels.resize(row_bytes * static_cast<size_t>(image.height));
    run(guarded(errors_.error, [&] {
      while (codec_.output_scanline < codec_.output_height) {
        JSAMPROW row = image.pixels.data() + codec_.output_scanline * row_bytes;
        jpeg_read_scanlines(&codec_, &row, 1);
      }
      jpeg_finish_decompress(&codec_);
    }));
    return image;
  }
  /// Adobe's programs store CMYK inverted, and say so by their marker.
  bool inverted_cmyk() const { return codec_.saw_Adobe_marker; }

 private:
  void read_header(std::string_view bytes) {
    codec_.err = &errors_;
    jpeg_create_decompress(&codec_);
    jpeg_mem_src(&codec_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&codec_, TRUE);
    if (codec_.num_components == 1)
      codec_.out_color_space = JCS_GRAYSCALE;
    else if (codec_.jpeg_color_space == JCS_CMYK || codec_.jpeg_color_space == JCS_YCCK)
      codec_.out_color_space = JCS_CMYK;
    else
      codec_.out_color_space = JCS_RGB;
    codec_.dct_method = JDCT_ISLOW;
    progress_.progress_monitor = [](j_common_ptr codec) {
      if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number > kMaxScans)
        Errors::of(codec).error.raise("too many scans");
    };
    codec_.progress = &progress_;
  }
  void run(bool done) const {
    if (!done) fail(ErrorCode::kBadFile, "{} is a damaged or truncated JPEG: {}", name_, errors_.error.message);
  }

  std::string_view name_;
  jpeg_decompress_struct codec_{};
  jpeg_progress_mgr progress_{};
  Errors errors_;
};

Image cmyk_to_rgb(const Image& cmyk, bool inverted) {
  Image rgb{cmyk.width, cmyk.height, 3, std::vector<uint8_t>(cmyk.pixels.size() / 4 * 3)};
  const int flip = inverted ? 0 : 255;  // to the share of light that each ink lets through
  const uint8_t* from = cmyk.pixels.data();
  for (uint8_t* to = rgb.pixels.data(); to != rgb.pixels.data() + rgb.pixels.size(); to += 3, from += 4)
    for (int c = 0; c < 3; ++c) to[c] = static_cast<uint8_t>(((from[c] ^ flip) * (from[3] ^ flip) + 127) / 255);
  return rgb;
}

/// Collects the compressed bytes in a string.
struct Target : jpeg_destination_mgr {
  std::string bytes;
  std::array<JOCTET, 65536> buffer;

  Target() {
    init_destination = [](j_compress_ptr codec) { of(codec).restart(); };
    empty_output_buffer = [](j_compress_ptr codec) -> boolean {
      take(codec, of(codec).buffer.size());  // always the whole buffer, whatever free_in_buffer says
      of(codec).restart();
      return TRUE;
    };
    term_destination = [](j_compress_ptr codec) { take(codec, of(codec).buffer.size() - of(codec).free_in_buffer); };
  }
  static Target& of(j_compress_ptr codec) { return *static_cast<Target*>(codec->dest); }
  static void take(j_compress_ptr codec, size_t count) {
    if (!of(codec).append(count)) Errors::of(reinterpret_cast<j_common_ptr>(codec)).error.raise("out of memory");
  }
  void restart() {
    next_output_byte = buffer.data();
    free_in_buffer = buffer.size();
  }
  bool append(size_t count) noexcept {
    try {
      bytes.append(reinterpret_cast<const char*>(buffer.data()), count);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
};

class Writer {
 public:
  Writer() = default;
  ~Writer() { jpeg_destroy_compress(&codec_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string write(const Image& image, int quality) {
    const bool done = guarded(errors_.error, [&] {
      start(image, quality);
      const size_t row_bytes = static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
      while (codec_.next_scanline < codec_.image_height) {
        // libjpeg takes pointers to mutable rows but writes through none of them
        JSAMPROW row = const_cast<JSAMPROW>(image.pixels.data()) + codec_.next_scanline * row_bytes;
        jpeg_write_scanlines(&codec_, &row, 1);
      }
      jpeg_finish_compress(&codec_);
    });
    if (!done)
      fail(ErrorCode::kOutOfMemory, "cannot encode a JPEG of {}x{}: {}", image.width, image.height,
           errors_.error.message);
    return std::move(target_.bytes);
  }

 private:
  void start(const Image& image, int quality) {
    codec_.err = &errors_;
    jpeg_create_compress(&codec_);
    codec_.dest = &target_;
    codec_.image_width = static_cast<JDIMENSION>(image.width);
    codec_.image_height = static_cast<JDIMENSION>(image.height);
    codec_.input_components = image.channels;
    codec_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&codec_);
    jpeg_set_quality(&codec_, quality, TRUE);
    for (int c = 0; c < codec_.num_components; ++c)
      codec_.comp_info[c].h_samp_factor = codec_.comp_info[c].v_samp_factor = 1;
    codec_.optimize_coding = TRUE;
    codec_.dct_method = JDCT_ISLOW;
    jpeg_start_compress(&codec_, TRUE);
  }

  jpeg_compress_struct codec_{};
  Errors errors_;
  Target target_;
};

}  // namespace

Image decode_jpeg(std::string_view bytes, std::string_view name) {
  Reader reader(name);
  Image image = reader.read(bytes);
  return image.channels == 4 ? cmyk_to_rgb(image, reader.inverted_cmyk()) : image;
}

std::string encode_jpeg(const Image& image, int quality) {
  check_image(image);
  if (quality < 1 || quality > 100) fail(ErrorCode::kUsage, "JPEG quality {}: expected 1 to 100", quality);
  if (image.channels == 4) return Writer().write(to_rgb(image), quality);
  return Writer().write(image, quality);
}

}  // namespace gesso
