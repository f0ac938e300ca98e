// SPDX-License-Identifier: Apache-2.0
#include "app/trace/steps_trace.h"

#include <exception>
#include <iostream>
#include <sstream>
#include <utility>

#include "app/machine.h"
#include "app/trace/gathered_traces.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/agree.h"

namespace lockstep {

StepsTrace::StepsTrace(TraceRequest request, Session& session, TracedSteps possible,
                       std::string unit, Comm* comm)
    : request_(std::move(request)), session_(session), unit_(std::move(unit)), comm_(comm) {
  const bool leads = !comm || comm->rank() == 0;
  if (leads && request_.is_asked()) steps_ = traced_steps(request_, possible.first, possible.last);
  if (!comm) return;
  std::istringstream shared(
      share_text(*comm, join(steps_.first, " ", steps_.last), "the traced iterations"));
  shared >> steps_.first >> steps_.last;
}

bool StepsTrace::before(int64_t iteration) {
  if (iteration < steps_.first || iteration > steps_.last) return false;
  const bool begins = !recorder_;
  if (begins)
    recorder_ = std::make_unique<TraceRecorder>(session_, comm_, RecorderOptions{.unit = unit_});
  recorder_->begin_iteration(iteration);
  return begins;
}

bool StepsTrace::after(int64_t iteration, double units) {
  if (!recorder_) return false;
  recorder_->end_iteration(units);
  ++traced_;
  return iteration == steps_.last;
}

std::vector<RankTrace> StepsTrace::end() {
  std::vector<RankTrace> ranks = gather_traces(recorder_->end(), comm_);
  recorder_.reset();
  steps_.last = steps_.first + traced_ - 1;
  return ranks;
}

std::vector<std::string> StepsTrace::write(const std::vector<RankTrace>& ranks) const {
  return write_trace(request_.file, ranks, {command_line(), steps_});
}

void PrintedTrace::print() {
  // Results of the steps that are traced are not lost with the trace.
  try {
    for (const std::string& line : trace_.write(trace_.end())) out_ << line << "\n";
  } catch (const std::exception& error) {
    std::cerr << "lockstep: the trace was not written: " << printable(error.what()) << "\n";
  }
}

}  // namespace lockstep
