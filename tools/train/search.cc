#include "tools/train/search.h"

#include <bit>
#include <cmath>
#include <limits>

#include "runtime/agree.h"

namespace lockstep {
namespace {

constexpr uint64_t kNobody = std::numeric_limits<uint64_t>::max();

}  // namespace

std::optional<BadLoss> first_bad_loss(Comm* comm, float loss) {
  const uint64_t rank = comm ? static_cast<uint64_t>(comm->rank()) : 0;
  uint64_t first = std::isfinite(loss) ? kNobody : rank << 32U | std::bit_cast<uint32_t>(loss);
  if (comm) first = least_of_all(*comm, first, "whether the loss is finite");
  if (first == kNobody) return std::nullopt;
  return BadLoss{static_cast<int>(first >> 32U),
                 std::bit_cast<float>(static_cast<uint32_t>(first))};
}

Suspect suspect_of(const std::string& fed, const NotFinite& found) {
  if (!fed.empty()) return {Suspect::Kind::fed, 0, fed};
  if (found.step < 0) return {};
  return {found.received ? Suspect::Kind::received : Suspect::Kind::computed, found.step,
          "the first value that is not finite is " + found.text};
}

Suspect foremost(Comm* comm, const Suspect& mine) {
  if (!comm) return mine;
  const auto kind = static_cast<uint64_t>(mine.kind), step = static_cast<uint64_t>(mine.step);
  const uint64_t place = kind << 60U | step << 20U | static_cast<uint64_t>(comm->rank());
  const uint64_t first = least_of_all(*comm, place, "who found what is not finite");
  Suspect found{static_cast<Suspect::Kind>(first >> 60U), static_cast<int>(first >> 20U), ""};
  if (found.kind == Suspect::Kind::none) return {};
  const int rank = static_cast<int>(first & 0xFFFFFU);
  found.text = share_text(*comm, join(mine.text, " on rank ", rank), "what is not finite", rank);
  return found;
}

}  // namespace lockstep
