// SPDX-License-Identifier: Apache-2.0
#include "app/classification/picture_classifier.h"

#include <algorithm>
#include <cmath>

#include "data/image.h"
#include "lockstep/operators.h"
#include "runtime/plan/compile.h"
#include "runtime/threads/cores.h"

namespace lockstep {

PictureClassifier::PictureClassifier(TrainedClassifier network)
    : network_(std::move(network)), no_state_({}, {}), workers_(1, cpu_cores()) {
  const Graph& graph = network_.model.inference;
  const Preparation& p = network_.preparation;
  CompileRequest request{.graph = graph,
                         .feeds = {},
                         .feed_dims = {{1, p.channels, p.height, p.width}},
                         .fetches = {graph.name(graph.outputs()[0])},
                         .states = {},
                         .updates = {},
                         .devices = cpu_devices(1),
                         .kernels = all_kernels(),
                         .options = {.threads = cpu_cores()}};
  for (Value input : graph.inputs())
    if (!graph.literal(input)) {
      request.feeds.push_back(graph.name(input));
      input_ = Literal(graph.dtype(input), request.feed_dims[0]);
    }
  executor_ = make_executor(compile(request), no_state_, workers_);
}

std::vector<PictureClassifier::Guess> PictureClassifier::classify(const std::string& picture) {
  const Preparation& p = network_.preparation;
  const Tensor feed = view_of(input_);
  const Image image = read_image(picture);
  if (feed.desc.dtype == DType::uint8)
    prepare(image, p, feed.as<uint8_t>());
  else
    prepare(image, p, feed.as<float>());
  executor_->run({&feed, 1}, {});
  const Tensor scores = executor_->fetches()[0];
  std::vector<Guess> guesses;
  for (int64_t i = 0; i < scores.count(); ++i) {
    const std::size_t label = i;
    const float confidence = scores.as<float>()[i];
    check(std::isfinite(confidence), picture, ": the output of the network contains ",
          std::isnan(confidence) ? "nan" : "inf");
    // There may be more outputs than classes (MODEL.NUM_CLASSES).
    guesses.push_back(
        {label < network_.classes.size() ? network_.classes[label] : join("class ", i),
         confidence});
  }
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.confidence > b.confidence; });
  return guesses;
}

}  // namespace lockstep
