// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "graph/passes/copy.h"
#include "operators/kit/window.h"
#include "operators/pool/pool.h"
#include "runtime/kernel/rewrite.h"

namespace lockstep {
namespace {

bool is(const Node& node, const char* type, const char* domain) {
  return node.type() == type && node.domain() == domain;
}

bool all_known(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.known(); });
}

// The windows of a MaxPool or of its gradient, if every position's number in a window fits in a
// byte.
std::optional<Window> windows_of(const Node& node, const Shape& x) {
  constexpr std::size_t kMostDims = 5;
  if (!all_known(x) || x.size() > kMostDims) return std::nullopt;
  AttributeReader reader = node.attributes();
  const Window window = read_pool(reader).window;
  const Window known = resolved(window, window.kernel, spatial_of(x));
  if (element_count(known.kernel) > kNoPlace) return std::nullopt;
  return known;
}

bool alike(const Window& a, const Window& b) {
  const auto begins = [](const Window& w) {
    return std::vector<int64_t>(w.pads.begin(),
                                w.pads.begin() + static_cast<std::ptrdiff_t>(w.kernel.size()));
  };
  return a.kernel == b.kernel && a.strides == b.strides && a.dilations == b.dilations &&
         begins(a) == begins(b);
}

class PlacesKept {
 public:
  explicit PlacesKept(const Graph& from) : from_(from) {}

  Rewritten run() {
    for (int i = 0; i < from_.node_count(); ++i)
      if (is(from_.node(i), "MaxPoolGrad", kOwnDomain)) find(from_.node(i));
    GraphCopy copy(from_);
    for (int i = 0; i < from_.node_count(); ++i) {
      const Node node = from_.node(i);
      if (keeps_.contains(i))
        write_forward(copy, node);
      else if (const auto found = forward_of_.find(i); found != forward_of_.end())
        write_gradient(copy, node, from_.node(found->second));
      else
        copy.copy(node);
    }
    return {copy.finish(), copy.moved(), notes()};
  }

 private:
  // Finds the MaxPool of a gradient.
  void find(const Node& gradient) {
    const Value dy = gradient.inputs()[0], x = gradient.inputs()[1];
    const auto windows = windows_of(gradient, from_.shape(x));
    if (!windows) return;
    for (const int user : from_.consumers(x)) {
      const Node node = from_.node(user);
      if (user > gradient.index() || !is(node, "MaxPool", "") ||
          node.replica() != gradient.replica() || from_.shape(node.outputs()[0]) != from_.shape(dy))
        continue;
      const auto others = windows_of(node, from_.shape(x));
      if (!others || !alike(*windows, *others)) continue;
      keeps_.insert(user);
      forward_of_[gradient.index()] = user;
      return;
    }
  }

  void write_forward(GraphCopy& copy, const Node& node) {
    const std::string y = from_.name(node.outputs()[0]);
    const Node made =
        copy.add({.type = "MaxPoolPlaces",
                  .domain = kOwnDomain,
                  .inputs = copy.of(node.inputs()),
                  .attributes = write_window(*windows_of(node, from_.shape(node.inputs()[0]))),
                  .output_names = {y, copy.fresh_name(y + "_places")}},
                 node);
    copy.set(node.outputs()[0], made.outputs()[0]);
    places_[node.index()] = made.outputs()[1];
  }

  void write_gradient(GraphCopy& copy, const Node& node, const Node& forward) {
    const Shape& x = from_.shape(node.inputs()[1]);
    Attributes attributes = write_window(*windows_of(node, x));
    attributes.push_back({"x_shape", to_dims(spatial_of(x))});
    copy.replace(node, {.type = "MaxPoolPlacesGrad",
                        .domain = kOwnDomain,
                        .inputs = {copy.of(node.inputs()[0]), places_.at(forward.index())},
                        .attributes = std::move(attributes)});
  }

  std::vector<std::string> notes() const {
    if (keeps_.empty()) return {};
    return {join(keeps_.size(),
                 " of maxima: their places are kept, a byte each, and their operand is not read "
                 "again")};
  }

  const Graph& from_;
  std::set<int> keeps_;            // MaxPool nodes
  std::map<int, int> forward_of_;  // the MaxPool, by the index of its gradient
  std::map<int, Value> places_;    // by the index of the MaxPool
};

}  // namespace

Rewritten keep_places_of_maxima(const Graph& graph, const RewriteContext&) {
  return PlacesKept(graph).run();
}

}  // namespace lockstep
