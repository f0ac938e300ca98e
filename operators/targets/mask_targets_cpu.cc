// SPDX-License-Identifier: Apache-2.0
// MaskTargets: draws the rings of each RoI's object in the frame of the RoI.
#include <utility>

#include "operators/targets/attributes.h"
#include "operators/targets/kernels_cpu.h"
#include "operators/targets/roi_frame.h"
#include "runtime/masks/polygon_runs.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// Vertices first, .., first + count - 1 of an image.
struct Ring {
  int64_t object, first, count;
  bool hole;
};

class MaskTargetsKernel final : public Kernel {
 public:
  explicit MaskTargetsKernel(const KernelRequest& request)
      : side_(read_mask_targets(request.attributes()).resolution),
        images_(request.in[0].dims[0]),
        rois_(request.in[0].dims[1]),
        vertices_(request.in[2].dims[1]),
        threads_(request.threads),
        node_(request.node.description()) {}

  // For each image its number of rings and the rings, then for each thread the changes of a side.
  std::size_t workspace_bytes() const override {
    return images_ * (sizeof(int64_t) + vertices_ * sizeof(Ring)) +
           threads_ * side_ * sizeof(uint32_t);
  }

  void run(const KernelArgs& args) override {
    for (int64_t image = 0; image < images_; ++image) find_rings(args, image);
    constexpr int64_t kGrain = 4;  // RoIs
    parallel_for_slots(images_ * rois_, kGrain, threads_,
                       [&](int slot, int64_t begin, int64_t end) {
                         uint32_t* changes = changes_of(args.workspace, slot);
                         for (int64_t roi = begin; roi < end; ++roi) draw(args, roi, changes);
                       });
  }

 private:
  int64_t* counts(std::byte* workspace) const { return reinterpret_cast<int64_t*>(workspace); }
  Ring* rings_of(std::byte* workspace, int64_t image) const {
    return reinterpret_cast<Ring*>(counts(workspace) + images_) + image * vertices_;
  }
  uint32_t* changes_of(std::byte* workspace, int slot) const {
    return reinterpret_cast<uint32_t*>(rings_of(workspace, images_)) + slot * side_;
  }

  // Vertices of one ring have consecutive places and equal entries of gt_vertex_of.
  void find_rings(const KernelArgs& args, int64_t image) const {
    const int64_t* vertex_of = args.in[3].as<int64_t>() + image * vertices_ * 2;
    Ring* rings = rings_of(args.workspace, image);
    int64_t& count = counts(args.workspace)[image];
    count = 0;
    std::pair<int64_t, int64_t> last{-1, -1};
    for (int64_t v = 0; v < vertices_; ++v) {
      const std::pair<int64_t, int64_t> each{vertex_of[2 * v], vertex_of[2 * v + 1]};
      const auto [object, ring] = each;
      const bool empty = object == -1 && ring == -1;
      if (!empty && (object < 0 || ring < 0))
        fail(node_, ": vertex ", v, " of image ", image, " is in ring ", ring, " of object ",
             object, "; both numbers should be 0 or more, or -1 in an empty place");
      if (!empty && each != last) rings[count++] = {object, v, 0, ring % 2 == 1};
      if (!empty) ++rings[count - 1].count;
      last = each;
    }
  }

  // Masks are drawn column by column in the memory of the result, then transposed. A cell has two
  // bits: kSet if it is inside, kToggled if pixels change from there on.
  static constexpr int64_t kSet = 1, kToggled = 2;

  void draw(const KernelArgs& args, int64_t roi, uint32_t* changes) const {
    int64_t* mask = args.out[0].as<int64_t>() + roi * side_ * side_;
    const int64_t image = roi / rois_, object = args.in[1].as<int64_t>()[roi];
    const TargetBox box = box_at(args.in[0].as<float>(), roi);
    bool drawn = false;
    if (object >= 0 && has_area(box)) {
      std::fill_n(mask, side_ * side_, int64_t{0});
      const float* vertices = args.in[2].as<float>() + image * vertices_ * 2;
      const Ring* rings = rings_of(args.workspace, image);
      const int64_t count = counts(args.workspace)[image];
      for (int64_t i = 0; i < count; ++i) {
        if (rings[i].object != object) continue;
        drawn = toggle_cells(vertices + 2 * rings[i].first, rings[i].count, RoiFrame(box), mask,
                             changes);
        if (!drawn) break;
        combine(mask, rings[i].hole);
      }
    }
    if (!drawn) {
      std::fill_n(mask, side_ * side_, int64_t{-1});
      return;
    }
    for (int64_t y = 0; y < side_; ++y)
      for (int64_t x = 0; x < y; ++x) std::swap(mask[y * side_ + x], mask[x * side_ + y]);
  }

  // Returns false if a vertex cannot be drawn.
  bool toggle_cells(const float* vertices, int64_t count, const RoiFrame& frame, int64_t* mask,
                    uint32_t* changes) const {
    DrawnVertex from = in_frame(frame, vertices + 2 * (count - 1));
    for (int64_t v = 0; v < count; ++v) {
      const DrawnVertex to = in_frame(frame, vertices + 2 * v);
      if (!can_be_drawn(from) || !can_be_drawn(to)) return false;
      const int64_t changed = side_changes(from, to, side_, side_, changes);
      for (int64_t i = 0; i < changed; ++i)
        if (changes[i] < side_ * side_) mask[changes[i]] ^= kToggled;
      from = to;
    }
    return true;
  }

  // In float32, as Detectron computes.
  DrawnVertex in_frame(const RoiFrame& frame, const float* vertex) const {
    const auto cells = static_cast<float>(side_);
    return {(vertex[0] - frame.x1) * cells / frame.width,
            (vertex[1] - frame.y1) * cells / frame.height};
  }

  // Sets the cells inside the ring that toggled the cells, or clears the cells inside a hole.
  void combine(int64_t* mask, bool hole) const {
    bool inside = false;
    for (int64_t i = 0; i < side_ * side_; ++i) {
      inside ^= (mask[i] & kToggled) != 0;
      const bool set = inside ? !hole : (mask[i] & kSet) != 0;
      mask[i] = set ? kSet : 0;
    }
  }

  const int64_t side_, images_, rois_, vertices_;
  const int threads_;
  const std::string node_;  // for errors
};

}  // namespace

std::unique_ptr<Kernel> prepare_mask_targets(const KernelRequest& request) {
  return std::make_unique<MaskTargetsKernel>(request);
}

}  // namespace lockstep
