// SPDX-License-Identifier: Apache-2.0
#include "app/text/network.h"

#include <nlohmann/json.hpp>

#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr const char* kVocabulary = "vocabulary";

}  // namespace

TrainingModel build_language_step(const TextConfig& config, int64_t characters, int processes,
                                  const ResidentInputs& resident) {
  LanguageOptions network = config.network;
  network.characters = characters;
  DataParallelOptions options = options_of(config.step, config.run, processes);
  options.resident = resident;
  options.weighted = !shares_of(config, options.replicas).equal();
  options.share = config.batch_size / options.replicas;
  return build_data_parallel_model(all_ops(), language_model(config.model, network),
                                   optimizer_of(config.optimizer, config.schedule.scale_momentum),
                                   options);
}

std::map<std::string, std::string> text_metadata(const std::string& bytes) {
  nlohmann::json list = nlohmann::json::array();
  for (char byte : bytes) list.push_back(static_cast<int>(static_cast<uint8_t>(byte)));
  return {{kVocabulary, list.dump()}};
}

std::string vocabulary_in(const TrainingModel& model, const std::string& path) {
  const auto said = model.metadata.find(kVocabulary);
  if (said == model.metadata.end()) return "";
  const auto list = nlohmann::json::parse(said->second, nullptr, false);
  std::string bytes;
  if (list.is_array())
    for (const auto& number : list) {
      const bool fits =
          number.is_number_unsigned() && number.get<uint64_t>() < 256 &&
          (bytes.empty() || number.get<uint64_t>() > static_cast<uint8_t>(bytes.back()));
      if (!fits)
        fail(path, ": the metadata 'lockstep.", kVocabulary, "' contains ", number.dump(),
             "; bytes should ascend, from 0 to 255");
      bytes += static_cast<char>(number.get<uint64_t>());
    }
  check(!bytes.empty(), path, ": the metadata 'lockstep.", kVocabulary,
        "' is not a list of bytes: ", said->second);
  return bytes;
}

}  // namespace lockstep
