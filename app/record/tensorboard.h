// SPDX-License-Identifier: Apache-2.0
// TensorBoard event files: TFRecord frames around Event messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/record/appended_file.h"
#include "app/record/proto_message.h"

namespace lockstep {

double unix_time();  // seconds since 1970

class EventWriter {
 public:
  // Creates the file events.out.tfevents.<time>.lockstep in the folder.
  explicit EventWriter(const std::string& folder);
  void scalar(const std::string& tag, int64_t step, float value);
  void value(int64_t step, const ProtoMessage& value);  // an entry of a Summary
  void flush();
  // The reason why events are waiting, or "".
  const std::string& trouble() const { return file_->trouble(); }

 private:
  void write(const std::string& event);
  std::unique_ptr<AppendedFile> file_;
  std::string written_;  // since the last flush
};

}  // namespace lockstep
