// SPDX-License-Identifier: Apache-2.0
// Files of tensors: reading returns the written tensors, and an error names each defect of a file.
#include "runtime/state/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/file.h"
#include "runtime/state/checksum.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

// A file as other programs write it.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  const uint64_t length = header.size();
  std::string text(sizeof length, '\0');
  std::memcpy(text.data(), &length, sizeof length);
  return text + header + std::string(data_bytes, '\1');
}

template <class... Parts>
void refused(const std::string& header, std::size_t data_bytes, const Parts&... parts) {
  SCOPED_TRACE(header);
  expect_error([&] { parse_safetensors(file_of(header, data_bytes), "/bad"); }, "/bad: ", parts...);
}

std::string written(const std::string& path) {
  float numbers[] = {1, 2, 3};
  const Literal a = Literal::of<float>(numbers, {3}), b = Literal::vector({4, 5}),
                c(DType::float32, {0, 2});
  write_safetensors(path, {{"a", view_of(a)}, {"b", view_of(b)}, {"c", view_of(c)}},
                    {{"key", "value"}, {"format", "lockstep test 2"}});
  return read_file(path);
}

TEST(Checksum, IsCrc32cAndThatOfPartsGivesThatOfTheWhole) {
  const std::string text = "123456789 and more than eight bytes";
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  EXPECT_EQ(text_of_crc(0xE3069283U), "e3069283");
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(
        crc32c_joined(crc32c(text.substr(0, cut)), crc32c(text.substr(cut)), text.size() - cut),
        crc32c(text));
}

TEST(Safetensors, ReadsWhatItWrites) {
  TemporaryFolder folder;
  written(folder / "f");
  const Safetensors file = read_safetensors(folder / "f");
  const float numbers[] = {1, 2, 3};
  EXPECT_TRUE(file.tensors.at("a") == Literal::of<float>(numbers, {3}));
  EXPECT_TRUE(file.tensors.at("b") == Literal::vector({4, 5}));
  EXPECT_TRUE(file.tensors.at("c") == Literal(DType::float32, {0, 2}));
  EXPECT_EQ(file.metadata,
            (std::map<std::string, std::string>{{"key", "value"}, {"format", "lockstep test 2"}}));
  EXPECT_TRUE(file.checked);
}

// A header can be read without its data, and is checked as strictly as a whole file.
TEST(Safetensors, AHeaderAloneHasNamesAndShapes) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.safetensors";
  const Literal value = Literal::of<float>(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  write_safetensors(path, {{"w", view_of(value)}}, {{"steps", "7"}});
  const SafetensorsHeader header = read_safetensors_header(path);
  ASSERT_EQ(header.tensors.size(), 1u);
  EXPECT_EQ(header.tensors[0].name, "w");
  EXPECT_EQ(header.tensors[0].dims, (Dims{2, 3}));
  EXPECT_EQ(header.metadata.at("steps"), "7");
  const std::string whole = read_file(path);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, std::size_t{40}, whole.size() - 1}) {
    write_file(path, whole.substr(0, size));
    expect_error([&] { read_safetensors_header(path); }, path);
  }
  expect_error([&] { read_safetensors_header(folder / "none"); }, "cannot read '",
               "/none': No such file");
  expect_error([&] { read_safetensors_header(folder / std::string(300, 'x')); },
               "File name too long; shorten the name");
}

// The checksum is a CRC over all bytes with its own digits as zeros, so any program can compute it.
TEST(Safetensors, TheLastChecksumIsThatOfTheFileWithItsOwnDigitsAsZeros) {
  TemporaryFolder folder;
  std::string text = written(folder / "f");
  const std::string before = "\"crc32c\":\"";
  const std::size_t at = text.find(before) + before.size();
  const std::string said = text.substr(at, 8);
  EXPECT_EQ(text_of_crc(crc32c(text.replace(at, 8, "00000000"))), said);
}

TEST(Safetensors, EveryFlippedBitIsNamed) {
  TemporaryFolder folder;
  const std::string whole = written(folder / "f");
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    SCOPED_TRACE(bit);
    expect_error([&] { parse_safetensors(text, "/bad"); }, "/bad: ");
  }
  std::string text = whole;
  text[whole.size() - 1] ^= 1;
  expect_error([&] { parse_safetensors(text, "/bad"); }, "damaged", "'b'", "checksum");
}

TEST(Safetensors, RefusesDamage) {
  TemporaryFolder folder;
  const std::string text = written(folder / "f");
  for (std::size_t size = 0; size < text.size(); size += 5)
    expect_error([&] { parse_safetensors(text.substr(0, size), "/bad"); }, "/bad: ");
  expect_error([&] { parse_safetensors(std::string(8, '\xff') + "{}", "/bad"); }, "truncated");
  std::string wrong = text;
  wrong.replace(wrong.find("[3]"), 3, "[9]");
  expect_error([&] { parse_safetensors(wrong, "/bad"); }, "tensor 'a'");
}

