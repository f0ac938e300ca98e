// SPDX-License-Identifier: Apache-2.0
#include "app/record/tensorboard_values.h"

#include <algorithm>
#include <cstdlib>

namespace lockstep {
namespace {

constexpr uint64_t kFloat = 1, kString = 7;         // of a TensorProto
constexpr uint64_t kTensor = 2, kBlobSequence = 3;  // classes of data
constexpr std::size_t kMostImages = 12;

ProtoMessage metadata(const std::string& plugin, const std::string& content, uint64_t data_class) {
  return ProtoMessage()
      .part(1, ProtoMessage().text(1, plugin).text(2, content))
      .integer(4, data_class);
}

ProtoMessage shape_of(std::size_t size) {
  return ProtoMessage().part(2, ProtoMessage().integer(1, size));
}

ProtoMessage run_value(const std::string& tag, const std::string& content) {
  return ProtoMessage()
      .text(1, tag)
      .part(9, metadata("hparams", content, kTensor))
      .part(8, ProtoMessage().integer(1, kFloat).part(2, shape_of(1)).number(5, 0));
}

// A number if possible, so that runs can be sorted by it.
ProtoMessage setting_value(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0') return ProtoMessage().real(2, number);
  if (text == "true" || text == "false") return ProtoMessage().integer(4, text == "true");
  return ProtoMessage().text(3, text);
}

}  // namespace

ProtoMessage images_value(const std::string& tag, const std::vector<SamplePicture>& samples,
                          const std::string& description) {
  const std::size_t count = std::min(samples.size(), kMostImages);
  ProtoMessage tensor;
  tensor.integer(1, kString).part(2, shape_of(2 + count));
  if (count > 0)
    tensor.text(8, std::to_string(samples[0].image.width))
        .text(8, std::to_string(samples[0].image.height));
  for (std::size_t i = 0; i < count; ++i) tensor.text(8, png_of(samples[i].image));
  return ProtoMessage()
      .text(1, tag)
      .part(9, metadata("images", "", kBlobSequence).text(3, description))
      .part(8, tensor);
}

ProtoMessage run_starts_value(const std::vector<std::pair<std::string, std::string>>& settings,
                              double time) {
  ProtoMessage start;
  for (const auto& [key, value] : settings)
    start.part(1, ProtoMessage().text(1, key).part(2, setting_value(value)));
  start.real(5, time);
  return run_value("_hparams_/session_start_info", ProtoMessage().part(3, start).bytes());
}

ProtoMessage run_ends_value(RunEnd how, double time) {
  const ProtoMessage end = ProtoMessage().integer(1, static_cast<uint64_t>(how)).real(2, time);
  return run_value("_hparams_/session_end_info", ProtoMessage().part(4, end).bytes());
}

}  // namespace lockstep
