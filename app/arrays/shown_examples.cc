// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/shown_examples.h"

#include <algorithm>
#include <cmath>

#include "app/arrays/example_types.h"
#include "app/arrays/pictures_of_rows.h"
#include "app/draw/masks.h"

namespace lockstep {
namespace {

constexpr std::size_t kShownOfEach = 6;
constexpr int64_t kLeastSide = 8;  // smaller tensors are rarely pictures

bool is_picture(const TensorDesc& row) {
  const Dims& dims = row.dims;
  return row.dtype == DType::float32 && dims.size() == 4 && (dims[1] == 1 || dims[1] == 3) &&
         dims[2] >= kLeastSide && dims[3] >= kLeastSide;
}

bool same_size(const Tensor& a, const Tensor& b) {
  const Dims &x = a.desc.dims, &y = b.desc.dims;
  return x.size() >= 2 && y.size() >= 2 && x[x.size() - 1] == y[y.size() - 1] &&
         x[x.size() - 2] == y[y.size() - 2];
}

}  // namespace

ShownExamples::ShownExamples(const Metric& metric, const ExampleSet& set, std::string picture)
    : metric_(metric), set_(set), picture_(std::move(picture)) {}

void ShownExamples::see(const Rows& examples, const MinibatchForm& form,
                        std::span<const Tensor> tensors, const Tensor& output) {
  const auto tensor = [&](const std::string& name) { return tensors[place_of(form, name)]; };
  const bool has_rows = !output.desc.dims.empty() && output.desc.dims[0] == examples.count;
  if (!has_rows || output.desc.dtype != DType::float32) return;
  for (int64_t row = 0; row < examples.count; ++row) {
    const Rows one{row, 1};
    see_row(examples.first + row, rows_from(tensor(picture_), one),
            rows_from(tensor(metric_.target), one), rows_from(output, one),
            metric_.mask.empty() ? Tensor{} : rows_from(tensor(metric_.mask), one));
  }
}

void ShownExamples::see_row(int64_t example, const Tensor& picture, const Tensor& target,
                            const Tensor& output, const Tensor& mask) {
  const auto sums = metric_.kind->make(metric_.options);
  sums->add(output, target, mask);
  std::vector<double> totals = sums->sums();
  totals.resize(std::max<std::size_t>(totals.size(), 2), 0);
  const double value = metric_.kind->value(totals);
  const double rank = std::isnan(value)                ? -INFINITY
                      : metric_.kind->larger_is_better ? value
                                                       : -value;
  const auto keep = [&](std::vector<Shown>& kept, bool ascending) {
    const auto place = std::find_if(kept.begin(), kept.end(), [&](const Shown& other) {
      return ascending ? rank < other.rank : rank > other.rank;
    });
    if (place == kept.end() && kept.size() >= kShownOfEach) return;
    auto shown = comparison(picture, target, output);
    if (!shown) return;
    shown->name = set_.name_of(example);
    shown->said = text_of_metric(metric_, value);
    kept.insert(place, {rank, std::move(*shown), example});
    if (kept.size() > kShownOfEach) kept.pop_back();
  };
  keep(worst_, true);
  keep(best_, false);
}

std::optional<ShownComparison> ShownExamples::comparison(const Tensor& picture,
                                                         const Tensor& target,
                                                         const Tensor& output) const {
  const auto made = set_.preparation();
  const auto drawn = [&](const Tensor& row, const LightRange& range) {
    return made && made->channels == row.desc.dims[1] ? picture_in(row, *made)
                                                      : picture_in(row, range);
  };
  const bool fits = metric_.kind->of_classes
                        ? same_size(picture, target) && same_size(picture, output)
                        : is_picture(output.desc) && is_picture(target.desc);
  if (output.desc.dims.size() != 4 || !fits) return std::nullopt;
  ShownComparison shown;
  shown.picture = drawn(picture, range_of(picture));
  if (metric_.kind->of_classes) {
    shown.truth = overlaid(shown.picture, mask_of_labels(target, metric_.options.ignore));
    shown.found =
        overlaid(shown.picture, mask_of_scores(output, metric_.options.above.value_or(0)));
  } else {
    const LightRange range = range_of(target);
    shown.truth = drawn(target, range);
    shown.found = drawn(output, range);
  }
  return shown;
}

std::string ShownExamples::html() const {
  std::vector<ShownComparison> worst, best;
  for (const Shown& shown : worst_) worst.push_back(shown.comparison);
  for (const Shown& shown : best_)
    if (std::none_of(worst_.begin(), worst_.end(),
                     [&](const Shown& other) { return other.example == shown.example; }))
      best.push_back(shown.comparison);
  if (worst.empty()) return "";
  std::string text = "<h2>Worst examples by " + metric_.name + "</h2>\n" + html_of(worst);
  if (!best.empty()) text += "<h2>Best examples by " + metric_.name + "</h2>\n" + html_of(best);
  return text;
}

std::optional<ShownExamples> shown_examples(const std::vector<Metric>& metrics,
                                            const ExampleSet& set) {
  if (metrics.empty()) return std::nullopt;
  const std::vector<MinibatchForm> forms = set.forms(1);
  if (forms.size() != 1) return std::nullopt;
  std::string picture;  // the metric's target only if no other tensor is a picture
  for (const auto& [name, desc] : forms[0])
    if (is_picture(desc) && (picture.empty() || picture == metrics[0].target)) picture = name;
  if (picture.empty()) return std::nullopt;
  return std::optional<ShownExamples>(std::in_place, metrics[0], set, picture);
}

}  // namespace lockstep
