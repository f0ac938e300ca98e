// SPDX-License-Identifier: Apache-2.0
// The data set `arrays`: files of numbers, one array for each input of the network.
#include "app/arrays/example_source.h"
#include "app/arrays/fed_names.h"
#include "app/arrays/named_values.h"
#include "app/arrays/prediction.h"
#include "app/config/read.h"
#include "data/arrays/arrays.h"
#include "graph/listed.h"

namespace lockstep {
namespace {

class ArrayExamples final : public ExampleSet {
 public:
  explicit ArrayExamples(const ArraySetOptions& options) : set_(options) {}

  int64_t size() const override { return set_.size(); }
  std::string digest() const override { return set_.digest(); }
  std::string description() const override {
    std::vector<std::string> texts;
    for (const ArrayFacts& feed : set_.feeds()) {
      const std::string dims = join(feed.dims);
      texts.push_back(join(feed.name, " ", feed.dtype, feed.dims.empty() ? "" : dims));
    }
    return listed(texts);
  }
  std::vector<MinibatchForm> forms(int64_t count) const override { return set_.forms(count); }
  std::size_t form_of(int64_t example) const override { return set_.form_of(example); }
  void read(int64_t example, int64_t row, std::span<const Tensor> tensors) const override {
    set_.read(example, row, tensors);
  }
  std::unique_ptr<MinibatchSource> minibatches(const ExampleBatches& options) const override {
    return std::make_unique<ArrayBatches>(set_, ArrayBatchOptions{.batch = options.batch,
                                                                  .first = options.first,
                                                                  .count = options.count,
                                                                  .seed = options.seed,
                                                                  .shuffle = options.shuffle});
  }

 private:
  ArraySet set_;
};

void check_arrays(const ArraysConfig& config) {
  check(!config.train.empty(), Key{"DATA.TRAIN"}, " names no arrays to train on");
  check(!config.test.empty(), Key{"DATA.TEST"},
        " names no arrays to test on; to test on the training data, name it there, too");
  for (std::size_t i = 1; i < config.buckets.size(); ++i)
    check(config.buckets[i - 1] < config.buckets[i], Key{"DATA.BUCKETS"}, ": ", config.buckets[i],
          " follows ", config.buckets[i - 1], "; lengths should ascend");
  naming("DATA.COLUMNS", [&] { columns_of(config.columns); });
  naming("DATA.PADDING", [&] { numbers_of(config.padding); });
}

std::string place_of_arrays(const ArraysConfig& config, bool held_out) {
  return held_out ? config.test : config.train;
}

std::unique_ptr<ExampleSet> open_array_part(const ArraysConfig& config, bool held_out,
                                            const std::vector<FedArray>& fed) {
  return open_arrays(config, held_out ? "DATA.TEST" : "DATA.TRAIN",
                     place_of_arrays(config, held_out), fed);
}

}  // namespace

std::unique_ptr<ExampleSet> open_arrays(const ArraysConfig& config, const std::string& key,
                                        const std::string& path, const std::vector<FedArray>& fed) {
  const auto sources = texts_of(config.sources);
  const auto padding = numbers_of(config.padding);
  ArraySetOptions options;
  options.path = path;
  options.columns = columns_of(config.columns);
  options.buckets = config.buckets;
  for (const FedArray& array : fed)
    options.feeds.push_back({.name = array.name,
                             .source = value_or(sources, array.name, array.name),
                             .dtype = array.dtype,
                             .dims = array.dims,
                             .padding = value_or(padding, array.name, array.padding),
                             .buckets = {}});
  std::unique_ptr<ExampleSet> set;
  naming(key, [&] { set = std::make_unique<ArrayExamples>(options); });
  check(set->size() > 0, Key{key}, ": ", path, " has no examples");
  return set;
}

ExampleSource array_source() {
  return {.name = kArrays,
          .meaning = "files of numbers, one array for each input of the network",
          .keys = {"DATA.TRAIN", "DATA.TEST", "DATA.COLUMNS", "DATA.WHOLE", "DATA.BUCKETS",
                   "DATA.PADDING"},
          .train = {"DATA.TRAIN", "the arrays of DATA.TRAIN"},
          .test = {"DATA.TEST", "the arrays of DATA.TEST"},
          .has_pictures = false,
          .check = check_arrays,
          .place = place_of_arrays,
          .open = open_array_part,
          .infer = predict_arrays};
}

}  // namespace lockstep
