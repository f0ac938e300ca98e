// SPDX-License-Identifier: Apache-2.0
// Data sets in a few files of equal records, read into memory as a whole.
#pragma once

#include <memory>

#include "data/dataset.h"

namespace lockstep {

// CIFAR-10's binary version: data_batch_1.bin .. data_batch_5.bin, held out test_batch.bin.
// Training images are padded by 4, cropped at random and mirrored at random.
std::unique_ptr<Dataset> cifar10(const DatasetOptions& options);
Preparation cifar10_preparation(const DatasetOptions& options);
// MNIST's idx files: train-images-idx3-ubyte and train-labels-idx1-ubyte, held out t10k-...
std::unique_ptr<Dataset> mnist(const DatasetOptions& options);
Preparation mnist_preparation(const DatasetOptions& options);

}  // namespace lockstep
