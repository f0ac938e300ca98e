// SPDX-License-Identifier: Apache-2.0
// The published test vectors: FIPS 180-4's examples, NIST's million letters, RFC 4231.
#include "runtime/dist/sha256.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "lockstep/error.h"

namespace lockstep::testing {
namespace {

TEST(Sha256, HasThePublishedValues) {
  EXPECT_EQ(hex_digits(sha256("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_digits(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_digits(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_digits(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                              "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hex_digits(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, AuthenticatesWithThePublishedValues) {
  EXPECT_EQ(hex_digits(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex_digits(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex_digits(hmac_sha256("", "")),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  EXPECT_EQ(hex_digits(hmac_sha256(std::string(20, '\xaa'), std::string(50, '\xdd'))),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(hex_digits(hmac_sha256(std::string(131, '\xaa'),
                                   "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// OpenSSL reads its file once, so the test runs in a separate process.
TEST(Sha256, NamesAFileThatLeavesItOut) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string path = ::testing::TempDir() + "without_providers.cnf";
  std::ofstream(path) << "openssl_conf = all\n[all]\nproviders = providers\n[providers]\n"
                         "null = one\n[one]\nactivate = 1\n";
  const auto ask = [&] {
    setenv("OPENSSL_CONF", path.c_str(), 1);
    try {
      sha256("abc");
    } catch (const Error& error) {
      std::cerr << error.what();
      std::exit(2);
    }
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(2), "cannot compute SHA-256.*OPENSSL_CONF");
}

}  // namespace
}  // namespace lockstep::testing
