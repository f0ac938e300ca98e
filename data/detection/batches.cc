// SPDX-License-Identifier: Apache-2.0
#include "data/detection/batches.h"

#include <algorithm>

#include "data/streams.h"
#include "graph/limits.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {

// A picture in a minibatch.
struct DetectionBatches::Written {
  const KeptPicture& kept;
  bool mirrored;
  PicturePlace place;
};

DetectionBatches::DetectionBatches(const PictureSet& pictures, const DetectionBatchOptions& options)
    : pictures_(pictures),
      options_(options),
      places_{options.places, options.vertices, options.keypoints},
      kept_(keep_pictures(pictures, {options.least_area, options.empty_pictures, places_})) {
  check(!options.scales.empty(), "there is no scale for the pictures");
  check_something_to_learn(kept_, pictures.annotations(), places_);
  choose();
  take(options.first, options.count < 0 ? options.batch - options.first : options.count);
  order_ = std::make_unique<PictureOrder>(
      groups_, OrderOptions{options.batch, options.mirrored, options.seed});
}

void DetectionBatches::take(int64_t first, int64_t count) {
  check(first >= 0 && count > 0 && first + count <= options_.batch, "pictures ", first, " to ",
        first + count, " are not within a step of ", options_.batch);
  options_.first = first;
  options_.count = count;
  list_forms();
}

PictureScale DetectionBatches::scaled(const KeptPicture& kept, std::size_t scale) const {
  const CocoImage& image = pictures_.annotations().images[kept.picture];
  return scale_to(image.height, image.width, options_.scales[scale], options_.longest);
}

// Groups pictures by their shapes at the largest scale. At another scale a group's shape covers the
// same pictures.
void DetectionBatches::choose() {
  if (options_.jitter.on()) return pad_all_to(options_.jitter.size, "scaled at random, to");
  const std::size_t scales = options_.scales.size();
  const std::size_t largest =
      std::max_element(options_.scales.begin(), options_.scales.end()) - options_.scales.begin();
  std::vector<PictureSize> sizes;
  for (const KeptPicture& kept : kept_.pictures) {
    const PictureScale scale = scaled(kept, largest);
    sizes.push_back({scale.height, scale.width});
  }
  if (options_.fixed.area() > 0) return pad_all(sizes, largest);
  const int64_t copies = options_.mirrored ? 2 : 1;
  const PaddedShapes chosen =
      choose_shapes(sizes, {options_.stride, std::max<std::size_t>(1, options_.shapes / scales),
                            (options_.batch + copies - 1) / copies});
  groups_ = chosen.of;
  chosen_ = chosen.text();
  shapes_.assign(scales, std::vector<PictureSize>(chosen.shapes.size()));
  for (std::size_t s = 0; s < scales; ++s)
    for (std::size_t i = 0; i < kept_.pictures.size(); ++i) {
      PictureSize& shape = shapes_[s][groups_[i]];
      const PictureScale scale = scaled(kept_.pictures[i], s);
      shape = {std::max(shape.height, padded(scale.height, options_.stride)),
               std::max(shape.width, padded(scale.width, options_.stride))};
    }
  for (const auto& of_scale : shapes_)
    all_shapes_.insert(all_shapes_.end(), of_scale.begin(), of_scale.end());
  std::sort(all_shapes_.begin(), all_shapes_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.area(), a) < std::pair(b.area(), b);
  });
  all_shapes_.erase(std::unique(all_shapes_.begin(), all_shapes_.end()), all_shapes_.end());
}

void DetectionBatches::pad_all(const std::vector<PictureSize>& sizes, std::size_t scale) {
  for (std::size_t i = 0; i < sizes.size(); ++i)
    check(sizes[i].height <= options_.fixed.height && sizes[i].width <= options_.fixed.width,
          pictures_.annotations().path, ": image ",
          pictures_.annotations().images[kept_.pictures[i].picture].id, " is ", sizes[i].height,
          "x", sizes[i].width, " at a scale of ", options_.scales[scale], ", larger than ",
          options_.fixed.height, "x", options_.fixed.width);
  pad_all_to(options_.fixed, "all padded to");
}

void DetectionBatches::pad_all_to(const PictureSize& size, const char* how) {
  groups_.assign(kept_.pictures.size(), 0);
  shapes_.assign(options_.scales.size(), {size});
  all_shapes_ = {size};
  chosen_ = join(how, " ", size.height, "x", size.width);
}

// The scale of each picture of a step.
std::vector<std::size_t> DetectionBatches::scales_of(int64_t step) const {
  PhiloxSequence random(options_.seed, streams::kPictureScale + static_cast<uint64_t>(step));
  const auto count = static_cast<int64_t>(options_.scales.size());
  std::vector<std::size_t> scales(options_.batch, random.below(count));
  if (options_.scale_per_picture)
    for (std::size_t i = 1; i < scales.size(); ++i) scales[i] = random.below(count);
  return scales;
}

// Pictures of smaller scales fit into the shape of the largest.
std::size_t DetectionBatches::largest_scale(const std::vector<std::size_t>& scales) const {
  return *std::max_element(scales.begin(), scales.end(), [&](std::size_t a, std::size_t b) {
    return options_.scales[a] < options_.scales[b];
  });
}

