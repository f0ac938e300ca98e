// TensorBoard event files: TFRecord frames around Event messages.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "tools/train/message.h"

namespace lockstep {

double unix_time();  // seconds since 1970

class EventWriter {
 public:
  // Makes a new file events.out.tfevents.<time>.lockstep in the folder.
  explicit EventWriter(const std::string& folder);
  void scalar(const std::string& tag, int64_t step, float value);
  void value(int64_t step, const Message& value);  // an entry of a Summary
  void flush() { file_.flush(); }

 private:
  void write(const std::string& event);
  std::ofstream file_;
};

}  // namespace lockstep
