// SPDX-License-Identifier: Apache-2.0
// The readers, each in a file of its own.
#pragma once

#include <string>
#include <vector>

namespace lockstep::fuzz {

using Seeds = std::vector<std::string>;

// An ONNX model: loaded, verified, printed; then, where it is small, planned and run.
void read_onnx(const std::string& bytes);
Seeds onnx_seeds();

// lockstep.KEY VALUE, a line each, as metadata of a training step and of a trained network.
void read_metadata(const std::string& text);
Seeds metadata_seeds();

void read_safetensors_file(const std::string& bytes);
Seeds safetensors_seeds();

// A CONFIG.yaml.
void read_configuration(const std::string& text);
Seeds config_seeds();

void read_npy_file(const std::string& bytes);
Seeds npy_seeds();

// Annotations in COCO's form: read, trained on, scored by themselves, written, read again.
void read_coco(const std::string& bytes);
Seeds coco_seeds();

// A file of any format of pictures.
void read_picture(const std::string& bytes);
Seeds picture_seeds();
Seeds webp_seeds();
Seeds bmp_seeds();

// The block of a picture that says how the camera was held.
void read_exif(const std::string& bytes);
Seeds exif_seeds();

// All-reduce, packing, topology, order of a ring, buckets.
void read_specification(const std::string& text);
Seeds specification_seeds();

void read_devices(const std::string& text);
Seeds devices_seeds();

// What a checkpoint keeps of environments and their episodes.
void read_episodes(const std::string& text);
Seeds episodes_seeds();

// What is said to the keeper of a store by a member (after an m) or a stranger (s), or is answered
// by a keeper that is none (a).
void read_store_messages(const std::string& bytes);
Seeds store_seeds();

}  // namespace lockstep::fuzz
