// SPDX-License-Identifier: Apache-2.0
#include "app/train/training_log.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

#include "app/format.h"
#include "app/machine.h"
#include "app/train/gathered.h"
#include "builders/step/whole_loss.h"
#include "graph/listed.h"
#include "lockstep/processes.h"
#include "operators/kit/window.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

// Every task shows the loss of the unsplit batch as a loss; the other numbers are the task's.
std::string text_of_window(const Task& task, double loss, NamedNumbers numbers) {
  std::string whole;
  std::erase_if(numbers, [&](const auto& named) {
    if (named.first != kWholeLoss) return false;
    whole = join("  ", kWholeLoss, " ", fixed(named.second, 4));
    return true;
  });
  return task.text_of(loss, numbers) + whole;
}

}  // namespace

TrainingLog::TrainingLog(Task& task, const std::vector<std::string>& numbers, Comm* comm,
                         const LogOptions& options)
    : task_(task),
      settings_(task.settings()),
      number_names_(numbers),
      comm_(comm),
      leads_(!comm || comm->rank() == 0),
      first_(options.first),
      progress_(options.quiet),
      sums_(1 + numbers.size()) {
  if (!leads_) return;
  metrics_ = std::make_unique<MetricsFile>(options.folder + "/metrics.jsonl", first_);
  events_ = std::make_unique<EventWriter>(options.folder);
  events_->value(0, run_starts_value(task.changed(), unix_time()));
  events_->flush();
}

void TrainingLog::ended(RunEnd how) {
  if (!leads_) return;
  events_->value(0, run_ends_value(how, unix_time()));
  events_->flush();
  metrics_->flush();
  trouble_said_ = false;
  say_trouble();
}

// Reports trouble once, and again at the end.
void TrainingLog::say_trouble() {
  for (const std::string& trouble : {metrics_->trouble(), events_->trouble()}) {
    if (trouble.empty() || trouble_said_) continue;
    note(trouble + "; the run continues and writes the rest later");
    trouble_said_ = true;
  }
}

std::string TrainingLog::text_of_sums() const {
  std::string text;
  for (double sum : sums_) text += join(std::setprecision(17), sum, " ");
  return text;
}

std::string TrainingLog::open_window() const {
  const std::string mine = join(text_of_sums(), window_, " ", counted_);
  if (!comm_) return mine;
  std::string all;
  for (const std::string& one : gather_texts(*comm_, mine, "the open window"))
    all += (all.empty() ? "" : ";") + one;
  return all;
}

// Ignores a window of another number of processes or of another length.
void TrainingLog::go_on_with(const std::string& window) {
  const auto ranks = std::count(window.begin(), window.end(), ';') + 1;
  if (window.empty() || ranks != (comm_ ? comm_->size() : 1)) return;
  std::istringstream all(window);
  std::string mine;
  for (int rank = 0; rank <= (comm_ ? comm_->rank() : 0); ++rank) std::getline(all, mine, ';');
  std::vector<double> sums(sums_.size());
  int64_t steps = 0, counted = 0;
  std::istringstream in(mine);
  for (double& sum : sums) in >> sum;
  if (!(in >> steps >> counted)) return;
  if (steps != first_ % settings_.log_iters || counted > steps) return;
  sums_ = std::move(sums), window_ = steps, counted_ = counted;
}

void TrainingLog::note(const std::string& line) {
  if (leads_) progress_.note(line);
}

void TrainingLog::tell_skipped(int64_t last) {
  SkippedPictures* const skipped = task_.skipped();
  if (!skipped) return;
  const SkippedPictures::Told mine = skipped->take(last);
  skipped_rows_ += gather_sum(comm_, mine.rows, "the number of bad pictures");
  for (const std::string& why : gather_once(comm_, mine.pictures, "bad pictures"))
    if (told_.insert(why).second) {
      skipped_.push_back(why);
      note("skipped: " + why);
    }
}

std::string TrainingLog::bad_pictures() const {
  constexpr std::size_t kMostNames = 20;
  std::string text;
  if (!skipped_.empty())
    text = join(skipped_.size(), " to train on, replaced ", skipped_rows_,
                skipped_rows_ == 1 ? " time" : " times",
                first_ > 0 ? join(" since iteration ", first_) : "", ": ",
                first_listed(skipped_, kMostNames));
  if (!left_out_.empty())
    text += join(text.empty() ? "" : "; ", left_out_.size(),
                 " left out of the tests: ", first_listed(left_out_, kMostNames));
  return text;
}

void TrainingLog::start_window(const DataSupply& supply, const RankTimes& spent) {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  window_ = counted_ = timed_ = 0;
  window_start_ = std::chrono::steady_clock::now();
  if (start_ == std::chrono::steady_clock::time_point()) start_ = window_start_;
  waited_ = supply.waited;
  spent_ = spent;
}

void TrainingLog::rate(int64_t step) {
  if (rate_change(settings_.schedule, step) <= settings_.log_lr_change_threshold) return;
  note(join("iter ", std::setw(6), step + 1, "  learning rate ",
            learning_rate(settings_.schedule, step - 1), " -> ",
            learning_rate(settings_.schedule, step)));
}

