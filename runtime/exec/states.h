// SPDX-License-Identifier: Apache-2.0
// The values that persist across steps: parameters, optimiser slots, running statistics. Programs
// of a session (initialise, train, predict) share one store; their plans refer to states by number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/io.h"
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
  // Throws for an unknown name, with the nearest known one.
  int number_of(const std::string& name) const;
  // As it lies in device memory; who writes to it notes the change.
  const Tensor& at(int number) const { return tensors_[home_[number]]; }
  const Tensor& at(const std::string& name) const { return at(number_of(name)); }

  // Row-major, as all that follow.
  Seen see(const std::string& name) const;
  Literal read(const std::string& name) const;
  // Throws if type or shape differ. A state in one memory with others is separated from them if
  // they would take another value with it.
  void write(const std::string& name, const Literal& value);
  void write_all(const StateValues& values);
  // Sets the first rows and keeps the others. Throws if type or shape differ, or if they are more
  // than the state has. Does not count as a value that was set: a batch is no trained model.
  void write_first(const std::string& name, const Tensor& rows);

  std::vector<Layout> layouts() const;  // of each state; at first all are row-major
  // Moves values to these layouts; a desc that is not present leaves its state as it lies. Plans
  // for other layouts must not run after.
  void lay_out(const std::vector<TensorDesc>& descs);
  int times_laid_out() const { return times_laid_out_; }  // those that changed anything

  // Puts the states of each group, which lie alike, into the memory of the first. All take its
  // value: they are equal, or are set next. Each is read and written by its own name as before.
  void share(const std::vector<std::vector<int>>& groups);
  // Gives each state of its group memory of its own again.
  void separate(int number);
  bool is_shared(int number) const;
  const std::string& home_of(int number) const { return names_[home_[number]]; }
  bool lie_alike(const std::vector<int>& group) const;
  bool are_equal(const std::vector<int>& group) const;
  int moves() const { return moves_; }  // how often any was laid out anew, shared or separated

  // True if any value was set, or there are no states.
  bool has_values() const { return has_values_ || names_.empty(); }
  void note_values() { has_values_ = true; }  // plans write to states by themselves

  // Changes, by plans and by others, are counted. `changed`: the count at that state's last one.
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
  std::vector<Memory> memory_;  // null for those in the memory of another
  std::vector<Tensor> tensors_;
  std::vector<int> home_;  // the number of the state whose memory it is in; a home's is its own
  std::vector<uint64_t> changed_;
  uint64_t changes_ = 0;
  bool has_values_ = false;
  int times_laid_out_ = 0;
  int moves_ = 0;
};

}  // namespace lockstep
