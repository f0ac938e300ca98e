// SPDX-License-Identifier: Apache-2.0
#include "app/detection/train/held_out_loss.h"
#include "app/train/averages.h"

#include <algorithm>
#include <utility>

#include "app/detection/network.h"
#include "app/detection/train/truth_places.h"
#include "app/train/gathered.h"
#include "graph/passes/predict.h"
#include "lockstep/data_parallel.h"
#include "lockstep/error.h"
#include "lockstep/feeds.h"
#include "lockstep/loader.h"
#include "lockstep/processes.h"

namespace lockstep {
namespace {

constexpr std::size_t kLossNetworksKept = 16;

// A picture's truth as inputs of a step.
class TruthRow {
 public:
  TruthRow(const KeptPicture& kept, const TruthPlaces& places, const Annotations& table)
      : form_(truth_form(1, places)) {
    form_.push_back({"image_number", {DType::int64, {1}}});
    std::vector<Tensor> tensors;
    for (const NamedDesc& each : form_) values_.emplace_back(each.desc.dtype, each.desc.dims);
    for (const Literal& value : values_) tensors.push_back(view_of(value));
    const FeedRow row(form_, tensors, 0);
    row.of<int64_t>("image_number")[0] = static_cast<int64_t>(kept.picture);
    write_truth(row, places, table, kept.boxes, {table.images[kept.picture], false});
  }

  // Null for an input that is no part of the truth.
  const Literal* named(const std::string& input) const {
    for (std::size_t i = 0; i < form_.size(); ++i)
      if (form_[i].name == input) return &values_[i];
    return nullptr;
  }

