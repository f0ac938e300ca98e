// SPDX-License-Identifier: Apache-2.0
// A detector's configuration: its values and derived settings.
#include "app/classification/config.h"
#include "app/config/literal.h"
#include "app/config/read.h"
#include "app/detection/config/types.h"
#include "app/task_kind.h"
#include "operators/collective/collective.h"
#include "tests/detection/detector_config_fixture.h"

namespace lockstep::testing {
namespace {

TEST_F(DetectorConfigTest, ReadsPythonsLiterals) {
  const auto scales = [&](const std::string& text) {
    return read("TRAIN.SCALES: " + text + "\n").network.train.scales;
  };
  using List = std::vector<int64_t>;
  for (const char* text :
       {"(800,)", "[800]", "'(800,)'", "(800, )", "[800,]", "!!python/tuple [800]"})
    EXPECT_EQ(scales(text), List{800}) << text;
  EXPECT_EQ(scales("(640, 672,\n  704)"), (List{640, 672, 704}));
  const auto sets = [&](const std::string& text) {
    return read("TRAIN.DATASETS: " + text + "\n").train.data.datasets;
  };
  for (const char* text : {"('a', 'b')", "['a', 'b']", "[a, b]", "(\"a\",u'b',)"})
    EXPECT_EQ(sets(text), (Words{"a", "b"})) << text;
  EXPECT_EQ(sets("()"), Words{});
  EXPECT_EQ(sets("('it\\'s',)"), Words{"it's"});
  const DetectorConfig numbers = read(
      "SOLVER: {BASE_LR: 1, WEIGHT_DECAY: 1e-4, GAMMA: '1e-1'}\nMODEL.MASK_ON: False\n"
      "RPN.ASPECT_RATIOS: (0.5, 1, 2)\nTRAIN.WEIGHTS: None\nFPN.DIM: '128'\n");
  EXPECT_EQ(numbers.schedule.base_lr, 1);
  EXPECT_EQ(numbers.schedule.gamma, 0.1);
  EXPECT_EQ(numbers.step.options.rules.weight_decay, 1e-4F);
  EXPECT_EQ(numbers.network.rpn.aspect_ratios, (std::vector<double>{0.5, 1, 2}));
  EXPECT_EQ(numbers.train.data.weights, "");
  EXPECT_EQ(numbers.network.fpn.dim, 128);
  EXPECT_EQ(
      read("", {"TRAIN.SCALES", "(700, 800)", "TEST.DATASETS", "('a',)"}).network.train.scales,
      (List{700, 800}));
}

TEST_F(DetectorConfigTest, RefusesWrongValuesByBothTypes) {
  refused("TRAIN.MAX_SIZE: 1333.5\n", "x.yaml:5: TRAIN.MAX_SIZE should be an integer",
          "'1333.5', a number");
  refused("TRAIN.MAX_SIZE: large\n", "should be an integer", "'large', a string");
  refused("TRAIN.MAX_SIZE: (1333,)\n", "should be an integer", "'(1333,)', a string");
  refused("TRAIN.MAX_SIZE: [1333]\n", "should be an integer", "a list of an integer");
  refused("SOLVER.BASE_LR: True\n", "x.yaml:5: SOLVER.BASE_LR should be a number",
          "'True', true or false");
  refused("SOLVER.BASE_LR: None\n", "should be a number", "'None', nothing");
  refused("MODEL.MASK_ON: 2\n", "should be true or false", "'2', an integer");
  refused("TRAIN.SCALES: 800\n", "should be a list of integers", "'800', an integer");
  refused("TRAIN.SCALES: (800)\n", "x.yaml:5: TRAIN.SCALES", "needs a comma: (800,)");
  refused("TRAIN.SCALES: (800, 'a')\n", "should be a list of integers", "a is a string");
  refused("TRAIN.SCALES: (800, 900.5)\n", "should be a list of integers",
          "a list of an integer and a number");
  refused("TRAIN.SCALES: [800, a]\n", "a list of an integer and a string");
  refused("TRAIN.DATASETS: ('a', 5)\n", "should be a list of strings; 5 has no quotes");
  refused("TRAIN.DATASETS: ('a' 'b')\n", "a comma is missing before ''b')'");
  refused("TRAIN.DATASETS: ('a'\n", "the list has no end");
  refused("TRAIN.DATASETS: ('a',) b\n", "'b' follows the end of the list");
  refused("TRAIN.SCALES: ((1, 2), 3)\n", "a list cannot contain a list");
  refused("TRAIN.SCALES: (,)\n", "a value is missing before ',)'");
  for (const char* number : {".nan", ".inf", "[0.1]"})
    refused(std::string("SOLVER.BASE_LR: ") + number + "\n", "x.yaml:5: SOLVER.BASE_LR");
  refused("SOLVER.LRS: (.nan, 1)\n", "x.yaml:5: SOLVER.LRS", "should be finite");
  refused("TRAIN.FG_FRACTION: 2\n", "should be at most 1");
  refused("MRCNN.ROI_XFORM_METHOD: RoIPool\n",
          "x.yaml:5: MRCNN.ROI_XFORM_METHOD: 'RoIPool' is not one of RoIPoolF, RoIAlign; did you "
          "mean RoIPoolF?");
}

TEST_F(DetectorConfigTest, AnErrorIsAboutTheKeysThatDoNotFit) {
  const auto expect_keys = [&](const std::string& more, const Words& words, const Words& keys) {
    SCOPED_TRACE(more + (words.empty() ? "" : words[0]));
    const std::string place = words.empty() ? folder / "x.yaml" + ":5" : "command line";
    try {
      read(more, words);
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.subject().keys, keys) << error.what();
      EXPECT_EQ(error.subject().place, place);
      EXPECT_EQ(std::string(error.what()).rfind(place + ": ", 0), 0U) << error.what();
    }
  };
  const Words levels{"FPN.COARSEST_STRIDE", "FPN.RPN_MAX_LEVEL", "FPN.ROI_MAX_LEVEL", "FPN.FPN_ON"};
  expect_keys("FPN.COARSEST_STRIDE: 33\n", {}, levels);
  expect_keys("", {"FPN.COARSEST_STRIDE", "33"}, levels);
  expect_keys("PIXEL_MEANS: [1]\n", {}, {"PIXEL_MEANS"});
  expect_keys("RPN.ASPECT_RATIOS: []\n", {}, {"RPN.ASPECT_RATIOS"});
  expect_keys("SOLVER.LR_POLICY: foo\n", {}, {"SOLVER.LR_POLICY"});
  expect_keys("TRAIN.WHOLE_LOSS: True\n", {}, {"TRAIN.WHOLE_LOSS", "TRAIN.IMS_PER_BATCH"});
  expect_keys("", {"SOLVER.TYPE", "Adan"}, {"SOLVER.TYPE"});
  expect_keys("RING_ORDER: [0, 0]\n", {}, {"RING_ORDER"});
}

TEST_F(DetectorConfigTest, JitterFitsTheNetwork) {
  const LargeJitter jitter =
      read("TRAIN.JITTER: {SIZE: 512x640, RATIOS: [0.5, 1.5]}\n").train.jitter;
  EXPECT_EQ(jitter.height, 512);
  EXPECT_EQ(jitter.width, 640);
  EXPECT_EQ(jitter.ratios, (std::vector<double>{0.5, 1.5}));
  EXPECT_FALSE(read().train.jitter.on());
  const auto said = [&](const std::string& yaml) {
    return notes(read(yaml), DetectorNoteKind::unused);
  };
  EXPECT_EQ(said("TRAIN.JITTER.RATIOS: [0.5, 1.5]\n"),
            Words{folder / "x.yaml" + ":5: TRAIN.JITTER.RATIOS has no effect here: "
                                      "TRAIN.JITTER.SIZE is empty, so there is no jitter"});
  EXPECT_EQ(said("TRAIN: {JITTER: {SIZE: 512x640}, SCALES: [512]}\n").size(), 1U);
  EXPECT_TRUE(said("TRAIN.JITTER: {SIZE: 512x640, RATIOS: [0.5, 1.5]}\n").empty());
  EXPECT_TRUE(read("TRAIN.JITTER.SIZE: 512x640\nIMAGE: 512x640\n").train.jitter.on());
  refused("TRAIN.JITTER.SIZE: 512x650\n",
          "x.yaml:5: TRAIN.JITTER.SIZE 512x650: height and width should be multiples of 32");
  refused("TRAIN.JITTER.SIZE: 512\n", "x.yaml:5", "'512' should be HEIGHTxWIDTH: 800x1344");
  refused("TRAIN.JITTER: {SIZE: 512x640, RATIOS: [2, 0.1]}\n",
          "x.yaml:5: TRAIN.JITTER.RATIOS should be two numbers, the smaller first");
  refused("TRAIN.JITTER: {SIZE: 512x640, RATIOS: [0, 1]}\n", "x.yaml:5: TRAIN.JITTER.RATIOS");
  refused("TRAIN.JITTER.SIZE: 512x640\nIMAGE: 800x1344\n",
          "does not fit: IMAGE is 800x1344, TRAIN.JITTER.SIZE 512x640");
}

TEST_F(DetectorConfigTest, RefusesTagsThatWouldRunCode) {
  refused("OUTPUT_DIR: !!python/object/apply:os.system ['ls']\n", "x.yaml:5",
          "python/object/apply:os.system would run code");
  refused("TRAIN.SCALES: [!!python/object/apply:os.getpid []]\n", "x.yaml:5", "would run code");
  refused("TEST: !!python/object:a.B {SCALE: 800}\n", "x.yaml:5",
          "python/object:a.B would run code");
  refused("RNG_SEED: !secret 5\n", "the tag !secret is not known");
  EXPECT_EQ(read("RNG_SEED: !!int 5\n").seed, 5);
}

TEST_F(DetectorConfigTest, NamesUnknownRenamedAndDeprecatedKeys) {
  refused("TRAIN: {MAX_SIZES: 5}\n",
          "x.yaml:5: unknown key TRAIN.MAX_SIZES; did you mean TRAIN.MAX_SIZE?");
  refused("TRAIN.DATASET: a\n", "x.yaml:5: TRAIN.DATASET is called TRAIN.DATASETS now", "('a',)");
  refused("TEST.SCALES: (600,)\n", "is called TEST.SCALE now", "(600,) is 600");
  for (const char* key : {"MODEL.PS_GRID_SIZE", "MODEL.ROI_HEAD", "MRCNN.MASK_HEAD_NAME",
                          "TRAIN.PROPOSAL_FILE", "TEST.DATASET", "TEST.PROPOSAL_FILE"}) {
    refused(std::string(key) + ": 1\n", std::string("x.yaml:5: ") + key + " is called ");
    expect_error([&] { read("", {key, "1"}); }, std::string("command line: ") + key);
  }
  const DetectorConfig old = read(
      "FINAL_MSG: 'bye'\nMODEL.DILATION: 2\nROOT_GPU_ID: 0\nRPN.ON: True\nUSE_GPU_NMS: True\n"
      "TRAIN: {DROPOUT: 0.5, BBOX_NORMALIZE_TARGETS_PRECOMPUTED: [1]}\nTEST.NUM_TEST_IMAGES: 5\n");
  EXPECT_EQ(notes(old, DetectorNoteKind::old_key).size(), 8U);
  EXPECT_NE(notes(old, DetectorNoteKind::old_key)[0].find("x.yaml:5: FINAL_MSG is obsolete"),
            std::string::npos);
}

TEST_F(DetectorConfigTest, UseNcclChoosesTheAllReduceThatNobodyNamed) {
  const auto all_reduce = [](const DetectorConfig& config) {
    return text_of(config.step.options.all_reduce.spec);
  };
  EXPECT_EQ(all_reduce(read()), "collective");
  for (const char* devices : {"cpu*2", "gpu*2"}) {
    const Words on{"DEVICES", devices};
    const DetectorConfig muji = read("USE_NCCL: False\n", on);
    EXPECT_EQ(all_reduce(muji), "muji");
    EXPECT_TRUE(notes(muji, DetectorNoteKind::unused).empty());
    EXPECT_EQ(muji.origins.of("ALL_REDUCE"), "inferred from USE_NCCL");
  }
  EXPECT_EQ(all_reduce(read("USE_NCCL: True\n", {"DEVICES", "gpu*2"})), "nccl");
  EXPECT_EQ(all_reduce(read("", {"DEVICES", "gpu*2", "USE_NCCL", "True"})), "nccl");
  EXPECT_EQ(all_reduce(read("USE_NCCL: True\nDEVICES: gpu*2\n", {}, 2)), "nccl");

  const DetectorConfig on_cpus = read("USE_NCCL: True\n");
  EXPECT_EQ(all_reduce(on_cpus), "collective");
  EXPECT_EQ(notes(on_cpus, DetectorNoteKind::unused),
            Words{join(folder / "x.yaml",
                       ":5: USE_NCCL True has no effect on cpu*8, as NCCL needs "
                       "GPUs: ALL_REDUCE stays collective")});
  for (const char* value : {"True", "False"}) {
    const DetectorConfig named = read(join("ALL_REDUCE: xring\nUSE_NCCL: ", value, "\n"));
    EXPECT_EQ(all_reduce(named), "xring");
    EXPECT_EQ(notes(named, DetectorNoteKind::unused),
              Words{folder / "x.yaml" + ":6: USE_NCCL has no effect beside ALL_REDUCE xring"});
  }
}

TEST_F(DetectorConfigTest, NamesKeysWithoutAMeaningOnce) {
  const DetectorConfig config = read(
      "MEMONGER: False\nMATLAB: octave\nMODEL.EXECUTION_TYPE: simple\nTRAIN.AUTO_RESUME: False\n"
      "EXPECTED_RESULTS_EMAIL: me@example.org\n",
      {"MEMONGER", "True"});
  EXPECT_EQ(notes(config, DetectorNoteKind::unused).size(), 5U);
  EXPECT_TRUE(notes(read(), DetectorNoteKind::unused).empty());
  refused("MEMONGER: maybe\n", "MEMONGER should be true or false");
}

TEST_F(DetectorConfigTest, KnowsFunctionsByAnyOfTheirNames) {
  const auto body = [&](const std::string& name) {
    return read("", {"MODEL.CONV_BODY", name}).network.model.conv_body;
  };
  const std::string name = "FPN.add_fpn_ResNet101_conv5_body";
  for (const std::string prefix : {"", "FPN.", "modeling.FPN.", "detectron.modeling.FPN."})
    EXPECT_EQ(body(prefix + "add_fpn_ResNet101_conv5_body"), name);
  const DetectorConfig old = read("", {"FAST_RCNN.ROI_BOX_HEAD", "head_builder.add_roi_2mlp_head"});
  EXPECT_EQ(old.network.fast_rcnn.roi_box_head, "fast_rcnn_heads.add_roi_2mlp_head");
  EXPECT_EQ(notes(old, DetectorNoteKind::old_function).size(), 1U);
  EXPECT_EQ(
      read("RESNETS.TRANS_FUNC: ResNet.bottleneck_transformation\n").network.resnets.trans_func,
      "bottleneck_transformation");
  refused("RESNETS.TRANS_FUNC: bottleneck_transform\n",
          "x.yaml:5: RESNETS.TRANS_FUNC: no function is called 'bottleneck_transform'; did you "
          "mean bottleneck_transformation?");
  expect_error([&] { body("FPN.add_fpn_ResNet51_conv5_body"); },
               "command line: MODEL.CONV_BODY: no function is called",
               "did you mean FPN.add_fpn_ResNet50_conv5_body?");
  expect_error([&] { body("ResNet.add_fpn_ResNet50_conv5_body"); },
               "did you mean FPN.add_fpn_ResNet50_conv5_body?");
}

// A name of a whole network overrides the keys that it means, as in Detectron.
TEST_F(DetectorConfigTest, KnowsTheTypesOfWholeNetworks) {
  const Words one_map{"FPN.FPN_ON",         "False", "FPN.MULTILEVEL_ROIS",  "False",
                      "FPN.MULTILEVEL_RPN", "False", "TRAIN.PROPOSAL_FILES", "('a',)"};
  const auto of = [&](const std::string& type) {
    Words words = one_map;
    words.insert(words.end(), {"MODEL.TYPE", type});
    return read("", words);
  };
  const DetectorConfig faster = of("VGG16_faster_rcnn");
  const DetectionModelOptions& model = faster.network.model;
  EXPECT_EQ(model.type, "generalized_rcnn");
  EXPECT_EQ(model.conv_body, "VGG16.add_VGG16_conv5_body");
  EXPECT_EQ(faster.network.fast_rcnn.roi_box_head, "VGG16.add_VGG16_roi_fc_head");
  EXPECT_TRUE(model.faster_rcnn);
  EXPECT_TRUE(faster.network.rpn.rpn_on);
  EXPECT_EQ(faster.origins.of("MODEL.CONV_BODY"), "inferred from MODEL.TYPE");
  const auto said = notes(faster, DetectorNoteKind::old_type);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("VGG16_faster_rcnn is an old type; it is generalized_rcnn with "
                         "MODEL.CONV_BODY VGG16.add_VGG16_conv5_body, FAST_RCNN.ROI_BOX_HEAD "),
            said[0].npos)
      << said[0];
  const DetectorConfig frozen = of("ResNet101_rpn_conv4_frozen_features");
  EXPECT_EQ(frozen.network.model.conv_body, "ResNet.add_ResNet101_conv4_body");
  EXPECT_TRUE(frozen.network.model.rpn_only);
  EXPECT_TRUE(frozen.network.train.freeze_conv_body);
  const DetectorConfig fast = of("VGG_CNN_M_1024_fast_rcnn");
  EXPECT_EQ(fast.network.model.conv_body, "VGG_CNN_M_1024.add_VGG_CNN_M_1024_conv5_body");
  EXPECT_FALSE(fast.network.train.freeze_conv_body);
  const DetectorConfig positions = of("ResNet50_rfcn");
  EXPECT_EQ(positions.network.model.type, "rfcn");
  EXPECT_EQ(positions.network.model.conv_body, "ResNet.add_ResNet50_conv5_body");
  EXPECT_EQ(positions.network.rfcn.reduced_channels, 1024);
}

