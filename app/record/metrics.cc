// SPDX-License-Identifier: Apache-2.0
#include "app/record/metrics.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/file.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string line_of(const MetricRow& row) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : row) {
    if (value == std::floor(value) && std::abs(value) < 1e15)
      json[name] = static_cast<int64_t>(value);
    else
      json[name] = value;
  }
  return json.dump() + "\n";
}

bool is_test(const MetricRow& row) {
  return std::any_of(row.begin(), row.end(),
                     [](const auto& entry) { return entry.first.starts_with("test_"); });
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path, int64_t first) {
  std::string kept;
  if (first > 0 && std::filesystem::exists(path))
    for (const MetricRow& row : read_metrics(path))
      if (value_of(row, "iter") <= static_cast<double>(first)) {
        kept += line_of(row);
        if (is_test(row)) tested_ = std::max(tested_, value_of(row, "iter"));
      }
  write_file(path, kept);
  file_ = std::make_unique<AppendedFile>(path);
}

void MetricsFile::append(const MetricRow& row) {
  if (is_test(row) && value_of(row, "iter") <= tested_) return;
  file_->append(line_of(row));
}

std::vector<MetricRow> read_metrics(const std::string& path) {
  std::vector<MetricRow> rows;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) {
    auto json = nlohmann::ordered_json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    MetricRow row;
    for (const auto& [name, value] : json.items())
      if (value.is_number()) row.emplace_back(name, value.get<double>());
    rows.push_back(std::move(row));
  }
  return rows;
}

double value_of(const MetricRow& row, const std::string& name) {
  for (const auto& [known, value] : row)
    if (known == name) return value;
  return std::nan("");
}

}  // namespace lockstep
