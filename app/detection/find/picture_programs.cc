// SPDX-License-Identifier: Apache-2.0
#include "app/detection/find/picture_programs.h"

#include <algorithm>

#include "lockstep/feeds.h"

namespace lockstep {

PicturePrograms::PicturePrograms(DetectorConfig config, Session& session, std::size_t most)
    : config_(std::move(config)), session_(session), programs_(most) {}

std::vector<PredictedTensors> PicturePrograms::run(const PictureRounds& rounds, int64_t round,
                                                   std::span<const Tensor> tensors) {
  const std::size_t count = rounds.views(round).size();
  const PictureSize& size = rounds.size(round);
  const SizedProgram& sized =
      programs_.of(size, [&] { return sized_program(config_, session_, size, &session_.step()); });
  const MinibatchForm& form = rounds.forms()[rounds.form(round)];
  std::vector<Tensor> feeds;
  for (const Replicated& input : sized.predictors.inputs) {
    const auto place = std::find_if(form.begin(), form.end(), [&](const NamedDesc& tensor) {
      return tensor.name == input.name;
    });
    check(place != form.end(), "the network has an input '", input.name,
          "', which pictures do not provide");
    // A replica without a view repeats the last one.
    for (std::size_t k = 0; k < input.values.size(); ++k) {
      const auto row = static_cast<int64_t>(std::min(k, count - 1));
      feeds.push_back(rows_from(tensors[place - form.begin()], {row, 1}));
    }
  }
  return sized.run(feeds, session_.run_options(0), count);
}

DetectorConfig on_given_boxes(DetectorConfig config) {
  config.network.rpn.rpn_on = false;
  config.network.model.faster_rcnn = false;
  config.dedup_boxes = 0;  // for proposals of a file
  return config;
}

}  // namespace lockstep
