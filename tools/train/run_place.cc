#include "tools/train/run_place.h"

#include <filesystem>

#include "graph/printable.h"
#include "runtime/state/checkpoint.h"
#include "tools/train/saved_numbers.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// The command that resumes from the checkpoint before the newest.
std::string command_for_previous(const std::string& folder) {
  return join("lockstep train ", shell_word(folder + "/config.yaml"), " --resume ",
              shell_word(previous_of(checkpoint_in(folder))));
}

}  // namespace

std::string resuming_command(const std::string& folder) {
  return join("lockstep train ", shell_word(folder + "/config.yaml"), " --resume ",
              shell_word(folder));
}

std::string offer_of_previous(const std::string& folder) {
  const std::string previous = previous_of(checkpoint_in(folder));
  std::error_code trouble;
  if (!fs::exists(previous, trouble)) return "";
  try {
    const int64_t steps =
        whole_number(checkpoint_metadata(previous), "steps", 0, kMostSteps, previous);
    return join("; the previous checkpoint, from iteration ", steps,
                ", is intact; continue from it with:  ", command_for_previous(folder));
  } catch (const Error& error) {
    return join("; the previous checkpoint cannot be used either: ", error.what());
  }
}

RunPlace place_of(const std::string& series, const Resume& resume) {
  if (!resume.wanted) return {start_next_run(series), ""};
  const bool any = resume.in == "auto";
  std::error_code trouble;
  if (fs::is_regular_file(resume.in, trouble)) {
    const std::string folder = fs::path(resume.in).parent_path().string();
    return {std::make_unique<RunLock>(folder.empty() ? "." : folder), resume.in};
  }
  std::string folder = any || resume.in.empty() ? newest_run(series) : resume.in;
  if (any && folder.empty()) return {start_next_run(series), ""};
  check(!folder.empty(), "--resume: there is no run in '", series,
        "' yet; --resume auto starts one");
  // runs/latest is a link; missing folders keep their names
  if (const fs::path real = fs::canonical(folder, trouble); !trouble && fs::is_symlink(folder))
    folder = fs::proximate(real).string();
  const bool goes_on = fs::exists(checkpoint_in(folder), trouble);
  const std::string offer = goes_on ? "" : offer_of_previous(folder);
  check(goes_on || (any && offer.empty()), "--resume: '", folder,
        "' contains no checkpoint.safetensors", offer,
        resume.in.empty() && offer.empty() ? "; --resume auto starts a run" : "");
  return {std::make_unique<RunLock>(folder), goes_on ? checkpoint_in(folder) : ""};
}

}  // namespace lockstep