TEST_F(DetectorConfigTest, KnowsTypesByTheirOldNames) {
  const DetectorConfig mask = read("", {"MODEL.TYPE", "mask_rcnn_frozen_features"});
  EXPECT_EQ(mask.network.model.type, "generalized_rcnn");
  EXPECT_TRUE(mask.network.train.freeze_conv_body);
  EXPECT_EQ(mask.origins.of("TRAIN.FREEZE_CONV_BODY"), "inferred from MODEL.TYPE");
  EXPECT_EQ(notes(mask, DetectorNoteKind::old_type).size(), 1U);
  const auto task = [](const ConfigFiles& files, const std::vector<std::string>& words) {
    return task_kind_of(files, words).name;
  };
  const ConfigFiles files = config_files(file("MODEL: {TYPE: mlp}\n"));
  EXPECT_EQ(task(files, {}), "classification");
  EXPECT_EQ(task(files, {"MODEL.TYPE", "rpn"}), "detection");
  EXPECT_EQ(task(config_files(file("")), {}), "classification");
  expect_error(
      [&] { task(config_files(file("MODEL:\n  TYPE: generalised_rcnn\n")), {}); },
      "x.yaml:2: MODEL.TYPE 'generalised_rcnn' is not known; did you mean generalized_rcnn?");
  // The reader of another task reports the task of the file's keys.
  const ConfigFiles detector = config_files(file(kFasterFpn));
  Origins origins;
  expect_error(
      [&] {
        explaining_unknown(detector, {}, [&] { return read_config(detector, {}, 1, origins); });
      },
      "x.yaml:1: unknown key MODEL.CONV_BODY", "MODEL.TYPE generalized_rcnn",
      "lockstep keys --task detection");
}

