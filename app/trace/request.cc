// SPDX-License-Identifier: Apache-2.0
#include "app/trace/request.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "graph/printable.h"
#include "graph/write_place.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kWarmUp = 2, kUsually = 5;  // iterations

int64_t iteration_in(std::string_view word, const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  check(error == std::errc() && end == word.data() + word.size() && number >= 1, "--trace-steps '",
        printable(text),
        "' should be FIRST:LAST, two iterations as the log counts them, such as 100:105, or one");
  return number;
}

// The iterations that the words ask for, whatever the run has.
TracedSteps asked_steps(const TraceRequest& request) {
  const std::string_view text = request.steps;
  const std::size_t colon = text.find(':');
  TracedSteps asked;
  asked.first = iteration_in(text.substr(0, colon), request.steps);
  asked.last =
      colon == text.npos ? asked.first : iteration_in(text.substr(colon + 1), request.steps);
  return asked;
}

}  // namespace

TracedSteps traced_steps(const TraceRequest& request, int64_t first, int64_t last) {
  if (request.steps.empty()) {
    const int64_t begin = std::max(first, std::min(first + kWarmUp, last - kUsually + 1));
    return {begin, std::min(last, begin + kUsually - 1)};
  }
  TracedSteps steps = asked_steps(request);
  const auto refuse_unless = [&](bool holds, const std::string& why) {
    check(holds, "--trace-steps ", request.steps, ": ", why);
  };
  refuse_unless(steps.first <= steps.last, "the first iteration comes after the last");
  refuse_unless(steps.count() <= kMostTracedSteps,
                join("a trace has at most ", kMostTracedSteps, " iterations"));
  if (request.continues) {
    steps.first = std::max(steps.first, first);
    if (steps.last < steps.first) return {first, first - 1};
  }
  refuse_unless(steps.first >= first && steps.last <= last,
                first > last ? std::string("the run has no iterations left")
                             : join("the run has the iterations ", first, " to ", last));
  return steps;
}

std::string note_of_passed(const TraceRequest& request, int64_t first) {
  if (!request.is_asked() || !request.continues || request.steps.empty()) return "";
  const TracedSteps steps = asked_steps(request);
  if (steps.first >= first) return "";
  return join("--trace-steps ", request.steps, ": the run was started again and goes on with ",
              "iteration ", first, ", so ",
              steps.last < first ? std::string("nothing is traced")
                                 : join("the trace begins with iteration ", first));
}

void check_trace_file(const TraceRequest& request) {
  if (!request.is_asked()) {
    check(request.steps.empty(), "--trace-steps ", printable(request.steps),
          " needs --trace FILE, the file to write");
    return;
  }
  if (!request.steps.empty()) traced_steps(request, 1, INT64_MAX);  // refuses a wrong form early
  const std::filesystem::path place = write_place(request.file);
  const std::filesystem::path folder = place.has_parent_path() ? place.parent_path() : ".";
  check(std::filesystem::is_directory(folder), "--trace ", printable(request.file),
        ": there is no folder ", printable(folder.string()));
}

}  // namespace lockstep
