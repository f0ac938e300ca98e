// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "data/arrays/arrays.h"
#include "graph/file.h"
#include "lockstep/random.h"
#include "tests/support/arrays.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

// Examples of 1 to 9 tokens; the tokens of example i are 100 i, 100 i + 1, ..
struct Ragged {
  explicit Ragged(int64_t size, bool is_padded = false) {
    PhiloxSequence random(5, 1);
    std::vector<int32_t> tokens;
    std::vector<float> pairs;
    for (int64_t i = 0; i < size; ++i) {
      lengths.push_back(1 + random.below(9));
      for (int64_t place = 0; place < (is_padded ? 9 : lengths[i]); ++place) {
        const bool is_used = place < lengths[i];
        tokens.push_back(is_used ? int32_t(100 * i + place) : -7);
        pairs.push_back(is_used ? float(i) : -7);
        pairs.push_back(is_used ? float(place) : -7);
      }
    }
    const auto count = static_cast<int64_t>(tokens.size());
    write_npy(folder / "tokens.npy",
              Literal::of<int32_t>(tokens, is_padded ? Dims{size, 9} : Dims{count}));
    write_npy(folder / "pairs.npy",
              Literal::of<float>(pairs, is_padded ? Dims{size, 9, 2} : Dims{count, 2}));
    write_npy(folder / "tokens.lengths.npy", literal_of(lengths));
    write_npy(folder / "pairs.lengths.npy", literal_of(lengths));
    write_npy(folder / "y.npy", counting<int64_t>({size}));
  }
  ArraySetOptions options(std::vector<int64_t> buckets = {3, 6, 9}) const {
    return {.path = folder.path(),
            .feeds = {{.name = "tokens", .dtype = DType::int64, .dims = Dims{-1}, .padding = -1},
                      {.name = "attention", .source = "tokens.mask", .dtype = DType::boolean},
                      {.name = "pairs", .dtype = DType::float32, .padding = 0.5},
                      {.name = "y", .dtype = DType::int64}},
            .buckets = std::move(buckets)};
  }
  TemporaryFolder folder;
  std::vector<int64_t> lengths;
};

// A step's tensors, as a loader has them.
struct Step {
  Step(const ArrayBatches& batches, int64_t step) {
    for (const NamedDesc& tensor : batches.forms()[batches.form(step)])
      values.emplace_back(tensor.desc.dtype, tensor.desc.dims);
    std::vector<Tensor> tensors;
    for (Literal& value : values)
      tensors.push_back({{value.dtype(), value.dims()}, value.bytes().data()});
    for (int64_t item = batches.items(); item-- > 0;) batches.read(step, item, tensors);
  }
  std::vector<Literal> values;
};

void expect_ragged_rows(const Ragged& data, const Step& step, int64_t length) {
  const auto tokens = step.values[0].values<int64_t>();
  const auto mask = step.values[1].bytes();
  const auto pairs = step.values[2].values<float>();
  const auto y = step.values[3].values<int64_t>();
  EXPECT_EQ(step.values[2].dims(), (Dims{std::ssize(y), length, 2}));
  for (std::size_t row = 0; row < y.size(); ++row)
    for (int64_t place = 0; place < length; ++place) {
      const bool is_used = place < data.lengths[y[row]];
      const std::size_t at = row * length + place;
      EXPECT_EQ(tokens[at], is_used ? 100 * y[row] + place : -1);
      EXPECT_EQ(mask[at], std::byte(is_used));
      EXPECT_EQ(pairs[2 * at], is_used ? float(y[row]) : 0.5F);
      EXPECT_EQ(pairs[2 * at + 1], is_used ? float(place) : 0.5F);
    }
}

