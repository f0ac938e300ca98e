// SPDX-License-Identifier: Apache-2.0
#include "app/record/proto_message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <bit>

namespace lockstep {
namespace {

using google::protobuf::io::CodedOutputStream;

enum class Wire : uint32_t { varint = 0, bits64 = 1, length = 2, bits32 = 5 };

// Appends a field; `write` writes its value.
template <class Write>
void append_field(std::string& bytes, int field, Wire wire, const Write& write) {
  google::protobuf::io::StringOutputStream to(&bytes);
  CodedOutputStream coded(&to);
  coded.WriteTag(static_cast<uint32_t>(field) << 3U | static_cast<uint32_t>(wire));
  write(coded);
}

}  // namespace

ProtoMessage& ProtoMessage::integer(int field, uint64_t value) {
  append_field(bytes_, field, Wire::varint,
               [&](CodedOutputStream& coded) { coded.WriteVarint64(value); });
  return *this;
}

ProtoMessage& ProtoMessage::real(int field, double value) {
  append_field(bytes_, field, Wire::bits64, [&](CodedOutputStream& coded) {
    coded.WriteLittleEndian64(std::bit_cast<uint64_t>(value));
  });
  return *this;
}

ProtoMessage& ProtoMessage::number(int field, float value) {
  append_field(bytes_, field, Wire::bits32, [&](CodedOutputStream& coded) {
    coded.WriteLittleEndian32(std::bit_cast<uint32_t>(value));
  });
  return *this;
}

ProtoMessage& ProtoMessage::text(int field, const std::string& value) {
  append_field(bytes_, field, Wire::length, [&](CodedOutputStream& coded) {
    coded.WriteVarint64(value.size());
    coded.WriteString(value);
  });
  return *this;
}

}  // namespace lockstep
