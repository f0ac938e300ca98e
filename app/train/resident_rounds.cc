// SPDX-License-Identifier: Apache-2.0
#include "app/train/resident_rounds.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>

#include "builders/resident/inputs.h"
#include "builders/resident/load.h"
#include "graph/limits.h"
#include "lockstep/feeds.h"
#include "runtime/finite.h"

namespace lockstep {
namespace {

struct FreeRows {
  void operator()(void* rows) const { std::free(rows); }
};
using RowBytes = std::unique_ptr<void, FreeRows>;

// Zeros whose pages take memory only once they are written: a process writes its own rows alone.
RowBytes zero_rows(const NamedDesc& tensor) {
  RowBytes rows(std::calloc(std::max<std::size_t>(tensor.desc.bytes(), 1), 1));
  if (!rows)
    throw NoMemory(join("TRAIN.RESIDENT true: there is no memory for the ",
                        text_of_bytes(tensor.desc.bytes()), " of '", tensor.name,
                        "' of all examples"));
  return rows;
}

// The rows of the whole run, of which this process fills its own.
class StagedRows {
 public:
  StagedRows(const MinibatchForm& minibatch, const ResidentLoad& load) : load_(load) {
    for (NamedDesc tensor : minibatch) {
      check(!tensor.desc.dims.empty() && tensor.desc.dims[0] % load.minibatch == 0, "internal: '",
            tensor.name, "' has the rows ", tensor.desc, " for replicas of ", load.minibatch);
      tensor.desc.dims[0] = load.loaded;
      row_bytes_.push_back(tensor.desc.bytes() / static_cast<std::size_t>(load.loaded));
      memory_.push_back(zero_rows(tensor));
      all_.emplace(tensor.name, Tensor{tensor.desc, memory_.back().get()});
    }
  }

  // Copies a minibatch. Its rows begin with the rows of replica `first`.
  void take(int64_t number, int64_t first, std::span<const Tensor> minibatch) {
    for (std::size_t t = 0; t < minibatch.size(); ++t) {
      const int64_t replicas = minibatch[t].desc.dims[0] / load_.minibatch;
      const std::size_t part = row_bytes_[t] * static_cast<std::size_t>(load_.minibatch);
      for (int64_t k = 0; k < replicas; ++k) {
        const int64_t row = (first + k) * load_.held() + number * load_.minibatch;
        std::memcpy(
            static_cast<std::byte*>(memory_[t].get()) +
                static_cast<std::size_t>(row) * row_bytes_[t],
            static_cast<const std::byte*>(minibatch[t].data) + static_cast<std::size_t>(k) * part,
            part);
      }
    }
  }
  const std::map<std::string, Tensor>& all() const { return all_; }

 private:
  const ResidentLoad load_;
  std::vector<std::size_t> row_bytes_;
  std::vector<RowBytes> memory_;
  std::map<std::string, Tensor> all_;
};

// The first value of a minibatch that is not finite, in the words of a run that is fed; or "".
std::string first_bad_value(const MinibatchForm& form, std::span<const Tensor> minibatch,
                            int64_t first_replica, int64_t rows) {
  for (std::size_t t = 0; t < minibatch.size(); ++t)
    for (int64_t row = 0; row < minibatch[t].desc.dims[0]; row += rows) {
      const Tensor part = rows_from(minibatch[t], {row, rows});
      if (const int64_t place = first_not_finite(part); place >= 0)
        return join("input '", form[t].name, "' of replica ", first_replica + row / rows,
                    " is fed ", text_of_value(part, place), " at ",
                    text_of_place(part.desc.dims, place));
    }
  return "";
}

// The first minibatches of a source. A loader reads further ones ahead; these stay unread.
class FirstMinibatches final : public MinibatchSource {
 public:
  FirstMinibatches(const MinibatchSource& source, int64_t count) : source_(source), count_(count) {}

  const std::vector<MinibatchForm>& forms() const override { return source_.forms(); }
  std::size_t form(int64_t) const override { return 0; }
  int64_t items() const override { return source_.items(); }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override {
    if (step < count_) source_.read(step, item, tensors);
  }

 private:
  const MinibatchSource& source_;
  int64_t count_;
};

}  // namespace

ResidentRounds::ResidentRounds(const TrainSettings& settings, Session& session,
                               const MinibatchSource& source, const ResidentRoundsOptions& options)
    : settings_(settings),
      session_(session),
      options_(options),
      resident_(session),
      load_(load(source)) {}

ResidentLoad ResidentRounds::load(const MinibatchSource& source) {
  check(source.forms().size() == 1, "internal: ", source.forms().size(),
        " forms of minibatches on the devices");
  const TrainingModel& model = session_.model();
  const ResidentLoad load =
      resident_load(read_resident(model).limits, std::max(model.whole_replicas, model.replicas),
                    options_.examples);
  StagedRows rows(source.forms()[0], load);
  {
    const FirstMinibatches first(source, load.minibatches());
    Loader loader(first, options_.threads);
    for (int64_t number = 0; number < load.minibatches(); ++number) {
      const std::span<const Tensor> minibatch = loader.get(number);
      rows.take(number, model.first_replica, minibatch);
      const std::string bad =
          first_bad_value(source.forms()[0], minibatch, model.first_replica, load.minibatch);
      if (!bad.empty()) not_finite_.emplace(number, bad);
    }
  }
  const ResidentLoad& loaded = resident_.load(rows.all());
  check(loaded.held() == load.held() && loaded.minibatch == load.minibatch,
        "internal: ", text_of(loaded), ", of ", text_of(load));
  return load;
}

std::string ResidentRounds::note() const {
  return join("on the devices from the start (TRAIN.RESIDENT): ", text_of(load_), "; ",
              text_of_bytes(resident_.bytes()), session_.comm() ? " in this process" : "");
}

int64_t ResidentRounds::row_of(int64_t step) {
  const int64_t epoch = step / load_.minibatches(), place = step % load_.minibatches();
  if (epoch == 0 || !options_.shuffle) return place * load_.minibatch;
  if (epoch != epoch_) {
    order_ = sweep_order(load_, 1, static_cast<uint64_t>(settings_.seed), epoch);
    epoch_ = epoch;
  }
  return order_[static_cast<std::size_t>(place)];
}

std::string ResidentRounds::not_finite_in(int64_t round) {
  const auto found = not_finite_.find(row_of(round) / load_.minibatch);
  return found == not_finite_.end() ? "" : found->second;
}

StepResult ResidentRounds::run(int64_t round, NotFinite* not_finite) {
  Feeds& feeds = resident_.feeds();
  feeds.set(Role::rate, learning_rate(settings_.schedule, round));
  if (feeds.has(Role::correction))
    feeds.set(Role::correction, momentum_correction(settings_.schedule, round));
  RunOptions options = session_.run_options(static_cast<uint64_t>(round));
  options.not_finite = not_finite;
  options.blame_feeds = false;  // all processes first agree on the culprit
  return result_of(session_.model(), resident_.optimize(row_of(round), options));
}

}  // namespace lockstep
