// SPDX-License-Identifier: Apache-2.0
// SHA-256 and HMAC-SHA-256 by OpenSSL. Processes use them to prove to each other that they belong
// to one run. Also for digests of small files.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

// 32 raw bytes, not hex digits.
std::string sha256(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);

std::string hex_digits(std::string_view bytes);

}  // namespace lockstep
