#include "data/dataset.h"

#include <array>

#include "data/digits.h"
#include "data/image_folder.h"
#include "data/packed.h"
#include "data/synthetic.h"
#include "graph/error.h"
#include "graph/graph.h"
#include "graph/nearest.h"

namespace lockstep {
namespace {

template <class Kind>
std::unique_ptr<Dataset> make(const DatasetOptions& options) {
  return std::make_unique<Kind>(options);
}

struct Entry {
  const char* name;
  std::unique_ptr<Dataset> (*make)(const DatasetOptions&);
  ImageSize size;  // 0: DATA.IMAGE_SIZE
};

constexpr std::array<Entry, 5> kDatasets{{{"digits", make<DigitImages>, {1, 28, 28}},
                                          {"synthetic", make<SyntheticImages>, {3, 0, 0}},
                                          {"image_folder", make<ImageFolder>, {3, 0, 0}},
                                          {"cifar10", cifar10, {3, 32, 32}},
                                          {"mnist", mnist, {1, 28, 28}}}};

const Entry& entry_of(const DatasetOptions& options) {
  for (const Entry& entry : kDatasets)
    if (options.name == entry.name) return entry;
  std::string known;
  for (const std::string& name : dataset_names()) known += " " + name;
  const std::string near = nearest(options.name, dataset_names());
  fail("there is no data set '", options.name, "'",
       near.empty() ? "" : "; did you mean '" + near + "'?", " Known:", known);
}

}  // namespace

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kDatasets) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Dataset> dataset_named(const DatasetOptions& options) {
  return entry_of(options).make(options);
}

ImageSize image_size_of(const DatasetOptions& options) {
  const ImageSize& size = entry_of(options).size;
  if (size.height > 0) return size;
  return {size.channels, options.image_size, options.image_size};
}

}  // namespace lockstep
