// SPDX-License-Identifier: Apache-2.0
// One side of a comparison: the parts that its source has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/model_source.h"
#include "app/record/metrics.h"
#include "app/task_kind.h"

namespace lockstep {

struct DiffSide {
  std::string name;                       // as the user wrote it
  std::string sort;                       // "a step or network in a file"
  std::optional<KeyTexts> settings = {};  // of a configuration or a run
  std::optional<SourcedModel> model = {};
  bool has_weights = false;                 // weights that SideRequest::weights would read
  std::optional<StateValues> weights = {};  // by names without a replica's scope
  std::string why_no_weights = {};
  std::optional<std::vector<MetricRow>> results = {};  // of a run
};

// The configuration and the numbers in a run's folder, as far as it contains them.
struct StoredRun {
  std::string folder;  // the folder that a link leads to
  std::optional<KeyTexts> settings = {};
  std::optional<std::vector<MetricRow>> results = {};
};
// Throws an Error for a folder without a run.
StoredRun stored_run(const std::string& source);

struct SideRequest {
  std::string source;
  std::vector<std::string> settings = {};  // KEY VALUE ..
  bool weights = false;                    // reads the values of states
};

// Throws an Error for a source that cannot be read, or that is none of the known sorts.
DiffSide open_side(const SideRequest& request);
// True if the source is a file or a folder, which may be opened in a thread.
bool is_stored(const std::string& source);

}  // namespace lockstep
