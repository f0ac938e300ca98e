// SPDX-License-Identifier: Apache-2.0
// Typed attributes. A writer lists names and values. A reader reads each known name, with its
// default, then calls done(), which rejects the rest: a misspelt attribute is an error, never a
// silent default. Reading a name twice is an error too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/literal.h"

namespace onnx {
class AttributeProto;
}

namespace lockstep {

using AttributeValue =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, Literal>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

void to_proto(const std::string& name, const AttributeValue& value, onnx::AttributeProto& proto);
std::string text_of(const onnx::AttributeProto& proto);

class AttributeReader {
 public:
  // `owner` names the node in errors; the protos must outlive the reader.
  AttributeReader(std::string owner, std::vector<const onnx::AttributeProto*> attributes)
      : owner_(std::move(owner)), left_(std::move(attributes)) {}

  bool has(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t fallback);
  float number(std::string_view name, float fallback);
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> fallback = {});
  std::vector<float> numbers(std::string_view name, std::vector<float> fallback = {});
  Literal literal(std::string_view name, const Literal& fallback = {});
  void done() const;

  const std::string& owner() const { return owner_; }

 private:
  const onnx::AttributeProto* take(std::string_view name, int type);

  std::string owner_;
  std::vector<const onnx::AttributeProto*> left_;
  std::vector<std::string> asked_;
};

}  // namespace lockstep
