// Protocol buffers, encoded by hand: the few kinds of fields in TensorBoard's messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

class Message {
 public:
  Message& integer(int field, uint64_t value);
  Message& real(int field, double value);
  Message& number(int field, float value);
  Message& text(int field, std::string_view value);
  Message& part(int field, const Message& value) { return text(field, value.bytes_); }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace lockstep
