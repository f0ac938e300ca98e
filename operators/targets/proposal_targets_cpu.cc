// SPDX-License-Identifier: Apache-2.0
// ProposalTargets, image by image: classifies candidates, samples them and computes their targets.
#include "graph/random_stream.h"
#include "operators/targets/attributes.h"
#include "operators/targets/draws.h"
#include "operators/targets/kernels_cpu.h"
#include "operators/targets/truth.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// The first number of true boxes in draws. A proposal is numbered by its source, a true box by its
// row plus kFirstTruth.
constexpr int64_t kFirstTruth = int64_t{1} << 31;

class ProposalTargetsKernel final : public Kernel {
 public:
  explicit ProposalTargetsKernel(const KernelRequest& request)
      : attrs_(read_proposal_targets(request.attributes())),
        images_(request.in[0].dims[0]),
        proposals_(request.in[0].dims[1]),
        objects_(request.in[2].dims[1]),
        threads_(request.threads),
        node_(request.node.description()),
        stream_(static_cast<uint64_t>(random_stream_of(request.node))) {
    std::copy(attrs_.weights.begin(), attrs_.weights.end(), weights_.begin());
  }

  std::size_t workspace_bytes() const override {
    return images_ * (draws_of_image() * sizeof(Draw) + (proposals_ + objects_) * sizeof(int64_t));
  }

