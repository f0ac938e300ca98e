// SPDX-License-Identifier: Apache-2.0
// The part of a task that the terminal, records and the report show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/report/report.h"
#include "app/train/testing.h"
#include "lockstep/types.h"

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
  virtual std::vector<std::string> notes() const = 0;  // about network and data
  virtual NamedTexts examples() const = 0;  // "to train on", "24 pictures of 3 classes"; ..
  virtual Dims picture()
      const = 0;  // channels, height, width of a picture; other units have other dimensions

  // Numbers derived from a mean loss, recorded beside the loss.
  virtual NamedNumbers numbers_of(double /*loss*/) const { return {}; }
  // The mean loss and numbers of several steps, for the terminal.
  virtual std::string text_of(double loss, const NamedNumbers& numbers) const = 0;
  virtual std::string text_of_score(double score) const = 0;
  virtual std::vector<CurveChart> charts() const = 0;
};

}  // namespace lockstep
