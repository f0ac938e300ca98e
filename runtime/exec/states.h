// SPDX-License-Identifier: Apache-2.0
// The values that persist across steps: parameters, optimizer slots, running statistics. Programs
// of a session (initialise, train, predict) share one store; their plans refer to states by number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/placement.h"
#include "lockstep/attributes.h"
#include "lockstep/model_files.h"
#include "lockstep/tensor.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"

namespace lockstep {

// A host-readable tensor: a state's memory, or a copy.
struct Seen {
  Tensor tensor;
  Literal copy;
};

class States {
 public:
  // `names[i]` has shape and type `descs[i]`, in the memory of `devices[i]`, or in host memory
  // without an accelerator. Initially all zero.
  States(std::vector<std::string> names, std::vector<TensorDesc> descs,
         Accelerator* accelerator = nullptr, const std::vector<Device>& devices = {});

  const std::vector<std::string>& names() const { return names_; }
  // Throws for an unknown name, with the nearest known one.
  int number_of(const std::string& name) const;
  // The tensor in its memory and layout. Code that writes to it must call note_change().
  const Tensor& at(int number) const { return tensors_[home_[number]]; }
  const Tensor& at(const std::string& name) const { return at(number_of(name)); }

  // Row-major, like all values of the next functions.
  Seen see(const std::string& name) const;
  Literal read(const std::string& name) const;
  // Throws if type or shape differ. A shared state is separated from the others if its new value
  // differs from theirs.
  void write(const std::string& name, const Literal& value);
  void write_all(const StateValues& values);
  // Sets the first rows and keeps the others. Throws if type or shape differ, or if the state has
  // fewer rows. Does not affect has_values(): a batch is no trained model.
  void write_first(const std::string& name, const Tensor& rows);

  std::vector<Layout> layouts() const;  // of each state; at first all row-major
  // Converts values to these layouts; a desc that is not present leaves its state unchanged. Plans
  // for the old layouts must not run afterwards.
  void lay_out(const std::vector<TensorDesc>& descs);
  int times_laid_out() const { return times_laid_out_; }  // calls that changed a layout

  // Puts the states of each group, which have one layout, into the memory of the first. All get the
  // first state's value: they are equal, or are set next. Each state keeps its name.
  void share(const std::vector<std::vector<int>>& groups);
  // Gives each state of the group separate memory again.
  void separate(int number);
  bool is_shared(int number) const;
  const std::string& home_of(int number) const { return names_[home_[number]]; }
  bool lie_alike(const std::vector<int>& group) const;
  bool are_equal(const std::vector<int>& group) const;
  int moves() const { return moves_; }  // counts layout changes, shares and separations

  // True if any value was set, or if there are no states.
  bool has_values() const { return has_values_ || names_.empty(); }
  void note_values() { has_values_ = true; }  // for plans, which write to states directly

  // Counts of changes, by plans and by other code. `changed`: the count at the last change of the
  // state.
  uint64_t changes() const { return changes_; }
  uint64_t changed(int number) const { return changed_[home_[number]]; }
  void note_change(int number) { changed_[home_[number]] = ++changes_; }

 private:
  void check_value(int number, const Literal& value) const;
  void set(int number, const Literal& value);
  void put(const Tensor& tensor, const Literal& value);
  bool take_one_value(int home, const StateValues& values) const;
  void copy(void* to, const void* from, std::size_t bytes) const;

  std::vector<std::string> names_;
  Accelerator* accelerator_;
  std::vector<Memory> memory_;  // null for a state in the memory of another
  std::vector<Tensor> tensors_;
  std::vector<int> home_;  // the number of the state that owns the memory; a home's own number
  std::vector<uint64_t> changed_;
  uint64_t changes_ = 0;
  bool has_values_ = false;
  int times_laid_out_ = 0;
  int moves_ = 0;
};

}  // namespace lockstep
