// SPDX-License-Identifier: Apache-2.0
#include "app/detection/picture_rounds.h"

#include <algorithm>
#include <map>

#include "lockstep/error.h"
#include "models/detection/inputs.h"

namespace lockstep {
namespace {

// Indices of inputs, in the order of a form.
enum InputPlace { kPictureRow, kExtentRow, kProposalRows };

}  // namespace

PictureList list_of_pictures(std::span<const Image> images) {
  PictureList list;
  for (const Image& image : images) list.sizes.push_back({image.height, image.width});
  list.read = [images](std::size_t place) { return images[place]; };
  return list;
}

PictureRounds::PictureRounds(const DetectorConfig& config, const PictureList& list,
                             int64_t replicas)
    : list_(list),
      replicas_(replicas),
      scale_(config.network.test.scale),
      longest_(config.network.test.max_size),
      places_(takes_proposals(config.network) ? config.network.test.proposal_limit : 0) {
  check(places_ == 0 || list.proposals, config.path,
        ": the network has no RPN (RPN.RPN_ON), so it needs proposals: set TEST.PROPOSAL_FILES");
  for (std::size_t i = 0; i < rules_.means.size(); ++i)
    rules_.means[i] = static_cast<float>(config.pixel_means[i]);
  const int64_t stride = input_stride(config.network);
  std::map<PictureSize, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < list.sizes.size(); ++i) {
    const PictureScale scale = scaled(i);
    by_size[{padded(scale.height, stride), padded(scale.width, stride)}].push_back(i);
  }
  // Starts with the largest pictures, so that memory is allocated once.
  std::vector<std::pair<PictureSize, std::vector<std::size_t>>> groups(by_size.begin(),
                                                                       by_size.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.first.area() > b.first.area(); });
  for (const auto& [size, pictures] : groups) add_rounds(size, pictures);
}

void PictureRounds::add_rounds(const PictureSize& padded_size,
                               const std::vector<std::size_t>& pictures) {
  const Dims image{replicas_, 3, padded_size.height, padded_size.width};
  MinibatchForm form{{"data", {DType::float32, image}},
                     {"im_info", {DType::float32, {replicas_, 3}}}};
  if (places_ > 0) form.push_back({"proposals", {DType::float32, {replicas_, places_, 4}}});
  const std::size_t at_once = replicas_;
  for (std::size_t first = 0; first < pictures.size(); first += at_once) {
    const auto begin = pictures.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t count = std::min(at_once, pictures.size() - first);
    rounds_.push_back({forms_.size(), {begin, begin + static_cast<std::ptrdiff_t>(count)}});
  }
  forms_.push_back(std::move(form));
  sizes_.push_back(padded_size);
}

std::span<const std::size_t> PictureRounds::pictures(int64_t round) const {
  return rounds_[round].pictures;
}

const PictureSize& PictureRounds::size(int64_t round) const { return sizes_[form(round)]; }

// Rounds that are read ahead beyond the last round have the last round's form.
std::size_t PictureRounds::form(int64_t round) const {
  return rounds_[std::min(round, rounds() - 1)].form;
}

PictureScale PictureRounds::scaled(std::size_t picture) const {
  const PictureSize& size = list_.sizes[picture];
  return scale_to(size.height, size.width, scale_, longest_);
}

void PictureRounds::read(int64_t round, int64_t item, std::span<const Tensor> tensors) const {
  if (round >= rounds() || item >= static_cast<int64_t>(pictures(round).size())) return;
  const std::size_t picture = pictures(round)[item];
  const PictureSize &wanted = list_.sizes[picture], &frame = size(round);
  const Image image = list_.read(picture);
  check(image.height == wanted.height && image.width == wanted.width, "picture ", picture, " is ",
        image.height, " pixels high and ", image.width, " wide, should be ", wanted.height, " and ",
        wanted.width);
  const PictureScale scale = scaled(picture);
  float* data = tensors[kPictureRow].as<float>() + item * 3 * frame.area();
  write_picture(image, scale, rules_, {data, frame.height, frame.width});
  float* info = tensors[kExtentRow].as<float>() + 3 * item;
  info[0] = static_cast<float>(scale.height);
  info[1] = static_cast<float>(scale.width);
  info[2] = static_cast<float>(scale.scale);
  if (places_ > 0)
    write_proposals_of(picture, tensors[kProposalRows].as<float>() + item * places_ * 4);
}

// Fills unused slots with boxes without an area.
void PictureRounds::write_proposals_of(std::size_t picture, float* places) const {
  const std::vector<Corners> boxes = list_.proposals(picture);
  const auto count = std::min<std::size_t>(boxes.size(), places_);
  for (std::size_t i = 0; i < count; ++i)
    std::copy(boxes[i].begin(), boxes[i].end(), places + 4 * i);
  std::fill(places + 4 * count, places + 4 * places_, 0.0F);
}

}  // namespace lockstep
