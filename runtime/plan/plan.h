// SPDX-License-Identifier: Apache-2.0
// Plan: all decisions about a step, made ahead of execution. Names serve only messages; the
// executor uses the integers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/device.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/tensor.h"

namespace lockstep {

// A range of a worker's arena. Aliased values share a block; blocks that are never alive at the
// same time may share bytes.
struct Block {
  int worker = 0;
  std::size_t bytes = 0;
  std::size_t offset = 0;
  int first = 0;  // alive between these node numbers
  int last = 0;
};

enum class Storage {
  in_arena,     // index: block
  in_state,     // index: state
  as_constant,  // index: literal
};

struct Slot {
  std::string name;
  TensorDesc desc;
  int worker = 0;
  Storage storage = Storage::in_arena;
  int index = -1;
  int view = -1;  // in_state: index of the Plan::moving_views step that binds this view; -1: the
                  // whole state
};

// A wait until worker `worker` has finished its step number `step`.
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
  std::string candidate;         // name of the candidate that made the kernel
  std::vector<Refused> refused;  // candidates before it in the table
  Flops flops;                   // of this part of the node
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
  std::size_t cached_bytes = 0;  // see Plan::kept

  bool communicates() const { return role == Role::communicates; }
};

struct CacheIdentity;

struct Plan {
  std::string name;
  std::vector<Worker> workers;  // workers of replicas, then workers for communication
  int threads = 1;              // per CPU worker

  std::vector<Slot> slots;
  std::vector<Block> blocks;
  std::vector<Literal> literals;
  // The session's states, then the plan's own states: values that steps keep for the next run, in
  // memory that no other value uses. `kept`: offsets of the plan's own states in the kept memory of
  // their worker.
  std::vector<std::string> states;
  std::vector<TensorDesc> state_descs;
  std::vector<int> state_workers;
  std::vector<std::size_t> kept;
  // States of the session that must share memory, by replica. The first number of each list stands
  // for all; the plan has no slot for the others.
  std::vector<std::vector<int>> shared;

  std::vector<PlanStep> steps;  // in an order that every worker respects
  // Steps whose result is a view into a state at an offset that changes in every run. Their kernels
  // (moving_view.h) never run: they compute the offset from feeds, and operands of other steps are
  // bound there.
  std::vector<PlanStep> moving_views;
  // Steps that make the plan's own states from the session's. They run before a run if the plan's
  // states are stale: before the first run, and after other code has changed the session's states.
  std::vector<PlanStep> refresh;
  // Identity of the values that `refresh` makes, and of their offsets
  // (runtime/plan/cached_values.h).
  std::shared_ptr<const CacheIdentity> cache_identity;
  std::vector<int> feeds;    // slots, in the order requested; -1: unused
  std::vector<int> fetches;  // slots

  std::vector<std::string> notes;  // actions of rewrites, with reasons
  bool exchanges = false;          // true if steps wait for other processes
  bool is_recorded = true;         // a GPU's run may be recorded and replayed (queue_executor.h)
  int views = 0;                   // nodes that became views
  int in_place = 0;                // values computed in the memory of an operand or a state
  std::size_t tensor_bytes = 0;    // size of the arenas if every value had separate memory

  std::size_t session_states() const { return states.size() - kept.size(); }
};

// Returns the dump that `lockstep plan` prints, one line per step. The dump has offsets, waits and
// aliases, so plans with the same text run the same.
std::string text_of(const Plan& plan);
// Returns the refusals of kernels: a line for each step with refused candidates.
std::string reasons_of(const Plan& plan);
std::string text_of(const Worker& worker);  // cpu:0, exchange, gpu:0/comm

}  // namespace lockstep
