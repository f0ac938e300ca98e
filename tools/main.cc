// lockstep: one binary, a file per subcommand. Exit codes: 0 done, 1 something broke that should
// not have, 2 something the user can mend, named on stderr.
#include <CLI/CLI.hpp>
#include <iostream>

#include "graph/error.h"
#include "tools/command.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  CLI::App app{"Data-parallel training steps as ONNX graphs, planned before they run.", "lockstep"};
  app.require_subcommand(1);
  app.footer("Start with:  lockstep train configs/lenet_digits.yaml");
  Command chosen;
  for (auto add : {add_train, add_test, add_infer, add_export, add_build, add_inspect, add_plan,
                   add_run, add_step, add_onnx_test, add_bench, add_launch, add_doctor})
    add(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return chosen();
  } catch (const Error& error) {
    std::cerr << "lockstep: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "lockstep: internal error: " << error.what() << "\n";
    return 1;
  }
}
