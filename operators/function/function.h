// SPDX-License-Identifier: Apache-2.0
// Functions of one element, with at most two parameters: the Elu and Softplus families,
// trigonometry, rounding. Graphs use a table of the functions, kernels a table of formulas.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

// An attribute of a function and its default.
struct FunctionParameter {
  const char* name;
  float fallback;
};
struct FunctionEntry {
  const char* type;
  std::vector<FunctionParameter> parameters;
  bool differentiable = true;  // false: the gradient is zero everywhere (rounding)
};
const std::vector<FunctionEntry>& function_entries();
const FunctionEntry& function_entry(const std::string& type);

// The parameters of a node's function; for a gradient, the parameters of its function.
struct FunctionParameters {
  double a = 0, b = 0;
};
FunctionParameters parameters_of(const KernelRequest& request);
FunctionParameters parameters_of_gradient(const KernelRequest& request);
std::string function_of_gradient(const KernelRequest& request);

std::vector<Op> function_ops();
std::vector<KernelEntry> function_cpu();
std::vector<KernelEntry> function_cuda();

}  // namespace lockstep
