// SPDX-License-Identifier: Apache-2.0
// `lockstep simulate` and `lockstep doctor --measure-links` from a user's view.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/simulate/cluster.h"
#include "graph/file.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

constexpr const char* kTwoDevices = R"(DEVICES: 2
DEVICE: {FLOPS: 1e11, BANDWIDTH: 1e10}
LINKS: {WITHIN: 1us:5G, HOSTS: 20us:1G, SHARED: [WITHIN, HOSTS]}
)";

class SimulateCommand : public TrainingCommand {
 protected:
  std::string cluster(const std::string& text = kTwoDevices) {
    write_file(folder / "cluster.yaml", text);
    return folder / "cluster.yaml";
  }
  nlohmann::json simulated(std::vector<std::string> words) {
    words.insert(words.begin(), "simulate");
    words.insert(words.end(), {"--json"});
    const Outcome outcome = run_lockstep(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }
};

TEST_F(SimulateCommand, TellsTheStepTheCurveAndTheBest) {
  const Outcome outcome =
      run_lockstep({"simulate", "lenet", "--devices", "cpu*2", "--cluster", cluster()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* said :
       {"lenet on 1 host x 2 devices in 1 process", "the workers of its plans", "  forward ",
        "  exposed ", "  memory ", "by the roofline", "     4096", "best of ", "--all-reduce "})
    EXPECT_NE(outcome.out.find(said), outcome.out.npos) << said << "\n" << outcome.out;
}

TEST_F(SimulateCommand, APlanWithWaitsAgreesWithTheLaw) {
  for (const char* spec : {"collective", "xring", "simple"}) {
    const nlohmann::json made =
        simulated({"lenet", "--devices", "cpu*2", "--all-reduce", spec, "--packing", "ray:1G",
                   "--cluster", cluster(), "--each", "--no-search"});
    const double alike = made["alike"]["seconds"], each = made["each"]["seconds"],
                 planned = made["planned"]["seconds"];
    EXPECT_NEAR(alike / each, 1, 1e-6) << spec;
    EXPECT_GT(planned / alike, 0.6) << spec;
    EXPECT_LT(planned / alike, 1.6) << spec;
  }
}

TEST_F(SimulateCommand, TheFoundBucketsAreReadByTrain) {
  const std::string found = folder / "found.txt";
  const Outcome outcome =
      run_lockstep({"simulate", config(), "--cluster",
                    cluster("HOSTS: 2\n" + std::string(kTwoDevices)), "-o", found});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string text = read_file(found);
  EXPECT_NE(text.find("# lockstep train " + config()), text.npos) << text;
  EXPECT_NE(text.find("bucket "), text.npos) << text;
  const Outcome trained = train("run", {"--buckets", found, "SOLVER.MAX_ITER", "2"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  const Outcome shown =
      run_lockstep({"inspect", config(), "--buckets", found, "--format", "buckets"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const std::string first = text.substr(text.find("bucket "));
  EXPECT_EQ(shown.out.rfind(first, 0), 0U) << shown.out << "\n" << text;
}

// As a shell reads it: with the devices and the batch of the cluster, and without options of the
// configuration that the search replaces.
TEST_F(SimulateCommand, TheFoundCommandRuns) {
  const std::string file = folder / "my config.yaml", found = folder / "best buckets.txt";
  write_file(file, std::string(kTrainingConfig) +
                       "WIRE: bfloat16\nPACKING: ray:1k\nALL_REDUCE: xring\nRING_ORDER: [1, 0]\n");
  const std::filesystem::path program = run_path();
  for (const char* processes : {"DEVICES: 2\n", "DEVICES: 4\n", "DEVICES: 4\nPROCESSES: 2\n"})
    for (const char* bandwidth : {"1M", "100G"}) {
      const std::string text =
          join(processes, "DEVICE: {FLOPS: 1e11, BANDWIDTH: 1e10}\nLINKS: {",
               "WITHIN: 1us:", bandwidth, ", PROCESSES: 1us:", bandwidth, "}\n");
      const Outcome outcome =
          run_lockstep({"simulate", file, "--cluster", cluster(text), "--most", "4", "-o", found,
                        "SOLVER.MAX_ITER", "2", "--packing", "none"});
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      const std::string buckets = read_file(found);
      const std::size_t begins = buckets.find("\n# lockstep ") + 3;
      const std::string line = buckets.substr(begins, buckets.find('\n', begins) - begins);
      EXPECT_NE(outcome.out.find("  " + line + "\n"), outcome.out.npos) << outcome.out << line;
      const std::string command = join("PATH='", program.parent_path().string(), "':\"$PATH\" ",
                                       line, " --quiet OUTPUT_DIR '", folder / "run", "'");
      EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }
}

// The kernels of a step with micro-batches are of all of them, its activations of one at a time.
TEST_F(SimulateCommand, CountsTheMicroBatchesOfAStepOnce) {
  const std::string step = folder / "step.onnx";
  ASSERT_EQ(
      run_lockstep({"build", "mlp", "--devices", "cpu*2", "TRAIN.MICRO_BATCHES", "4", "-o", step})
          .exit_code,
      0);
  const nlohmann::json all = simulated({step, "--batch", "32", "--cluster", cluster()});
  EXPECT_EQ(all["choice"]["micro_batches"], 4);
  const nlohmann::json& best = all["best"]["found"];
  EXPECT_EQ(best["choice"]["micro_batches"], 4);
  for (const char* phase : {"forward", "backward"})
    EXPECT_EQ(best["step"]["phases"][phase], all["alike"]["phases"][phase]) << phase;
  EXPECT_EQ(best["step"]["memory_bytes"], all["alike"]["memory_bytes"]);

  const double whole = all["alike"]["memory_bytes"];
  const nlohmann::json less =
      simulated({step, "--batch", "32", "--cluster",
                 cluster(join("DEVICES: 2\nDEVICE: {FLOPS: 1e11, BANDWIDTH: 1e10, MEMORY: ",
                              static_cast<int64_t>(whole) - 1, "}\n"))});
  const Outcome inspected = run_lockstep({"inspect", step, "--batch", "32", "--format", "json"});
  const nlohmann::json graph = nlohmann::json::parse(inspected.out);
  const double activations = graph["figures"][0]["activation_bytes"];
  EXPECT_EQ(less["best"]["found"]["choice"]["micro_batches"], 8);
  EXPECT_NEAR(whole - less["best"]["found"]["step"]["memory_bytes"].get<double>(), activations / 8,
              1);
}

TEST_F(SimulateCommand, ReadsTheTimesOfATrace) {
  const std::string trace = folder / "trace.json";
  const Outcome traced =
      run_lockstep({"bench", "train-step", "--model", "mlp", "--batch", "16", "--devices", "cpu*2",
                    "--threads", "1", "--steps", "8", "--feed", "ahead", "--trace", trace});
  ASSERT_EQ(traced.exit_code, 0) << traced.err;
  const nlohmann::json made = simulated({"mlp", "--batch", "8", "--devices", "cpu*2", "--cluster",
                                         cluster("DEVICES: 2\nPROFILE: trace.json\n")});
  EXPECT_EQ(made["kernel_times"]["by_roofline"], 0);
  EXPECT_GT(made["kernel_times"]["by_name"], 10);
  EXPECT_EQ(made["kernel_times"]["profiled_devices"], 2);
  EXPECT_GT(made["planned"]["seconds"], 0);
  // Two processes take the kernels' times from the same trace, and messages by their links.
  const nlohmann::json processes =
      simulated({"mlp", "--batch", "8", "--devices", "cpu*2", "--cluster",
                 cluster("DEVICES: 2\nPROCESSES: 2\nPROFILE: trace.json\n"
                         "DEVICE: {FLOPS: 1e11, BANDWIDTH: 1e10}\n")});
  EXPECT_GT(processes["planned"]["messages"], 0);
  EXPECT_GT(processes["planned"]["exposed"], 0);
}

// Names match in any batch, and shapes of weights in any step.
TEST_F(SimulateCommand, TakesNoTimesOfAnotherStep) {
  ASSERT_EQ(
      run_lockstep({"bench", "train-step", "--model", "mlp", "--batch", "16", "--devices", "cpu*2",
                    "--threads", "1", "--steps", "3", "--trace", folder / "trace.json"})
          .exit_code,
      0);
  const std::string file = cluster(std::string(kTwoDevices) + "PROFILE: trace.json\n");
  const auto with = [&](const std::string& model, const std::string& batch,
                        const std::string& parts) {
    return run_lockstep({"simulate", model, "--batch", batch, "--devices", "cpu*2",
                         "TRAIN.MICRO_BATCHES", parts, "--cluster", file, "--no-search"});
  };
  const Outcome same = with("mlp", "8", "1"), longer = with("mlp", "16", "2");
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.out.find("the trace of another"), same.out.npos) << same.out;
  EXPECT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_NE(
      longer.out.find("trace.json is the trace of another step; steps without a time by name"),
      longer.out.npos)
      << longer.out;
  expect_refused(with("mlp", "16", "1"), {"trace.json: is the trace of another batch or network",
                                          "float32[8,", "float32[16,", "--batch"});
  expect_refused(with("lenet", "8", "1"), {"trace.json: is the trace of another batch or network"});
}

TEST_F(SimulateCommand, RefusesBadInput) {
  const auto refused = [&](const std::vector<std::string>& words,
                           const std::vector<std::string>& parts) {
    std::vector<std::string> all{"simulate"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = run_lockstep(all);
    expect_refused(outcome, parts);
    EXPECT_EQ(outcome.out, "");
  };
  refused({"mlp"}, {"--cluster is required"});
  refused({"mlp", "--cluster", folder / "none.yaml"}, {"none.yaml"});
  refused({"mlp", "--cluster", cluster("HOSTS: 2\n")}, {"cluster.yaml", "PROFILE"});
  refused({"mlp", "--cluster", cluster("DEVICE: {FLOPS: 1, BANDWIDTH: 1}\nHOTS: 2\n")},
          {"cluster.yaml:2", "HOTS", "HOSTS"});
  refused({"mlp", "--cluster", cluster("PROFILE: none.json\n")}, {"none.json"});
  write_file(folder / "bad.json", "{}");
  refused({"mlp", "--cluster", cluster("PROFILE: bad.json\n")},
          {"bad.json: is no trace of Lockstep"});
  refused({"nosuchmodel", "--cluster", cluster()}, {"nosuchmodel"});
  refused({"mlp", "--cluster", cluster(), "--most", "9999"}, {"--most"});
  refused({"mlp", "--cluster", cluster(), "--no-search", "-o", folder / "x"}, {"--no-search"});
  refused({"mlp", "--devices", "cpu*2", "--aux-devices", "cpu*1", "--all-reduce", "pscpu",
           "--cluster", cluster()},
          {"AUX_DEVICES", "cannot be simulated"});
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
}

// The law of a step's file takes the algorithm that the file was built with, as a model's name does
// with the same options.
TEST_F(SimulateCommand, AFileNamesTheAlgorithmOfItsSums) {
  const std::string step = folder / "step.onnx", here = cluster();
  const std::vector<std::string> options{"--devices", "cpu*4",    "--all-reduce", "psgpu#2",
                                         "--wire",    "bfloat16", "--packing",    "ready:1k:4k"};
  std::vector<std::string> build{"build", "mlp", "-o", step}, named{"mlp", "--batch", "8"};
  build.insert(build.end(), options.begin(), options.end());
  named.insert(named.end(), options.begin(), options.end());
  named.insert(named.end(), {"--cluster", here, "--most", "64", "--no-search"});
  ASSERT_EQ(run_lockstep(build).exit_code, 0);
  const nlohmann::json by_name = simulated(named);
  const nlohmann::json of_file =
      simulated({step, "--batch", "8", "--cluster", here, "--most", "64", "--no-search"});
  EXPECT_EQ(of_file["choice"]["wire"], "bfloat16");
  EXPECT_EQ(of_file["choice"]["all_reduce"], by_name["choice"]["all_reduce"]);
  EXPECT_EQ(of_file["curve"], by_name["curve"]);
}

// An order and shards of four replicas, on clusters of other sizes.
TEST_F(SimulateCommand, TakesTheRingOrderOfAStepOfAnotherSize) {
  const std::string file =
      config(std::string(kTrainingConfig) + "ALL_REDUCE: xring#4\nRING_ORDER: [0, 2, 1, 3]\n");
  for (const char* devices : {"1", "2", "4", "8"}) {
    const std::string text =
        join("DEVICES: ", devices, "\n", "DEVICE: {FLOPS: 1e11, BANDWIDTH: 1e10}\n");
    const Outcome outcome = run_lockstep(
        {"simulate", file, "DEVICES", "cpu*4", "--cluster", cluster(text), "--most", "32"});
    EXPECT_EQ(outcome.exit_code, 0) << devices << outcome.err;
    const bool is_fitted =
        outcome.out.find("but 2 devices admit only 'xring#2'") != outcome.out.npos;
    EXPECT_EQ(is_fitted, std::string(devices) == "2") << outcome.out;
  }
}

// Under any spelling of its path, and through a link.
TEST_F(SimulateCommand, ReplacesNoneOfItsInputs) {
  const std::string step = folder / "step.onnx", buckets = folder / "buckets.txt";
  ASSERT_EQ(run_lockstep({"build", "mlp", "--devices", "cpu*2", "-o", step}).exit_code, 0);
  write_file(buckets, "bucket fc1_w\n");
  write_file(folder / "trace.json", "{}");
  const std::string file = cluster(std::string(kTwoDevices) + "PROFILE: trace.json\n");
  std::filesystem::create_symlink("cluster.yaml", folder / "link.txt");
  const auto refused = [&](const std::vector<std::string>& model, const std::string& output,
                           const std::string& other) {
    std::vector<std::string> words{"simulate"};
    words.insert(words.end(), model.begin(), model.end());
    words.insert(words.end(), {"--cluster", file, "-o", output});
    const std::string before = read_file(output);
    expect_refused(run_lockstep(words), {"-o: writing '" + output, "would overwrite '", other});
    EXPECT_EQ(read_file(output), before);
  };
  refused({step}, step, "step.onnx");
  refused({config()}, config(), config());
  refused({"mlp"}, file, "cluster.yaml");
  refused({"mlp"}, folder.path() + "/./cluster.yaml", "cluster.yaml");
  refused({"mlp"}, folder / "link.txt", "cluster.yaml");
  refused({"mlp"}, folder / "trace.json", "trace.json");
  refused({"mlp", "--devices", "cpu*2", "--buckets", buckets}, buckets, "buckets.txt");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
}

TEST_F(SimulateCommand, DoctorMeasuresLinksBetweenProcesses) {
  const std::string file = folder / "measured.yaml";
  const Outcome outcome = run_lockstep(
      {"launch", "-n", "2", "--", run_path(), "doctor", "--measure-links", "-o", file});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Cluster measured = read_cluster(file);
  EXPECT_EQ(measured.hosts, 1);
  EXPECT_EQ(measured.processes, 2);
  EXPECT_EQ(measured.devices, 2);
  EXPECT_GT(measured.flops, 1e6);
  const Link& link = measured.link(LinkKind::processes).speed;
  EXPECT_GT(link.latency, 1e-7);
  EXPECT_LT(link.latency, 0.1);
  EXPECT_GT(link.bandwidth, 1e6);
  EXPECT_LT(link.bandwidth, 1e12);
  EXPECT_EQ(run_lockstep({"simulate", "mlp", "--cluster", file, "--most", "4"}).exit_code, 0);
  expect_refused(run_lockstep({"doctor", "-o", file}), {"--measure-links"});
}

}  // namespace
}  // namespace lockstep::testing
