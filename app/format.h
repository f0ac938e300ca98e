// SPDX-License-Identifier: Apache-2.0
// Numbers and times as people read them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lockstep {

std::string fixed(double value, int digits);
std::string percent(double share, int digits = 1);  // of a fraction: 98.5 %
// Four digits, with thousands separators: 0.02, 1,234, 90,000.
std::string short_number(double value);
std::string in_units(double count);  // 430,500, 25.56 M, 8.18 G
// "1 picture", "1,234 pictures"
std::string count_of(int64_t count, const std::string& one, const std::string& several);
std::string clock_text(double seconds);  // 0:07, 12:30, 2:03:00

double seconds_since(std::chrono::steady_clock::time_point start);

}  // namespace lockstep
