// SPDX-License-Identifier: Apache-2.0
// Every type has all properties of its table row, and an error names a missing conversion.
#include "lockstep/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/type_names.h"
#include "lockstep/attributes.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

TEST(Types, AreFoundByTheirNames) {
  std::set<std::string_view> names, in_safetensors, in_npy;
  for (const TypeInfo& info : all_types()) {
    EXPECT_EQ(&info_of(info.type), &info);
    EXPECT_EQ(dtype_named(info.name), info.type);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(info.safetensors.empty() || in_safetensors.insert(info.safetensors).second);
    EXPECT_TRUE(info.npy.empty() || in_npy.insert(info.npy).second);
    // Every type with a size can be saved.
    EXPECT_EQ(info.safetensors.empty(), info.size == 0) << info.name;
  }
  EXPECT_EQ(names.size(), 14U);
  EXPECT_EQ(name_of(DType::undefined), "undefined");
  expect_error([] { dtype_named("float8"); }, "unknown element type 'float8'");
  expect_error([] { size_of(DType::string); }, "element type string cannot be stored");
}

TEST(Types, ThatAreNarrowAreFloatsOfFewerBytes) {
  int narrow = 0;
  for (const TypeInfo& info : all_types()) {
    if (!info.is_narrow) continue;
    ++narrow;
    EXPECT_TRUE(info.is_floating) << info.name;
    EXPECT_LT(info.size, size_of(DType::float32)) << info.name;
  }
  EXPECT_EQ(narrow, 2);
  EXPECT_EQ(narrow_names(), "float16 or bfloat16");
}

TEST(Types, AreConvertedOrRefusedByName) {
  for (const TypeInfo& info : all_types()) {
    const auto own_size = [&] {
      return with_floating(info.type, []<class T>() { return sizeof(T); });
    };
    const auto narrow_type = [&] {
      return with_narrow(info.type, []<class T>() { return dtype_of<T>(); });
    };
    if (info.is_floating) {
      EXPECT_EQ(own_size(), info.size) << info.name;
      const std::vector<float> numbers{-0.5F, 0, 1.5F};
      const Literal rounded = Literal::rounded<float>(info.type, numbers, {3});
      EXPECT_EQ(rounded.dtype(), info.type);
      with_floating(info.type, [&]<class T>() {
        EXPECT_TRUE(std::ranges::equal(rounded.values<T>(), numbers, {}, [](T x) {
          return static_cast<float>(x);
        })) << info.name;
      });
      EXPECT_EQ(Literal::rounded_scalar(info.type, 0.25).dims(), Dims());
    } else {
      expect_error(own_size, info.name);
      expect_error([&] { Literal::rounded_scalar(info.type, 1); }, info.name);
    }
    if (info.is_narrow)
      EXPECT_EQ(narrow_type(), info.type);
    else
      expect_error(narrow_type, info.name, "is not float16 or bfloat16");
  }
}

TEST(Types, HaveALibrarysNameOrAreRefused) {
  constexpr TypeName<char> kNames[] = {{DType::float32, 'f'}, {DType::int64, 'i'}};
  EXPECT_EQ(name_in(kNames, DType::int64, "the library"), 'i');
  expect_error([&] { name_in(kNames, DType::bfloat16, "the library"); },
               "the library does not take bfloat16");
}

}  // namespace
}  // namespace lockstep::testing
