// SPDX-License-Identifier: Apache-2.0
// The arrays of CSV files: one or more columns of numbers each. The files are decoded once.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "data/arrays/collection.h"
#include "data/arrays/csv.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct CsvArray {
  std::string name = "";
  std::vector<std::size_t> columns = {};
  Dims row = {};
  DType dtype = DType::undefined;  // int64, float32 or float64
};

std::string_view trimmed(std::string_view cell) {
  while (cell.starts_with(' ') || cell.starts_with('\t')) cell.remove_prefix(1);
  while (cell.ends_with(' ') || cell.ends_with('\t')) cell.remove_suffix(1);
  return cell;
}

// Removes a sign that from_chars does not accept.
std::string_view without_plus(std::string_view cell) {
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') cell.remove_prefix(1);
  return cell;
}

template <class T>
bool parse_cell(std::string_view cell, T& value) {
  cell = without_plus(cell);
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if constexpr (std::is_same_v<T, double>)
    if (error == std::errc::result_out_of_range && end == cell.data() + cell.size()) {
      value = std::strtod(std::string(cell).c_str(), nullptr);
      return std::abs(value) < 1;  // too small a number becomes 0
    }
  return error == std::errc() && end == cell.data() + cell.size();
}

// The columns of the first file's header, by which arrays are found.
class CsvHeader {
 public:
  CsvHeader(const std::string& path, const std::vector<std::string_view>& cells) : path_(path) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      names_.emplace_back(trimmed(cells[i]));
      if (!places_.emplace(names_.back(), i).second) twice_.insert(names_.back());
    }
  }
  const std::vector<std::string>& names() const { return names_; }

  bool has(const std::string& column) const { return places_.contains(column); }
  std::size_t place(const std::string& column) const {
    const auto found = places_.find(column);
    check(found != places_.end(), path_, ": has no column '", printable(column),
          "', which an array should have");
    check(!twice_.contains(column), path_, ": two columns are called '", printable(column), "'");
    return found->second;
  }
  // The array's columns: F, or F.0, F.1, .. or F[0], F[1], ..; empty: there are none.
  CsvArray array(const std::string& name) const {
    if (has(name)) return {.name = name, .columns = {place(name)}};
    for (const auto& [open, close] : {std::pair(".", ""), std::pair("[", "]")}) {
      CsvArray array{.name = name};
      while (has(join(name, open, array.columns.size(), close)))
        array.columns.push_back(place(join(name, open, array.columns.size(), close)));
      array.row = {static_cast<int64_t>(array.columns.size())};
      if (!array.columns.empty()) return array;
    }
    return {};
  }

 private:
  const std::string& path_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> places_;
  std::set<std::string> twice_;
};

// The array that a column is a part of: F for F.3 or F[3], if F.0 or F[0] exists.
std::string array_of_column(const CsvHeader& header, const std::string& column) {
  for (const auto& [open, close] : {std::pair(".", ""), std::pair("[", "]")}) {
    const auto at = column.rfind(open);
    if (at == column.npos || at == 0) continue;
    const std::string name = column.substr(0, at);
    const CsvArray array = header.has(name) ? CsvArray() : header.array(name);
    for (std::size_t i = 0; i < array.columns.size(); ++i)
      if (column == join(name, open, i, close)) return name;
  }
  return column;
}

std::vector<CsvArray> arrays_of_header(const CsvHeader& header, const std::string& path,
                                       ArrayCollection& all) {
  std::vector<CsvArray> arrays;
  std::set<std::string> seen;
  for (const auto& [name, columns] : all.columns) {
    seen.insert(name);
    if (!all.wants(name, path)) continue;
    CsvArray array{.name = name, .row = {static_cast<int64_t>(columns.size())}};
    for (const std::string& column : columns) array.columns.push_back(header.place(column));
    arrays.push_back(std::move(array));
  }
  for (const std::string& column : header.names()) {
    const std::string name = array_of_column(header, column);
    if (name.empty() || !seen.insert(name).second || !all.wants(name, path)) continue;
    arrays.push_back(header.array(name));
  }
  return arrays;
}

[[noreturn]] void fail_cell(const CsvReader& reader, int64_t row, const std::string& column,
                            std::string_view cell, const char* why) {
  fail(reader.where(), " (row ", row, "): column '", printable(column), "' ",
       cell.empty() ? std::string("is empty") : join("has '", printable(cell.substr(0, 40)), "'"),
       why);
}

