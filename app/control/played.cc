// SPDX-License-Identifier: Apache-2.0
#include "app/control/played.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

// Concatenates all ranks' texts, on every rank.
std::string all_of(Comm* comm, const std::string& mine, const std::string& what) {
  if (!comm) return mine;
  std::string all;
  for (const std::string& text : gather_texts(*comm, mine, what)) all += text;
  return share_text(*comm, all, what);
}

}  // namespace

std::string text_of(const std::vector<Episode>& episodes) {
  std::string text;
  for (const Episode& episode : episodes)
    text += join(episode.environment, " ", episode.steps, " ", std::setprecision(17), episode.sum,
                 " ", episode.cut ? 1 : 0, "\n");
  return text;
}

std::vector<Episode> episodes_in(const std::string& text, const std::string& what) {
  std::vector<Episode> episodes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    Episode episode;
    in >> episode.environment >> episode.steps >> episode.sum >> episode.cut;
    std::string rest;
    check(bool(in) && !(in >> rest), what, ": an episode is '", line,
          "', should be its environment, steps, return and 0 or 1");
    episodes.push_back(episode);
  }
  return episodes;
}

std::vector<Episode> of_all_ranks(Comm* comm, const std::vector<Episode>& mine) {
  const std::string what = "the episodes of all processes";
  std::vector<Episode> all = comm ? episodes_in(all_of(comm, text_of(mine), what), what) : mine;
  std::stable_sort(all.begin(), all.end(), [](const Episode& a, const Episode& b) {
    return a.environment < b.environment;
  });
  return all;
}

EpisodeMeans means_of(const std::vector<Episode>& episodes) {
  if (episodes.empty()) return {};
  EpisodeMeans means{0, 0, episodes[0].sum, episodes[0].sum};
  for (const Episode& episode : episodes) {
    means.sum += episode.sum;
    means.steps += static_cast<double>(episode.steps);
    means.least = std::min(means.least, episode.sum);
    means.most = std::max(means.most, episode.sum);
  }
  const auto count = static_cast<double>(episodes.size());
  means.sum /= count;
  means.steps /= count;
  return means;
}

Spread spread_of(Comm* comm, const std::vector<float>& rows, int64_t steps) {
  std::string mine;
  for (std::size_t first = 0; first < rows.size(); first += steps) {
    double sum = 0, squares = 0;
    for (std::size_t i = first; i < first + steps; ++i) {
      sum += static_cast<double>(rows[i]);
      squares += static_cast<double>(rows[i]) * static_cast<double>(rows[i]);
    }
    mine += join(std::setprecision(17), sum, " ", squares, " ");
  }
  // Uses the text in one process, too, for equal bits.
  std::istringstream all(all_of(comm, mine, "sums of advantages"));
  double sum = 0, squares = 0, count = 0, here = 0, here_squares = 0;
  while (all >> here >> here_squares) {
    sum += here;
    squares += here_squares;
    count += static_cast<double>(steps);
  }
  const double mean = sum / std::max(count, 1.0);
  return {mean, std::sqrt(std::max(squares / std::max(count, 1.0) - mean * mean, 0.0))};
}

}  // namespace lockstep
