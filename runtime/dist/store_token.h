// SPDX-License-Identifier: Apache-2.0
// The token of a run: 128 bits known only to its processes. A store at a port admits clients that
// have the token. The token is never sent: each side proves that it has the token by a nonce that
// the other side draws for this connection.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

// Reads LOCKSTEP_TOKEN or the file ~/.config/lockstep/token: 32 hex digits. Throws with the reason
// that the token is invalid, or with instructions to create a token. `place`: the store that needs
// it.
std::string token_of_user(const std::string& place);
std::string new_token();

std::string random_bytes(std::size_t count);

// The two sides of a connection. A proof of one side is not valid for the other.
enum class Side { keeper, asker };
inline constexpr std::size_t kNonceBytes = 16, kProofBytes = 32;
std::string proof(const std::string& token, Side side, std::string_view keepers_nonce,
                  std::string_view askers_nonce);
// Constant-time comparison.
bool is_same(std::string_view one, std::string_view other);

}  // namespace lockstep
