#include "tools/train/report.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "tools/train/chart.h"

namespace lockstep {
namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2733; background: #f6f7f9; margin: 0; }
main { max-width: 1320px; margin: 0 auto; padding: 28px 24px 60px; }
h1 { font-size: 26px; margin: 0 0 18px; } h2 { font-size: 18px; margin: 34px 0 10px; }
.facts { display: flex; flex-wrap: wrap; gap: 12px; }
.fact { background: #fff; border: 1px solid #e1e5ea; border-radius: 8px; padding: 10px 16px; }
.fact b { display: block; font-size: 20px; } .fact span { color: #5c6b7a; font-size: 13px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(560px, 1fr)); gap: 16px; }
.charts svg { background: #fff; border: 1px solid #e1e5ea; border-radius: 8px; width: 100%; }
.grid { stroke: #e8ebef; } .tick { font: 12px system-ui, sans-serif; fill: #5c6b7a; }
.title { font: 600 14px system-ui, sans-serif; fill: #1c2733; }
.samples { display: flex; flex-wrap: wrap; gap: 10px; }
.samples figure { margin: 0; text-align: center; font-size: 13px; }
.samples img { width: 56px; height: 56px; image-rendering: pixelated; border-radius: 4px; display: block; }
.wrong { color: #c22f2f; font-weight: 600; }
table { border-collapse: collapse; background: #fff; font-size: 13px; }
td, th { border: 1px solid #e1e5ea; padding: 3px 9px; text-align: right; }
th { background: #f0f2f5; font-weight: 600; } .config td { text-align: left; font-family: monospace; }
)";

std::string escaped(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::string base64(const std::string& bytes) {
  static const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// A 24-bit BMP; browsers show it and it needs no library.
std::string bitmap(const SamplePicture& picture) {
  const uint32_t row = (3 * static_cast<uint32_t>(picture.width) + 3) / 4 * 4;
  const uint32_t data = 54;
  std::string file = "BM";
  auto put = [&](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file += static_cast<char>(value >> (8 * i));
  };
  put(data + row * static_cast<uint32_t>(picture.height), 4), put(0, 4), put(data, 4);
  put(40, 4), put(static_cast<uint32_t>(picture.width), 4);
  put(static_cast<uint32_t>(picture.height), 4), put(1, 2), put(24, 2);
  for (uint32_t field : {0U, 0U, 2835U, 2835U, 0U, 0U}) put(field, 4);
  for (int y = picture.height - 1; y >= 0; --y) {
    for (int x = 0; x < picture.width; ++x)
      for (int c = 2; c >= 0; --c)  // blue first
        file += static_cast<char>(
            picture.rgb[static_cast<std::size_t>(3 * (y * picture.width + x) + c)]);
    file.append(row - 3 * static_cast<uint32_t>(picture.width), '\0');
  }
  return file;
}

Series series_of(const std::vector<MetricRow>& rows, const std::string& metric, std::string name,
                 std::string colour, bool dots) {
  Series series{std::move(name), std::move(colour), {}, dots};
  for (const MetricRow& row : rows) {
    double y = value_of(row, metric);
    if (std::isfinite(y)) series.points.emplace_back(value_of(row, "iter"), y);
  }
  return series;
}

void write_charts(std::ostream& out, const std::vector<MetricRow>& rows) {
  out << "<div class=\"charts\">\n"
      << svg_of({"Loss", "iteration", {series_of(rows, "loss", "loss", "#2463b4", false)}, true})
      << svg_of({"Accuracy",
                 "iteration",
                 {series_of(rows, "accuracy", "training", "#2463b4", false),
                  series_of(rows, "test_accuracy", "held out", "#d9822b", true)},
                 false})
      << svg_of(
             {"Learning rate", "iteration", {series_of(rows, "lr", "lr", "#3a9a5c", false)}, true})
      << svg_of({"Images per second",
                 "iteration",
                 {series_of(rows, "images_per_second", "images/s", "#8255b5", false)},
                 true})
      << "</div>\n";
}

void write_samples(std::ostream& out, const std::vector<SamplePicture>& samples) {
  if (samples.empty()) return;
  out << "<h2>Held-out examples</h2>\n<p>What the network reads; mistakes first, in red, with the "
         "true label.</p>\n<div class=\"samples\">\n";
  for (const SamplePicture& sample : samples) {
    const bool wrong = sample.label != sample.guess;
    out << "<figure><img alt=\"\" src=\"data:image/bmp;base64," << base64(bitmap(sample))
        << "\"><figcaption" << (wrong ? " class=\"wrong\"" : "") << ">" << escaped(sample.guess);
    if (wrong) out << " (" << escaped(sample.label) << ")";
    out << "</figcaption></figure>\n";
  }
  out << "</div>\n";
}

void write_confusion(std::ostream& out, const std::vector<std::vector<int64_t>>& confusion) {
  constexpr std::size_t kMostClasses = 40;  // a larger table says nothing
  if (confusion.empty() || confusion.size() > kMostClasses) return;
  out << "<h2>Confusion</h2>\n<p>Rows: true label. Columns: what the network "
         "reads.</p>\n<table><tr>"
         "<th></th>";
  for (std::size_t guess = 0; guess < confusion.size(); ++guess) out << "<th>" << guess << "</th>";
  out << "</tr>\n";
  for (std::size_t label = 0; label < confusion.size(); ++label) {
    int64_t most = 1;
    for (int64_t count : confusion[label]) most = std::max(most, count);
    out << "<tr><th>" << label << "</th>";
    for (std::size_t guess = 0; guess < confusion.size(); ++guess) {
      const double share = static_cast<double>(confusion[label][guess]) / static_cast<double>(most);
      const char* hue = label == guess ? "36,99,180" : "217,80,43";
      const double alpha = label == guess ? 0.35 * share : std::min(0.8, 6 * share);
      out << "<td style=\"background:rgba(" << hue << "," << alpha << ")\">"
          << (confusion[label][guess] ? std::to_string(confusion[label][guess]) : "") << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</table>\n";
}

}  // namespace

std::string html_of(const Report& report) {
  std::ostringstream out;
  out << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"
      << escaped(report.title) << "</title><style>" << kStyle << "</style></head><body><main>\n<h1>"
      << escaped(report.title) << "</h1>\n<div class=\"facts\">\n";
  for (const auto& [name, value] : report.facts)
    out << "<div class=\"fact\"><b>" << escaped(value) << "</b><span>" << escaped(name)
        << "</span></div>\n";
  out << "</div>\n<h2>Curves</h2>\n";
  write_charts(out, report.metrics);
  write_samples(out, report.samples);
  write_confusion(out, report.confusion);
  out << "<h2>Configuration</h2>\n<table class=\"config\">\n";
  for (const auto& [key, value] : report.config)
    out << "<tr><td>" << escaped(key) << "</td><td>" << escaped(value) << "</td></tr>\n";
  out << "</table>\n</main></body></html>\n";
  return out.str();
}

}  // namespace lockstep
