// SPDX-License-Identifier: Apache-2.0
// The exporter's kinds of initializers. The metadata is younger than libonnx, so these tests write
// its bytes.
#include "graph/initializer_kinds.h"

#include "tests/graph/hostile_model.h"

namespace lockstep::testing {
namespace {

constexpr const char* kKind = "pkg.torch.export.graph_signature.InputSpec.kind";

std::string entry(const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  return entry.SerializeAsString();
}

// A field of bytes: tag, length and content.
std::string field(int number, const std::string& bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  for (std::size_t left = bytes.size();; left >>= 7) {
    text += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    if (left <= 0x7f) return text + bytes;
  }
}

class InitializerKinds : public HostileModel {
 protected:
  // The initializer `name`, and its value in value_info with more bytes at the end.
  void described(const std::string& name, const std::string& more) {
    initializer(name, std::string(16, '\0'));
    describe(*graph().add_value_info(), name, more);
  }
  static void describe(onnx::ValueInfoProto& value, const std::string& name,
                       const std::string& more) {
    value.set_name(name);
    to_proto(TensorType{DType::int64, {2}}, *value.mutable_type());
    ASSERT_TRUE(value.ParseFromString(value.SerializeAsString() + more));
  }
};

TEST_F(InitializerKinds, AreReadFromValueInfo) {
  described("weight", field(4, entry(kKind, "PARAMETER")));
  described("mean", field(4, entry("other", "x")) + field(4, entry(kKind, "BUFFER")));
  described("number", field(4, entry(kKind, "CONSTANT_TENSOR")) + field(4, entry("other", "x")));
  described("plain", "");
  const std::map<std::string, InitializerKind> expected{{"weight", InitializerKind::parameter},
                                                        {"mean", InitializerKind::buffer},
                                                        {"number", InitializerKind::constant}};
  EXPECT_EQ(load().kinds, expected);
}

TEST_F(InitializerKinds, AreReadFromInputsWithAnInitializer) {
  initializer("weight", std::string(16, '\0'));
  describe(*graph().add_input(), "weight", field(4, entry(kKind, "PARAMETER")));
  describe(*graph().add_value_info(), "nothing", field(4, entry(kKind, "BUFFER")));
  const std::map<std::string, InitializerKind> expected{{"weight", InitializerKind::parameter}};
  EXPECT_EQ(load().kinds, expected);
}

TEST_F(InitializerKinds, UnreadableMetadataIsNoKind) {
  const std::string good = entry(kKind, "BUFFER");
  int count = 0;
  for (const std::string& more :
       {field(4, entry(kKind, "buffer")), field(4, entry(kKind, "")), field(4, entry("", "BUFFER")),
        field(4, good.substr(0, good.size() - 2)), field(4, ""),
        field(4, std::string(1000, '\xff')), field(5, good),
        field(4, entry(kKind, std::string(1 << 16, 'B'))),
        std::string("\x20\x05"),              // field 4 as a number
        std::string("\x25\x01\x02\x03\x04"),  // as 4 bytes
        std::string("\x23\x20\x05\x24"),      // as a group
        field(4, entry(std::string(kKind) + '\0', "BUFFER")),
        field(4, entry(kKind, std::string("BUFFER\0", 7)))})
    described("s" + std::to_string(count++), more);
  EXPECT_TRUE(load().kinds.empty());
}

// A network that Lockstep writes has the kinds in its own metadata.
TEST_F(InitializerKinds, SurviveInANetworkThatLockstepWrites) {
  described("weight", field(4, entry(kKind, "PARAMETER")));
  described("mean", field(4, entry(kKind, "BUFFER")));
  described("a\nb", field(4, entry(kKind, "BUFFER")));
  LoadedModel first = load();
  EXPECT_EQ(first.kinds.size(), 3u);
  write_kinds(first.kinds, first.model.metadata);
  EXPECT_EQ(first.model.metadata.at("initializers.buffer"), "mean");
  first.kinds = {{"mean", InitializerKind::parameter}};
  read_kinds(first.model.metadata, {"mean", "weight"}, first.kinds);
  const std::map<std::string, InitializerKind> expected{{"weight", InitializerKind::parameter},
                                                        {"mean", InitializerKind::parameter}};
  EXPECT_EQ(first.kinds, expected);
}

// Every damaged byte of a file with metadata gives a model or an error.
TEST_F(InitializerKinds, DamagedBytesAreAnErrorOrAModel) {
  described("weight", field(4, entry(kKind, "PARAMETER")));
  const std::string good = proto_.SerializeAsString();
  const std::size_t first = good.find("weight");
  int loaded = 0;
  for (std::size_t i = first; i < good.size(); ++i)
    for (const int flip : {0x01, 0x08, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      write_file(folder_ / "bad.onnx", bad);
      try {
        loaded += load_model(all_ops(), folder_ / "bad.onnx").kinds.size() <= 1 ? 1 : 0;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("bad.onnx"), std::string::npos) << error.what();
      }
    }
  EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace lockstep::testing
