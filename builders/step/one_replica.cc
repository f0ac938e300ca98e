// SPDX-License-Identifier: Apache-2.0
#include "builders/step/one_replica.h"

#include "builders/net/patterns.h"
#include "graph/gradient.h"
#include "graph/random_stream.h"

namespace lockstep {
namespace {

bool is_trained(const Net::Param& param, const std::vector<std::string>& frozen) {
  return param.kind != StateKind::computed && !param.fixed && !matches_any(param.name, frozen);
}

void check_frozen(const OneReplica& one, const std::vector<std::string>& frozen) {
  std::vector<std::string> names;
  for (const Net::Param& param : one.params) names.push_back(param.name);
  check_patterns_used(frozen, names, "frozen parameters (MODEL.FREEZE, --freeze)");
}

}  // namespace

std::vector<Value> OneReplica::present_gradients() const {
  std::vector<Value> present;
  for (std::size_t p = gradients.size(); p-- > 0;)
    if (gradients[p]) present.push_back(gradients[p]);
  return present;
}

void OneReplica::for_each_value(const std::function<void(Value&)>& change) {
  const auto change_if = [&](Value& value) {
    if (value) change(value);
  };
  for (Net::Param& param : params) {
    change_if(param.value);
    change_if(param.next);
  }
  for (Part& part : parts) {
    for (Net::Named& input : part.inputs) change_if(input.value);
    change_if(part.weight);
    for (auto* list : {&part.losses, &part.metrics, &part.outputs})
      for (Value& value : *list) change_if(value);
  }
  for (Value& count : counts) change_if(count);
  for (Value& gradient : gradients) change_if(gradient);
}

std::set<int> OneReplica::listed() {
  std::set<int> listed;
  for_each_value([&](Value& value) { listed.insert(value.id); });
  for (Value output : graph.outputs()) listed.insert(output.id);
  return listed;
}

void check_free(const Graph& graph, const std::string& name, const std::string& what) {
  check(!graph.find(name), "the step reads ", what, " from its input '", name,
        "', but the network has a value of that name; rename the network's value");
}

Value step_input(Graph& graph, const std::string& name, const TensorType& type,
                 const std::string& what, const std::string& origin) {
  check_free(graph, name, what);
  return graph.input(name, type, origin);
}

OneReplica trace(const OpSet& ops, const ModelFn& model, bool forward_only) {
  OneReplica one(ops);
  Net net(one.graph, Mode::train);
  model(net);
  check(forward_only || !net.losses().empty(),
        "the model declares no loss, so there is nothing to train; forward_only (lockstep build "
        "--forward-only) builds its forward pass alone");
  name_random_streams(one.graph);
  one.params = net.params();
  one.parts.emplace_back().inputs = net.inputs();
  for (const Net::Named& loss : net.losses()) {
    one.loss_names.push_back(loss.name);
    one.parts[0].losses.push_back(loss.value);
    one.counts.push_back(loss.count);
  }
  for (const Net::Named& metric : net.metrics()) {
    one.metric_names.push_back(metric.name);
    one.parts[0].metrics.push_back(metric.value);
  }
  if (!forward_only) return one;
  for (const Net::Named& output : net.outputs()) {
    one.output_names.push_back(output.name);
    one.parts[0].outputs.push_back(output.value);
  }
  return one;
}

void differentiate(OneReplica& one, const Differentiation& how) {
  check_frozen(one, how.frozen);
  if (how.forward_only) {
    one.gradients.assign(one.params.size(), none);
    return;
  }
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < one.parts[0].losses.size(); ++i)
    losses.push_back({one.parts[0].losses[i], how.seeds.empty() ? none : how.seeds[i]});
  std::vector<Value> wanted;
  for (const Net::Param& param : one.params)
    if (is_trained(param, how.frozen)) wanted.push_back(param.value);
  const Gradients found = add_gradients(one.graph, losses, wanted, "_grad");
  std::string unreached;
  for (const std::string& name : found.unreached) {
    const std::string& origin = one.graph.origin(one.graph.at(name));
    unreached += "\n  " + name + (origin.empty() ? "" : " (" + origin + ")");
  }
  check(unreached.empty() || how.allow_untrained,
        "no loss reaches these parameters (set allow_untrained to keep them as they are):",
        unreached);
  std::size_t next = 0;
  for (const Net::Param& param : one.params)
    one.gradients.push_back(is_trained(param, how.frozen) ? found.values[next++] : none);
}

}  // namespace lockstep
