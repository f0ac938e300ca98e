// SPDX-License-Identifier: Apache-2.0
#include "app/detection/config/inferred_values.h"

#include <algorithm>

#include "app/config/read.h"
#include "app/detection/config/functions.h"
#include "app/detection/config/types.h"
#include "graph/listed.h"
#include "lockstep/error.h"
#include "runtime/plan/compile.h"

namespace lockstep {
namespace {

template <class T>
void infer(DetectorConfig& config, const std::string& key, T& value, T now,
           const std::string& from) {
  if (value == now) return;
  value = now;
  config.origins.places[key] = "inferred from " + from;
}

// The keys that a name of a whole network means, as text.
std::string meaning_of(const DetectorType& type) {
  std::vector<std::string> keys{"MODEL.CONV_BODY " + type.body};
  if (!type.box_head.empty()) keys.push_back("FAST_RCNN.ROI_BOX_HEAD " + type.box_head);
  if (type.rpn_only) keys.emplace_back("MODEL.RPN_ONLY True");
  if (type.faster_rcnn) keys.emplace_back("MODEL.FASTER_RCNN True");
  if (type.frozen_features) keys.emplace_back("TRAIN.FREEZE_CONV_BODY True");
  if (type.reduced_channels > 0)
    keys.push_back(join("RFCN.REDUCED_CHANNELS ", type.reduced_channels));
  return listed(keys);
}

// A name of a whole network is stronger than the keys that it means, as in Detectron.
void infer_network(DetectorConfig& config, const DetectorType& type) {
  DetectorOptions& network = config.network;
  const char* const from = "MODEL.TYPE";
  infer(config, "MODEL.CONV_BODY", network.model.conv_body, type.body, from);
  if (!type.box_head.empty())
    infer(config, "FAST_RCNN.ROI_BOX_HEAD", network.fast_rcnn.roi_box_head, type.box_head, from);
  if (type.rpn_only) infer(config, "MODEL.RPN_ONLY", network.model.rpn_only, true, from);
  if (type.faster_rcnn) infer(config, "MODEL.FASTER_RCNN", network.model.faster_rcnn, true, from);
  if (type.reduced_channels > 0)
    infer(config, "RFCN.REDUCED_CHANNELS", network.rfcn.reduced_channels, type.reduced_channels,
          from);
}

void infer_type(DetectorConfig& config) {
  std::string& name = config.network.model.type;
  const std::string at = config.origins.blame({"MODEL.TYPE"}, config.path);
  const DetectorType* type = detector_type(name);
  check(type != nullptr, at, ": '", name, "' is not a type of detector");
  if (type->frozen_features && !config.network.train.freeze_conv_body) {
    config.network.train.freeze_conv_body = true;
    config.origins.places["TRAIN.FREEZE_CONV_BODY"] = "inferred from MODEL.TYPE";
  }
  if (type->now.empty()) return;
  config.notes.push_back(
      {DetectorNoteKind::old_type,
       join(at, " ", name, " is an old type; it is ", type->now,
            type->is_hard_wired() ? join(" with ", meaning_of(*type)) : "", " today")});
  name = type->now;
  if (type->is_hard_wired()) infer_network(config, *type);
}

void infer_functions(DetectorConfig& config) {
  for (const FunctionKey& key : function_keys()) {
    std::string& value = key.value(config);
    if (value.empty()) continue;
    const std::string at = config.origins.blame({key.key}, config.path);
    prefixing(at, [&] {
      const FunctionName function = function_named(key, value);
      if (function.was_old)
        config.notes.push_back({DetectorNoteKind::old_function,
                                join(at, ": ", value, " is called ", function.name, " now")});
      value = function.name;
    });
  }
}

void infer_proposals(DetectorConfig& config) {
  DetectorOptions& network = config.network;
  const DetectionModelOptions& model = network.model;
  if (model.rpn_only || model.faster_rcnn)
    infer(config, "RPN.RPN_ON", network.rpn.rpn_on, true,
          model.rpn_only ? "MODEL.RPN_ONLY" : "MODEL.FASTER_RCNN");
  if (network.rpn.rpn_on || network.retinanet.retinanet_on)
    infer(config, "TEST.PRECOMPUTED_PROPOSALS", config.test.precomputed_proposals, false,
          network.rpn.rpn_on ? "RPN.RPN_ON" : "RETINANET.RETINANET_ON");
  if (!config.origins.is_set("TRAIN.PROPOSALS"))
    infer(config, "TRAIN.PROPOSALS", network.shape.proposals, network.train.rpn_post_nms_top_n,
          "TRAIN.RPN_POST_NMS_TOP_N");
}

void infer_widths(DetectorConfig& config) {
  ResNetOptions& body = config.network.resnets;
  const BlockFunction* const blocks = function_in(transformation_functions(), body.trans_func);
  const bool is_basic = blocks && !blocks->bottleneck;
  if (is_basic && !config.origins.is_set("RESNETS.RES2_OUT_CHANNELS"))
    infer<int64_t>(config, "RESNETS.RES2_OUT_CHANNELS", body.res2_out_channels, 64,
                   "RESNETS.TRANS_FUNC");
}

// DEVICES are the devices of one process; NUM_GPUS counts the devices of all processes.
void infer_devices(DetectorConfig& config, int processes) {
  if (config.origins.is_set("DEVICES")) {
    infer(config, "NUM_GPUS", config.num_gpus, config.replicas() * processes, "DEVICES");
    return;
  }
  check(config.num_gpus % processes == 0, config.origins.blame({"NUM_GPUS"}, config.path), " ",
        config.num_gpus, " cannot be divided equally over ", processes,
        " processes; set DEVICES for each process");
  config.run.devices = devices_named(join("cpu*", config.num_gpus / processes));
  config.origins.places["DEVICES"] = "inferred from NUM_GPUS";
}

// Applies Detectron's switch between NCCL and Caffe2's sums to files that name no algorithm.
void infer_all_reduce(DetectorConfig& config) {
  if (!config.origins.is_set("USE_NCCL")) return;
  AllReduceSpec& spec = config.step.options.all_reduce.spec;
  const std::string at = join(config.origins.of("USE_NCCL"), ": USE_NCCL ");
  const auto note = [&](const std::string& text) {
    config.notes.push_back({DetectorNoteKind::unused, at + text});
  };
  if (config.origins.is_set("ALL_REDUCE")) {
    note(join("has no effect beside ALL_REDUCE ", text_of(spec)));
    return;
  }
  const bool on_gpus = std::ranges::any_of(
      config.run.devices.list, [](const Device& device) { return !device.info().in_host_memory; });
  if (config.use_nccl && !on_gpus) {
    note(join("True has no effect on ", config.run.devices.text,
              ", as NCCL needs GPUs: ALL_REDUCE stays ", text_of(spec)));
    return;
  }
  spec = parse_all_reduce(config.use_nccl ? "nccl" : "muji");
  config.origins.places["ALL_REDUCE"] = "inferred from USE_NCCL";
}

}  // namespace

void infer_values(DetectorConfig& config, int processes) {
  infer_type(config);
  infer_functions(config);
  infer_proposals(config);
  infer_widths(config);
  infer_devices(config, processes);
  infer_all_reduce(config);
  config.snapshot_iters = std::max<int64_t>(1, config.train.snapshot_iters / config.num_gpus);
}

}  // namespace lockstep
