// SPDX-License-Identifier: Apache-2.0
#include "runtime/dist/sha256.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <utility>

#include "lockstep/error.h"

namespace lockstep {
namespace {

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string checked(bool done, std::string digest) {
  char reason[256] = "";
  if (!done) ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
  check(done, "OpenSSL's libcrypto cannot compute SHA-256 (", reason,
        "): openssl.cnf, or the file in OPENSSL_CONF, may activate no provider of "
        "it; run the command with OPENSSL_CONF=/dev/null");
  return digest;
}

}  // namespace

std::string sha256(std::string_view text) {
  std::string digest(32, '\0');
  const bool done =
      EVP_Digest(text.data(), text.size(), bytes_of(digest), nullptr, EVP_sha256(), nullptr) == 1;
  return checked(done, std::move(digest));
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string digest(32, '\0');
  const bool done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                         bytes_of(digest), nullptr) != nullptr;
  return checked(done, std::move(digest));
}

std::string hex_digits(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes)
    for (const unsigned shift : {4U, 0U})
      digits += "0123456789abcdef"[static_cast<unsigned char>(byte) >> shift & 15U];
  return digits;
}

}  // namespace lockstep
