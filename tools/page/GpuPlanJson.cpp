//===- GpuPlanJson.cpp - A GPU's part of a plan, for the page -------------===//
#include "tools/page/GpuPlanJson.h"

#include "artifact/ProgramView.h"
#include "tools/page/FlatPlan.h"

#include <algorithm>

namespace nnv12::tools {

std::string stageName(bundle::GpuStage stage) {
  return lowered(bundle::EnumNameGpuStage(stage));
}

static constexpr double microseconds(uint64_t nanoseconds) {
  return double(nanoseconds) * 1e-3;
}

const char *moduleName(const bundle::Gpu *code, uint32_t pipeline) {
  uint32_t module = code->pipelines()->Get(pipeline)->module_();
  return code->modules()->Get(module)->name()->c_str();
}

/// Sets the text that says what it brings about.
static void describe(const bundle::Gpu *code,
                     const bundle::GpuPreparation *preparation,
                     PlannedGpuPreparation &result) {
  switch (preparation->stage()) {
  case bundle::GpuStage_Device:
    result.what = "instance and device";
    return;
  case bundle::GpuStage_Pipeline:
    for (uint32_t pipeline : *preparation->pipelines())
      result.what += (result.what.empty() ? "" : ", ") +
                     std::string(moduleName(code, pipeline));
    result.pipelines = preparation->pipelines()->size();
    return;
  case bundle::GpuStage_Upload:
    for (const bundle::Upload *upload : *preparation->uploads())
      result.bytes += upload->size();
    result.what = bytesText(result.bytes) + " of weights";
    return;
  case bundle::GpuStage_Record:
    result.what = "stretch " + std::to_string(preparation->stretch());
    return;
  }
}

std::vector<PlannedGpuPreparation>
plannedGpuPreparations(const bundle::GpuOverlays *overlays,
                       const bundle::Program *program) {
  std::vector<PlannedGpuPreparation> result;
  const bundle::ProgramGpu *gpu = artifact::overlayOf(overlays, program);
  if (!gpu)
    return result;
  for (uint32_t lane = 0; lane < gpu->lanes()->size(); ++lane)
    for (uint32_t number : *gpu->lanes()->Get(lane)->queue()) {
      PlannedGpuPreparation &entry = result.emplace_back();
      entry.index = number - program->operations()->size();
      const bundle::GpuPreparation *preparation =
          gpu->preparations()->Get(entry.index);
      entry.id = operationName(program, number);
      entry.stage = preparation->stage();
      entry.lane = lane;
      entry.after = operationNames(program, preparation->after());
      entry.start = preparation->predicted_start();
      entry.end = preparation->predicted_end();
      describe(overlays->gpu(), preparation, entry);
    }
  return result;
}

namespace {

/// Writes the overlay of one program.
class GpuPage {
public:
  GpuPage(Json &json, const bundle::GpuOverlays *overlays,
          const bundle::Program *program)
      : json_(json), overlays_(overlays), code_(overlays->gpu()),
        program_(program), gpu_(artifact::overlayOf(overlays, program)) {}

  void add() {
    json_.key("gpu").beginObject();
    json_.member("start",
                 artifact::findOverlay(program_, bundle::OverlayKind_Gpu)
                             ->head()
                             ->start() == bundle::OverlayStart_AtOpen
                     ? "when the bundle is opened"
                     : "after the first result");
    json_.member("predicted_cold", microseconds(gpu_->predicted_cold()));
    json_.member("predicted_warm", microseconds(gpu_->predicted_warm()));
    json_.member("lanes", gpu_->lanes()->size());
    json_.objects(
        "preparations", plannedGpuPreparations(overlays_, program_),
        [&](const auto &preparation) { addPreparation(preparation); });
    json_.key("stretches").beginArray();
    for (uint32_t i = 0; i < gpu_->stretches()->size(); ++i)
      addStretch(i);
    json_.endArray().key("pipelines").beginArray();
    for (uint32_t i = 0; i < code_->pipelines()->size(); ++i)
      addPipeline(i);
    json_.endArray().endObject();
  }

private:
  void addPreparation(const PlannedGpuPreparation &preparation) {
    json_.member("id", preparation.id);
    json_.member("stage", stageName(preparation.stage));
    json_.member("lane", preparation.lane).member("layer", preparation.what);
    if (!preparation.after.empty())
      json_.array("after", preparation.after);
    if (preparation.isPredicted()) {
      json_.member("start", microseconds(preparation.start));
      json_.member("duration",
                   microseconds(preparation.end - preparation.start));
    }
  }

