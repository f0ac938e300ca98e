// SPDX-License-Identifier: Apache-2.0
// Loads Detectron's 87 files and compares the defaults of its 229 keys. Both tables are in this
// folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "app/config/read.h"
#include "app/detection/config/detector_config.h"
#include "graph/file.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

struct TableRow {
  std::string key, value, style;
};

std::vector<TableRow> rows_of_table(const std::string& name) {
  std::istringstream table(read_file(LOCKSTEP_SOURCE_DIR "/tests/detection/" + name));
  std::vector<TableRow> rows;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    TableRow& row = rows.emplace_back();
    std::getline(cells, row.key, '\t');
    std::getline(cells, row.value, '\t');
    std::getline(cells, row.style);
  }
  return rows;
}

// A file's rows as YAML with nested sections.
struct Section {
  std::map<std::string, std::string> values;
  std::map<std::string, Section> sections;

  std::string text(const std::string& indent = "") const {
    std::string lines;
    for (const auto& [name, value] : values) lines += indent + name + ": " + value + "\n";
    for (const auto& [name, section] : sections)
      lines += indent + name + ":\n" + section.text(indent + "  ");
    return lines;
  }
};

struct DetectronFile {
  std::string name;
  std::vector<TableRow> rows;

  std::string text() const {
    Section whole;
    for (const TableRow& row : rows) {
      Section* section = &whole;
      std::string name = row.key;
      for (std::size_t dot; (dot = name.find('.')) != name.npos; name = name.substr(dot + 1))
        section = &section->sections[name.substr(0, dot)];
      section->values[name] = row.style == "quoted" ? "'" + row.value + "'" : row.value;
    }
    return whole.text();
  }
};

std::vector<DetectronFile> detectron_files() {
  std::vector<DetectronFile> files;
  for (const TableRow& row : rows_of_table("detectron_configs.tsv"))
    if (row.key == "file")
      files.push_back({row.value, {}});
    else
      files.back().rows.push_back(row);
  return files;
}

// Reads values one after another; each value overwrites the last.
class OneByOne {
 public:
  // Returns the text of a key after reading its value from `text`.
  std::string read(const std::string& name, const std::string& text) {
    read_yaml(keys_, name + ": " + text + "\n", "one.yaml");
    return text_of(*find_key(keys_, name));
  }

 private:
  DetectorConfig config_;
  ConfigKeys keys_ = keys_of(config_);
};

TEST(detectron_configs, All87LoadWithNotesOnOldNames) {
  const TemporaryFolder folder;
  const std::vector<DetectronFile> files = detectron_files();
  ASSERT_EQ(files.size(), 87U);
  std::map<DetectorNoteKind, int> notes;
  int of_muji = 0;
  OneByOne one;
  for (const DetectronFile& file : files) {
    SCOPED_TRACE(file.name);
    write_file(folder / "file.yaml", file.text());
    DetectorConfig config = read_detector_config(config_files(folder / "file.yaml"), {});
    for (const DetectorNote& note : config.notes) ++notes[note.kind];
    ConfigKeys keys = keys_of(config);
    for (const TableRow& row : file.rows) {
      const ConfigKey* key = find_key(keys, row.key);
      ASSERT_NE(key, nullptr) << row.key;
      const std::string read = text_of(*key), written = one.read(row.key, row.value);
      const bool renamed = row.key == "FAST_RCNN.ROI_BOX_HEAD" || row.key == "MODEL.TYPE";
      EXPECT_TRUE(renamed || read == written) << row.key << ": " << read << ", not " << written;
    }
    EXPECT_EQ(config.replicas(), config.num_gpus);
    const bool says_nccl = config.origins.is_set("USE_NCCL");  // two files set the key to False
    EXPECT_EQ(text_of(config.step.options.all_reduce.spec), says_nccl ? "muji" : "collective");
    if (says_nccl) ++of_muji;
    EXPECT_TRUE(config.misfit.empty()) << config.misfit;
  }
  EXPECT_EQ(notes[DetectorNoteKind::old_function], 16);
  EXPECT_EQ(notes[DetectorNoteKind::old_type], 3);
  EXPECT_EQ(of_muji, 2);
  EXPECT_EQ(notes[DetectorNoteKind::unused], 5);  // AREA_TH_LO, AREA_TH_HI of two files, AREA_TH
  EXPECT_EQ(notes[DetectorNoteKind::old_key], 0);
  EXPECT_EQ(notes[DetectorNoteKind::batch], 0);
}

// Our files beside Detectron's of the same network: every key but the weights and the folder.
TEST(detectron_configs, OurFilesHaveTheValuesOfDetectrons) {
  const std::map<std::string, std::string> alike{
      {"faster_rcnn_R-50-FPN", "12_2017_baselines/e2e_faster_rcnn_R-50-FPN_1x.yaml"},
      {"mask_rcnn_R-50-FPN", "12_2017_baselines/e2e_mask_rcnn_R-50-FPN_1x.yaml"},
      {"keypoint_rcnn_R-50-FPN", "12_2017_baselines/e2e_keypoint_rcnn_R-50-FPN_1x.yaml"}};
  const TemporaryFolder folder;
  std::size_t compared = 0;
  for (const DetectronFile& file : detectron_files())
    for (const auto& [ours, theirs] : alike) {
      if (file.name != theirs) continue;
      SCOPED_TRACE(ours);
      write_file(folder / "file.yaml", file.text());
      DetectorConfig wanted = read_detector_config(config_files(folder / "file.yaml"), {});
      DetectorConfig read = read_detector_config(
          config_files(LOCKSTEP_SOURCE_DIR "/configs/detection/" + ours + ".yaml"), {});
      ConfigKeys keys = keys_of(read);
      for (const ConfigKey& key : keys_of(wanted)) {
        if (key.key == "TRAIN.WEIGHTS" || key.key == "OUTPUT_DIR") continue;
        EXPECT_EQ(text_of(*find_key(keys, key.key)), text_of(key)) << key.key;
      }
      ++compared;
    }
  EXPECT_EQ(compared, alike.size());
}

TEST(detectron_configs, All229DefaultsAreDetectrons) {
  const std::vector<TableRow> defaults = rows_of_table("detectron_defaults.tsv");
  ASSERT_EQ(defaults.size(), 229U);
  OneByOne one;
  DetectorConfig config;
  ConfigKeys keys = keys_of(config);
  for (const TableRow& row : defaults) {
    const ConfigKey* key = find_key(keys, row.key);
    ASSERT_NE(key, nullptr) << row.key;
    EXPECT_EQ(key->facts.detectron, row.key);
    EXPECT_EQ(text_of(*key), one.read(row.key, row.value)) << row.key;
  }
  const auto detectrons = std::count_if(keys.begin(), keys.end(), [](const ConfigKey& key) {
    return key.facts.detectron == key.key;
  });
  EXPECT_EQ(detectrons, 229);
}

}  // namespace
}  // namespace lockstep::testing
