// SPDX-License-Identifier: Apache-2.0
#include "graph/attribute_changes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "graph/attribute_reader.h"
#include "graph/graph_members.h"
#include "graph/literal_difference.h"
#include "graph/onnx.h"
#include "graph/placement.h"

namespace lockstep {
namespace {

using onnx::AttributeProto;

// Compares bytes, so that a NaN equals itself.
template <class List>
bool same_list(const List& a, const List& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

Literal attribute_tensor(const AttributeProto& attribute) {
  return from_proto(attribute.t(), {}, attribute.name());
}

bool same_value(const AttributeProto& a, const AttributeProto& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case AttributeProto::INT:
      return a.i() == b.i();
    case AttributeProto::FLOAT:
      return std::bit_cast<uint32_t>(a.f()) == std::bit_cast<uint32_t>(b.f());
    case AttributeProto::STRING:
      return a.s() == b.s();
    case AttributeProto::INTS:
      return same_list(a.ints(), b.ints());
    case AttributeProto::FLOATS:
      return same_list(a.floats(), b.floats());
    case AttributeProto::TENSOR:
      return attribute_tensor(a) == attribute_tensor(b);
    default:
      return a.SerializeAsString() == b.SerializeAsString();
  }
}

const AttributeProto* find_attribute(const onnx::NodeProto& node, const std::string& name) {
  for (const AttributeProto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

// Prints all digits of floats, and other values as graphs do.
std::string exact_text(const AttributeProto* attribute) {
  if (!attribute) return "";
  if (attribute->type() == AttributeProto::FLOAT) return shortest_text(attribute->f());
  if (attribute->type() == AttributeProto::FLOATS) {
    std::string text;
    for (float number : attribute->floats())
      text += (text.empty() ? "" : ",") + shortest_text(number);
    return "[" + text + "]";
  }
  return text_of(*attribute).substr(attribute->name().size() + 1);
}

AttributeChange change_of(const std::string& name, const AttributeProto* a,
                          const AttributeProto* b) {
  AttributeChange change{name, exact_text(a), exact_text(b)};
  if (change.a != change.b) return change;
  // The values have other types, or are tensors that differ beyond their printed elements.
  if (a && b && a->type() == AttributeProto::TENSOR && b->type() == AttributeProto::TENSOR) {
    change.b += " (" + first_difference(attribute_tensor(*a), attribute_tensor(*b)) + ")";
    return change;
  }
  const auto kind = [](const AttributeProto* of) {
    return of ? " (" + AttributeProto::AttributeType_Name(of->type()) + ")" : " (none)";
  };
  change.a += kind(a);
  change.b += kind(b);
  return change;
}

bool same_attribute(const AttributeProto& a, const AttributeProto& b) {
  return a.name() == b.name() && (is_replica(a) || same_value(a, b));
}

}  // namespace

bool same_attributes(const Node& a, const Node& b) {
  const auto &of_a = proto_of(a).attribute(), &of_b = proto_of(b).attribute();
  // Most nodes list the same attributes in the same order.
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), same_attribute) ||
         attribute_changes(a, b).empty();
}

std::vector<AttributeChange> attribute_changes(const Node& a, const Node& b) {
  const onnx::NodeProto &of_a = proto_of(a), &of_b = proto_of(b);
  std::vector<AttributeChange> changes;
  for (const AttributeProto& attribute : of_a.attribute()) {
    if (is_replica(attribute)) continue;
    const AttributeProto* other = find_attribute(of_b, attribute.name());
    if (!other || !same_value(attribute, *other))
      changes.push_back(change_of(attribute.name(), &attribute, other));
  }
  for (const AttributeProto& attribute : of_b.attribute())
    if (!is_replica(attribute) && !find_attribute(of_a, attribute.name()))
      changes.push_back(change_of(attribute.name(), nullptr, &attribute));
  return changes;
}

}  // namespace lockstep
