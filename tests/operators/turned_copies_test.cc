// Filters in tiles that an update writes a second time, in turned ones.
#include <gtest/gtest.h>

#include <cmath>

#include "operators/all.h"
#include "operators/optimizer/momentum.h"
#include "operators/optimizer/optimizer.h"
#include "operators/optimizer/update_places.h"
#include "tests/support/channel_blocks.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

// Beside parameters whose sizes no tile divides; in all, several threads' worth of elements. In
// tiles of 8 the last filter ends within a piece of an update.
const std::vector<Dims> kParameters{{7},  {64, 128, 3, 1}, {3, 5, 1, 1}, {128, 320, 1, 1},
                                    {11}, {16, 80, 3, 3}};
const std::vector<int64_t> kFilters{1, 3, 5};
const std::vector<int> kTurned{turned_tiles_of_side(16), tiles_turned_each_of_side(16),
                               tiles_turned_each_of_side(8)};

struct Operand {
  TensorDesc desc;
  std::vector<float> values;

  explicit Operand(TensorDesc of, float first = 0, float step = 0)
      : desc(std::move(of)), values(static_cast<std::size_t>(desc.count())) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = first + step * static_cast<float>(i % 977);
  }
  Tensor tensor() { return {desc, values.data()}; }
};

bool is_filter(std::size_t k) { return kParameters[k].size() == 4 && k % 2 == 1; }

TensorDesc parameter(std::size_t k, int side) {
  return {DType::float32, kParameters[k], is_filter(k) ? tiles_of_side(side) : 1};
}

void expect_turned(int layout, int threads) {
  const int side = side_of_tiles(layout);
  const std::size_t n = kParameters.size();
  Graph graph(all_ops(), "updates");
  std::vector<Value> inputs;
  std::vector<Operand> in, out;
  const auto add = [&](const std::string& name, const Operand& operand) {
    inputs.push_back(graph.input(name, {DType::float32, to_shape(operand.desc.dims)}));
    in.push_back(operand);
  };
  for (const char* name : {"momentum", "param"})
    for (std::size_t k = 0; k < n; ++k) {
      add(join(name, k), Operand(parameter(k, side), static_cast<float>(k), 0.25F));
      out.emplace_back(parameter(k, side));
    }
  for (const int64_t k : kFilters) {
    inputs.push_back(none);
    in.emplace_back(TensorDesc{DType::undefined, {0}});
    TensorDesc copy = parameter(static_cast<std::size_t>(k), side);
    copy.channel_block = layout;
    out.emplace_back(copy, NAN);
  }
  for (std::size_t k = 0; k < n; ++k)
    add(join("gradient", k), Operand(parameter(k, side), 1, -0.125F));
  add("rate", Operand({DType::float32, {1}}, 0.5F));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < out.size(); ++i) names.push_back(join("made", i));
  Attributes attributes = MomentumRule{}.attributes();
  attributes.push_back({"factors", std::vector<float>(n, 1)});
  attributes.push_back({"decays", std::vector<float>(n, 0.01F)});
  attributes.push_back({"copies", kFilters});
  attributes.push_back({"copies_to", static_cast<int64_t>(DType::float32)});
  const Node node = graph.add({.type = type_of_many(MomentumRule::kType),
                               .domain = kOwnDomain,
                               .inputs = inputs,
                               .attributes = attributes,
                               .outputs = static_cast<int>(out.size()),
                               .output_names = names},
                              {});

  KernelRequest request{.node = node, .threads = threads};
  std::vector<Tensor> operands, results;
  for (Operand& operand : in) {
    request.in.push_back(operand.desc);
    operands.push_back(operand.tensor());
  }
  for (Operand& result : out) {
    request.out.push_back(result.desc);
    results.push_back(result.tensor());
  }
  const auto kernel = table_for(all_kernels(), {DeviceKind::cpu, 0}).choose(request).kernel;
  std::vector<std::byte> workspace(kernel->workspace_bytes());
  kernel->run({operands, results, workspace.data(), RunContext{}});

  const auto places = UpdatePlaces::of_many(1, n, kFilters.size());
  for (std::size_t c = 0; c < kFilters.size(); ++c) {
    const Operand& copy = out[places.new_copy(c)];
    const Operand& param = out[places.new_param(static_cast<std::size_t>(kFilters[c]))];
    EXPECT_TRUE(row_major(copy.values, copy.desc) == row_major(param.values, param.desc))
        << "filter " << c << text_of_layout(layout) << ", " << threads << " threads";
    EXPECT_NE(param.values[1], param.values[2]);
  }
}

TEST(TurnedCopies, HoldTheUpdatedFilters) {
  for (const int layout : kTurned)
    for (const int threads : {1, 2, 3}) expect_turned(layout, usable_threads(threads));
}

}  // namespace
}  // namespace lockstep::testing