TEST_F(DetectorConfigTest, InfersWhatFollows) {
  const DetectorConfig config = read("TRAIN.RPN_POST_NMS_TOP_N: 1500\n");
  EXPECT_TRUE(config.network.rpn.rpn_on);
  EXPECT_EQ(config.origins.of("RPN.RPN_ON"), "inferred from MODEL.FASTER_RCNN");
  EXPECT_FALSE(config.test.precomputed_proposals);
  EXPECT_EQ(config.network.shape.proposals, 1500);
  EXPECT_EQ(config.replicas(), 8);
  EXPECT_EQ(config.snapshot_iters, 10000);
  EXPECT_EQ(config.network.shape.true_boxes, 128);
  EXPECT_EQ(config.network.shape.vertices, 8192);
  const DetectorConfig sized =
      read("IMAGE: 800x1344\nTRAIN: {TRUE_BOXES: 20, VERTICES: 99, PROPOSALS: 30}\n");
  EXPECT_EQ(sized.network.shape.vertices, 99);
  EXPECT_EQ(sized.network.shape.height, 800);
  EXPECT_EQ(sized.network.shape.width, 1344);
  EXPECT_EQ(sized.network.shape.true_boxes, 20);
  EXPECT_EQ(sized.network.shape.proposals, 30);
  refused("TRAIN.VERTICES: 0\n", "x.yaml:5: TRAIN.VERTICES is '0', should be at least 1");
  refused("TRAIN.VERTICES: 1e9\n", "x.yaml:5: TRAIN.VERTICES");
  EXPECT_EQ(read("", {"--image", "64x96"}).network.shape.width, 96);
  for (const char* image : {"800", "x", "800x", "0x5", "8x99999999999", "-8x8", "70000x8"})
    refused(std::string("IMAGE: ") + image + "\n", "x.yaml:5: IMAGE");
  const Words basic{"RESNETS.TRANS_FUNC", "basic_transformation"};
  EXPECT_EQ(read("", basic).network.resnets.res2_out_channels, 64);
  EXPECT_EQ(read("RESNETS.RES2_OUT_CHANNELS: 32\n", basic).network.resnets.res2_out_channels, 32);
  EXPECT_EQ(read().network.resnets.res2_out_channels, 256);
  const DetectorConfig of_two = read("", {}, 2);
  EXPECT_EQ(of_two.replicas(), 4);
  expect_error([&] { read("", {}, 3); }, "x.yaml:2: NUM_GPUS 8", "3 processes");
}