TEST(ArrayBatches, PadToTheSmallestBucketThatFits) {
  for (const bool is_padded : {false, true})
    for (const int64_t memory : {0, 1 << 20}) {
      const Ragged data(40, is_padded);
      ArraySetOptions options = data.options();
      options.memory = memory;
      const ArraySet set(options);
      const ArrayBatches batches(set, {.batch = 3});
      ASSERT_EQ(batches.forms().size(), 3U);
      EXPECT_EQ(batches.forms()[1][2].desc.dims, (Dims{3, 6, 2}));
      std::set<std::size_t> forms;
      for (int64_t step = 0; step < 40; ++step) {
        int64_t longest = 0;
        for (const int64_t example : batches.examples_of(step))
          longest = std::max(longest, data.lengths[example]);
        forms.insert(batches.form(step));
        EXPECT_EQ(batches.form(step), std::size_t(longest - 1) / 3);
        expect_ragged_rows(data, Step(batches, step), longest <= 3 ? 3 : longest <= 6 ? 6 : 9);
      }
      EXPECT_GE(forms.size(), 2U);
    }
}

TEST(ArrayBatches, OfAProcessHaveItsRowsInTheFormOfAll) {
  const Ragged data(50);
  const ArraySet set(data.options());
  const ArrayBatches all(set, {.batch = 6, .seed = 3});
  const ArrayBatches rest(set, {.batch = 6, .first = 2, .seed = 3});
  EXPECT_EQ(rest.items(), 4);
  for (const int64_t step : {17, 0, 5}) {
    EXPECT_EQ(all.form(step), rest.form(step));
    const Step whole(all, step), part(rest, step);
    for (std::size_t i = 0; i < whole.values.size(); ++i) {
      const auto end = whole.values[i].bytes(), own = part.values[i].bytes();
      EXPECT_TRUE(std::ranges::equal(end.last(own.size()), own));
    }
  }
}

// Of 100 examples in three files, in memory and not, with a feed that is converted.
TEST(ArrayBatches, ReadShortRowsTogether) {
  const TemporaryFolder folder;
  std::vector<float> x(200);
  std::iota(x.begin(), x.end(), 0.0F);
  const std::span<const float> all(x);
  int64_t first = 0;
  for (const auto& [name, rows] :
       {std::pair("x-00000.npy", 7), {"x-00001.npy", 50}, {"x-00002.npy", 43}}) {
    write_npy(folder / name, Literal::of<float>(all.subspan(2 * first, 2 * rows), {rows, 2}));
    first += rows;
  }
  std::vector<int32_t> y(100);
  std::iota(y.begin(), y.end(), 0);
  write_npy(folder / "y.npy", Literal::of<int32_t>(std::span<const int32_t>(y), {100}));
  for (const int64_t memory : {0, 1 << 20}) {
    const ArraySet set(
        {.path = folder.path(),
         .feeds = {{.name = "x", .dtype = DType::float32}, {.name = "y", .dtype = DType::int64}},
         .memory = memory});
    for (const bool shuffle : {false, true}) {
      const ArrayBatches batches(set, {.batch = 90, .first = 1, .shuffle = shuffle});
      EXPECT_EQ(batches.items(), 45);  // of two rows, the last one of one
      for (const int64_t step : {0, 3}) {
        const Step read(batches, step);
        const std::vector<int64_t> examples = batches.examples_of(step);
        for (std::size_t row = 0; row < 89; ++row) {
          EXPECT_EQ(read.values[0].values<float>()[2 * row], 2 * examples[row + 1]);
          EXPECT_EQ(read.values[0].values<float>()[2 * row + 1], 2 * examples[row + 1] + 1);
          EXPECT_EQ(read.values[1].values<int64_t>()[row], examples[row + 1]);
        }
      }
    }
  }
}

