// SPDX-License-Identifier: Apache-2.0
#include "app/record/proto_message.h"

#include <cstring>

namespace lockstep {
namespace {

enum Wire { varint = 0, fixed64 = 1, sized = 2, fixed32 = 5 };

void put_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

void put_key(std::string& to, int field, Wire wire) {
  put_varint(to, static_cast<uint64_t>(field << 3 | wire));
}

template <class T>
void put_fixed(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

}  // namespace

ProtoMessage& ProtoMessage::integer(int field, uint64_t value) {
  put_key(bytes_, field, varint);
  put_varint(bytes_, value);
  return *this;
}

ProtoMessage& ProtoMessage::real(int field, double value) {
  put_key(bytes_, field, fixed64);
  put_fixed(bytes_, value);
  return *this;
}

ProtoMessage& ProtoMessage::number(int field, float value) {
  put_key(bytes_, field, fixed32);
  put_fixed(bytes_, value);
  return *this;
}

ProtoMessage& ProtoMessage::text(int field, std::string_view value) {
  put_key(bytes_, field, sized);
  put_varint(bytes_, value.size());
  bytes_.append(value);
  return *this;
}

}  // namespace lockstep
