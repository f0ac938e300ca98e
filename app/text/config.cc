// SPDX-License-Identifier: Apache-2.0
#include "app/text/config.h"

#include <filesystem>

#include "app/config/read.h"
#include "app/train/read_settings.h"
#include "builders/all_reduce/all_reduce.h"
#include "lockstep/data_parallel.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

void check_together(const TextConfig& config, int processes) {
  const BatchShares shares = shares_of(config, config.replicas() * processes);
  const Key batch{"TRAIN.BATCH_SIZE"};
  check(!shares.leave_nothing(), batch, " ", shares.batch,
        " is too small: there are no rows for some of the ", shares.replicas, " replicas",
        shares.parts > 1 ? phrase(" and their ", Key{"TRAIN.MICRO_BATCHES"}) : Phrase{});
  const DataParallelOptions& options = config.step.options;
  check(options.all_reduce.spec.reduction != Reduction::mean || shares.equal(), Key{"ALL_REDUCE"},
        " ", text_of(options.all_reduce.spec), " needs equal shares, but ", batch, " ",
        shares.batch, " cannot be split equally over the ", shares.replicas, " replicas");
  check_fits(config.step, config.run, processes);
  const int64_t threads = config.run.threads * config.replicas();
  check(threads <= kMostThreadsOfAll, Key{"THREADS"}, " ", config.run.threads, " for each of ",
        Key{"DEVICES"}, " ", config.run.devices.text, " makes ", threads,
        " threads; a process may have at most ", kMostThreadsOfAll);
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
