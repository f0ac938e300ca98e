// SPDX-License-Identifier: Apache-2.0
// build_data_parallel_model: turns a network written for one device into a training step over any
// number of replicas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/all_reduce.h"
#include "lockstep/device.h"
#include "lockstep/net.h"
#include "lockstep/optimizers.h"

namespace lockstep {

// A factor for the parameters whose names match a pattern.
struct PatternFactor {
  std::string pattern;  // may contain * and ?
  float factor = 1;
  friend bool operator==(const PatternFactor&, const PatternFactor&) = default;
};

// The effect of a parameter's class on the gradient of its update, as in Detectron:
//   bias    gradient times bias_rate_factor, no decay
//   norm    gradient + weight_decay_norm * param
//   weight  gradient + weight_decay * param
// Decay is added after the reduce, so it does not depend on the number of replicas. An optimiser
// with `takes_decay` gets the decay as a number.
// `rates` and `decays` multiply the learning rate and the decay of parameters by name. If several
// patterns match a name, the last one counts. A pattern that matches no parameter is an error.
struct ParamRules {
  float weight_decay = 1e-4F;
  float weight_decay_norm = 0;
  float bias_rate_factor = 2;
  std::vector<PatternFactor> rates = {}, decays = {};
};

// Moving averages of the trained parameters, kept as states: the average of w is w_ema. After each
// update, w_ema = decay * w_ema + (1 - decay) * w. A skipped step leaves the averages unchanged.
// Running statistics are not averaged.
struct AverageOptions {
  float decay = 0;  // 0: no averages
  // true: the inference graph reads the averages instead of the parameters.
  bool predicts = true;

  bool active() const { return decay > 0; }
};

// Gradient clipping.
struct ClipOptions {
  float norm = 0;       // limit of the norm of all gradients together; 0: not clipped
  float each_norm = 0;  // limit of each gradient's norm; 0: not clipped
  float value = 0;      // limit of each element's magnitude; 0: not clipped
  // false: every replica clips the sum. true: each replica clips the gradients of its share of the
  // batch before the sum, so that one bad share cannot dominate.
  bool before_reduce = false;

  bool active() const { return norm > 0 || each_norm > 0 || value > 0; }
};

// Loss scaling: small gradients underflow in float16, so the loss is multiplied by a power of two,
// and float32 gradients are divided by it. The factor adapts: a step with non-finite gradients
// changes nothing and halves the factor; `growth_steps` finite steps in a row double it.
struct LossScaling {
  float first = 65536;    // the factor of step 1
  float most = 16777216;  // the factor never grows beyond this
  int growth_steps = 2000;
};

// The policy for values that each replica computes separately: running statistics.
enum class StatisticsPolicy {
  each,     // every replica keeps statistics of its share of the batches
  mean,     // every replica takes the mean over all replicas
  first,    // every replica takes replica 0's, as in Caffe2's data_parallel_model
  in_turn,  // one set for all, updated by one replica's share after the other
};
// Parses the name of a policy: "each". Throws an Error that lists the names.
StatisticsPolicy parse_statistics(const std::string& text);
std::string text_of(StatisticsPolicy policy);

// The way in which the gradients of embeddings are summed over the replicas. A table's gradient is
// zero except in the few rows that the step reads.
enum class EmbeddingSum {
  automatic,  // by rows if this moves fewer bytes
  dense,      // whole gradients
  sparse,     // by rows wherever possible
};
// Parses "auto", "dense" or "sparse". Throws an Error for any other text.
EmbeddingSum parse_embedding_sum(const std::string& text);
std::string text_of(EmbeddingSum sum);

// Limits of a resident batch, in rows of one replica. They are fixed when the model is built.
struct ResidentLimits {
  int64_t minibatch = 1;  // at most; less if the batch is short
  int64_t capacity = 1;   // of all minibatches together
  int64_t longest = 1;    // of a sequence
};

// Inputs of a network that a step slices from a batch which stays on the devices (resident.h).
struct ResidentInputs {
  std::vector<std::string> rows = {};    // inputs [N, ..] of a minibatch's rows
  std::vector<std::string> states = {};  // inputs [M, ..] with a row for each sequence of rows
  ResidentLimits limits = {};

