//===- GpuText.cpp - A GPU's part, as text and JSON -----------------------===//
#include "tools/nnv12-inspect/GpuText.h"

#include "artifact/Compatibility.h"
#include "artifact/Fault.h"
#include "artifact/Hexadecimal.h"
#include "artifact/ProgramView.h"
#include "tools/common/TextFormat.h"
#include "tools/nnv12-inspect/PlanText.h"
#include "tools/page/FlatPlan.h"
#include "tools/page/GpuPlanJson.h"

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

namespace nnv12::tools {

static bundle::OverlayStart startOf(const bundle::Program *program) {
  return artifact::findOverlay(program, bundle::OverlayKind_Gpu)
      ->head()
      ->start();
}

static const char *startName(bundle::OverlayStart start) {
  static constexpr const char *names[] = {"at_open", "after_first"};
  static_assert(std::size(names) == bundle::OverlayStart_MAX + 1);
  return names[start];
}

/// The text of an API version.
static std::string versionText(uint32_t api) {
  return std::to_string(api >> 22 & 127) + "." +
         std::to_string(api >> 12 & 1023);
}

static std::string extentText(const bundle::GpuExtent *extent) {
  return std::to_string(extent->x()) + "x" + std::to_string(extent->y()) + "x" +
         std::to_string(extent->z());
}

/// "arena[0, 256)" or "boundary2[0, 256)", of the GPU.
static std::string rangeText(const bundle::GpuOperand *operand) {
  std::string text = lowered(bundle::EnumNameGpuSpace(operand->space()));
  if (operand->space() == bundle::GpuSpace_Boundary)
    text += std::to_string(operand->index());
  return text + rangeText(operand->offset(), operand->size());
}

/// " (4 x 64 of each 128)": the bytes that a dispatch touches through an
/// operand; empty: all.
static std::string touchedText(const bundle::Dispatch *dispatch,
                               uint32_t operand) {
  for (const bundle::Touched *touched :
       artifact::elementsOf(dispatch->touched()))
    if (touched->operand() == operand)
      return format(" (%u x %" PRIu64 " of each %" PRIu64 ")", touched->count(),
                    touched->bytes(), touched->stride());
  return "";
}

/// The name of a dimension of a result.
static std::string dimName(uint8_t dim) {
  static constexpr const char *names[] = {"batch", "channels", "rows"};
  return dim < std::size(names) ? names[dim]
                                : "dimension " + std::to_string(dim);
}

static bool isSplit(const bundle::Stretch *stretch) {
  return stretch->kind() == bundle::StretchKind_Split;
}

/// "Int64", "Float16": of a device; bits without a name as "bit 40".
static std::vector<std::string>
featuresOf(const bundle::GpuPipeline *pipeline) {
  std::vector<std::string> features;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (!(pipeline->features() >> bit & 1))
      continue;
    const char *name =
        bundle::EnumNameGpuFeature(bundle::GpuFeature(uint64_t(1) << bit));
    features.push_back(*name ? name : "bit " + std::to_string(bit));
  }
  return features;
}

static uint64_t sizeOf(const bundle::ProgramGpu *gpu, bundle::MemoryKind kind) {
  for (const bundle::Memory *memory : *gpu->memories())
    if (memory->kind() == kind)
      return memory->size();
  return 0;
}

