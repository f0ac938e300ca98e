// SPDX-License-Identifier: Apache-2.0
// A program's data set with the tensors that a network is fed, and no others.
#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "app/arrays/own_forms.h"
#include "app/arrays/own_source.h"
#include "data/batch_rows.h"
#include "data/epoch_order.h"
#include "graph/limits.h"
#include "graph/listed.h"
#include "lockstep/attributes.h"
#include "lockstep/error.h"
#include "lockstep/tensor.h"

namespace lockstep {
namespace {

// Runs code of a program for a data set. Errors name the key, other exceptions also the source.
struct ProgramCode {
  std::string key, source;

  template <class Act>
  auto run(const Act& act) const {
    try {
      return act();
    } catch (const NoMemory&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const Error& error) {
      fail(Key{key}, ": ", error);
    } catch (const std::exception& error) {  // the program's own
      fail(Key{key}, ": ", source, ": ", error.what());
    }
  }
};

// Forms of `count` examples, checked.
std::vector<MinibatchForm> forms_in(const OwnDataSet& set, int64_t count) {
  std::vector<MinibatchForm> forms = set.forms(count);
  check(!forms.empty() && !forms[0].empty(), "the data set has no tensors");
  for (const MinibatchForm& form : forms) check_form(form, forms[0], count);
  return forms;
}

std::size_t form_in(const OwnDataSet& set, int64_t example, std::size_t forms) {
  const std::size_t form = set.form_of(example);
  check(form < forms, "example ", example, " has form ", form, ", but there are ", forms);
  return form;
}

// The minibatches that a set makes itself.
class MadeBatches final : public MinibatchSource {
 public:
  MadeBatches(std::unique_ptr<MinibatchSource> made, const std::vector<MinibatchForm>& whole,
              const ChosenTensors& chosen, ProgramCode code)
      : made_(std::move(made)), chosen_(chosen), code_(std::move(code)) {
    const std::vector<MinibatchForm>& forms = made_->forms();
    check(forms.size() == whole.size(), "the minibatches have ", forms.size(),
          " forms, the set has ", whole.size());
    check(made_->items() > 0, "a minibatch has ", made_->items(), " items, should have at least 1");
    for (std::size_t f = 0; f < forms.size(); ++f) {
      check_form(forms[f], whole[f], whole[f][0].desc.dims[0]);
      for (std::size_t i = 0; i < forms[f].size(); ++i)
        check(forms[f][i].desc.dims == whole[f][i].desc.dims, "'", forms[f][i].name,
              "' of a minibatch is ", forms[f][i].desc.dims, ", of the set ",
              whole[f][i].desc.dims);
      forms_.push_back(chosen_.form(forms[f]));
    }
  }

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t step) const override {
    return code_.run([&] {
      const std::size_t form = made_->form(step);
      check(form < forms_.size(), "step ", step, " has form ", form, ", but there are ",
            forms_.size());
      return form;
    });
  }
  int64_t items() const override { return made_->items(); }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override {
    const MinibatchForm& whole = made_->forms()[form(step)];
    code_.run([&] {
      chosen_.write(whole, tensors,
                    [&](std::span<const Tensor> all) { made_->read(step, item, all); });
    });
  }

 private:
  std::unique_ptr<MinibatchSource> made_;
  ChosenTensors chosen_;
  ProgramCode code_;
  std::vector<MinibatchForm> forms_;
};

class OwnExamples final : public ExampleSet {
 public:
  OwnExamples(ProgramCode code, std::unique_ptr<OwnDataSet> set, const OwnDataRequest& request,
              const std::vector<std::string>& fed)
      : code_(std::move(code)),
        set_(std::move(set)),
        text_(request.text),
        whole_(forms_in(*set_, 1)),
        chosen_(whole_[0], request.tensors, fed) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    check(set_->size() > 0 && set_->size() <= kMost, "the data set has ", set_->size(),
          " examples, should have from 1 to ", kMost);
    for (const MinibatchForm& form : whole_) {
      const MinibatchForm own = chosen_.form(form);
      for (std::size_t i = 0; i < own.size(); ++i) check_asked(own[i], request.tensors[i]);
    }
  }

