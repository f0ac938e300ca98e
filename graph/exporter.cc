// SPDX-License-Identifier: Apache-2.0
#include "graph/exporter.h"

#include "graph/onnx.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// True for a layer with a folded batch normalisation. The TorchScript exporter names the fused
// weights onnx::Conv_65. The newer exporter lists its rules in a node field that libonnx 1.12 does
// not know, but preserves.
bool holds_batch_norm(const onnx::NodeProto& node) {
  if (node.op_type() != "Conv" && node.op_type() != "ConvTranspose" && node.op_type() != "Gemm")
    return false;
  const bool renamed = node.input_size() > 1 && node.input(1).starts_with("onnx::Conv");
  return renamed || node.SerializeAsString().find("FuseBatchNorm") != std::string::npos;
}

bool is_nameless_parameter(const onnx::TensorProto& tensor) {
  return tensor.data_type() == onnx::TensorProto::FLOAT && tensor.dims_size() >= 2 &&
         (tensor.name().starts_with("onnx::") || tensor.name().starts_with("val_"));
}

}  // namespace

std::string lost_to_optimisation(const onnx::ModelProto& proto) {
  if (proto.producer_name() != "pytorch") return "";
  int norms = 0, nameless = 0;
  for (const auto& node : proto.graph().node()) {
    norms += holds_batch_norm(node) ? 1 : 0;
  }
  for (const auto& tensor : proto.graph().initializer())
    nameless += is_nameless_parameter(tensor) ? 1 : 0;
  if (norms + nameless == 0) return "";
  return join(
      "was optimised for prediction by its exporter: ", norms,
      " batch normalisations are folded into other layers, ", nameless,
      " parameters have lost their names, and dropout is removed, if there was any. To train the "
      "network as it was written, export it after model.train() with optimize=False, or "
      "with dynamo=False, training=torch.onnx.TrainingMode.PRESERVE, "
      "do_constant_folding=False");
}

}  // namespace lockstep
