// SPDX-License-Identifier: Apache-2.0
#include "app/task_kind.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "graph/file.h"
#include "lockstep/operators.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

TEST(TaskKinds, AnswerEveryCommand) {
  for (const TaskKind& kind : task_kinds()) {
    SCOPED_TRACE(kind.name);
    EXPECT_FALSE(kind.network.empty());
    EXPECT_FALSE(kind.types.empty());
    EXPECT_TRUE(kind.page.starts_with("# Keys ")) << kind.page;
    EXPECT_TRUE(kind.keys && kind.yaml && kind.entries && kind.task && kind.step && kind.scorer &&
                kind.infer && kind.describe);
    EXPECT_FALSE(kind.keys().keys.empty());
  }
}

// Names, types, marks and options differ between kinds.
TEST(TaskKinds, ShareNoNameTypeMarkOrOption) {
  std::set<std::string> names, types, marks, options;
  for (const TaskKind& kind : task_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_TRUE(marks.insert(kind.mark).second) << kind.mark;
    for (const std::string& type : kind.types) EXPECT_TRUE(types.insert(type).second) << type;
    for (const std::string& option : kind.infer_options)
      EXPECT_TRUE(options.insert(option).second) << option;
  }
}

TEST(TaskKinds, AreToldByEachOfTheirTypes) {
  TemporaryFolder folder;
  write_file(folder / "x.yaml", "MODEL: {TYPE: mlp}\n");
  const ConfigFiles files = config_files(folder / "x.yaml");
  for (const TaskKind& kind : task_kinds())
    for (const std::string& type : kind.types)
      EXPECT_EQ(&task_kind_of(files, {"MODEL.TYPE", type}), &kind) << type;
  expect_error(
      [&] {
        task_kind_of(files, {"MODEL.TYPE", "nothing_of_the_kind"});
      },
      "command line: MODEL.TYPE 'nothing_of_the_kind' is not known; known: lenet", "char_lstm");
  write_file(folder / "y.yaml", "\nMODEL: {TYPE: LeNet}\n");
  expect_error([&] { task_kind_of(config_files(folder / "y.yaml"), {}); }, "y.yaml:2: MODEL.TYPE",
               "did you mean lenet?");
  const std::map<std::string, std::string> right_by_misspelt{
      {"retinanett", "retinanet"}, {"char_lsmt", "char_lstm"}, {"actor_critics", "actor_critic"}};
  for (const auto& type : right_by_misspelt)
    expect_error(
        [&] {
          task_kind_of(files, {"MODEL.TYPE", type.first});
        },
        "command line", "is not known; did you mean " + type.second);
}

// A network's metadata and a run's configuration give the same kind.
TEST(TaskKinds, AreToldByTheirMark) {
  for (const TaskKind& kind : task_kinds()) {
    TrainingModel network(all_ops());
    if (!kind.mark.empty()) network.metadata[kind.mark] = "";
    EXPECT_EQ(&task_kind_of(network), &kind) << kind.name;
  }
}

}  // namespace
}  // namespace lockstep::testing
