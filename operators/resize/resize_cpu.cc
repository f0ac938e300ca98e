// Interpolation is separable: along each dimension every output place is a weighted sum of a few
// input places. The weights are worked out when the kernel is prepared; a run applies them one
// dimension after the other.
#include <algorithm>
#include <cmath>

#include "operators/dispatch.h"
#include "operators/resize/resize.h"

namespace lockstep {
namespace {

struct Tap {
  int64_t index;
  float weight;
};

// One dimension: the taps of each output place, or none where it lies outside the region.
struct Line {
  int64_t before = 0, after = 0;
  std::vector<std::vector<Tap>> taps;
  std::vector<bool> outside;
};

struct ResizeAttrs {
  std::string mode, coordinates, nearest;
  float cubic_a, extrapolation;
  bool exclude_outside;
};

ResizeAttrs read(AttributeReader attributes) {
  ResizeAttrs attrs;
  attrs.mode = attributes.text("mode", "nearest");
  attrs.coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  attrs.nearest = attributes.text("nearest_mode", "round_prefer_floor");
  attrs.cubic_a = attributes.number("cubic_coeff_a", -0.75F);
  attrs.extrapolation = attributes.number("extrapolation_value", 0);
  attrs.exclude_outside = attributes.integer("exclude_outside", 0) != 0;
  return attrs;
}

struct Region {
  double start = 0, end = 1;
};

// Where output place i lies in the input.
double position(const ResizeAttrs& attrs, int64_t i, double scale, int64_t before, int64_t after,
                Region region) {
  const double size = static_cast<double>(before), place = static_cast<double>(i);
  // Not rounded to whole places: ONNX's own cases are made that way.
  const double resized = scale * size;
  if (attrs.coordinates == "asymmetric") return place / scale;
  if (attrs.coordinates == "align_corners")
    return after == 1 ? 0 : place * (size - 1) / (resized - 1);
  if (attrs.coordinates == "pytorch_half_pixel") return after > 1 ? (place + 0.5) / scale - 0.5 : 0;
  if (attrs.coordinates == "tf_crop_and_resize")
    return after > 1 ? region.start * (size - 1) + place * (region.end - region.start) *
                                                       (size - 1) / static_cast<double>(after - 1)
                     : 0.5 * (region.start + region.end) * (size - 1);
  supported(attrs.coordinates == "half_pixel", "coordinate_transformation_mode '",
            attrs.coordinates, "'");
  return (place + 0.5) / scale - 0.5;
}

int64_t nearest_place(const std::string& how, double at) {
  if (how == "floor") return static_cast<int64_t>(std::floor(at));
  if (how == "ceil") return static_cast<int64_t>(std::ceil(at));
  if (how == "round_prefer_ceil") return static_cast<int64_t>(std::floor(at + 0.5));
  return static_cast<int64_t>(std::ceil(at - 0.5));
}

// The cubic kernel of Keys at distance d.
double cubic(double d, double a) {
  d = std::abs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

std::vector<Tap> taps_at(const ResizeAttrs& attrs, double at, int64_t before) {
  auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, before - 1); };
  if (attrs.mode == "nearest") return {{inside(nearest_place(attrs.nearest, at)), 1}};
  const auto floor = static_cast<int64_t>(std::floor(at));
  const double rest = at - static_cast<double>(floor);
  if (attrs.mode == "linear")
    return {{inside(floor), static_cast<float>(1 - rest)},
            {inside(floor + 1), static_cast<float>(rest)}};
  supported(attrs.mode == "cubic", "mode '", attrs.mode, "'");
  std::vector<Tap> taps;
  double total = 0;
  for (int64_t i = floor - 1; i <= floor + 2; ++i) {
    const bool out = i < 0 || i >= before;
    const double weight =
        out && attrs.exclude_outside ? 0 : cubic(at - static_cast<double>(i), attrs.cubic_a);
    taps.push_back({inside(i), static_cast<float>(weight)});
    total += weight;
  }
  if (attrs.exclude_outside)
    for (Tap& tap : taps) tap.weight = static_cast<float>(tap.weight / total);
  return taps;
}

// `options`: the operand that is the region of interest; the scales come after it.
std::vector<Line> lines_of(const KernelRequest& request, const Dims& x, const Dims& y,
                           std::size_t options) {
  const ResizeAttrs attrs = read(request.attributes());
  auto values = [&](std::size_t i) {
    const Literal* literal = i < request.constants.size() ? request.constants[i] : nullptr;
    return literal && literal->count() > 0 ? literal->values<float>() : std::span<const float>();
  };
  auto roi = values(options), scales = values(options + 1);
  std::vector<Line> lines;
  for (std::size_t d = 0; d < x.size(); ++d) {
    Line line{x[d], y[d], {}, {}};
    const double scale = scales.empty() ? static_cast<double>(y[d]) / static_cast<double>(x[d])
                                        : static_cast<double>(scales[d]);
    Region region;
    if (roi.size() == 2 * x.size()) region = {roi[d], roi[x.size() + d]};
    for (int64_t i = 0; i < y[d]; ++i) {
      const double at = position(attrs, i, scale, x[d], y[d], region);
      const bool crops = attrs.coordinates == "tf_crop_and_resize";
      line.outside.push_back(crops && (at < 0 || at > static_cast<double>(x[d] - 1)));
      line.taps.push_back(taps_at(attrs, at, x[d]));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// One dimension of [outer, before, inner] to [outer, after, inner].
void apply(const Line& line, int64_t outer, int64_t inner, const float* from, float* to) {
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < line.after; ++i)
      for (int64_t k = 0; k < inner; ++k) {
        float total = 0;
        for (const Tap& tap : line.taps[i])
          total += tap.weight * from[(o * line.before + tap.index) * inner + k];
        to[(o * line.after + i) * inner + k] = total;
      }
}

// The transpose of that: [outer, after, inner] back to [outer, before, inner].
void apply_back(const Line& line, int64_t outer, int64_t inner, const float* from, float* to) {
  std::fill_n(to, outer * line.before * inner, 0.0F);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < line.after; ++i)
      for (const Tap& tap : line.taps[i])
        for (int64_t k = 0; k < inner; ++k)
          to[(o * line.before + tap.index) * inner + k] +=
              tap.weight * from[(o * line.after + i) * inner + k];
}

enum class Direction { forward, back };

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(std::vector<Line> lines, Direction direction, float extrapolation)
      : lines_(std::move(lines)), direction_(direction), extrapolation_(extrapolation) {
    for (std::size_t d = 0; d < lines_.size(); ++d) {
      if (!trivial(lines_[d])) active_.push_back(d);
      input_ *= source(lines_[d]);
    }
    int64_t size = input_;
    for (std::size_t d : active_) {
      size = size / std::max<int64_t>(1, source(lines_[d])) * target(lines_[d]);
      largest_ = std::max(largest_, size);
    }
  }

  // Two buffers, used in turn; the last dimension writes the output.
  std::size_t workspace_bytes() const override {
    return active_.size() < 2 ? 0 : 2 * static_cast<std::size_t>(largest_) * sizeof(float);
  }

  void run(const KernelArgs& args) override {
    const float* from = args.in[0].as<float>();
    auto* buffers = reinterpret_cast<float*>(args.workspace);
    if (active_.empty()) std::copy_n(from, input_, args.out[0].as<float>());
    int64_t size = input_;
    for (std::size_t n = 0; n < active_.size(); ++n) {
      const Line& line = lines_[active_[n]];
      int64_t inner = 1;  // of dimensions that come later, which have their old size still
      for (std::size_t d = active_[n] + 1; d < lines_.size(); ++d) inner *= source(lines_[d]);
      const int64_t outer = size / (source(line) * inner);
      const bool last = n + 1 == active_.size();
      float* to = last ? args.out[0].as<float>() : buffers + (n % 2) * largest_;
      (direction_ == Direction::forward ? apply : apply_back)(line, outer, inner, from, to);
      size = outer * target(line) * inner;
      from = to;
    }
    if (direction_ == Direction::forward) blank_outside(args.out[0].as<float>());
  }

 private:
  int64_t source(const Line& line) const {
    return direction_ == Direction::forward ? line.before : line.after;
  }
  int64_t target(const Line& line) const {
    return direction_ == Direction::forward ? line.after : line.before;
  }

  static bool trivial(const Line& line) {
    if (line.before != line.after) return false;
    for (int64_t i = 0; i < line.after; ++i)
      for (const Tap& tap : line.taps[i])
        if (tap.weight != 0 && (tap.index != i || tap.weight != 1)) return false;
    return true;
  }

  // Places outside the region of interest take the extrapolation value.
  void blank_outside(float* y) const {
    bool any = false;
    int64_t count = 1;
    for (const Line& line : lines_) {
      count *= line.after;
      any = any || std::count(line.outside.begin(), line.outside.end(), true) > 0;
    }
    for (int64_t i = 0; any && i < count; ++i) {
      int64_t rest = i;
      bool outside = false;
      for (std::size_t d = lines_.size(); d-- > 0;) {
        outside = outside || lines_[d].outside[rest % lines_[d].after];
        rest /= lines_[d].after;
      }
      if (outside) y[i] = extrapolation_;
    }
  }

  std::vector<Line> lines_;
  std::vector<std::size_t> active_;  // dimensions that change
  Direction direction_;
  float extrapolation_;
  int64_t input_ = 1;
  int64_t largest_ = 0;
};

std::unique_ptr<Kernel> prepare_resize(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no CPU kernel for ", request.in[0].dtype);
  return std::make_unique<ResizeKernel>(
      lines_of(request, request.in[0].dims, request.out[0].dims, 1), Direction::forward,
      read(request.attributes()).extrapolation);
}

std::unique_ptr<Kernel> prepare_resize_grad(const KernelRequest& request) {
  supported(request.in[0].dtype == DType::float32, "has no CPU kernel for ", request.in[0].dtype);
  const ResizeAttrs attrs = read(request.attributes());
  supported(attrs.coordinates != "tf_crop_and_resize", "the gradient of tf_crop_and_resize");
  return std::make_unique<ResizeKernel>(
      lines_of(request, request.out[0].dims, request.in[0].dims, 2), Direction::back, 0);
}

}  // namespace

std::vector<KernelEntry> resize_cpu() {
  return {{"Resize", "", prepare_resize}, {"ResizeGrad", kOwnDomain, prepare_resize_grad}};
}

}  // namespace lockstep
