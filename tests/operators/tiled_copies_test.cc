// SPDX-License-Identifier: Apache-2.0
// Row-major filters with copies in tiles that an update writes, and with gradients in tiles. The
// bits equal an entirely row-major update.
#include <gtest/gtest.h>

#include "lockstep/operators.h"
#include "operators/elementwise/casts.h"
#include "tests/support/threads.h"
#include "tests/support/update_of_many.h"

namespace lockstep::testing {
namespace {

// A vector; filters of 1x1 and larger, with a single column of tiles, and with a plane larger than
// an update's chunk; for tiles of 8, a filter with a number of outputs that 16 does not divide.
const std::vector<Dims> kTrained{{7},          {32, 320, 1, 1}, {64, 32, 3, 3}, {32, 32, 2, 7},
                                 {3, 5, 1, 1}, {32, 32, 17, 16}};
const Dims kSmallTiled{40, 24, 3, 3};

const std::vector<FilterTiles> kForms{
    {16, Turned::no, Pairs::none}, {16, Turned::each, Pairs::none}, {16, Turned::all, Pairs::none},
    {16, Turned::no, Pairs::flat}, {16, Turned::each, Pairs::flat}, {16, Turned::all, Pairs::flat},
    {16, Turned::no, Pairs::deep}, {16, Turned::each, Pairs::deep}, {8, Turned::no, Pairs::none},
    {8, Turned::each, Pairs::none}};

bool fits(const FilterTiles& tiles, const Dims& dims) {
  return dims.size() == 4 && dims[0] % tiles.outputs() == 0 && dims[1] % tiles.inputs() == 0;
}

std::vector<Dims> parameters_of(const FilterTiles& tiles) {
  std::vector<Dims> all = kTrained;
  if (tiles.side == 8) all.push_back(kSmallTiled);
  return all;
}

UpdateOfMany row_major_updates(const std::vector<Dims>& parameters, DType type) {
  UpdateOfMany updates;
  for (const Dims& dims : parameters) {
    updates.params.push_back({DType::float32, dims});
    updates.gradients.push_back({type, dims});
  }
  updates.copies_to = type;
  for (std::size_t k = 0; k < parameters.size(); ++k)
    updates.copies.push_back({static_cast<int64_t>(k), Layout()});
  return updates;
}

// Each filter that fits has a copy in `copied` and a row-major copy.
void expect_bits_of_rows(const FilterTiles& gradient, const FilterTiles& copied, DType type,
                         int threads) {
  SCOPED_TRACE(join("gradient ", text_of(gradient), ", copies ", text_of(copied), " of ", type,
                    ", ", threads, " threads"));
  const std::vector<Dims> parameters = parameters_of(gradient);
  const UpdateOfMany rows = row_major_updates(parameters, type);
  UpdateOfMany tiles = rows;
  tiles.copies.clear();
  int tiled = 0;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const auto number = static_cast<int64_t>(k);
    if (fits(gradient, parameters[k])) tiles.gradients[k].layout = Layout::in(gradient);
    if (fits(copied, parameters[k])) {
      tiles.copies.push_back({number, Layout::in(copied)});
      ++tiled;
    }
    tiles.copies.push_back({number, Layout()});
  }
  ASSERT_GE(tiled, 4);
  const std::vector<LaidTensor> expected = rows.results(1), made = tiles.results(threads);
  for (std::size_t i = 0; i < rows.places().new_copy(0); ++i)
    EXPECT_TRUE(made[i].values() == expected[i].values()) << "result " << i;
  for (std::size_t c = 0; c < tiles.copies.size(); ++c) {
    const auto k = static_cast<std::size_t>(tiles.copies[c].param);
    EXPECT_TRUE(made[tiles.places().new_copy(c)].values() ==
                expected[rows.places().new_copy(k)].values())
        << "a copy of " << text_of(parameters[k]) << tiles.copies[c].layout.text();
  }
}

TEST(TiledCopies, AndGradientsInTilesHaveTheBitsOfRows) {
  constexpr DType kTypes[] = {DType::bfloat16, DType::float16, DType::float32};
  for (std::size_t i = 0; i < kForms.size(); ++i)
    for (const int threads : {1, 3})
      expect_bits_of_rows(kForms[i], kForms[(i + threads) % kForms.size()],
                          kTypes[(i + threads) % 3], usable_threads(threads));
}

TEST(TiledCopies, AreCastToAsUpdatesWriteThem) {
  for (const FilterTiles& tiles : kForms)
    for (const int threads : {1, 3}) {
      Graph graph(all_ops(), "casts");
      std::vector<Value> inputs;
      std::vector<LaidTensor> in, out;
      for (const Dims& dims : parameters_of(tiles)) {
        inputs.push_back(graph.input(join("x", in.size()), {DType::float32, to_shape(dims)}));
        in.emplace_back(TensorDesc{DType::float32, dims}, -3, 0.37F);
        out.emplace_back(
            TensorDesc{DType::bfloat16, dims, fits(tiles, dims) ? Layout::in(tiles) : Layout()});
      }
      const Node node = graph.add({.type = "Casts",
                                   .domain = kOwnDomain,
                                   .inputs = inputs,
                                   .attributes = {{"to", static_cast<int64_t>(DType::bfloat16)}},
                                   .outputs = static_cast<int>(out.size())},
                                  {});
      run_on_cpu(node, in, out, usable_threads(threads));
      for (std::size_t k = 0; k < in.size(); ++k) {
        const LaidTensor expected({DType::bfloat16, in[k].desc().dims}, -3, 0.37F);
        EXPECT_TRUE(out[k].values() == expected.values())
            << text_of(out[k].desc()) << ", " << threads << " threads";
      }
    }
}

}  // namespace
}  // namespace lockstep::testing
