// SPDX-License-Identifier: Apache-2.0
#include "graph/name_table.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockstep {
namespace {

// Behaves like std::unordered_map through insertions, removals and renamings in any order, while it
// grows.
TEST(NameTable, FindsAsAMapDoes) {
  NameTable table;
  std::vector<std::string> names;
  std::unordered_map<std::string, int> map;
  const auto name_of = [&](int id) -> const std::string& { return names[static_cast<size_t>(id)]; };
  std::mt19937 random(7);
  const auto drawn = [&] { return "v" + std::to_string(random() % 3000); };
  int removed = 0, refused = 0;
  for (int round = 0; round < 40'000; ++round) {
    const std::string name = drawn();
    if (random() % 3 == 0) {
      removed += static_cast<int>(map.erase(name));
      table.erase(name, name_of);
    } else {
      const int id = static_cast<int>(names.size());
      names.push_back(name);
      const bool fresh = map.emplace(name, id).second;
      refused += fresh ? 0 : 1;
      ASSERT_EQ(table.insert(name, id, name_of), fresh) << name;
    }
    const std::string asked = drawn();
    const auto found = map.find(asked);
    ASSERT_EQ(table.find(asked, name_of), found == map.end() ? NameTable::kNone : found->second);
  }
  for (const auto& [name, id] : map) EXPECT_EQ(table.find(name, name_of), id) << name;
  EXPECT_GT(removed, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(NameTable, IsEmptyAtFirst) {
  const auto name_of = [](int) { return std::string(); };
  NameTable table;
  EXPECT_EQ(table.find("x", name_of), NameTable::kNone);
  table.erase("x", name_of);
  table.reserve(1000);
  EXPECT_EQ(table.find("x", name_of), NameTable::kNone);
}

}  // namespace
}  // namespace lockstep
