// SPDX-License-Identifier: Apache-2.0
// A program's data sets as data sets of the task `arrays`. tests/consumer/own_data.cc trains on
// one.
#include "app/arrays/own_source.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "lockstep/attributes.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

// Example i has x = [i, i + 0.5], label = i and, in uneven sets, i % 2 + 1 words of value i.
class CountedSet final : public OwnDataSet {
 public:
  explicit CountedSet(int64_t size, bool is_uneven = false) : size_(size), is_uneven_(is_uneven) {}

  int64_t size() const override { return size_; }
  std::string digest() const override { return said; }
  std::vector<MinibatchForm> forms(int64_t count) const override {
    if (bad) return bad(count);
    std::vector<MinibatchForm> forms;
    for (int64_t length = 1; length <= (is_uneven_ ? 2 : 1); ++length) {
      forms.push_back({{"x", {DType::float32, {count, 2}}}, {"label", {DType::int64, {count}}}});
      if (is_uneven_) forms.back().push_back({"words", {DType::int64, {count, length}}});
    }
    return forms;
  }
  std::size_t form_of(int64_t example) const override { return is_uneven_ ? example % 2 : 0; }
  void read(int64_t example, int64_t row, std::span<const Tensor> tensors) const override {
    for (int64_t i = 0; i < 2; ++i)
      tensors[0].as<float>()[2 * row + i] = static_cast<float>(example) + 0.5F * i;
    tensors[1].as<int64_t>()[row] = example;
    if (!is_uneven_) return;
    const int64_t length = tensors[2].desc.dims[1];
    for (int64_t i = 0; i < length; ++i) tensors[2].as<int64_t>()[length * row + i] = example;
  }
  std::unique_ptr<MinibatchSource> minibatches(const OwnBatches& options) const override {
    return make ? make(options) : nullptr;
  }

  std::string said;
  std::function<std::vector<MinibatchForm>(int64_t)> bad;
  std::function<std::unique_ptr<MinibatchSource>(const OwnBatches&)> make;

 private:
  int64_t size_;
  bool is_uneven_;
};

OwnDataRequest asking(std::vector<AskedTensor> tensors) {
  return {.held_out = false, .text = "some text", .tensors = std::move(tensors), .seed = 3};
}

std::unique_ptr<ExampleSet> opened(std::function<std::unique_ptr<OwnDataSet>()> open,
                                   const OwnDataRequest& request) {
  std::vector<std::string> fed;
  for (const AskedTensor& tensor : request.tensors) fed.push_back("fed_" + tensor.name);
  const OwnDataSource source{"counted", "numbers", [&](const OwnDataRequest&) { return open(); }};
  return own_examples(source, "DATA.TRAIN", request, fed);
}

std::unique_ptr<ExampleSet> counted(int64_t size, const OwnDataRequest& request,
                                    bool is_uneven = false) {
  return opened([&] { return std::make_unique<CountedSet>(size, is_uneven); }, request);
}

// The tensors of a form, with their memory.
struct Batch {
  explicit Batch(const MinibatchForm& form) {
    for (const NamedDesc& tensor : form) {
      literals.emplace_back(tensor.desc.dtype, tensor.desc.dims);
      tensors.push_back(view_of(literals.back()));
    }
  }
  std::vector<Literal> literals;
  std::vector<Tensor> tensors;
};

TEST(OwnExamples, HaveTheAskedTensorsInTheAskedOrder) {
  const auto set = counted(5, asking({{"label"}, {"x", DType::float32, Dims{-1}}}));
  EXPECT_EQ(set->size(), 5);
  EXPECT_EQ(set->digest(), "some text");
  EXPECT_EQ(set->description(), "fed_label int64, fed_x float32[2]");
  const auto forms = set->forms(3);
  ASSERT_EQ(forms.size(), 1U);
  ASSERT_EQ(forms[0].size(), 2U);
  EXPECT_EQ(forms[0][0].name, "fed_label");
  EXPECT_EQ(forms[0][1].desc.dims, (Dims{3, 2}));
  Batch batch(forms[0]);
  set->read(4, 1, batch.tensors);
  EXPECT_EQ(batch.tensors[0].as<int64_t>()[1], 4);
  EXPECT_EQ(batch.tensors[1].as<float>()[3], 4.5F);
  EXPECT_EQ(batch.tensors[1].as<float>()[0], 0);
}

