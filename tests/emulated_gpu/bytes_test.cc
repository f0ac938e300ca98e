// SPDX-License-Identifier: Apache-2.0
// A GPU's lookups of bytes in tables have the CPU's bits: packed and single, row-major and
// channels-last.
#include <gtest/gtest.h>

#include "lockstep/operators.h"
#include "tests/emulated_gpu/node_run.h"

namespace lockstep::testing {
namespace {

class EmulatedBytes : public ::testing::TestWithParam<DType> {
 protected:
  int table_of(const Dims& x, int64_t tables) {
    graph_ = Graph(all_ops(), "bytes");
    const Value bytes = graph_.input("x", {DType::uint8, to_shape(x)});
    const Value table = graph_.input("table", {GetParam(), {tables, 256}});
    return graph_.add({.type = "ByteTable", .domain = kOwnDomain, .inputs = {bytes, table}}, "y")
        .index();
  }
  Graph graph_{all_ops(), "bytes"};
};

struct Looked {
  Dims x;
  int64_t tables;
};
const std::vector<Looked> kLooked{{{2, 3, 4, 6}, 3}, {{3, 3, 16, 150}, 3}, {{2, 3, 4, 6}, 1},
                                  {{2, 3, 3, 5}, 3}, {{2, 3, 3, 5}, 1},    {{2, 4, 4, 4}, 4},
                                  {{1, 5, 2, 4}, 5}, {{2, 1, 8, 9}, 1},    {{2, 7, 3, 3}, 7}};

TEST_P(EmulatedBytes, AreTheCpus) {
  for (const auto& [dims, tables] : kLooked) {
    SCOPED_TRACE(join(text_of(dims), " of ", tables));
    const int node = table_of(dims, tables);
    std::vector<uint8_t> bytes;
    std::vector<float> values;
    for (int64_t i = 0; i < element_count(dims); ++i)
      bytes.push_back(static_cast<uint8_t>(i * i % 251 + i % 7));
    for (int64_t i = 0; i < tables * 256; ++i) values.push_back(0.37F * static_cast<float>(i) - 90);
    const std::vector<Literal> operands{Literal::of<uint8_t>(bytes, dims),
                                        numbers(GetParam(), {tables, 256}, values)};
    const NodeRun cpu{DeviceKind::cpu, false}, rows{DeviceKind::gpu, false},
        innermost{DeviceKind::gpu, true, true};
    const Literal expected = cpu.results(graph_.node(node), operands)[0];
    EXPECT_TRUE(rows.results(graph_.node(node), operands)[0] == expected);
    EXPECT_TRUE(innermost.results(graph_.node(node), operands)[0] == expected);
  }
}

// The shapes above reach all variants of the kernels.
TEST_P(EmulatedBytes, AreTakenInPacksWhereTheyFit) {
  const auto described = [&](const Dims& x, int64_t tables, bool innermost) {
    const int node = table_of(x, tables);
    return NodeRun{DeviceKind::gpu, innermost, true}.description(graph_.node(node));
  };
  EXPECT_EQ(described({2, 3, 4, 6}, 3, true), "packs of pixels, colours innermost");
  EXPECT_EQ(described({2, 3, 4, 6}, 3, false), "packs");
  EXPECT_EQ(described({2, 4, 4, 4}, 4, true), "channels innermost");
  EXPECT_EQ(described({2, 3, 3, 5}, 3, true), "channels innermost");
  EXPECT_EQ(described({2, 3, 3, 5}, 3, false), "");
  EXPECT_EQ(described({1, 5, 2, 4}, 5, false), "");
}

INSTANTIATE_TEST_SUITE_P(Types, EmulatedBytes,
                         ::testing::Values(DType::float32, DType::float16, DType::bfloat16));

}  // namespace
}  // namespace lockstep::testing
