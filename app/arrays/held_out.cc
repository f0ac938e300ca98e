// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/held_out.h"

#include <algorithm>

#include "app/arrays/example_source.h"
#include "app/arrays/example_types.h"
#include "app/train/averages.h"
#include "app/train/gathered.h"
#include "lockstep/data_parallel.h"
#include "lockstep/processes.h"
#include "runtime/state/shared_statistics.h"

namespace lockstep {
namespace {

// Falls from 1 to 0 as the value rises, over all numbers.
double falling(double value) { return value >= 0 ? 0.5 / (1 + value) : 1 - 0.5 / (1 - value); }
double falling_from(double rank) { return rank <= 0.5 ? 0.5 / rank - 1 : 1 - 0.5 / (1 - rank); }

}  // namespace

double rank_of(const ArraysScore& score, const std::vector<Metric>& metrics) {
  if (metrics.empty()) return falling(score.loss);
  const MetricKind& kind = *metrics[0].kind;
  if (kind.is_share) return score.metrics[0];
  return falling(kind.larger_is_better ? -score.metrics[0] : score.metrics[0]);
}

double value_of_rank(double rank, const std::vector<Metric>& metrics) {
  if (metrics.empty()) return falling_from(rank);
  const MetricKind& kind = *metrics[0].kind;
  if (kind.is_share) return rank;
  return kind.larger_is_better ? -falling_from(rank) : falling_from(rank);
}

// The test's step for examples of one form.
struct HeldOutArrays::Form {
  explicit Form(TrainingModel of) : model(std::move(of)) {}
  TrainingModel model;
  MinibatchForm example;  // tensors of one example
  std::unique_ptr<Program> program;
  std::vector<std::size_t> fed;    // by input of the model: the position in the set
  std::vector<int> counts;         // by term: the position of its count among the outputs; -1: none
  std::vector<int> means, values;  // by term, by metric: positions among the outputs
};

// The sums of one replica.
struct HeldOutArrays::Tally {
  int64_t examples = 0;
  std::vector<double> losses, counts;             // by term
  std::vector<std::vector<double>> metrics;       // by metric
  std::vector<std::unique_ptr<MetricSums>> open;  // this process's sums, until they are taken
};

// A step of a test, over all replicas.
struct HeldOutArrays::Round {
  int64_t first = 0, count = 0;  // examples
};

HeldOutArrays::~HeldOutArrays() = default;

HeldOutArrays::HeldOutArrays(const ArraysConfig& config, const ArraysNetwork& network,
                             const ExampleSet& set, Session& session)
    : config_(config),
      set_(set),
      session_(session),
      terms_(config.loss_terms()),
      metrics_(config.test_metrics()),
      here_(session.model().replicas) {
  const Comm* comm = session.comm();
  const int processes = comm ? comm->size() : 1;
  replicas_ = std::max<int64_t>(session.model().whole_replicas, here_ * processes);
  fixed_rows_ = network.fixed_rows() > 0;
  rows_ = config.whole  ? 1
          : fixed_rows_ ? network.fixed_rows()
                        : std::min((set.size() - 1) / replicas_ + 1,
                                   shares_of(config, replicas_).rows(0, 0).count);
  check(!fixed_rows_ || set.size() >= rows_, Key{example_source(config).test.key}, " has ",
        set.size(), " examples, but the network takes ", rows_, " at a time");
  const std::vector<ExampleTypes> types = example_types(set);
  const std::vector<MinibatchForm> examples = set.forms(1);
  for (std::size_t i = 0; i < types.size(); ++i) {
    TrainingModel model = network.test_step(types[i], processes);
    if (comm) model = partition(model, {comm->rank(), processes});
    if (config.step.options.average.predicts) read_averages(model, session.model());
    Form& form = *forms_.emplace_back(std::make_unique<Form>(std::move(model)));
    form.example = examples[i];
    for (const StepInput& input : form.model.inputs)
      form.fed.push_back(place_of(examples[i], input.feed()));
    std::vector<std::string> fetches;
    const auto fetch = [&](const std::string& name) {
      int found = -1;
      for (Value output : form.model.step.outputs()) {
        const std::string& full = form.model.step.name(output);
        if (!full.ends_with("/" + name)) continue;
        if (found < 0) found = static_cast<int>(fetches.size());
        fetches.push_back(full);
      }
      return found;
    };
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      form.means.push_back(fetch(ArraysNetwork::mean_named(t)));
      form.counts.push_back(fetch(ArraysNetwork::count_named(t)));
    }
    for (std::size_t m = 0; m < metrics_.size(); ++m)
      form.values.push_back(fetch(ArraysNetwork::metric_named(m)));
    form.program =
        session.program(form.model.step, form.model.feed_values(), std::move(fetches), {});
  }
}

int64_t HeldOutArrays::left_out() const { return fixed_rows_ ? set_.size() % rows_ : 0; }

std::string HeldOutArrays::text_of_left_out() const {
  if (left_out() == 0) return "";
  return join("the network takes a fixed number of examples, so a test leaves out the last ",
              left_out(), " of ", set_.size());
}

std::size_t HeldOutArrays::form_of(const Round& round) const {
  std::size_t form = 0;
  for (int64_t i = 0; i < round.count; ++i) form = std::max(form, set_.form_of(round.first + i));
  return form;
}

// The share of a replica of the whole run, counted from the round's first example.
Rows HeldOutArrays::rows_of(const Round& round, int64_t replica) const {
  if (!fixed_rows_ && !config_.whole) return rows_of_share(round.count, replica, replicas_);
  const bool has_rows = (replica + 1) * rows_ <= round.count;
  return {replica * rows_, has_rows ? rows_ : 0};
}

