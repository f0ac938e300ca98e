#include "tools/train/training_log.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "runtime/dist/agree.h"
#include "tools/texts.h"

namespace lockstep {

TrainingLog::TrainingLog(const TrainConfig& config, Comm* comm, const LogOptions& options)
    : config_(config),
      comm_(comm),
      leads_(!comm || comm->rank() == 0),
      first_(options.first),
      progress_(options.quiet) {
  if (!leads_) return;
  metrics_ = std::make_unique<MetricsFile>(config.output_dir + "/metrics.jsonl", first_);
  events_ = std::make_unique<EventWriter>(config.output_dir);
  events_->value(0, run_starts_value(config.changed(), unix_time()));
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

// Once, and again at the end.
void TrainingLog::say_trouble() {
  for (const std::string& trouble : {metrics_->trouble(), events_->trouble()}) {
    if (trouble.empty() || trouble_said_) continue;
    note(trouble + "; the run continues and writes the rest later");
    trouble_said_ = true;
  }
}

std::string TrainingLog::open_window() const {
  const std::string mine =
      join(std::setprecision(17), loss_sum_, " ", accuracy_sum_, " ", window_, " ", counted_);
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
  double loss = 0, accuracy = 0;
  int64_t steps = 0, counted = 0;
  if (!(std::istringstream(mine) >> loss >> accuracy >> steps >> counted)) return;
  if (steps != first_ % config_.log_iters || counted > steps) return;
  loss_sum_ = loss, accuracy_sum_ = accuracy, window_ = steps, counted_ = counted;
}

void TrainingLog::note(const std::string& line) {
  if (leads_) progress_.note(line);
}

void TrainingLog::start_window(double data_seconds) {
  loss_sum_ = accuracy_sum_ = 0;
  window_ = counted_ = timed_ = 0;
  window_start_ = std::chrono::steady_clock::now();
  if (start_ == std::chrono::steady_clock::time_point()) start_ = window_start_;
  data_seconds_ = data_seconds;
}

void TrainingLog::rate(int64_t step) {
  if (rate_change(config_.schedule, step) <= config_.log_lr_change_threshold) return;
  note(join("iter ", std::setw(6), step + 1, "  learning rate ",
            learning_rate(config_.schedule, step - 1), " -> ",
            learning_rate(config_.schedule, step)));
}

bool TrainingLog::step(int64_t step, const StepResult& result, double data_seconds) {
  const bool was_skipped = !result.skipped.empty();
  // The rank where it began reports it, too.
  if (was_skipped && (leads_ || result.skipped_here))
    progress_.note(join("iter ", std::setw(6), step + 1, "  skipped: ", result.skipped));
  loss_sum_ += result.loss;
  accuracy_sum_ += result.accuracy;
  counted_ += result.counts;
  ++window_, ++timed_;
  if ((step + 1) % config_.log_iters != 0 && step + 1 != config_.schedule.max_iter) return false;
  // Over this process's counted steps; with deferred gradients, processes may count different
  // numbers.
  loss_sum_ /= static_cast<double>(std::max<int64_t>(counted_, 1));
  accuracy_sum_ /= static_cast<double>(std::max<int64_t>(counted_, 1));
  if (comm_) add_up_over_processes();
  if (leads_) write_window(step, data_seconds);
  start_window(data_seconds);
  return true;
}

// Loss and accuracy are means over the counted steps; omitted if there are none.
void TrainingLog::write_window(int64_t step, double data_seconds) {
  const double elapsed = seconds_since(window_start_), steps = static_cast<double>(timed_);
  const double images = steps * static_cast<double>(config_.batch_size) / elapsed;
  const double rate = learning_rate(config_.schedule, step);
  const int64_t done = step + 1;
  MetricRow row{{"iter", static_cast<double>(done)}};
  std::string said = join("all ", window_, " steps were skipped");
  if (counted_ > 0) {
    const double loss = loss_sum_, accuracy = accuracy_sum_;
    row.insert(row.end(), {{"loss", loss}, {"accuracy", accuracy}});
    events_->scalar("train/loss", done, static_cast<float>(loss));
    events_->scalar("train/accuracy", done, static_cast<float>(accuracy));
    said = join("loss ", fixed(loss, 4), "  accuracy ", fixed(100 * accuracy, 1), " %");
  }
  row.insert(row.end(), {{"lr", rate},
                         {"time", elapsed / steps},
                         {"data_time", (data_seconds - data_seconds_) / steps},
                         {"images_per_second", images}});
  metrics_->append(row);
  events_->scalar("train/lr", done, static_cast<float>(rate));
  events_->scalar("train/images_per_second", done, static_cast<float>(images));
  events_->flush();
  say_trouble();
  const int64_t all = config_.schedule.max_iter;
  const double each = seconds_since(start_) / static_cast<double>(done - first_);
  progress_.status(join("iter ", std::setw(6), done, "/", all, "  ", std::setw(3), 100 * done / all,
                        " %  ", said, "  lr ", fixed(rate, 5), "  ", fixed(images, 0),
                        " images/s  ",
                        done < all ? clock_text(each * static_cast<double>(all - done)) + " left"
                                   : "took " + clock_text(seconds_since(start_))));
}

void TrainingLog::add_up_over_processes() {
  const auto texts = gather_texts(
      *comm_, join(std::setprecision(17), loss_sum_, " ", accuracy_sum_), "losses to be printed");
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    double loss = 0, accuracy = 0;
    std::istringstream(texts[rank]) >> loss >> accuracy;
    loss_sum_ += loss;
    accuracy_sum_ += accuracy;
  }
}

void TrainingLog::test(int64_t step, const TestResult& result, double seconds) {
  // Shifts the window's start, so that testing time does not count.
  window_start_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
  if (!leads_) return;
  const int64_t done = step + 1;
  metrics_->append({{"iter", static_cast<double>(done)},
                    {"test_accuracy", result.accuracy},
                    {"test_loss", result.loss}});
  events_->scalar("test/accuracy", done, static_cast<float>(result.accuracy));
  events_->scalar("test/loss", done, static_cast<float>(result.loss));
  if (!result.samples.empty())
    events_->value(
        done,
        images_value(
            "test/pictures", result.samples,
            "Wrong predictions with the highest confidence, then predictions with the lowest"));
  events_->flush();
  say_trouble();
  progress_.note(join("iter ", std::setw(6), done, "  held-out accuracy ",
                      fixed(100 * result.accuracy, 2), " %  loss ", fixed(result.loss, 4)));
}

}  // namespace lockstep
