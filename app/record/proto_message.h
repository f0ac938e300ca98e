// SPDX-License-Identifier: Apache-2.0
// Protocol buffers, encoded field by field: the few kinds of fields in TensorBoard's messages.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

class ProtoMessage {
 public:
  ProtoMessage& integer(int field, uint64_t value);
  ProtoMessage& real(int field, double value);
  ProtoMessage& number(int field, float value);
  ProtoMessage& text(int field, const std::string& value);
  ProtoMessage& part(int field, const ProtoMessage& value) { return text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace lockstep
