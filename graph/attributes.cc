// SPDX-License-Identifier: Apache-2.0
#include "graph/attributes.h"

#include <algorithm>

#include "graph/onnx.h"

namespace lockstep {

using onnx::AttributeProto;

void to_proto(const std::string& name, const AttributeValue& value, AttributeProto& proto) {
  proto.set_name(name);
  if (auto* integer = std::get_if<int64_t>(&value)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(*integer);
  } else if (auto* number = std::get_if<float>(&value)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(*number);
  } else if (auto* text = std::get_if<std::string>(&value)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(*text);
  } else if (auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    proto.set_type(AttributeProto::INTS);
    for (int64_t i : *integers) proto.add_ints(i);
  } else if (auto* numbers = std::get_if<std::vector<float>>(&value)) {
    proto.set_type(AttributeProto::FLOATS);
    for (float f : *numbers) proto.add_floats(f);
  } else {
    proto.set_type(AttributeProto::TENSOR);
    to_proto(std::get<Literal>(value), *proto.mutable_t());
  }
}

std::string text_of(const AttributeProto& proto) {
  std::ostringstream text;
  text << proto.name() << "=";
  auto list = [&](const auto& values) {
    text << "[";
    for (int i = 0; i < values.size(); ++i) text << (i > 0 ? "," : "") << values.Get(i);
    text << "]";
  };
  switch (proto.type()) {
    case AttributeProto::INT:
      text << proto.i();
      break;
    case AttributeProto::FLOAT:
      text << proto.f();
      break;
    case AttributeProto::STRING:
      text << '"' << proto.s() << '"';
      break;
    case AttributeProto::INTS:
      list(proto.ints());
      break;
    case AttributeProto::FLOATS:
      list(proto.floats());
      break;
    case AttributeProto::STRINGS:
      list(proto.strings());
      break;
    case AttributeProto::TENSOR:
      text << text_of(from_proto(proto.t(), {}, proto.name()));
      break;
    default:
      text << "<" << AttributeProto::AttributeType_Name(proto.type()) << ">";
  }
  return text.str();
}

bool AttributeReader::has(std::string_view name) const {
  return std::any_of(left_.begin(), left_.end(),
                     [&](auto* proto) { return proto->name() == name; });
}

const AttributeProto* AttributeReader::take(std::string_view name, int type) {
  for (const std::string& asked : asked_)
    check(asked != name, NodeName{owner_}, ": attribute '", name, "' is read twice");
  asked_.emplace_back(name);
  for (auto it = left_.begin(); it != left_.end(); ++it) {
    if ((*it)->name() != name) continue;
    const AttributeProto* found = *it;
    check(found->type() == type, NodeName{owner_}, ": attribute '", name, "' is ",
          AttributeProto::AttributeType_Name(found->type()), ", should be ",
          AttributeProto::AttributeType_Name(static_cast<AttributeProto::AttributeType>(type)));
    left_.erase(it);
    return found;
  }
  return nullptr;
}

int64_t AttributeReader::integer(std::string_view name, int64_t fallback) {
  auto* proto = take(name, AttributeProto::INT);
  return proto ? proto->i() : fallback;
}

float AttributeReader::number(std::string_view name, float fallback) {
  auto* proto = take(name, AttributeProto::FLOAT);
  return proto ? proto->f() : fallback;
}

// Reads a list of texts as one text, joined by commas.
std::string AttributeReader::text(std::string_view name, std::string_view fallback) {
  const bool list = std::any_of(left_.begin(), left_.end(), [&](auto* proto) {
    return proto->name() == name && proto->type() == AttributeProto::STRINGS;
  });
  auto* proto = take(name, list ? AttributeProto::STRINGS : AttributeProto::STRING);
  if (!proto) return std::string(fallback);
  if (!list) return proto->s();
  std::string joined;
  for (const std::string& text : proto->strings()) joined += (joined.empty() ? "" : ",") + text;
  return joined;
}

std::vector<int64_t> AttributeReader::integers(std::string_view name,
                                               std::vector<int64_t> fallback) {
  auto* proto = take(name, AttributeProto::INTS);
  if (!proto) return fallback;
  return {proto->ints().begin(), proto->ints().end()};
}

std::vector<float> AttributeReader::numbers(std::string_view name, std::vector<float> fallback) {
  auto* proto = take(name, AttributeProto::FLOATS);
  if (!proto) return fallback;
  return {proto->floats().begin(), proto->floats().end()};
}

Literal AttributeReader::literal(std::string_view name, const Literal& fallback) {
  auto* proto = take(name, AttributeProto::TENSOR);
  return proto ? from_proto(proto->t(), {}, join(owner_, " attribute '", name, "'")) : fallback;
}

void AttributeReader::done() const {
  for (auto* proto : left_)
    check(proto->name().rfind("__", 0) == 0, NodeName{owner_}, ": unknown attribute '",
          proto->name(), "'");
}

}  // namespace lockstep
