// SPDX-License-Identifier: Apache-2.0
// The keys of a step. An option of the step is a field of DataParallelOptions and a row here.
#include <algorithm>

#include "app/config/step_settings.h"
#include "builders/all_reduce/algorithm.h"
#include "builders/step/precision.h"
#include "builders/step/statistics.h"
#include "graph/limits.h"
#include "lockstep/data_parallel.h"
#include "lockstep/error.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

// Counts devices by kind. Processes may use different devices, but need equal numbers of each kind.
std::string number_and_kind(const std::vector<Device>& devices) {
  std::string text;
  for (const DeviceInfo& info : all_device_kinds())
    if (const auto count = std::ranges::count(devices, info.kind, &Device::kind); count > 0)
      text += join(text.empty() ? "" : ", ", count, " x ", info.text);
  return text;
}

NamedDevices auxiliaries_named(const std::string& text) {
  return text.empty() ? NamedDevices{} : devices_named(text);
}

std::optional<Packing> parse_packing_or_auto(const std::string& text) {
  if (text == "auto") return std::nullopt;
  try {
    return parse_packing(text);
  } catch (const Error& error) {
    fail(error.what(), "; or 'auto'");
  }
}

Topology parse_topology_or_usual(const std::string& text) {
  return text.empty() ? Topology{} : parse_topology(text);
}

std::vector<std::string> algorithms_and_auto() {
  std::vector<std::string> names{"auto"};
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms())
    names.push_back(algorithm.name);
  return names;
}

// A lambda, since overloads cannot be passed by name.
constexpr auto kText = [](const auto& value) { return text_of(value); };

}  // namespace

ConfigKeys keys_of(RunSettings& run) {
  return {
      {"DEVICES",
       parsed(run.devices, devices_named, [](const NamedDevices& devices) { return devices.text; }),
       "one replica per device: cpu*2, gpu*8, gpu:0,gpu:2, gpu:local (the GPU of the process's "
       "local rank)",
       {.detectron = "NUM_GPUS",
        .flag = "--devices",
        .alike = [&run] { return number_and_kind(run.devices.list); }}},
      {"AUX_DEVICES",
       parsed(run.auxiliaries, auxiliaries_named,
              [](const NamedDevices& devices) { return devices.text; }),
       "devices of the same kind that hold no replica: they sum gradients where ALL_REDUCE gathers "
       "(pscpu, psgpu, nccl/pscpu, pscpu/pscpu), such as cpu*2 beside DEVICES cpu*8; empty: none",
       {.flag = "--aux-devices",
        .decides_bits = true,
        .alike = [&run] { return number_and_kind(run.auxiliaries.list); }}},
      {"THREADS",
       &run.threads,
       "threads of each CPU replica; 0: an equal share of the cores",
       {.least = 0, .most = kMostThreads, .flag = "--threads", .own = true}},
      {"TF32",
       &run.tf32,
       "let GPUs round float32 operands of matrix products and convolutions to TF32",
       {.flag = "--tf32", .decides_bits = true}},
      {"EXACT",
       &run.exact,
       "compute float32 convolutions directly on CPUs, never by Winograd's method, which is faster "
       "and rounds up to twice as much, and fold no batch norm into a convolution",
       {.flag = "--exact", .decides_bits = true}},
      {"RECORD", &run.record,
       "GPUs record a step as a CUDA graph and replay it; false enqueues every kernel in every "
       "step, which is slower but shows whether the recording causes a failure"}};
}

