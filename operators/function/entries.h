// SPDX-License-Identifier: Apache-2.0
// Kernels for all formulas on a kind of device, given the device's way to prepare one formula.
#pragma once

#include "operators/function/formulas.h"
#include "operators/function/function.h"
#include "operators/kit/dispatch.h"
#include "operators/layout/layout.h"

namespace lockstep {

// Prepare::value<Formula>(request) makes a kernel of y = f(x), Prepare::slope<Formula>(request) a
// kernel of dy * f'(x). Both accept Floats.
template <class Prepare>
std::vector<KernelEntry> formula_kernels(const char* name) {
  auto gradient = [](const KernelRequest& request) {
    std::unique_ptr<Kernel> kernel;
    const std::string function = function_of_gradient(request);
    for_each_formula([&]<class Formula>(const char* type) {
      if constexpr (has_slope<Formula>)
        if (function == type) kernel = Prepare::template slope<Formula>(request);
    });
    check(kernel != nullptr, "FunctionGrad: no function '", function, "' has a gradient");
    return kernel;
  };
  std::vector<KernelEntry> entries{
      {"FunctionGrad", kOwnDomain, {{name, takes<Floats>(), gradient, flat}}}};
  for_each_formula([&]<class Formula>(const char* type) {
    entries.push_back(
        {type, "", {{name, takes<Floats>(), Prepare::template value<Formula>, flat}}});
  });
  return entries;
}

}  // namespace lockstep
