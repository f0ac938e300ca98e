// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/metrics.h"

#include <algorithm>
#include <cmath>

#include "app/arrays/elements.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Scores of classes at places: element (place, class) is at place / inner * classes * inner +
// class * inner + place % inner.
struct ClassScores {
  const float* scores;
  int64_t classes, inner, places;

  const float* at(int64_t place) const {
    return scores + place / inner * classes * inner + place % inner;
  }
  int64_t guess(int64_t place) const {
    const float* score = at(place);
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (score[c * inner] > score[best * inner]) best = c;
    return best;
  }
};

[[noreturn]] void refuse(const Tensor& output, const Tensor& target) {
  fail("labels ", target.desc.dims, " do not fit scores ", output.desc.dims);
}

// Classes are in axis 1, or in the last axis, whichever leaves the labels' shape.
ClassScores scores_of(const Tensor& output, const Tensor& target) {
  const Dims& from = output.desc.dims;
  Dims labels = target.desc.dims;
  if (labels.size() == from.size() && !labels.empty() && labels.back() == 1) labels.pop_back();
  if (from.size() < 2 || labels.size() + 1 != from.size()) refuse(output, target);
  for (const std::size_t axis : {std::size_t{1}, from.size() - 1}) {
    Dims rest = from;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
    if (rest != labels) continue;
    int64_t inner = 1;
    for (std::size_t i = axis + 1; i < from.size(); ++i) inner *= from[i];
    return {output.as<const float>(), from[axis], inner, element_count(rest)};
  }
  refuse(output, target);
}

// True for elements that count.
class Counted {
 public:
  Counted(const Tensor& mask, int64_t places) : mask_(mask) {
    if (mask.data == nullptr) return;
    each_ = mask.count() == 0 ? 1 : places / mask.count();
    check(each_ > 0 && mask.count() * each_ == places, "a mask ", mask.desc.dims, " does not fit ",
          places, " elements");
  }
  bool operator()(int64_t place) const {
    return mask_.data == nullptr || element(mask_, place / each_) != 0;
  }

 private:
  const Tensor& mask_;
  int64_t each_ = 1;
};

// Calls `look` with the place and label of each place that counts.
template <class Look>
void each_label(const ClassScores& scores, const Tensor& target, const Tensor& mask,
                const MetricOptions& options, const Look& look) {
  const Counted counted(mask, scores.places);
  for (int64_t i = 0; i < scores.places; ++i) {
    const auto label = static_cast<int64_t>(element(target, i));
    if (label < 0 || label == options.ignore || !counted(i)) continue;
    check(label < scores.classes, "a label is ", label, ", but there are scores of ",
          scores.classes, " classes");
    look(i, label);
  }
}

// Sums of a fixed number.
class Sums : public MetricSums {
 public:
  explicit Sums(std::size_t count) : sums_(count, 0) {}
  std::vector<double> sums() const override { return sums_; }

 protected:
  double& sum(std::size_t i) { return sums_[i]; }
  std::vector<double>& all() { return sums_; }

 private:
  std::vector<double> sums_;
};

double mean_of(const std::vector<double>& sums) { return sums[1] == 0 ? 0 : sums[0] / sums[1]; }

// The label is among the best guesses; of equal scores the earlier class is better.
class Hits final : public Sums {
 public:
  explicit Hits(const MetricOptions& options) : Sums(2), options_(options) {}
  void add(const Tensor& output, const Tensor& target, const Tensor& mask) override {
    const ClassScores scores = scores_of(output, target);
    each_label(scores, target, mask, options_, [&](int64_t place, int64_t label) {
      const float* score = scores.at(place);
      const float own = score[label * scores.inner];
      int64_t better = std::isnan(own) ? options_.best : 0;
      for (int64_t c = 0; c < scores.classes; ++c) {
        const float other = score[c * scores.inner];
        better += other > own || (other == own && c < label);
      }
      sum(0) += better < options_.best;
      sum(1) += 1;
    });
  }

 private:
  MetricOptions options_;
};

class LogProbability final : public Sums {
 public:
  explicit LogProbability(const MetricOptions& options) : Sums(2), options_(options) {}
  void add(const Tensor& output, const Tensor& target, const Tensor& mask) override {
    const ClassScores scores = scores_of(output, target);
    each_label(scores, target, mask, options_, [&](int64_t place, int64_t label) {
      const float* score = scores.at(place);
      const double largest = score[scores.guess(place) * scores.inner];
      double total = 0;
      for (int64_t c = 0; c < scores.classes; ++c)
        total += std::exp(score[c * scores.inner] - largest);
      sum(0) += largest + std::log(total) - score[label * scores.inner];
      sum(1) += 1;
    });
  }

 private:
  MetricOptions options_;
};

