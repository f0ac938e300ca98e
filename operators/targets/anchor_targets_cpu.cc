// SPDX-License-Identifier: Apache-2.0
// AnchorTargets in three passes: overlaps of objects and anchors, by image and group of anchors;
// each object's best anchors, by image; labels and targets, by image or by image and group. One
// thread processes an image and group, so the order of sums and ties is fixed.
#include "graph/random_stream.h"
#include "operators/targets/anchor_field.h"
#include "operators/targets/attributes.h"
#include "operators/targets/draws.h"
#include "operators/targets/kernels_cpu.h"
#include "operators/targets/truth.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

constexpr std::array<float, 4> kPlain{1, 1, 1, 1};

bool any_object(const ImageTruth& truth) {
  for (int64_t row = 0; row < truth.rows; ++row)
    if (truth.is_object(row)) return true;
  return false;
}

class AnchorTargetsKernel final : public Kernel {
 public:
  explicit AnchorTargetsKernel(const KernelRequest& request)
      : attrs_(read_anchor_targets(request.attributes())),
        groups_(groups_of(attrs_)),
        anchors_(anchors_of(attrs_)),
        images_(request.in[0].dims[0]),
        objects_(request.in[0].dims[1]),
        threads_(request.threads),
        stream_(attrs_.sample > 0 ? static_cast<uint64_t>(random_stream_of(request.node)) : 0) {}

  std::size_t workspace_bytes() const override {
    return images_ *
           (draws_of_image() * sizeof(Draw) + counts_of_image() * sizeof(int64_t) +
            anchors_ * (sizeof(float) + sizeof(int32_t)) + highest_of_image() * sizeof(float));
  }

  std::string describe() const override {
    return join(anchors_, " anchors, ",
                attrs_.sample > 0 ? join(attrs_.sample, " sampled") : std::string("all count"));
  }

