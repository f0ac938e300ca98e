// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/packing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include "builders/all_reduce/number.h"
#include "graph/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Packs small neighbouring tensors. The packed buckets come first, then each large or lone tensor,
// in order.
Buckets pack_tf_cnn(const Packing& packing, const std::vector<GradientSize>& gradients) {
  std::vector<int> small, alone;
  for (int i = 0; i < static_cast<int>(gradients.size()); ++i) {
    const GradientSize& gradient = gradients[i];
    const bool is_small = gradient.dtype == DType::float32 && gradient.bytes() <= packing.bytes;
    (is_small && packing.group > 0 ? small : alone).push_back(i);
  }
  const Ranges ranges = extract_ranges(small, packing.group);
  Buckets buckets;
  for (auto [first, last] : ranges.runs) {
    Bucket bucket(last - first + 1);
    std::iota(bucket.begin(), bucket.end(), first);
    buckets.push_back(std::move(bucket));
  }
  alone.insert(alone.end(), ranges.singles.begin(), ranges.singles.end());
  std::sort(alone.begin(), alone.end());
  for (int i : alone) buckets.push_back({i});
  return buckets;
}

// Packs from the last gradient to the first. Starts a new bucket if `closes` returns true for the
// current bucket, or if the element type changes.
template <class Closes>
Buckets pack_backwards(const std::vector<GradientSize>& gradients, const Closes& closes) {
  Buckets buckets;
  int64_t size = 0;
  for (int i = static_cast<int>(gradients.size()) - 1; i >= 0; --i) {
    const GradientSize& gradient = gradients[i];
    const bool fits = !buckets.empty() && !closes(buckets.size(), size) &&
                      gradients[buckets.back().back()].dtype == gradient.dtype;
    if (!fits) {
      buckets.emplace_back();
      size = 0;
    }
    buckets.back().push_back(i);
    size += gradient.bytes();
  }
  return buckets;
}

// The name as one word of a line, in quotes if the name contains blanks, quotes or backslashes.
std::string word_of(const std::string& name) {
  if (name.find_first_of(" \t\r\n\v\f\"\\") == name.npos) return name;
  std::string word = "\"";
  for (char letter : name) {
    if (letter == '"' || letter == '\\' || letter == '\n') word += '\\';
    word += letter == '\n' ? 'n' : letter;
  }
  return word + '"';
}

std::vector<std::string> words_in(const std::string& line) {
  std::vector<std::string> words;
  const std::string blanks = " \t\r\v\f";
  for (std::size_t i = line.find_first_not_of(blanks); i < line.size();
       i = line.find_first_not_of(blanks, i)) {
    std::string& word = words.emplace_back();
    const bool quoted = line[i] == '"';
    if (!quoted) {
      while (i < line.size() && blanks.find(line[i]) == blanks.npos) word += line[i++];
      continue;
    }
    for (++i; i < line.size() && line[i] != '"'; ++i) {
      const bool escaped = line[i] == '\\' && i + 1 < line.size();
      if (escaped) ++i;
      word += escaped && line[i] == 'n' ? '\n' : line[i];
    }
    ++i;  // the quote at the end
  }
  return words;
}

// The line number and the names of each bucket.
std::vector<std::pair<int, std::vector<std::string>>> lines_of_buckets(const std::string& text,
                                                                       const std::string& source) {
  std::vector<std::pair<int, std::vector<std::string>>> buckets;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos || line[0] == '#') continue;
    const auto colon = line.find(": ");  // `bucket N bytes` has no colon
    check(line.rfind("bucket ", 0) == 0 && colon != line.npos, source, ", line ", number,
          ": should be 'bucket N bytes: NAME NAME ..', is '", line, "'");
    buckets.emplace_back(number, words_in(line.substr(colon + 1)));
  }
  return buckets;
}

}  // namespace

