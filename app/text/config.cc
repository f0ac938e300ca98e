// SPDX-License-Identifier: Apache-2.0
#include "app/text/config.h"

#include <filesystem>

#include "app/config/read.h"
#include "app/train/read_settings.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

void check_together(const TextConfig& config, int processes) {
  check_shares(shares_of(config, config.replicas() * processes), config, processes, "rows");
  check_fits(config.step, config.run, processes);
  check(!config.files.empty(), Key{"DATA.FILES"},
        " is empty; it should name text files, folders or patterns, such as "
        "['notes.txt', 'docs/**/*.md']");
  check_solver(config.optimizer);
  check_rates(config.schedule);
}

}  // namespace

TextConfig read_text_config(const ConfigFiles& files, const std::vector<std::string>& words,
                            int processes, Origins& origins) {
  return read_settings<TextConfig>(files, words, origins,
                                   [&](TextConfig& config) { check_together(config, processes); });
}

BatchShares shares_of(const TextConfig& config, int64_t replicas) {
  return {config.batch_size, replicas, config.step.options.micro_batches};
}

}  // namespace lockstep
