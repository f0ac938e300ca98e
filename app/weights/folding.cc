// SPDX-License-Identifier: Apache-2.0
#include "app/weights/folding.h"

#include <cmath>

namespace lockstep {
namespace {

constexpr int64_t kColours = 3;

// A vector beside the tensor, with as many elements.
std::vector<double> vector_beside(const TakenTensor& tensor, const char* statistic) {
  const std::string name = statistic_beside(tensor.name, statistic);
  const auto found = tensor.file.find(name);
  check(found != tensor.file.end(), tensor.path, ": has '", tensor.name, "', but no '", name,
        "' to fold into it");
  const Literal& mine = tensor.file.at(tensor.name);
  const Literal& theirs = found->second;
  check(theirs.dtype() == DType::float32 && theirs.dims() == mine.dims(), tensor.path, ": '", name,
        "' is ", theirs.type(), ", should be ", mine.type(), " as '", tensor.name, "'");
  tensor.used.insert(name);
  const auto values = theirs.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    check(std::isfinite(values[i]), tensor.path, ": '", name, "' holds ", values[i], " at [", i,
          "]; weights should be finite");
  return {values.begin(), values.end()};
}

std::vector<double> scales_of(const TakenTensor& weight) {
  const std::vector<double> variances = vector_beside(weight, "running_var");
  std::vector<double> scales = vector_beside(weight, "weight");
  for (std::size_t i = 0; i < scales.size(); ++i) {
    check(variances[i] >= 0, weight.path, ": '", statistic_beside(weight.name, "running_var"),
          "' holds ", variances[i], " at [", i, "]; a variance should not be negative");
    scales[i] /= std::sqrt(variances[i] + weight.epsilon);
  }
  return scales;
}

Literal literal_of_floats(const std::vector<double>& values) {
  return Literal::rounded<double>(DType::float32, values, {static_cast<int64_t>(values.size())});
}

}  // namespace

std::string statistic_beside(const std::string& name, const char* statistic) {
  return name.substr(0, name.rfind('.') + 1) + statistic;
}

Literal folded_scale(const TakenTensor& tensor) {
  const Literal& own = tensor.file.at(tensor.name);
  if (own.dtype() != DType::float32) return own;  // refused with its name
  return literal_of_floats(scales_of(tensor));
}

Literal folded_bias(const TakenTensor& tensor) {
  const Literal& own = tensor.file.at(tensor.name);
  if (own.dtype() != DType::float32) return own;
  const std::vector<double> scales = scales_of(tensor);
  const std::vector<double> means = vector_beside(tensor, "running_mean");
  std::vector<double> biases = vector_beside(tensor, "bias");
  for (std::size_t i = 0; i < biases.size(); ++i) biases[i] -= means[i] * scales[i];
  return literal_of_floats(biases);
}

Literal with_detectors_pictures(const TakenTensor& tensor) {
  const Literal& own = tensor.file.at(tensor.name);
  const Dims& dims = own.dims();
  if (own.dtype() != DType::float32 || dims.size() != 4 || dims[1] != kColours || !tensor.picture)
    return own;
  const auto from = own.values<float>();
  std::vector<double> to(from.size());
  const int64_t plane = dims[2] * dims[3];
  for (int64_t out = 0; out < dims[0]; ++out)
    for (int64_t colour = 0; colour < kColours; ++colour)
      for (int64_t i = 0; i < plane; ++i)
        to[(out * kColours + kColours - 1 - colour) * plane + i] =
            from[(out * kColours + colour) * plane + i] / (255 * tensor.picture->deviation[colour]);
  return Literal::rounded<double>(DType::float32, to, dims);
}

}  // namespace lockstep