bool TrainingLog::step(int64_t step, const StepResult& result, const DataSupply& supply,
                       const RankTimes& spent) {
  const bool was_skipped = !result.skipped.empty();
  // The rank that caused the skip reports it, too.
  if (was_skipped && (leads_ || result.skipped_here))
    progress_.note(join("iter ", std::setw(6), step + 1, "  skipped: ", result.skipped));
  sums_[0] += result.loss;
  for (std::size_t i = 0; i < result.numbers.size(); ++i) sums_[i + 1] += result.numbers[i];
  counted_ += result.counts;
  ++window_, ++timed_;
  if ((step + 1) % settings_.log_iters != 0 && step + 1 != settings_.schedule.max_iter)
    return false;
  tell_skipped(step);
  // Means over this process's counted steps. With deferred gradients, processes may count different
  // numbers of steps.
  for (double& sum : sums_) sum /= static_cast<double>(std::max<int64_t>(counted_, 1));
  if (comm_) add_up_over_processes(spent.since(spent_));
  if (leads_) write_window(step, supply);
  start_window(supply, spent);
  return true;
}

// Loss and numbers are means over the counted steps, omitted if no step counts.
void TrainingLog::write_window(int64_t step, const DataSupply& supply) {
  const double elapsed = seconds_since(window_start_), steps = static_cast<double>(timed_);
  const WorkUnit unit = task_.work_unit();
  const double units = steps * static_cast<double>(unit.of_step) / elapsed;
  const std::string speed = unit.name + "_per_second";
  const double rate = learning_rate(settings_.schedule, step);
  const int64_t done = step + 1, all = settings_.schedule.max_iter;
  const double each = seconds_since(start_) / static_cast<double>(done - first_);
  const double left = each * static_cast<double>(all - done);
  MetricRow row{{"iter", static_cast<double>(done)}};
  std::string said = join("all ", window_, " steps were skipped");
  if (counted_ > 0) {
    NamedNumbers numbers;
    for (std::size_t i = 0; i < number_names_.size(); ++i)
      numbers.emplace_back(number_names_[i], sums_[i + 1]);
    for (const auto& more : task_.numbers_of(sums_[0])) numbers.push_back(more);
    row.emplace_back("loss", sums_[0]);
    row.insert(row.end(), numbers.begin(), numbers.end());
    for (std::size_t i = 1; i < row.size(); ++i)
      events_->scalar("train/" + row[i].first, done, static_cast<float>(row[i].second));
    said = text_of_window(task_, sums_[0], numbers);
  }
  const double waited = supply.waited - waited_;
  row.insert(row.end(), {{"lr", rate},
                         {"time", elapsed / steps},
                         {"data_time", waited / steps},
                         {speed, units},
                         {"memory_mib", static_cast<double>(peak_memory()) / (1 << 20)},
                         {"eta", left}});
  if (supply.queue) row.emplace_back("queue", static_cast<double>(*supply.queue));
  metrics_->append(row);
  events_->scalar("train/lr", done, static_cast<float>(rate));
  events_->scalar("train/" + speed, done, static_cast<float>(units));
  events_->flush();
  say_trouble();
  say_slow_loader(waited / elapsed);
  progress_.status(
      join("iter ", std::setw(6), done, "/", all, "  ", std::setw(3), 100 * done / all, " %  ",
           said, "  lr ", fixed(rate, 5), "  ", fixed(units, 0), " ", unit.name, "/s  ",
           done < all ? clock_text(left) + " left" : "took " + clock_text(seconds_since(start_))));
}

// Reports once. The first window waits for the first minibatch.
void TrainingLog::say_slow_loader(double share) {
  constexpr double kMuch = 0.1;
  const bool is_first = !std::exchange(window_written_, true);
  if (is_first || loader_said_ || share <= kMuch || task_.threads_key().empty()) return;
  loader_said_ = true;
  note(join("the loader is slow: ", percent(share), " of the time is spent waiting for ",
            task_.work_unit().name, "; ", task_.threads_key(),
            " sets the number of threads that read them"));
}

// A rank's message has its sums, a line feed, and its times.
void TrainingLog::add_up_over_processes(const RankTimes& window) {
  const auto texts =
      gather_texts(*comm_, text_of_sums() + "\n" + text_of(window), "losses to be printed");
  std::vector<RankTimes> times;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const std::size_t end = texts[rank].find('\n');
    times.push_back(rank_times_in(texts[rank].substr(end + 1)));
    std::istringstream in(texts[rank].substr(0, end));
    for (double& sum : sums_) {
      double number = 0;
      in >> number;
      sum += rank > 0 ? number : 0;
    }
  }
  if (!leads_) return;
  if (const std::string line = slowest_.add(times); !line.empty()) note(line);
}

// Shifts the window's start.
void TrainingLog::pause(double seconds) {
  window_start_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

void TrainingLog::test(int64_t step, const HeldOutTest& result, double seconds) {
  pause(seconds);
  if (!leads_) return;
  for (const std::string& why : result.left_out)
    if (told_.insert(why).second) {
      left_out_.push_back(why);
      note("left out of the test: " + why);
    }
  const int64_t done = step + 1;
  MetricRow row{{"iter", static_cast<double>(done)}};
  for (const auto& [name, number] : result.numbers) {
    row.emplace_back("test_" + name, number);
    events_->scalar("test/" + name, done, static_cast<float>(number));
  }
  metrics_->append(row);
  if (!result.pictures.empty())
    events_->value(done, images_value("test/pictures", result.pictures, result.pictures_are));
  events_->flush();
  say_trouble();
  progress_.note(join("iter ", std::setw(6), done, "  ", result.headline, "  ", result.detail));
}

}  // namespace lockstep
