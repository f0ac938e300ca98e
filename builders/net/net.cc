// SPDX-License-Identifier: Apache-2.0
#include "lockstep/net.h"

#include <algorithm>

namespace lockstep {
namespace {

std::string prefix_of(const std::string& place) { return place.empty() ? "" : place + ": "; }

void add_once(std::vector<Net::Named>& list, const std::string& name, Value value,
              const char* what) {
  bool fresh = std::none_of(list.begin(), list.end(),
                            [&](const Net::Named& item) { return item.name == name; });
  check(fresh, what, " '", name, "' is declared twice");
  list.push_back({name, value});
}

}  // namespace

Value Net::input(std::string_view name, const TensorType& type, const Where& where) {
  Value value = graph.input(std::string(name), type, where.text());
  add_once(inputs_, graph.scoped(name), value, "input");
  return value;
}

Value Net::param(std::string_view name, const Dims& dims, const Initializer& initializer,
                 StateKind kind, const Where& where) {
  const std::string full = graph.scoped(name);
  const std::string place = where.text();
  for (const Param& param : params_)
    if (param.name == full)  // check() would format its text for each parameter
      fail(prefix_of(place), "parameter '", full,
           "' is created twice; to share it between layers, keep its Value");
  const Value value = graph.input(std::string(name), {DType::float32, to_shape(dims)}, place);
  params_.push_back({full, value, kind, initializer, dims, place, fixed});
  return value;
}

void Net::next(Value state, Value value) {
  if (!training()) return;
  for (Param& param : params_) {
    if (!(param.value == state)) continue;
    check(param.kind == StateKind::computed, "'", param.name, "' is a ", name_of(param.kind),
          ", which the optimiser updates; the network can only set computed state");
    check(!param.next, "'", param.name, "' is given two next values");
    check(graph.type(value) == graph.type(state), "'", param.name, "' is ", graph.type(state),
          ", its next value '", graph.name(value), "' is ", graph.type(value));
    param.next = value;
    return;
  }
  fail("'", graph.name(state), "' is not a parameter of this network");
}

void Net::loss(std::string_view name, Value value) {
  check(graph.shape(value).empty(), prefix_of(graph.origin(value)), "loss '", name, "' has shape ",
        graph.shape(value), ", should be a scalar");
  add_once(losses_, graph.scoped(name), value, "loss");
}

void Net::loss(std::string_view name, Value value, Value count) {
  check(graph.shape(count).empty() && graph.dtype(count) == DType::float32,
        prefix_of(graph.origin(count)), "the count of loss '", name, "' is ", graph.type(count),
        ", should be a scalar of float32");
  loss(name, value);
  losses_.back().count = count;
}

void Net::metric(std::string_view name, Value value) {
  check(graph.shape(value).empty(), prefix_of(graph.origin(value)), "metric '", name,
        "' has shape ", graph.shape(value), ", should be a scalar");
  add_once(metrics_, graph.scoped(name), value, "metric");
}

void Net::output(std::string_view name, Value value) {
  add_once(outputs_, graph.scoped(name), value, "output");
}

}  // namespace lockstep
