// The values that persist across steps: parameters, optimiser slots, running statistics. Programs
// of a session (initialise, train, predict) share one store; their plans refer to states by number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/literal.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"
#include "runtime/tensor.h"

namespace lockstep {

// A host-readable tensor: the original, or a copy.
struct Seen {
  Tensor tensor;
  Literal copy;
};

class States {
 public:
  // `names[i]` has shape and type `descs[i]`, in the memory of `devices[i]`; without an
  // accelerator, in the host's. Initially all zero.
  States(std::vector<std::string> names, std::vector<TensorDesc> descs,
         Accelerator* accelerator = nullptr, const std::vector<Device>& devices = {});

  const std::vector<std::string>& names() const { return names_; }
  // As it lies in device memory; who writes to it notes the change. Throws for an unknown name,
  // with the nearest known one.
  const Tensor& at(int number) const { return tensors_[number]; }
  const Tensor& at(const std::string& name) const;

  // Row-major, as all that follow.
  Seen see(const std::string& name) const;
  Literal read(const std::string& name) const;
  // Throws if type or shape differ.
  void write(const std::string& name, const Literal& value);
  // Sets the first rows and keeps the others. Throws if type or shape differ, or if they are more
  // than the state has. Does not count as a value that was set: a batch is no trained model.
  void write_first(const std::string& name, const Tensor& rows);

  // How each state lies, as TensorDesc::channel_block. At first all are row-major.
  std::vector<int> layouts() const;
  // Moves values to these layouts; a desc that is not present leaves its state as it lies. Plans
  // for other layouts must not run after.
  void lay_out(const std::vector<TensorDesc>& descs);
  int times_laid_out() const { return times_laid_out_; }  // those that changed anything

  // True if any value was set, or there are no states.
  bool has_values() const { return has_values_ || names_.empty(); }
  void note_values() { has_values_ = true; }  // plans write to states by themselves

  // Changes, by plans and by others, are counted. `changed`: the count at that state's last one.
  uint64_t changes() const { return changes_; }
  uint64_t changed(int number) const { return changed_[number]; }
  void note_change(int number) { changed_[number] = ++changes_; }

 private:
  void put(const Tensor& tensor, const Literal& value);
  int number_of(const std::string& name) const;
  void copy(void* to, const void* from, std::size_t bytes) const;

  std::vector<std::string> names_;
  Accelerator* accelerator_;
  std::vector<Memory> memory_;
  std::vector<Tensor> tensors_;
  std::vector<uint64_t> changed_;
  uint64_t changes_ = 0;
  bool has_values_ = false;
  int times_laid_out_ = 0;
};

}  // namespace lockstep
