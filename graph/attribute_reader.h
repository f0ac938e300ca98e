// SPDX-License-Identifier: Apache-2.0
// Attribute readers over ONNX's messages. For graph/ only.
#pragma once

#include <string>
#include <vector>

#include "lockstep/attributes.h"

namespace onnx {
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace lockstep {

struct AttributeReader::Members {
  const onnx::AttributeProto* take(std::string_view name, int type);

  std::string owner;
  std::vector<const onnx::AttributeProto*> left;  // not read yet
  std::vector<std::string> read;
};

// `owner` names the node in errors. The messages must outlive the reader.
AttributeReader reader_of(std::string owner, std::vector<const onnx::AttributeProto*> attributes);
AttributeReader reader_of(std::string owner, const onnx::NodeProto& node);

void to_proto(const std::string& name, const AttributeValue& value, onnx::AttributeProto& proto);
std::string text_of(const onnx::AttributeProto& proto);

}  // namespace lockstep
