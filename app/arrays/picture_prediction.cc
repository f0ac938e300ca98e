// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/picture_prediction.h"

#include <filesystem>
#include <iostream>
#include <map>

#include "app/arrays/fed_names.h"
#include "app/arrays/masked_source.h"
#include "app/arrays/named_values.h"
#include "app/arrays/pictures_of_rows.h"
#include "app/arrays/prediction.h"
#include "app/draw/masks.h"
#include "app/onnx/inference_run.h"
#include "app/onnx/network_part.h"
#include "app/predict/output_folder.h"
#include "graph/file_name.h"
#include "graph/limits.h"
#include "graph/printable.h"
#include "lockstep/feeds.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

constexpr int64_t kPicturesAtATime = 8;

// An output that becomes a file for each picture.
struct PictureOutput {
  std::string name;
  std::size_t place = 0;  // among the network's outputs
  bool is_mask = false;
  double above = 0;
  std::string ending;  // of the file, after the picture's name
};

std::vector<PictureOutput> picture_outputs(const Graph& network, const std::string& path,
                                           const TrainedData& data) {
  std::vector<PictureOutput> outputs;
  int masks = 0;
  for (std::size_t place = 0; place < network.outputs().size(); ++place) {
    const Value value = network.outputs()[place];
    const std::string& name = network.name(value);
    const TensorType& type = network.type(value);
    if (type.ranked && type.shape.empty()) continue;  // a loss has no row for each picture
    const auto scores = data.mask_limits.find(name);
    const bool is_one_channel =
        type.ranked && type.shape.size() == 3 && scores != data.mask_limits.end();
    check(type.dtype == DType::float32 && type.ranked && (type.shape.size() == 4 || is_one_channel),
          path, ": its output '", name, "' is ", type, ", neither scores of a mask nor a picture");
    const Shape& shape = type.shape;
    const bool has_shape_of_picture = shape.size() == 4 && shape[1] == Dim(3) &&
                                      shape[2] == Dim(data.preparation->height) &&
                                      shape[3] == Dim(data.preparation->width);
    PictureOutput& output = outputs.emplace_back(PictureOutput{name, place, false, 0, ""});
    output.is_mask = scores != data.mask_limits.end() || !has_shape_of_picture;
    if (scores != data.mask_limits.end()) output.above = scores->second;
    const auto maker = network.producer(value);
    if (output.above == 0 && maker && maker->type() == "Sigmoid") output.above = 0.5;
    masks += output.is_mask;
  }
  for (PictureOutput& output : outputs)
    output.ending = output.is_mask && masks == 1 ? "" : "." + file_name_of(output.name);
  return outputs;
}

// The inputs, which all are pictures.
std::vector<std::string> picture_inputs(const Graph& network, const std::string& path,
                                        const TrainedData& data) {
  const auto sources = texts_of(data.config.sources);
  std::vector<std::string> inputs;
  for (const FedArray& fed : fed_arrays(network, false)) {
    const std::string source = value_or(sources, fed.name, fed.name);
    check(source == kImageTensor, path, ": takes '", fed.name, "' (", source,
          ") for a prediction, but a folder of pictures has no masks");
    inputs.push_back(fed.name);
  }
  return inputs;
}

// Names of files without their endings, which name the results.
std::vector<std::string> stems_of(const std::vector<std::string>& files) {
  std::map<std::string, std::string> seen;
  std::vector<std::string> stems;
  for (const std::string& file : files) {
    stems.push_back(std::filesystem::path(file).stem().string());
    const auto [same, is_new] = seen.emplace(stems.back(), file);
    check(is_new, "'", file, "' and '", same->second,
          "' would give results of the same name; predict them into two folders");
  }
  return stems;
}