  bool any() const { return !rows.empty() || !states.empty(); }
};

struct DataParallelOptions {
  int replicas = 1;
  // Prefix of replicas' names: gpu_0/, gpu_1/ or cpu_0/, ... The prefix is for people; a session
  // decides where replicas run. replicas_on() derives the prefix from the devices.
  std::string scope = "gpu";
  // Allows parameters that no loss reaches, which keep their initial values. false: an error.
  bool allow_untrained = false;
  // Parameters that are never trained, by name; patterns may contain * and ?. Backpropagation stops
  // below the first trained layer. A pattern that matches no parameter is an error.
  std::vector<std::string> frozen = {};
  // Weight decay and the rate of biases: the effect of a parameter's class on its gradient.
  ParamRules rules = {};
  // Feeds each replica the weight of its loss, `loss_weight`, instead of 1 / replicas, for unequal
  // shares of the examples. The weights of all replicas should add up to 1. Not with `mean:` or
  // synchronised batch norm.
  bool weighted = false;
  // Splits a replica's share of the batch into parts that go through the network in sequence; their
  // gradients are added up before the reduce. Inputs of the later parts are called micro_1/data,
  // micro_2/data, ...
  int micro_batches = 1;
  // How the gradients of embeddings are summed over the replicas.
  EmbeddingSum embeddings = EmbeddingSum::automatic;
  // Rows of each replica's part of the batch, for the choice of `embeddings`; 0: unknown. The step
  // takes any number of rows.
  int64_t share = 0;
  // Inputs that are not fed, but sliced from a batch that stays on the devices for many steps
  // (resident.h). Not with `weighted` or micro-batches.
  ResidentInputs resident = {};
  // Updates use the previous step's gradients, so that communication has the whole step's time. The
  // first step's gradients are zero.
  bool deferred = false;
  // A step with a non-finite gradient changes no parameter and no slot (except that momentum
  // follows a jump of the rate) and reports it: TrainingModel::checks.
  bool skip_non_finite = false;
  // The forward pass alone, on every replica: losses and metrics as in training, no gradients, no
  // updates. Batch norms use the running statistics, which stay unchanged, and dropout is off.
  // The model needs no loss: outputs that it declares in training are outputs of the step,
  // cpu_0/NAME, ... Options of gradients and updates have no effect (rules, frozen, embeddings,
  // loss_scaling, the optimiser), or are refused.
  bool forward_only = false;
  // Adds the metric `whole_loss`: the sum of the losses that one replica would have with the whole
  // batch and replica 0's parameters. Training is unchanged to the last bit; replica 0 also
  // computes the forward pass of the whole batch.
  bool whole_loss = false;
  // Batch normalisation over the batch of all replicas. Shares must be equal.
  bool synchronised_batch_norm = false;
  StatisticsPolicy statistics = StatisticsPolicy::each;
  ClipOptions clip = {};
  AverageOptions average = {};
  // float16 or bfloat16: expensive operators (Op::narrow) use 16-bit floats in a step. Parameters,
  // updates, reduced values and prediction stay float32. With float16 the loss is scaled, and steps
  // that overflow are skipped (skip_non_finite).
  DType precision = DType::float32;
  LossScaling loss_scaling = {};
  AllReduceOptions all_reduce = {};
};

// One replica per device: cpu_0/, cpu_1/, ... on CPUs and gpu_0/, gpu_1/, ... on GPUs.
DataParallelOptions replicas_on(const std::vector<Device>& devices);

// Checks options without a network. Throws an Error naming an option that is out of range or
// conflicts with another.
void check_options(const DataParallelOptions& options);

// Builds the training step of a network. The result's graphs refer to `ops`, which must outlive
// them. `model` is called twice, for training and for prediction, and not kept. Throws an Error for
// options that conflict, and for a network that cannot be trained, such as one without a loss or
// with a parameter that only prediction makes. Each node of the step records its line of the model
// function; nodes of the step as a whole record `where`.
TrainingModel build_data_parallel_model(const OpSet& ops, const ModelFn& model,
                                        const Optimizer& optimizer,
                                        const DataParallelOptions& options = {},
                                        const Where& where = Where::here());

struct ProcessShare {
  int rank = 0;  // from 0
  int processes = 1;
};

// Cuts the step of a whole run into one step for each process and returns the step of process
// `rank`: its replicas, renumbered from 0, with a message for each value that another process
// computes or reads. Replicas are divided in order, as evenly as possible. Names stay unchanged.
// Every process must cut the same model, so that messages get the same numbers. Exchanges cannot
// deadlock: each exchange waits only for nodes before it in the common graph. Throws an Error if
// there are more processes than replicas.
TrainingModel partition(const TrainingModel& whole, const ProcessShare& share);

}  // namespace lockstep