TEST_F(DetectorConfigTest, RatesFollowTheImagesOfAStep) {
  const std::string solver =
      "SOLVER: {BASE_LR: 0.02, LR_POLICY: steps_with_decay, STEPS: [0, 60000, 80000], MAX_ITER: "
      "90000, WARM_UP_ITERS: 500}\n";
  EXPECT_TRUE(read(solver).misfit.empty());
  const DetectorConfig as_said = read(solver, {"--devices", "cpu*2"});
  EXPECT_NE(as_said.misfit.find("a step has 4 images, 2 replicas x TRAIN.IMS_PER_BATCH 2, instead "
                                "of the file's 16"),
            std::string::npos)
      << as_said.misfit;
  EXPECT_EQ(notes(as_said, DetectorNoteKind::batch).size(), 1U);
  EXPECT_EQ(as_said.schedule.base_lr, 0.02);
  EXPECT_EQ(as_said.snapshot_iters, 40000);
  EXPECT_FALSE(read(solver, {"NUM_GPUS", "2"}).misfit.empty());
  EXPECT_FALSE(read(solver, {"TRAIN.IMS_PER_BATCH", "1"}).misfit.empty());
  EXPECT_TRUE(read(solver, {"--devices", "cpu*2", "SOLVER.BASE_LR", "0.005"}).misfit.empty());
  EXPECT_TRUE(read(solver, {"--devices", "cpu*4", "TRAIN.IMS_PER_BATCH", "4"}).misfit.empty());
  const DetectorConfig scaled =
      read(solver, {"--devices", "cpu*2", "SOLVER.SCALE_TO_BATCH", "true"});
  EXPECT_TRUE(scaled.misfit.empty());
  EXPECT_DOUBLE_EQ(scaled.schedule.base_lr, 0.005);
  EXPECT_EQ(scaled.schedule.max_iter, 360000);
  EXPECT_EQ(scaled.schedule.steps, (std::vector<int64_t>{0, 240000, 320000}));
  EXPECT_EQ(scaled.schedule.warm_up_iters, 2000);
  const std::string note = notes(scaled, DetectorNoteKind::batch).at(0);
  for (const char* part : {"BASE_LR 0.02 -> 0.005", "MAX_ITER 90000 -> 360000",
                           "STEPS 60000 -> 240000", "WARM_UP_ITERS 500 -> 2000"})
    EXPECT_NE(note.find(part), std::string::npos) << note;
  EXPECT_NE(scaled.origins.of("SOLVER.MAX_ITER").find("x.yaml:5, scaled by"), std::string::npos);
  expect_error(
      [&] {
        read("SOLVER.MAX_ITER: 9000000000000000000\n",
             {"--devices", "cpu", "SOLVER.SCALE_TO_BATCH", "true"});
      },
      "SOLVER.MAX_ITER", "too large");
  expect_error(
      [&] {
        task_of({config_files(file(kFasterFpn)), {"DEVICES", "cpu"}});
      },
      "instead of the file's 16", "SOLVER.SCALE_TO_BATCH true");
}

