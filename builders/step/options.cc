// SPDX-License-Identifier: Apache-2.0
// Checks DataParallelOptions, and derives replicas from a list of devices.
#include <cmath>

#include "builders/all_reduce/all_reduce.h"
#include "builders/resident/inputs.h"
#include "builders/step/forward.h"
#include "lockstep/data_parallel.h"

namespace lockstep {

DataParallelOptions replicas_on(const std::vector<Device>& devices) {
  check(!devices.empty(), "the list of devices is empty");
  for (Device device : devices)
    check(device.kind == devices[0].kind, "the devices of a run must be of one kind, not ",
          text_of(devices[0]), " and ", text_of(device));
  return {.replicas = static_cast<int>(devices.size()),
          .scope = std::string(devices[0].info().text)};
}

void check_options(const DataParallelOptions& options) {
  check(options.replicas >= 1, "a model needs at least one replica, not ", options.replicas);
  check(options.micro_batches >= 1, "the number of micro-batches should be at least 1, is ",
        options.micro_batches);
  check(options.share >= 0, "a replica's share of the batch should be 0 or more rows, not ",
        options.share);
  check(!(options.weighted && options.synchronised_batch_norm),
        "synchronised batch norm needs equal shares of the batch, but the loss is weighted for "
        "unequal ones");
  check(!(options.weighted && options.all_reduce.spec.reduction == Reduction::mean),
        "the all-reduce spec '", text_of(options.all_reduce.spec),
        "' computes a mean, which needs equal shares of the batch, but the loss is weighted for "
        "unequal ones");
  if (options.statistics == StatisticsPolicy::in_turn) {
    check(
        !options.synchronised_batch_norm,
        "TRAIN.STATISTICS in_turn cannot be combined with TRAIN.SYNC_BATCH_NORM: in_turn needs the "
        "statistics of each replica's batch");
    check(!options.deferred ||
              !(options.skip_non_finite || info_of(options.precision).wants_scaled_loss),
          "TRAIN.STATISTICS in_turn cannot be combined with deferred gradients and skipping of "
          "non-finite steps");
  }
  if (options.resident.any()) {
    check_resident(options.resident);
    check(!options.weighted,
          "the minibatches of a resident batch have equal shares, but the loss is weighted for "
          "unequal ones");
    check(options.micro_batches == 1,
          "the step takes a whole minibatch of the resident batch, not ", options.micro_batches,
          " micro-batches; ask for smaller minibatches");
  }
  for (const auto& [name, number] : {std::pair{"clip.norm", options.clip.norm},
                                     {"clip.each_norm", options.clip.each_norm},
                                     {"clip.value", options.clip.value},
                                     {"rules.weight_decay", options.rules.weight_decay},
                                     {"rules.weight_decay_norm", options.rules.weight_decay_norm},
                                     {"rules.bias_rate_factor", options.rules.bias_rate_factor}})
    check(std::isfinite(number) && number >= 0, name, " is ", number, ", should be 0 or more");
  check(options.average.decay >= 0 && options.average.decay < 1, "average.decay (TRAIN.EMA) is ",
        options.average.decay, ", should be at least 0 and below 1");
  for (const auto* factors : {&options.rules.rates, &options.rules.decays})
    for (const auto& [pattern, factor] : *factors)
      check(std::isfinite(factor) && factor >= 0, "the factor of '", pattern, "' (SOLVER.",
            factors == &options.rules.rates ? "RATES" : "DECAYS", ") is ", factor,
            ", should be 0 or more");
  if (options.forward_only) check_forward_only(options);
  check_fits(options.all_reduce, options.replicas);
}

}  // namespace lockstep
