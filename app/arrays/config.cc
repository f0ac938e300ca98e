// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/config.h"

#include "app/arrays/named_values.h"
#include "app/config/read.h"
#include "app/train/read_settings.h"
#include "builders/all_reduce/all_reduce.h"
#include "lockstep/data_parallel.h"

namespace lockstep {
namespace {

void check_shares(const ArraysConfig& config, int processes) {
  const BatchShares shares = shares_of(config, config.replicas() * processes);
  const Key batch{"TRAIN.BATCH_SIZE"};
  check(!shares.leave_nothing(), batch, " ", shares.batch,
        " is too small: there are no examples for some of the ", shares.replicas, " replicas",
        shares.parts > 1 ? phrase(" and their ", Key{"TRAIN.MICRO_BATCHES"}) : Phrase{});
  const DataParallelOptions& options = config.step.options;
  const auto needs_equal = [&](const Phrase& what) {
    check(shares.equal(), what, " needs equal shares, but ", batch, " ", shares.batch,
          " cannot be split equally over the ", shares.replicas, " replicas");
  };
  if (options.all_reduce.spec.reduction == Reduction::mean)
    needs_equal(phrase(Key{"ALL_REDUCE"}, " ", text_of(options.all_reduce.spec)));
  if (options.synchronised_batch_norm) needs_equal(phrase(Key{"TRAIN.SYNC_BATCH_NORM"}));
}

void check_data(const ArraysConfig& config) {
  check(!config.onnx.empty(), Key{"MODEL.ONNX"}, " names no network to train");
  check(!config.train.empty(), Key{"DATA.TRAIN"}, " names no arrays to train on");
  check(!config.test.empty(), Key{"DATA.TEST"},
        " names no arrays to test on; to test on the training data, name it there, too");
  if (config.whole)
    check(config.batch_size == 1, Key{"DATA.WHOLE"}, " needs ", Key{"TRAIN.BATCH_SIZE"}, " 1, is ",
          config.batch_size, "; TRAIN.MICRO_BATCHES does not apply, either");
  for (std::size_t i = 1; i < config.buckets.size(); ++i)
    check(config.buckets[i - 1] < config.buckets[i], Key{"DATA.BUCKETS"}, ": ", config.buckets[i],
          " follows ", config.buckets[i - 1], "; lengths should ascend");
  naming("DATA.COLUMNS", [&] { columns_of(config.columns); });
  naming("DATA.SOURCES", [&] { texts_of(config.sources); });
  naming("DATA.PADDING", [&] { numbers_of(config.padding); });
  naming("MODEL.LOSS", [&] { config.loss_terms(); });
  naming("TEST.METRICS", [&] { config.test_metrics(); });
}

void check_together(const ArraysConfig& config, int processes) {
  check(config.model == kArrays, Key{"MODEL.TYPE"}, " should be ", kArrays, ", is ", config.model);
  check(config.dataset == kArrays, Key{"DATA.NAME"}, " should be ", kArrays, ", is ",
        config.dataset);
  check_shares(config, processes);
  check_fits(config.step, config.run, processes);
  const int64_t threads = config.run.threads * config.replicas();
  check(threads <= kMostThreadsOfAll, Key{"THREADS"}, " ", config.run.threads, " for each of ",
        Key{"DEVICES"}, " ", config.run.devices.text, " makes ", threads,
        " threads; a process may have at most ", kMostThreadsOfAll);
  check_data(config);
  check_solver(config.optimizer);
  check_rates(config.schedule);
}

}  // namespace

ArraysConfig read_arrays_config(const ConfigFiles& files, const std::vector<std::string>& words,
                                int processes, Origins& origins) {
  return read_settings<ArraysConfig>(
      files, words, origins, [&](ArraysConfig& config) { check_together(config, processes); });
}

BatchShares shares_of(const ArraysConfig& config, int64_t replicas) {
  return {config.batch_size, replicas, config.step.options.micro_batches};
}

}  // namespace lockstep
