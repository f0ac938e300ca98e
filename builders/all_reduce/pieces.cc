#include "builders/all_reduce/pieces.h"

#include "operators/collective/collective.h"
#include "operators/elementwise/elementwise.h"
#include "operators/shape/shape.h"

namespace lockstep {

std::string Pieces::site(const char* what, int replica) const {
  if (replica == kEveryReplica) return join(name_, "/", what);
  return join(name_, "/", replica, "/", what);
}

Value Pieces::bring(Value value, int from, int to) {
  if (!value || from == to) return value;
  if (wire_ != DType::undefined) value = packed(value, from);
  ReplicaScope scope(graph_, to);
  Value moved = copy(graph_, value, site("copy", to));
  return wire_ == DType::undefined ? moved
                                   : cast(graph_, moved, DType::float32, site("unpacked", to));
}

Value Pieces::packed(Value value, int replica) {
  auto [known, fresh] = packed_.emplace(value.id, none);
  if (fresh) {
    ReplicaScope scope(graph_, replica);
    known->second = cast(graph_, value, wire_, site("packed", replica));
  }
  return known->second;
}

Value Pieces::rounded(Value value, int replica) {
  if (wire_ == DType::undefined || !value) return value;
  const Value narrow = packed(value, replica);
  ReplicaScope scope(graph_, replica);
  return cast(graph_, narrow, DType::float32, site("rounded", replica));
}

Value Pieces::sum(const std::vector<Value>& terms, int replica) {
  std::vector<Value> present;
  for (Value term : terms)
    if (term) present.push_back(term);
  if (present.size() <= 1) return present.empty() ? none : present[0];
  ReplicaScope scope(graph_, replica);
  return graph_.add_value({.type = present.size() == 2 ? "Add" : "Sum", .inputs = present},
                          site("sum", replica));
}

std::vector<Value> Pieces::split(Value flat, const std::vector<int64_t>& lengths, int replica) {
  std::vector<int64_t> whole;
  for (int64_t length : lengths)
    if (length > 0) whole.push_back(length);
  std::vector<Value> pieces(lengths.size());
  std::vector<Value> made{flat};
  if (whole.size() > 1) {
    ReplicaScope scope(graph_, replica);
    const Site here = site("pieces", replica);
    Value sizes = graph_.constant(here.name + "_lengths", Literal::vector(whole));
    Node node = graph_.add({.type = "Split",
                            .inputs = {flat, sizes},
                            .attributes = {{"axis", int64_t{0}}},
                            .outputs = static_cast<int>(whole.size())},
                           here);
    made.assign(node.outputs().begin(), node.outputs().end());
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] > 0) pieces[i] = made[next++];
  return pieces;
}

Value Pieces::join_pieces(const std::vector<Value>& pieces, int replica) {
  std::vector<Value> present;
  for (Value piece : pieces)
    if (piece) present.push_back(piece);
  if (present.size() == 1) return present[0];
  ReplicaScope scope(graph_, replica);
  return concat(graph_, present, 0, site("whole", replica));
}

}  // namespace lockstep