// For each class the places where guess and label are the class, and the places where one is.
class Overlaps final : public Sums {
 public:
  explicit Overlaps(const MetricOptions& options) : Sums(0), options_(options) {}
  void add(const Tensor& output, const Tensor& target, const Tensor& mask) override {
    if (is_one_channel(output, target)) return add_one_channel(output, target, mask);
    const ClassScores scores = scores_of(output, target);
    make_room(scores.classes);
    each_label(scores, target, mask, options_,
               [&](int64_t place, int64_t label) { count(scores.guess(place), label); });
  }

 private:
  static bool is_one_channel(const Tensor& output, const Tensor& target) {
    return output.count() == target.count();
  }
  void add_one_channel(const Tensor& output, const Tensor& target, const Tensor& mask) {
    make_room(2);
    const Counted counted(mask, output.count());
    for (int64_t i = 0; i < output.count(); ++i) {
      const auto label = static_cast<int64_t>(element(target, i));
      if (label < 0 || label == options_.ignore || !counted(i)) continue;
      check(label < 2, "a label is ", label,
            ", but the output has one channel for classes 0 and 1");
      count(output.as<const float>()[i] > options_.above.value_or(0) ? 1 : 0, label);
    }
  }
  void make_room(int64_t classes) {
    all().resize(std::max(all().size(), static_cast<std::size_t>(2 * classes)), 0);
  }
  void count(int64_t guess, int64_t label) {
    sum(2 * label + 1) += 1;
    if (guess == label)
      sum(2 * label) += 1;
    else
      sum(2 * guess + 1) += 1;
  }

  MetricOptions options_;
};

// The mean over classes that occur.
double mean_overlap(const std::vector<double>& sums) {
  double total = 0, classes = 0;
  for (std::size_t i = 0; i + 1 < sums.size(); i += 2)
    if (sums[i + 1] > 0) {
      total += sums[i] / sums[i + 1];
      classes += 1;
    }
  return classes == 0 ? 0 : total / classes;
}

// The sums of the absolute errors, their number, the squared errors; of the targets and their
// squares.
class Errors final : public Sums {
 public:
  explicit Errors(const MetricOptions& options) : Sums(5), options_(options) {}
  void add(const Tensor& output, const Tensor& target, const Tensor& mask) override {
    check(output.count() == target.count(), "targets ", target.desc.dims, " do not fit outputs ",
          output.desc.dims);
    const Counted counted(mask, output.count());
    for (int64_t i = 0; i < output.count(); ++i) {
      if (!counted(i)) continue;
      const double truth = element(target, i), error = output.as<const float>()[i] - truth;
      if (options_.ignores_numbers && truth == static_cast<double>(options_.ignore)) continue;
      sum(0) += std::abs(error);
      sum(1) += 1;
      sum(2) += error * error;
      sum(3) += truth;
      sum(4) += truth * truth;
    }
  }

 private:
  MetricOptions options_;
};

double root_mean_square(const std::vector<double>& sums) {
  return sums[1] == 0 ? 0 : std::sqrt(sums[2] / sums[1]);
}

// 1 - the variance of errors around 0 / the variance of targets around their mean.
double explained(const std::vector<double>& sums) {
  const double spread = sums[1] == 0 ? 0 : sums[4] - sums[3] * sums[3] / sums[1];
  return spread <= 0 ? 0 : 1 - sums[2] / spread;
}

template <class Kind>
std::unique_ptr<MetricSums> make(const MetricOptions& options) {
  return std::make_unique<Kind>(options);
}

}  // namespace

const std::vector<MetricKind>& metric_kinds() {
  static const std::vector<MetricKind> kinds{
      {.name = "accuracy",
       .meaning = "share of labels that have the best score",
       .is_share = true,
       .of_classes = true,
       .make = make<Hits>,
       .value = mean_of},
      {.name = "top",
       .meaning = "top5: share of labels among the five best scores",
       .is_share = true,
       .of_classes = true,
       .make = make<Hits>,
       .value = mean_of},
      {.name = "iou",
       .meaning = "mean over classes of intersection over union",
       .is_share = true,
       .of_classes = true,
       .make = make<Overlaps>,
       .value = mean_overlap},
      {.name = "r2",
       .meaning = "share of the targets' variance that is explained",
       .make = make<Errors>,
       .value = explained},
      {.name = "mean_error",
       .meaning = "mean of the absolute errors",
       .larger_is_better = false,
       .make = make<Errors>,
       .value = mean_of},
      {.name = "root_mean_square",
       .meaning = "root of the errors' mean square",
       .larger_is_better = false,
       .make = make<Errors>,
       .value = root_mean_square},
      {.name = "perplexity",
       .meaning = "exponential of the mean cross entropy",
       .larger_is_better = false,
       .of_classes = true,
       .of_scores = true,
       .make = make<LogProbability>,
       .value = [](const std::vector<double>& sums) { return std::exp(mean_of(sums)); }}};
  return kinds;
}

void add_sums(std::vector<double>& sums, const std::vector<double>& more) {
  sums.resize(std::max(sums.size(), more.size()), 0);
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

}  // namespace lockstep
