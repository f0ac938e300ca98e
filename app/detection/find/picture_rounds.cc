// SPDX-License-Identifier: Apache-2.0
#include "app/detection/find/picture_rounds.h"

#include <algorithm>
#include <map>

#include "app/detection/datasets/proposal_rules.h"
#include "graph/limits.h"
#include "lockstep/error.h"
#include "models/detection/inputs.h"

namespace lockstep {
namespace {

// Indices of inputs, in the order of a form.
enum InputPlace { kPictureRow, kExtentRow, kProposalRows };

bool reads_proposals(const DetectorOptions& network) {
  return takes_proposals(network) && network.test.predicts != Predicts::maps;
}

}  // namespace

PictureList list_of_pictures(std::span<const Image> images) {
  PictureList list;
  for (const Image& image : images) list.sizes.push_back({image.height, image.width});
  list.read = [images](std::size_t place) { return images[place]; };
  return list;
}

PictureShare share_of_pictures(const Comm* comm) {
  if (!comm) return {};
  return {static_cast<std::size_t>(comm->rank()), static_cast<std::size_t>(comm->size())};
}

Image picture_or_blank(const PictureSet& set, std::size_t number, bool skips, std::string& why) {
  try {
    return set.picture(number);
  } catch (const NoMemory&) {
    throw;
  } catch (const Error& error) {
    if (!skips) fail(error.what(), "; TRAIN.SKIP_BAD_IMAGES true leaves it out of the test");
    why = error.what();
  }
  const CocoImage& image = set.annotations().images[number];
  return {image.height, image.width, std::vector<uint8_t>(3 * image.height * image.width)};
}

std::vector<PictureView> views_of_pictures(const PictureList& list,
                                           const std::vector<ViewRules>& views, std::size_t first,
                                           std::size_t last) {
  std::vector<PictureView> all;
  for (std::size_t i = first; i < last; ++i)
    for (const ViewRules& rules : views) all.push_back({i, View(rules, list.sizes[i])});
  return all;
}

std::array<float, 3> extent_of(const PictureScale& scale) {
  return {static_cast<float>(scale.height), static_cast<float>(scale.width),
          static_cast<float>(scale.scale)};
}

PictureRounds::PictureRounds(const DetectorConfig& config, const PictureList& list,
                             std::vector<PictureView> views, int64_t replicas)
    : list_(list),
      views_(std::move(views)),
      replicas_(replicas),
      places_(reads_proposals(config.network) ? config.network.test.proposal_limit : 0),
      dedup_(config.dedup_boxes) {
  check(places_ == 0 || list.proposals, config.path,
        ": the network has no RPN (RPN.RPN_ON), so it needs proposals: set TEST.PROPOSAL_FILES");
  for (std::size_t i = 0; i < rules_.means.size(); ++i)
    rules_.means[i] = static_cast<float>(config.pixel_means[i]);
  const int64_t stride = input_stride(config.network);
  std::map<PictureSize, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const PictureScale& scale = views_[i].view.scale();
    by_size[{padded(scale.height, stride), padded(scale.width, stride)}].push_back(i);
  }
  // Starts with the largest views, so that memory is allocated once.
  std::vector<std::pair<PictureSize, std::vector<std::size_t>>> groups(by_size.begin(),
                                                                       by_size.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.first.area() > b.first.area(); });
  for (const auto& [size, of_size] : groups) add_rounds(size, of_size);
}

void PictureRounds::add_rounds(const PictureSize& padded_size,
                               const std::vector<std::size_t>& views) {
  const Dims image{replicas_, 3, padded_size.height, padded_size.width};
  MinibatchForm form{{"data", {DType::float32, image}},
                     {"im_info", {DType::float32, {replicas_, 3}}}};
  if (places_ > 0) form.push_back({"proposals", {DType::float32, {replicas_, places_, 4}}});
  const std::size_t at_once = replicas_;
  for (std::size_t first = 0; first < views.size(); first += at_once) {
    const auto begin = views.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t count = std::min(at_once, views.size() - first);
    rounds_.push_back({forms_.size(), {begin, begin + static_cast<std::ptrdiff_t>(count)}});
  }
  forms_.push_back(std::move(form));
  sizes_.push_back(padded_size);
}

std::span<const std::size_t> PictureRounds::views(int64_t round) const {
  return rounds_[round].views;
}

const PictureSize& PictureRounds::size(int64_t round) const { return sizes_[form(round)]; }

// Rounds that are read ahead beyond the last round have the last round's form.
std::size_t PictureRounds::form(int64_t round) const {
  return rounds_[std::min(round, rounds() - 1)].form;
}

void PictureRounds::read(int64_t round, int64_t item, std::span<const Tensor> tensors) const {
  if (round >= rounds() || item >= static_cast<int64_t>(views(round).size())) return;
  const PictureView& shown = views_[views(round)[item]];
  const PictureSize &wanted = list_.sizes[shown.picture], &frame = size(round);
  Image image = list_.read(shown.picture);
  check(image.height == wanted.height && image.width == wanted.width, "picture ", shown.picture,
        " is ", image.height, " pixels high and ", image.width, " wide, should be ", wanted.height,
        " and ", wanted.width);
  const PictureScale& scale = shown.view.scale();
  float* data = tensors[kPictureRow].as<float>() + item * 3 * frame.area();
  PictureRules rules = rules_;
  rules.mirrored = shown.view.mirrored();
  write_picture(shown.view.widened(std::move(image)), scale, rules,
                {data, frame.height, frame.width});
  const std::array<float, 3> extent = extent_of(scale);
  std::copy(extent.begin(), extent.end(), tensors[kExtentRow].as<float>() + 3 * item);
  if (places_ > 0)
    write_proposals_of(shown, tensors[kProposalRows].as<float>() + item * places_ * 4);
}

// Fills unused slots with boxes without an area.
void PictureRounds::write_proposals_of(const PictureView& shown, float* places) const {
  std::vector<Corners> boxes = list_.proposals(shown.picture);
  boxes.resize(std::min<std::size_t>(boxes.size(), places_));
  for (Corners& box : boxes) box = shown.view.in_view(box);
  share_places(boxes, dedup_ * shown.view.scale().scale);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    std::copy(boxes[i].begin(), boxes[i].end(), places + 4 * i);
  std::fill(places + 4 * boxes.size(), places + 4 * places_, 0.0F);
}

}  // namespace lockstep
