// SPDX-License-Identifier: Apache-2.0
// Single changes of keys and options, as `lockstep diff` names them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <set>
#include <sstream>

#include "app/diff/diff.h"
#include "app/diff/diff_text.h"
#include "app/diff/model_changes.h"
#include "app/diff/replica_names.h"
#include "app/model_source.h"
#include "graph/file.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

constexpr const char* kResNet = R"(DEVICES: cpu*2
THREADS: 1
MODEL: {TYPE: resnet18, NUM_CLASSES: 10}
DATA: {NAME: synthetic, IMAGE_SIZE: 32}
TRAIN: {BATCH_SIZE: 8}
SOLVER: {BASE_LR: 0.1}
)";

// tests/golden/diff_table.txt has a heading `## KEY VALUE` for each change, and below the heading
// the whole text of the difference.
constexpr const char* kTable = "tests/golden/diff_table.txt";
constexpr const char* kHeading = "## ";

struct SingleChange {
  std::string key, value, expected;
};

std::vector<SingleChange> diff_rows() {
  std::vector<SingleChange> rows;
  std::istringstream text(read_file(source_path(kTable)));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(kHeading)) {
      std::istringstream words(line.substr(std::string(kHeading).size()));
      words >> rows.emplace_back().key >> rows.back().value;
    } else if (!rows.empty()) {
      rows.back().expected += line + "\n";
    }
  }
  return rows;
}

// Accepts a new text of one row.
void accept_row(const SingleChange& row, const std::string& text) {
  std::string all = read_file(source_path(kTable));
  const std::string heading = join(kHeading, row.key, " ", row.value, "\n");
  const std::size_t at = all.find(heading + row.expected);
  ASSERT_NE(at, std::string::npos) << heading;
  write_file(source_path(kTable), all.replace(at + heading.size(), row.expected.size(), text));
}

class DiffTable : public ::testing::TestWithParam<SingleChange> {
 protected:
  void SetUp() override { write_file(base, kResNet); }

  TemporaryFolder folder;
  const std::string base = folder / "base.yaml";
};

void PrintTo(const SingleChange& change, std::ostream* out) {
  *out << change.key << " " << change.value;
}

const Graph& graph_of(const TrainingModel& model, DiffPart part) {
  return part == DiffPart::inference ? model.inference
         : part == DiffPart::init    ? model.init
                                     : model.step;
}

// True if the model has a node with the operator and the first result of the change.
bool has_node(const TrainingModel& model, const Change& change) {
  const ReplicaNames names(model);
  const Graph& graph = graph_of(model, change.part);
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    if (node.type() == change.of && node.replica() == change.replica &&
        names.of(graph.name(node.outputs()[0])).rest == change.name)
      return true;
  }
  return false;
}

TEST_P(DiffTable, IsNamedInItsLinesOfAtMostTen) {
  const SingleChange& row = GetParam();
  const DiffResult result = diff({base, base, {}, {row.key, row.value}});
  const std::string text = text_of(result);
  SCOPED_TRACE(text);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_TRUE(text.starts_with("configuration")) << "the key comes first";
  EXPECT_NE(text.find("  " + row.key + ": "), std::string::npos);
  EXPECT_EQ(
      std::count_if(result.changes.begin(), result.changes.end(),
                    [](const Change& change) { return change.part == DiffPart::configuration; }),
      1);
  if (std::getenv("LOCKSTEP_UPDATE_GOLDEN")) return accept_row(row, text);
  EXPECT_EQ(text, row.expected) << "LOCKSTEP_UPDATE_GOLDEN=1 accepts the new text";
}

TEST(DiffTableFile, HasFortyRowsAndMore) {
  std::set<std::string> changes;
  for (const SingleChange& row : diff_rows()) {
    EXPECT_TRUE(changes.insert(row.key + " " + row.value).second) << row.key << " twice";
    EXPECT_NE(row.expected, "") << row.key;
  }
  EXPECT_GE(changes.size(), 40U);
}

// Both directions agree, and no node that both steps have is listed as one side's.
TEST_P(DiffTable, NamesNoMoreThanWasChanged) {
  const SingleChange& row = GetParam();
  const SourcedModel a = model_from({base}), b = model_from({base, {row.key, row.value}});
  const Changes there = differences_of(a.model, b.model).changes;
  const Changes back = differences_of(b.model, a.model).changes;
  const auto count = [](const Changes& changes, DiffKind kind) {
    return std::count_if(changes.begin(), changes.end(),
                         [&](const Change& change) { return change.kind == kind; });
  };
  EXPECT_EQ(count(there, DiffKind::only_in_a), count(back, DiffKind::only_in_b));
  EXPECT_EQ(count(there, DiffKind::only_in_b), count(back, DiffKind::only_in_a));
  for (const Change& change : there) {
    if (!change.is_node) continue;
    if (change.kind == DiffKind::only_in_a) {
      EXPECT_FALSE(has_node(b.model, change)) << change.of << " " << change.name;
    } else if (change.kind == DiffKind::only_in_b) {
      EXPECT_FALSE(has_node(a.model, change)) << change.of << " " << change.name;
    } else if (change.kind == DiffKind::changed) {
      EXPECT_NE(change.a, change.b) << change.of << " " << change.name << " " << change.what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, DiffTable, ::testing::ValuesIn(diff_rows()));

}  // namespace
}  // namespace lockstep::testing
