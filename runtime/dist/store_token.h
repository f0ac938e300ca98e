// SPDX-License-Identifier: Apache-2.0
// The token of a run: 128 bits known to its processes only. A store at a port admits clients that
// have it. It is never sent: each side proves that it has it with a nonce drawn by the other for
// this connection.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

// From LOCKSTEP_TOKEN or the file ~/.config/lockstep/token: 32 hex digits. Throws saying what is
// wrong with it, or how to make one. `place`: what needs it.
std::string token_of_user(const std::string& place);
std::string new_token();

std::string random_bytes(std::size_t count);

// The two sides of a connection; one side's proof is useless as the other's.
enum class Side { keeper, asker };
inline constexpr std::size_t kNonceBytes = 16, kProofBytes = 32;
std::string proof(const std::string& token, Side side, std::string_view keepers_nonce,
                  std::string_view askers_nonce);
// Constant-time comparison.
bool is_same(std::string_view one, std::string_view other);

}  // namespace lockstep
