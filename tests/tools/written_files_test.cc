// SPDX-License-Identifier: Apache-2.0
// Files that commands write with -o: they never replace a device, a link or an input.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <map>

#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tests/support/training_command.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;

// Maps the names of files to their contents.
std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files[entry.path().filename()] = read_file(entry.path());
  return files;
}

class WrittenFiles : public TrainingCommand {
 protected:
  void train_two_steps() {
    ASSERT_EQ(train("run", {"SOLVER.MAX_ITER", "2"}).exit_code, 0);
    run = folder / "run";
  }
  void expect_kept(const std::vector<std::string>& words, const std::string& output,
                   const std::string& said) {
    SCOPED_TRACE(output);
    std::vector<std::string> all = words;
    all.insert(all.end(), {"-o", output});
    const auto before = files_in(folder.path());
    expect_refused(run_lockstep(all), {"-o: writing '", "' would overwrite '", said,
                                       "which this command reads or its run needs"});
    EXPECT_EQ(files_in(folder.path()), before);
  }

  std::string run;
};

TEST_F(WrittenFiles, OfExportAreNoneOfItsRun) {
  train_two_steps();
  const auto before = files_in(run);
  ASSERT_TRUE(before.contains("best.safetensors"));
  fs::create_symlink("run/step.onnx", folder / "link.onnx");
  fs::create_hard_link(run + "/config.yaml", folder / "other.yaml");
  for (const auto& [output, said] : std::map<std::string, std::string>{
           {run + "/checkpoint.safetensors", "checkpoint.safetensors"},
           {run + "/../run/./checkpoint.safetensors", "checkpoint.safetensors"},
           {run + "/best.safetensors", "best.safetensors"},
           {run + "/config.yaml", "config.yaml"},
           {run + "/step.onnx", "step.onnx"},
           {folder / "link.onnx", "step.onnx"},
           {folder / "other.yaml", "config.yaml"}})
    for (const std::string& source : {run, run + "/best.safetensors"})
      expect_kept({"export", source}, output, said);
  fs::create_symlink("run", folder / "latest");
  expect_refused(run_lockstep({"export", folder / "latest", "-o", folder / "latest"}),
                 {"latest': it is a folder"});
  EXPECT_TRUE(fs::is_symlink(folder / "latest"));
  expect_refused(run_lockstep({"export", run, "-o", ""}), {"-o is empty"});
  EXPECT_EQ(files_in(run), before);
  // A command's earlier output may be replaced, in the run's folder or elsewhere.
  for (const std::string& output : {run + "/model.onnx", folder / "out.onnx", folder / "out.onnx"})
    EXPECT_EQ(run_lockstep({"export", run, "-o", output}).exit_code, 0) << output;
  expect_kept({"export", folder / "out.onnx", "--portable"}, folder / "out.onnx", "out.onnx");
}

TEST_F(WrittenFiles, ReplaceNoDeviceAndGoThroughLinks) {
  train_two_steps();
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  write_file(folder / "target", "old");
  fs::create_symlink("target", folder / "link");
  fs::create_symlink("new", folder / "dangling");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"export", run}, {"build", "mlp"}}) {
    SCOPED_TRACE(words[0]);
    const auto into = [&](const std::string& output) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"-o", output});
      return run_lockstep(all);
    };
    expect_refused(into(folder / "pipe"), {"pipe': it is a pipe, not a regular file"});
    // The program's standard output is a file here.
    expect_refused(into("/dev/stdout"), {"cannot write '/dev/stdout'"});
    for (const char* name : {"link", "dangling"}) {
      const Outcome outcome = into(folder / name);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_TRUE(fs::is_symlink(folder / name));
    }
    for (const char* name : {"target", "new"}) {
      EXPECT_EQ(load_model(all_ops(), folder / name).model.replicas, 1) << name;
      fs::remove(folder / name);
    }
  }
  EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
  if (mknod((folder / "full").c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0) return;  // without root
  expect_refused(run_lockstep({"export", run, "-o", folder / "full"}), {"it is a device"});
  EXPECT_TRUE(fs::is_character_file(folder / "full"));
}

