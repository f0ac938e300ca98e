// SPDX-License-Identifier: Apache-2.0
// BoxSuppression and DetectionResults visit candidates from best to worst and keep each candidate
// that overlaps no kept box; RefinedDetections walks class by class (refining.cc). One thread
// processes an image (or batch entry).
#include "operators/boxes/boxes.h"

#include <algorithm>
#include <cmath>

#include "operators/boxes/attributes.h"
#include "operators/boxes/kept_boxes.h"
#include "operators/boxes/refining.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/sort_key.h"
#include "runtime/memory.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// Divides the images among threads. Each thread reuses its memory for its images.
struct Shares {
  int64_t images, count;
  std::size_t bytes;
  Shares(int64_t images, int threads, std::size_t bytes)
      : images(images),
        count(std::min<int64_t>(images, std::max(1, threads))),
        bytes((bytes + 63) / 64 * 64) {}
  std::size_t workspace() const { return count * bytes; }

  // Calls body(image, memory) for every image.
  template <class Body>
  void run(std::byte* workspace, const Body& body) const {
    parallel_for(count, 1, static_cast<int>(count), [&](int64_t begin, int64_t end) {
      for (int64_t share = begin; share < end; ++share)
        for (int64_t i = images * share / count; i < images * (share + 1) / count; ++i)
          body(i, workspace + share * bytes);
    });
  }
};

// Memory for an image: the kept boxes, then the ranked candidates.
template <class Key>
struct ImageMemory {
  KeptBoxes kept;
  Ranked<Key>* ranked;

  static std::size_t cached_bytes(int64_t capacity) {
    return (KeptBoxes::bytes(capacity) + 63) / 64 * 64;
  }
  static std::size_t bytes(int64_t capacity, int64_t candidates) {
    return cached_bytes(capacity) + candidates * sizeof(Ranked<Key>);
  }
  ImageMemory(std::byte* memory, int64_t capacity)
      : kept(memory, capacity),
        ranked(reinterpret_cast<Ranked<Key>*>(memory + cached_bytes(capacity))) {}
};

std::unique_ptr<Kernel> prepare_box_suppression(const KernelRequest& request) {
  using Memory = ImageMemory<uint32_t>;
  const BoxSuppressionAttrs attrs = read_box_suppression(request.attributes());
  const int64_t candidates = request.in[1].dims[1];
  const int64_t most = std::min(attrs.capacity, candidates);  // boxes that can be kept
  const Shares shares(request.in[1].dims[0], request.threads, Memory::bytes(most, candidates));
  auto suppress = [=](const float* boxes, const float* scores, int64_t* indices, std::byte* place) {
    Memory memory(place, most);
    int64_t count = 0;
    for (int64_t i = 0; i < candidates; ++i)
      if (scores[i] > -INFINITY) memory.ranked[count++] = {sort_key(scores[i], true), i};
    std::sort(memory.ranked, memory.ranked + count);
    for (int64_t rank = 0; rank < count && memory.kept.count() < most; ++rank) {
      const int64_t index = memory.ranked[rank].index;
      const MeasuredBox box = measured(boxes + 4 * index);
      if (memory.kept.overlaps<false>(box, 0, attrs.threshold)) continue;
      indices[memory.kept.count()] = index;
      memory.kept.add(box, 0);
    }
    std::fill(indices + memory.kept.count(), indices + attrs.capacity, -1);
    return memory.kept.count();
  };
  return make_kernel(
      [=](const KernelArgs& args) {
        shares.run(args.workspace, [&](int64_t image, std::byte* memory) {
          args.out[1].as<int64_t>()[image] =
              suppress(args.in[0].as<float>() + 4 * image * candidates,
                       args.in[1].as<float>() + image * candidates,
                       args.out[0].as<int64_t>() + image * attrs.capacity, memory);
        });
      },
      "", shares.workspace());
}

bool is_finite(const float* box) {
  return std::all_of(box, box + 4, [](float corner) { return std::isfinite(corner); });
}

// Restricted to a class, the order by score, class and candidate is the order by score and
// candidate. So the results of all classes are found in one walk over all candidates, which stops
// when there are enough results. The walk mostly stops early: a heap ranks only the candidates that
// are visited.
class ResultsOfImage {
 public:
  using Memory = ImageMemory<uint64_t>;

  ResultsOfImage(const DetectionAttrs& attrs, int64_t candidates)
      : attrs_(attrs), candidates_(candidates), most_(std::min(attrs.capacity, candidates)) {}