TEST_F(DetectorConfigTest, IncludesABase) {
  const std::string base = file(std::string(kFasterFpn) + "SOLVER.MAX_ITER: 50\n", "base.yaml");
  make_folder(folder / "more");
  const std::string path = file("_BASE_: ../base.yaml\nSOLVER:\n  MAX_ITER: 60\n", "more/y.yaml");
  DetectorConfig config = read_detector_config(config_files(path), {"FPN.DIM", "128"});
  EXPECT_EQ(config.schedule.max_iter, 60);
  const std::string text = yaml_with_origins(keys_of(config), config.origins);
  const auto has = [&](const std::string& value, const std::string& place) {
    const auto at = text.find("\n  " + value + " ");
    ASSERT_NE(at, std::string::npos) << value;
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    EXPECT_EQ(line.substr(line.find('#')), "# " + place);
  };
  has("MAX_ITER: 60", path + ":3");
  has("FPN_ON: true", "base " + (folder / "more/../base.yaml") + ":3");
  has("DIM: 128", "command line");
  has("ROI_MAX_LEVEL: 5", "default");
  has("RPN_ON: true", "inferred from MODEL.FASTER_RCNN");
  // The printed configuration reads back as the same configuration.
  DetectorConfig again = read_detector_config(config_files(file(text, "again.yaml")), {});
  EXPECT_EQ(entries_of(keys_of(again)), entries_of(keys_of(config)));

  file("_BASE_: b.yaml\n", "a.yaml");
  file("OUTPUT_DIR: x\n_BASE_: a.yaml\n", "b.yaml");
  expect_error([&] { config_files(folder / "a.yaml"); },
               "b.yaml:2: _BASE_ includes files in a circle: ", "a.yaml -> ", "b.yaml -> ");
  expect_error([&] { config_files(file("_BASE_: x.yaml\n")); },
               "x.yaml:1: _BASE_ includes files in a circle");
  expect_error([&] { config_files(file("_BASE_: none.yaml\n")); },
               "x.yaml:1: _BASE_: ", "none.yaml");
  // An error in a base names the base. A classification may have bases, too.
  file("FPN: {DIMS: 5}\nMODEL: {TYPE: rpn}\n", "bad.yaml");
  expect_error([&] { read_detector_config(config_files(file("_BASE_: bad.yaml\n")), {}); },
               "bad.yaml:1: unknown key FPN.DIMS; did you mean FPN.DIM?");
  file("MODEL: {TYPE: mlp}\nTRAIN: {BATCH_SIZE: 8}\n", "mlp.yaml");
  EXPECT_EQ(read_config(file("_BASE_: mlp.yaml\n"), {}).batch_size, 8);
}

}  // namespace
}  // namespace lockstep::testing
