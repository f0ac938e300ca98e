// SPDX-License-Identifier: Apache-2.0
#include "app/train/gathered.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "lockstep/processes.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

std::string hexadecimal(double number) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%a", number);
  return text.data();
}

}  // namespace

std::vector<std::string> gather_once(Comm* comm, const std::vector<std::string>& mine,
                                     const std::string& what) {
  constexpr char kEnd = '\0';
  if (!comm) return mine;
  std::string joined;
  for (const std::string& text : mine) joined += text + kEnd;
  std::vector<std::string> all;
  std::set<std::string> known;
  for (const std::string& texts : gather_texts(*comm, joined, what))
    for (std::size_t from = 0, end = 0; (end = texts.find(kEnd, from)) != texts.npos;
         from = end + 1) {
      const std::string text = texts.substr(from, end - from);
      if (known.insert(text).second) all.push_back(text);
    }
  return all;
}

int64_t gather_sum(Comm* comm, int64_t mine, const std::string& what) {
  if (!comm || comm->size() == 1) return mine;
  const auto texts = gather_texts(*comm, std::to_string(mine), what);
  if (comm->rank() > 0) return mine;
  int64_t sum = 0;
  for (const std::string& text : texts) sum += std::atoll(text.c_str());
  return sum;
}

std::vector<std::vector<double>> gather_numbers(Comm* comm, const std::vector<double>& mine,
                                                const std::string& what) {
  if (!comm) return {mine};
  std::string text;
  for (const double number : mine) text += hexadecimal(number) + " ";
  std::vector<std::vector<double>> all;
  for (const std::string& of_rank : gather_texts(*comm, text, what)) {
    std::vector<double>& numbers = all.emplace_back();
    std::istringstream words(of_rank);
    for (std::string word; words >> word;) numbers.push_back(std::strtod(word.c_str(), nullptr));
  }
  return all;
}

}  // namespace lockstep