TEST_F(WrittenFiles, OfPagesAreNoneOfTheirInputs) {
  const std::string step = folder / "step.onnx", graph = folder / "graph.html",
                    trace = folder / "trace.json";
  ASSERT_EQ(run_lockstep({"build", "mlp", "-o", step}).exit_code, 0);
  write_file(folder / "base.yaml", kTrainingConfig);
  write_file(folder / "top.yaml", "_BASE_: base.yaml\n");
  write_file(graph, "a page");
  write_file(trace, "a trace");
  fs::create_symlink("step.onnx", folder / "link.onnx");
  fs::create_hard_link(trace, folder / "other.json");
  const std::vector<std::string> html{"--format", "html"};
  const auto words = [&](std::vector<std::string> first, const std::vector<std::string>& more) {
    first.insert(first.end(), html.begin(), html.end());
    first.insert(first.end(), more.begin(), more.end());
    return first;
  };
  for (const char* command : {"plan", "inspect"}) {
    SCOPED_TRACE(command);
    for (const std::string& output :
         {step, folder / "./step.onnx", folder / "link.onnx", trace, folder / "other.json"})
      expect_kept(words({command, step}, {"--trace", trace}), output,
                  output == trace || output == folder / "other.json" ? "trace.json" : "step.onnx");
    for (const char* file : {"base.yaml", "top.yaml"})
      expect_kept(words({command, folder / "top.yaml"}, {}), folder / file, file);
  }
  expect_kept(words({"plan", step}, {"--graph", graph}), graph, "graph.html");
  write_file(folder / "gpu.json", "{}");
  expect_kept(words({"plan", step}, {"--gpu", folder / "gpu.json"}), folder / "gpu.json",
              "gpu.json");
  // Another page is replaced.
  EXPECT_EQ(run_lockstep(words({"plan", step}, {"-o", graph})).exit_code, 0);
  EXPECT_EQ(run_lockstep(words({"inspect", step}, {"-o", graph})).exit_code, 0);
}

TEST_F(WrittenFiles, OfBuildAreNoneOfItsInputs) {
  train_two_steps();
  const std::string network = folder / "net.onnx", data = folder / "weights.onnx.data";
  write_file(folder / "base.yaml", kTrainingConfig);
  write_file(folder / "top.yaml", "_BASE_: base.yaml\nMODEL: {ONNX: " + network + "}\n");
  auto model = load_model(all_ops(), run + "/model.onnx").model;
  const std::string step = folder / "weights.onnx";
  ASSERT_EQ(run_lockstep({"build", "mlp", "-o", step}).exit_code, 0);
  ASSERT_TRUE(fs::exists(data));
  save_model(model, network);
  for (const char* file : {"base.yaml", "top.yaml", "net.onnx"})
    expect_kept({"build", folder / "top.yaml"}, folder / file, file);
  expect_kept({"build", network, "--loss", "x"}, network, "net.onnx");
  write_file(folder / "buckets.txt", "bucket fc1_w\n");
  expect_kept({"build", "mlp", "BUCKETS", folder / "buckets.txt"}, folder / "buckets.txt",
              "buckets.txt");
  expect_kept({"build", step}, step, "weights.onnx");
  expect_kept({"build", step}, data, "weights.onnx.data");
  fs::rename(step, folder / "renamed.onnx");
  expect_kept({"build", folder / "renamed.onnx"}, step, "weights.onnx.data");
  EXPECT_EQ(run_lockstep({"build", folder / "renamed.onnx", "-o", folder / "b.onnx"}).exit_code, 0);
  // The command refuses before it writes the data.
  fs::remove_all(folder / "b.onnx");
  fs::remove(folder / "b.onnx.data");
  make_folder(folder / "b.onnx");
  expect_refused(run_lockstep({"build", folder / "renamed.onnx", "-o", folder / "b.onnx"}),
                 {"b.onnx': it is a folder"});
  model = load_model(all_ops(), folder / "renamed.onnx").model;
  EXPECT_THROW(save_model(model, folder / "b.onnx"), Error);
  EXPECT_FALSE(fs::exists(folder / "b.onnx.data"));
}

