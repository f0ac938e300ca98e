// SPDX-License-Identifier: Apache-2.0
#include "lockstep/attributes.h"

#include <algorithm>

#include "graph/attribute_reader.h"
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

AttributeReader::AttributeReader(std::unique_ptr<Members> members) : members_(std::move(members)) {}
AttributeReader::AttributeReader(const AttributeReader& other)
    : members_(std::make_unique<Members>(*other.members_)) {}
AttributeReader::AttributeReader(AttributeReader&&) noexcept = default;
AttributeReader& AttributeReader::operator=(AttributeReader&&) noexcept = default;
AttributeReader::~AttributeReader() = default;

AttributeReader reader_of(std::string owner, std::vector<const AttributeProto*> attributes) {
  return AttributeReader(std::make_unique<AttributeReader::Members>(
      AttributeReader::Members{std::move(owner), std::move(attributes), {}}));
}

AttributeReader reader_of(std::string owner, const onnx::NodeProto& node) {
  std::vector<const AttributeProto*> attributes;
  for (const AttributeProto& attribute : node.attribute()) attributes.push_back(&attribute);
  return reader_of(std::move(owner), std::move(attributes));
}

const std::string& AttributeReader::owner() const { return members_->owner; }

bool AttributeReader::has(std::string_view name) const {
  return std::ranges::any_of(members_->left, [&](auto* proto) { return proto->name() == name; });
}

const AttributeProto* AttributeReader::Members::take(std::string_view name, int type) {
  for (const std::string& before : read)
    check(before != name, NodeName{owner}, ": attribute '", name, "' is read twice");
  read.emplace_back(name);
  for (auto it = left.begin(); it != left.end(); ++it) {
    if ((*it)->name() != name) continue;
    const AttributeProto* found = *it;
    check(found->type() == type, NodeName{owner}, ": attribute '", name, "' is ",
          AttributeProto::AttributeType_Name(found->type()), ", should be ",
          AttributeProto::AttributeType_Name(static_cast<AttributeProto::AttributeType>(type)));
    left.erase(it);
    return found;
  }
  return nullptr;
}

int64_t AttributeReader::integer(std::string_view name, int64_t fallback) {
  auto* proto = members_->take(name, AttributeProto::INT);
  return proto ? proto->i() : fallback;
}

float AttributeReader::number(std::string_view name, float fallback) {
  auto* proto = members_->take(name, AttributeProto::FLOAT);
  return proto ? proto->f() : fallback;
}

// Reads a list of texts as one text, joined by commas.
std::string AttributeReader::text(std::string_view name, std::string_view fallback) {
  const bool list = std::ranges::any_of(members_->left, [&](auto* proto) {
    return proto->name() == name && proto->type() == AttributeProto::STRINGS;
  });
  auto* proto = members_->take(name, list ? AttributeProto::STRINGS : AttributeProto::STRING);
  if (!proto) return std::string(fallback);
  if (!list) return proto->s();
  std::string joined;
  for (const std::string& text : proto->strings()) joined += (joined.empty() ? "" : ",") + text;
  return joined;
}

std::vector<int64_t> AttributeReader::integers(std::string_view name,
                                               std::vector<int64_t> fallback) {
  auto* proto = members_->take(name, AttributeProto::INTS);
  if (!proto) return fallback;
  return {proto->ints().begin(), proto->ints().end()};
}

std::vector<float> AttributeReader::numbers(std::string_view name, std::vector<float> fallback) {
  auto* proto = members_->take(name, AttributeProto::FLOATS);
  if (!proto) return fallback;
  return {proto->floats().begin(), proto->floats().end()};
}

Literal AttributeReader::literal(std::string_view name, const Literal& fallback) {
  auto* proto = members_->take(name, AttributeProto::TENSOR);
  return proto ? from_proto(proto->t(), {}, join(owner(), " attribute '", name, "'")) : fallback;
}

void AttributeReader::done() const {
  for (auto* proto : members_->left)
    check(proto->name().rfind("__", 0) == 0, NodeName{owner()}, ": unknown attribute '",
          proto->name(), "'");
}

}  // namespace lockstep
