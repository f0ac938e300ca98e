// SPDX-License-Identifier: Apache-2.0
#include "app/report/classes.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "app/format.h"
#include "app/html.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostMixups = 10, kMostClasses = 40, kMostInTable = 25;

double share(int64_t count, int64_t of) {
  return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
}

class Page {
 public:
  explicit Page(const Tested& tested) : tested_(tested), confusion_(tested.result.confusion) {}

  std::string run() {
    samples();
    out_ << "<div class=\"pair\">\n";
    classes();
    mistakes();
    out_ << "</div>\n";
    table();
    return out_.str();
  }

 private:
  std::string name(std::size_t label) const {
    return escaped(label < tested_.classes.size() ? tested_.classes[label] : std::to_string(label));
  }

  void samples() {
    const auto& samples = tested_.result.samples;
    if (samples.empty()) return;
    out_ << "<h2>Held-out pictures</h2>\n<p>After iteration " << tested_.iteration
         << (tested_.own_share ? ", among those that process 0 tested" : "")
         << ": the wrong predictions with the highest confidence, in red, with the correct class; "
            "then the predictions with the lowest confidence.</p>\n<div class=\"samples\">\n";
    for (const SamplePicture& sample : samples) {
      const std::string said = sample.wrong() ? sample.label + ", classified as " + sample.guess
                                              : sample.label + ", correct";
      const std::string title = escaped(join(said, ", ", percent(sample.confidence, 2),
                                             " confidence; held-out picture ", sample.index));
      out_ << "<figure title=\"" << title << "\"" << (sample.wrong() ? " class=\"wrong\"" : "")
           << "><img alt=\"" << title << "\" src=\"" << data_url(sample.image)
           << "\"><figcaption><span><b>" << escaped(sample.guess) << "</b></span><span>"
           << percent(sample.confidence, 0) << "</span>";
      if (sample.wrong()) out_ << "<span>is " << escaped(sample.label) << "</span>";
      out_ << "</figcaption></figure>\n";
    }
    out_ << "</div>\n";
  }

  // Sorts the worst classes first.
  void classes() {
    std::vector<std::size_t> labels(confusion_.size());
    std::iota(labels.begin(), labels.end(), std::size_t{0});
    std::erase_if(labels, [&](std::size_t label) { return total(confusion_[label]) == 0; });
    auto right = [&](std::size_t label) {
      return share(confusion_[label][label], total(confusion_[label]));
    };
    std::stable_sort(labels.begin(), labels.end(),
                     [&](std::size_t a, std::size_t b) { return right(a) < right(b); });
    const bool cut = labels.size() > kMostClasses;
    out_ << "<section><h2>Classes</h2>\n<p>Fraction of each class's held-out pictures that are "
            "classified correctly"
         << (cut ? join(", the worst ", kMostClasses, " of ", labels.size()) : "")
         << ".</p>\n<table class=\"bars\">\n";
    if (cut) labels.resize(kMostClasses);
    for (std::size_t label : labels) {
      const std::string said = percent(right(label));
      out_ << "<tr title=\"" << confusion_[label][label] << " of " << total(confusion_[label])
           << "\"><th>" << name(label)
           << "</th><td class=\"bar\"><i style=\"width:" << 100 * right(label)
           << "%\"></i></td><td>" << said << "</td><td>" << confusion_[label][label] << " of "
           << total(confusion_[label]) << "</td></tr>\n";
    }
    out_ << "</table></section>\n";
  }

  void mistakes() {
    const auto list = mixups(confusion_, kMostMixups);
    out_ << "<section><h2>Most frequent confusions</h2>\n";
    if (list.empty())
      out_ << "<p>None.</p>\n";
    else
      out_ << "<p>Pairs of correct and predicted class.</p>\n<table class=\"bars\">\n";
    for (const Mixup& m : list)
      out_ << "<tr><th>" << name(m.label) << " <span>classified as</span> " << name(m.guess)
           << "</th><td class=\"bar bad\"><i style=\"width:" << 100 * share(m.count, m.of)
           << "%\"></i></td><td>" << percent(share(m.count, m.of)) << "</td><td>" << m.count
           << " of " << m.of << "</td></tr>\n";
    out_ << (list.empty() ? "" : "</table>\n") << "</section>\n";
  }

  void table() {
    if (confusion_.size() > kMostInTable) return;
    out_ << "<h2>Confusion</h2>\n<p>Rows: correct class. Columns: predicted class.</p>\n<div "
            "class=\"wide\"><table class=\"confusion\"><tr><th></th>";
    for (std::size_t guess = 0; guess < confusion_.size(); ++guess)
      out_ << "<th title=\"" << name(guess) << "\"><span>" << name(guess) << "</span></th>";
    out_ << "</tr>\n";
    for (std::size_t label = 0; label < confusion_.size(); ++label) {
      out_ << "<tr><th title=\"" << name(label) << "\"><span>" << name(label) << "</span></th>";
      for (std::size_t guess = 0; guess < confusion_.size(); ++guess) cell(label, guess);
      out_ << "</tr>\n";
    }
    out_ << "</table></div>\n";
  }

  void cell(std::size_t label, std::size_t guess) {
    const int64_t count = confusion_[label][guess], of = total(confusion_[label]);
    const double part = share(count, of);
    const bool right = label == guess;
    out_ << "<td class=\"" << (right ? "right" : "bad")
         << "\" style=\"--share:" << (right ? part : std::min(1.0, 6 * part)) << "\" title=\""
         << count << " of " << of << " " << name(label)
         << (right ? ": correct" : ": classified as " + name(guess)) << "\">"
         << (count ? std::to_string(count) : "") << "</td>";
  }

  const Tested& tested_;
  const std::vector<std::vector<int64_t>>& confusion_;
  std::ostringstream out_;
};

}  // namespace

std::vector<Mixup> mixups(const std::vector<std::vector<int64_t>>& confusion, std::size_t most) {
  std::vector<Mixup> list;
  for (std::size_t label = 0; label < confusion.size(); ++label)
    for (std::size_t guess = 0; guess < confusion.size(); ++guess)
      if (label != guess && confusion[label][guess] > 0)
        list.push_back({label, guess, confusion[label][guess], total(confusion[label])});
  std::stable_sort(list.begin(), list.end(), [](const Mixup& a, const Mixup& b) {
    return std::pair(a.count, share(a.count, a.of)) > std::pair(b.count, share(b.count, b.of));
  });
  if (list.size() > most) list.resize(most);
  return list;
}

std::string html_of(const Tested& tested) { return Page(tested).run(); }

}  // namespace lockstep
