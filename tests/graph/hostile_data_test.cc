// SPDX-License-Identifier: Apache-2.0
// External data files of a malicious model.
#include <filesystem>

#include "lockstep/operators.h"
#include "tests/graph/hostile_model.h"

namespace lockstep::testing {
namespace {

namespace fs = std::filesystem;
using HostileData = HostileModel;

TEST_F(HostileData, DataOutsideTheFileIsKeptInConversion) {
  opset(9);
  node("Softmax");
  graph().mutable_node(0)->set_input(0, "z");
  auto* reshape = graph().add_node();
  reshape->set_op_type("Reshape");
  reshape->add_input("x");
  reshape->add_input("s");
  reshape->add_output("z");
  external(initializer("s"), "data", "8");
  write_file(folder_ / "data", std::string("12345678") + char(2) + std::string(7, '\0') + char(16) +
                                   std::string(7, '\0'));
  const LoadedModel loaded = load();
  EXPECT_EQ(loaded.model.inference.literal(loaded.model.inference.at("s"))->integers(),
            (std::vector<int64_t>{2, 16}));
}

TEST_F(HostileData, OffsetsAndLengthsAreNumbersWithinTheFile) {
  write_file(folder_ / "data", std::string(20, 'x'));
  auto& tensor = initializer("s");
  external(tensor, "data", "4");
  EXPECT_EQ(load().model.inference.node_count(), 1);
  for (auto [offset, length] : {std::pair{"-4", "16"},
                                {"4x", "16"},
                                {"", "16"},
                                {"4", "0x10"},
                                {"99999999999999999999", "16"},
                                {"4", "-1"}}) {
    external(tensor, "data", offset, length);
    refused("s: external data has the", "which is not a number of bytes");
  }
  for (auto [offset, length] :
       {std::pair{"5", "16"}, {"9223372036854775807", "16"}, {"4", "9223372036854775807"}}) {
    external(tensor, "data", offset, length);
    refused("s: external data is ", "which has 20 bytes");
  }
  external(tensor, "data", "4", "8");
  refused("s: has 8 bytes of data for int64[2]");
  external(tensor, "data");
  *tensor.add_external_data() = tensor.external_data(0);
  refused("s: external data has the location twice");
}

TEST_F(HostileData, LinksLeadNowhereElse) {
  const std::string sixteen(16, 'x');
  fs::create_directories(folder_ / "blobs");
  fs::create_directories(folder_ / "snapshots/one");
  fs::create_directories(folder_ / "elsewhere");
  write_file(folder_ / "elsewhere/secret", sixteen);
  write_file(folder_ / "blobs/weights", sixteen);
  external(initializer("s"), "data");
  write_file(folder_ / "blobs/model", proto_.SerializeAsString());
  // The layout of a cache: names are links to contents in a single folder.
  fs::create_symlink("../../blobs/model", folder_ / "snapshots/one/net.onnx");
  fs::create_symlink("../../blobs/weights", folder_ / "snapshots/one/data");
  const std::string cached = folder_ / "snapshots/one/net.onnx";
  EXPECT_EQ(load_model(all_ops(), cached).model.inference.node_count(), 1);
  fs::remove(folder_ / "snapshots/one/data");
  fs::create_symlink("../../elsewhere/secret", folder_ / "snapshots/one/data");
  expect_error([&] { load_model(all_ops(), cached); }, "s: external data location 'data' is a link",
               "is outside the model's folder");
  for (const char* location : {"../blobs/weights", "sub/../../x", "a/../data", "/etc/passwd", ""}) {
    external(*graph().mutable_initializer(0), location);
    refused("s: external data location '", location, "is outside the model's folder");
  }
  external(*graph().mutable_initializer(0), "blobs");
  refused("s: cannot read", "not a regular file");
}

}  // namespace
}  // namespace lockstep::testing