  /// One that the first run may take starts, if all goes as predicted, where
  /// its first layer would, once it is ready.
  void addStretch(uint32_t index) {
    const bundle::Stretch *stretch = gpu_->stretches()->Get(index);
    const bundle::Operation *first =
                                program_->operations()->Get(stretch->first()),
                            *last = program_->operations()->Get(
                                stretch->first() + stretch->count() - 1);
    json_.beginObject().member("first",
                               operationName(program_, stretch->first()));
    json_.member("layer",
                 first->layer()->str() +
                     (first == last ? "" : " … " + last->layer()->str()));
    json_.member("layers", stretch->count());
    json_.member("dispatches", stretch->dispatches()->size());
    if (uint32_t parts = artifact::elementsOf(stretch->parts()).size())
      json_.member("parts", parts);
    json_.member("in", bytesOf(stretch->in()));
    json_.member("out", bytesOf(stretch->out()))
        .member("cold", stretch->cold());
    const auto &warm = artifact::elementsOf(gpu_->warm());
    json_.member("warm",
                 std::find(warm.begin(), warm.end(), index) != warm.end());
    if (stretch->predicted()) {
      json_.member("duration", microseconds(stretch->predicted()));
      if (stretch->cold() && first->predicted_end()) {
        uint64_t start = first->predicted_start();
        for (uint32_t before : artifact::elementsOf(stretch->after()))
          start = std::max(start, endOf(before));
        json_.member("start", microseconds(start));
      }
    }
    json_.endObject();
  }

  void addPipeline(uint32_t index) {
    const bundle::GpuPipeline *pipeline = code_->pipelines()->Get(index);
    uint64_t dispatches = 0, predicted = 0;
    for (const bundle::Stretch *stretch : *gpu_->stretches())
      for (const bundle::Dispatch *dispatch : *stretch->dispatches())
        if (dispatch->pipeline() == index) {
          ++dispatches;
          predicted += dispatch->predicted();
        }
    if (!dispatches)
      return;
    json_.beginObject().member("name", moduleName(code_, index));
    json_.member("bytes",
                 uint64_t(code_->modules()->Get(pipeline->module_())->words()) *
                     4);
    json_.member("invocations", uint64_t(pipeline->local()->x()) *
                                    pipeline->local()->y() *
                                    pipeline->local()->z());
    json_.member("shared", pipeline->shared()).member("dispatches", dispatches);
    json_.member("predicted", microseconds(predicted)).endObject();
  }

  /// When an operation is predicted to have finished; 0: not known.
  uint64_t endOf(uint32_t number) const {
    uint32_t ours = program_->operations()->size();
    return number < ours
               ? program_->operations()->Get(number)->predicted_end()
               : gpu_->preparations()->Get(number - ours)->predicted_end();
  }

  uint64_t bytesOf(const flatbuffers::Vector<flatbuffers::Offset<bundle::Rows>>
                       *list) const {
    uint64_t bytes = 0;
    for (const bundle::Rows *rows : *list)
      bytes += rows->bytes();
    return bytes;
  }

  Json &json_;
  const bundle::GpuOverlays *overlays_;
  const bundle::Gpu *code_;
  const bundle::Program *program_;
  const bundle::ProgramGpu *gpu_;
};

} // namespace
void addGpuPlan(Json &json, const bundle::GpuOverlays *overlays,
                const bundle::Program *program) {
  if (artifact::overlayOf(overlays, program))
    GpuPage(json, overlays, program).add();
}

} // namespace nnv12::tools
