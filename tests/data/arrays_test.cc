// SPDX-License-Identifier: Apache-2.0
// tests/python/check_arrays.py compares the readers with NumPy and safetensors.
#include "data/arrays/arrays.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "data/arrays/array_files.h"
#include "graph/file.h"
#include "runtime/state/safetensors.h"
#include "tests/support/arrays.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/zip_files.h"

namespace lockstep::testing {
namespace {

const std::string kX = "x", kY = "y";

ArrayFeed feed(const std::string& name, DType dtype, std::optional<Dims> dims = {}) {
  return {.name = name, .dtype = dtype, .dims = std::move(dims)};
}

// The same seven examples, written in each way.
void write_set(const TemporaryFolder& folder, const std::string& way) {
  const Literal x = counting<float>({7, 3}, 0.5F), y = counting<int64_t>({7}, 100);
  const auto part = [&](const Literal& all, int64_t first, int64_t count) {
    Dims dims = all.dims();
    dims[0] = count;
    Literal rows(all.dtype(), dims);
    const std::size_t each = all.bytes().size() / 7;
    std::copy_n(all.bytes().begin() + first * each, count * each, rows.bytes().begin());
    return rows;
  };
  if (way == "npy") {
    write_npy(folder / "x.npy", x);
    write_npy(folder / "y.npy", y);
  } else if (way == "shards") {
    write_npy(folder / "x-00000.npy", part(x, 0, 4));
    write_npy(folder / "x-00001.npy", part(x, 4, 0));
    write_npy(folder / "x-00002.npy", part(x, 4, 3));
    write_npy(folder / "y-00001-of-00002.npy", part(y, 0, 1));
    write_npy(folder / "y-00002-of-00002.npy", part(y, 1, 6));
  } else if (way == "npz") {
    write_file(folder / "all.npz", npz_of({{"x", x}, {"y", y}}, false));
  } else if (way == "deflated") {
    write_file(folder / "part-00000.npz",
               npz_of({{"x", part(x, 0, 5)}, {"y", part(y, 0, 5)}}, true));
    write_file(folder / "part-00001.npz",
               npz_of({{"y", part(y, 5, 2)}, {"x", part(x, 5, 2)}}, true));
  } else if (way == "npz of a feed") {
    write_file(folder / "x.npz", npz_of({{"arr_0", x}}, true));
    write_file(folder / "y.npz", npz_of({{"y", y}}, false));
  } else if (way == "safetensors") {
    write_safetensors(folder / "all.safetensors", {{"x", view_of(x)}, {"y", view_of(y)}}, {});
  } else {
    std::string text = "y,other,x.0,x.1,x.2\r\n";
    for (int i = 0; i < 7; ++i)
      text += join(100 + i, ",\"a \"\"word\"\",\n in quotes\",", 3 * i, ".5, ", 3 * i + 1, ".5,\"",
                   3 * i + 2, ".5\"\r\n");
    write_file(folder / "all.csv", text + "\r\n");
  }
}

class ArraySetOfEachKind : public ::testing::TestWithParam<const char*> {};

TEST_P(ArraySetOfEachKind, HasTheSameExamplesInMemoryAndInFiles) {
  const TemporaryFolder folder;
  write_set(folder, GetParam());
  std::string digest;
  for (const int64_t memory : {int64_t{0}, int64_t{1} << 20}) {
    const ArraySet set({.path = folder.path(),
                        .feeds = {feed(kY, DType::int64), feed(kX, DType::float32)},
                        .memory = memory});
    EXPECT_EQ(set.size(), 7);
    const std::vector<Literal> all = set.examples(2, 5);
    EXPECT_EQ(all[0], counting<int64_t>({5}, 102));
    EXPECT_EQ(all[1], counting<float>({5, 3}, 6.5F));
    EXPECT_TRUE(digest.empty() || digest == set.digest());
    digest = set.digest();
    expect_error([&] { set.examples(5, 3); }, "examples 5 to 8 of 7");
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, ArraySetOfEachKind,
                         ::testing::Values("npy", "shards", "npz", "deflated", "npz of a feed",
                                           "safetensors", "csv"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, ' ');
                           return name;
                         });

TEST(ArraySet, IsHeldIfItFitsTheMemory) {
  const TemporaryFolder folder;
  write_set(folder, "npy");
  EXPECT_TRUE(ArraySet({.path = folder.path(), .memory = 140}).is_held());  // 84 and 56 bytes
  EXPECT_FALSE(ArraySet({.path = folder.path(), .memory = 139}).is_held());
}

TEST(ArraySet, ConvertsToTheTypeThatANetworkAsksFor) {
  const TemporaryFolder folder;
  write_npy(folder / "x.npy", literal_of<double>({0.1, 1e300, -2}));
  write_npy(folder / "y.npy", literal_of<int32_t>({-1, 7, 1 << 30}));
  write_npy(folder / "z.npy", literal_of<uint8_t>({0, 255, 2}));
  const ArraySet set({.path = folder.path(),
                      .feeds = {feed("x", DType::float32),
                                feed("y", DType::int64),
                                feed("z", DType::float32, Dims{1}),
                                {.name = "whole", .source = "z", .dtype = DType::int32}}});
  const std::vector<Literal> all = set.examples(0, 3);
  EXPECT_EQ(all[0], literal_of<float>({0.1F, std::numeric_limits<float>::infinity(), -2}));
  EXPECT_EQ(all[1], literal_of<int64_t>({-1, 7, 1 << 30}));
  EXPECT_EQ(all[2], Literal::of<float>(std::vector<float>{0, 255, 2}, {3, 1}));
  EXPECT_EQ(all[3], literal_of<int32_t>({0, 255, 2}));
}

TEST(ArraySet, NamesFileAndRowOfANumberThatDoesNotFit) {
  const TemporaryFolder folder;
  write_npy(folder / "y-00000.npy", literal_of<int64_t>({1, 2}));
  write_npy(folder / "y-00001.npy", literal_of<int64_t>({3, int64_t{1} << 31}));
  write_npy(folder / "x.npy", literal_of<float>({1, 2, 3, 4}));
  const ArraySet set({.path = folder.path(), .feeds = {feed("y", DType::int32)}});
  EXPECT_EQ(set.examples(0, 3)[0], literal_of<int32_t>({1, 2, 3}));
  expect_error([&] { set.examples(3, 1); }, "y-00001.npy, row 1", "int64", "int32", "'y'");
  expect_error([&] { ArraySet({.path = folder.path(), .feeds = {feed("x", DType::int64)}}); },
               "x.npy", "float32", "int64", "'x'", "astype");
}

TEST(ArraySet, NamesFilesThatDoNotFitToEachOther) {
  const TemporaryFolder folder;
  write_npy(folder / "x.npy", counting<float>({4, 2}));
  write_npy(folder / "y.npy", counting<int64_t>({3}));
  expect_error([&] { ArraySet({.path = folder.path()}); }, "x.npy", "4 examples", "y.npy", "has 3");
  write_npy(folder / "y-00000.npy", counting<int64_t>({3}));
  expect_error([&] { ArraySet({.path = folder.path()}); }, "y.npy", "y-00000.npy", "left over");
  std::filesystem::remove(folder / "y.npy");
  write_npy(folder / "y-00002.npy", counting<int64_t>({1}));
  expect_error([&] { ArraySet({.path = folder.path()}); }, "shard 1 of 'y'", "y-00002.npy");
  write_npy(folder / "y-00001.npy", counting<int32_t>({1}));
  expect_error([&] { ArraySet({.path = folder.path()}); }, "y-00000.npy has rows of int64",
               "y-00001.npy has rows of int32");
  expect_error([&] { ArraySet({.path = folder.path(), .feeds = {{.name = "labels"}}}); },
               "no array 'labels'", "'x', 'y'");
  write_file(folder / "more.npz", npz_of({{"x", counting<float>({4, 2})}}, false));
  expect_error([&] { ArraySet({.path = folder.path()}); }, "'x' is in", "more.npz", "x.npy");
  expect_error([&] { ArraySet({.path = folder / "none"}); }, "there is no file or folder");
}

TEST(ArraySet, NamesTheShardThatLacksAnArray) {
  const TemporaryFolder folder;
  write_file(folder / "p-00000.npz", npz_of({{"x", counting<float>({4})}}, false));
  write_file(folder / "p-00001.npz", npz_of({{"z", counting<float>({4})}}, false));
  expect_error([&] { ArraySet({.path = folder.path(), .feeds = {{.name = "x"}}}); },
               "p-00001.npz: lacks the array 'x'");
}

TEST(ArraySet, FitsDimensionsOfOneAndRefusesOthers) {
  const TemporaryFolder folder;
  write_npy(folder / "x.npy", counting<float>({2, 1, 3}));
  const auto dims_for = [&](const Dims& dims) {
    return ArraySet({.path = folder.path(), .feeds = {feed("x", DType::float32, dims)}})
        .feeds()[0]
        .dims;
  };
  EXPECT_EQ(dims_for({1, 3}), (Dims{1, 3}));
  EXPECT_EQ(dims_for({-1, -1}), (Dims{1, 3}));
  EXPECT_EQ(dims_for({3}), (Dims{3}));
  EXPECT_EQ(dims_for({1, -1, 1}), (Dims{1, 3, 1}));
  expect_error([&] { dims_for({4}); }, "x.npy", "[1,3]", "[4]");
  expect_error([&] { dims_for({}); }, "x.npy", "[1,3]");
}

TEST(ArraySet, KeepsTheSmallArraysOfALargeSet) {
  const TemporaryFolder folder;
  write_npy(folder / "x.npy", counting<float>({64, 16}));
  write_npy(folder / "y.npy", counting<int64_t>({64}));
  const ArraySet set({.path = folder.path(), .memory = 64 * 8});
  EXPECT_FALSE(set.is_held());
  std::filesystem::resize_file(folder / "y.npy", 100);
  EXPECT_EQ(set.examples(0, 64)[1], counting<int64_t>({64}));
  std::filesystem::resize_file(folder / "x.npy", 100);
  expect_error([&] { set.examples(63, 1); }, "x.npy", "changed after it was opened");
}

TEST(ArraySet, NoticesAFileThatChanges) {
  const TemporaryFolder folder;
  write_npy(folder / "x.npy", counting<float>({64}));
  const ArraySet set({.path = folder.path(), .memory = 0});
  const std::string text = read_file(folder / "x.npy");
  EXPECT_EQ(set.examples(0, 64)[0], counting<float>({64}));
  std::filesystem::resize_file(folder / "x.npy", text.size() - 4);
  expect_error([&] { set.examples(63, 1); }, "x.npy", "changed after it was opened");
  expect_error([&] { ArraySet({.path = folder.path()}); }, "x.npy", "truncated");
}

TEST(ArraySet, HasAnotherDigestIfNamesTypesOrNumbersDiffer) {
  const TemporaryFolder folder;
  write_npy(folder / "x.npy", counting<float>({64}));
  const std::string digest = ArraySet({.path = folder.path()}).digest();
  EXPECT_EQ(digest.substr(0, 13), "64 examples, ");
  write_npy(folder / "x.npy", counting<float>({64}, 1));
  EXPECT_NE(ArraySet({.path = folder.path()}).digest(), digest);
  write_npy(folder / "x.npy", counting<int32_t>({64}));
  EXPECT_NE(ArraySet({.path = folder.path()}).digest(), digest);
}

TEST(ArraySet, RefusesDamagedZipFiles) {
  const TemporaryFolder folder;
  const std::string path = folder / "all.npz";
  for (const bool deflate : {false, true}) {
    const std::string whole = npz_of({{"x", counting<float>({1000})}}, deflate);
    for (const std::size_t cut : {std::size_t{1}, std::size_t{30}, whole.size() / 2}) {
      write_file(path, whole.substr(0, whole.size() - cut));
      expect_error([&] { ArraySet({.path = path}); }, "all.npz");
    }
  }
  std::string damaged = npz_of({{"x", counting<float>({1000})}}, true);
  damaged[200] ^= 1;
  write_file(path, damaged);
  expect_error([&] { ArraySet({.path = path}); }, "all.npz/x.npy: its data is damaged");
  write_file(path, "not a zip file, but a text that is long enough to be one");
  expect_error([&] { ArraySet({.path = path}); }, "all.npz: not a ZIP file");
}

TEST(ArrayFiles, ThatAreNoSingleTensorsMakeASet) {
  const Literal x = counting<float>({2}, 0);
  for (const auto& [file, is_of_set] :
       std::vector<std::pair<std::string, bool>>{{"x.npy", false},
                                                 {"x-2.npy", false},
                                                 {"x-of-00003.npy", false},
                                                 {".x-00000.npy", false},
                                                 {"x-00000.npy", true},
                                                 {"x-00001-of-00002.npy", true}}) {
    const TemporaryFolder folder;
    EXPECT_FALSE(has_files_of_sets(folder.path()));
    write_npy(folder / file, x);
    EXPECT_EQ(has_files_of_sets(folder.path()), is_of_set) << file;
  }
  for (const char* file : {"a.npz", "a.csv", "a.safetensors"}) {
    const TemporaryFolder folder;
    write_file(folder / file, "");
    EXPECT_TRUE(has_files_of_sets(folder.path())) << file;
  }
}

}  // namespace
}  // namespace lockstep::testing
