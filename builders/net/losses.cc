// SPDX-License-Identifier: Apache-2.0
#include "lockstep/losses.h"

#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {

void classify(Net& net, Value scores, const Site& site) {
  Graph& graph = net.graph;
  if (!net.training()) {
    net.output("prob", softmax(graph, scores, -1, Site("prob", site.where)));
    return;
  }
  const Dim batch = graph.shape(scores)[0];
  check(!graph.find(graph.scoped("label")),
        "the step adds the input 'label' for its labels, but the network has a value of that name; "
        "rename the network's value");
  Value label = net.input("label", {DType::int64, {batch}}, site.where);
  net.loss("loss", softmax_cross_entropy(graph, scores, label, none, {}, Site("loss", site.where)));
  Value best = arg_max(graph, scores, 1, false, Site("best", site.where));
  Value hit = equal(graph, best, label, Site("hit", site.where));
  Value hits = cast(graph, hit, DType::float32, Site("hits", site.where));
  net.metric("accuracy", reduce_mean(graph, hits, {}, false, Site("accuracy", site.where)));
}

void predict_places(Net& net, Value scores, Value labels, const Site& site) {
  Graph& graph = net.graph;
  const CrossEntropyAttrs counted{.reduction = "mean", .ignores = true, .ignore_index = -1};
  const Value loss =
      softmax_cross_entropy(graph, scores, labels, none, counted, Site("loss", site.where));
  const Value is_valid =
      graph.add_value({.type = "Greater", .inputs = {labels, shared_integer(graph, -1)}},
                      Site("is_valid", site.where));
  const Value valid = cast(graph, is_valid, DType::float32, Site("valid", site.where));
  net.loss("loss", loss, reduce_sum(graph, valid, {}, false, Site("valid_places", site.where)));
}

}  // namespace lockstep
