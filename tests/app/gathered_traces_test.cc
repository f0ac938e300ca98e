// SPDX-License-Identifier: Apache-2.0
// Traces of several ranks in one file: their limit, missing traces, and arrows of messages.
#include "app/trace/gathered_traces.h"

#include <gtest/gtest.h>

#include <array>

#include "app/trace/recorder.h"
#include "app/trace/trace_file.h"
#include "graph/file.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "runtime/state/session_members.h"
#include "tests/support/ranks.h"
#include "tests/support/step_feeds.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/trace_rules.h"

namespace lockstep::testing {
namespace {

// Rank 0 joins all traces in its memory, so each rank has a share of the limit. The first run is
// always recorded.
TEST(GatheredTraces, OfSeveralRanksHasOneLimit) {
  const auto left_out = [](Comm* comm, std::size_t most) {
    const TrainingModel model = small_mlp(1);
    Session session(model, cpu_devices(1), all_kernels(), {5, 1, {}});
    session.initialise();
    StepFeeds feeds(model, 24, 5, kSmall);
    RecorderOptions options;
    options.most_recorded = most;
    TraceRecorder recorder(session, comm, options);
    for (int64_t step = 0; step < 8; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(0));
    return recorder.end().steps_left_out;
  };
  const TrainingModel model = small_mlp(1);
  Session session(model, cpu_devices(1), all_kernels(), {5, 1, {}});
  session.initialise();
  StepFeeds feeds(model, 24, 5, kSmall);
  const std::size_t steps = plan_of(session.step(), feeds.at(0, 0.05F)).steps.size();
  EXPECT_EQ(left_out(nullptr, 8 * steps), 0);
  EXPECT_EQ(left_out(nullptr, 4 * steps), 4);
  EXPECT_EQ(left_out(nullptr, 0), 7);
  run_ranks(4, [&](Comm& comm) { EXPECT_EQ(left_out(&comm, 8 * steps), 6); });
}

TEST(GatheredTraces, ThatCannotBeJoinedIsMissing) {
  TemporaryFolder folder;
  std::vector<std::string> lines;
  run_ranks(3, [&](Comm& comm) {
    RankTrace mine;
    mine.rank = comm.rank();
    mine.host = "host";
    mine.labels = {{"a", TraceKind::forward}};
    mine.rows = {{"row", {{0, 5, 9}}}};
    mine.messages = {{comm.rank() == 0, comm.rank() == 0 ? 1 : 0, 7, 1, {0, 0}, 6}};
    if (comm.rank() == 1) mine.arrows = {{{0, 0}, {0, 1}}};
    const std::vector<RankTrace> ranks = gather_traces(mine, &comm);
    ASSERT_EQ(ranks.size(), comm.rank() == 0 ? 3U : 0U);
    if (comm.rank() > 0) return;
    lines = write_trace(folder / "trace.json", ranks, {"a command", {1, 1}});
    EXPECT_TRUE(ranks[0].missing.empty());
    EXPECT_NE(ranks[1].missing.find("a slice that does not exist"), std::string::npos);
  });
  const SeenTrace seen = expect_rules(read_file(folder / "trace.json"));
  EXPECT_EQ(seen.row(1, "row").slices.size(), 1U);
  EXPECT_EQ(seen.row(3, "row").slices.size(), 1U);
  EXPECT_TRUE(seen.arrows.empty());
  EXPECT_NE(seen.about.at("missing_ranks").at("1").get<std::string>().find("does not exist"),
            std::string::npos);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], "the trace lacks rank 1: a slice that does not exist");
}

// Rank 1's trace begins with the second message of each kind. The file's order of messages is not
// the order in which they were sent, either.
TEST(GatheredTraces, OfADroppedMessageDoesNotShiftOtherArrows) {
  const auto trace_of_rank = [](int rank, int64_t first) {
    RankTrace trace;
    trace.rank = rank;
    trace.labels = {{"a", TraceKind::forward}};
    trace.rows = {{"row"}};
    for (int64_t turn = 4; turn >= first; --turn)
      for (const uint64_t number : {8, 7}) {
        const int64_t at = 100 * turn + 10 * static_cast<int64_t>(number) + rank;
        trace.rows[0].slices.push_back({0, at, at + 5});
        const int last = static_cast<int>(trace.rows[0].slices.size()) - 1;
        trace.messages.push_back(
            {rank == 0, 1 - rank, number, static_cast<uint64_t>(turn), {0, last}, at + 1});
      }
    return trace;
  };
  const SeenTrace seen =
      expect_rules(text_of_trace({trace_of_rank(0, 1), trace_of_rank(1, 2)}, {}));
  ASSERT_EQ(seen.arrows.size(), 2U * 3U) << "of the turns 2 to 4";
  for (const SeenArrow& arrow : seen.arrows)
    EXPECT_EQ(seen.to(arrow).begins - seen.from(arrow).begins, 1) << arrow.leaves;
}

// The step of the run in which an end of an arrow is.
std::string step_around(const SeenRow& row, int64_t at) {
  for (const SeenSlice& slice : row.slices)
    if (slice.depth == 0 && slice.begins <= at && at < slice.ends) return slice.name;
  return "none";
}

// The first messages that rank 1 has recorded get lost.
TEST(GatheredTraces, OfARunHasArrowsWithinEachStep) {
  std::vector<RankTrace> ranks;
  const TrainingModel whole = small_mlp(2);
  run_ranks(2, [&](Comm& comm) {
    const TrainingModel part = partition(whole, {comm.rank(), comm.size()});
    Session session(part, cpu_devices(1), all_kernels(), {5, 1, {}, &comm});
    session.initialise();
    StepFeeds feeds(part, 24, 5, kSmall, whole.replicas);
    session.step().run(feeds.at(0, 0.05F), session.run_options(0));  // is not recorded
    TraceRecorder recorder(session, &comm, {});
    for (int64_t step = 1; step < 4; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
    std::vector<RankTrace> gathered = gather_traces(recorder.end(), &comm);
    if (comm.rank() == 0) ranks = std::move(gathered);
  });
  const std::size_t messages = ranks[1].messages.size();
  ASSERT_GE(messages, 6U);
  EXPECT_EQ(ranks[0].messages.size(), messages);
  for (const std::size_t lost : {std::size_t{0}, std::size_t{1}, messages / 4}) {
    ranks[1].messages.erase(ranks[1].messages.begin(),
                            ranks[1].messages.begin() + static_cast<std::ptrdiff_t>(lost));
    const SeenTrace seen = expect_rules(text_of_trace(ranks, {}));
    std::size_t arrows = 0;
    for (const SeenArrow& arrow : seen.arrows) {
      if (arrow.name != "message") continue;
      ++arrows;
      EXPECT_EQ(step_around(seen.rows.at(arrow.from_row), arrow.leaves),
                step_around(seen.rows.at(arrow.to_row), arrow.arrives));
    }
    EXPECT_EQ(arrows, ranks[1].messages.size());
  }
}

}  // namespace
}  // namespace lockstep::testing
