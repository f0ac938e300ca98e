// SPDX-License-Identifier: Apache-2.0
// oneDNN is not built for ThreadSanitizer: its threads' waits for each other look like races. Tests
// with several threads per replica take their number from here: one under that sanitizer.
#pragma once

namespace lockstep::testing {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitizer = false;
#endif

inline int usable_threads(int wanted) { return kThreadSanitizer ? 1 : wanted; }

}  // namespace lockstep::testing