class PicturePredictor {
 public:
  PicturePredictor(const TrainingModel& network, const std::string& path, const TrainedData& data,
                   const InferOptions& options)
      : graph_(network.inference),
        made_(*data.preparation),
        outputs_(picture_outputs(network.inference, path, data)),
        inputs_(picture_inputs(network.inference, path, data)),
        fixed_(rows_of_network(network.inference, false)),
        files_(pictures_named(options.files)),
        stems_(stems_of(files_)),
        folder_(options.out) {
    std::vector<std::string> names;
    for (const std::string& stem : stems_)
      for (const PictureOutput& output : outputs_) {
        names.push_back(stem + output.ending + ".png");
        if (output.is_mask) names.push_back(stem + output.ending + ".overlay.jpg");
      }
    folder_.check_replaceable(names);
  }

  // The number of pictures that could not be read.
  int predict_all() {
    const auto rows = static_cast<std::size_t>(fixed_ > 0 ? fixed_ : kPicturesAtATime);
    for (std::size_t i = 0; i < files_.size(); ++i) {
      try {
        batch_.push_back({i, read_image(files_[i])});
      } catch (const NoMemory&) {
        throw;
      } catch (const Error& error) {
        std::cerr << "lockstep: " << printable_lines(error.what()) << "\n";
        ++unreadable_;
      }
      if (batch_.size() == rows) predict_batch();
    }
    if (!batch_.empty()) predict_batch();
    return unreadable_;
  }

 private:
  struct Read {
    std::size_t file;
    Image image;
  };

  void predict_batch() {
    const auto count = static_cast<int64_t>(batch_.size());
    const int64_t rows = fixed_ > 0 ? fixed_ : count;
    Literal pictures(DType::float32, {rows, made_.channels, made_.height, made_.width});
    const Tensor all = view_of(pictures);
    for (int64_t row = 0; row < rows; ++row) {  // repeats pictures where none is left
      const Image& image = batch_[row % count].image;
      const Region whole{0, 0, static_cast<double>(image.height), static_cast<double>(image.width)};
      prepare(image, made_, whole, false, all.as<float>() + row * made_.values());
    }
    std::map<std::string, Literal> fed;
    for (const std::string& input : inputs_) fed.emplace(input, pictures);
    const std::vector<Literal> results = run_inference(graph_, fed, all_kernels());
    for (int64_t row = 0; row < count; ++row)
      for (std::size_t i = 0; i < outputs_.size(); ++i)
        write_result(batch_[row], outputs_[i],
                     rows_from(view_of(results[outputs_[i].place]), {row, 1}));
    batch_.clear();
  }

  void write_result(const Read& read, const PictureOutput& output, Tensor row) {
    if (row.desc.dims.size() == 3) row.desc.dims.insert(row.desc.dims.begin() + 1, 1);
    const std::string name = stems_[read.file] + output.ending;
    if (output.is_mask) {
      const PngValues mask =
          resized_mask(mask_of_scores(row, output.above), read.image.height, read.image.width);
      folder_.write(name + ".png", png_of(mask, mask_palette()));
      folder_.write(name + ".overlay.jpg", jpeg_of(overlaid(read.image, mask)));
    } else {
      folder_.write(name + ".png", png_of(picture_in(row, made_)));
    }
    std::cout << printable(files_[read.file]) << "  " << printable(name) << ".png\n";
  }

  const Graph& graph_;
  Preparation made_;
  std::vector<PictureOutput> outputs_;
  std::vector<std::string> inputs_;
  int64_t fixed_;  // the number of pictures that the network takes at a time; 0: any number
  std::vector<std::string> files_, stems_;
  OutputFolder folder_;
  std::vector<Read> batch_;
  int unreadable_ = 0;
};

}  // namespace

int predict_pictures(const TrainingModel& network, const std::string& path, const TrainedData& data,
                     const InferOptions& options) {
  check_out(options, "the masks, as NAME.png");
  PicturePredictor predictor(network, path, data, options);
  const int unreadable = predictor.predict_all();
  check(unreadable == 0, unreadable, unreadable == 1 ? " picture" : " pictures",
        " could not be read");
  return 0;
}

}  // namespace lockstep