  int64_t size() const override { return set_->size(); }
  std::string digest() const override {
    const std::string own = set_->digest();
    return own.empty() ? text_ : own;
  }
  std::string description() const override {
    std::vector<std::string> texts;
    for (const auto& [name, desc] : chosen_.form(whole_[0])) {
      const Dims example(desc.dims.begin() + 1, desc.dims.end());
      texts.push_back(example.empty() ? join(name, " ", desc.dtype)
                                      : join(name, " ", desc.dtype, example));
    }
    return listed(texts);
  }
  std::vector<MinibatchForm> forms(int64_t count) const override {
    std::vector<MinibatchForm> forms;
    for (const MinibatchForm& form : whole_forms(count)) forms.push_back(chosen_.form(form));
    return forms;
  }
  std::size_t form_of(int64_t example) const override {
    return code_.run([&] { return form_in(*set_, example, whole_.size()); });
  }
  void read(int64_t example, int64_t row, std::span<const Tensor> tensors) const override;
  std::unique_ptr<MinibatchSource> minibatches(const ExampleBatches& options) const override;

 private:
  std::vector<MinibatchForm> whole_forms(int64_t count) const {
    return code_.run([&] { return forms_in(*set_, count); });
  }
  void read_whole(int64_t example, int64_t row, std::span<const Tensor> tensors) const {
    code_.run([&] { set_->read(example, row, tensors); });
  }

  ProgramCode code_;
  std::unique_ptr<OwnDataSet> set_;
  std::string text_;
  std::vector<MinibatchForm> whole_;  // of one example
  ChosenTensors chosen_;
};

// Minibatches of a set that makes none itself.
class ReadBatches final : public MinibatchSource {
 public:
  ReadBatches(const OwnExamples& set, const OwnBatches& options)
      : set_(set),
        options_(options),
        order_(set.size(), options.seed, options.shuffle),
        forms_(set.forms(options.count)) {}

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  // The smallest form that fits the examples of all processes.
  std::size_t form(int64_t step) const override {
    if (forms_.size() == 1) return 0;
    std::size_t form = 0;
    for (int64_t i = 0; i < options_.batch; ++i)
      form = std::max(form, set_.form_of(order_.at(step * options_.batch + i)));
    return form;
  }
  int64_t items() const override { return options_.count; }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override {
    set_.read(order_.at(step * options_.batch + options_.first + item), item, tensors);
  }

 private:
  const OwnExamples& set_;
  OwnBatches options_;
  EpochOrder order_;
  std::vector<MinibatchForm> forms_;
};

void OwnExamples::read(int64_t example, int64_t row, std::span<const Tensor> tensors) const {
  check(example >= 0 && example < size(), "example ", example, " of ", size());
  if (chosen_.is_whole(whole_[0])) return read_whole(example, row, tensors);
  // The smallest form whose chosen tensors have these shapes. Forms that differ in other tensors
  // alone fit the example from its own form on.
  const int64_t rows = tensors.empty() ? row + 1 : tensors[0].desc.dims[0];
  const std::vector<MinibatchForm> forms = whole_forms(rows);
  for (std::size_t f = form_of(example); f < forms.size(); ++f) {
    const MinibatchForm form = chosen_.form(forms[f]);
    bool is_this = true;
    for (std::size_t i = 0; i < form.size(); ++i)
      is_this = is_this && form[i].desc.dims == tensors[i].desc.dims;
    if (is_this)
      return chosen_.write(forms[f], tensors,
                           [&](std::span<const Tensor> all) { read_whole(example, row, all); });
  }
  fail("example ", example, " fits no form of the given tensors");
}

std::unique_ptr<MinibatchSource> OwnExamples::minibatches(const ExampleBatches& given) const {
  const OwnBatches options{
      .batch = given.batch,
      .first = given.first,
      .count = rows_in_batch(given.batch, given.first, given.count, "examples"),
      .seed = given.seed,
      .shuffle = given.shuffle};
  std::unique_ptr<MinibatchSource> made = code_.run([&]() -> std::unique_ptr<MinibatchSource> {
    auto own = set_->minibatches(options);
    if (!own) return nullptr;
    return std::make_unique<MadeBatches>(std::move(own), forms_in(*set_, options.count), chosen_,
                                         code_);
  });
  if (made) return made;
  return std::make_unique<ReadBatches>(*this, options);
}

}  // namespace

std::unique_ptr<ExampleSet> own_examples(const OwnDataSource& source, const std::string& key,
                                         const OwnDataRequest& request,
                                         const std::vector<std::string>& fed) {
  const ProgramCode code{key, source.name};
  return code.run([&] {
    std::unique_ptr<OwnDataSet> own = source.open(request);
    check(own != nullptr, source.name, " opens no data set for '", request.text, "'");
    return std::make_unique<OwnExamples>(code, std::move(own), request, fed);
  });
}

}  // namespace lockstep
