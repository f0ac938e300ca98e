// SPDX-License-Identifier: Apache-2.0
#include "app/text/sampler.h"

#include <algorithm>
#include <cmath>

#include "data/streams.h"
#include "graph/limits.h"
#include "lockstep/random.h"

namespace lockstep {
namespace {

bool is_rows_of(const TensorType& type, DType dtype, std::size_t rank) {
  return type.dtype == dtype && type.shape.size() == rank;
}

}  // namespace

TextSampler::TextSampler(const Graph& inference, const std::vector<std::string>& fed,
                         const Vocabulary& vocabulary, InferenceFn run, const std::string& what)
    : vocabulary_(vocabulary), run_(std::move(run)) {
  const std::vector<Value>& outputs = inference.outputs();
  bool fits = !fed.empty() && outputs.size() == fed.size() &&
              is_rows_of(inference.type(inference.at(fed[0])), DType::int64, 2) &&
              is_rows_of(inference.type(outputs[0]), DType::float32, 3);
  for (std::size_t i = 1; fits && i < fed.size(); ++i) {
    const TensorType& type = inference.type(inference.at(fed[i]));
    fits = is_rows_of(type, DType::float32, 3) && type.shape[0].known() && type.shape[2].known();
    fits = fits && is_rows_of(inference.type(outputs[i]), DType::float32, 3);
    if (fits) dims_.push_back({type.shape[0].size(), 1, type.shape[2].size()});
  }
  check(
      fits, what,
      ": is not a language model; a language model takes characters [rows, steps] and states, and "
      "returns probabilities and the same number of states");
  states_.resize(dims_.size());
}

// Reads one character at a time, so that one plan serves texts of any length.
void TextSampler::read(const std::string& text) {
  for (char byte : text) {
    int64_t character = vocabulary_.id(byte);
    std::vector<Tensor> feeds{{{DType::int64, {1, 1}}, &character}};
    for (std::size_t i = 0; i < dims_.size(); ++i)
      feeds.push_back({{DType::float32, dims_[i]}, states_[i].data()});
    const std::span<const Tensor> results = run_(feeds);
    check(results[0].count() == vocabulary_.size(), "the network gives probabilities of ",
          results[0].count(), " characters, its vocabulary has ", vocabulary_.size());
    const auto copy = [](const Tensor& from, std::vector<float>& to) {
      to.assign(from.as<float>(), from.as<float>() + from.count());
    };
    copy(results[0], prob_);
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      check(results[i + 1].desc.dims == dims_[i], "the network takes states ", dims_[i],
            " and returns ", results[i + 1].desc.dims);
      copy(results[i + 1], states_[i]);
    }
  }
}

// `random` is from 0 to 1.
int64_t TextSampler::drawn(double temperature, double random) const {
  const auto likeliest = std::max_element(prob_.begin(), prob_.end());
  if (temperature <= 0) return likeliest - prob_.begin();
  // Weights are relative to the likeliest character, so that small temperatures keep a weight above
  // 0.
  std::vector<double> weights;
  double sum = 0;
  for (float p : prob_)
    sum += weights.emplace_back(
        p > 0 ? std::pow(static_cast<double>(p / *likeliest), 1 / temperature) : 0);
  double left = random * sum;
  for (std::size_t id = 0; id < weights.size(); ++id)
    if ((left -= weights[id]) < 0) return static_cast<int64_t>(id);
  return likeliest - prob_.begin();
}

std::string TextSampler::after(const std::string& prompt, const SampleOptions& options) {
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    check_memory(TensorDesc{DType::float32, dims_[i]}.bytes(), "a state of the network");
    states_[i].assign(element_count(dims_[i]), 0.0F);
  }
  read(prompt);
  PhiloxSequence random(options.seed, streams::kTextSamples + options.draw);
  std::string text;
  for (int64_t i = 0; i < options.length; ++i) {
    for (float p : prob_) check(std::isfinite(p), "the output of the network is not finite");
    text += vocabulary_.byte(drawn(options.temperature, random.uniform()));
    read(text.substr(text.size() - 1));
  }
  return text;
}

}  // namespace lockstep
