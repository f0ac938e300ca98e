// SPDX-License-Identifier: Apache-2.0
// MODEL.LOSS: the terms whose sum a step minimises.
#pragma once

#include <string>
#include <vector>

#include "builders/net/output_losses.h"

namespace lockstep {

// An output that is a loss, or a loss between an output and a target. Names are values of the
// network; a target or a mask may also be an array of the data that the network does not take.
struct LossTerm {
  std::string name;                  // for people: "mse", or the output's name
  const OutputLoss* kind = nullptr;  // null: `prediction` is the loss
  std::string prediction = "", target = "", mask = "";
  double weight = 1;
  OutputLossOptions options = {};
};

// Reads one line of YAML:
//   loss                                      an output
//   [loss, {mse: [out, target]}]              several terms
//   {loss: 1, auxiliary: 0.4}                 outputs with weights
//   {mse: [out, target]}                      a loss of output_losses()
//   {mse: {of: out, to: target, weight: 0.5, mask: is_real}}
// A second term of one name is called NAME_2, and so on. Throws for any other text, and for a
// weight of 0.
std::vector<LossTerm> parse_loss_terms(const std::string& line);

}  // namespace lockstep
