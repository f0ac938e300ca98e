// SPDX-License-Identifier: Apache-2.0
#include "lockstep/episodes.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "data/streams.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kMostEnvironments = int64_t{1} << 24, kMostEpisodes = int64_t{1} << 32;

uint64_t stream_of_episode(bool held_out, int64_t environment, int64_t episode) {
  const auto number = static_cast<uint64_t>(environment), turn = static_cast<uint64_t>(episode);
  const uint64_t first = streams::kEpisodes | (held_out ? streams::kHeldOutEpisodes : 0);
  return first | number << 32 | turn % (uint64_t{1} << 32);
}

}  // namespace

Environments::Environments(const EnvironmentKind& kind, const EnvironmentsOptions& options)
    : kind_(kind), options_(options) {
  check(options.count >= 1 && options.first >= 0 &&
            options.first + options.count <= kMostEnvironments,
        options.count, " environments from number ", options.first,
        " on, should be at least 1 and at most ", kMostEnvironments);
  const std::size_t count = options.count;
  all_.resize(count);
  steps_.resize(count);
  observations_.resize(count * kind_.observations);
  reached_ = observations_;
  for (int64_t i = 0; i < options.count; ++i) {
    One& one = all_[i];
    one.world = kind_.make();
    begin(number_of(i), one);
    observe(i, observations_);
  }
}

void Environments::begin(int64_t number, One& one) {
  PhiloxSequence random(options_.seed, stream_of_episode(options_.held_out, number, one.episode));
  one.world->begin(random);
  one.steps = 0;
  one.sum = 0;
}

std::span<float> Environments::row(std::vector<float>& rows, int64_t index) const {
  const std::size_t values = kind_.observations;
  return std::span(rows).subspan(index * values, values);
}

void Environments::observe(int64_t index, std::vector<float>& rows) {
  const std::span<float> values = row(rows, index);
  const One& one = all_[index];
  one.world->observe(values);
  for (std::size_t v = 0; v < values.size(); ++v)
    check(std::isfinite(values[v]), kind_.name, " number ", number_of(index), ", episode ",
          one.episode, ", step ", one.steps, ": value ", v, " of the observation is ", values[v]);
}

std::span<const Environments::Step> Environments::step(std::span<const int64_t> actions) {
  check(actions.size() == all_.size(), actions.size(), " actions for ", all_.size(),
        " environments");
  ended_.clear();
  for (int64_t i = 0; i < count(); ++i) {
    One& one = all_[i];
    Step& step = steps_[i];
    const Environment::Moved moved = one.world->move(actions[i]);
    ++one.steps;
    one.sum += moved.reward;
    step = {moved.reward, moved.over, !moved.over && one.steps >= kind_.time_limit};
    observe(i, reached_);
    if (!step.ended()) {
      std::copy_n(row(reached_, i).begin(), kind_.observations, row(observations_, i).begin());
      continue;
    }
    ended_.push_back({number_of(i), one.steps, one.sum, step.cut});
    ++one.episode;
    begin(number_of(i), one);
    observe(i, observations_);
  }
  return steps_;
}

std::vector<double> Environments::state(int64_t environment) const {
  check(environment >= options_.first && environment < options_.first + options_.count, kind_.name,
        " number ", environment, " is not one of ", options_.count, " from number ", options_.first,
        " on");
  return all_[environment - options_.first].world->state();
}

std::string Environments::text() const {
  std::ostringstream out;
  out << std::setprecision(17);
  for (int64_t i = 0; i < count(); ++i) {
    const One& one = all_[i];
    out << number_of(i) << " " << one.episode << " " << one.steps << " " << one.sum;
    for (double number : one.world->state()) out << " " << number;
    out << "\n";
  }
  return out.str();
}

void Environments::restore(const std::string& text) {
  std::istringstream lines(text);
  for (int64_t i = 0; i < count(); ++i) {
    One& one = all_[i];
    std::string line;
    std::getline(lines, line);
    std::istringstream in(line);
    int64_t number = -1;
    std::vector<double> state(kind_.states);
    in >> number >> one.episode >> one.steps >> one.sum;
    for (double& value : state) in >> value;
    std::string rest;
    check(bool(in) && !(in >> rest) && number == number_of(i) && one.episode >= 0 &&
              one.episode < kMostEpisodes && one.steps >= 0 && one.steps < kind_.time_limit,
          "the saved state of ", kind_.name, " number ", number_of(i), " is '", line,
          "', should be its number, its episode, the steps and the return so far and ",
          kind_.states, " numbers");
    one.world->restore(state);
    observe(i, observations_);
  }
}

}  // namespace lockstep
