// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <google/protobuf/message.h>
#include <onnx/onnx_pb.h>

#include <limits>
#include <random>
#include <vector>

namespace lockstep::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

struct Place {
  Message* message;
  const FieldDescriptor* field;
};

class Mutator {
 public:
  Mutator(onnx::ModelProto& model, unsigned seed, RawMutation raw) : random_(seed), raw_(raw) {
    collect(model, 0);
  }

  void change_one() {
    const Place place = places_[below(places_.size())];
    if (place.field->is_repeated())
      change_list(place);
    else if (present(place) && below(8) == 0)
      place.message->GetReflection()->ClearField(place.message, place.field);
    else
      change_value(place, -1);
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  static bool present(const Place& place) {
    return place.message->GetReflection()->HasField(*place.message, place.field);
  }

  // Collects every field that is set, and one unset field of each message.
  void collect(Message& message, int depth) {
    const Reflection& reflection = *message.GetReflection();
    const auto& descriptor = *message.GetDescriptor();
    const auto absent = static_cast<int>(below(static_cast<std::size_t>(descriptor.field_count())));
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor* field = descriptor.field(i);
      const int count = field->is_repeated() ? reflection.FieldSize(message, field)
                                             : reflection.HasField(message, field);
      if (count > 0 || i == absent) places_.push_back({&message, field});
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
        for (int k = 0; k < count; ++k)
          texts_.push_back(field->is_repeated() ? reflection.GetRepeatedString(message, field, k)
                                                : reflection.GetString(message, field));
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || depth > 20) continue;
      for (int k = 0; k < count; ++k)
        collect(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, k)
                                     : *reflection.MutableMessage(&message, field),
                depth + 1);
    }
  }

  void change_list(const Place& place) {
    const Reflection& reflection = *place.message->GetReflection();
    const int count = reflection.FieldSize(*place.message, place.field);
    const auto at = static_cast<int>(below(static_cast<std::size_t>(count) + 1));
    switch (below(5)) {
      case 0:
        if (count > 0) reflection.RemoveLast(place.message, place.field);
        return;
      case 1:
        if (count > 1) reflection.SwapElements(place.message, place.field, at % count, 0);
        return;
      case 2:
        append(place, count > 0 ? at % count : -1);
        return;
      case 3:
        if (count > 0) {
          reflection.SwapElements(place.message, place.field, at % count, count - 1);
          reflection.RemoveLast(place.message, place.field);
        }
        return;
      default:
        if (count > 0) change_value(place, at % count);
    }
  }

  // Appends a copy of element `from`, or a new element.
  void append(const Place& place, int from) {
    const Reflection& reflection = *place.message->GetReflection();
    if (place.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Message* added = reflection.AddMessage(place.message, place.field);
      if (from >= 0)
        added->CopyFrom(reflection.GetRepeatedMessage(*place.message, place.field, from));
      return;
    }
    set<true>(place, -1);
  }

  void change_value(const Place& place, int at) {
    if (place.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (at < 0) place.message->GetReflection()->MutableMessage(place.message, place.field);
    } else {
      set<false>(place, at);
    }
  }

  template <bool appends>
  void set(const Place& place, int at) {
    Message* message = place.message;
    const FieldDescriptor* field = place.field;
    const Reflection& r = *message->GetReflection();
    const auto put = [&](auto single, auto one_of_many, auto add, auto value) {
      if constexpr (appends)
        (r.*add)(message, field, value);
      else if (at < 0)
        (r.*single)(message, field, value);
      else
        (r.*one_of_many)(message, field, at, value);
    };
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return put(&Reflection::SetInt32, &Reflection::SetRepeatedInt32, &Reflection::AddInt32,
                   static_cast<int32_t>(number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return put(&Reflection::SetInt64, &Reflection::SetRepeatedInt64, &Reflection::AddInt64,
                   number());
      case FieldDescriptor::CPPTYPE_UINT64:
        return put(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, &Reflection::AddUInt64,
                   static_cast<uint64_t>(number()));
      case FieldDescriptor::CPPTYPE_FLOAT:
        return put(&Reflection::SetFloat, &Reflection::SetRepeatedFloat, &Reflection::AddFloat,
                   static_cast<float>(real()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return put(&Reflection::SetDouble, &Reflection::SetRepeatedDouble, &Reflection::AddDouble,
                   real());
      case FieldDescriptor::CPPTYPE_ENUM:
        return put(&Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue,
                   &Reflection::AddEnumValue, static_cast<int>(below(24)) - 2);
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string old;
        if constexpr (!appends)
          old = at < 0 ? r.GetString(*message, field) : r.GetRepeatedString(*message, field, at);
        const std::string fresh = text(std::move(old));
        if constexpr (appends)
          r.AddString(message, field, fresh);
        else if (at < 0)
          r.SetString(message, field, fresh);
        else
          r.SetRepeatedString(message, field, at, fresh);
        return;
      }
      default:
        return;
    }
  }

  int64_t number() {
    using Limits = std::numeric_limits<int64_t>;
    static constexpr int64_t kNotable[] = {0,
                                           1,
                                           -1,
                                           2,
                                           3,
                                           4,
                                           7,
                                           -2,
                                           16,
                                           64,
                                           255,
                                           256,
                                           1 << 16,
                                           1LL << 31,
                                           1LL << 32,
                                           1LL << 40,
                                           5,
                                           -3,
                                           17,
                                           12,
                                           INT32_MIN,
                                           Limits::min(),
                                           Limits::max(),
                                           1LL << 62};
    const int64_t small = static_cast<int64_t>(below(20)) - 4;
    return below(2) == 0 ? small : kNotable[below(std::size(kNotable))];
  }

  double real() {
    using Limits = std::numeric_limits<double>;
    static constexpr double kNotable[] = {
        0, 1, -1, 0.5, 1e-30, 1e30, 2, 1e10, Limits::infinity(), Limits::quiet_NaN()};
    return kNotable[below(std::size(kNotable))];
  }

  // Another text of the file (a name, an operator, a key), or the old text with a small change.
  std::string text(std::string old) {
    if (below(3) != 0 && !texts_.empty()) return texts_[below(texts_.size())];
    const std::size_t size = old.size();
    old.resize(size + 16);
    old.resize(raw_(reinterpret_cast<uint8_t*>(old.data()), size, old.size()));
    return old;
  }

  std::minstd_rand random_;
  RawMutation raw_;
  std::vector<Place> places_;
  std::vector<std::string> texts_;
};

}  // namespace

std::string mutated_onnx(const std::string& bytes, unsigned seed, RawMutation raw) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  for (unsigned times = 1 + seed % 3; times-- > 0;) Mutator(model, seed + times, raw).change_one();
  return model.SerializePartialAsString();
}

}  // namespace lockstep::fuzz
