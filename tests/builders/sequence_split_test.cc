// SPDX-License-Identifier: Apache-2.0
// Episodes cut into sequences: the rows of Ray's test of recurrent minibatches, and uneven rows.
#include <gtest/gtest.h>

#include <numeric>

#include "builders/resident/load.h"
#include "builders/resident/sequence_split.h"
#include "lockstep/resident.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

using Numbers = std::vector<int64_t>;

// 20 observations from step `first` on of an environment that counts its steps, 15 per episode.
std::vector<float> counted(int64_t first) {
  std::vector<float> rows;
  for (int64_t i = 0; i < 20; ++i) rows.push_back(static_cast<float>((first + i) % 15));
  return rows;
}

Tensor column(std::vector<float>& values) {
  return {{DType::float32, {static_cast<int64_t>(values.size()), 1}}, values.data()};
}

Numbers rows_of(const Literal& literal, Rows rows) {
  const auto values = literal.values<float>().subspan(rows.first, rows.count);
  return {values.begin(), values.end()};
}

// Minibatches of at most 10 rows, sequences of at most 4.
TEST(Chop, MakesTheMinibatchesOfRaysTest) {
  struct Fragment {
    int64_t first, end;
    Numbers lengths;
    std::vector<Numbers> minibatches;
  };
  const Fragment fragments[] = {
      {0, 15, {4, 4, 4, 3, 4, 1}, {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 0}}},
      {5, 10, {4, 4, 2, 4, 4, 2}, {{5, 6, 7, 8, 9, 10, 11, 12}, {13, 14, 0, 0, 0, 1, 2, 3}}}};
  for (const Fragment& fragment : fragments) {
    std::vector<float> rows = counted(fragment.first);
    const Chopped chopped = chop(20, Numbers{fragment.end}, 4);
    EXPECT_EQ(chopped.lengths, fragment.lengths);
    const Literal padded = padded_rows(chopped, column(rows));
    EXPECT_EQ(padded.dims(), (Dims{24, 1}));
    const ResidentLoad load = resident_load({10, 24, 4}, 1, 24, chopped.sequences());
    EXPECT_EQ(load.minibatch, 8);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(rows_of(padded, resident_slice(load, static_cast<int64_t>(i) * 8).rows),
                fragment.minibatches[i]);
  }
}

TEST(Chop, KeepsTheStateBeforeEachSequence) {
  const Chopped chopped = chop(9, Numbers{2, 3, 9}, 3);
  EXPECT_EQ(chopped.firsts, (Numbers{0, 2, 3, 6}));
  EXPECT_EQ(chopped.lengths, (Numbers{2, 1, 3, 3}));
  std::vector<double> states(18);
  std::iota(states.begin(), states.end(), 0);
  const Literal firsts = first_states(chopped, {{DType::float64, {9, 2}}, states.data()});
  EXPECT_EQ(firsts.dims(), (Dims{4, 2}));
  const auto values = firsts.values<double>();
  EXPECT_EQ((std::vector<double>{values.begin(), values.end()}),
            (std::vector<double>{0, 1, 4, 5, 6, 7, 12, 13}));
  std::vector<int64_t> actions{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Literal padded = padded_rows(chopped, {{DType::int64, {9}}, actions.data()});
  const auto rows = padded.values<int64_t>();
  EXPECT_EQ((Numbers{rows.begin(), rows.end()}), (Numbers{1, 2, 0, 3, 0, 0, 4, 5, 6, 7, 8, 9}));
}

// For any episodes: every row is in one sequence, and no sequence spans two episodes.
TEST(Chop, EveryRowIsInOneSequenceOfItsEpisode) {
  for (int64_t length : {1, 2, 3, 5, 8, 40})
    for (const Numbers& ends :
         {Numbers{}, Numbers{31}, Numbers{1, 2, 30}, Numbers{8, 16, 24, 31}}) {
      const Chopped chopped = chop(31, ends, length);
      int64_t next = 0;
      for (std::size_t i = 0; i < chopped.firsts.size(); ++i) {
        EXPECT_EQ(chopped.firsts[i], next);
        EXPECT_GE(chopped.lengths[i], 1);
        EXPECT_LE(chopped.lengths[i], length);
        const int64_t last = next + chopped.lengths[i] - 1;
        for (int64_t end : ends) EXPECT_EQ(next < end, last < end);
        next = last + 1;
      }
      EXPECT_EQ(next, 31);
    }
}

TEST(Chop, RefusesByName) {
  expect_error([] { chop(0, {}, 4); }, "0 rows cannot be cut into sequences of 4");
  expect_error([] { chop(5, {}, 0); }, "5 rows cannot be cut into sequences of 0");
  expect_error([] { chop(5, Numbers{6}, 4); },
               "an episode ends before row 6, should be from 1 to 5");
  expect_error(
      [] {
        chop(5, Numbers{3, 3}, 4);
      },
      "an episode ends before row 3, should be from 4 to 5");
  std::vector<float> rows(6);
  const Chopped chopped = chop(5, {}, 4);
  expect_error([&] { padded_rows(chopped, column(rows)); },
               "float32[6,1] does not have the 5 rows of the episodes");
  expect_error(
      [&] {
        first_states(chopped, {{DType::float32, {}}, rows.data()});
      },
      "does not have the 5 rows");
}

}  // namespace
}  // namespace lockstep::testing