ConfigKeys keys_of(StepSettings& step) {
  // More pieces make graphs that take longer to plan than a run takes.
  constexpr double kMostParts = 1 << 24, kMostPieces = 1 << 12;
  DataParallelOptions& options = step.options;
  AllReduceOptions& reduce = options.all_reduce;
  return {
      {"ALL_REDUCE",
       parsed(reduce.spec, parse_all_reduce, kText),
       "all-reduce algorithm: auto, " + algorithm_names() +
           "; by size: pscpu:32k:xring; averaging: mean:xring; see docs/data_parallel.md",
       {.detectron = "USE_NCCL",
        .flag = "--all-reduce",
        .decides_bits = true,
        .words = algorithms_and_auto()}},
      {"RING_ORDER",
       &reduce.ring_order,
       "order of a process's replicas in the rings of xring; empty: 0, 1, ..",
       {.least = 0, .most = kMostReplicas - 1, .flag = "--ring-order", .decides_bits = true}},
      {"PACKING",
       parsed(step.packing, parse_packing_or_auto,
              [](const auto& packing) { return packing ? text_of(*packing) : "auto"; }),
       "grouping of gradients into buckets, each summed as one tensor: none, ready:1M:25M, "
       "ray:10M, "
       "tf_cnn:4k:10; auto: none in "
       "one process, ready:1M:25M over several",
       {.flag = "--packing", .decides_bits = true, .words = {"auto", "none"}}},
      {"PIECES",
       &reduce.pieces,
       "number of pieces that a bucket is split into; each is summed separately",
       {.least = 1, .most = kMostPieces, .decides_bits = true}},
      {"MERGE_SCOPE",
       &reduce.merge_scope,
       "number of consecutive buckets with node names under one scope, allreduce_0, "
       "allreduce_1, .., which viewers fold; 1: none",
       {.least = 1, .most = kMostParts, .flag = "--merge-scope"}},
      {"WIRE",
       parsed(reduce.wire, parse_wire, text_of_wire),
       "element type in which gradients are sent: float16 or bfloat16; empty: their own type",
       {.flag = "--wire", .decides_bits = true, .words = {"float16", "bfloat16"}}},
      {"EMBEDDINGS",
       parsed(options.embeddings, parse_embedding_sum, kText),
       "how the gradients of embeddings are summed: dense (as a whole), sparse (by the rows that a "
       "step reads) or auto (the way that moves fewer bytes); inspect prints why",
       {.flag = "--embeddings", .decides_bits = true, .words = {"auto", "dense", "sparse"}}},
      {"PRECISION",
       parsed(options.precision, parse_precision, [](DType type) { return name_of(type); }),
       "precision of the forward and backward pass: float32, bfloat16 or float16 (with a scaled "
       "loss)",
       {.flag = "--precision", .remembered = true, .words = {"float32", "bfloat16", "float16"}}},
      {"TOPOLOGY",
       parsed(reduce.topology, parse_topology_or_usual, kText),
       "for ALL_REDUCE auto: latency:bandwidth within a process and, after a /, between processes, "
       "such as 2us:10G/30us:1.2G",
       {.flag = "--topology", .decides_bits = true}},
      {"BUCKETS",
       &step.buckets,
       "file with a bucket plan, as printed by inspect --format buckets; replaces PACKING",
       {.flag = "--buckets", .decides_bits = true}},

      {"MODEL.FREEZE",
       &options.frozen,
       "parameters that are not trained; names with * and ?",
       {.detectron = "TRAIN.FREEZE_CONV_BODY", .flag = "--freeze", .remembered = true}},

      {"TRAIN.MICRO_BATCHES",
       &options.micro_batches,
       "number of parts of each replica's share of the batch; they are computed one after the "
       "other",
       {.least = 1, .most = kMostParts, .decides_bits = true}},
      {"TRAIN.STATISTICS",
       parsed(options.statistics, parse_statistics, kText),
       "running statistics of batch norm after a step: each (each replica keeps its own), mean (of "
       "all replicas), first (replica 0's) or in_turn (one set, moved by one replica after the "
       "other)",
       {.decides_bits = true, .words = {"each", "mean", "first", "in_turn"}}},
      {"TRAIN.SYNC_BATCH_NORM",
       &options.synchronised_batch_norm,
       "batch norm uses the statistics of the whole batch over all replicas",
       {.remembered = true}},
      {"TRAIN.EMA",
       &options.average.decay,
       "decay of moving averages of the trained parameters, such as 0.999, kept beside them; tests "
       "and the trained network use the averages; 0: none",
       {.least = 0, .most = 0.999999, .decides_bits = true}},
      {"TRAIN.WHOLE_LOSS", &options.whole_loss,
       "add the metric whole_loss: the loss of one replica with the whole batch, which costs "
       "replica 0 the forward pass of all rows; not for detectors"},

      {"TEST.AVERAGES",
       &options.average.predicts,
       "with TRAIN.EMA: tests and the trained network use the averages; false: the parameters",
       {.decides_bits = true}},

      {"SOLVER.WEIGHT_DECAY",
       &options.rules.weight_decay,
       "weight decay of weights; biases have none; AdamW, LAMB and Lion decay apart from the "
       "gradient",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.WEIGHT_DECAY_GN",
       &options.rules.weight_decay_norm,
       "weight decay of the scale and bias of normalisations",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.BIAS_LR_FACTOR",
       &options.rules.bias_rate_factor,
       "factor of the gradients of biases (with SGD, Nesterov and LARS, of their learning rate); "
       "little or no effect with optimisers that divide by the size of gradients",
       {.least = 0, .detectron = "SOLVER.BIAS_DOUBLE_LR", .decides_bits = true}},
      {"SOLVER.RATES",
       &options.rules.rates,
       "factors of the learning rate by parameter: {\"conv1_*\": 0.1}; names with * and ?; of "
       "several patterns that match, the last one counts",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.DECAYS",
       &options.rules.decays,
       "factors of the weight decay by parameter, like SOLVER.RATES: {\"*_b\": 0}",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.SKIP_NON_FINITE",
       &options.skip_non_finite,
       "skip steps with gradients that are not finite",
       {.decides_bits = true}},
      {"SOLVER.DEFERRED",
       &options.deferred,
       "update with the gradients of the previous step, so that their all-reduce overlaps this "
       "step",
       {.remembered = true}},
      {"SOLVER.CLIP_NORM",
       &options.clip.norm,
       "maximum global gradient norm; 0: off",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.CLIP_EACH_NORM",
       &options.clip.each_norm,
       "maximum norm of each gradient; 0: off",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.CLIP_VALUE",
       &options.clip.value,
       "maximum absolute value of a gradient's elements; 0: off",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.CLIP_BEFORE_REDUCE",
       &options.clip.before_reduce,
       "clip each replica's gradients before the all-reduce",
       {.decides_bits = true}}};
}

}  // namespace lockstep
