// SPDX-License-Identifier: Apache-2.0
// The values of a loop's body, for all iterations at once. For bag_loop.cc and bag_items.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/flow/importer.h"

namespace lockstep {

// Thrown where a loop is not a loop over bags.
struct NoBagLoop {};

inline void require_bags(bool holds) {
  if (!holds) throw NoBagLoop{};
}

struct BagItem {
  enum class Kind {
    same,       // `value`, in every iteration
    single,     // one element for each iteration, at value[i]
    row,        // value[i]
    rows,       // rows starts[i] to ends[i] of `value`, only rows with `keep`
    collected,  // the rows of the iterations before; `value` is none
    appended,   // the collected rows and `value`; with `keep` only in some iterations
  };
  Kind kind = Kind::same;
  Value value = none;
  bool kept_axis = false;            // a row has a first axis of size 1
  std::optional<int64_t> offset{};   // a single element is the iteration's number plus this
  Value below = none;                // a single element is true while the number + offset < below
  Value starts = none, ends = none;  // of a single element: it is starts < ends
  Value keep = none;

  bool is(Kind other) const { return kind == other; }
};

// Adds nodes for all bags at once.
class BagNodes {
 public:
  BagNodes(FlowImporter& importer, std::string prefix)
      : importer_(importer), graph_(importer.graph()), prefix_(std::move(prefix)) {}

  Value add(const char* type, const std::vector<Value>& inputs, const Attributes& attributes = {});
  Value constant(Literal literal);
  Value vector(const std::vector<int64_t>& values) { return constant(Literal::vector(values)); }
  Value scalar_like(Value x, double value);
  Value cast(Value x, DType type);
  Value range(Value count);            // 0, 1, .. as int64[count]; `count` has one element
  Value rows_in(Value x);              // the size of the first axis, as a scalar
  Value column(Value x);               // [n] -> [n,1]
  Value broadcast(Value x, Value to);  // one element -> the shape of `to`
  Graph& graph() { return graph_; }

  Value count(const BagItem& rows);  // rows of each bag
  BagItem sum(const BagItem& rows, bool kept_axis);
  BagItem mean(const BagItem& rows, bool kept_axis);
  BagItem largest(const BagItem& rows, bool kept_axis);

 private:
  Value mask(const BagItem& rows);  // bool[bags, rows]

  FlowImporter& importer_;
  Graph& graph_;
  std::string prefix_;
};

}  // namespace lockstep