  void run(const KernelArgs& args) override {
    check_sources(args.in[1].as<int64_t>());
    parallel_for(images_, 1, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) sample(args, image);
    });
  }

 private:
  enum class Kind { neither, object, background };

  struct Verdict {
    Kind kind;
    int64_t row;  // of an object's true box, or of the box to learn; -1: there is none
    bool learns;  // its box
  };
  // A verdict's row and `learns` in one number.
  static int64_t match_of(const Verdict& verdict) {
    return verdict.row < 0 ? -1 : 2 * verdict.row + (verdict.learns ? 1 : 0);
  }
  struct Match {
    explicit Match(int64_t number) : row(number < 0 ? -1 : number / 2), learns(number % 2 == 1) {}
    int64_t row;
    bool learns;
  };

  std::size_t draws_of_image() const { return SampleDraws::room(attrs_.foreground, attrs_.sample); }
  Draw* draws_of(std::byte* workspace, int64_t image) const {
    return reinterpret_cast<Draw*>(workspace) + image * static_cast<int64_t>(draws_of_image());
  }
  // A number for each candidate: match_of() its verdict.
  int64_t* matches_of(std::byte* workspace, int64_t image) const {
    return reinterpret_cast<int64_t*>(draws_of(workspace, images_)) +
           image * (proposals_ + objects_);
  }

  void check_sources(const int64_t* sources) const {
    for (int64_t i = 0; i < images_ * proposals_; ++i)
      if (sources[i] >= kFirstTruth)
        fail(node_, ": the source of proposal ", i % proposals_, " of image ", i / proposals_,
             " is ", sources[i], ", should be below ", kFirstTruth);
  }

  ImageTruth truth_of(const KernelArgs& args, int64_t image) const {
    return truth_of_image(args.in, 2, objects_, image);
  }

  // Candidates are the proposals, then the true boxes.
  TargetBox candidate(const KernelArgs& args, int64_t image, int64_t number) const {
    return number < proposals_ ? box_at(args.in[0].as<float>() + image * proposals_ * 4, number)
                               : box_at(truth_of(args, image).boxes, number - proposals_);
  }

  Verdict judge(const TargetBox& box, const ImageTruth& truth, float most_in_crowd) const {
    float best = 0, best_crowd = 0;
    int64_t match = -1;
    for (int64_t row = 0; row < truth.rows; ++row) {
      if (!truth.counts(row)) continue;
      const TargetBox object = box_at(truth.boxes, row);
      const float overlap = overlap_of(box, object);
      if (truth.is_crowd(row)) {
        best_crowd = std::max(best_crowd, overlap);
        if (shared_area(box, object) / area_of(box) > most_in_crowd)
          return {Kind::neither, -1, false};
      } else if (overlap > best) {
        best = overlap;
        match = row;
      }
    }
    if (best_crowd > best) return {Kind::neither, -1, false};
    const bool chooses = attrs_.box_overlap > 0, overlaps = best >= attrs_.box_overlap;
    if (best >= attrs_.foreground_overlap) return {Kind::object, match, !chooses || overlaps};
    if (best >= attrs_.background_low && best < attrs_.background_high)
      return {Kind::background, chooses && overlaps ? match : -1, chooses && overlaps};
    return {Kind::neither, -1, false};
  }

  void sample(const KernelArgs& args, int64_t image) const {
    const ImageTruth truth = truth_of(args, image);
    const int64_t* sources = args.in[1].as<int64_t>() + image * proposals_;
    int64_t* matches = matches_of(args.workspace, image);
    // A true box may be inside a crowd region. Detectron uses 0 for "no such rule".
    constexpr float kAnyShare = 2;
    const float of_proposals = attrs_.crowd_overlap > 0 ? attrs_.crowd_overlap : kAnyShare;
    Draws draws(args.context.seed, args.context.step, stream_, args.in[5].as<int64_t>()[image]);
    SampleDraws sampled(draws_of(args.workspace, image), attrs_.foreground, attrs_.sample);
    for (int64_t i = 0; i < proposals_ + objects_; ++i) {
      const int64_t row = i - proposals_;
      const bool fed = row < 0;
      if (fed ? sources[i] < 0 : !truth.is_object(row)) continue;
      const TargetBox box = candidate(args, image, i);
      if (!has_area(box)) continue;
      const Verdict verdict = judge(box, truth, fed ? of_proposals : kAnyShare);
      matches[i] = match_of(verdict);
      const auto number = static_cast<uint32_t>(fed ? sources[i] : kFirstTruth + row);
      if (verdict.kind == Kind::object) sampled.foreground.add(draws(number, i));
      if (verdict.kind == Kind::background) sampled.background.add(draws(number, i));
    }
    sampled.finish([](const Draw& a, const Draw& b) {
      const auto candidate_a = static_cast<uint32_t>(a.rank);
      const auto candidate_b = static_cast<uint32_t>(b.rank);
      return candidate_a != candidate_b ? candidate_a < candidate_b : a.place < b.place;
    });
    write(args, image, sampled);
  }

  void write(const KernelArgs& args, int64_t image, const SampleDraws& sampled) const {
    const ImageTruth truth = truth_of(args, image);
    const int64_t first = image * attrs_.sample;
    float* rois = args.out[0].as<float>() + 4 * first;
    int64_t* labels = args.out[1].as<int64_t>() + first;
    float* targets = args.out[2].as<float>() + 4 * first;
    int64_t* matches = args.out[3].as<int64_t>() + first;
    std::fill_n(rois, 4 * attrs_.sample, 0.0F);
    std::fill_n(labels, attrs_.sample, -1);
    std::fill_n(targets, 4 * attrs_.sample, 0.0F);
    std::fill_n(matches, attrs_.sample, -1);
    int64_t* box_labels = nullptr;
    if (args.out.size() > 4 && args.out[4].data) {
      box_labels = args.out[4].as<int64_t>() + first;
      std::fill_n(box_labels, attrs_.sample, 0);
    }
    int64_t place = 0;
    const auto put = [&](const Draw& draw) {
      const TargetBox box = candidate(args, image, draw.place);
      const std::array corners{box.x1, box.y1, box.x2, box.y2};
      std::copy(corners.begin(), corners.end(), rois + 4 * place);
      const Match match(matches_of(args.workspace, image)[draw.place]);
      if (match.learns) {
        const auto deltas = deltas_between(box, box_at(truth.boxes, match.row), weights_);
        std::copy(deltas.begin(), deltas.end(), targets + 4 * place);
        if (box_labels) box_labels[place] = truth.classes[match.row];
      }
      return match.row;
    };
    for (const Draw& draw : sampled.foreground) {
      const int64_t row = put(draw);
      labels[place] = truth.classes[row];
      matches[place++] = row;
    }
    for (const Draw& draw : sampled.background) {
      put(draw);
      labels[place++] = 0;
    }
  }

  const ProposalTargetsAttrs attrs_;
  const int64_t images_, proposals_, objects_;
  const int threads_;
  const std::string node_;  // for errors
  const uint64_t stream_;
  std::array<float, 4> weights_{};
};

}  // namespace

std::unique_ptr<Kernel> prepare_proposal_targets(const KernelRequest& request) {
  return std::make_unique<ProposalTargetsKernel>(request);
}

}  // namespace lockstep
