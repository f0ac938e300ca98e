#include "tools/train/config.h"

#include <cstdlib>

#include "graph/file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"
#include "tests/support/training_command.h"

namespace lockstep::fuzz {

void read_configuration(const std::string& text) {
  const MemoryFile file(text);
  const TrainConfig config = read_config(file.path(), {});
  // What was taken is written in a way that is taken again, as the same.
  const MemoryFile again(config.yaml());
  if (!accepts([&] {
        if (read_config(again.path(), {}).entries() != config.entries()) std::abort();
      }))
    std::abort();
}

Seeds config_seeds() {
  Seeds seeds{testing::kTrainingConfig, TrainConfig().yaml(),
              "TRAIN: {BATCH_SIZE: 64}\nSOLVER:\n  STEPS: [0, 2]\n  LR_POLICY: step\n",
              "DEVICES: 'cpu*4'\nALL_REDUCE: xring#2:32k:rechd\nRING_ORDER: [0, 2, 1, 3]\n",
              "DATA: &d {NAME: digits}\nTEST: {ITERS: 1}\n"};
  return seeds;
}

}  // namespace lockstep::fuzz