  std::size_t bytes() const { return Memory::bytes(most_, candidates_); }

  // `classes` may be null. Returns the number of results.
  int64_t run(const float* boxes, const float* scores, const int64_t* classes,
              const RefinedResults::To& results, std::byte* place) const {
    Memory memory(place, most_);
    int64_t count = 0;
    for (int64_t i = 0; i < candidates_; ++i) {
      const int64_t of = classes ? classes[i] : i % attrs_.classes;
      if (of > 0 && scores[i] > attrs_.score_threshold && is_finite(boxes + 4 * i))
        memory.ranked[count++] = {uint64_t{sort_key(scores[i], true)} << 32 | uint64_t(of), i};
    }
    const auto later = [](const auto& a, const auto& b) { return b < a; };
    std::make_heap(memory.ranked, memory.ranked + count, later);
    while (count > 0 && memory.kept.count() < most_) {
      std::pop_heap(memory.ranked, memory.ranked + count, later);
      const Ranked<uint64_t>& best = memory.ranked[--count];
      const auto of = static_cast<int32_t>(best.key & UINT32_MAX);
      const MeasuredBox box = measured(boxes + 4 * best.index);
      if (memory.kept.overlaps<true>(box, of, attrs_.overlap)) continue;
      const int64_t at = memory.kept.count();
      std::copy_n(boxes + 4 * best.index, 4, results.boxes + 4 * at);
      results.scores[at] = scores[best.index];
      results.classes[at] = of;
      memory.kept.add(box, of);
    }
    const int64_t found = memory.kept.count(), empty = attrs_.capacity - found;
    std::fill_n(results.boxes + 4 * found, 4 * empty, 0.0F);
    std::fill_n(results.scores + found, empty, 0.0F);
    std::fill_n(results.classes + found, empty, 0);
    return found;
  }

 private:
  DetectionAttrs attrs_;
  int64_t candidates_, most_;
};

// `of_image` finds the results of an image.
template <class OfImage>
std::unique_ptr<Kernel> detections_kernel(const KernelRequest& request, const std::string& type,
                                          const DetectionAttrs& attrs, const OfImage& of_image) {
  const int64_t candidates = request.in[1].dims[1];
  const Shares shares(request.in[1].dims[0], request.threads, of_image.bytes());
  const bool given = request.in.size() > 2 && request.in[2].present();
  return make_kernel(
      [=](const KernelArgs& args) {
        const int64_t* classes = given ? args.in[2].as<int64_t>() : nullptr;
        for (int64_t i = 0; given && i < shares.images * candidates; ++i)
          if (classes[i] < 0 || classes[i] >= attrs.classes)
            fail(type, ": class ", classes[i], " is outside 0..", attrs.classes - 1);
        shares.run(args.workspace, [&](int64_t image, std::byte* memory) {
          const int64_t first = image * candidates, place = image * attrs.capacity;
          args.out[3].as<int64_t>()[image] =
              of_image.run(args.in[0].as<float>() + 4 * first, args.in[1].as<float>() + first,
                           given ? classes + first : nullptr,
                           {args.out[0].as<float>() + 4 * place, args.out[1].as<float>() + place,
                            args.out[2].as<int64_t>() + place},
                           memory);
        });
      },
      "", shares.workspace());
}

std::unique_ptr<Kernel> prepare_detection_results(const KernelRequest& request) {
  const DetectionAttrs attrs = read_detection(request.attributes());
  return detections_kernel(request, "DetectionResults", attrs,
                           ResultsOfImage(attrs, request.in[1].dims[1]));
}

std::unique_ptr<Kernel> prepare_refined_detections(const KernelRequest& request) {
  const RefinedAttrs attrs = read_refined(request.attributes());
  return detections_kernel(request, "RefinedDetections", attrs,
                           RefinedResults(attrs, request.in[1].dims[1]));
}

}  // namespace

std::vector<KernelEntry> boxes_cpu() {
  const Refusal floats = every({takes<Float32>(), takes<Float32>(1)});
  return {{"BoxSuppression", kOwnDomain, {{"CPU", floats, prepare_box_suppression}}},
          {"DetectionResults", kOwnDomain, {{"CPU", floats, prepare_detection_results}}},
          {"RefinedDetections", kOwnDomain, {{"CPU", floats, prepare_refined_detections}}}};
}

}  // namespace lockstep
