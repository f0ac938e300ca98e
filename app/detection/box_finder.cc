// SPDX-License-Identifier: Apache-2.0
#include "app/detection/box_finder.h"

#include <algorithm>

#include "app/detection/network.h"
#include "lockstep/data_parallel.h"
#include "lockstep/loader.h"
#include "lockstep/processes.h"
#include "runtime/finite.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

constexpr std::size_t kNetworksKept = 16;

std::vector<std::string> values_of(const std::vector<Replicated>& items) {
  std::vector<std::string> names;
  for (const Replicated& item : items)
    names.insert(names.end(), item.values.begin(), item.values.end());
  return names;
}

// The row of one replica.
Tensor row_of(const Tensor& tensor, std::size_t row) {
  TensorDesc desc = tensor.desc;
  const std::size_t bytes = desc.bytes() / desc.dims[0];
  desc.dims[0] = 1;
  return {desc, tensor.as<std::byte>() + row * bytes};
}

// A replica's outputs. Networks that only propose boxes have no classes.
struct PredictedBoxes {
  const float* boxes = nullptr;
  const float* scores = nullptr;
  const int64_t* classes = nullptr;
  const int64_t* count = nullptr;
};

PredictedBoxes predicted_by(const std::vector<Replicated>& outputs, std::span<const Tensor> fetched,
                            std::size_t replica) {
  PredictedBoxes result;
  const std::size_t replicas = fetched.size() / outputs.size();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& value = fetched[i * replicas + replica];
    if (outputs[i].name == "boxes") result.boxes = value.as<float>();
    if (outputs[i].name == "scores") result.scores = value.as<float>();
    if (outputs[i].name == "classes") result.classes = value.as<int64_t>();
    if (outputs[i].name == "count") result.count = value.as<int64_t>();
  }
  check(result.boxes && result.scores && result.count, "the network predicts no boxes");
  return result;
}

// Throws if a parameter is not finite. Operators that choose boxes drop NaN, so a detector with
// such parameters would silently find nothing.
void check_parameters(const Session& session) {
  for (const State& state : session.model().states) {
    if (!is_parameter(state.kind)) continue;
    const Seen seen = states_of(session).see(state.values[0]);
    const int64_t place = first_not_finite(seen.tensor);
    if (place < 0) continue;
    fail("'", state.name, "' is ", text_of_value(seen.tensor, place), " at ",
         text_of_place(seen.tensor.desc.dims, place),
         ": the parameters are damaged, or training has diverged");
  }
}

FoundBoxes boxes_of(const PredictedBoxes& predicted, std::size_t picture) {
  FoundBoxes found;
  for (int64_t i = 0; i < *predicted.count; ++i) {
    FoundBox box;
    std::copy_n(predicted.boxes + 4 * i, 4, box.corners.begin());
    box.score = predicted.scores[i];
    box.kind = predicted.classes ? predicted.classes[i] : 0;
    check(is_finite(box), "picture ", picture, ": box ", i, " is ", box,
          ": numbers have overflowed, training has diverged");
    found.push_back(box);
  }
  return found;
}

}  // namespace

BoxFinder::Network BoxFinder::made_for(const PictureSize& size) const {
  const Comm* comm = session_.comm();
  TrainingModel model = detector_step(config_, size, comm ? comm->size() : 1);
  if (comm) model = partition(model, {comm->rank(), comm->size()});
  return {size, predict_on_every_replica(model), nullptr};
}

BoxFinder::Network& BoxFinder::network_for(const PictureSize& size) {
  const auto known = std::find_if(networks_.begin(), networks_.end(),
                                  [&](const auto& network) { return network->size == size; });
  if (known != networks_.end()) {
    std::rotate(networks_.begin(), known, known + 1);
    return *networks_.front();
  }
  if (networks_.size() == kNetworksKept) networks_.pop_back();
  auto network = std::make_unique<Network>(made_for(size));
  network->program =
      session_.program(network->predictors.graph, values_of(network->predictors.inputs),
                       values_of(network->predictors.outputs), {}, &session_.step());
  networks_.insert(networks_.begin(), std::move(network));
  return *networks_.front();
}

std::vector<FoundBoxes> BoxFinder::find(const PictureList& pictures) {
  std::vector<FoundBoxes> found(pictures.sizes.size());
  check_parameters(session_);
  if (pictures.sizes.empty()) return found;
  const PictureRounds rounds(config_, pictures, session_.model().replicas);
  Loader loader(rounds, static_cast<int>(config_.loader.num_threads));
  for (int64_t round = 0; round < rounds.rounds(); ++round)
    look_at(rounds, round, loader.get(round), found);
  return found;
}

void BoxFinder::look_at(const PictureRounds& rounds, int64_t round, std::span<const Tensor> tensors,
                        std::vector<FoundBoxes>& found) {
  const std::span<const std::size_t> pictures = rounds.pictures(round);
  Network& network = network_for(rounds.size(round));
  const MinibatchForm& form = rounds.forms()[rounds.form(round)];
  std::vector<Tensor> feeds;
  for (const Replicated& input : network.predictors.inputs) {
    const auto place = std::find_if(form.begin(), form.end(), [&](const NamedDesc& tensor) {
      return tensor.name == input.name;
    });
    check(place != form.end(), "the network has an input '", input.name,
          "', which pictures do not provide");
    // A replica without a picture repeats the last picture.
    for (std::size_t k = 0; k < input.values.size(); ++k)
      feeds.push_back(row_of(tensors[place - form.begin()], std::min(k, pictures.size() - 1)));
  }
  const auto fetched = network.program->run(feeds, session_.run_options(0));
  for (std::size_t k = 0; k < pictures.size(); ++k)
    found[pictures[k]] =
        boxes_of(predicted_by(network.predictors.outputs, fetched, k), pictures[k]);
}

}  // namespace lockstep
