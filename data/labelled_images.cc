// SPDX-License-Identifier: Apache-2.0
#include "data/labelled_images.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/limits.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

constexpr uint64_t kShuffleStream = uint64_t{1} << 40;  // above the streams of parameters

}  // namespace

int64_t EpochOrder::at(int64_t position) const {
  const int64_t number = position / size_;
  const std::lock_guard lock(mutex_);
  Epoch& epoch = epochs_[number % 2];
  if (number != epoch.number) {
    std::vector<int32_t>& order = epoch.order;
    order.resize(size_);
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, seed_, kShuffleStream + static_cast<uint64_t>(number));
    epoch.number = number;
  }
  return epoch.order[position % size_];
}

LabelledImages::LabelledImages(const Dataset& dataset, const LabelledImagesOptions& options)
    : dataset_(dataset), options_(options), order_(dataset.size(), options.seed) {
  check(options.batch > 0, "the batch has ", options.batch, " images, should have at least 1");
  if (options_.count < 0) options_.count = options.batch - options.first;
  check(options_.count > 0 && options_.first + options_.count <= options.batch, "images ",
        options_.first, " to ", options_.first + options_.count, " are not within a batch of ",
        options.batch);
  check(dataset.size() > 0, "the data set is empty");
  forms_ = {{{options_.images,
              {options_.bytes ? DType::uint8 : DType::float32,
               {options_.count, dataset.channels(), dataset.height(), dataset.width()}}},
             {options_.labels, {DType::int64, {options_.count}}}}};
}

int64_t LabelledImages::index_at(int64_t position) const {
  return options_.shuffle ? order_.at(position) : position % dataset_.size();
}

void LabelledImages::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const int64_t position = step * options_.batch + options_.first + item;
  try {
    write(index_at(position), static_cast<uint64_t>(position), item, tensors);
  } catch (const NoMemory&) {
    throw;
  } catch (const Error& error) {
    replace(step, item, tensors, error.what());
  }
}

// Replaces a bad image as the options say. Another image uses the draw of the image it replaces.
void LabelledImages::replace(int64_t step, int64_t item, std::span<const Tensor> tensors,
                             const std::string& why) const {
  const int64_t place = options_.first + item, first = step * options_.batch;
  switch (options_.in_place_of_bad) {
    case InPlaceOfBad::nothing_and_stop:
      fail(why, "; TRAIN.SKIP_BAD_IMAGES true goes on without pictures that cannot be read");
    case InPlaceOfBad::nothing:
      skipped_.add({step, item}, 0, why);
      return write_nothing(item, tensors);
    case InPlaceOfBad::another:
      const auto images_of = [&](int64_t from) {
        std::vector<int64_t> images;
        for (int64_t at = 0; at < options_.batch; ++at)
          images.push_back(index_at(from * options_.batch + at));
        return images;
      };
      stand_in({{step, item}, place, index_at(first + place), dataset_.size(), why}, skipped_,
               images_of, [&](int64_t from, int64_t at) {
                 write(index_at(from * options_.batch + at), static_cast<uint64_t>(first + place),
                       item, tensors);
               });
  }
}

void LabelledImages::write(int64_t index, uint64_t draw, int64_t item,
                           std::span<const Tensor> tensors) const {
  const int64_t at = item * dataset_.image_values();
  int64_t* const label = tensors[1].as<int64_t>() + item;
  if (options_.bytes)
    dataset_.read_bytes(index, draw, tensors[0].as<uint8_t>() + at, label);
  else
    dataset_.read(index, draw, tensors[0].as<float>() + at, label);
}

void LabelledImages::write_nothing(int64_t item, std::span<const Tensor> tensors) const {
  const int64_t count = dataset_.image_values();
  if (options_.bytes)
    std::fill_n(tensors[0].as<uint8_t>() + item * count, count, uint8_t{0});
  else
    std::fill_n(tensors[0].as<float>() + item * count, count, 0.0F);
  tensors[1].as<int64_t>()[item] = -1;
}

}  // namespace lockstep
