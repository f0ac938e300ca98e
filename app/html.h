// SPDX-License-Identifier: Apache-2.0
// Building blocks of a self-contained HTML page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/image.h"

namespace lockstep {

std::string escaped(const std::string& text);
std::string base64(const std::string& bytes);
std::string data_url(const Image& image);
// A data URL with a PNG or a JPEG, whichever is shorter.
std::string photo_url(const Image& image);

using NamedTexts = std::vector<std::pair<std::string, std::string>>;
std::string table_of(const NamedTexts& rows);

}  // namespace lockstep
