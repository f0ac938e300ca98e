// The token of a run: 128 bits that its processes have and nobody else. A store at a port lets in
// who has it. It never goes over the wire: each side proves to the other, with a number that the
// other drew for this connection, that it has it too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

// As LOCKSTEP_TOKEN or the file ~/.config/lockstep/token have it, 32 hex digits. Throws saying what
// is wrong with it, or how one is made. `place`: what wants it.
std::string token_of_user(const std::string& place);
std::string new_token();

std::string random_bytes(std::size_t count);

// Of who stands on which side of a connection; what one side proves is no use to the other's.
enum class Side { keeper, asker };
inline constexpr std::size_t kNonceBytes = 16, kProofBytes = 32;
std::string proof(const std::string& token, Side side, std::string_view keepers_nonce,
                  std::string_view askers_nonce);
// In a time that does not tell where they differ.
bool is_same(std::string_view one, std::string_view other);

}  // namespace lockstep
