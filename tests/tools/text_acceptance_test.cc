// SPDX-License-Identifier: Apache-2.0
// Compares the character model of configs/text/docs_lstm.yaml with counting models of the same
// text: this repository's documents and headers.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <set>

#include "app/config/read.h"
#include "app/record/metrics.h"
#include "app/text/corpus.h"
#include "lockstep/text.h"
#include "tests/support/program.h"
#include "tests/support/witten_bell.h"

namespace lockstep::testing {
namespace {

const std::string kDocsConfig = std::string(LOCKSTEP_SOURCE_DIR) + "/configs/text/docs_lstm.yaml";

// Bits per character of the held-out text. `lockstep train` holds out the same text.
double counted_bits(int order) {
  Origins origins;
  const TextConfig config =
      read_text_config(config_files(kDocsConfig), {"DATA.ROOT", LOCKSTEP_SOURCE_DIR}, 1, origins);
  const std::string text = JoinedText(text_files_named(config.files, config.root)).bytes();
  const std::string_view all = text;
  WittenBell model(order, Vocabulary(text).size());
  const TextSplit split = split_text(static_cast<int64_t>(text.size()));
  for (const TextRange& range : split.training) model.count(all.substr(range.first, range.size()));
  double bits = 0;
  for (const TextRange& range : split.held_out) bits += model.bits(all, range.first, range.end);
  return bits / static_cast<double>(characters_of(split.held_out));
}

struct TrainedText {
  double bits = 0, seconds = 0;
};
TrainedText trained(std::vector<std::string> more) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments{"train",      kDocsConfig,   "DATA.ROOT", LOCKSTEP_SOURCE_DIR,
                                     "OUTPUT_DIR", folder / "run"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_lockstep(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const auto rows = read_metrics(folder / "run/metrics.jsonl");
  return {rows.empty() ? INFINITY : value_of(rows.back(), "test_bits_per_character"), took.count()};
}

// A model of character frequencies alone is at order 0; a model of the previous character alone is
// at order 1.
void expect_better_than_pairs(const TrainedText& run) {
  const double pairs = counted_bits(1);
  EXPECT_GT(counted_bits(0), pairs + 0.5);
  std::cout << "order 1 has " << pairs << "\n";
  EXPECT_LT(run.bits, pairs - 0.3);
}

void expect_close_to_order_four(const TrainedText& run) {
  const double four = counted_bits(4);
  std::cout << "order 4 has " << four << "\n";
  EXPECT_LT(run.bits, four + 0.3);
  EXPECT_LT(run.seconds, 240);
}

// An eighth of a run, or with LOCKSTEP_WHOLE_TEXT=1 the whole run, on one replica and on two. Each
// takes four minutes on two cores.
TEST(TextAcceptance, TheModelReadsBetterThanCounts) {
  const bool whole = std::getenv("LOCKSTEP_WHOLE_TEXT") != nullptr;
  const std::vector<std::string> part{"SOLVER.MAX_ITER", "250", "TEST.ITERS", "1000"};
  for (const char* devices : {"cpu", "cpu*2"}) {
    if (!whole && devices != std::string("cpu")) break;
    std::vector<std::string> words{"DEVICES", devices};
    if (!whole) words.insert(words.end(), part.begin(), part.end());
    const TrainedText run = trained(words);
    std::cout << devices << ": held out " << run.bits << " bits per character after " << run.seconds
              << " s\n";
    expect_better_than_pairs(run);
    if (whole) expect_close_to_order_four(run);
  }
}

}  // namespace
}  // namespace lockstep::testing
