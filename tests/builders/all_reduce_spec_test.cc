// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/spec.h"

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(AllReduceSpec, ReadsRangesLimitsAndShards) {
  AllReduceSpec spec = parse_all_reduce("pscpu:32k:xring#2");
  ASSERT_EQ(spec.ranges.size(), 2u);
  EXPECT_EQ(spec.ranges[0], (AllReduceRange{"pscpu", 1, 32768, false}));
  EXPECT_EQ(spec.ranges[1], (AllReduceRange{"xring", 2, -1, false}));
  EXPECT_EQ(parse_all_reduce("nccl/rechd").ranges[0].algorithm, "nccl/rechd");
  EXPECT_EQ(parse_all_reduce("rechd:4MB:collective").ranges[0],
            (AllReduceRange{"rechd", 1, 4 << 20, true}));
  for (const char* text :
       {"collective", "collective#2", "pscpu:32768:xring#2", "rechd:4096B:psgpu#3:8192B:muji",
        "nccl/pscpu", "nccl/pscpu#2", "pscpu/pscpu#1", "pscpu/rechd:16:pscpu/pscpu#3"})
    EXPECT_EQ(text_of(parse_all_reduce(text)), text);
  EXPECT_EQ(text_of(parse_all_reduce("pscpu#1:2:collective#1")), "pscpu:2:collective");
  // `#1` means a single gatherer; the name alone means one gatherer in each process.
  EXPECT_EQ(parse_all_reduce("pscpu/pscpu").ranges[0].shards, 0);
  EXPECT_EQ(parse_all_reduce("pscpu/pscpu#1").ranges[0].shards, 1);
}

// The numbers of tf_cnn_benchmarks' parser; signs, blanks and underscores are refused here.
TEST(AllReduceSpec, Numbers) {
  auto limit = [](const std::string& text) {
    return parse_all_reduce("rechd:" + text + ":xring").ranges[0].limit;
  };
  EXPECT_EQ(limit("32k"), 32768);
  EXPECT_EQ(limit("32K"), 32768);
  EXPECT_EQ(limit("1M"), int64_t{1} << 20);
  EXPECT_EQ(limit("1G"), int64_t{1} << 30);
  EXPECT_EQ(limit("1T"), int64_t{1} << 40);
  EXPECT_EQ(limit("007"), 7);
  EXPECT_EQ(limit("0"), 0);
  for (const char* text : {"5m", "1g", "k", "T", "", "32kb", "1.5k", "3.0", "0x10", "-5", "+7",
                           " 5 ", "1_000", " 2k", "B", "99999999999999999999", "9000000T"})
    expect_error([&] { limit(text); }, "limit '" + std::string(text) + "'");
}

TEST(AllReduceSpec, ErrorsAreOfOneKindAndNameThePart) {
  auto refuses = [](const std::string& spec, const std::string& part) {
    expect_error([&] { parse_all_reduce(spec); }, "all-reduce spec '" + spec + "'", part);
  };
  refuses("", "''");
  refuses("xring:", "ends with a limit");
  refuses("xring:2k", "ends with a limit");
  refuses("xring:2k:", "''");
  refuses("a:b:c", "'a'");
  refuses("NCCL", "'NCCL'");
  refuses("mean", "there is no algorithm 'mean'; known: auto, ");
  refuses(" xring", "' xring'");
  refuses("xrin", "did you mean 'xring'");
  refuses("nccl/psgpu", "'nccl/psgpu'");
  refuses("xring/nccl", "'xring/nccl'");
  refuses("xring#", "shards ''");
  refuses("xring#x", "shards 'x'");
  refuses("pscpu/collective", "there is no algorithm 'pscpu/collective'");
  refuses("pscpu/pscpu/pscpu", "there is no algorithm 'pscpu/pscpu/pscpu'");
  refuses("nccl/", "'nccl/'");
  refuses("pscpu#2/pscpu", "'pscpu#2/pscpu': only the second level can have a number of shards");
  refuses("pscpu#2/pscpu#2",
          "only the second level can have a number of shards, as in pscpu/pscpu#2");
  refuses("pscpu/pscpu#0", "number of shards should be at least 1");
  refuses("pscpu/pscpu#two", "shards 'two'");
  refuses("nccl#2", "nccl cannot have a number of shards");
  refuses("xring#-1", "shards '-1'");
  refuses("xring#0", "number of shards should be at least 1");
  refuses("xring#2#3", "two numbers of shards");
  refuses("rechd#2", "rechd cannot have a number of shards");
  refuses("nccl/xring#2", "nccl/xring cannot have a number of shards");
  refuses("pscpu/rechd#2", "pscpu/rechd cannot have a number of shards");
  refuses("pscpu:64k:xring:2k:nccl", "must increase");
  refuses("pscpu:2k:xring:2k:nccl", "must increase");
  refuses("pscpu:2k:xring:4kB:nccl", "all in elements or all in bytes");
}

