// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/packing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "builders/all_reduce/packing_summary.h"
#include "graph/print.h"
#include "tests/support/expect_error.h"
#include "tests/support/step_feeds.h"
#include "tests/support/sums.h"

namespace lockstep::testing {
namespace {

std::vector<GradientSize> floats_of(const std::vector<int64_t>& elements) {
  std::vector<GradientSize> sizes;
  for (std::size_t i = 0; i < elements.size(); ++i)
    sizes.push_back({join("w", i), elements[i], DType::float32});
  return sizes;
}

TEST(Packing, ExtractsRanges) {
  using Runs = std::vector<std::pair<int, int>>;
  auto check_ranges = [](const std::vector<int>& numbers, int64_t limit, const Runs& runs,
                         const std::vector<int>& singles) {
    Ranges ranges = extract_ranges(numbers, limit);
    EXPECT_EQ(ranges.runs, runs);
    EXPECT_EQ(ranges.singles, singles);
  };
  check_ranges({}, 32, {}, {});
  check_ranges({1, 3, 4, 6, 7, 8, 9}, 32, {{3, 4}, {6, 9}}, {1});
  check_ranges({1, 2, 3, 4, 6, 7, 8, 9}, 32, {{1, 4}, {6, 9}}, {});
  check_ranges({1, 3, 4, 6, 7, 9}, 32, {{3, 4}, {6, 7}}, {1, 9});
  check_ranges({1, 3, 6, 9}, 32, {}, {1, 3, 6, 9});
  std::vector<int> thirty(30), thirteen(13);
  std::iota(thirty.begin(), thirty.end(), 0);
  std::iota(thirteen.begin(), thirteen.end(), 0);
  check_ranges(thirty, 10, {{0, 11}, {12, 23}, {24, 29}}, {});
  check_ranges(thirteen, 10, {{0, 11}}, {12});
  check_ranges({0, 1, 2, 3}, 0, {{0, 1}, {2, 3}}, {});
}

TEST(Packing, TheWorkedExampleOfTfCnn) {
  // w0 b0 g0 be0 w1 b1 w2 b2 w3 b3
  const auto sizes = floats_of({432, 16, 16, 16, 64, 10, 1000, 4, 1024, 64});
  auto packed = [&](int64_t group) { return pack({PackingRule::tf_cnn, 256, group, 0}, sizes); };
  EXPECT_EQ(packed(1), (Buckets{{1, 2, 3}, {4, 5}, {0}, {6}, {7}, {8}, {9}}));
  EXPECT_EQ(packed(2), (Buckets{{1, 2, 3, 4}, {0}, {5}, {6}, {7}, {8}, {9}}));
  EXPECT_EQ(packed(10), (Buckets{{1, 2, 3, 4, 5}, {0}, {6}, {7}, {8}, {9}}));
}

TEST(Packing, SmallTensorsOfTfCnnsOwnTest) {
  const auto sizes = floats_of({4, 4, 9, 9});
  EXPECT_EQ(pack({PackingRule::tf_cnn, 12, 10, 0}, sizes), (Buckets{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(pack({PackingRule::tf_cnn, 16, 10, 0}, sizes), (Buckets{{0, 1}, {2}, {3}}));
  EXPECT_EQ(pack({PackingRule::tf_cnn, 256, 10, 0}, sizes), (Buckets{{0, 1, 2, 3}}));
  EXPECT_EQ(pack({PackingRule::tf_cnn, 40, 10, 0}, floats_of({8, 9, 12, 125})),
            (Buckets{{0, 1}, {2}, {3}}));
}

// On four replicas `simple` copies six times, a ring 24 times.
TEST(Packing, TheSizeOfABucketChoosesTheAlgorithm) {
  auto copies = [](AllReduceOptions options) {
    options.spec = parse_all_reduce("simple:6:xring");
    const Graph graph = sum_graph(options, 4, {{6}, {6}}).graph;
    int count = 0;
    for (int i = 0; i < graph.node_count(); ++i) count += graph.node(i).type() == "Copy";
    return count;
  };
  const Packing together = parse_packing("ready:1M:1M");
  EXPECT_EQ(copies({}), 2 * 6);
  EXPECT_EQ(copies({.packing = together}), 24);
  EXPECT_EQ(copies({.packing = together, .pieces = 2}), 2 * 6);
}

TEST(Packing, SpecsAreReadAndRefused) {
  EXPECT_EQ(parse_packing("none"), (Packing{PackingRule::none, 0, 0, 0}));
  EXPECT_EQ(parse_packing("tf_cnn:4k:10"), (Packing{PackingRule::tf_cnn, 4096, 10, 0}));
  EXPECT_EQ(parse_packing("ready:1M:25M"), (Packing{PackingRule::ready, 25 << 20, 0, 1 << 20}));
  for (const char* text : {"", "ray", "ray:1:2", "ready:1M", "tf_cnn:x:1", "bins:3"})
    expect_error([&] { parse_packing(text); }, "packing '" + std::string(text) + "'");
}

TEST(Packing, APlanIsPrintedEditedAndReadBack) {
  const auto sizes = floats_of({100, 7, 300});
  const Buckets buckets{{2, 0}, {1}};
  const std::string text = text_of(buckets, sizes);
  EXPECT_EQ(text, "bucket 1600 bytes: w2 w0\nbucket 28 bytes: w1\n");
  EXPECT_EQ(parse_buckets(text, sizes), buckets);
  auto refuses = [&](const std::string& plan, const std::string& part) {
    expect_error([&] { parse_buckets(plan, sizes); }, part);
  };
  refuses("bucket 1 bytes: w0 w1", "'w2' is in no bucket");
  refuses("bucket 1 bytes: w0 w1 w2 w3", "line 1: no gradient of 'w3'");
  refuses("bucket 1 bytes: w0 w1\nbucket 1 bytes: w2 w0", "line 2: 'w0' occurs twice");
  refuses("w0 w1 w2", "line 1: should be");
  expect_error([&] { parse_buckets("w0", sizes, "BUCKETS plan.txt"); },
               "BUCKETS plan.txt, line 1:");
}

TEST(Packing, NamesOfAPlanMayContainAnything) {
  std::vector<GradientSize> sizes;
  for (const char* name :
       {"my w", "a: b", "\"", "tab\there", "two\nlines", "back\\slash", "#", "n"})
    sizes.push_back({name, 1, DType::float32});
  const Buckets buckets{{7, 0, 1, 2}, {3, 4}, {6, 5}};
  const std::string text = text_of(buckets, sizes);
  EXPECT_EQ(text.substr(0, text.find('\n')), R"(bucket 16 bytes: n "my w" "a: b" "\"")");
  EXPECT_EQ(parse_buckets(text, sizes), buckets);
}

// Packing, reducing in one piece and unpacking give the same training as separate gradients.
TEST(Packing, TrainingDoesNotDependOnTheBuckets) {
  auto train_with = [](AllReduceOptions options) {
    options.processes = 2;
    return train(small_mlp(4, MomentumSgd{}, {.all_reduce = options}), 16, 5, {1, 6, 6});
  };
  const StateValues expected = train_with({});
  for (const char* packing : {"ready:100:1000", "ray:100", "tf_cnn:64:10", "ready:1M:1M"})
    for (const char* spec : {"collective", "xring#2", "rechd"}) {
      const StateValues found =
          train_with({.spec = parse_all_reduce(spec), .packing = parse_packing(packing)});
      for (const auto& [name, value] : expected) {
        const auto ours = found.at(name).values<float>(), theirs = value.values<float>();
        for (std::size_t i = 0; i < ours.size(); ++i)
          ASSERT_NEAR(ours[i], theirs[i], 1e-5) << packing << " " << spec << " " << name;
      }
      // Each element has one order of sums, regardless of its neighbours.
      if (std::string(spec) == "collective") {
        EXPECT_TRUE(found == expected) << packing << ": packed = unpacked, bit for bit";
      }
    }
}

TEST(Packing, SizesAreSummedUp) {
  const SizeStatistics of = statistics_of({10, 1, 3, 2});
  EXPECT_EQ(of.count, 4);
  EXPECT_EQ(of.mean, 4);
  EXPECT_EQ(of.median, 2.5);
  EXPECT_EQ(of.total, 16);
  EXPECT_EQ(statistics_of({7, 9, 1}).median, 7);
  EXPECT_EQ(statistics_of({}).count, 0);
  EXPECT_EQ(statistics_of({}).mean, 0) << "not 0 / 0";

  const auto sizes = floats_of({100, 7, 3000});
  using Lines = std::vector<std::string>;
  EXPECT_EQ(packing_summary({{2, 0}, {1}}, sizes),
            (Lines{"before packing: 3 gradients, mean 4.05 KiB, median 400 bytes, total 12.1 KiB",
                   "after packing: 2 buckets, mean 6.07 KiB, median 6.07 KiB, total 12.1 KiB"}));
  EXPECT_EQ(packing_summary({{0}}, floats_of({2})),
            (Lines{"before packing: 1 gradient, mean 8 bytes, median 8 bytes, total 8 bytes",
                   "after packing: 1 bucket, mean 8 bytes, median 8 bytes, total 8 bytes"}));
}

TEST(Packing, AModelSaysWhatItsPackingDid) {
  for (DType precision : {DType::float32, DType::bfloat16})
    for (DType wire : {DType::undefined, DType::bfloat16}) {
      const auto lines = packing_summary(
          small_mlp(2, MomentumSgd{},
                    {.precision = precision,
                     .all_reduce = {.packing = parse_packing("ready:100:1000"), .wire = wire}}));
      ASSERT_EQ(lines.size(), 2u);
      EXPECT_EQ(lines[0],
                "before packing: 6 gradients, mean 574 bytes, median 152 bytes, total 3.36 KiB");
      EXPECT_EQ(lines[1],
                "after packing: 2 buckets, mean 1.68 KiB, median 1.68 KiB, total 3.36 KiB");
    }
  EXPECT_TRUE(packing_summary(small_mlp(1)).empty()) << "nothing is summed";
  TrainingModel old = small_mlp(2);
  old.gradients.clear();
  EXPECT_TRUE(packing_summary(old).empty()) << "an older file without a list of gradients";
  TrainingModel torn = small_mlp(2);
  const std::string lost = torn.gradients.back().name;
  torn.gradients.pop_back();
  expect_error([&] { packing_summary(torn); }, "the step's buckets, line ",
               join("no gradient of '", lost, "'"));
}

TEST(Packing, APlanInAFileIsReplayed) {
  TrainingModel planned =
      small_mlp(2, MomentumSgd{}, {.all_reduce = {.packing = parse_packing("ready:100:1000")}});
  EXPECT_NE(planned.bucket_plan.find("pred_b pred_w"), std::string::npos) << planned.bucket_plan;
  TrainingModel replayed =
      small_mlp(2, MomentumSgd{}, {.all_reduce = {.buckets = planned.bucket_plan}});
  EXPECT_EQ(text_of(planned.step), text_of(replayed.step));
}

}  // namespace
}  // namespace lockstep::testing