TEST(ArrayBatches, VisitEveryExampleOncePerEpoch) {
  const Ragged data(48);
  const ArraySet set(data.options());
  const ArrayBatches batches(set, {.batch = 4});
  std::vector<int64_t> first, second;
  for (int64_t step = 0; step < 24; ++step)
    for (const int64_t example : batches.examples_of(step))
      (step < 12 ? first : second).push_back(example);
  EXPECT_NE(first, second);
  for (auto* epoch : {&first, &second}) {
    std::ranges::sort(*epoch);
    EXPECT_EQ(*epoch, values_of<int64_t>(counting<int64_t>({48})));
  }
  // In any order of steps, as after a resume.
  const ArrayBatches again(set, {.batch = 4});
  for (const int64_t step : {23, 3, 11, 12}) {
    EXPECT_EQ(again.examples_of(step), batches.examples_of(step));
    EXPECT_EQ(Step(again, step).values, Step(batches, step).values);
  }
  const ArrayBatches other(set, {.batch = 4, .seed = 2});
  EXPECT_NE(other.examples_of(0), batches.examples_of(0));
  const ArrayBatches in_order(set, {.batch = 10, .shuffle = false});
  EXPECT_EQ(in_order.examples_of(4), (std::vector<int64_t>{40, 41, 42, 43, 44, 45, 46, 47, 0, 1}));
}

TEST(ArrayBatches, AreTheSameByALoaderOfAnyThreads) {
  const Ragged data(30);
  const ArraySet set(data.options());
  const ArrayBatches batches(set, {.batch = 7});
  for (const int threads : {1, 3}) {
    Loader loader(batches, threads);
    for (int64_t step = 0; step < 12; ++step) {
      const std::span<const Tensor> tensors = loader.get(step);
      const Step expected(batches, step);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::span<const std::byte> got(tensors[i].as<std::byte>(), tensors[i].desc.bytes());
        EXPECT_TRUE(std::ranges::equal(got, expected.values[i].bytes()));
      }
    }
  }
}

TEST(ArrayBatches, TakeOneLengthFromTheNetwork) {
  const Ragged data(20);
  ArraySetOptions options = data.options({});
  options.feeds[0].dims = {{12}};
  options.feeds[2].buckets = {12};
  const ArraySet set(options);
  ASSERT_EQ(set.forms(2).size(), 1U);
  EXPECT_EQ(set.forms(2)[0][0].desc.dims, (Dims{2, 12}));
  EXPECT_EQ(set.forms(2)[0][1].desc.dims, (Dims{2, 12}));  // the mask
  options.buckets = {3, 9};
  expect_error([&] { ArraySet{options}; }, "'tokens'", "length 12");
}

TEST(ArrayBatches, RefuseLongExamples) {
  const Ragged data(40);
  expect_error([&] { ArraySet(data.options({2, 4})); }, "tokens.npy", "length 9", "last bucket, 4");
  expect_error([&] { ArraySet(data.options({6, 3})); }, "ascending");
  expect_error([&] { ArraySet(data.options({0, 3})); }, "ascending");
}

TEST(ArrayBatches, NameLengthsThatDoNotFit) {
  const Ragged data(40);
  std::vector<int64_t> lengths = data.lengths;
  const auto expect = [&](const auto&... parts) {
    write_npy(data.folder / "tokens.lengths.npy", literal_of(lengths));
    expect_error([&] { ArraySet(data.options()); }, "tokens.lengths", parts...);
  };
  lengths[17] += 1;
  expect("tokens.npy", "40 lengths");
  lengths[17] = -1;
  expect("row 17", "-1");
  write_npy(data.folder / "tokens.lengths.npy", counting<float>({40}));
  expect_error([&] { ArraySet(data.options()); }, "tokens.lengths", "float32", "integer");
  ArraySetOptions options = data.options();
  options.feeds = {{.name = "m", .source = "y.mask"}};
  expect_error([&] { ArraySet{options}; }, "no array 'y.mask' for 'm'", "'y.lengths'");
}

TEST(ArrayBatches, RefusePaddingThatATypeDoesNotHave) {
  const Ragged data(4);
  ArraySetOptions options = data.options();
  options.feeds[0].padding = 0.5;
  expect_error([&] { ArraySet{options}; }, "'tokens'", "int64", "0.5");
}

}  // namespace
}  // namespace lockstep::testing
