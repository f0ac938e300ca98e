// SPDX-License-Identifier: Apache-2.0
#include "data/masked_images.h"

#include "data/labelled_images.h"
#include "lockstep/error.h"

namespace lockstep {

struct MaskedImageBatches::Members {
  Members(const MaskedImages& images, const MaskedBatchOptions& options)
      : images(images), options(options), order(images.size(), options.seed) {}

  const MaskedImages& images;
  MaskedBatchOptions options;
  EpochOrder order;
  std::vector<MinibatchForm> forms;
};

MaskedImageBatches::MaskedImageBatches(const MaskedImages& images,
                                       const MaskedBatchOptions& options)
    : members_(std::make_unique<Members>(images, options)) {
  check(images.size() > 0, "the data set is empty");
  check(options.batch > 0, "the batch has ", options.batch, " images, should have at least 1");
  int64_t& count = members_->options.count;
  if (count < 0) count = options.batch - options.first;
  check(options.first >= 0 && count > 0 && options.first + count <= options.batch, "images ",
        options.first, " to ", options.first + count, " are not within a batch of ", options.batch);
  const int64_t height = images.preparation().height, width = images.preparation().width;
  members_->forms = {{{options.images, {DType::float32, {count, 3, height, width}}},
                      {options.masks, {DType::int64, {count, height, width}}}}};
}
MaskedImageBatches::~MaskedImageBatches() = default;

const std::vector<MinibatchForm>& MaskedImageBatches::forms() const { return members_->forms; }
int64_t MaskedImageBatches::items() const { return members_->options.count; }

void MaskedImageBatches::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const MaskedBatchOptions& options = members_->options;
  const MaskedImages& images = members_->images;
  const int64_t position = step * options.batch + options.first + item;
  const int64_t index = options.shuffle ? members_->order.at(position) : position % images.size();
  const int64_t pixels = images.preparation().height * images.preparation().width;
  images.read(index, static_cast<uint64_t>(position), tensors[0].as<float>() + item * 3 * pixels,
              tensors[1].as<int64_t>() + item * pixels);
}

}  // namespace lockstep
