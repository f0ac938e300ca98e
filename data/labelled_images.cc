// SPDX-License-Identifier: Apache-2.0
#include "data/labelled_images.h"

#include <algorithm>
#include <utility>

#include "data/batch_rows.h"
#include "data/mixed_pictures.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {

LabelledImages::LabelledImages(const Dataset& dataset, const LabelledImagesOptions& options)
    : dataset_(dataset), options_(options), order_(dataset.size(), options.seed, options.shuffle) {
  options_.count = rows_in_batch(options.batch, options.first, options.count, "images");
  check(dataset.size() > 0, "the data set is empty");
  forms_ = {{{options_.images,
              {options_.bytes ? DType::uint8 : DType::float32,
               {options_.count, dataset.channels(), dataset.height(), dataset.width()}}},
             {options_.labels, {DType::int64, {options_.count}}}}};
  if (options_.mixup <= 0) return;
  forms_[0].push_back({options_.second_label, {DType::int64, {options_.count}}});
  forms_[0].push_back({options_.second_share, {DType::float32, {options_.count}}});
}

int64_t LabelledImages::index_at(int64_t position) const { return order_.at(position); }

LabelledImages::Row LabelledImages::row_of(int64_t item, std::span<const Tensor> tensors) const {
  const std::size_t bytes = dataset_.image_values() * size_of(tensors[0].desc.dtype);
  return {static_cast<std::byte*>(tensors[0].data) + item * bytes, tensors[1].as<int64_t>() + item};
}

void LabelledImages::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  read_place(step, options_.first + item, item, row_of(item, tensors), skipped_);
  if (options_.mixup > 0) mix(step, item, tensors);
}

void LabelledImages::read_place(int64_t step, int64_t place, int64_t item, const Row& row,
                                SkippedPictures& bad) const {
  const int64_t position = step * options_.batch + place;
  try {
    write(index_at(position), static_cast<uint64_t>(position), row);
  } catch (const NoMemory&) {
    throw;
  } catch (const Error& error) {
    replace(step, place, item, row, bad, error.what());
  }
}

// Replaces a bad image as the options say. Another image uses the draw of the image it replaces.
void LabelledImages::replace(int64_t step, int64_t place, int64_t item, const Row& row,
                             SkippedPictures& bad, const std::string& why) const {
  const int64_t first = step * options_.batch;
  switch (options_.in_place_of_bad) {
    case InPlaceOfBad::nothing_and_stop:
      fail(why, "; TRAIN.SKIP_BAD_IMAGES true goes on without pictures that cannot be read");
    case InPlaceOfBad::nothing:
      bad.add({step, item}, 0, why);
      return write_nothing(row);
    case InPlaceOfBad::another:
      const auto images_of = [&](int64_t from) {
        std::vector<int64_t> images;
        for (int64_t at = 0; at < options_.batch; ++at)
          images.push_back(index_at(from * options_.batch + at));
        return images;
      };
      stand_in({{step, item}, place, index_at(first + place), dataset_.size(), why}, bad, images_of,
               [&](int64_t from, int64_t at) {
                 write(index_at(from * options_.batch + at), static_cast<uint64_t>(first + place),
                       row);
               });
  }
}

// Mixes the item with the image before it in the batch of all processes, which is read again: the
// item before it may belong to another process, or be read later.
void LabelledImages::mix(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const int64_t batch = options_.batch, values = dataset_.image_values();
  const int64_t place = (options_.first + item + batch - 1) % batch;
  const Row own = row_of(item, tensors);
  std::vector<std::byte> image(values * size_of(tensors[0].desc.dtype));
  int64_t label = 0;
  SkippedPictures unsaid;  // the other image's item names it
  read_place(step, place, item, {image.data(), &label}, unsaid);
  const double share = share_of_step(options_.mixup, options_.seed, step);
  if (options_.bytes)
    mix_images(reinterpret_cast<const uint8_t*>(image.data()), share, values,
               static_cast<uint8_t*>(own.image));
  else
    mix_images(reinterpret_cast<const float*>(image.data()), share, values,
               static_cast<float*>(own.image));
  int64_t& second = tensors[2].as<int64_t>()[item] = label;
  if (share < 0.5) std::swap(second, *own.label);
  tensors[3].as<float>()[item] = static_cast<float>(std::min(share, 1 - share));
}

void LabelledImages::write(int64_t index, uint64_t draw, const Row& row) const {
  if (options_.bytes)
    dataset_.read_bytes(index, draw, static_cast<uint8_t*>(row.image), row.label);
  else
    dataset_.read(index, draw, static_cast<float*>(row.image), row.label);
}

void LabelledImages::write_nothing(const Row& row) const {
  const int64_t count = dataset_.image_values();
  if (options_.bytes)
    std::fill_n(static_cast<uint8_t*>(row.image), count, uint8_t{0});
  else
    std::fill_n(static_cast<float*>(row.image), count, 0.0F);
  *row.label = -1;
}

}  // namespace lockstep
