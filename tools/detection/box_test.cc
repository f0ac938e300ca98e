#include "tools/detection/box_test.h"

#include "graph/error.h"
#include "tools/detection/proposal_file.h"

namespace lockstep {
namespace {

struct PictureShare {
  std::size_t first = 0, step = 1;
};
PictureShare share_of_pictures(const Comm* comm) {
  if (!comm) return {};
  return {static_cast<std::size_t>(comm->rank()), static_cast<std::size_t>(comm->size())};
}

}  // namespace

BoxTest::BoxTest(const DetectorConfig& config, Session& session, const PictureSet& pictures,
                 PictureProposals proposals)
    : config_(config),
      session_(session),
      pictures_(pictures),
      proposals_(std::move(proposals)),
      finder_(config, session) {
  const Annotations& table = pictures.annotations();
  const DetectionModelOptions& model = config.network.model;
  const auto categories = static_cast<int64_t>(table.categories.size());
  check(model.rpn_only || model.num_classes == categories + 1, "MODEL.NUM_CLASSES is ",
        model.num_classes, ", but ", table.path, " has ", categories,
        " categories; with the background, should be ", categories + 1);
}

PictureList BoxTest::own_pictures() const {
  const std::vector<CocoImage>& images = pictures_.annotations().images;
  const PictureShare share = share_of_pictures(session_.comm());
  const auto number = [share](std::size_t own) { return share.first + own * share.step; };
  PictureList list;
  for (std::size_t i = share.first; i < images.size(); i += share.step)
    list.sizes.push_back({images[i].height, images[i].width});
  list.read = [this, number](std::size_t own) { return pictures_.picture(number(own)); };
  if (proposals_)
    list.proposals = [this, number](std::size_t own) { return proposals_(number(own)); };
  return list;
}

int BoxTest::threads() const { return session_.threads() * session_.model().replicas; }

BoxTestResult BoxTest::test() {
  const PictureList list = own_pictures();
  std::vector<FoundBoxes> found = finder_.find(list);
  const Annotations& truth = pictures_.annotations();
  if (Comm* comm = session_.comm()) {
    found = gather_boxes(*comm, found, truth.images.size());
    if (comm->rank() > 0) return {};
  }
  return scored(std::move(found), truth, config_.network.model.rpn_only, threads());
}

BoxTestResult scored(std::vector<FoundBoxes> found, const Annotations& truth, bool proposals_only,
                     int threads) {
  check(found.size() == truth.images.size(), "boxes of ", found.size(), " pictures, but ",
        truth.path, " has ", truth.images.size());
  const std::vector<Detection> detections = detections_of(found);
  BoxTestResult result;
  if (proposals_only)
    result.proposals = ProposalScores{evaluate_proposals(truth, detections, 100, threads),
                                      evaluate_proposals(truth, detections, 1000, threads)};
  else
    result.scores = evaluate_boxes(truth, detections, threads);
  result.found = std::move(found);
  return result;
}

std::string write_found(const std::string& folder, const std::string& set, const Annotations& of,
                        const BoxTestResult& result) {
  if (result.proposals) {
    const std::string path = folder + "/proposals.safetensors";
    write_proposals(path, set, of, result.found);
    return path;
  }
  check(set.find('/') == set.npos, "the data set '", set,
        "' cannot be part of a file's name: it contains a /");
  const std::string path = folder + "/bbox_" + set + "_results.json";
  write_results(path, of, detections_of(result.found));
  return path;
}

}  // namespace lockstep