TEST(OwnExamples, LeaveOutOtherTensorsOfUnevenExamples) {
  const auto set = counted(6, asking({{"label"}}), true);
  EXPECT_EQ(set->forms(2).size(), 2U);
  EXPECT_EQ(set->form_of(3), 1U);
  Batch batch(set->forms(2)[1]);
  for (int64_t example = 0; example < 2; ++example) set->read(example, example, batch.tensors);
  EXPECT_EQ(batch.tensors[0].as<int64_t>()[1], 1);
}

// Each epoch has every example once; two processes together have the minibatch of one.
TEST(OwnExamples, AreReadInARandomOrderOfTheirSeed) {
  const auto set = counted(6, asking({{"label"}, {"words"}}), true);
  const auto labels = [&](int64_t first, int64_t count, uint64_t seed, bool shuffle) {
    const auto source = set->minibatches(
        {.batch = 3, .first = first, .count = count, .seed = seed, .shuffle = shuffle});
    std::vector<int64_t> read;
    for (int64_t step = 0; step < 2; ++step) {
      Batch batch(source->forms()[source->form(step)]);
      for (int64_t item = 0; item < source->items(); ++item)
        source->read(step, item, batch.tensors);
      for (int64_t row = 0; row < source->items(); ++row)
        read.push_back(batch.tensors[0].as<int64_t>()[row]);
    }
    return read;
  };
  const auto all = labels(0, -1, 1, true);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 6U);
  EXPECT_EQ(labels(0, 3, 1, true), all);
  EXPECT_NE(labels(0, 3, 2, true), all);
  EXPECT_EQ(labels(0, 3, 1, false), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  const auto left = labels(0, 2, 1, true), right = labels(2, 1, 1, true);
  EXPECT_EQ((std::vector<int64_t>{left[0], left[1], right[0], left[2], left[3], right[1]}), all);
}

// A source without end, of one item for all rows.
class Steps final : public MinibatchSource {
 public:
  explicit Steps(std::vector<MinibatchForm> forms, std::size_t form = 0)
      : forms_(std::move(forms)), form_(form) {}
  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t) const override { return form_; }
  int64_t items() const override { return 1; }
  void read(int64_t step, int64_t, std::span<const Tensor> tensors) const override {
    for (int64_t row = 0; row < tensors[1].desc.dims[0]; ++row)
      tensors[1].as<int64_t>()[row] = 100 * step + row;
  }

 private:
  std::vector<MinibatchForm> forms_;
  std::size_t form_;
};

TEST(OwnExamples, MayMakeTheirMinibatches) {
  const auto with = [](auto make) {
    return opened(
        [&] {
          auto set = std::make_unique<CountedSet>(5);
          set->said = "version 1";
          set->make = make;
          return set;
        },
        asking({{"label"}}));
  };
  const auto set = with([](const OwnBatches& options) {
    EXPECT_EQ(options.count, 3);
    return std::make_unique<Steps>(CountedSet(5).forms(options.count));
  });
  EXPECT_EQ(set->digest(), "version 1");
  const ExampleBatches rows{.batch = 4, .first = 1, .count = -1, .seed = 1, .shuffle = true};
  const auto source = set->minibatches(rows);
  Batch batch(source->forms()[source->form(7)]);
  source->read(7, 0, batch.tensors);
  EXPECT_EQ(batch.tensors[0].as<int64_t>()[2], 702);

  const auto too_many =
      with([](const OwnBatches&) { return std::make_unique<Steps>(CountedSet(5).forms(9)); });
  expect_error([&] { too_many->minibatches(rows); }, "DATA.TRAIN: 'x' is [9,2] for 3 examples");
  const auto other = with([](const OwnBatches& options) {
    return std::make_unique<Steps>(CountedSet(5).forms(options.count), 1);
  });
  expect_error([&] { other->minibatches(rows)->form(8); }, "DATA.TRAIN: step 8 has form 1",
               "there are 1");
}

TEST(OwnExamples, AreCheckedAgainstTheNetwork) {
  expect_error([&] { counted(5, asking({{"z"}})); }, "DATA.TRAIN: the data set has no 'z'",
               "it has x, label");
  expect_error(
      [&] {
        counted(5, asking({{"x", DType::float16}}));
      },
      "'fed_x' is float32, but the network takes float16");
  expect_error(
      [&] {
        counted(5, asking({{"x", DType::float32, Dims{3}}}));
      },
      "an example of 'fed_x' is [2], but the network takes [3]");
  expect_error([&] { counted(5, asking({{"x", DType::float32, Dims{}}})); }, "takes []");
  expect_error([&] { counted(0, asking({{"x"}})); }, "the data set has 0 examples");
}

