// SPDX-License-Identifier: Apache-2.0
// Compares a network's proposals with Detectron's inclusive boxes in input coordinates.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "graph/file.h"
#include "lockstep/operators.h"
#include "models/detection/rpn.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "tests/support/golden.h"

namespace lockstep::testing {
namespace {

using Cases = nlohmann::json;

// Appends all numbers of nested lists in order.
void append_numbers(const Cases& list, std::vector<float>& numbers) {
  if (list.is_number()) return numbers.push_back(list.get<float>());
  for (const Cases& item : list) append_numbers(item, numbers);
}

Literal literal_of_list(const Cases& list, const Dims& dims) {
  std::vector<float> numbers;
  append_numbers(list, numbers);
  return Literal::of<float>(numbers, dims);
}

struct FoundProposals {
  std::vector<float> boxes, scores;
  std::vector<int64_t> sources;
  int64_t places = 0;
};

// Training and prediction have separate limits; here both are equal.
FoundProposals proposals_of_case(const Cases& c, Mode mode) {
  DetectorOptions options;
  options.train.rpn_pre_nms_top_n = options.test.rpn_pre_nms_top_n = c["pre_nms_top_n"];
  options.train.rpn_post_nms_top_n = options.test.rpn_post_nms_top_n = c["post_nms_top_n"];
  options.train.rpn_nms_thresh = options.test.rpn_nms_thresh = c["nms_thresh"];
  options.train.rpn_min_size = options.test.rpn_min_size = c["min_size"];
  std::vector<float> anchors;
  for (const Cases& box : c["anchors"])
    for (std::size_t i = 0; i < 4; ++i)
      anchors.push_back(box[i].get<float>() + (i < 2 ? 0.0F : 1.0F));

  Graph graph(all_ops());
  Net net(graph, mode);
  const auto input = [&](const char* name, const Dims& dims) {
    return net.input(name, {DType::float32, to_shape(dims)});
  };
  const std::vector<Dims> dims{{2, 3, 4, 5}, {2, 12, 4, 5}, {2, 3}};
  AnchorHead level{{anchors, 16, 4, 5}, input("logits", dims[0]), input("deltas", dims[1]), ""};
  DetectorInputs in;
  in.images = 2;
  in.im_info = input("im_info", dims[2]);
  const Proposals found = rpn_proposals(net, options, {level}, in);

  States states({}, {});
  Workers workers(1, 1);
  const auto executor =
      make_executor(compile({.graph = graph,
                             .feeds = {"logits", "deltas", "im_info"},
                             .feed_dims = dims,
                             .fetches = {graph.name(found.boxes.value), graph.name(found.logits),
                                         graph.name(found.sources)},
                             .devices = cpu_devices(1),
                             .kernels = all_kernels()}),
                    states, workers);
  const std::vector<Literal> fed{literal_of_list(c["scores"], dims[0]),
                                 literal_of_list(c["deltas"], dims[1]),
                                 literal_of_list(c["im_info"], dims[2])};
  std::vector<Tensor> feeds;
  for (const Literal& literal : fed) feeds.push_back(view_of(literal));
  executor->run(feeds, {});
  const auto fetched = executor->fetches();
  FoundProposals result;
  result.places = fetched[1].desc.dims[1];
  result.boxes.assign(fetched[0].as<float>(), fetched[0].as<float>() + fetched[0].count());
  result.scores.assign(fetched[1].as<float>(), fetched[1].as<float>() + fetched[1].count());
  result.sources.assign(fetched[2].as<int64_t>(), fetched[2].as<int64_t>() + fetched[2].count());
  return result;
}

TEST(ProposalNetwork, FindsDetectronsProposals) {
  const Cases cases =
      Cases::parse(read_file(source_path("tests/detection/proposal_network_cases.json")));
  for (const Cases& c : cases["generate_proposals"])
    for (const Mode mode : {Mode::train, Mode::infer}) {
      SCOPED_TRACE(c["min_size"].dump());
      const FoundProposals found = proposals_of_case(c, mode);
      std::size_t expected = 0;  // Detectron's, by image, best first
      for (int64_t image = 0; image < 2; ++image) {
        const float scale = c["im_info"][image][2];
        for (int64_t place = 0; place < found.places; ++place) {
          const int64_t at = image * found.places + place;
          if (found.sources[at] < 0) continue;
          ASSERT_LT(expected, c["rois"].size());
          const Cases& roi = c["rois"][expected];
          ASSERT_EQ(roi[0].get<int64_t>(), image);
          EXPECT_NEAR(found.scores[at], c["probs"][expected].get<float>(), 1e-5);
          for (std::size_t i = 0; i < 4; ++i)
            EXPECT_NEAR(found.boxes[4 * at + static_cast<int64_t>(i)],
                        roi[i + 1].get<float>() / scale + (i < 2 ? 0 : 1), 1e-3);
          ++expected;
        }
      }
      EXPECT_EQ(expected, c["rois"].size());
    }
}

}  // namespace
}  // namespace lockstep::testing