// A replica without rows gets the first examples, and its results do not count.
std::vector<Literal> HeldOutArrays::batch_of(const Form& form, const Rows& rows) const {
  const int64_t count = rows.count > 0 ? rows.count : (fixed_rows_ ? rows_ : 1);
  std::vector<Literal> batch;
  std::vector<Tensor> tensors;
  for (const NamedDesc& tensor : form.example) {
    Dims dims = tensor.desc.dims;
    dims[0] = count;
    batch.emplace_back(tensor.desc.dtype, dims);
    tensors.push_back(view_of(batch.back()));
  }
  for (int64_t row = 0; row < count; ++row)
    set_.read(rows.count > 0 ? rows.first + row : row, row, tensors);
  return batch;
}

void HeldOutArrays::test_round(const Round& round, std::vector<Tally>& tallies,
                               ShownExamples* shown) {
  const int64_t first = session_.model().first_replica;
  Form& form = *forms_[form_of(round)];
  std::vector<std::vector<Literal>> batches;
  std::vector<Rows> shares;
  for (int64_t k = 0; k < here_; ++k) {
    Rows rows = rows_of(round, first + k);
    rows.first += round.first;
    shares.push_back(rows);
    batches.push_back(batch_of(form, rows));
  }
  std::vector<Tensor> feeds;
  for (std::size_t i = 0; i < form.fed.size(); ++i)
    for (int64_t k = 0; k < here_; ++k) {
      Tensor feed = view_of(batches[k][form.fed[i]]);
      if (config_.whole) feed.desc.dims.erase(feed.desc.dims.begin());
      feeds.push_back(feed);
    }
  const std::span<const Tensor> fetched = form.program->run(feeds, session_.run_options(0));
  for (int64_t k = 0; k < here_; ++k) {
    if (shares[k].count == 0) continue;
    Tally& tally = tallies[k];
    tally.examples += shares[k].count;
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const double count = form.counts[t] < 0 ? static_cast<double>(shares[k].count)
                                              : *fetched[form.counts[t] + k].as<float>();
      tally.losses[t] += count * *fetched[form.means[t] + k].as<float>();
      tally.counts[t] += count;
    }
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      const Metric& metric = metrics_[m];
      const Tensor target = view_of(batches[k][place_of(form.example, metric.target)]);
      const Tensor mask =
          metric.mask.empty() ? Tensor{} : view_of(batches[k][place_of(form.example, metric.mask)]);
      try {
        tally.open[m]->add(fetched[form.values[m] + k], target, mask);
      } catch (const Error& error) {
        fail(Key{"TEST.METRICS"}, ": ", metric.name, ": ", error.what());
      }
    }
    if (!shown) continue;
    std::vector<Tensor> tensors;
    for (const Literal& tensor : batches[k]) tensors.push_back(view_of(tensor));
    shown->see(shares[k], form.example, tensors, fetched[form.values[0] + k]);
  }
}

void HeldOutArrays::test_own_share(std::vector<Tally>& tallies, ShownExamples* shown) {
  const int64_t of_all = rows_ * replicas_, tested = set_.size() - left_out();
  for (int64_t first = 0; first < tested; first += of_all)
    test_round({first, std::min(of_all, tested - first)}, tallies, shown);
}

// Appends the tallies of the other processes' replicas, on rank 0.
void HeldOutArrays::add_up(std::vector<Tally>& tallies) const {
  if (!session_.comm()) return;
  std::vector<double> mine;
  const auto write = [&](const std::vector<double>& numbers) {
    mine.push_back(static_cast<double>(numbers.size()));
    mine.insert(mine.end(), numbers.begin(), numbers.end());
  };
  for (const Tally& tally : tallies) {
    mine.push_back(static_cast<double>(tally.examples));
    write(tally.losses);
    write(tally.counts);
    for (const auto& sums : tally.metrics) write(sums);
  }
  const auto all = gather_numbers(session_.comm(), mine, "test results");
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    std::size_t at = 0;
    const auto read = [&] {
      const auto size = static_cast<std::size_t>(all[rank].at(at++));
      std::vector<double> numbers;
      for (std::size_t i = 0; i < size; ++i) numbers.push_back(all[rank].at(at++));
      return numbers;
    };
    while (at < all[rank].size()) {
      Tally& tally = tallies.emplace_back();
      tally.examples = static_cast<int64_t>(all[rank][at++]);
      tally.losses = read();
      tally.counts = read();
      for (std::size_t m = 0; m < metrics_.size(); ++m) tally.metrics.push_back(read());
    }
  }
}

ArraysScore HeldOutArrays::test(ShownExamples* shown) {
  std::vector<Tally> tallies(here_);
  for (Tally& tally : tallies) {
    tally.losses.assign(terms_.size(), 0);
    tally.counts.assign(terms_.size(), 0);
    for (const Metric& metric : metrics_) tally.open.push_back(metric.kind->make(metric.options));
  }
  with_statistics_of_replica_0(session_, [&] { test_own_share(tallies, shown); });
  for (Tally& tally : tallies)
    for (const auto& sums : tally.open) tally.metrics.push_back(sums->sums());
  add_up(tallies);
  ArraysScore score;
  for (const Tally& tally : tallies) score.examples += tally.examples;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    double loss = 0, count = 0;
    for (const Tally& tally : tallies) {
      loss += tally.losses[t];
      count += tally.counts[t];
    }
    score.loss += count == 0 ? 0 : terms_[t].weight * loss / count;
  }
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    std::vector<double> sums;
    for (const Tally& tally : tallies) add_sums(sums, tally.metrics[m]);
    sums.resize(std::max<std::size_t>(sums.size(), 2), 0);
    score.metrics.push_back(metrics_[m].kind->value(sums));
  }
  return score;
}

}  // namespace lockstep
