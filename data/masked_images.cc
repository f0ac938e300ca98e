// SPDX-License-Identifier: Apache-2.0
#include "data/masked_images.h"

#include <algorithm>

#include "data/batch_rows.h"
#include "data/epoch_order.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

template <class T>
void convert_mask(const std::vector<int64_t>& mask, T* to) {
  for (const int64_t value : mask) *to++ = static_cast<T>(value);
}

void write_mask(const std::vector<int64_t>& mask, int64_t row, const Tensor& tensor) {
  const int64_t at = row * static_cast<int64_t>(mask.size());
  switch (tensor.desc.dtype) {
    case DType::int64:
      return convert_mask(mask, tensor.as<int64_t>() + at);
    case DType::int32:
      return convert_mask(mask, tensor.as<int32_t>() + at);
    case DType::uint8:
      return convert_mask(mask, tensor.as<uint8_t>() + at);
    case DType::float32:
      return convert_mask(mask, tensor.as<float>() + at);
    default:
      fail("a mask has no elements of ", tensor.desc.dtype,
           "; possible: int64, int32, uint8, float32");
  }
}

}  // namespace

TensorDesc MaskedFeed::desc(const Preparation& preparation, int64_t count) const {
  const int64_t height = preparation.height, width = preparation.width;
  if (!is_mask) return {DType::float32, {count, preparation.channels, height, width}};
  if (channel) return {dtype, {count, 1, height, width}};
  return {dtype, {count, height, width}};
}

void write_masked(const MaskedImages& images, int64_t index, uint64_t draw, int64_t row,
                  std::span<const MaskedFeed> feeds, std::span<const Tensor> tensors) {
  const Preparation& preparation = images.preparation();
  std::vector<float> image(static_cast<std::size_t>(preparation.values()));
  std::vector<int64_t> mask(static_cast<std::size_t>(preparation.height * preparation.width));
  images.read(index, draw, image.data(), mask.data());
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i].is_mask)
      write_mask(mask, row, tensors[i]);
    else
      std::copy(image.begin(), image.end(),
                tensors[i].as<float>() + row * static_cast<int64_t>(image.size()));
  }
}

struct MaskedImageBatches::Members {
  Members(const MaskedImages& images, const MaskedBatchOptions& options)
      : images(images), options(options), order(images.size(), options.seed, options.shuffle) {}

  const MaskedImages& images;
  MaskedBatchOptions options;
  EpochOrder order;
  std::vector<MinibatchForm> forms;
};

MaskedImageBatches::MaskedImageBatches(const MaskedImages& images,
                                       const MaskedBatchOptions& options)
    : members_(std::make_unique<Members>(images, options)) {
  check(images.size() > 0, "the data set is empty");
  int64_t& count = members_->options.count;
  count = rows_in_batch(options.batch, options.first, count, "images");
  MinibatchForm& form = members_->forms.emplace_back();
  for (const MaskedFeed& feed : options.feeds)
    form.push_back({feed.name, feed.desc(images.preparation(), count)});
}
MaskedImageBatches::~MaskedImageBatches() = default;

const std::vector<MinibatchForm>& MaskedImageBatches::forms() const { return members_->forms; }
int64_t MaskedImageBatches::items() const { return members_->options.count; }

void MaskedImageBatches::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const MaskedBatchOptions& options = members_->options;
  const MaskedImages& images = members_->images;
  const int64_t position = step * options.batch + options.first + item;
  const int64_t index = members_->order.at(position);
  write_masked(images, index, static_cast<uint64_t>(position), item, options.feeds, tensors);
}

}  // namespace lockstep