TEST(OwnExamples, WithBadFormsAreRefused) {
  using Form = std::function<std::vector<MinibatchForm>(int64_t)>;
  const auto refuse = [](const Form& bad, auto... parts) {
    expect_error(
        [&] {
          opened(
              [&] {
                auto set = std::make_unique<CountedSet>(5);
                set->bad = bad;
                return set;
              },
              asking({{"x"}}));
        },
        "DATA.TRAIN", parts...);
  };
  using Forms = std::vector<MinibatchForm>;
  const auto x = [](const Dims& dims, DType dtype = DType::float32) {
    return NamedDesc{"x", {dtype, dims}};
  };
  refuse([](int64_t) { return Forms{}; }, "has no tensors");
  refuse([](int64_t) { return Forms{{}}; }, "has no tensors");
  refuse([&](int64_t) { return Forms{{x({2, 2})}}; }, "'x' is [2,2] for 1 examples");
  refuse([&](int64_t) { return Forms{{x({})}}; }, "should begin with 1");
  refuse([&](int64_t count) { return Forms{{x({count, 0})}}; }, "each size should be at least 1");
  refuse(
      [&](int64_t count) {
        return Forms{{x({count}), x({count})}};
      },
      "two tensors are named 'x'");
  refuse([&](int64_t count) { return Forms{{x({count}, DType::undefined)}}; },
         "'x' has no element type");
  refuse(
      [&](int64_t count) {
        return Forms{{x({count, 2})}, {x({count, 3}, DType::int64)}};
      },
      "of the first form 'x' (float32)");
}

TEST(OwnExamples, ErrorsOfTheProgramNameTheKey) {
  const OwnDataRequest request = asking({{"x"}});
  expect_error([&] { opened([] { return nullptr; }, request); },
               "DATA.TRAIN: counted opens no data set for 'some text'");
  const auto throwing = []() -> std::unique_ptr<OwnDataSet> {
    throw std::runtime_error("no connection");
  };
  expect_error([&] { opened(throwing, request); }, "DATA.TRAIN: counted: no connection");
  // Later, too: reading an example, and the minibatches of the program.
  class Unplugged final : public OwnDataSet {
   public:
    int64_t size() const override { return 3; }
    std::vector<MinibatchForm> forms(int64_t count) const override {
      return {{{"x", {DType::float32, {count}}}}};
    }
    void read(int64_t example, int64_t, std::span<const Tensor>) const override {
      check(example != 2, "example 2 is damaged");
      throw std::runtime_error("unplugged");
    }
    std::unique_ptr<MinibatchSource> minibatches(const OwnBatches& options) const override {
      if (options.seed == 9) throw std::runtime_error("no seed 9");
      return nullptr;
    }
  };
  const auto set = opened([] { return std::make_unique<Unplugged>(); }, request);
  Batch batch(set->forms(1)[0]);
  expect_error([&] { set->read(1, 0, batch.tensors); }, "DATA.TRAIN: counted: unplugged");
  expect_error([&] { set->read(2, 0, batch.tensors); }, "DATA.TRAIN: example 2 is damaged");
  expect_error([&] { set->minibatches({.seed = 9}); }, "DATA.TRAIN: counted: no seed 9");
  const auto read = set->minibatches({.batch = 1, .shuffle = false});
  expect_error([&] { read->read(0, 0, batch.tensors); }, "DATA.TRAIN: counted: unplugged");
}

TEST(OwnSources, NeedNamesAndFunctions) {
  const auto open = [](const OwnDataRequest&) { return std::make_unique<CountedSet>(3); };
  expect_error([&] { set_own_sources({{"", "x", open}}); }, "a data source is named ''");
  expect_error([&] { set_own_sources({{"two words", "x", open}}); }, "letters, digits and _");
  expect_error([&] { set_own_sources({{"mine", "x", nullptr}}); }, "'mine' has no function");
  expect_error(
      [&] {
        set_own_sources({{"mine", "x", open}, {"mine", "y", open}});
      },
      "two data sources are named 'mine'");
  expect_error(
      [&] {
        set_own_sources({{"arrays", "x", open}});
      },
      "'arrays' has the name of a data set of Lockstep");
  set_own_sources({});
  EXPECT_TRUE(own_example_sources().empty());
}

}  // namespace
}  // namespace lockstep::testing
