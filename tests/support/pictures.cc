// SPDX-License-Identifier: Apache-2.0
#include "tests/support/pictures.h"

#include <cstdio>  // FILE, for jpeglib.h
#include <cstdlib>

#include <jpeglib.h>

#include "graph/file.h"
#include "lockstep/error.h"

namespace lockstep::testing {

Image gradient_image(int64_t height, int64_t width, int kind) {
  Image image{height, width, {}};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      image.rgb.push_back(static_cast<uint8_t>(255 * x / width));
      image.rgb.push_back(static_cast<uint8_t>(255 * y / height));
      image.rgb.push_back(static_cast<uint8_t>(40 * kind % 256));
    }
  return image;
}

void write_png(const std::string& path, const Image& image) { write_file(path, png_of(image)); }

void write_jpeg(const std::string& path, const Image& image, bool grey) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = grey ? 1 : 3;
  info.in_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  std::vector<uint8_t> line(static_cast<std::size_t>(3 * image.width));
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* row = &image.rgb[3 * y * image.width];
    for (int64_t i = 0; i < (grey ? image.width : 3 * image.width); ++i)
      line[i] = row[grey ? 3 * i : i];
    JSAMPROW pointer = line.data();
    jpeg_write_scanlines(&info, &pointer, 1);
  }
  jpeg_finish_compress(&info);
  write_file(path, std::string(reinterpret_cast<char*>(bytes), size));
  jpeg_destroy_compress(&info);
  std::free(bytes);
}

}  // namespace lockstep::testing
