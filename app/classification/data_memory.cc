// SPDX-License-Identifier: Apache-2.0
#include "app/classification/data_memory.h"

#include <algorithm>
#include <string>
#include <vector>

#include "app/classification/network.h"
#include "data/dataset.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

struct Ask {
  std::string what;
  double bytes;
};

// Counts in doubles: products far beyond any machine's memory do not overflow.
std::vector<Ask> asks_of(const ClassificationConfig& config) {
  const Preparation image = preparation_of(dataset_of(config, false));
  const double values = static_cast<double>(image.channels) * static_cast<double>(image.height) *
                        static_cast<double>(image.width);
  const double classes = static_cast<double>(config.classes);
  const double each_value = config.bytes ? 1 : 4;
  constexpr double kBatches = 4;  // read ahead, in use, and where a step reads them
  std::vector<Ask> asks{{join("TRAIN.BATCH_SIZE ", config.batch_size),
                         kBatches * config.batch_size * values * each_value},
                        // One matrix in each process, and one more where the matrices are summed.
                        {join("the confusion matrix of MODEL.NUM_CLASSES ", config.classes),
                         2 * classes * classes * 8}};
  if (config.dataset == "digits" || config.dataset == "synthetic") {
    const double each = config.dataset == "digits" ? values + 5 : 4;
    asks.push_back({join("DATA.TRAIN_SIZE ", config.train_size), each * config.train_size});
    asks.push_back({join("DATA.TEST_SIZE ", config.test_size), each * config.test_size});
  }
  return asks;
}

std::size_t whole(double bytes) { return static_cast<std::size_t>(std::min(bytes, 0x1p62)); }

}  // namespace

void check_data_memory(const ClassificationConfig& config) {
  double sum = 0;
  for (const Ask& ask : asks_of(config)) {
    check_memory(whole(ask.bytes), ask.what);
    sum += ask.bytes;
  }
  check_memory(whole(sum), "data for TRAIN.BATCH_SIZE, MODEL.NUM_CLASSES and DATA together");
}

}  // namespace lockstep
