#include "data/dataset.h"

#include <numeric>

#include "data/digits.h"
#include "graph/error.h"
#include "runtime/philox.h"

namespace lockstep {
namespace {

constexpr uint64_t kShuffleStream = uint64_t{1} << 40;  // beyond the streams of parameters

}  // namespace

int64_t EpochOrder::at(int64_t position) {
  const int64_t epoch = position / size_;
  if (epoch != epoch_) {
    order_.resize(static_cast<std::size_t>(size_));
    std::iota(order_.begin(), order_.end(), 0);
    PhiloxSequence random(seed_, kShuffleStream + static_cast<uint64_t>(epoch));
    for (int64_t i = size_ - 1; i > 0; --i) std::swap(order_[i], order_[random.below(i + 1)]);
    epoch_ = epoch;
  }
  return order_[position % size_];
}

BatchSource::BatchSource(const Dataset& dataset, int64_t batch, uint64_t seed)
    : dataset_(dataset), batch_(batch), order_(dataset.size(), seed) {
  check(batch > 0, "a batch of ", batch, " images");
  check(dataset.size() > 0, "the data set is empty");
}

void BatchSource::fill(int64_t step, float* images, int64_t* labels) {
  for (int64_t i = 0; i < batch_; ++i)
    dataset_.read(order_.at(step * batch_ + i), images + i * dataset_.image_values(), labels + i);
}

std::unique_ptr<Dataset> dataset_named(const DatasetOptions& options) {
  if (options.name == "digits") return std::make_unique<DigitImages>(options);
  fail("there is no data set '", options.name, "'; known: digits");
}

}  // namespace lockstep
