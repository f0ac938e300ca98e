// SPDX-License-Identifier: Apache-2.0
// Data sets in a few files of equal records. The whole set is read into memory.
#pragma once

#include <memory>

#include "data/dataset.h"

namespace lockstep {

// CIFAR-10's binary version: data_batch_1.bin .. data_batch_5.bin, and test_batch.bin for held-out
// images. Training images are padded by 4, randomly cropped and randomly mirrored.
std::unique_ptr<Dataset> cifar10(const DatasetOptions& options);
Preparation cifar10_preparation(const DatasetOptions& options);
// MNIST's idx files: train-images-idx3-ubyte and train-labels-idx1-ubyte, and t10k-... for held-out
// images.
std::unique_ptr<Dataset> mnist(const DatasetOptions& options);
Preparation mnist_preparation(const DatasetOptions& options);

}  // namespace lockstep
