#include "data/labelled_images.h"

#include <numeric>
#include <utility>

#include "graph/error.h"
#include "runtime/shuffle.h"

namespace lockstep {
namespace {

constexpr uint64_t kShuffleStream = uint64_t{1} << 40;  // above the streams of parameters

}  // namespace

int64_t EpochOrder::at(int64_t position) const {
  const int64_t number = position / size_;
  const std::lock_guard lock(mutex_);
  Epoch& epoch = epochs_[static_cast<std::size_t>(number % 2)];
  if (number != epoch.number) {
    std::vector<int32_t>& order = epoch.order;
    order.resize(static_cast<std::size_t>(size_));
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, seed_, kShuffleStream + static_cast<uint64_t>(number));
    epoch.number = number;
  }
  return epoch.order[static_cast<std::size_t>(position % size_)];
}

LabelledImages::LabelledImages(const Dataset& dataset, const LabelledImagesOptions& options)
    : dataset_(dataset), options_(options), order_(dataset.size(), options.seed) {
  check(options.batch > 0, "a batch of ", options.batch, " images");
  if (options_.count < 0) options_.count = options.batch - options.first;
  check(options_.count > 0 && options_.first + options_.count <= options.batch, "images ",
        options_.first, " to ", options_.first + options_.count, " of a batch of ", options.batch);
  check(dataset.size() > 0, "the data set is empty");
  forms_ = {{{options_.images,
              {options_.bytes ? DType::uint8 : DType::float32,
               {options_.count, dataset.channels(), dataset.height(), dataset.width()}}},
             {options_.labels, {DType::int64, {options_.count}}}}};
}

void LabelledImages::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const int64_t position = step * options_.batch + options_.first + item;
  const int64_t index = options_.shuffle ? order_.at(position) : position % dataset_.size();
  const auto draw = static_cast<uint64_t>(position);
  const int64_t at = item * dataset_.image_values();
  int64_t* const label = tensors[1].as<int64_t>() + item;
  if (options_.bytes)
    dataset_.read_bytes(index, draw, tensors[0].as<uint8_t>() + at, label);
  else
    dataset_.read(index, draw, tensors[0].as<float>() + at, label);
}

}  // namespace lockstep
