// SPDX-License-Identifier: Apache-2.0
// A layout as a value, and kinds of devices as table rows.
#include <gtest/gtest.h>

#include <set>

#include "lockstep/device.h"
#include "lockstep/tensor.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

std::vector<FilterTiles> all_tiles() {
  std::vector<FilterTiles> all;
  for (const int side : {8, 16})
    for (const Turned turned : {Turned::no, Turned::each, Turned::all})
      for (const Pairs pairs : {Pairs::none, Pairs::flat, Pairs::deep})
        all.push_back({side, turned, pairs});
  return all;
}

TEST(LayoutType, IsOneOfFour) {
  EXPECT_TRUE(Layout().is_rows());
  EXPECT_EQ(Layout::blocks(1), Layout());
  EXPECT_EQ(Layout::channels_last(1), Layout());
  const Layout blocks = Layout::blocks(16), last = Layout::channels_last(16);
  EXPECT_TRUE(blocks.is_blocks() && last.is_channels_last() && blocks != last);
  EXPECT_EQ(blocks.block(), 16);
  for (const FilterTiles& tiles : all_tiles()) {
    const Layout layout = Layout::in(tiles);
    EXPECT_TRUE(layout.is_tiles() && !layout.is_rows() && !layout.is_blocks());
    EXPECT_EQ(layout.tiles(), tiles);
    EXPECT_EQ(layout.block(), 1);
  }
  for (const int64_t channels : {0, -8, 256})
    expect_error([&] { Layout::blocks(channels); }, join("blocks of ", channels, " channels"));
}

TEST(LayoutType, OrdersBlocksByTheirWidth) {
  EXPECT_LT(Layout::in({.side = 16}), Layout());
  EXPECT_LT(Layout(), Layout::blocks(8));
  EXPECT_LT(Layout::blocks(8), Layout::blocks(16));
  EXPECT_LT(Layout::blocks(16), Layout::channels_last(2));
}

// States are row-major, or in tiles that are neither transposed nor paired. Each layout has its own
// text.
TEST(LayoutType, SaysWhetherStatesMayLieSo) {
  std::set<std::string> texts{Layout().text(), Layout::blocks(8).text(),
                              Layout::channels_last(8).text()};
  EXPECT_TRUE(Layout().may_hold_states());
  EXPECT_FALSE(Layout::blocks(8).may_hold_states());
  EXPECT_FALSE(Layout::channels_last(8).may_hold_states());
  for (const FilterTiles& tiles : all_tiles()) {
    EXPECT_EQ(Layout::in(tiles).may_hold_states(),
              tiles.turned == Turned::no && tiles.pairs == Pairs::none);
    texts.insert(Layout::in(tiles).text());
  }
  EXPECT_EQ(texts.size(), 3 + all_tiles().size());
}

TEST(LayoutType, TellsATensorsBlocksAndPadding) {
  const TensorDesc padded{DType::float32, {2, 18, 3, 3}, Layout::blocks(16)},
      last{DType::float32, {2, 18, 3, 3}, Layout::channels_last(18)};
  EXPECT_TRUE(padded.padded());
  EXPECT_EQ(padded.places(), 2 * 32 * 9);
  EXPECT_EQ(padded.stored(), (Dims{2, 32, 3, 3}));
  EXPECT_EQ(text_of(padded), "float32[2,18,3,3]/c16");
  EXPECT_FALSE(last.padded());
  EXPECT_EQ(last.block(), 18);
  EXPECT_EQ(last.places(), last.count());
  EXPECT_EQ(text_of(last), "float32[2,18,3,3]/c18");
}

TEST(DeviceKinds, AreRowsOfOneTable) {
  std::set<std::string_view> texts, names;
  for (const DeviceInfo& info : all_device_kinds()) {
    EXPECT_EQ(&info_of(info.kind), &info);
    texts.insert(info.text);
    names.insert(info.name);
    EXPECT_EQ(parse_devices(join(info.text, ":1")), (std::vector<Device>{{info.kind, 1}}));
    EXPECT_EQ(text_of(Device{info.kind, 1}), join(info.text, ":1"));
    EXPECT_GE(info.alignment, 64U);
    EXPECT_FALSE(info.added.empty());
  }
  EXPECT_EQ(texts.size(), all_device_kinds().size());
  EXPECT_EQ(names.size(), all_device_kinds().size());
}

}  // namespace
}  // namespace lockstep::testing