  void run(const KernelArgs& args) override {
    const auto each = static_cast<int64_t>(groups_.size());
    parallel_for(images_ * each, 1, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) match(args, i / each, i % each);
    });
    parallel_for(images_, 1, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) {
        mark(args, image);
        if (attrs_.sample > 0) sample(args, image);
      }
    });
    if (attrs_.sample > 0) return;
    parallel_for(images_ * each, 1, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) label(args, i / each, i % each);
    });
    add_counts(args);
  }

 private:
  struct Counts {
    int64_t objects, background;
  };

  // An image's part of the workspace.
  struct Space {
    Draw* draws;     // 2 * (foreground + sample)
    Counts* counts;  // by group
    float* best;     // by anchor
    int32_t* rows;   // by anchor
    float* highest;  // [group][object]
  };

  std::size_t draws_of_image() const { return SampleDraws::room(attrs_.foreground, attrs_.sample); }
  std::size_t counts_of_image() const { return attrs_.sample > 0 ? 0 : 2 * groups_.size(); }
  std::size_t highest_of_image() const { return groups_.size() * objects_; }

  // Arrays are ordered by alignment; each array covers all images.
  Space space_of(std::byte* workspace, int64_t image) const {
    const auto images = static_cast<std::size_t>(images_), i = static_cast<std::size_t>(image);
    const std::size_t anchors = anchors_;
    const auto take = [&]<class T>(T*, std::size_t of_image) {
      T* all = reinterpret_cast<T*>(workspace);
      workspace += images * of_image * sizeof(T);
      return all + i * of_image;
    };
    Space space;
    space.draws = take(static_cast<Draw*>(nullptr), draws_of_image());
    space.counts = take(static_cast<Counts*>(nullptr), counts_of_image() / 2);
    space.best = take(static_cast<float*>(nullptr), anchors);
    space.rows = take(static_cast<int32_t*>(nullptr), anchors);
    space.highest = take(static_cast<float*>(nullptr), highest_of_image());
    return space;
  }

  ImageTruth truth_of(const KernelArgs& args, int64_t image) const {
    return truth_of_image(args.in, 0, objects_, image);
  }

  Cells inside(const KernelArgs& args, int64_t image, const AnchorGroup& group) const {
    const float* info = args.in[3].as<float>() + 3 * image;
    return cells_inside(group, {info[0], info[1], attrs_.straddle});
  }

  void match(const KernelArgs& args, int64_t image, int64_t number) const {
    const AnchorGroup& group = groups_[number];
    const Space space = space_of(args.workspace, image);
    const ImageTruth truth = truth_of(args, image);
    const Cells cells = inside(args, image, group);
    std::fill_n(space.best + group.first, group.count(), 0.0F);
    std::fill_n(space.rows + group.first, group.count(), -1);
    for (int64_t row = 0; row < objects_; ++row)
      space.highest[number * objects_ + row] =
          truth.is_object(row)
              ? match_object(group, cells, box_at(truth.boxes, row), static_cast<int32_t>(row),
                             {space.best + group.first, space.rows + group.first})
              : 0.0F;
  }

  // Marks each object's best anchors, which are foreground for any overlap above 0. Only groups
  // with the highest overlap are searched again.
  void mark(const KernelArgs& args, int64_t image) const {
    const Space space = space_of(args.workspace, image);
    const ImageTruth truth = truth_of(args, image);
    for (int64_t row = 0; row < objects_; ++row) {
      float highest = 0;
      for (std::size_t g = 0; g < groups_.size(); ++g)
        highest = std::max(highest, space.highest[static_cast<int64_t>(g) * objects_ + row]);
      if (highest == 0) continue;
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (space.highest[static_cast<int64_t>(g) * objects_ + row] == highest)
          mark_best(groups_[g], inside(args, image, groups_[g]), box_at(truth.boxes, row), highest,
                    {space.best + groups_[g].first, space.rows + groups_[g].first});
    }
  }

  bool is_foreground(float best) const { return best >= attrs_.positive_overlap; }
  // An anchor with a smaller overlap is background. In an image without objects every anchor is
  // background.
  float background_below(const ImageTruth& truth) const {
    return any_object(truth) ? attrs_.negative_overlap : attrs_.positive_overlap;
  }

  // -- some anchors count

  void sample(const KernelArgs& args, int64_t image) const {
    const Space space = space_of(args.workspace, image);
    const float below = background_below(truth_of(args, image));
    Draws draws(args.context.seed, args.context.step, stream_, args.in[4].as<int64_t>()[image]);
    SampleDraws sampled(space.draws, attrs_.foreground, attrs_.sample);
    for (const AnchorGroup& group : groups_) {
      const Cells cells = inside(args, image, group);
      for (int64_t y = cells.top; y < cells.bottom; ++y)
        for (int64_t x = cells.left; x < cells.right; ++x) {
          const int64_t anchor = group.first + y * group.width + x;
          const float best = space.best[anchor];
          if (is_foreground(best))
            sampled.foreground.add(draws(static_cast<uint32_t>(anchor), anchor));
          else if (best < below)
            sampled.background.add(draws(static_cast<uint32_t>(anchor), anchor));
        }
    }
    sampled.finish([](const Draw& a, const Draw& b) { return a.place < b.place; });
    write_sampled(args, image, sampled);
  }

  void write_sampled(const KernelArgs& args, int64_t image, const SampleDraws& sampled) const {
    const Draw* object = sampled.foreground.begin();
    const Draw* other = sampled.background.begin();
    int64_t first = 0;
    for (std::size_t l = 0; l < attrs_.levels.size(); ++l) {
      const int64_t end = first + anchors_of(attrs_.levels[l]);
      int64_t* places = args.out[3 * l].as<int64_t>() + image * attrs_.sample;
      int64_t* labels = args.out[3 * l + 1].as<int64_t>() + image * attrs_.sample;
      float* targets = args.out[3 * l + 2].as<float>() + image * attrs_.sample * 4;
      std::fill_n(places, attrs_.sample, -1);
      std::fill_n(labels, attrs_.sample, -1);
      std::fill_n(targets, attrs_.sample * 4, 0.0F);
      int64_t count = 0;
      for (; object != sampled.foreground.end() && object->place < end; ++object, ++count) {
        places[count] = object->place - first;
        labels[count] = 1;
        const std::array<float, 4> deltas = deltas_to_match(args, image, object->place);
        std::copy(deltas.begin(), deltas.end(), targets + 4 * count);
      }
      for (; other != sampled.background.end() && other->place < end; ++other, ++count) {
        places[count] = other->place - first;
        labels[count] = 0;
      }
      first = end;
    }
  }

  std::array<float, 4> deltas_to_match(const KernelArgs& args, int64_t image,
                                       int64_t anchor) const {
    const Space space = space_of(args.workspace, image);
    for (const AnchorGroup& group : groups_)
      if (anchor >= group.first && anchor < group.first + group.count())
        return deltas_between(group.anchor(anchor - group.first),
                              box_at(truth_of(args, image).boxes, space.rows[anchor]), kPlain);
    return {};
  }

  // -- all anchors count

  void label(const KernelArgs& args, int64_t image, int64_t number) const {
    const AnchorGroup& group = groups_[number];
    const Space space = space_of(args.workspace, image);
    const ImageTruth truth = truth_of(args, image);
    const float below = background_below(truth);
    const std::size_t level = group.level;
    const int64_t anchors = anchors_of(attrs_.levels[level]);
    int64_t* labels = args.out[2 * level].as<int64_t>() + image * anchors + group.place;
    float* targets = args.out[2 * level + 1].as<float>() + (image * anchors + group.place) * 4;
    std::fill_n(labels, group.count(), -1);
    std::fill_n(targets, group.count() * 4, 0.0F);
    Counts counts{0, 0};
    const Cells cells = inside(args, image, group);
    for (int64_t y = cells.top; y < cells.bottom; ++y)
      for (int64_t x = cells.left; x < cells.right; ++x) {
        const int64_t cell = y * group.width + x;
        const float best = space.best[group.first + cell];
        if (is_foreground(best)) {
          const int32_t row = space.rows[group.first + cell];
          const std::array<float, 4> deltas =
              deltas_between(group.anchor(cell), box_at(truth.boxes, row), kPlain);
          labels[cell] = truth.classes[row];
          for (int64_t k = 0; k < 4; ++k) targets[k * group.count() + cell] = deltas[k];
          ++counts.objects;
        } else if (best < below) {
          labels[cell] = 0;
          ++counts.background;
        }
      }
    space.counts[number] = counts;
  }

  void add_counts(const KernelArgs& args) const {
    int64_t* counts = args.out.back().as<int64_t>();
    counts[0] = counts[1] = 0;
    for (int64_t image = 0; image < images_; ++image) {
      const Counts* each = space_of(args.workspace, image).counts;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        counts[0] += each[g].objects;
        counts[1] += each[g].background;
      }
    }
  }

  const AnchorTargetsAttrs attrs_;
  const std::vector<AnchorGroup> groups_;
  const int64_t anchors_, images_, objects_;
  const int threads_;
  const uint64_t stream_;
};

}  // namespace

std::unique_ptr<Kernel> prepare_anchor_targets(const KernelRequest& request) {
  return std::make_unique<AnchorTargetsKernel>(request);
}

}  // namespace lockstep
