// SPDX-License-Identifier: Apache-2.0
// Text as data: files, vocabulary, held-out text, minibatches, scored rows.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "data/text/order.h"
#include "graph/file.h"
#include "lockstep/loader.h"
#include "lockstep/text.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

class TextFiles : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path path(folder / name);
    std::filesystem::create_directories(path.parent_path());
    write_file(path.string(), text);
  }
  std::vector<std::string> named(const std::vector<std::string>& names) {
    std::vector<std::string> found = text_files_named(names, folder / "");
    for (std::string& path : found) path = std::filesystem::relative(path, folder / "").string();
    return found;
  }
  using Names = std::vector<std::string>;
  TemporaryFolder folder;
};

TEST_F(TextFiles, AreNamedByFilesFoldersAndPatterns) {
  for (const char* name : {"b.md", "a.md", "docs/x.md", "docs/deep/er/y.md", "docs/z.txt",
                           ".hidden.md", "docs/.git/no.md"})
    put(name, "text");
  EXPECT_EQ(named({"b.md"}), Names({"b.md"}));
  EXPECT_EQ(named({"b.md", "a.md", "b.md"}), Names({"a.md", "b.md"}));
  EXPECT_EQ(named({"docs"}), Names({"docs/deep/er/y.md", "docs/x.md", "docs/z.txt"}));
  EXPECT_EQ(named({"*.md"}), Names({"a.md", "b.md"}));
  EXPECT_EQ(named({"docs/?.md"}), Names({"docs/x.md"}));
  EXPECT_EQ(named({"**/*.md"}), Names({"a.md", "b.md", "docs/deep/er/y.md", "docs/x.md"}));
  EXPECT_EQ(named({"d*/**/y.md"}), Names({"docs/deep/er/y.md"}));
  EXPECT_EQ(named({"docs/**"}), named({"docs"}));
  EXPECT_EQ(named({folder / "docs/*.txt"}), Names({"docs/z.txt"}));
}

// The number of ways to match a folder with each ** exceeds 10^12.
TEST_F(TextFiles, SeveralPatternsOfFoldersTakeNoLongerThanOne) {
  constexpr int kDeep = 60;
  std::string deep, pattern;
  for (int i = 0; i < kDeep; ++i) deep += "d/";
  for (int i = 0; i < 12; ++i) pattern += "**/d/";
  put(deep + "a.txt", "text");
  put("d/d/few.txt", "text");
  EXPECT_EQ(named({pattern + "*.txt"}), Names({deep + "a.txt"}));
  EXPECT_EQ(named({pattern + "**"}), Names({deep + "a.txt"}));
  EXPECT_EQ(named({"**/d/**/d/*.txt"}), Names({deep + "a.txt", "d/d/few.txt"}));
  EXPECT_EQ(named({"**/**/**/few.txt"}), Names({"d/d/few.txt"}));
  expect_error([&] { named({pattern + "none"}); }, "none' matches no file");
}

TEST_F(TextFiles, ThatAreNotThereAreNamed) {
  put("empty.txt", "");
  std::filesystem::create_directories(folder / "nothing");
  expect_error([&] { named({"no.txt"}); }, "there is no file or folder", "no.txt");
  expect_error([&] { named({"*.cc"}); }, "*.cc' matches no file");
  expect_error([&] { named({"nothing"}); }, "nothing' is a folder without files");
  expect_error([&] { named({}); }, "no text file is named");
  expect_error([&] { named({""}); }, "the name of a text file is empty");
  expect_error([&] { JoinedText({folder / "empty.txt"}); }, "empty.txt: the file is empty");
  expect_error([&] { JoinedText({folder / "nothing"}); }, "nothing");
}

TEST_F(TextFiles, AreJoinedAndErrorsNameTheLine) {
  put("a.txt", "one\ntwo\n");
  put("b.txt", "three\nfo\xC3\xBCr\n");
  const JoinedText text({folder / "a.txt", folder / "b.txt"});
  EXPECT_EQ(text.bytes(), "one\ntwo\nthree\nfo\xC3\xBCr\n");
  EXPECT_EQ(text.files(), 2);
  EXPECT_EQ(text.where(5), folder / "a.txt" + ":2");
  EXPECT_EQ(text.where(8), folder / "b.txt" + ":1");
  const Vocabulary narrow("one\ntwohr");
  expect_error([&] { narrow.encode(text); },
               "b.txt:2: contains 'f', which is not in the vocabulary");
  expect_error([&] { Vocabulary("one\ntwohrf").encode(text); }, "b.txt:2: contains byte 0xC3");
}