// A model and its data are replaced together, or not at all.
TEST_F(WrittenFiles, OfBuildStayTogetherWhenItFails) {
  ASSERT_EQ(run_lockstep({"build", "lenet", "-o", folder / "m.onnx"}).exit_code, 0);
  write_file(folder / "deep.data", "precious");
  for (const char* link : {"deep", "bare"}) fs::create_symlink("nodir/a", folder / link);
  fs::create_symlink("own.data", folder / "own");
  fs::create_symlink(folder / "full.data", folder / "full");
  const auto before = files_in(folder.path());
  ASSERT_TRUE(before.contains("m.onnx.data"));
  const auto expect_untouched = [&](const char* output, const std::vector<std::string>& said) {
    SCOPED_TRACE(said[0]);
    expect_refused(run_lockstep({"build", "mlp", "-o", folder / output}), said);
    EXPECT_EQ(files_in(folder.path()), before);
  };
  for (const std::string name : {"m.onnx.tmp", "m.onnx.data.tmp"}) {
    make_folder(folder / name);
    expect_untouched("m.onnx", {name + "': it is a folder"});
    fs::remove(folder / name);
    fs::create_symlink("m.onnx", folder / name);
    expect_refused(run_lockstep({"build", "mlp", "-o", folder / "m.onnx"}),
                   {name + "': it is a link"});
    EXPECT_TRUE(fs::is_symlink(folder / name));
    fs::remove(folder / name);
    EXPECT_EQ(files_in(folder.path()), before);
    ASSERT_EQ(mkfifo((folder / name).c_str(), 0600), 0);
    expect_untouched("m.onnx", {name + "': it is a pipe"});
    fs::remove(folder / name);
  }
  for (const char* output : {"deep", "bare"}) expect_untouched(output, {"nodir/a.tmp'"});
  // A link redirects the output to the file of its own data.
  for (const std::string output : {"own", "full"})
    expect_untouched(output.c_str(), {output + "': it leads to '", output + ".data'"});
}

// The classes of pictures replace only classes of an earlier call.
TEST_F(WrittenFiles, OfInferReplaceItsOwnOnly) {
  train_two_steps();
  const Outcome drawn = run_lockstep({"scenes", "--images", "2", "--out", folder / "drawn"});
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  const auto infer = [&](const std::string& out) {
    return run_lockstep({"infer", run, folder / "drawn/images", "--out", folder / out});
  };
  make_folder(folder / "mine");
  const std::string own = folder / "mine/predictions.json";
  write_file(own, "my own");
  expect_refused(infer("mine"), {"--out: '", "mine/predictions.json' would be overwritten",
                                 "choose an empty folder"});
  EXPECT_EQ(read_file(own), "my own");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(infer("seen").exit_code, 0);
  // An edited result belongs to the user.
  const std::string path = folder / "seen/predictions.json", said = read_file(path);
  write_file(path, said + " ");
  expect_refused(infer("seen"), {"seen/predictions.json' would be overwritten"});
  EXPECT_EQ(read_file(path), said + " ");
  write_file(path, said);
  EXPECT_EQ(infer("seen").exit_code, 0);
  // A truncated line does not invalidate other lines.
  const std::string list = folder / "seen/.lockstep_written";
  write_file(list, read_file(list) + "\n12ab");
  EXPECT_EQ(infer("seen").exit_code, 0);
  fs::remove(list);
  expect_refused(infer("seen"), {"seen/predictions.json' would be overwritten"});
  fs::remove(path);
  EXPECT_EQ(infer("seen").exit_code, 0);
  EXPECT_EQ(read_file(path), said);
}

TEST_F(WrittenFiles, OfTestReplaceItsOwnOnly) {
  train_two_steps();
  const auto test = [&](const std::string& out, const std::string& weights) {
    return run_lockstep({"test", config(), "OUTPUT_DIR", run, "--weights", run + "/" + weights,
                         "--out", folder / out});
  };
  const auto before = files_in(run);
  make_folder(folder / "linked");
  for (const auto& [file, bytes] : before) {
    fs::create_symlink("../run/" + file, folder / "linked/scores.json");
    expect_refused(test("linked", "checkpoint.safetensors"),
                   {"--out: '", "linked/scores.json' would be overwritten, but is not a file",
                    "choose an empty folder"});
    fs::remove(folder / "linked/scores.json");
  }
  EXPECT_EQ(files_in(run), before);
  EXPECT_TRUE(fs::is_empty(folder / "linked"));
  const std::string path = folder / "scores/scores.json";
  for (const char* weights : {"best.safetensors", "checkpoint.safetensors"}) {
    ASSERT_EQ(test("scores", weights).exit_code, 0);
    EXPECT_NE(read_file(path).find(weights), std::string::npos);
  }
  const std::string edited = read_file(path) + " ";
  write_file(path, edited);
  expect_refused(test("scores", "best.safetensors"), {"scores.json' would be overwritten"});
  EXPECT_EQ(read_file(path), edited);
}

}  // namespace
}  // namespace lockstep::testing