Packing parse_packing(const std::string& text) {
  const std::vector<std::string> fields = split(text, ':');
  Packing packing;
  try {
    auto number = [&](std::size_t i) { return parse_number(fields[i], "size").value; };
    auto takes = [&](std::size_t count) {
      check(fields.size() == count + 1, fields[0], " takes ", count,
            count == 1 ? " number" : " numbers");
    };
    if (fields[0] == "none") {
      takes(0);
    } else if (fields[0] == "tf_cnn") {
      takes(2);
      packing = {PackingRule::tf_cnn, number(1), number(2), 0};
    } else if (fields[0] == "ray") {
      takes(1);
      packing = {PackingRule::ray, number(1), 0, 0};
    } else if (fields[0] == "ready") {
      takes(2);
      packing = {PackingRule::ready, number(2), 0, number(1)};
    } else {
      fail("unknown rule '", fields[0], "'; known: none tf_cnn ray ready");
    }
  } catch (const Error& error) {
    fail("packing '", text, "': ", error.what());
  }
  return packing;
}

std::string text_of(const Packing& packing) {
  switch (packing.rule) {
    case PackingRule::none:
      return "none";
    case PackingRule::tf_cnn:
      return join("tf_cnn:", in_units(packing.bytes), ":", in_units(packing.group));
    case PackingRule::ray:
      return "ray:" + in_units(packing.bytes);
    case PackingRule::ready:
      return join("ready:", in_units(packing.first), ":", in_units(packing.bytes));
  }
  fail("internal: a rule of packing without a name");
}

Buckets pack(const Packing& packing, const std::vector<GradientSize>& gradients) {
  switch (packing.rule) {
    case PackingRule::tf_cnn:
      return pack_tf_cnn(packing, gradients);
    case PackingRule::ray:
      return pack_backwards(gradients,
                            [&](std::size_t, int64_t size) { return size > packing.bytes; });
    case PackingRule::ready:
      return pack_backwards(gradients, [&](std::size_t number, int64_t size) {
        return size >= (number == 1 ? packing.first : packing.bytes);
      });
    default:
      return pack_backwards(gradients, [](std::size_t, int64_t) { return true; });
  }
}

std::string text_of(const Buckets& buckets, const std::vector<GradientSize>& gradients) {
  std::ostringstream text;
  for (const Bucket& bucket : buckets) {
    int64_t bytes = 0;
    for (int i : bucket) bytes += gradients[i].bytes();
    text << "bucket " << bytes << " bytes:";
    for (int i : bucket) text << " " << word_of(gradients[i].name);
    text << "\n";
  }
  return text.str();
}

std::set<std::string> names_in_buckets(const std::string& text, const std::string& source) {
  std::set<std::string> names;
  for (const auto& [number, listed] : lines_of_buckets(text, source))
    names.insert(listed.begin(), listed.end());
  return names;
}

Buckets parse_buckets(const std::string& text, const std::vector<GradientSize>& gradients,
                      const std::string& source) {
  std::map<std::string, int> position;
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(gradients.size()); ++i) {
    names.push_back(gradients[i].name);
    position.emplace(names.back(), i);
  }
  Buckets buckets;
  std::vector<bool> seen(gradients.size(), false);
  for (const auto& [number, listed] : lines_of_buckets(text, source)) {
    Bucket bucket;
    for (const std::string& name : listed) {
      auto found = position.find(name);
      const std::string near = nearest(name, names);
      check(found != position.end(), source, ", line ", number, ": no gradient of '", name, "'",
            near.empty() ? "" : "; did you mean '" + near + "'?");
      const int i = found->second;
      check(!seen[i], source, ", line ", number, ": '", name, "' occurs twice");
      check(bucket.empty() || gradients[bucket[0]].dtype == gradients[i].dtype, source, ", line ",
            number, ": '", name, "' is ", gradients[i].dtype,
            ", but the others in its bucket are not");
      seen[i] = true;
      bucket.push_back(i);
    }
    check(!bucket.empty(), source, ", line ", number, ": an empty bucket");
    buckets.push_back(std::move(bucket));
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    check(seen[i], source, ": '", gradients[i].name, "' is in no bucket");
  return buckets;
}

Ranges extract_ranges(const std::vector<int>& numbers, int64_t limit) {
  Ranges ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1 &&
           numbers[end - 1] - numbers[i] <= limit)
      ++end;
    if (end - i > 1)
      ranges.runs.emplace_back(numbers[i], numbers[end - 1]);
    else
      ranges.singles.push_back(numbers[i]);
    i = end;
  }
  return ranges;
}

}  // namespace lockstep
