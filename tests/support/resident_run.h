// SPDX-License-Identifier: Apache-2.0
// Training runs inside a test, with and without TRAIN.RESIDENT.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/origin.h"
#include "app/train/training_run.h"
#include "graph/file.h"
#include "lockstep/model_files.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

using Words = std::vector<std::string>;

inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Trained {
  StateValues state;
  std::vector<float> losses;  // by step
};

// A way to make the task of a file and of KEY VALUE words.
template <class TaskOf, auto read>
struct RunOf {
  std::string path;

  TaskOf task(const Words& words, int processes = 1) const {
    Origins origins;
    return TaskOf(read(config_files(path), words, processes, origins));
  }
  // Trains for `steps` steps from the start, or from a checkpoint; saves a checkpoint after step
  // number `save_after`, if it is not negative.
  Trained train(int64_t steps, const Words& words, const std::string& from = "",
                int64_t save_after = -1, const std::string& checkpoint = "") const {
    TaskOf task = this->task(words);
    TrainingRun run(task, 1, nullptr);
    Trained trained;
    for (int64_t step = from.empty() ? run.start() : run.resume(from); step < steps; ++step) {
      trained.losses.push_back(run.step(step).loss);
      if (step == save_after) run.save(checkpoint, step + 1, {});
    }
    trained.state = run.session().save();
    return trained;
  }
};

inline std::vector<float> sorted(std::vector<float> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace lockstep::testing