// Calls `use` for each row behind the header. Returns the number of rows.
template <class Use>
int64_t read_csv(const StoredBytes& file, const std::string& path,
                 const std::vector<std::string>& names, const Use& use) {
  CsvReader reader(file, path);
  check(reader.next(), path, ": the file is empty; its first line should name the columns");
  const auto& cells = reader.cells();
  bool is_same = cells.size() == names.size();
  for (std::size_t i = 0; is_same && i < names.size(); ++i) is_same = trimmed(cells[i]) == names[i];
  check(is_same, path, ": its columns differ from the first file's");
  int64_t row = 0;
  for (; reader.next(); ++row) {
    if (cells.size() != names.size())
      fail(reader.where(), " (row ", row, "): has ", cells.size(),
           " cells, but the first line names ", names.size(), " columns");
    use(reader, row);
  }
  return row;
}

// Chooses int64 for arrays of whole numbers, unless a feed asks for a type.
void choose_types(std::vector<CsvArray>& arrays, const ArrayFiles& files,
                  const std::vector<std::string>& names, ArrayCollection& all,
                  const std::vector<std::shared_ptr<const StoredBytes>>& bytes) {
  std::vector<CsvArray*> open;
  for (CsvArray& array : arrays) {
    const auto asked = all.asked.find(array.name);
    const DType type = asked == all.asked.end() ? DType::undefined : asked->second;
    array.dtype = type == DType::float64 ? type : is_floating(type) ? DType::float32 : DType::int64;
    if (type == DType::undefined) open.push_back(&array);
  }
  for (std::size_t i = 0; i < files.paths.size() && !open.empty(); ++i)
    read_csv(*bytes[i], files.paths[i], names, [&](const CsvReader& reader, int64_t) {
      for (CsvArray*& array : open)
        for (const std::size_t column : array->columns) {
          int64_t value = 0;
          if (array->dtype == DType::int64 && !parse_cell(trimmed(reader.cells()[column]), value))
            array->dtype = DType::float64;
        }
      std::erase_if(open, [](const CsvArray* array) { return array->dtype != DType::int64; });
    });
}

// Appends the row's cells of an array.
void append_cells(const CsvReader& reader, int64_t row, const CsvArray& array,
                  const std::vector<std::string>& names, DecodedBytes& to) {
  for (const std::size_t column : array.columns) {
    const std::string_view cell = trimmed(reader.cells()[column]);
    const auto put = [&](const auto& value) { to.append(std::as_bytes(std::span(&value, 1))); };
    double number = 0;
    if (array.dtype == DType::int64) {
      int64_t value = 0;
      if (!parse_cell(cell, value)) {
        const bool is_number = parse_cell(cell, number);
        fail_cell(reader, row, names[column], cell,
                  is_number ? ", but the network asks for integers within int64"
                            : ", which is not a number");
      }
      put(value);
    } else {
      if (!parse_cell(cell, number))
        fail_cell(reader, row, names[column], cell,
                  cell.empty() ? "; a number is missing" : ", which is not a number");
      if (array.dtype == DType::float32)
        put(static_cast<float>(number));
      else
        put(number);
    }
  }
}

}  // namespace

void collect_csv(const ArrayFiles& files, ArrayCollection& all) {
  std::vector<std::shared_ptr<const StoredBytes>> bytes;
  for (const std::string& path : files.paths) bytes.push_back(all.open(path));
  CsvReader first(*bytes[0], files.paths[0]);
  check(first.next(), files.paths[0],
        ": the file is empty; its first line should name the columns");
  const CsvHeader header(files.paths[0], first.cells());
  std::vector<CsvArray> arrays = arrays_of_header(header, files.paths[0], all);
  if (arrays.empty()) return;
  choose_types(arrays, files, header.names(), all, bytes);
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    std::vector<DecodedBytes*> decoded;
    std::vector<int64_t> starts;
    for (const CsvArray& array : arrays) {
      decoded.push_back(&all.decoded(array.name));
      starts.push_back(decoded.back()->size());
    }
    const int64_t rows = read_csv(
        *bytes[i], files.paths[i], header.names(), [&](const CsvReader& reader, int64_t row) {
          for (std::size_t array = 0; array < arrays.size(); ++array)
            append_cells(reader, row, arrays[array], header.names(), *decoded[array]);
        });
    for (std::size_t array = 0; array < arrays.size(); ++array) {
      Dims dims{rows};
      dims.insert(dims.end(), arrays[array].row.begin(), arrays[array].row.end());
      all.add(arrays[array].name, arrays[array].dtype, dims,
              {.offset = starts[array], .path = files.paths[i]});
    }
  }
}

}  // namespace lockstep
