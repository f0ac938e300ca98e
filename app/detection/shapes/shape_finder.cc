// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/shape_finder.h"

#include <algorithm>
#include <utility>

#include "models/detection/inputs.h"

namespace lockstep {
namespace {

// Pictures whose joined outputs are held at once. The heatmaps of a picture may take 21 MB.
constexpr std::size_t kPicturesOfMasks = 64, kPicturesOfHeatmaps = 8;

DetectorConfig predicting_maps(DetectorConfig config) {
  config.network.test.predicts = Predicts::maps;
  return config;
}

}  // namespace

ShapeFinder::ShapeFinder(const DetectorConfig& config, Session& session, KeypointRules points,
                         std::size_t most)
    : session_(session),
      views_(config, std::move(points)),
      maps_(predicting_maps(config), session, most * views_.views().size()),
      heads_(config, session, most * views_.views().size()) {}

std::vector<HeadOutputs> ShapeFinder::outputs_for(const PictureSize& padded,
                                                  const std::vector<const BoxesInView*>& boxes,
                                                  const std::vector<PredictedTensors>& maps) {
  std::vector<ShapeRequest> requests;
  for (std::size_t k = 0; k < boxes.size(); ++k) requests.push_back(boxes[k]->request(maps[k]));
  return heads_.run(padded, requests);
}

void ShapeFinder::find_on_maps(const PictureRounds& rounds, int64_t round,
                               const std::vector<PredictedTensors>& results,
                               const PictureList& pictures, std::vector<FoundBoxes>& found,
                               ShapeDrawer& drawer) {
  std::vector<BoxesInView> boxes;
  std::vector<const BoxesInView*> asked;
  for (const std::size_t index : rounds.views(round)) {
    const PictureView& seen = rounds.view(index);
    boxes.push_back(boxes_in(views_, views_.views().front(), seen.view, found[seen.picture]));
  }
  for (const BoxesInView& of_picture : boxes) asked.push_back(&of_picture);
  std::vector<HeadOutputs> outputs = outputs_for(rounds.size(round), asked, results);
  for (std::size_t k = 0; k < boxes.size(); ++k) {
    const std::size_t picture = rounds.view(rounds.views(round)[k]).picture;
    drawer.draw(picture, pictures.sizes[picture], found[picture], std::move(boxes[k].which),
                std::move(outputs[k]));
  }
}

void ShapeFinder::find_in_views(const PictureList& pictures, std::vector<FoundBoxes>& found,
                                ShapeDrawer& drawer) {
  const std::size_t replicas = session_.model().replicas;
  const std::size_t at_once =
      std::max(replicas, views_.has_points() ? kPicturesOfHeatmaps : kPicturesOfMasks);
  const std::vector<std::size_t> order = by_padded_size(pictures);
  for (std::size_t first = 0; first < order.size(); first += at_once)
    see(pictures, std::span(order).subspan(first, std::min(at_once, order.size() - first)), found,
        drawer);
}

// Pictures that are seen together share the networks of their padded sizes, and fill all replicas.
std::vector<std::size_t> ShapeFinder::by_padded_size(const PictureList& pictures) const {
  const ViewRules& rules = views_.views().front().rules;
  const int64_t stride = input_stride(maps_.config().network);
  std::vector<std::pair<PictureSize, std::size_t>> sized;
  for (std::size_t i = 0; i < pictures.sizes.size(); ++i) {
    const PictureScale scale = View(rules, pictures.sizes[i]).scale();
    sized.push_back({{padded(scale.height, stride), padded(scale.width, stride)}, i});
  }
  std::sort(sized.begin(), sized.end());
  std::vector<std::size_t> order;
  order.reserve(sized.size());
  for (const auto& [size, picture] : sized) order.push_back(picture);
  return order;
}

// A view that no box of a picture needs is left out. The views of a picture are added up in the
// order of the rounds, which does not depend on the number of replicas.
void ShapeFinder::see(const PictureList& pictures, std::span<const std::size_t> chosen,
                      std::vector<FoundBoxes>& found, ShapeDrawer& drawer) {
  std::vector<PictureShapes> shapes;
  std::vector<PictureView> seen;
  std::vector<BoxesInView> boxes;       // by view
  std::vector<const ShapeView*> kinds;  // by view
  std::vector<std::size_t> owners;      // by view: a place in `shapes`
  for (const std::size_t i : chosen) {
    shapes.emplace_back(views_, found[i]);
    for (const ShapeView& kind : views_.views()) {
      const View view(kind.rules, pictures.sizes[i]);
      BoxesInView needing = boxes_in(views_, kind, view, found[i]);
      if (needing.which.empty()) continue;
      seen.push_back({i, view});
      boxes.push_back(std::move(needing));
      kinds.push_back(&kind);
      owners.push_back(shapes.size() - 1);
    }
  }
  if (seen.empty()) return;
  const PictureRounds rounds(maps_.config(), pictures, std::move(seen), session_.model().replicas);
  in_rounds(rounds, maps_, [&](int64_t round, const std::vector<PredictedTensors>& maps) {
    std::vector<const BoxesInView*> asked;
    for (const std::size_t index : rounds.views(round)) asked.push_back(&boxes[index]);
    const std::vector<HeadOutputs> outputs = outputs_for(rounds.size(round), asked, maps);
    for (std::size_t k = 0; k < asked.size(); ++k) {
      const std::size_t index = rounds.views(round)[k];
      shapes[owners[index]].add(*kinds[index], asked[k]->which, outputs[k]);
    }
  });
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const std::size_t i = chosen[k];
    drawer.draw(i, pictures.sizes[i], found[i], shapes[k].places(), shapes[k].joined());
  }
}

}  // namespace lockstep
