// SPDX-License-Identifier: Apache-2.0
#include "data/record_files.h"

#include <algorithm>

#include "data/long_digest.h"
#include "data/streams.h"
#include "graph/file.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

struct Packed {
  Preparation preparation;
  std::vector<std::string> classes;
  std::vector<uint8_t> pixels;
  std::vector<uint8_t> labels;
  int64_t shift = 0;  // training: random shift by up to this many pixels, and mirroring
};

class PackedImages final : public Dataset {
 public:
  PackedImages(Packed data, const DatasetOptions& options, const std::string& path)
      : Dataset(data.preparation), data_(std::move(data)), seed_(options.seed) {
    if (options.held_out) data_.shift = 0;
    for (std::size_t i = 0; i < data_.labels.size(); ++i)
      check(data_.labels[i] < data_.classes.size(), path, ": label ", i, " is ",
            int{data_.labels[i]}, ", but there are ", data_.classes.size(), " classes");
    check(!data_.labels.empty(), path, ": contains no images");
  }

  int64_t size() const override { return static_cast<int64_t>(data_.labels.size()); }
  int64_t classes() const override { return static_cast<int64_t>(data_.classes.size()); }
  std::string class_name(int64_t label) const override { return data_.classes[label]; }

  std::string digest() const override {
    LongDigest all;
    all.add_list(std::span(data_.labels));
    all.add_list(std::span(data_.pixels));
    return join(data_.labels.size(), " pictures, ", all.text());
  }

  void read_bytes(int64_t index, uint64_t draw, uint8_t* image, int64_t* label) const override {
    *label = data_.labels[index];
    int64_t dx = 0, dy = 0;
    bool mirror = false;
    if (data_.shift > 0) {
      PhiloxSequence random(seed_, streams::kCrops | draw);
      dx = random.below(2 * data_.shift + 1) - data_.shift;
      dy = random.below(2 * data_.shift + 1) - data_.shift;
      mirror = random.below(2) == 1;
    }
    const uint8_t* from = &data_.pixels[index * image_values()];
    for (int64_t c = 0; c < channels(); ++c)
      for (int64_t y = 0; y < height(); ++y)
        for (int64_t x = 0; x < width(); ++x) {
          const int64_t row = y + dy, column = (mirror ? width() - 1 - x : x) + dx;
          const bool inside = row >= 0 && row < height() && column >= 0 && column < width();
          *image++ = inside ? from[(c * height() + row) * width() + column] : uint8_t{0};
        }
  }

 private:
  Packed data_;
  uint64_t seed_;
};

void append(std::vector<uint8_t>& to, const std::string& text, std::size_t from,
            std::size_t count) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data()) + from;
  to.insert(to.end(), bytes, bytes + count);
}

// Reads an idx file: 0, 0, element type 8 (bytes), number of dimensions, big-endian sizes, data.
std::vector<uint8_t> read_idx(const std::string& path, std::vector<int64_t>& dims) {
  const std::string text = read_file(path);
  auto byte = [&](std::size_t i) { return static_cast<int64_t>(static_cast<uint8_t>(text[i])); };
  check(text.size() >= 4 && byte(0) == 0 && byte(1) == 0 && byte(2) == 8 &&
            byte(3) == static_cast<int64_t>(dims.size()),
        path, ": not an idx file of bytes with ", dims.size(), " dimensions");
  const std::size_t header = 4 + 4 * dims.size();
  check(text.size() >= header, path, ": truncated");
  int64_t count = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    dims[d] = 0;
    for (std::size_t i = 0; i < 4; ++i) dims[d] = dims[d] * 256 + byte(4 + 4 * d + i);
    check(dims[d] > 0 && dims[d] <= (int64_t{1} << 31) / count, path,
          ": a dimension is 0 or too large: ", dims[d]);
    count *= dims[d];
  }
  check(text.size() == header + count, path, ": has ", text.size() - header,
        " bytes of data, should have ", count);
  std::vector<uint8_t> values;
  append(values, text, header, count);
  return values;
}

}  // namespace

Preparation cifar10_preparation(const DatasetOptions&) {
  return {3, 32, 32, 32, {0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}};
}

Preparation mnist_preparation(const DatasetOptions&) {
  return {1, 28, 28, 28, {0.1307F}, {0.3081F}};
}

std::unique_ptr<Dataset> cifar10(const DatasetOptions& options) {
  constexpr std::size_t kImage = 3 * 32 * 32, kRecord = kImage + 1;
  Packed data;
  data.preparation = cifar10_preparation(options);
  data.classes = {"airplane", "automobile", "bird",  "cat",  "deer",
                  "dog",      "frog",       "horse", "ship", "truck"};
  data.shift = 4;
  std::vector<std::string> files{options.root + "/test_batch.bin"};
  if (!options.held_out) files.clear();
  for (int i = 1; i <= 5 && !options.held_out; ++i)
    files.push_back(join(options.root, "/data_batch_", i, ".bin"));
  for (const std::string& path : files) {
    const std::string text = read_file(path);
    check(!text.empty() && text.size() % kRecord == 0, path, ": ", text.size(),
          " bytes are not a multiple of the record size ", kRecord);
    for (std::size_t at = 0; at < text.size(); at += kRecord) {
      data.labels.push_back(static_cast<uint8_t>(text[at]));
      append(data.pixels, text, at + 1, kImage);
    }
  }
  return std::make_unique<PackedImages>(std::move(data), options, options.root);
}

std::unique_ptr<Dataset> mnist(const DatasetOptions& options) {
  const std::string start = options.root + (options.held_out ? "/t10k" : "/train");
  std::vector<int64_t> images(3), labels(1);
  Packed data;
  data.classes = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  data.pixels = read_idx(start + "-images-idx3-ubyte", images);
  data.labels = read_idx(start + "-labels-idx1-ubyte", labels);
  check(images[0] == labels[0], start, ": ", images[0], " images but ", labels[0], " labels");
  data.preparation = mnist_preparation(options);
  data.preparation.height = images[1];
  data.preparation.width = images[2];
  data.preparation.resize = std::min(images[1], images[2]);
  return std::make_unique<PackedImages>(std::move(data), options, start);
}

}  // namespace lockstep
