// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/safetensors_header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/metadata.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using nlohmann::json;

constexpr std::size_t kMostDims = 64;

// A SAX parser: a hostile header never becomes a tree in memory.
class Reader final : public json::json_sax_t {
 public:
  explicit Reader(SafetensorsHeader& header) : header_(header) {}

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) return go(Place::top);
    if (place_ != Place::top) unexpected("an object");
    return go(name_ == "__metadata__" ? Place::metadata : Place::entry);
  }
  bool end_object() override {
    if (place_ == Place::entry) finish_entry();
    return go(place_ == Place::top ? Place::outside : Place::top);
  }
  bool start_array(std::size_t) override {
    if (place_ != Place::entry || (field_ != "shape" && field_ != "data_offsets"))
      unexpected("a list");
    return go(field_ == "shape" ? Place::shape : Place::offsets);
  }
  bool end_array() override { return go(Place::entry); }

  bool key(std::string& word) override {
    if (place_ == Place::top) {
      check(names_.insert(word).second, "'", word, "' occurs twice");
      name_ = std::move(word);
      fields_.clear();
      offsets_.clear();
      tensor_ = {};
    } else if (place_ == Place::metadata) {
      check(!header_.metadata.contains(word), "the metadata '", word, "' occurs twice");
      field_ = std::move(word);
    } else {
      check(word == "dtype" || word == "shape" || word == "data_offsets", "tensor '", name_,
            "': unknown field '", word, "'");
      check(fields_.insert(word).second, "tensor '", name_, "': '", word, "' occurs twice");
      field_ = std::move(word);
    }
    return true;
  }

  bool string(std::string& word) override {
    if (place_ == Place::metadata) {
      check_metadata(field_, word);
      header_.metadata.emplace(field_, std::move(word));
    } else if (place_ == Place::entry && field_ == "dtype") {
      for (const TypeInfo& info : all_types())
        if (!word.empty() && word == info.safetensors) tensor_.dtype = info.type;
      check(tensor_.dtype != DType::undefined, "tensor '", name_, "': element type '", word,
            "' is not supported");
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::shape) {
      check(tensor_.dims.size() < kMostDims, "tensor '", name_, "': more than ", kMostDims,
            " dimensions");
      check(value <= INT64_MAX, "tensor '", name_, "': a dimension of ", value);
      tensor_.dims.push_back(static_cast<int64_t>(value));
    } else if (place_ == Place::offsets) {
      check(offsets_.size() < 2, "tensor '", name_, "': more than two data_offsets");
      offsets_.push_back(value);
    } else {
      unexpected("a number");
    }
    return true;
  }
  bool number_integer(int64_t value) override { unexpected(join(value)); }
  bool number_float(double, const std::string& text) override { unexpected(text); }
  bool null() override { unexpected("null"); }
  bool boolean(bool value) override { unexpected(value ? "true" : "false"); }
  bool binary(json::binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail("it is not JSON, at byte ", position);
  }

 private:
  enum class Place { outside, top, metadata, entry, shape, offsets };

  bool go(Place place) {
    place_ = place;
    return true;
  }
  [[noreturn]] void unexpected(const std::string& what) const {
    fail(place_ == Place::outside || place_ == Place::top || place_ == Place::metadata
             ? join("'", place_ == Place::metadata ? field_ : name_, "'")
             : join("tensor '", name_, "', '", field_, "'"),
         ": ", what, " is out of place");
  }

  void finish_entry() {
    check(fields_.size() == 3, "tensor '", name_, "': lacks dtype, shape or data_offsets");
    check(offsets_.size() == 2 && offsets_[0] <= offsets_[1], "tensor '", name_,
          "': its data_offsets are not a range");
    tensor_.name = name_;
    tensor_.begin = offsets_[0];
    tensor_.end = offsets_[1];
    header_.tensors.push_back(std::move(tensor_));
  }

  SafetensorsHeader& header_;
  Place place_ = Place::outside;
  std::string name_, field_;
  std::set<std::string> names_, fields_;
  std::vector<std::size_t> offsets_;
  StoredTensor tensor_;
};

// Returns the bytes of the tensor. Throws for more than `most`.
std::size_t bytes_of(const StoredTensor& tensor, std::size_t most) {
  const auto& dims = tensor.dims;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  std::size_t bytes = size_of(tensor.dtype);
  for (int64_t size : dims) {
    check(static_cast<std::size_t>(size) <= most / bytes, "tensor '", tensor.name,
          "': ", TensorType{tensor.dtype, to_shape(dims)}, " is larger than the file");
    bytes *= static_cast<std::size_t>(size);
  }
  return bytes;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::size_t data_bytes) {
  check(text.starts_with('{'), "the header does not begin with {");
  SafetensorsHeader header;
  Reader reader(header);
  try {
    json::sax_parse(text, &reader);
  } catch (const Error& error) {
    fail("the header is damaged: ", error.what());
  }
  auto& tensors = header.tensors;
  std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::size_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    check(tensor.end <= data_bytes, "tensor '", tensor.name, "': its data is outside the file");
    const std::size_t bytes = bytes_of(tensor, data_bytes);
    check(tensor.end - tensor.begin == bytes, "tensor '", tensor.name, "': it has ",
          tensor.end - tensor.begin, " bytes for ",
          TensorType{tensor.dtype, to_shape(tensor.dims)});
    check(tensor.begin >= end, "tensor '", tensor.name, "': its data overlaps another tensor's");
    check(tensor.begin == end, "tensor '", tensor.name, "': ", tensor.begin - end,
          " bytes before it belong to no tensor");
    end = tensor.end;
  }
  check(end == data_bytes, data_bytes - end, " bytes at the end belong to no tensor");
  return header;
}

std::string_view safetensors_name(DType type) {
  const std::string_view name = info_of(type).safetensors;
  check(!name.empty(), "safetensors has no name for element type ", type);
  return name;
}

}  // namespace lockstep