// `place` counts the pictures of the whole step, so that processes draw alike.
PicturePlace DetectionBatches::place_of(const KeptPicture& kept, int64_t step,
                                        int64_t place) const {
  if (!options_.jitter.on()) return PicturePlace(scaled(kept, scales_of(step)[place]));
  const CocoImage& image = pictures_.annotations().images[kept.picture];
  PhiloxSequence random(options_.seed, streams::kPictureJitter + static_cast<uint64_t>(step));
  for (int64_t before = 0; before < place; ++before) jittered(image, options_.jitter, random);
  return jittered(image, options_.jitter, random);
}

std::size_t DetectionBatches::form(int64_t step) const {
  const std::size_t group = order_->step(step).group;
  const PictureSize& shape = shapes_[largest_scale(scales_of(step))][group];
  return std::find(all_shapes_.begin(), all_shapes_.end(), shape) - all_shapes_.begin();
}

std::string DetectionBatches::text() const {
  return join(kept_.pictures.size(), " pictures, ", chosen_, kept_.text());
}

std::vector<std::size_t> DetectionBatches::pictures() const {
  std::vector<std::size_t> numbers;
  for (const KeptPicture& kept : kept_.pictures) numbers.push_back(kept.picture);
  return numbers;
}

void DetectionBatches::list_forms() {
  const int64_t rows = options_.count;
  const MinibatchForm truth = truth_form(rows, places_);
  forms_.clear();
  for (const PictureSize& size : all_shapes_) {
    MinibatchForm form{{"data", {DType::float32, {rows, 3, size.height, size.width}}},
                       {"im_info", {DType::float32, {rows, 3}}},
                       {"image_number", {DType::int64, {rows}}}};
    form.insert(form.end(), truth.begin(), truth.end());
    if (options_.proposals)
      form.push_back({"proposals", {DType::float32, {rows, options_.proposal_places, 4}}});
    forms_.push_back(std::move(form));
  }
}

void DetectionBatches::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const PictureOrder::Step own = order_->step(step);
  const PictureSize size = shapes_[largest_scale(scales_of(step))][own.group];
  const int64_t place = options_.first + item;
  const FeedRow row(forms_[form(step)], tensors, item);
  const auto read_picture = [&](const OrderedPicture& picture) {
    const KeptPicture& kept = kept_.pictures[picture.picture];
    write({kept, picture.mirrored, place_of(kept, step, place)}, size, row);
  };
  const OrderedPicture& wanted = own.pictures[place];
  try {
    read_picture(wanted);
  } catch (const NoMemory&) {
    throw;
  } catch (const Error& error) {
    if (!options_.skip_bad_pictures)
      fail(error.what(), "; set TRAIN.SKIP_BAD_IMAGES true to use another picture instead");
    stand_in(
        {{step, item},
         place,
         wanted.picture,
         std::count(groups_.begin(), groups_.end(), own.group),
         error.what()},
        skipped_, [&](int64_t from) { return pictures_of_group(from, own.group); },
        [&](int64_t from, int64_t at) { read_picture(order_->step(from).pictures[at]); });
  }
}

// The pictures of a step, or an empty list if the step is of another group.
std::vector<int64_t> DetectionBatches::pictures_of_group(int64_t step, int32_t group) const {
  const PictureOrder::Step pictures = order_->step(step);
  std::vector<int64_t> numbers;
  if (pictures.group != group) return numbers;
  for (const OrderedPicture& picture : pictures.pictures) numbers.push_back(picture.picture);
  return numbers;
}

void DetectionBatches::write(const Written& picture, const PictureSize& shape,
                             const FeedRow& row) const {
  const KeptPicture& kept = picture.kept;
  const Image image = pictures_.picture(kept.picture);
  const auto& [scale, crop] = picture.place;
  write_picture(image, scale, {options_.means, picture.mirrored, crop},
                {row.of<float>("data").data(), shape.height, shape.width});
  const std::span<float> info = row.of<float>("im_info");
  info[0] = static_cast<float>(crop.height);
  info[1] = static_cast<float>(crop.width);
  info[2] = static_cast<float>(scale.scale);
  row.of<int64_t>("image_number")[0] = static_cast<int64_t>(kept.picture);
  const ShownPart part(pictures_.annotations().images[kept.picture], picture.mirrored,
                       options_.jitter.on() ? std::optional(picture.place) : std::nullopt);
  write_truth(row, places_, pictures_.annotations(), kept.boxes, part);
  if (options_.proposals) write_proposals(kept, part, row.of<float>("proposals"));
}

// Unused proposals are boxes without area.
void DetectionBatches::write_proposals(const KeptPicture& kept, const ShownPart& part,
                                       const std::span<float>& to) const {
  const std::vector<Corners> boxes = options_.proposals(kept.picture);
  const auto count =
      std::min<int64_t>(static_cast<int64_t>(boxes.size()), options_.proposal_places);
  std::fill(to.begin(), to.end(), 0.0F);
  for (int64_t i = 0; i < count; ++i) {
    const Corners box = part.box(boxes[i]);
    if (box[2] > box[0] && box[3] > box[1]) std::copy(box.begin(), box.end(), &to[4 * i]);
  }
}

}  // namespace lockstep