TEST(Vocabulary, NumbersTheBytesThatOccur) {
  const Vocabulary vocabulary("banana\xFF");
  EXPECT_EQ(vocabulary.bytes(), "abn\xFF");
  EXPECT_EQ(vocabulary.size(), 4);
  EXPECT_EQ(vocabulary.encode(JoinedText::of_bytes("nab\xFF")), (std::vector<uint8_t>{2, 0, 1, 3}));
  for (int64_t id = 0; id < 4; ++id) EXPECT_EQ(vocabulary.id(vocabulary.byte(id)), id);
  EXPECT_FALSE(vocabulary.has('c'));
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(Vocabulary(all).size(), 256);
  expect_error([] { Vocabulary(""); }, "a vocabulary needs text, but the text is empty");
}

TEST(TextSplit, HoldsOutEveryTenthThousand) {
  const TextSplit split = split_text(20'500);
  EXPECT_EQ(split.training,
            (std::vector<TextRange>{{0, 9000}, {10'000, 19'000}, {20'000, 20'500}}));
  EXPECT_EQ(split.held_out, (std::vector<TextRange>{{9000, 10'000}, {19'000, 20'000}}));
  EXPECT_EQ(split_text(9001).held_out, (std::vector<TextRange>{{9000, 9001}}));
  EXPECT_TRUE(split_text(9000).held_out.empty());
  EXPECT_EQ(characters_of(split.training) + characters_of(split.held_out), 20'500);
}

std::vector<uint8_t> counted_up(int64_t size) {
  std::vector<uint8_t> text;
  for (int64_t i = 0; i < size; ++i) text.push_back(static_cast<uint8_t>(i * i / 7));
  return text;
}

TEST(TextBatches, AreRowsWithTheNextCharactersAndNeverOfHeldOutText) {
  const std::vector<uint8_t> text = counted_up(30'000);
  const TextSplit split = split_text(30'000);
  const TextOrder order(split.training, 100, 5);
  EXPECT_EQ(order.starts(), 3 * (9000 - 100));
  const TextBatches batches(text, split.training, {.batch = 8, .length = 100, .seed = 5});
  Loader loader(batches, 2);
  for (int64_t step = 0; step < 200; ++step) {
    const auto tensors = loader.get(step);
    for (int64_t row = 0; row < 8; ++row) {
      const int64_t start = order.start(step * 8 + row);
      ASSERT_LT(start % 10'000 + 100, 9000) << "reads or predicts a held-out character";
      for (int64_t i = 0; i < 100; ++i) {
        ASSERT_EQ(tensors[0].as<int64_t>()[row * 100 + i], text[start + i]);
        ASSERT_EQ(tensors[1].as<int64_t>()[row * 100 + i], text[start + i + 1]);
      }
    }
  }
}

TEST(TextBatches, APassReadsTheTextOnceAndEachPassOtherwise) {
  const TextOrder order({{0, 5001}}, 50, 9);
  const int64_t rows = order.rows_of_pass();
  EXPECT_EQ(rows, (5001 - 50 - 1) / 50 + 1);
  std::vector<std::set<int64_t>> passes(2);
  for (int64_t number = 0; number < 2 * rows; ++number)
    passes[number / rows].insert(order.start(number));
  for (const auto& starts : passes) {
    EXPECT_EQ(static_cast<int64_t>(starts.size()), rows) << "a position is read twice";
    for (auto next = std::next(starts.begin()); next != starts.end(); ++next)
      EXPECT_LE(*next - *std::prev(next), 50) << "a position is missing";
  }
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_NE(TextOrder({{0, 5001}}, 50, 8).start(0), order.start(0));
}

// A step does not depend on earlier steps, and a process reads its rows of the whole batch.
TEST(TextBatches, DependOnSeedAndStepAlone) {
  const std::vector<uint8_t> text = counted_up(3000);
  const TextBatchOptions whole{.batch = 6, .length = 20, .seed = 2};
  TextBatchOptions part = whole;
  part.first = 2, part.count = 3;
  const TextBatches all(text, {{0, 3000}}, whole), some(text, {{0, 3000}}, part);
  Loader forward(all, 3), again(all, 1), share(some, 1);
  std::vector<int64_t> first;
  for (int64_t step = 0; step < 80; ++step) {
    const auto tensors = forward.get(step);
    const int64_t* rows = tensors[0].as<int64_t>();
    if (step == 77) first.assign(rows, rows + 120);
    const auto mine = share.get(step);
    ASSERT_TRUE(std::equal(rows + 40, rows + 100, mine[0].as<int64_t>())) << step;
  }
  EXPECT_TRUE(std::equal(first.begin(), first.end(), again.get(77)[0].as<int64_t>()));
}

TEST(TextBatches, OfTooLittleTextAreRefused) {
  expect_error(
      [] {
        TextOrder({{0, 50}}, 50, 1);
      },
      "the text has 50 characters in a row", "a row needs 50 and the next character");
  EXPECT_EQ(TextOrder({{0, 51}}, 50, 1).start(123), 0);
  const std::vector<uint8_t> text = counted_up(100);
  expect_error(
      [&] {
        TextBatches(text, {{0, 100}}, {.batch = 0, .length = 9});
      },
      "the batch has 0 rows, should have at least 1");
  expect_error(
      [&] {
        TextBatches(text, {{0, 100}}, {.batch = 4, .length = 9, .first = 3, .count = 2});
      },
      "rows 3 to 5 are not within a batch of 4");
  for (const int64_t length : {0, -1}) {
    expect_error(
        [&] {
          TextBatches(text, {{0, 100}}, {.batch = 4, .length = length});
        },
        "a row should have at least 1");
    expect_error([&] { scored_rows({{0, 100}}, length); }, "a row should have at least 1");
  }
  expect_error(
      [&] {
        TextBatches(text, {{0, 101}}, {.batch = 4, .length = 9});
      },
      "characters 0 to 101 of a text of 100");
}

// A source of one number for each item, with faults.
class Numbers final : public MinibatchSource {
 public:
  enum class Fault { none, throws, unknown_form, no_form };
  explicit Numbers(Fault fault) : fault_(fault) {
    if (fault != Fault::no_form) forms_ = {{{"data", {DType::int64, {2}}}}};
  }
  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t step) const override {
    if (fault_ == Fault::throws && step == 1) fail("no form for step 1");
    return fault_ == Fault::unknown_form ? 3 : 0;
  }
  int64_t items() const override { return 2; }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override {
    tensors[0].as<int64_t>()[item] = 10 * step + item;
  }

 private:
  Fault fault_;
  std::vector<MinibatchForm> forms_;
};

TEST(Loader, NamesFaultsOfItsSource) {
  using Fault = Numbers::Fault;
  const Numbers sound(Fault::none), throws(Fault::throws), unknown(Fault::unknown_form),
      none(Fault::no_form);
  Loader loader(sound, 1);
  expect_error([&] { loader.get(-1); }, "minibatch -1");
  EXPECT_EQ(loader.get(7)[0].as<int64_t>()[1], 71);
  Loader faulty(throws, 2);
  EXPECT_EQ(faulty.get(0)[0].as<int64_t>()[0], 0);
  expect_error([&] { faulty.get(1); }, "no form for step 1");
  EXPECT_EQ(faulty.get(2)[0].as<int64_t>()[0], 20);
  Loader lost(unknown, 1);
  expect_error([&] { lost.get(0); }, "minibatch 0 has form 3 of 1");
  expect_error([&] { Loader without(none, 1); }, "without a form");
}

TEST(ScoredRows, PredictEachHeldOutCharacterOnceFromEnough) {
  constexpr int64_t kLength = 64;
  const std::vector<TextRange> ranges{{0, 300}, {9000, 10'000}, {10'040, 10'041}};
  std::vector<int64_t> predicted;
  for (const ScoredRow& row : scored_rows(ranges, kLength)) {
    EXPECT_GE(row.first, 0);
    EXPECT_LE(row.end, kLength);
    EXPECT_LT(row.from, row.end);
    for (int64_t i = row.from; i < row.end; ++i) {
      predicted.push_back(row.first + i + 1);
      EXPECT_GE(i + 1, std::min<int64_t>(predicted.back(), 32)) << "read too little";
    }
  }
  std::vector<int64_t> expected;
  for (const TextRange& range : ranges)
    for (int64_t i = std::max<int64_t>(range.first, 1); i < range.end; ++i) expected.push_back(i);
  EXPECT_EQ(predicted, expected);
}

}  // namespace
}  // namespace lockstep::testing
