// SPDX-License-Identifier: Apache-2.0
// Data sets of the program that calls run_command(), as data sets of the task `arrays`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/arrays/example_source.h"
#include "lockstep/command.h"

namespace lockstep {

// Sets the sources of this process, before any command runs and before any other thread starts.
// Throws for a source without a name or function, or with the name of another data set.
void set_own_sources(const std::vector<OwnDataSource>& sources);

// The records of the sources that are set.
const std::vector<ExampleSource>& own_example_sources();

// A set that has the tensors of `request` alone, in this order, under the names of `fed`. Throws an
// error that names `key` if the set lacks a tensor, or has one that does not fit.
std::unique_ptr<ExampleSet> own_examples(const OwnDataSource& source, const std::string& key,
                                         const OwnDataRequest& request,
                                         const std::vector<std::string>& fed);

}  // namespace lockstep
