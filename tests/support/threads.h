// SPDX-License-Identifier: Apache-2.0
// The number of threads for tests with several threads per replica: 1 under ThreadSanitizer. oneDNN
// is not built for ThreadSanitizer, so its threads' waits for each other look like races.
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
