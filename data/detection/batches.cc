// SPDX-License-Identifier: Apache-2.0
#include "data/detection/batches.h"

#include <algorithm>

#include "graph/limits.h"
#include "lockstep/error.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

constexpr uint64_t kScaleStream = uint64_t{8} << 40;  // above the streams of parameters

// Indices of a form's tensors.
enum Place { kData, kInfo, kNumber, kBoxes, kClasses, kCrowd, kProposals };

}  // namespace

DetectionBatches::DetectionBatches(const PictureSet& pictures, const DetectionBatchOptions& options)
    : pictures_(pictures), options_(options) {
  check(!options.scales.empty(), "there is no scale for the pictures");
  keep_pictures();
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

void DetectionBatches::keep_pictures() {
  const Annotations& table = pictures_.annotations();
  for (std::size_t i = 0; i < table.images.size(); ++i) {
    Kept kept{i, training_boxes(table, i, options_.least_area, left_out_)};
    if (std::all_of(kept.boxes.begin(), kept.boxes.end(), [](const auto& b) { return b.crowd; }))
      continue;
    if (static_cast<int64_t>(kept.boxes.size()) > options_.places)
      fail(pictures_.name_of(i), " has ", kept.boxes.size(), " boxes to train on, more than ",
           options_.places, " (TRAIN.TRUE_BOXES)");
    kept_.push_back(std::move(kept));
  }
  const std::string why = left_out_.text();
  check(!kept_.empty(), table.path, ": none of the ", table.images.size(),
        " images has a box to train on", why.empty() ? "" : "; objects left out: ", why);
}

PictureScale DetectionBatches::scaled(const Kept& kept, std::size_t scale) const {
  const CocoImage& image = pictures_.annotations().images[kept.picture];
  return scale_to(image.height, image.width, options_.scales[scale], options_.longest);
}

// Groups pictures by their shapes at the largest scale. At another scale a group's shape covers the
// same pictures.
void DetectionBatches::choose() {
  const std::size_t scales = options_.scales.size();
  const std::size_t largest =
      std::max_element(options_.scales.begin(), options_.scales.end()) - options_.scales.begin();
  std::vector<PictureSize> sizes;
  for (const Kept& kept : kept_) {
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
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      PictureSize& shape = shapes_[s][groups_[i]];
      const PictureScale scale = scaled(kept_[i], s);
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
          pictures_.annotations().images[kept_[i].picture].id, " is ", sizes[i].height, "x",
          sizes[i].width, " at a scale of ", options_.scales[scale], ", larger than ",
          options_.fixed.height, "x", options_.fixed.width);
  groups_.assign(kept_.size(), 0);
  shapes_.assign(options_.scales.size(), {options_.fixed});
  all_shapes_ = {options_.fixed};
  chosen_ = join("all padded to ", options_.fixed.height, "x", options_.fixed.width);
}

std::size_t DetectionBatches::scale_of(int64_t step) const {
  PhiloxSequence random(options_.seed, kScaleStream + static_cast<uint64_t>(step));
  return random.below(static_cast<int64_t>(options_.scales.size()));
}

std::size_t DetectionBatches::form(int64_t step) const {
  const std::size_t group = order_->step(step).group;
  const PictureSize& shape = shapes_[scale_of(step)][group];
  return std::find(all_shapes_.begin(), all_shapes_.end(), shape) - all_shapes_.begin();
}

std::string DetectionBatches::text() const {
  const std::size_t all = pictures_.annotations().images.size();
  std::string text = join(kept_.size(), " pictures, ", chosen_);
  if (all > kept_.size())
    text += join("; ", all - kept_.size(), " pictures without a box left out");
  if (const std::string why = left_out_.text(); !why.empty()) text += "; objects left out: " + why;
  return text;
}

std::vector<std::size_t> DetectionBatches::pictures() const {
  std::vector<std::size_t> numbers;
  for (const Kept& kept : kept_) numbers.push_back(kept.picture);
  return numbers;
}

void DetectionBatches::list_forms() {
  const int64_t rows = options_.count, places = options_.places;
  forms_.clear();
  for (const PictureSize& size : all_shapes_)
    forms_.push_back({{"data", {DType::float32, {rows, 3, size.height, size.width}}},
                      {"im_info", {DType::float32, {rows, 3}}},
                      {"image_number", {DType::int64, {rows}}},
                      {"gt_boxes", {DType::float32, {rows, places, 4}}},
                      {"gt_classes", {DType::int64, {rows, places}}},
                      {"gt_crowd", {DType::int64, {rows, places}}}});
  if (!options_.proposals) return;
  for (MinibatchForm& form : forms_)
    form.push_back({"proposals", {DType::float32, {rows, options_.proposal_places, 4}}});
}

void DetectionBatches::read(int64_t step, int64_t item, std::span<const Tensor> tensors) const {
  const PictureOrder::Step own = order_->step(step);
  const std::size_t scale = scale_of(step);
  const PictureSize size = shapes_[scale][own.group];
  const auto read_picture = [&](const OrderedPicture& picture) {
    write(kept_[picture.picture], picture.mirrored, scale, size, item, tensors);
  };
  const int64_t place = options_.first + item;
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

void DetectionBatches::write(const Kept& kept, bool mirror, std::size_t scale,
                             const PictureSize& shape, int64_t item,
                             std::span<const Tensor> tensors) const {
  const Image image = pictures_.picture(kept.picture);
  const PictureScale scaled_to = scaled(kept, scale);
  float* data = tensors[kData].as<float>() + item * 3 * shape.area();
  write_picture(image, scaled_to, {options_.means, mirror}, {data, shape.height, shape.width});
  float* info = tensors[kInfo].as<float>() + 3 * item;
  info[0] = static_cast<float>(scaled_to.height);
  info[1] = static_cast<float>(scaled_to.width);
  info[2] = static_cast<float>(scaled_to.scale);
  tensors[kNumber].as<int64_t>()[item] = static_cast<int64_t>(kept.picture);
  for (int64_t place = 0; place < options_.places; ++place) {
    const int64_t at = item * options_.places + place;
    const bool used = place < static_cast<int64_t>(kept.boxes.size());
    const TrainingBox box = used ? kept.boxes[place] : TrainingBox{};
    const Corners corners =
        used && mirror ? mirrored(box.corners, static_cast<float>(image.width)) : box.corners;
    std::copy(corners.begin(), corners.end(), tensors[kBoxes].as<float>() + 4 * at);
    tensors[kClasses].as<int64_t>()[at] = box.kind;
    tensors[kCrowd].as<int64_t>()[at] = box.crowd;
  }
  if (options_.proposals)
    write_proposals(kept, mirror, static_cast<float>(image.width),
                    tensors[kProposals].as<float>() + 4 * item * options_.proposal_places);
}

// Unused proposals are boxes without area.
void DetectionBatches::write_proposals(const Kept& kept, bool mirror, float width,
                                       float* to) const {
  const std::vector<Corners> boxes = options_.proposals(kept.picture);
  const auto count =
      std::min<int64_t>(static_cast<int64_t>(boxes.size()), options_.proposal_places);
  std::fill_n(to, 4 * options_.proposal_places, 0.0F);
  for (int64_t i = 0; i < count; ++i) {
    const Corners& box = boxes[i];
    const Corners corners = mirror ? mirrored(box, width) : box;
    std::copy(corners.begin(), corners.end(), to + 4 * i);
  }
}

}  // namespace lockstep