TEST(Safetensors, OfOthersLoadsWithoutChecksums) {
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"__metadata__":{"format":"pt"},)"
      R"("b":{"data_offsets":[0,4],"dtype":"U8","shape":[2,2]}}  )";
  const Safetensors file = parse_safetensors(file_of(header, 12), "/other");
  EXPECT_EQ(file.tensors.size(), 2u);
  EXPECT_FALSE(file.checked);
  EXPECT_NE(unchecked_line("/other").find("/other has no checksums"), std::string::npos);
}

TEST(Safetensors, IsReadAsStrictlyAsItsReferenceDoes) {
  auto entry = [](const std::string& shape, const std::string& offsets,
                  const std::string& type = "\"U8\"") {
    return "{\"dtype\":" + type + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
  };
  const std::string four = entry("[4]", "[0,4]");
  refused("{\"a\":" + four + ",\"b\":" + four + "}", 4, "overlaps");
  refused("{\"a\":" + four + ",\"b\":" + entry("[4]", "[2,6]") + "}", 6, "tensor 'b'", "overlaps");
  refused("{\"a\":" + four + ",\"b\":" + entry("[4]", "[5,9]") + "}", 9, "tensor 'b'", "1 bytes");
  refused("{\"a\":" + four + "}", 5, "1 bytes at the end belong to no tensor");
  refused("{\"a\":" + four + "}", 3, "outside the file");
  refused("{\"a\":" + four + ",\"a\":" + four + "}", 4, "'a' occurs twice");
  refused("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"},\"a\":" + four + "}", 4, "'k'", "twice");
  refused("{\"__metadata__\":{\"k\":1},\"a\":" + four + "}", 4, "'k'");
  refused("{\"__metadata__\":{\"k\":\"1\"},\"__metadata__\":{}}", 0, "twice");
  refused(R"({"__metadata__":{"k":"a\u0000b"}})", 0, "metadata 'k': \"a\\x00b\"",
          "control character \\x00");
  refused(R"({"__metadata__":{"k":"a\u001b[2Jb"}})", 0, "control character \\x1b");
  refused(R"({"__metadata__":{"k\nl":"1"}})", 0, "metadata: \"k\\nl\"", "character \\n");
  refused("{\"__metadata__\":{\"format\":\"lockstep weights 2\"},\"a\":" + four + "}", 4,
          "its checksum is missing");
  refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"shape\":[4],\"data_offsets\":[0,4]}}", 4,
          "twice");
  refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", 4, "lacks");
  refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4],\"x\":1}}", 4, "'x'");
  refused("{\"a\":" + entry("[4]", "[4,0]") + "}", 4, "not a range");
  refused("{\"a\":" + entry("[4]", "[0]") + "}", 4, "not a range");
  refused("{\"a\":" + entry("[4]", "[0,4,4]") + "}", 4, "data_offsets");
  refused("{\"a\":" + entry("[4]", "[0,4]", "\"F31\"") + "}", 4, "'F31'");
  refused("{\"a\":" + entry("[4]", "[0,4]", "7") + "}", 4, "out of place");
  refused("{\"a\":" + entry("[-4]", "[0,4]") + "}", 4, "-4");
  refused("{\"a\":" + entry("[4.0]", "[0,4]") + "}", 4, "4.0");
  refused("{\"a\":" + entry("[[4]]", "[0,4]") + "}", 4, "out of place");
  refused("{\"a\":[1]}", 0, "out of place");
  refused("[]", 0, "begin with {");
  refused(" {}", 0, "begin with {");
  refused("{} {}", 0, "not JSON");
  refused("{", 0, "not JSON");
}

// A size is compared with the file's size before any memory is allocated.
TEST(Safetensors, DoesNotBelieveSizes) {
  for (const char* shape :
       {"[2147483648]", "[4294967297]", "[9223372036854775807]", "[4294967296,4294967296]",
        "[18446744073709551616]", "[9223372036854775808]", "[3037000500,3037000500,2]"})
    refused(join("{\"a\":{\"dtype\":\"F64\",\"shape\":", shape, ",\"data_offsets\":[0,8]}}"), 8,
            "'a'");
  refused("{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,18446744073709551615]}}", 8,
          "outside the file");
  std::string dims = "1";
  for (int i = 0; i < 100; ++i) dims += ",1";
  refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[" + dims + "],\"data_offsets\":[0,1]}}", 1,
          "dimensions");
  const std::string deep(100000, '[');
  refused("{\"a\":" + deep, 0, "out of place");
  expect_error([] { parse_safetensors(file_of(std::string(100000001, ' '), 0), "/bad"); },
               "/bad: a header of 100000001 bytes");
}

}  // namespace
}  // namespace lockstep::testing
