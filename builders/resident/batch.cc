// SPDX-License-Identifier: Apache-2.0
#include "lockstep/resident.h"

#include <algorithm>

#include "builders/resident/inputs.h"
#include "builders/resident/load.h"
#include "graph/listed.h"
#include "lockstep/error.h"
#include "lockstep/session_options.h"
#include "runtime/dist/agree.h"
#include "runtime/state/session_members.h"

namespace lockstep {

ResidentBatch::ResidentBatch(Session& session)
    : session_(session), inputs_(read_resident(session.model())), feeds_(session.model()) {}

const ResidentLoad& ResidentBatch::loaded() const {
  check(is_loaded_, "no batch is loaded onto the devices");
  return load_;
}

// Throws if a row of the tensor does not fit the state that holds the batch's rows.
void ResidentBatch::check_input(const std::string& name, const Tensor& tensor) const {
  const State* state = session_.model().find_state(resident_state(name));
  const TensorDesc& held = states_of(session_).at(state->values[0]).desc;
  TensorDesc wanted = tensor.desc;
  if (!wanted.dims.empty()) wanted.dims[0] = held.dims[0];
  check(wanted == held, "'", name, "' of the batch is ", tensor.desc, ", but its rows are held in ",
        held);
}

ResidentBatch::Size ResidentBatch::size_of_batch(
    const std::map<std::string, Tensor>& inputs) const {
  std::vector<std::string> known = inputs_.rows;
  known.insert(known.end(), inputs_.states.begin(), inputs_.states.end());
  for (const auto& [name, tensor] : inputs)
    check(std::find(known.begin(), known.end(), name) != known.end(), "'", name,
          "' is not a resident input of the model; its resident inputs are ", listed(known));
  const auto common = [&](const std::vector<std::string>& names) {
    int64_t rows = -1;
    for (const std::string& name : names) {
      const auto found = inputs.find(name);
      check(found != inputs.end(), "the batch has no '", name, "'");
      check_input(name, found->second);
      const int64_t here = found->second.desc.dims[0];
      check(rows < 0 || rows == here, "the batch has ", here, " rows of '", name, "' and ", rows,
            " of '", names[0], "'");
      rows = here;
    }
    return rows;
  };
  return {common(inputs_.rows), common(inputs_.states)};
}

void ResidentBatch::check_same_batch(const Size& size) const {
  if (session_.comm())
    check_agreement(*session_.comm(), {{"rows of the batch", std::to_string(size.rows)},
                                       {"rows of states of the batch", join(size.states)}});
}

const ResidentLoad& ResidentBatch::load(const std::map<std::string, Tensor>& inputs) {
  const TrainingModel& model = session_.model();
  const Size size = size_of_batch(inputs);
  check_same_batch(size);
  const ResidentLoad load =
      resident_load(inputs_.limits, std::max(model.whole_replicas, model.replicas), size.rows,
                    size.states < 0 ? std::nullopt : std::optional(size.states));
  is_loaded_ = is_fed_ = false;
  bytes_ = 0;
  const auto write = [&](const std::string& name, int64_t replica, const Rows& rows) {
    const Tensor part = rows_from(inputs.at(name), rows);
    const State* state = model.find_state(resident_state(name));
    states_of(session_).write_first(state->values[replica], part);
    bytes_ += part.desc.bytes();
  };
  for (int64_t k = 0; k < model.replicas; ++k) {
    const int64_t of_run = model.first_replica + k;
    for (const std::string& name : inputs_.rows) write(name, k, load.rows_of(of_run));
    for (const std::string& name : inputs_.states) write(name, k, load.states_of(of_run));
  }
  load_ = load;
  is_loaded_ = true;
  return load_;
}

void ResidentBatch::feed(const MinibatchFeeds& feeds, int64_t& index, int64_t rows) {
  feeds_.set(feeds.index, {{DType::int64, {}}, &index});
  feeds_.set(feeds.size, {{DType::float32, {rows * session_.model().replicas, 0}}, &index});
}

void ResidentBatch::feed_minibatch() {
  if (is_fed_) return;
  feed(kMinibatch, row_, load_.minibatch);
  if (!inputs_.states.empty()) feed(kSequences, sequence_, load_.minibatch / load_.length);
  is_fed_ = true;
}

Results ResidentBatch::optimize(int64_t index, const RunOptions& options) {
  const ResidentSlice slice = resident_slice(loaded(), index);
  row_ = slice.rows.first;
  sequence_ = slice.states.first;
  feed_minibatch();
  return session_.run_step(feeds_, options);
}

uint64_t ResidentBatch::sweep(const Sweep& sweep, const Visit& visit) {
  uint64_t step = sweep.first_step;
  for (const int64_t index : sweep_order(loaded(), sweep.epochs, sweep.seed, sweep.first_epoch)) {
    RunOptions options = session_.run_options(step);
    if (sweep.not_finite && sweep.not_finite->step < 0) options.not_finite = sweep.not_finite;
    const Results answers = optimize(index, options);
    if (visit) visit(step, answers);
    ++step;
  }
  return step;
}

}  // namespace lockstep
