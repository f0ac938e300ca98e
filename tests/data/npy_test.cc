// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include <gtest/gtest.h>

#include "graph/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

TEST(Npy, ReadsEmptyArraysOfAnyShape) {
  const TemporaryFolder folder;
  const std::string path = folder / "empty.npy";
  for (const Dims& dims : {Dims{0}, Dims{33, 0}, Dims{0, 1 << 20}, Dims{1 << 30, 0, 1 << 20}}) {
    write_npy(path, Literal(DType::float32, dims));
    const Literal value = read_npy(path);
    EXPECT_EQ(value.dims(), dims);
    EXPECT_TRUE(value.bytes().empty());
  }
}

TEST(Npy, RefusesSizesWhoseProductIsNoNumber) {
  const TemporaryFolder folder;
  const std::string path = folder / "large.npy";
  write_npy(path, Literal(DType::float32, {0, 1 << 30, 1 << 30}));
  std::string text = read_file(path);
  text.replace(text.find("1073741824"), 10, "9999999999");
  write_file(path, text);
  expect_error([&] { read_npy(path); }, "large.npy", "truncated");
  write_npy(path, Literal(DType::float32, {2, 3}));
  text = read_file(path);
  text.replace(text.find("(2,"), 3, "(3,");
  write_file(path, text);
  expect_error([&] { read_npy(path); }, "large.npy", "truncated");
}

}  // namespace
}  // namespace lockstep::testing
