// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/pieces.h"

#include "graph/on_host.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {

std::string Pieces::site(const char* what, int replica) const {
  if (replica == kEveryReplica) return join(name_, "/", what);
  return join(name_, "/", replica, "/", what);
}

std::vector<std::string> Pieces::sites(const char* what, const std::vector<int>& replicas) const {
  std::vector<std::string> names;
  for (int replica : replicas) names.push_back(site(what, replica));
  return names;
}

Value Pieces::bring(Value value, int from, int to) {
  if (!value || from == to) return value;
  if (wire_ != DType::undefined) value = on_wire(value, from);
  ReplicaScope scope(graph_, to);
  Value moved = copy(graph_, value, site("copy", to));
  return wire_ == DType::undefined ? moved
                                   : cast(graph_, moved, DType::float32, site("unpacked", to));
}

Value Pieces::on_wire(Value value, int replica) {
  auto [known, fresh] = packed_.emplace(value.id, none);
  if (fresh) {
    ReplicaScope scope(graph_, replica);
    known->second = cast(graph_, value, wire_, site("packed", replica));
  }
  return known->second;
}

Value Pieces::rounded(Value value, int replica) {
  if (wire_ == DType::undefined || !value || rounded_.contains(value.id)) return value;
  const Value narrow = on_wire(value, replica);
  ReplicaScope scope(graph_, replica);
  return cast(graph_, narrow, DType::float32, site("rounded", replica));
}

Value Pieces::sum(const std::vector<Value>& terms, int replica, bool on_host) {
  std::vector<Value> present;
  for (Value term : terms)
    if (term) present.push_back(term);
  if (present.size() <= 1) return present.empty() ? none : present[0];
  ReplicaScope scope(graph_, replica);
  Attributes attributes;
  if (on_host) attributes.push_back(on_host_attribute());
  return graph_.add_value(
      {.type = present.size() == 2 ? "Add" : "Sum", .inputs = present, .attributes = attributes},
      site("sum", replica));
}

std::vector<Value> Pieces::sum_together(const std::vector<Value>& terms,
                                        const std::vector<int>& replicas, DType wire) {
  const std::vector<std::string> names = sites("together", replicas);
  const std::vector<Value> sums =
      all_reduce(graph_, terms, {Reduction::sum, wire, SumOrder::any}, names, names[0], replicas);
  if (wire != DType::undefined)
    for (Value sum : sums) rounded_.insert(sum.id);
  return sums;
}

std::vector<Value> Pieces::broadcast(Value value, const std::vector<int>& replicas) {
  const bool narrow = wire_ != DType::undefined;
  const std::vector<std::string> names = sites(narrow ? "back_packed" : "back", replicas);
  std::vector<Value> copies =
      lockstep::broadcast(graph_, narrow ? on_wire(value, replicas[0]) : value, names, names[0],
                          BroadcastPath::any, replicas);
  if (!narrow) return copies;
  for (std::size_t k = 0; k < copies.size(); ++k) {
    ReplicaScope scope(graph_, replicas[k]);
    copies[k] = cast(graph_, copies[k], DType::float32, site("back", replicas[k]));
    rounded_.insert(copies[k].id);
  }
  return copies;
}

std::vector<int64_t> equal_lengths(int64_t length, int64_t count) {
  std::vector<int64_t> lengths(count, length / count);
  lengths.back() += length % count;
  return lengths;
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
