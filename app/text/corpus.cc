// SPDX-License-Identifier: Apache-2.0
#include "app/text/corpus.h"

#include "app/config/read.h"
#include "app/format.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

std::string digest_of(const JoinedText& text) {
  return join(text.size(), " characters, ", digest(text.bytes().data(), text.bytes().size()));
}

JoinedText read_texts(const std::string& key, const std::vector<std::string>& names,
                      const std::string& root) {
  JoinedText text;
  naming(key, [&] { text = JoinedText(text_files_named(names, root)); });
  return text;
}

}  // namespace

TextCorpus::TextCorpus(const TextConfig& config, const std::string& vocabulary) {
  const JoinedText text = read_texts("DATA.FILES", config.files, config.root);
  files_ = text.files();
  vocabulary_.emplace(vocabulary.empty() ? text.bytes() : vocabulary);
  naming("DATA.FILES", [&] { training_ = vocabulary_->encode(text); });
  training_digest_ = held_out_digest_ = digest_of(text);
  if (config.test_files.empty()) {
    split_ = split_text(text.size());
    held_out_ = split_.held_out;
    check(!held_out_.empty(), "DATA.FILES: the text has ", text.size(),
          " characters, too few to hold out every tenth 1,000; TEST.FILES names other text to test "
          "on");
    return;
  }
  const JoinedText other = read_texts("TEST.FILES", config.test_files, config.root);
  naming("TEST.FILES", [&] { testing_ = vocabulary_->encode(other); });
  split_ = train_on_all(text.size());
  held_out_ = {{0, other.size()}};
  held_out_digest_ = digest_of(other);
  check(other.size() > 1, "TEST.FILES: a single character has no next character to predict");
}

std::string TextCorpus::text() const {
  const auto number = [](int64_t count) { return short_number(static_cast<double>(count)); };
  return join(number(files_), files_ == 1 ? " file, " : " files, ",
              number(characters_of(split_.training)), " characters to train on, ",
              number(characters_of(held_out_)), " held out, a vocabulary of ", vocabulary_->size());
}

}  // namespace lockstep
