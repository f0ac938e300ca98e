// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/diff/run_report.h"
#include "app/format.h"
#include "app/written_files.h"
#include "graph/file.h"
#include "tools/command.h"

namespace lockstep {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string output = "comparison.html";
};

// Files of the runs must not be replaced by the page.
std::vector<std::string> files_of_runs(const std::vector<std::string>& runs) {
  std::vector<std::string> files;
  for (const std::string& run : runs)
    for (const char* name :
         {"/config.yaml", "/metrics.jsonl", "/step.onnx", "/model.onnx", "/checkpoint.safetensors",
          "/checkpoint.previous.safetensors", "/best.safetensors", "/best.onnx", "/report.html",
          "/step.onnx.data", "/model.onnx.data"})
      files.push_back(run + name);
  return files;
}

int write_report(const ReportOptions& options) {
  check_output(options.output, [&] { return files_of_runs(options.runs); });
  const RunComparison comparison = compared_runs(options.runs);
  write_file(options.output, html_of(comparison));
  std::cout << options.output << ": "
            << count_of(std::ssize(comparison.runs), "run", "runs compared") << ", "
            << (comparison.settings.empty()
                    ? comparison.about_settings
                    : count_of(std::ssize(comparison.settings), "key differs", "keys differ"))
            << "\n";
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "compare runs on one web page");
  command->add_option("runs", options->runs, "folders of runs")->required();
  command->add_option("-o,--output", options->output, "page to write")->capture_default_str();
  command->footer(
      "Example:  lockstep report runs/lenet_digits runs/lenet_digits.2 -o comparison.html\n"
      "The page has the runs' curves over each other, their speed, memory and time by kind, and "
      "the "
      "keys\nthat differ. Each run's own page is report.html in its folder.");
  command->callback([options, &chosen] { chosen = [options] { return write_report(*options); }; });
}

}  // namespace lockstep