 private:
  MinibatchForm form_;
  std::vector<Literal> values_;
};

}  // namespace

struct HeldOutLoss::Network {  // for one padded size
  PictureSize size;
  TrainingModel model;
  std::unique_ptr<Program> program = nullptr;
};

HeldOutLoss::HeldOutLoss(const DetectorConfig& config, Session& session, const PictureSet& pictures,
                         PictureProposals proposals)
    : config_(config),
      session_(session),
      pictures_(pictures),
      proposals_(std::move(proposals)),
      networks_(kLossNetworksKept) {
  keep_pictures();
}

HeldOutLoss::~HeldOutLoss() = default;

// Each process takes every n-th picture, as a test does.
void HeldOutLoss::keep_pictures() {
  places_ = places_needed(config_, pictures_.annotations());
  const TrainingRules rules{config_.train.gt_min_area, config_.train.empty_images, places_};
  KeptPictures all = lockstep::keep_pictures(pictures_, rules);
  const PictureShare share = share_of_pictures(session_.comm());
  for (std::size_t i = share.first; i < all.pictures.size(); i += share.step)
    kept_.push_back({std::move(all.pictures[i])});
}

HeldOutLoss::Network& HeldOutLoss::network_for(const PictureSize& size) {
  return networks_.of(size, [&] {
    const Comm* comm = session_.comm();
    TrainingModel model = detector_losses(config_, size, places_, comm ? comm->size() : 1);
    if (comm) model = partition(model, {comm->rank(), comm->size()});
    if (config_.step.options.average.predicts) read_averages(model, session_.model());
    auto network = std::make_unique<Network>(Network{size, std::move(model)});
    network->program = session_.program(network->model.step, network->model.feed_values(),
                                        values_of(network->model.losses), {}, &session_.step());
    return network;
  });
}

Image HeldOutLoss::picture_or_blank(Kept& kept) {
  std::string why;
  Image image =
      lockstep::picture_or_blank(pictures_, kept.picture, config_.train.skip_bad_images, why);
  kept.bad = !why.empty();
  return image;
}

NamedNumbers HeldOutLoss::losses() {
  PictureList list;
  for (Kept& kept : kept_) {
    const CocoImage& image = pictures_.annotations().images[kept.picture];
    list.sizes.push_back({image.height, image.width});
    kept.bad = false;
    kept.losses.clear();
  }
  list.read = [this](std::size_t own) { return picture_or_blank(kept_[own]); };
  if (proposals_)
    list.proposals = [this](std::size_t own) { return proposals_(kept_[own].picture); };
  if (!kept_.empty()) {
    const std::vector<ViewRules> plain = views_of({}, "", config_.network.test);
    DetectorConfig as_trained = config_;
    as_trained.dedup_boxes = 0;  // proposals keep their places, as in training
    const PictureRounds rounds(as_trained, list, views_of_pictures(list, plain, 0, kept_.size()),
                               session_.model().replicas);
    Loader loader(rounds, static_cast<int>(config_.loader.num_threads));
    for (int64_t round = 0; round < rounds.rounds(); ++round)
      run_round(rounds, round, loader.get(round));
  }
  std::vector<std::string> terms;
  for (const Replicated& loss : session_.model().losses) terms.push_back(loss.name);
  return mean_of(terms);
}

void HeldOutLoss::run_round(const PictureRounds& rounds, int64_t round,
                            std::span<const Tensor> tensors) {
  std::vector<std::size_t> pictures;
  for (const std::size_t view : rounds.views(round)) pictures.push_back(rounds.view(view).picture);
  Network& network = network_for(rounds.size(round));
  const MinibatchForm& form = rounds.forms()[rounds.form(round)];
  const std::size_t replicas = network.model.replicas;
  // A replica without a picture repeats the last picture.
  const auto row_on = [&](std::size_t replica) { return std::min(replica, pictures.size() - 1); };
  std::vector<TruthRow> truth;
  for (std::size_t k = 0; k < replicas; ++k) {
    const KeptPicture& kept = kept_[pictures[row_on(k)]];
    truth.emplace_back(kept, places_, pictures_.annotations());
  }
  Literal whole = Literal::scalar(1.0F);  // each replica's losses are reported as they are
  std::vector<Tensor> feeds;
  for (const StepInput& input : network.model.inputs)
    for (std::size_t k = 0; k < replicas; ++k) {
      const auto place = std::find_if(form.begin(), form.end(), [&](const NamedDesc& tensor) {
        return tensor.name == input.name;
      });
      if (input.role == Role::weight) {
        feeds.push_back(view_of(whole));
      } else if (const Literal* const row = truth[k].named(input.name)) {
        feeds.push_back(view_of(*row));
      } else {
        check(place != form.end(), "the network has an input '", input.name,
              "', which held-out pictures do not provide");
        const auto picture = static_cast<int64_t>(row_on(k));
        feeds.push_back(rows_from(tensors[place - form.begin()], {picture, 1}));
      }
    }
  const auto fetched = network.program->run(feeds, session_.run_options(0));
  const std::size_t terms = network.model.losses.size();
  for (std::size_t k = 0; k < pictures.size(); ++k)
    for (std::size_t term = 0; term < terms; ++term)
      kept_[pictures[k]].losses.push_back(*fetched[term * replicas + k].as<float>());
}

// Adds up in the order of the pictures.
NamedNumbers HeldOutLoss::mean_of(const std::vector<std::string>& terms) const {
  double count = 0;
  std::vector<double> sums(terms.size());
  for (const Kept& kept : kept_) {
    if (kept.bad) continue;
    ++count;
    for (std::size_t term = 0; term < terms.size(); ++term) sums[term] += kept.losses.at(term);
  }
  std::vector<double> mine{count};
  mine.insert(mine.end(), sums.begin(), sums.end());
  const auto all = gather_numbers(session_.comm(), mine, "losses of held-out pictures");
  if (all.empty()) return {};
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    count += all[rank].at(0);
    for (std::size_t term = 0; term < terms.size(); ++term) sums[term] += all[rank].at(1 + term);
  }
  if (count == 0) return {};
  NamedNumbers numbers{{"loss", 0}};
  for (std::size_t term = 0; term < terms.size(); ++term) {
    numbers.emplace_back(terms[term], sums[term] / count);
    numbers[0].second += numbers.back().second;
  }
  return numbers;
}

}  // namespace lockstep
