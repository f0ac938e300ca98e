// SPDX-License-Identifier: Apache-2.0
// A CPU's momentum update of many parameters. The test chooses the layouts of operands and results.
#pragma once

#include <string>
#include <vector>

#include "lockstep/operators.h"
#include "operators/optimizer/momentum.h"
#include "operators/optimizer/update.h"
#include "operators/optimizer/update_operands.h"
#include "tests/support/laid_tensor.h"

namespace lockstep::testing {

struct UpdateOfMany {
  struct Copy {
    int64_t param;
    Layout layout;
  };
  std::vector<TensorDesc> params, gradients;
  std::vector<Copy> copies;  // ascending
  DType copies_to = DType::float32;

  // Returns the results after one update.
  std::vector<LaidTensor> results(int threads) const {
    const std::size_t n = params.size();
    Graph graph(all_ops(), "updates");
    std::vector<Value> inputs;
    std::vector<LaidTensor> in, out;
    const auto add = [&](const std::string& name, const LaidTensor& operand) {
      inputs.push_back(graph.input(name, {operand.desc().dtype, to_shape(operand.desc().dims)}));
      in.push_back(operand);
    };
    for (const char* name : {"momentum", "param"})
      for (std::size_t k = 0; k < n; ++k) {
        add(join(name, k), LaidTensor(params[k], static_cast<float>(k), 0.25F));
        out.emplace_back(params[k]);
      }
    std::vector<int64_t> numbers;
    for (const Copy& copy : copies) {
      numbers.push_back(copy.param);
      inputs.push_back(none);
      in.emplace_back(TensorDesc{DType::undefined, {0}});
      TensorDesc desc = params[static_cast<std::size_t>(copy.param)];
      desc.dtype = copies_to;
      desc.layout = copy.layout;
      out.emplace_back(desc);
    }
    for (std::size_t k = 0; k < n; ++k)
      add(join("gradient", k), LaidTensor(gradients[k], 1, -0.125F));
    add("rate", LaidTensor({DType::float32, {1}}, 0.5F));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < out.size(); ++i) names.push_back(join("made", i));
    Attributes attributes = MomentumRule{}.attributes();
    attributes.push_back({"factors", std::vector<float>(n, 1)});
    attributes.push_back({"decays", std::vector<float>(n, 0.01F)});
    attributes.push_back({"copies", numbers});
    attributes.push_back({"copies_to", static_cast<int64_t>(copies_to)});
    run_on_cpu(graph.add({.type = type_of_many(MomentumRule::kType),
                          .domain = kOwnDomain,
                          .inputs = inputs,
                          .attributes = attributes,
                          .outputs = static_cast<int>(out.size()),
                          .output_names = names},
                         {}),
               in, out, threads);
    return out;
  }

  // The positions of the results.
  UpdatePlaces places() const { return UpdatePlaces::of_many(1, params.size(), copies.size()); }
};

}  // namespace lockstep::testing
