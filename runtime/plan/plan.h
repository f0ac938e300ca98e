// SPDX-License-Identifier: Apache-2.0
// Plan: all decisions about a step made ahead of execution. Names are kept for messages only; the
// executor works with the integers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/literal.h"
#include "runtime/device.h"
#include "runtime/kernel/table.h"
#include "runtime/tensor.h"

namespace lockstep {

// A range of one worker's arena. Values that alias share a block; blocks never alive at the same
// time share bytes.
struct Block {
  int worker = 0;
  std::size_t bytes = 0;
  std::size_t offset = 0;
  int first = 0;  // alive between these node numbers
  int last = 0;
};

enum class Lives {
  in_arena,     // index: block
  in_state,     // index: state
  as_constant,  // index: literal
};

struct Slot {
  std::string name;
  TensorDesc desc;
  int worker = 0;
  Lives lives = Lives::in_arena;
  int index = -1;
  int window = -1;  // in_state: the window whose part of it this is; -1: all of it
};

// "That worker has finished its step number `step`."
struct Wait {
  int worker = 0;
  int step = 0;
};

struct PlanStep {
  std::string name;
  std::string type;
  int node = 0;  // position in the bound graph; copies into state come after all nodes
  int worker = 0;
  int part = 0;  // in a collective
  int parts = 1;
  std::unique_ptr<Kernel> kernel;
  std::string candidate;         // the one that made the kernel
  std::vector<Refused> refused;  // those before it in the table
  std::vector<int> in;           // slots; -1: omitted
  std::vector<int> out;
  int workspace = -1;  // block
  std::vector<Wait> waits;
};

// A thread or a queue that runs its steps in order.
struct Worker {
  enum class Role { computes, communicates };
  Device device;
  Role role = Role::computes;
  std::vector<int> steps = {};  // in the plan's order
  std::size_t arena_bytes = 0;
  std::size_t kept_bytes = 0;  // see Plan::kept

  bool communicates() const { return role == Role::communicates; }
};

struct KeptIdentity;

struct Plan {
  std::string name;
  std::vector<Worker> workers;  // the replicas' own, then those for communication
  int threads = 1;              // per CPU worker

  std::vector<Slot> slots;
  std::vector<Block> blocks;
  std::vector<Literal> literals;
  // The session's states, then the plan's own: values that its steps keep for its next run, in
  // memory that no other value uses. `kept`: where, in that of their worker.
  std::vector<std::string> states;
  std::vector<TensorDesc> state_descs;
  std::vector<int> state_workers;
  std::vector<std::size_t> kept;
  // The session's states that must lie in one memory, by replica; the first one's number is that of
  // all, and the plan has no slot for the others.
  std::vector<std::vector<int>> shared;

  std::vector<PlanStep> steps;  // in an order that every worker respects
  // Steps whose result is a part of a state, elsewhere in every run. Their kernels (windows.h) tell
  // where, from what is fed, and never run; other steps' operands are bound to it.
  std::vector<PlanStep> windows;
  // Steps that make the plan's own states from the session's. Run before a run that finds them
  // stale: the first, and those after others have changed what they are made from.
  std::vector<PlanStep> refresh;
  // Identity of the values that `refresh` makes, and of their places (runtime/plan/fixed.h).
  std::shared_ptr<const KeptIdentity> kept_identity;
  std::vector<int> feeds;    // slots, in the order requested; -1: unused
  std::vector<int> fetches;  // slots

  std::vector<std::string> notes;  // what rewrites did, and why
  bool exchanges = false;          // whether steps wait for other processes
  bool is_recorded = true;         // a GPU's run may be recorded and replayed (queue_executor.h)
  int views = 0;                   // nodes that became views
  int in_place = 0;                // values in an operand's or a state's memory
  std::size_t tensor_bytes = 0;    // the arenas' size if every value had its own memory

  std::size_t session_states() const { return states.size() - kept.size(); }
};

// The dump behind `lockstep plan`: one line per step. It contains offsets, waits and aliases, so
// two plans with the same text run alike.
std::string text_of(const Plan& plan);
// Refusals of kernels: a line for each step that has any.
std::string reasons_of(const Plan& plan);
std::string text_of(const Worker& worker);  // cpu:0, exchange, gpu:0/comm

}  // namespace lockstep
