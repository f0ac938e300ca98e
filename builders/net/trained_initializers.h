// SPDX-License-Identifier: Apache-2.0
// The decision which initializers of a file are trained, each with its reason. Every command that
// trains a network from a file asks this table.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "lockstep/model_files.h"

namespace lockstep {

// Names with * and ?, which users give.
struct TrainingPatterns {
  std::vector<std::string> frozen = {};       // MODEL.FREEZE
  std::vector<std::string> trained = {};      // MODEL.TRAIN, which overrides `frozen`
  std::vector<std::string> batch_norms = {};  // MODEL.TRAIN_BATCH_NORM
};

enum class InitializerRole { parameter, constant, statistic };

enum class InitializerReason {
  folded,
  other_type,
  class_weights,
  statistic,
  moving_statistic,
  asked,
  frozen,
  exported_parameter,
  exported_buffer,
  exported_constant,
  code,
  normaliser,
  infinite,
  mask,
  named_statistic,
  unsure,
  usual,
  unused,
};

struct ReasonRecord {
  InitializerReason why;
  InitializerRole role;
  const char* text;  // for people: "normalises an input"
};
const ReasonRecord& record_of_reason(InitializerReason why);

struct InitializerChoice {
  std::string name;
  InitializerReason why;
  std::string looks = "";  // of `unsure`: "like a table of sines"

  InitializerRole role() const { return record_of_reason(why).role; }
  std::string reason() const;
};

struct InitializerChoices {
  std::vector<InitializerChoice> all;  // in the file's order
  int64_t fixed_batch_norms = 0;       // with training_mode 0, and not named by a pattern

  std::set<std::string> trained() const;
  const InitializerChoice* find(const std::string& name) const;
};

// `loss`: a value that parameters need a gradient from. "": no initializer is left out for lack of
// one. Throws for a pattern that matches nothing, and for a pattern of `trained` that names an
// initializer which cannot be trained.
InitializerChoices choose_initializers(const LoadedModel& file, const std::string& loss,
                                       const TrainingPatterns& patterns);

// Chooses as choose_initializers() does. Throws, with the reasons, if no initializer is trained.
InitializerChoices choose_some_initializers(const LoadedModel& file, const std::string& loss,
                                            const TrainingPatterns& patterns);

}  // namespace lockstep
