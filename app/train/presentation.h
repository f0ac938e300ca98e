// SPDX-License-Identifier: Apache-2.0
// The part of a task that terminal, records and report show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/report/report.h"
#include "app/train/testing.h"
#include "graph/shape.h"

namespace lockstep {

// The unit of a run's speed.
struct WorkUnit {
  std::string name;     // plural: NAME_per_second in metrics.jsonl
  int64_t of_step = 0;  // of all processes
};

class Presentation {
 public:
  virtual ~Presentation() = default;

  virtual std::string network() const = 0;  // names for people
  virtual std::string data() const = 0;
  virtual WorkUnit work_unit() const = 0;
  virtual std::vector<std::string> notes() const = 0;  // about the data
  virtual NamedTexts examples() const = 0;  // "to train on", "24 pictures of 3 classes"; ..
  virtual Dims picture() const = 0;  // channels, height, width of one; of another unit its own

  // Numbers that follow from a window's mean loss, to be recorded beside it.
  virtual NamedNumbers numbers_of(double /*loss*/) const { return {}; }
  // On a step's window: its loss and numbers, for the terminal.
  virtual std::string text_of(double loss, const NamedNumbers& numbers) const = 0;
  virtual std::string text_of_score(double score) const = 0;
  virtual std::vector<CurveChart> charts() const = 0;
};

}  // namespace lockstep
