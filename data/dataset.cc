// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include <array>

#include "data/augment/augmented_images.h"
#include "data/digits.h"
#include "data/image_folder.h"
#include "data/record_files.h"
#include "data/synthetic.h"
#include "graph/listed.h"
#include "graph/nearest.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

template <class Kind>
std::unique_ptr<Dataset> make(const DatasetOptions& options) {
  return std::make_unique<Kind>(options);
}

struct Entry {
  const char* name;
  std::unique_ptr<Dataset> (*make)(const DatasetOptions&);
  Preparation (*preparation)(const DatasetOptions&);
  bool bytes, files;
  const char* generated = "";
};

constexpr std::array<Entry, 5> kDatasets{
    {{"digits", make<DigitImages>, digits_preparation, true, false, "digits"},
     {"synthetic", make<SyntheticImages>, synthetic_preparation, false, false},
     {"image_folder", make<ImageFolder>, image_folder_preparation, true, true},
     {"cifar10", cifar10, cifar10_preparation, true, true},
     {"mnist", mnist, mnist_preparation, true, true}}};

const Entry& entry_of(const DatasetOptions& options) {
  for (const Entry& entry : kDatasets)
    if (options.name == entry.name) return entry;
  const std::string near = nearest(options.name, dataset_names());
  fail("there is no data set '", options.name, "'; ",
       near.empty() ? "known: " : "did you mean '" + near + "'? Known: ", listed(dataset_names()));
}

}  // namespace

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kDatasets) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Dataset> dataset_named(const DatasetOptions& options) {
  std::unique_ptr<Dataset> images = entry_of(options).make(options);
  if (options.held_out || !options.augmentation.active()) return images;
  check(has_bytes(options), "the images of the data set ", options.name,
        " are made of floats, which cannot be augmented");
  return augmented(std::move(images), options.augmentation, options.seed);
}

Preparation preparation_of(const DatasetOptions& options) {
  return entry_of(options).preparation(options);
}

bool has_bytes(const DatasetOptions& options) { return entry_of(options).bytes; }

bool has_files(const DatasetOptions& options) { return entry_of(options).files; }

std::string names_of_classes(const Dataset& data) {
  std::vector<std::string> names;
  for (int64_t label = 0; label < data.classes(); ++label)
    names.push_back(printable(data.class_name(label)));  // folder names may have any bytes
  return join(names.size(), " classes: ", listed(names));
}

std::string generated_by(const DatasetOptions& options) { return entry_of(options).generated; }

void Dataset::read(int64_t index, uint64_t draw, float* image, int64_t* label) const {
  std::vector<uint8_t> bytes(image_values());
  read_bytes(index, draw, bytes.data(), label);
  const int64_t plane = height() * width();
  for (int64_t c = 0; c < channels(); ++c)
    for (int64_t i = c * plane; i < (c + 1) * plane; ++i)
      image[i] = preparation().normalised(c, static_cast<float>(bytes[i]));
}

void Dataset::read_bytes(int64_t, uint64_t, uint8_t*, int64_t*) const {
  fail("the data set's images are not made of bytes");
}

}  // namespace lockstep
