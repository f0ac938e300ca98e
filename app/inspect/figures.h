// SPDX-License-Identifier: Apache-2.0
// The figures of a model that people ask for first: how much it computes, holds and sends.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "app/model_source.h"
#include "graph/phases.h"
#include "lockstep/op.h"

namespace lockstep {

// A replica's part of one step. Bytes are of tensors as the graph has them: a plan may fuse and
// reorder, so only its memory is exact.
struct ReplicaFigures {
  int64_t examples = 0;
  double parameters = 0, parameter_bytes = 0;
  double state_bytes = 0;            // of all states, parameters among them
  std::array<Flops, kPhases> flops;  // by Phase
  double activation_bytes = 0;       // values of the forward pass that the backward pass reads
  double reduced_bytes = 0;          // operands of collectives, and copies to other replicas
  int64_t messages = 0;              // their number

  const Flops& of(Phase phase) const { return flops[static_cast<std::size_t>(phase)]; }
  friend bool operator==(const ReplicaFigures&, const ReplicaFigures&);
};

struct KindFigures {
  std::string type;
  int64_t nodes = 0;
  double flops = 0, bytes = 0;  // bytes: of results, without views
};

struct ModelFigures {
  std::vector<ReplicaFigures> replicas;
  std::vector<KindFigures> kinds;  // most operations first
  // Of the main graph (graph/phases.h). Shapes and operations are for this source's batch.
  std::vector<TensorType> types;  // by value
  std::vector<Flops> flops;       // by node; 0 for a node that is computed ahead, or not needed
  std::vector<Phase> phases;      // by node
  int open_nodes = 0;             // with shapes that are not known: their operations are missing
  std::string why_open;           // why no shapes are known; "" if shapes are

  double result_bytes(const Node& node) const;
};
ModelFigures figures_of(const SourcedModel& source);

// The bytes of a tensor; 0 if they are not known.
double bytes_if_known(const TensorType& type);

}  // namespace lockstep
