// SPDX-License-Identifier: Apache-2.0
// The readers, each in its own file.
#pragma once

#include <string>
#include <vector>

namespace lockstep::fuzz {

using Seeds = std::vector<std::string>;

// An ONNX model: loads, verifies and prints the model; plans and runs it if it is small.
void read_onnx(const std::string& bytes);
Seeds onnx_seeds();

// lockstep.KEY VALUE, one per line, as metadata of a training step and of a trained network.
void read_metadata(const std::string& text);
Seeds metadata_seeds();

void read_safetensors_file(const std::string& bytes);
Seeds safetensors_seeds();

// A CONFIG.yaml.
void read_configuration(const std::string& text);
Seeds config_seeds();

void read_npy_file(const std::string& bytes);
Seeds npy_seeds();

// The arrays of a data set in a .npz or a .csv file.
void read_npz_arrays(const std::string& bytes);
Seeds npz_seeds();
void read_csv_arrays(const std::string& text);
Seeds csv_seeds();

// Annotations in COCO's format: reads, trains on, scores against themselves, writes and reads
// again.
void read_coco(const std::string& bytes);
Seeds coco_seeds();

// A polygon or run lengths of a mask: draws, combines, mirrors, follows the contours.
void read_mask(const std::string& text);
Seeds mask_seeds();

// A picture's annotations in Pascal VOC's format.
void read_voc_file(const std::string& bytes);
Seeds voc_seeds();

// A picture file of any format.
void read_picture(const std::string& bytes);
Seeds picture_seeds();
Seeds webp_seeds();
Seeds bmp_seeds();

// A picture's EXIF block with the orientation of the camera.
void read_exif(const std::string& bytes);
Seeds exif_seeds();

// All-reduce, packing, topology, order of a ring, buckets.
void read_specification(const std::string& text);
Seeds specification_seeds();

void read_devices(const std::string& text);
Seeds devices_seeds();

// A checkpoint's record of environments and their episodes.
void read_episodes(const std::string& text);
Seeds episodes_seeds();

// Messages to the keeper of a store from a member (after an m) or a stranger (s), or the answers of
// a false keeper (a).
void read_store_messages(const std::string& bytes);
Seeds store_seeds();

}  // namespace lockstep::fuzz
