#include "builders/net.h"

#include <algorithm>

#include "operators/shape/shape.h"

namespace lockstep {
namespace {

void add_once(std::vector<Net::Named>& list, const std::string& name, Value value,
              const char* what) {
  bool fresh = std::none_of(list.begin(), list.end(),
                            [&](const Net::Named& item) { return item.name == name; });
  check(fresh, what, " '", name, "' is declared twice");
  list.push_back({name, value});
}

}  // namespace

std::string Net::local(std::string_view name) const {
  std::string full = graph.scoped(name);
  return scope_.empty() ? full : full.substr(scope_.size() + 1);
}

Value Net::input(std::string_view name, const TensorType& type) {
  TensorType own = type;
  if (before_)  // parts of a batch may differ in size
    for (Dim& dim : own.shape)
      if (!dim.known()) dim = Dim(dim.symbol() + "_" + scope_.substr(scope_.rfind('/') + 1));
  Value value = graph.input(std::string(name), own);
  add_once(inputs_, local(name), value, "input");
  return value;
}

Value Net::param(std::string_view name, const Dims& dims, const Initializer& initializer,
                 StateKind kind) {
  const std::string own = local(name);
  for (const Param& param : params_)
    check(param.name != own, "parameter '", own,
          "' is made twice; keep its Value to share it between layers");
  params_.push_back({own, param_value(own, dims), kind, initializer, dims});
  return params_.back().value;
}

Value Net::param_value(const std::string& name, const Dims& dims) {
  if (before_) {
    for (const Param& known : before_->params_)
      if (known.name == name)  // no gradient flows from one part of the batch to another
        return known.next ? stop_gradient(graph, known.next, name + "_so_far") : known.value;
    fail("parameter '", name, "' is new; the network was built before without it");
  }
  const std::string scope = graph.scope();
  graph.set_scope(state_scope_);
  Value value = graph.input(name, {DType::float32, to_shape(dims)});
  graph.set_scope(scope);
  return value;
}

void Net::move_to(const std::function<Value(Value)>& moved) {
  for (auto* list : {&inputs_, &losses_, &metrics_, &outputs_})
    for (Named& item : *list) item.value = moved(item.value);
  for (Param& param : params_) {
    param.value = moved(param.value);
    if (param.next) param.next = moved(param.next);
  }
}

void Net::next(Value state, Value value) {
  if (!training()) return;
  for (Param& param : params_) {
    if (!(param.value == state)) continue;
    check(param.kind == StateKind::computed, "'", param.name, "' is a ", name_of(param.kind),
          ", which the optimiser updates; only computed state takes a value of the network");
    check(!param.next, "'", param.name, "' is given two next values");
    param.next = value;
    return;
  }
  fail("'", graph.name(state), "' is no parameter of this network");
}

void Net::loss(std::string_view name, Value value) {
  check(graph.shape(value).empty(), "loss '", name, "' has shape ", graph.shape(value),
        ", should be a scalar");
  add_once(losses_, local(name), value, "loss");
}

void Net::metric(std::string_view name, Value value) {
  check(graph.shape(value).empty(), "metric '", name, "' has shape ", graph.shape(value),
        ", should be a scalar");
  add_once(metrics_, local(name), value, "metric");
}

void Net::output(std::string_view name, Value value) {
  add_once(outputs_, local(name), value, "output");
}

}  // namespace lockstep
