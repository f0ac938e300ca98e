// SPDX-License-Identifier: Apache-2.0
#include "operators/rnn/activations.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// An activation's name, as spelled by ONNX, and the defaults of its parameters, if any.
struct KnownActivation {
  const char* name;
  ActivationKind kind;
  std::optional<float> alpha = std::nullopt, beta = std::nullopt;
};
const KnownActivation kKnownActivations[] = {
    {"Affine", ActivationKind::affine, 1, 0},
    {"Elu", ActivationKind::elu, 1},
    {"HardSigmoid", ActivationKind::hard_sigmoid, 0.2F, 0.5F},
    {"LeakyRelu", ActivationKind::leaky_relu, 0.01F},
    {"Relu", ActivationKind::relu},
    {"ScaledTanh", ActivationKind::scaled_tanh, 1, 1},
    {"Sigmoid", ActivationKind::sigmoid},
    {"Softplus", ActivationKind::softplus},
    {"Softsign", ActivationKind::softsign},
    {"Tanh", ActivationKind::tanh},
    {"ThresholdedRelu", ActivationKind::thresholded_relu, 1},
};

// Compares names without case, since exporters capitalise names differently.
bool same_name(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

const KnownActivation& known_activation(const std::string& name) {
  std::string all;
  for (const KnownActivation& known : kKnownActivations) {
    if (same_name(name, known.name)) return known;
    all += join(all.empty() ? "" : ", ", known.name);
  }
  fail("no recurrent operator has an activation '", name, "'; it may be one of ", all);
}

std::vector<std::string> activation_names(Cell cell, const RecurrentAttrs& attrs) {
  std::vector<std::string> names;
  std::istringstream text(attrs.activations);
  for (std::string name; std::getline(text, name, ',');) names.push_back(name);
  const auto wanted = activations_of(cell) * attrs.directions();
  if (names.empty())
    while (names.size() < wanted) {
      if (cell != Cell::rnn) names.emplace_back("Sigmoid");
      names.emplace_back("Tanh");
      if (cell == Cell::lstm) names.emplace_back("Tanh");
    }
  check(names.size() == wanted, "it has ", names.size(), " activations, should have ", wanted);
  return names;
}

}  // namespace

std::vector<RecurrentActivation> recurrent_activations(Cell cell, const RecurrentAttrs& attrs) {
  std::vector<RecurrentActivation> activations;
  std::size_t alphas = 0, betas = 0;
  const auto next = [](const std::vector<float>& given, std::size_t& used, float fallback) {
    return used < given.size() ? given[used++] : fallback;
  };
  for (const std::string& name : activation_names(cell, attrs)) {
    const KnownActivation& known = known_activation(name);
    RecurrentActivation activation{known.kind, 0, 0, attrs.clip};
    // ONNX Runtime clips the arguments of an LSTM's gates, but not the cell's value.
    if (cell == Cell::lstm && activations.size() % 3 == 2)
      activation.clip = std::numeric_limits<float>::infinity();
    if (known.alpha) activation.a = next(attrs.alphas, alphas, *known.alpha);
    if (known.beta) activation.b = next(attrs.betas, betas, *known.beta);
    activations.push_back(activation);
  }
  check(alphas == attrs.alphas.size(), "activation_alpha has ", attrs.alphas.size(),
        " numbers, its activations need ", alphas);
  check(betas == attrs.betas.size(), "activation_beta has ", attrs.betas.size(),
        " numbers, its activations need ", betas);
  return activations;
}

}  // namespace lockstep
