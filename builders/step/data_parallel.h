// SPDX-License-Identifier: Apache-2.0
// build_data_parallel_model: turns a network written for one device into a training step over any
// number of replicas.
#pragma once

#include <string>
#include <vector>

#include "builders/all_reduce/all_reduce.h"
#include "builders/net/net.h"
#include "builders/optimizers/optimizer.h"
#include "builders/resident/inputs.h"
#include "builders/step/clip.h"
#include "builders/step/embeddings.h"
#include "builders/step/loss_scale.h"
#include "builders/step/param_rules.h"
#include "builders/step/statistics.h"
#include "graph/training.h"
#include "runtime/device.h"

namespace lockstep {

struct DataParallelOptions {
  int replicas = 1;
  // Prefix of replicas' names: gpu_0/, gpu_1/ or cpu_0/, ... It only informs people; a session
  // decides where replicas run. `replicas_on` derives it from the devices.
  std::string scope = "gpu";
  // Allows parameters that no loss reaches, otherwise an error; they keep their initial values.
  bool allow_untrained = false;
  // Parameters, by patterns with * and ?, that are never trained; backpropagation stops below the
  // last trained layer.
  std::vector<std::string> frozen = {};
  // Weight decay and the rate of biases: the effect of a parameter's class on its gradient.
  ParamRules rules = {};
  // Feeds each replica the weight of its loss, `loss_weight`, instead of 1 / replicas: its share of
  // the examples, for unequal shares. The weights of all replicas should add up to 1. Not with
  // `mean:` or synchronised batch norm.
  bool weighted = false;
  // Splits a replica's share of the batch into parts that go through the network in sequence; their
  // gradients are added up before the reduce. Inputs of the later parts are called micro_1/data,
  // micro_2/data, ...
  int micro_batches = 1;
  // How the gradients of embeddings are summed over the replicas.
  EmbeddingSum embeddings = EmbeddingSum::automatic;
  // Rows of each replica's part of the batch, which that choice needs to know; 0: unknown. The step
  // takes any number.
  int64_t share = 0;
  // Inputs that are not fed, but sliced from a batch that stays on the devices for many steps
  // (builders/resident/batch.h). Not with `weighted` or micro-batches.
  ResidentInputs resident = {};
  // Updates use the previous step's gradients, so that communication has the whole step's time. The
  // first step's gradients are zero.
  bool deferred = false;
  // A step with a non-finite gradient changes no parameter and no slot (except that momentum
  // follows a jump of the rate) and reports it: TrainingModel::checks.
  bool skip_non_finite = false;
  // The forward pass alone, on every replica: losses and metrics as in training, no gradients, no
  // updates. Batch norms use the running statistics, which stay, and nothing is dropped. The model
  // needs no loss: outputs that it declares in training are outputs of the step, cpu_0/NAME, ...
  // Options of gradients and updates have no effect (rules, frozen, embeddings, loss_scaling, the
  // optimiser), or are refused (builders/step/forward.h).
  bool forward_only = false;
  // Adds the metric `whole_loss`: the sum of the losses that one replica would have with the whole
  // batch and replica 0's parameters (builders/step/whole_loss.h). Training is the same to the last
  // bit; replica 0 also computes the forward pass of the whole batch.
  bool whole_loss = false;
  // Batch normalisation over the batch of all replicas. Shares must be equal.
  bool synchronised_batch_norm = false;
  StatisticsPolicy statistics = StatisticsPolicy::each;
  ClipOptions clip = {};
  // float16 or bfloat16: operators listed by graph/passes/precision.h use 16-bit floats in a step.
  // Parameters, updates, reduced values and prediction stay float32. With float16 the loss is
  // scaled, and steps that overflow are skipped (skip_non_finite).
  DType precision = DType::float32;
  LossScaling loss_scaling = {};
  // The sum of gradients over replicas: see builders/all_reduce/spec.h.
  AllReduceOptions all_reduce = {};
};

// One replica per device: cpu_0/, cpu_1/, ... on CPUs and gpu_0/, gpu_1/, ... on GPUs.
DataParallelOptions replicas_on(const std::vector<Device>& devices);

// Checks options without a network: throws naming the one that conflicts with the others.
void check_options(const DataParallelOptions& options);

// The model's graphs refer to `ops`, which must outlive it. `model` is called twice, for training
// and for prediction. The optimiser is a MomentumSgd, an Adam or another of builders/optimizers/.
// Throws naming a parameter that only prediction makes. Each node of the step records its line of
// the model; nodes of the step as a whole record `where`.
TrainingModel build_data_parallel_model(const OpSet& ops, const ModelFn& model,
                                        const Optimizer& optimizer,
                                        const DataParallelOptions& options = {},
                                        const Where& where = Where::here());

}  // namespace lockstep
