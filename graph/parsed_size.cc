// SPDX-License-Identifier: Apache-2.0
#include "graph/parsed_size.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace lockstep {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kDeepest = 110;                        // protobuf itself stops at 100
constexpr std::size_t kPointer = 2 * sizeof(void*);  // lists grow by doubling
constexpr std::size_t kHeap = 16;                    // malloc's overhead

class Walk {
 public:
  std::size_t size(std::string_view bytes, const Descriptor& type, int depth) {
    std::size_t total = kPointer + kHeap + empty_size(type);
    while (!bytes.empty()) {
      const auto tag = varint(bytes);
      if (!tag) return total;
      const auto* field = type.FindFieldByNumber(static_cast<int>(*tag >> 3));
      switch (*tag & 7) {
        case 0:
          if (!varint(bytes)) return total;
          total += kPointer;
          break;
        case 1:
        case 5:
          total += kPointer;
          bytes.remove_prefix(std::min<std::size_t>(bytes.size(), (*tag & 7) == 1 ? 8 : 4));
          break;
        case 2: {
          const auto length = varint(bytes);
          if (!length || *length > bytes.size()) return total;
          total += content_size(bytes.substr(0, *length), field, depth);
          bytes.remove_prefix(*length);
          break;
        }
        default:  // groups: a part of the protocol that ONNX never used
          total += 4 * kPointer + kHeap;
      }
    }
    return total;
  }

 private:
  std::size_t content_size(std::string_view bytes, const FieldDescriptor* field, int depth) {
    if (field && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && depth < kDeepest)
      return size(bytes, *field->message_type(), depth + 1);
    if (field && field->is_packable()) {
      std::size_t numbers = 0;
      for (char byte : bytes) numbers += (byte & 0x80) == 0 ? 1 : 0;
      const bool wide = field->cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
                        field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
      const bool fixed = field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT ||
                         field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
      return fixed ? bytes.size() : 2 * numbers * (wide ? 8 : 4);
    }
    const bool on_heap = bytes.size() > 15;
    return kPointer + kHeap + sizeof(std::string) + (on_heap ? bytes.size() + kHeap : 0);
  }

  static std::optional<uint64_t> varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
      value |= static_cast<uint64_t>(bytes[i] & 0x7f) << (7 * i);
      if ((bytes[i] & 0x80) != 0) continue;
      bytes.remove_prefix(i + 1);
      return value;
    }
    return std::nullopt;
  }

  std::size_t empty_size(const Descriptor& type) {
    std::size_t& known = empty_[&type];
    if (known == 0)
      known = google::protobuf::MessageFactory::generated_factory()
                  ->GetPrototype(&type)
                  ->SpaceUsedLong();
    return known;
  }

  std::unordered_map<const Descriptor*, std::size_t> empty_;
};

}  // namespace

std::size_t parsed_size(std::string_view bytes, const Descriptor& type) {
  return Walk().size(bytes, type, 0);
}

}  // namespace lockstep
