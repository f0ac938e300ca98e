// The values that outlive a step: parameters, what an optimiser keeps, running statistics. Programs
// of a session (initialise, train, predict) share one store; their plans know states by number.
#pragma once

#include <string>
#include <vector>

#include "graph/literal.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"
#include "runtime/tensor.h"

namespace lockstep {

// A tensor that the host can read: where it is, or a copy.
struct Seen {
  Tensor tensor;
  Literal copy;
};

class States {
 public:
  // `names[i]` has shape and type `descs[i]`, and lies in the memory of `devices[i]`; without an
  // accelerator, in the host's. All zero at first.
  States(std::vector<std::string> names, std::vector<TensorDesc> descs,
         Accelerator* accelerator = nullptr, const std::vector<Device>& devices = {});

  const std::vector<std::string>& names() const { return names_; }
  // In the device's memory. Throws for a name that is not there, with the nearest one.
  const Tensor& at(int number) const { return tensors_[number]; }
  const Tensor& at(const std::string& name) const;

  Seen see(const std::string& name) const;
  Literal read(const std::string& name) const;
  // Throws when type or shape differ.
  void write(const std::string& name, const Literal& value);

  // Whether any was given, or there is nothing to give one to.
  bool has_values() const { return has_values_ || names_.empty(); }
  void note_values() { has_values_ = true; }  // plans write to states by themselves

 private:
  void copy(void* to, const void* from, std::size_t bytes) const;

  std::vector<std::string> names_;
  Accelerator* accelerator_;
  std::vector<Memory> memory_;
  std::vector<Tensor> tensors_;
  bool has_values_ = false;
};

}  // namespace lockstep