/// The numbers of a list, as "0, 2".
static std::string listText(const flatbuffers::Vector<uint32_t> *list) {
  std::string text;
  for (uint32_t number : artifact::elementsOf(list))
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

/// Why this version does not understand the overlay of the program; empty: it
/// does.
static std::string findNewer(const bundle::Bundle *bundle,
                             const bundle::GpuOverlays *overlays,
                             const bundle::Program *program) {
  artifact::Fault why;
  return artifact::isUnderstood(bundle, overlays, program, 0, why)
             ? ""
             : reasonOf(why, "program 0: gpu: ");
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printPipeline(const bundle::Gpu *gpu, uint32_t index) {
  const bundle::GpuPipeline *pipeline = gpu->pipelines()->Get(index);
  std::string written, more;
  for (uint32_t i = 0; i < pipeline->bindings(); ++i)
    if (pipeline->written() >> i & 1)
      written += (written.empty() ? "" : ", ") + std::to_string(i);
  if (artifact::elementsOf(pipeline->constants()).size())
    more += ", constants " + listText(pipeline->constants());
  if (pipeline->shared())
    more += ", " + std::to_string(pipeline->shared()) + " bytes shared";
  for (const std::string &name : featuresOf(pipeline))
    more += ", " + name;
  printf("    %u  %s: %u bindings, writes %s, pushes %u words, local %s%s\n",
         index, moduleName(gpu, index), pipeline->bindings(), written.c_str(),
         pipeline->push_words(), extentText(pipeline->local()).c_str(),
         more.c_str());
}

void printGpu(const bundle::GpuOverlays *overlays, bool summary) {
  if (!overlays)
    return;
  const bundle::Gpu *gpu = overlays->gpu();
  printf("\ngpu: Vulkan %s, code in segment %u, %u modules, %u pipelines\n",
         versionText(gpu->api()).c_str(), gpu->code(), gpu->modules()->size(),
         gpu->pipelines()->size());
  if (summary)
    return;
  printf("  modules\n    #  %10s %8s  BLAKE2bp-256\n", "offset", "words");
  for (uint32_t i = 0; i < gpu->modules()->size(); ++i) {
    const bundle::GpuModule *module = gpu->modules()->Get(i);
    printf("    %u  %10" PRIu64 " %8u  %s  %s\n", i, module->offset(),
           module->words(),
           artifact::hexadecimal(module->digest()->data(),
                                 module->digest()->size())
               .c_str(),
           module->name()->c_str());
  }
  printf("  pipelines\n");
  for (uint32_t i = 0; i < gpu->pipelines()->size(); ++i)
    printPipeline(gpu, i);
}

static void printPreparation(const bundle::GpuOverlays *overlays,
                             const bundle::Program *program, uint32_t number) {
  const bundle::GpuPreparation *preparation =
      artifact::overlayOf(overlays, program)
          ->preparations()
          ->Get(number - program->operations()->size());
  printTimes(preparation->predicted_end() != 0, preparation->predicted_start(),
             preparation->predicted_end());
  printf("  %-6s %-9s", operationName(program, number).c_str(),
         stageName(preparation->stage()).c_str());
  std::vector<std::string> parts;
  for (uint32_t index : artifact::elementsOf(preparation->pipelines()))
    parts.push_back(std::to_string(index) + " " +
                    moduleName(overlays->gpu(), index));
  for (const bundle::Upload *upload :
       artifact::elementsOf(preparation->uploads())) {
    parts.push_back(rangeText(program, upload->source()) + " -> prepared" +
                    rangeText(upload->offset(), upload->size()));
    if (upload->codec() != bundle::Codec_Stored || upload->planes() > 1)
      parts.back() +=
          format(" (%s, %u planes)", codecName(upload->codec()).c_str(),
                 upload->planes());
  }
  printf("%s%s", parts.empty() ? "" : " ", join(parts).c_str());
  if (preparation->stage() == bundle::GpuStage_Record)
    printf(" stretch %u", preparation->stretch());
  printf("%s\n", afterText(program, preparation->after()).c_str());
}

static void
printRows(const bundle::Program *program, const bundle::ProgramGpu *gpu,
          const char *what,
          const flatbuffers::Vector<flatbuffers::Offset<bundle::Rows>> *list) {
  for (const bundle::Rows *rows : *list) {
    const bundle::Boundary *boundary = gpu->boundaries()->Get(rows->boundary());
    printf("      %-4s boundary%u%s, of %s\n", what, rows->boundary(),
           rangeText(rows->offset(), rows->bytes()).c_str(),
           rangeText(program, boundary->host()).c_str());
  }
}

static void printDispatch(const bundle::GpuOverlays *overlays,
                          const bundle::Program *program,
                          const bundle::Dispatch *dispatch) {
  const bundle::Gpu *gpu = overlays->gpu();
  const bundle::GpuPipeline *pipeline =
      gpu->pipelines()->Get(dispatch->pipeline());
  std::string writes, reads;
  for (uint32_t k = 0; k < dispatch->operands()->size(); ++k)
    (pipeline->written() >> k & 1 ? writes : reads) +=
        " " + rangeText(dispatch->operands()->Get(k)) +
        touchedText(dispatch, k);
  std::string push = listText(dispatch->push());
  printf("      %-4s %s, %u %s, groups %s%s%s:%s <-%s\n",
         operationName(program, dispatch->operation()).c_str(),
         program->operations()->Get(dispatch->operation())->layer()->c_str(),
         dispatch->pipeline(), moduleName(gpu, dispatch->pipeline()),
         extentText(dispatch->groups()).c_str(),
         push.empty() ? "" : (", push " + push).c_str(),
         dispatch->barrier() ? ", barrier" : "", writes.c_str(), reads.c_str());
}

/// Prints a CPU's part of a split stretch.
static void printPart(const bundle::Bundle *bundle,
                      const bundle::Program *program,
                      const bundle::Operation *part) {
  const bundle::Kernel *kernel =
      artifact::kernelOf(artifact::targetOf(bundle, program), part);
  std::string writes, reads;
  for (uint32_t k = 0; k < part->operands()->size(); ++k)
    (k < kernel->outputs() ? writes : reads) +=
        " " + rangeText(program, part->operands()->Get(k));
  printf("      part %s, kernel %u %s, tiles %" PRIu64 " to %" PRIu64
         " of %" PRIu64 ":%s <-%s\n",
         part->layer()->c_str(), part->kernel(), kernel->name()->c_str(),
         part->tile_begin(), part->tile_end(), kernel->tiles(), writes.c_str(),
         reads.c_str());
}

static void printStretch(const bundle::Bundle *bundle,
                         const bundle::GpuOverlays *overlays,
                         const bundle::Program *program, uint32_t index,
                         bool summary) {
  const bundle::ProgramGpu *gpu = artifact::overlayOf(overlays, program);
  const bundle::Stretch *stretch = gpu->stretches()->Get(index);
  uint32_t parts = artifact::elementsOf(stretch->parts()).size();
  std::string split;
  if (isSplit(stretch))
    split = ", split at " + dimName(stretch->dim()) + " " +
            std::to_string(stretch->at()) + ", " + std::to_string(parts) +
            " parts";
  printf(
      "    stretch %u: %s to %s, %u dispatches%s, %s, %s%s\n", index,
      operationName(program, stretch->first()).c_str(),
      operationName(program, stretch->first() + stretch->count() - 1).c_str(),
      stretch->dispatches()->size(), split.c_str(),
      stretch->cold() ? "any run" : "later runs",
      predictionText(stretch->predicted()).c_str(),
      afterText(program, stretch->after()).c_str());
  if (summary)
    return;
  printRows(program, gpu, "in", stretch->in());
  for (const bundle::Dispatch *dispatch : *stretch->dispatches())
    printDispatch(overlays, program, dispatch);
  for (const bundle::Operation *part : artifact::elementsOf(stretch->parts()))
    printPart(bundle, program, part);
  printRows(program, gpu, "out", stretch->out());
}

void printOverlay(const bundle::Bundle *bundle,
                  const bundle::GpuOverlays *overlays,
                  const bundle::Program *program, bool summary) {
  const bundle::ProgramGpu *gpu = artifact::overlayOf(overlays, program);
  if (!gpu)
    return;
  std::string newer = findNewer(bundle, overlays, program);
  if (!newer.empty()) {
    printf("  gpu: for newer readers: %s\n", newer.c_str());
    return;
  }
  printf("  gpu: cold %s, warm %s; prepares %s; arena %" PRIu64
         " bytes, prepared %" PRIu64 " bytes, %u stretches, warm: %s\n",
         predictionText(gpu->predicted_cold()).c_str(),
         predictionText(gpu->predicted_warm()).c_str(),
         startOf(program) == bundle::OverlayStart_AtOpen
             ? "at once"
             : "after the first result",
         sizeOf(gpu, bundle::MemoryKind_Arena),
         sizeOf(gpu, bundle::MemoryKind_Prepared), gpu->stretches()->size(),
         artifact::elementsOf(gpu->warm()).size()
             ? listText(gpu->warm()).c_str()
             : "none");
  for (uint32_t i = 0; !summary && i < gpu->boundaries()->size(); ++i) {
    const bundle::Boundary *boundary = gpu->boundaries()->Get(i);
    printf("    boundary %u: %s, arena%s of the GPU\n", i,
           rangeText(program, boundary->host()).c_str(),
           rangeText(boundary->device(), boundary->host()->size()).c_str());
  }
  for (uint32_t i = 0; i < gpu->lanes()->size(); ++i) {
    const bundle::Lane *lane = gpu->lanes()->Get(i);
    printf("    gpu lane %u: %s, %s, %u in its queue\n", i,
           laneName(lane->kind()).c_str(), coreName(lane->core()).c_str(),
           lane->queue()->size());
    for (uint32_t k = 0; !summary && k < lane->queue()->size(); ++k)
      printPreparation(overlays, program, lane->queue()->Get(k));
  }
  for (uint32_t i = 0; i < gpu->stretches()->size(); ++i)
    printStretch(bundle, overlays, program, i, summary);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void addExtent(Json &json, const char *name,
                      const bundle::GpuExtent *extent) {
  json.array(name, std::array{extent->x(), extent->y(), extent->z()});
}

void addGpu(Json &json, const bundle::GpuOverlays *overlays) {
  if (!overlays)
    return;
  const bundle::Gpu *gpu = overlays->gpu();
  json.key("gpu").beginObject().member("api", versionText(gpu->api()));
  json.member("code_segment", gpu->code());
  json.objects("modules", *gpu->modules(), [&](const auto *module) {
    json.member("name", module->name()->str());
    json.member("offset", module->offset()).member("words", module->words());
    json.member("digest", artifact::hexadecimal(module->digest()->data(),
                                                module->digest()->size()));
  });
  json.objects("pipelines", *gpu->pipelines(), [&](const auto *pipeline) {
    json.member("module", pipeline->module_());
    json.member("bindings", uint32_t(pipeline->bindings()));
    json.member("written", pipeline->written());
    json.member("push_words", uint32_t(pipeline->push_words()));
    json.array("constants", artifact::elementsOf(pipeline->constants()));
    addExtent(json, "local", pipeline->local());
    json.member("shared", pipeline->shared());
    json.array("features", featuresOf(pipeline));
  });
  json.endObject();
}

static void addPreparation(Json &json, const bundle::Program *program,
                           const bundle::ProgramGpu *gpu, uint32_t index) {
  const bundle::GpuPreparation *preparation = gpu->preparations()->Get(index);
  json.beginObject().member(
      "id", operationName(program, program->operations()->size() + index));
  json.member("stage", stageName(preparation->stage()));
  if (preparation->stage() == bundle::GpuStage_Pipeline)
    json.array("pipelines", artifact::elementsOf(preparation->pipelines()));
  if (preparation->stage() == bundle::GpuStage_Upload)
    json.objects("uploads", *preparation->uploads(), [&](const auto *upload) {
      json.key("source").beginObject();
      addOperand(json, program, upload->source());
      json.endObject();
      json.member("offset", upload->offset()).member("size", upload->size());
      json.member("codec", codecName(upload->codec()));
      json.member("planes", uint32_t(upload->planes()));
    });
  if (preparation->stage() == bundle::GpuStage_Record)
    json.member("stretch", preparation->stretch());
  addNames(json, "after", program, preparation->after());
  json.member("predicted_start", preparation->predicted_start());
  json.member("predicted_end", preparation->predicted_end()).endObject();
}

static void
addRows(Json &json, const char *name,
        const flatbuffers::Vector<flatbuffers::Offset<bundle::Rows>> *list) {
  json.objects(name, *list, [&](const bundle::Rows *rows) {
    json.member("boundary", rows->boundary());
    json.member("offset", rows->offset()).member("bytes", rows->bytes());
  });
}

static void addStretch(Json &json, const bundle::Program *program,
                       const bundle::Stretch *stretch) {
  json.key("executes").beginArray();
  for (uint32_t i = 0; i < stretch->count(); ++i)
    json.value(operationName(program, stretch->first() + i));
  json.endArray().member("cold", stretch->cold());
  json.member("predicted", stretch->predicted());
  addNames(json, "after", program, stretch->after());
  addRows(json, "in", stretch->in());
  json.objects("dispatches", *stretch->dispatches(), [&](const auto *dispatch) {
    json.member("operation", operationName(program, dispatch->operation()));
    json.member("pipeline", dispatch->pipeline());
    addExtent(json, "groups", dispatch->groups());
    json.array("push", artifact::elementsOf(dispatch->push()));
    json.member("barrier", dispatch->barrier());
    json.member("predicted", dispatch->predicted());
    json.objects("operands", *dispatch->operands(), [&](const auto *operand) {
      json.member("space", lowered(bundle::EnumNameGpuSpace(operand->space())));
      json.member("index", operand->index());
      json.member("offset", operand->offset());
      json.member("size", operand->size());
    });
    if (const auto *touched = dispatch->touched())
      json.objects("touched", *touched, [&](const bundle::Touched *of) {
        json.member("operand", uint32_t(of->operand()));
        json.member("stride", of->stride()).member("bytes", of->bytes());
        json.member("count", of->count());
      });
  });
  addRows(json, "out", stretch->out());
  if (!isSplit(stretch))
    return;
  json.member("dim", uint32_t(stretch->dim())).member("at", stretch->at());
  json.objects("parts", *stretch->parts(), [&](const auto *part) {
    json.member("layer", part->layer()->str()).member("kernel", part->kernel());
    json.member("tile_begin", part->tile_begin());
    json.member("tile_end", part->tile_end());
    json.objects("operands", *part->operands(), [&](const auto *operand) {
      addOperand(json, program, operand);
    });
  });
}

void addOverlay(Json &json, const bundle::Bundle *bundle,
                const bundle::GpuOverlays *overlays,
                const bundle::Program *program, bool summary) {
  const bundle::ProgramGpu *gpu = artifact::overlayOf(overlays, program);
  if (!gpu)
    return;
  std::string newer = findNewer(bundle, overlays, program);
  if (!newer.empty()) {
    json.member("newer_gpu", newer);
    return;
  }
  json.key("gpu").beginObject().member("start", startName(startOf(program)));
  json.member("profile", textOf(gpu->profile()));
  json.member("predicted_cold", gpu->predicted_cold());
  json.member("predicted_warm", gpu->predicted_warm());
  json.member("arena_size", sizeOf(gpu, bundle::MemoryKind_Arena));
  json.member("prepared_size", sizeOf(gpu, bundle::MemoryKind_Prepared));
  json.member("num_stretches", gpu->stretches()->size());
  json.array("warm", artifact::elementsOf(gpu->warm()));
  if (summary) {
    json.endObject();
    return;
  }
  json.objects("boundaries", *gpu->boundaries(), [&](const auto *boundary) {
    json.key("host").beginObject();
    addOperand(json, program, boundary->host());
    json.endObject().member("device", boundary->device());
  });
  json.key("preparations").beginArray();
  for (uint32_t i = 0; i < gpu->preparations()->size(); ++i)
    addPreparation(json, program, gpu, i);
  json.endArray().objects("lanes", *gpu->lanes(), [&](const auto *lane) {
    json.member("kind", laneName(lane->kind()));
    json.member("core", coreName(lane->core()));
    addNames(json, "queue", program, lane->queue());
  });
  json.objects("stretches", *gpu->stretches(), [&](const auto *stretch) {
    addStretch(json, program, stretch);
  });
  json.endObject();
}

} // namespace nnv12::tools
