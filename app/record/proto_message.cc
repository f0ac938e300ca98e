// SPDX-License-Identifier: Apache-2.0
#include "app/record/proto_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

namespace lockstep {
namespace {

using google::protobuf::internal::WireFormatLite;

// Appends the field that `write` writes.
template <class Value>
void append_field(std::string& bytes,
                  void (*write)(int, Value, google::protobuf::io::CodedOutputStream*), int field,
                  Value value) {
  google::protobuf::io::StringOutputStream to(&bytes);
  google::protobuf::io::CodedOutputStream coded(&to);
  write(field, value, &coded);
}

}  // namespace

ProtoMessage& ProtoMessage::integer(int field, uint64_t value) {
  append_field(bytes_, WireFormatLite::WriteUInt64, field, value);
  return *this;
}

ProtoMessage& ProtoMessage::real(int field, double value) {
  append_field(bytes_, WireFormatLite::WriteDouble, field, value);
  return *this;
}

ProtoMessage& ProtoMessage::number(int field, float value) {
  append_field(bytes_, WireFormatLite::WriteFloat, field, value);
  return *this;
}

ProtoMessage& ProtoMessage::text(int field, const std::string& value) {
  append_field<const std::string&>(bytes_, WireFormatLite::WriteBytes, field, value);
  return *this;
}

}  // namespace lockstep
