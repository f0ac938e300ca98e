// SPDX-License-Identifier: Apache-2.0
#include "app/text/held_out.h"

#include <algorithm>
#include <cmath>

#include "app/train/gathered.h"
#include "lockstep/processes.h"

namespace lockstep {
namespace {

constexpr int64_t kRowsAtATime = 64;  // of a replica

}  // namespace

double TextScore::bits_per_character() const { return loss / std::log(2.0); }
double TextScore::perplexity() const { return std::exp(loss); }
double TextScore::mean_probability() const { return std::exp(-loss); }

HeldOutText::HeldOutText(const TextCorpus& corpus, int64_t length, Session& session)
    : corpus_(corpus),
      length_(length),
      session_(session),
      rows_(scored_rows(corpus.held_out_ranges(), length)),
      predictors_(predict_on_every_replica(session.model())),
      here_(session.model().replicas),
      replicas_(here_ * (session.comm() ? session.comm()->size() : 1)) {
  for (const ScoredRow& row : rows_) characters_ += row.end - row.from;
  check(characters_ > 0, "no character of the text is held out");
  const auto rows = static_cast<int64_t>(rows_.size());
  const int64_t rounds = (rows - 1) / (replicas_ * kRowsAtATime) + 1;
  batch_ = (rows - 1) / (replicas_ * rounds) + 1;
  program_ = session.program(predictors_.graph, values_of(predictors_.inputs),
                             predictors_.outputs.at(0).values, {});
}

void HeldOutText::fill(std::size_t row, int64_t* characters) const {
  const std::vector<uint8_t>& text = corpus_.held_out();
  for (int64_t i = 0; i < length_; ++i) {  // characters behind the end of the text do not count
    const std::size_t place = rows_[row].first + i;
    characters[i] = place < text.size() ? text[place] : 0;
  }
}

double HeldOutText::loss_of(std::size_t row, const float* prob) const {
  double loss = 0;
  for (int64_t i = rows_[row].from; i < rows_[row].end; ++i) {
    const std::size_t next = rows_[row].first + i + 1;
    const float p = prob[i * corpus_.vocabulary().size() + corpus_.held_out()[next]];
    loss -= std::log(std::max(static_cast<double>(p), 1e-30));
    if (std::isnan(p)) return std::nan("");
  }
  return loss;
}

// Computes the loss of each replica here, so that sums do not depend on the number of processes.
void HeldOutText::test_own_share(std::vector<double>& losses) {
  const int64_t first = session_.model().first_replica * batch_, of_all = replicas_ * batch_;
  std::vector<int64_t> characters(here_ * batch_ * length_);
  std::vector<Tensor> feeds;
  for (int64_t k = 0; k < here_; ++k)
    feeds.push_back({{DType::int64, {batch_, length_}}, characters.data() + k * batch_ * length_});
  std::vector<float> zeros;
  for (std::size_t i = 1; i < predictors_.inputs.size(); ++i) {
    const Graph& graph = predictors_.graph;
    const Shape& shape = graph.shape(graph.at(predictors_.inputs[i].values[0]));
    const Dims dims{shape[0].size(), batch_, shape[2].size()};
    zeros.resize(std::max(zeros.size(), static_cast<std::size_t>(element_count(dims))));
    for (int64_t k = 0; k < here_; ++k) feeds.push_back({{DType::float32, dims}, nullptr});
  }
  for (std::size_t i = static_cast<std::size_t>(here_); i < feeds.size(); ++i)
    feeds[i].data = zeros.data();
  const auto rows = static_cast<int64_t>(rows_.size());
  for (int64_t round = 0; round * of_all < rows; ++round) {
    const auto row_of = [&](int64_t i) { return round * of_all + first + i; };
    for (int64_t i = 0; i < here_ * batch_; ++i)  // the last round repeats rows from the start
      fill(row_of(i) % rows, characters.data() + i * length_);
    const auto fetched = program_->run(feeds, session_.run_options(0));
    for (int64_t i = 0; i < here_ * batch_ && row_of(i) < rows; ++i)
      losses[i / batch_] +=
          loss_of(row_of(i), fetched[i / batch_].as<float>() +
                                 i % batch_ * length_ * corpus_.vocabulary().size());
  }
}

TextScore HeldOutText::test() {
  std::vector<double> losses(here_, 0);
  test_own_share(losses);
  const auto all = gather_numbers(session_.comm(), losses, "test results");
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    losses.insert(losses.end(), all[rank].begin(), all[rank].end());
  TextScore score{.characters = characters_};
  for (double loss : losses) score.loss += loss;
  score.loss /= static_cast<double>(characters_);
  return score;
}

}  // namespace lockstep
