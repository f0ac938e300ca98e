// The values that outlive a step: parameters, momentum, running statistics. Programs of a session
// (initialise, train, predict) share one store; their plans know states by number.
#pragma once

#include <string>
#include <vector>

#include "graph/literal.h"
#include "runtime/memory.h"
#include "runtime/tensor.h"

namespace lockstep {

class StateStore {
 public:
  // `names[i]` has shape and type `descs[i]`. All zero at first.
  StateStore(std::vector<std::string> names, std::vector<TensorDesc> descs);

  const std::vector<std::string>& names() const { return names_; }
  const Tensor& at(int number) const { return tensors_[number]; }
  // Throws, with the nearest name.
  const Tensor& at(const std::string& name) const;

  Literal read(const std::string& name) const;
  // Throws when type or shape differ.
  void write(const std::string& name, const Literal& value);

 private:
  std::vector<std::string> names_;
  std::vector<Memory> memory_;
  std::vector<Tensor> tensors_;
};

}  // namespace lockstep
