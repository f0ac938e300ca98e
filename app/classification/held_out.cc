// SPDX-License-Identifier: Apache-2.0
#include "app/classification/held_out.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "app/classification/network.h"
#include "app/train/gathered.h"
#include "graph/listed.h"
#include "lockstep/feeds.h"
#include "lockstep/processes.h"
#include "runtime/state/shared_statistics.h"

namespace lockstep {
namespace {

constexpr int64_t kMostOfAReplica = 100;  // images at a time
constexpr std::size_t kSamples = 36;
constexpr int64_t kSampleSide = 64;  // larger images are scaled down

// Inverts grey images (light on dark) to dark on light, and shrinks large images by skipping
// pixels.
Image image_shown(const Tensor& images, int64_t row, const Preparation& preparation) {
  const int64_t at = row * preparation.values();
  const Image image = images.desc.dtype == DType::uint8
                          ? picture_of(images.as<const uint8_t>() + at, preparation)
                          : picture_of(images.as<const float>() + at, preparation);
  const int64_t step = (std::max(image.height, image.width) - 1) / kSampleSide + 1;
  Image small{image.height / step, image.width / step, {}};
  for (int64_t y = 0; y < small.height; ++y)
    for (int64_t x = 0; x < small.width; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        const uint8_t value = image.rgb[3 * (y * step * image.width + x * step) + c];
        small.rgb.push_back(preparation.channels == 1 ? static_cast<uint8_t>(255 - value) : value);
      }
  return small;
}

}  // namespace

// Keeps the images with the most confident, or least confident, guesses. On ties earlier images
// win, so the result does not depend on which replica sees an image.
class HeldOut::Samples {
 public:
  explicit Samples(bool surest) : sign_(surest ? -1 : 1) {}

  bool wants(float confidence, int64_t index) const {
    return best_.size() < kSamples || Rank{sign_ * confidence, index} < best_.rbegin()->first;
  }
  void add(SamplePicture picture) {
    best_.emplace(Rank{sign_ * picture.confidence, picture.index}, std::move(picture));
    if (best_.size() > kSamples) best_.erase(std::prev(best_.end()));
  }
  std::vector<SamplePicture> take(std::size_t most) {
    std::vector<SamplePicture> list;
    for (auto& [rank, picture] : best_)
      if (list.size() < most) list.push_back(std::move(picture));
    return list;
  }

