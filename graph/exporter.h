// What an exporter did to a network that it took for one to predict with. For io.cc.
#pragma once

#include <string>

namespace onnx {
class ModelProto;
}

namespace lockstep {

// What cannot train any more, and the options of the exporter that keep it; "" where nothing shows.
std::string lost_to_optimisation(const onnx::ModelProto& proto);

}  // namespace lockstep
