// SPDX-License-Identifier: Apache-2.0
// Reads the file of a trace, and checks the rules of its format that viewers rely on.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::testing {

struct SeenSlice {
  std::string name, category;
  int64_t begins = 0, ends = 0;  // nanoseconds
  nlohmann::json facts;
  int depth = 0;                         // 0: in no other slice
  std::vector<std::size_t> inside = {};  // slices directly inside, by index in the row
  bool has_arrow_in = false, has_arrow_out = false;
};

struct SeenRow {
  std::string name;
  std::vector<SeenSlice> slices;  // in order of time, a slice before the slices inside it
};

struct SeenArrow {
  std::string name;
  std::pair<int, int> from_row, to_row;  // process and thread
  std::size_t from = 0, to = 0;          // slices of the rows
  int64_t leaves = 0, arrives = 0;
};

struct SeenTrace {
  nlohmann::json about;                         // otherData
  std::map<int, std::string> processes;         // names
  std::map<std::pair<int, int>, SeenRow> rows;  // by process and thread
  std::vector<SeenArrow> arrows;
  std::map<std::pair<int, std::string>, std::vector<double>> counters;  // by process and name

  const SeenSlice& from(const SeenArrow& arrow) const {
    return rows.at(arrow.from_row).slices[arrow.from];
  }
  const SeenSlice& to(const SeenArrow& arrow) const {
    return rows.at(arrow.to_row).slices[arrow.to];
  }
  // The row of this name of a process.
  const SeenRow& row(int process, const std::string& name) const;
};

// Expects that slices of a row nest, that each end of an arrow is in a slice, that each row and
// process has a name and a place in the order, and that times are not negative.
SeenTrace expect_rules(const std::string& text);

// The nanoseconds of all steps and waits of a row within its slice, which is a step of the run.
int64_t sum_within(const SeenRow& row, const SeenSlice& step);

}  // namespace lockstep::testing