 private:
  using Rank = std::pair<float, int64_t>;
  float sign_;
  std::map<Rank, SamplePicture> best_;
};

struct HeldOut::Tally {
  int64_t hits = 0, pictures = 0;
  std::vector<double>
      losses;  // one for each replica: the sum does not depend on the number of processes
  std::vector<std::vector<int64_t>> confusion;
  Samples wrong{true}, right{false};
};

HeldOut::HeldOut(const ClassificationConfig& config, Session& session)
    : session_(session),
      classes_(config.classes),
      leaves_out_(config.skip_bad_images),
      data_(dataset_named(dataset_of(config, true))),
      predictors_(predict_on_every_replica(session.model())) {
  check(data_->classes() <= classes_, "MODEL.NUM_CLASSES is ", classes_,
        " but the held-out data has ", data_->classes(), " classes");
  const int64_t here = session.model().replicas;
  const int64_t replicas = here * (session.comm() ? session.comm()->size() : 1);
  const int64_t rounds = (data_->size() - 1) / (replicas * kMostOfAReplica) + 1;
  batch_ = (data_->size() - 1) / (replicas * rounds) + 1;
  batches_ = std::make_unique<LabelledImages>(
      *data_,
      LabelledImagesOptions{
          .batch = replicas * batch_,
          .first = session.model().first_replica * batch_,
          .count = here * batch_,
          .shuffle = false,
          .bytes = config.bytes,
          .in_place_of_bad = leaves_out_ ? InPlaceOfBad::nothing : InPlaceOfBad::nothing_and_stop});
  loader_ = std::make_unique<Loader>(*batches_, reading_threads(config));
  check(predictors_.inputs.size() == 1 && predictors_.outputs.size() == 1, "the network has ",
        predictors_.inputs.size(), " inputs and ", predictors_.outputs.size(),
        " outputs; a classifier has one of each");
  program_ = session.program(predictors_.graph, predictors_.inputs[0].values,
                             predictors_.outputs[0].values, {});
}

TestResult HeldOut::test() {
  Tally tally;
  tally.losses.assign(session_.model().replicas, 0);
  const std::size_t classes = classes_;
  tally.confusion.assign(classes, std::vector<int64_t>(classes, 0));
  batches_->skipped().begin_again();
  with_statistics_of_replica_0(session_, [&] { test_own_share(tally); });
  add_up(tally);

  TestResult result;
  result.left_out = left_out();
  const bool leads = !session_.comm() || session_.comm()->rank() == 0;
  check(tally.pictures > 0 || !leads, "none of the ", data_->size(),
        " held-out pictures can be read: ", first_listed(result.left_out, 20));
  const double size = static_cast<double>(tally.pictures);
  result.pictures = tally.pictures;
  result.hits = tally.hits;
  result.accuracy = static_cast<double>(tally.hits) / size;
  for (double loss : tally.losses) result.loss += loss / size;
  result.confusion = std::move(tally.confusion);
  result.samples = tally.wrong.take(kSamples);
  for (SamplePicture& picture : tally.right.take(kSamples - result.samples.size()))
    result.samples.push_back(std::move(picture));
  return result;
}

void HeldOut::test_own_share(Tally& tally) {
  const int64_t here = session_.model().replicas, first = session_.model().first_replica;
  const int64_t of_all = here * (session_.comm() ? session_.comm()->size() : 1) * batch_;
  for (int64_t round = 0; round * of_all < data_->size(); ++round) {
    const std::span<const Tensor> batch = loader_->get(round);
    std::vector<Tensor> feeds;
    for (int64_t k = 0; k < here; ++k) feeds.push_back(rows_from(batch[0], {k * batch_, batch_}));
    const auto fetched = program_->run(feeds, session_.run_options(0));
    for (int64_t i = 0; i < here * batch_; ++i) {
      // The last round is padded with images from the start.
      if (round * of_all + first * batch_ + i >= data_->size()) break;
      const float* scores = fetched[i / batch_].as<float>() + i % batch_ * classes_;
      const int64_t label = batch[1].as<int64_t>()[i];
      if (label < 0) continue;  // the image cannot be read
      ++tally.pictures;
      tally.losses[i / batch_] -= std::log(std::max(static_cast<double>(scores[label]), 1e-30));
      look_at(round * of_all + first * batch_ + i, scores, label, batch[0], i, tally);
    }
  }
}

void HeldOut::look_at(int64_t index, const float* scores, int64_t label, const Tensor& images,
                      int64_t row, Tally& tally) const {
  const int64_t guess = std::max_element(scores, scores + classes_) - scores;
  ++tally.confusion[label][guess];
  tally.hits += guess == label;
  Samples& samples = guess == label ? tally.right : tally.wrong;
  if (!samples.wants(scores[guess], index)) return;
  samples.add({.image = image_shown(images, row, data_->preparation()),
               .label = data_->class_name(label),
               .guess = guess < data_->classes() ? data_->class_name(guess) : join("class ", guess),
               .confidence = scores[guess],
               .index = index});
}

std::vector<std::string> HeldOut::left_out() const {
  if (!leaves_out_) return {};
  const int64_t of_all = batches_->images_of_step();
  const int64_t rounds = (data_->size() - 1) / of_all + 1;
  return gather_once(session_.comm(), batches_->skipped().take(rounds - 1).pictures,
                     "held-out pictures that cannot be read");
}

// Adds the other processes' counts, on rank 0.
void HeldOut::add_up(Tally& tally) const {
  if (!session_.comm()) return;
  std::vector<double> mine{static_cast<double>(tally.hits), static_cast<double>(tally.pictures)};
  mine.insert(mine.end(), tally.losses.begin(), tally.losses.end());
  for (const auto& row : tally.confusion) mine.insert(mine.end(), row.begin(), row.end());
  const auto all = gather_numbers(session_.comm(), mine, "test results");
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    std::size_t at = 0;
    const auto count = [&] { return static_cast<int64_t>(all[rank].at(at++)); };
    tally.hits += count();
    tally.pictures += count();
    for (int k = 0; k < session_.model().replicas; ++k) tally.losses.push_back(all[rank].at(at++));
    for (auto& row : tally.confusion)
      for (int64_t& number : row) number += count();
  }
}

}  // namespace lockstep
