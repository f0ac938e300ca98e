// SPDX-License-Identifier: Apache-2.0
#include "builders/step/forward.h"

#include <algorithm>
#include <set>

#include "builders/net/regularisers.h"
#include "graph/passes/copy.h"
#include "operators/batch_norm/batch_norm.h"

namespace lockstep {
namespace {

// Normalises with the running statistics. The new statistics are the old statistics.
void normalise_as_predicting(GraphCopy& copy, const Node& node) {
  Graph& graph = copy.to();
  const std::vector<Value> x = copy.of(node.inputs());
  const auto outputs = node.outputs();
  const OriginScope origin(graph, node.where());
  BatchNormAttrs attrs = read_batch_norm(node);
  attrs.training = false;
  copy.set(outputs[0], batch_norm(graph, {x[0], x[1], x[2], x[3], x[4]}, attrs,
                                  Site(node.graph().name(outputs[0]))));
  for (std::size_t i = 1; i < std::min<std::size_t>(outputs.size(), 3); ++i)
    if (outputs[i]) copy.set(outputs[i], x[i + 2]);
}

// Replaces a Dropout by its operand. If the mask is used, a Dropout without `training_mode`, which
// drops nothing, computes the mask.
void pass_all(GraphCopy& copy, const Node& node, const std::set<int>& listed) {
  std::vector<Value> operands = copy.of(node.inputs());
  operands.resize(std::min<std::size_t>(operands.size(), 2));
  const auto outputs = node.outputs();
  const Value mask = outputs.size() > 1 ? outputs[1] : none;
  if (mask && (listed.contains(mask.id) || !node.graph().consumers(mask).empty()))
    copy.copy(node, operands);
  copy.set(outputs[0], operands[0]);
}

// Options that have no meaning without gradients or without batch statistics.
struct Excluded {
  const char* option;
  const char* why;
  bool (*given)(const DataParallelOptions& options);
  void (*leave_out)(DataParallelOptions& options);
};

constexpr Excluded kExcluded[] = {
    {"clip (SOLVER.CLIP_NORM, CLIP_EACH_NORM, CLIP_VALUE)", "it has no gradients",
     [](const DataParallelOptions& options) { return options.clip.active(); },
     [](DataParallelOptions& options) { options.clip = {}; }},
    {"deferred (SOLVER.DEFERRED)", "it has no gradients",
     [](const DataParallelOptions& options) { return options.deferred; },
     [](DataParallelOptions& options) { options.deferred = false; }},
    {"skip_non_finite (SOLVER.SKIP_NON_FINITE)", "it has no update to skip",
     [](const DataParallelOptions& options) { return options.skip_non_finite; },
     [](DataParallelOptions& options) { options.skip_non_finite = false; }},
    {"synchronised_batch_norm (TRAIN.SYNC_BATCH_NORM)",
     "its batch norms use running statistics, not statistics of the batch",
     [](const DataParallelOptions& options) { return options.synchronised_batch_norm; },
     [](DataParallelOptions& options) { options.synchronised_batch_norm = false; }},
    {"statistics (TRAIN.STATISTICS)", "it changes no running statistics",
     [](const DataParallelOptions& options) {
       return options.statistics != StatisticsPolicy::each;
     },
     [](DataParallelOptions& options) { options.statistics = StatisticsPolicy::each; }}};

}  // namespace

void check_forward_only(const DataParallelOptions& options) {
  for (const Excluded& excluded : kExcluded)
    check(!excluded.given(options),
          "the forward pass alone (forward_only, --forward-only) cannot be combined with ",
          excluded.option, ": ", excluded.why, "; leave the option out");
}

DataParallelOptions for_forward_only(DataParallelOptions options) {
  options.forward_only = true;
  for (const Excluded& excluded : kExcluded) excluded.leave_out(options);
  return options;
}

void compute_as_predicting(OneReplica& one) {
  const std::set<int> listed = one.listed();
  const auto regularisers = regularisers_of(one.graph);
  GraphCopy copy(one.graph);
  for (int index = 0; index < one.graph.node_count(); ++index) {
    const Node node = one.graph.node(index);
    if (const auto kept = regularisers.find(index); kept != regularisers.end())
      copy.set(node.outputs()[0], copy.of(kept->second));
    else if (node.type() == "BatchNormTrain")
      normalise_as_predicting(copy, node);
    else if (node.type() == "Dropout" && node.domain().empty())
      pass_all(copy, node, listed);
    else
      copy.take(node);
  }
  for (Net::Param& param : one.params) param.next = none;
  one.for_each_value([&](Value& value) { value = copy.of(value); });
  one.graph = copy.finish();
}

Optimizer no_updates() {
  return Optimizer([](Graph&, const ParamUpdate& update) -> UpdatedParam {
    return {update.param, update.slots};
  });
}

}  // namespace lockstep
