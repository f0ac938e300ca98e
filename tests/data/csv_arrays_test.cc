// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "data/arrays/arrays.h"
#include "graph/file.h"
#include "tests/support/arrays.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

using Columns = std::map<std::string, std::vector<std::string>>;

struct CsvCase {
  explicit CsvCase(const std::string& text) { write_file(path(), text); }
  std::string path() const { return folder / "t.csv"; }
  ArraySet set(std::vector<ArrayFeed> feeds = {}, Columns columns = {},
               int64_t memory = 1 << 20) const {
    return ArraySet({.path = path(),
                     .feeds = std::move(feeds),
                     .columns = std::move(columns),
                     .memory = memory});
  }
  TemporaryFolder folder;
};

TEST(CsvArrays, TakeColumnsByNameNumberOrMapping) {
  const CsvCase csv("a,x[0],x[1],z.0,z.1,b\n1,2,3,4,5,6.5\n-1,+2,3e0,4,5,nan\n");
  const std::vector<Literal> all = csv.set({{.name = "x", .dtype = DType::float32},
                                            {.name = "z"},
                                            {.name = "a"},
                                            {.name = "p", .dtype = DType::float64},
                                            {.name = "b", .dtype = DType::float32}},
                                           {{"p", {"b", "a"}}, {"q", {"z.0"}}})
                                       .examples(0, 2);
  EXPECT_EQ(all[0], Literal::of<float>(std::vector<float>{2, 3, 2, 3}, {2, 2}));
  EXPECT_EQ(all[1], Literal::of<int64_t>(std::vector<int64_t>{4, 5, 4, 5}, {2, 2}));
  EXPECT_EQ(all[2], literal_of<int64_t>({1, -1}));
  EXPECT_EQ(values_of<double>(all[3])[1], 1);
  EXPECT_TRUE(std::isnan(values_of<float>(all[4])[1]));
  expect_error([&] { csv.set({{.name = "p"}}, {{"p", {"b", "c"}}}); }, "t.csv", "no column 'c'");
  expect_error([&] { csv.set({{.name = "w"}}); }, "no array 'w'", "'a', 'b', 'x', 'z'");
}

TEST(CsvArrays, TakeAnyShapeOfTheirNumber) {
  const CsvCase csv("p.0,p.1,p.2,p.3\n1,2,3,4\n");
  const std::vector<Literal> all =
      csv.set({{.name = "p", .dtype = DType::float32, .dims = Dims{1, 2, 2}}}).examples(0, 1);
  EXPECT_EQ(all[0].dims(), (Dims{1, 1, 2, 2}));
  expect_error([&] { csv.set({{.name = "p", .dtype = DType::float32, .dims = Dims{5}}}); }, "t.csv",
               "[4]", "[5]");
}

TEST(CsvArrays, NameFileLineRowAndColumnOfAMistake) {
  const auto expect = [](const std::string& text, const auto&... parts) {
    const CsvCase csv(text);
    expect_error(
        [&] {
          csv.set({{.name = "a", .dtype = DType::float32}, {.name = "b"}});
        },
        "t.csv", parts...);
  };
  expect("a,b\n1,2\n\"3\",x\n", "t.csv:3 (row 1)", "column 'b' has 'x'", "not a number");
  expect("a,b\n1,2\n,4\n", "t.csv:3 (row 1)", "column 'a' is empty", "missing");
  expect("a,b\n1,2\n3\n", "t.csv:3 (row 1)", "1 cells", "2 columns");
  expect("a,b\n1,2\n3,4,5\n", "t.csv:3 (row 1)", "3 cells");
  expect("a,b\n1,2\n\n3,4\n", "t.csv:3", "empty line");
  expect("a,b\n1,2\n\"3\"4,4\n", "t.csv:3", "closing quote");
  expect("a,b\n1,\"2\n", "t.csv:2", "not closed");
  expect("a,b\n1,2\n1e999,4\n", "t.csv:3 (row 1)", "'1e999'");
  expect("a,a,b\n1,2,3\n", "two columns are called 'a'");
  expect("a,b\n", "no examples");
  expect("", "the file is empty");
  const CsvCase csv("a,b\n1,2\n3,4.5\n");
  expect_error([&] { csv.set({{.name = "b", .dtype = DType::int64}}); }, "t.csv:3 (row 1)",
               "column 'b' has '4.5'", "integers");
}

TEST(CsvArrays, AreDecodedIntoATemporaryFileBeyondTheMemory) {
  std::string text = "x.0,x.1,y\r\n";
  constexpr int64_t kRows = 300'000;
  for (int64_t i = 0; i < kRows; ++i)
    text += join(i, ",", 0.25 * double(i % 1000), ",", i % 7, "\r\n");
  const CsvCase csv(text);
  const std::vector<ArrayFeed> feeds{{.name = "x", .dtype = DType::float64}, {.name = "y"}};
  const ArraySet held({.path = csv.path(), .feeds = feeds, .memory = int64_t{1} << 30});
  const ArraySet read(
      {.path = csv.path(), .feeds = feeds, .memory = 1000, .scratch = csv.folder.path()});
  EXPECT_TRUE(held.is_held());
  EXPECT_FALSE(read.is_held());
  EXPECT_EQ(held.digest(), read.digest());
  EXPECT_EQ(held.examples(0, kRows), read.examples(0, kRows));
  const std::vector<Literal> last = read.examples(kRows - 1, 1);
  EXPECT_EQ(values_of<double>(last[0]), (std::vector<double>{kRows - 1, 0.25 * 999}));
  EXPECT_EQ(values_of<int64_t>(last[1])[0], (kRows - 1) % 7);
}

}  // namespace
}  // namespace lockstep::testing