TEST(AllReduceSpec, ASumOrAMean) {
  for (const char* text : {"mean:collective", "mean:xring#2", "mean:pscpu:32768:xring",
                           "mean:rechd:4096B:nccl/xring", "mean:auto"})
    EXPECT_EQ(text_of(parse_all_reduce(text)), text);
  EXPECT_EQ(text_of(parse_all_reduce("sum:pscpu:32k:xring#2")), "pscpu:32768:xring#2");
  EXPECT_EQ(parse_all_reduce("sum:xring"), parse_all_reduce("xring"));
  EXPECT_NE(parse_all_reduce("mean:xring"), parse_all_reduce("xring"));
  for (const char* text :
       {"mean", "sum", "mean:", "sum:", "mean:mean:xring", "sum:mean:xring", "mean:32k:xring",
        "mean:xring:", "mean:xring:2k", "xring:mean", "xring:2k:mean", "xring:mean:rechd",
        "Mean:xring", "mean#2:xring", "average:xring", " mean:xring", "mean::xring", "mean:xrin"})
    expect_error([&] { parse_all_reduce(text); }, "all-reduce spec '" + std::string(text) + "'");
}

TEST(AllReduceSpec, AReductionIsNoAlgorithm) {
  for (const char* text : {"mean", "sum:mean", "xring:2k:sum"})
    expect_error([&] { parse_all_reduce(text); }, "there is no algorithm '");
}

TEST(AllReduceSpec, ReadsTheOrderOfARing) {
  EXPECT_EQ(parse_ring_order("0,2,1,3"), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(parse_ring_order("0"), (std::vector<int>{0}));
  for (const char* text : {"", "0,", ",1", "0 1", "0,-1", "0;1", "[0,1]", "0,99999999999"})
    expect_error([&] { parse_ring_order(text); }, "ring order '" + std::string(text) + "'",
                 "like 0,2,1,3");
}

TEST(AllReduceSpec, PicksTheRangeBySize) {
  AllReduceSpec spec = parse_all_reduce("simple:10:rechd:100:xring");
  EXPECT_EQ(range_for(spec, 0, 4), 0u);
  EXPECT_EQ(range_for(spec, 10, 4), 0u);
  EXPECT_EQ(range_for(spec, 11, 4), 1u);
  EXPECT_EQ(range_for(spec, 101, 4), 2u);
  AllReduceSpec bytes = parse_all_reduce("simple:40B:xring");
  EXPECT_EQ(range_for(bytes, 10, 4), 0u);
  EXPECT_EQ(range_for(bytes, 11, 4), 1u);
  EXPECT_EQ(range_for(bytes, 6, 8), 1u);
  EXPECT_EQ(range_for(parse_all_reduce("simple:0:xring"), 1, 4), 1u)
      << "0 takes empty tensors only";
}

}  // namespace
}  // namespace lockstep::testing
