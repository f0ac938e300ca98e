// build_data_parallel_model: a network written once for one device becomes a training step over any
// number of replicas.
#pragma once

#include <string>
#include <vector>

#include "builders/all_reduce/all_reduce.h"
#include "builders/net/net.h"
#include "builders/optimizers/optimizer.h"
#include "builders/step/clip.h"
#include "builders/step/loss_scale.h"
#include "builders/step/param_rules.h"
#include "builders/step/statistics.h"
#include "graph/training.h"
#include "runtime/device.h"

namespace lockstep {

struct DataParallelOptions {
  int replicas = 1;
  // Names of replicas begin with it: gpu_0/, gpu_1/ or cpu_0/, ... It is for people; where a
  // replica runs is said when a session is made. `replicas_on` takes it from the devices.
  std::string scope = "gpu";
  // Parameters that no loss reaches are an error unless this allows them; they then stay as they
  // were initialised.
  bool allow_untrained = false;
  // Parameters, named with * and ?, that are never trained; the reverse pass stops where nothing
  // behind them is.
  std::vector<std::string> frozen = {};
  // Weight decay and the rate of biases: how the class of a parameter changes its gradient.
  ParamRules rules = {};
  // Each replica is fed the weight of its loss, `loss_weight`, in place of 1 / replicas: its share
  // of the examples, where shares are unequal. The weights of all replicas should add up to 1.
  // Not with `mean:` or synchronised batch norm.
  bool weighted = false;
  // A replica's share of the batch goes through the network in so many parts, one after the other,
  // and their gradients are added up before the reduce. Inputs of the later parts are called
  // micro_1/data, micro_2/data, ...
  int micro_batches = 1;
  // Updates take the gradients of the step before, so that communication has the whole step's time.
  // The first step's gradients are zero.
  bool deferred = false;
  // A step with a gradient that is not finite changes no parameter and no slot (momentum only
  // follows a jump of the rate) and says so: TrainingModel::checks.
  bool skip_non_finite = false;
  // Batch normalisation over the batch of all replicas. Shares must be equal.
  bool synchronised_batch_norm = false;
  StatisticsPolicy statistics = StatisticsPolicy::each;
  ClipOptions clip = {};
  // float16 or bfloat16: what graph/passes/precision.h says may take and make 16-bit floats does in
  // a step. Parameters, their updates, what is reduced, and prediction stay float32. With float16
  // the loss is scaled, and steps that overflow are skipped (skip_non_finite).
  DType precision = DType::float32;
  LossScaling loss_scaling = {};
  // How gradients are summed over replicas: see builders/all_reduce/spec.h.
  AllReduceOptions all_reduce = {};
};

// A replica for each device: cpu_0/, cpu_1/, ... on CPUs and gpu_0/, gpu_1/, ... on GPUs.
DataParallelOptions replicas_on(const std::vector<Device>& devices);

// What can be said of options before there is a network: throws naming the one that does not go
// with the others.
void check_options(const DataParallelOptions& options);

// The model's graphs refer to `ops`, which must outlive it. `model` is called twice, for training
// and for prediction. The optimiser is a MomentumSgd, an Adam or another of builders/optimizers/.
// Throws naming a parameter that only prediction makes. Each node of the step says which line of
// the model it comes from; those of the step as a whole say `where`.
TrainingModel build_data_parallel_model(const OpSet& ops, const ModelFn& model,
                                        const Optimizer& optimizer,
                                        const DataParallelOptions& options = {},
                                        const Where& where = Where::here());

}  // namespace lockstep
