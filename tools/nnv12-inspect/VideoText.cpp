//===- VideoText.cpp - The part for video, as text and JSON ---------------===//
#include "tools/nnv12-inspect/VideoText.h"

#include "artifact/Compatibility.h"
#include "artifact/Fault.h"
#include "artifact/ProgramView.h"
#include "artifact/Sizes.h"
#include "tools/common/TextFormat.h"
#include "tools/nnv12-inspect/PlanText.h"
#include "tools/page/FlatPlan.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace nnv12::tools {

static constexpr uint32_t ownKernel = ~uint32_t(0);

static uint32_t videoSegmentOf(const bundle::Bundle *bundle) {
  return artifact::videoOverlayIn(bundle)->segment();
}

/// Why this version does not understand the overlay of the program; empty: it
/// does.
static std::string findNewerVideo(const bundle::Bundle *bundle,
                                  const bundle::VideoOverlays *overlays,
                                  const bundle::Program *program) {
  artifact::Fault why;
  return artifact::isUnderstood(bundle, overlays, program, 0, why)
             ? ""
             : reasonOf(why, "program 0: video: ");
}

/// The most that streams can reuse.
static bundle::VideoReuse reuseOf(const bundle::Program *program) {
  return artifact::findOverlay(program, bundle::OverlayKind_Video)
      ->head()
      ->reuse();
}
/// The same as text: "bounded".
static std::string reuseText(const bundle::Program *program) {
  return lowered(bundle::EnumNameVideoReuse(reuseOf(program)));
}

namespace {
/// Sums of an overlay.
struct VideoSums {
  explicit VideoSums(const bundle::ProgramVideo *video) {
    for (const bundle::VideoSet *set : *video->sets())
      pixels += uint64_t(set->rows()) * set->columns();
    for (const bundle::VideoExecute *execute : *video->executes()) {
      ++executes[execute->part()->tiles()];
      checks += execute->check() != nullptr;
    }
  }
  uint64_t pixels = 0;                                ///< of all sets
  uint32_t executes[bundle::VideoTiles_MAX + 1] = {}; ///< by their tiles
  uint32_t checks = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void printVideos(const bundle::Bundle *bundle,
                 const bundle::VideoOverlays *overlays) {
  if (!overlays)
    return;
  uint32_t index = videoSegmentOf(bundle);
  printf("\nvideo: overlays of %u programs in segment %u, %" PRIu64 " bytes\n",
         overlays->programs()->size(), index,
         bundle->segments()->Get(index)->size());
}

/// "set 2, 56x56 pixels".
static std::string setText(const bundle::ProgramVideo *video, uint32_t set) {
  const bundle::VideoSet *pixels = video->sets()->Get(set);
  return format("set %u, %ux%u pixels", set, pixels->rows(), pixels->columns());
}

/// "2i-1..2i+1", or "i" where both ends are the same.
static std::string windowText(const bundle::VideoWindow *window) {
  auto text = [&](int32_t offset) {
    std::string line = window->num() == 1 ? "i" : format("%ui", window->num());
    if (offset)
      line += format("%+d", offset);
    return window->den() == 1 ? line
                              : format("(%s)/%u", line.c_str(), window->den());
  };
  std::string low = text(window->low());
  return window->low() == window->high() ? low
                                         : low + ".." + text(window->high());
}

static std::string readsText(const bundle::VideoSet *set) {
  std::vector<std::string> parts;
  for (const bundle::VideoRead *read : *set->reads())
    parts.push_back(read->all()
                        ? format("set %u: all", read->set())
                        : format("set %u: rows %s, columns %s", read->set(),
                                 windowText(read->rows()).c_str(),
                                 windowText(read->columns()).c_str()));
  return parts.empty() ? "" : " <- " + join(parts, "; ");
}

/// The tiles that compute a part: "rows", or "rows (kernel 2 of video)".
static std::string partText(const bundle::VideoPart *part) {
  if (part->tiles() == bundle::VideoTiles_All)
    return "as a whole";
  std::string text = lowered(bundle::EnumNameVideoTiles(part->tiles()));
  return part->kernel() == ownKernel
             ? text
             : text + format(" (kernel %u of video)", part->kernel());
}

/// ", check point at arena[1536, 1792)", where there is one.
static std::string checkText(const bundle::VideoExecute *execute,
                             const bundle::Operation *operation) {
  if (!execute->check())
    return "";
  uint64_t size = operation->operands()->Get(0)->size();
  return ", check point at arena" + rangeText(execute->check()->place(), size);
}

void printVideo(const bundle::Bundle *bundle,
                const bundle::VideoOverlays *overlays,
                const bundle::Program *program, bool summary) {
  const bundle::ProgramVideo *video = artifact::videoOf(overlays, program);
  if (!video)
    return;
  std::string newer = findNewerVideo(bundle, overlays, program);
  if (!newer.empty()) {
    printf("  video: for newer readers: %s\n", newer.c_str());
    return;
  }
  VideoSums sums(video);
  printf("  video: %s, arena %" PRIu64 " bytes, %u sets of %" PRIu64
         " pixels, %u kernels of its own; executes by cells %u, by rows %u, by "
         "runs %u, as a whole %u\n",
         reuseText(program).c_str(), video->arena_size(), video->sets()->size(),
         sums.pixels, video->kernels()->size(),
         sums.executes[bundle::VideoTiles_Cells],
         sums.executes[bundle::VideoTiles_Rows],
         sums.executes[bundle::VideoTiles_Runs],
         sums.executes[bundle::VideoTiles_All]);
  if (reuseOf(program) == bundle::VideoReuse_Bounded)
    printf(
        "    tolerance %g, input tolerance %g, refresh %u, check points %u\n",
        double(video->tolerance()), double(video->input_tolerance()),
        video->refresh(), sums.checks);
  if (summary)
    return;
  for (uint32_t i = 0; i < video->kernels()->size(); ++i) {
    const bundle::Kernel *kernel = video->kernels()->Get(i);
    printf("    kernel %u: %s, entry %u, %" PRIu64 " tiles\n", i,
           kernel->name()->c_str(), kernel->entry(), kernel->tiles());
  }
  for (uint32_t i = 0; i < video->inputs()->size(); ++i) {
    const bundle::VideoInput *input = video->inputs()->Get(i);
    uint64_t size = artifact::byteSize(program->inputs()->Get(i));
    printf("    input%u: arena%s, %s\n", i,
           rangeText(input->place(), size).c_str(),
           setText(video, input->set()).c_str());
  }
  for (uint32_t i = 0; i < video->executes()->size(); ++i) {
    const bundle::VideoExecute *execute = video->executes()->Get(i);
    printf("    %-4s %s, %s%s%s\n", operationName(program, i).c_str(),
           partText(execute->part()).c_str(),
           setText(video, execute->set()).c_str(),
           readsText(video->sets()->Get(execute->set())).c_str(),
           checkText(execute, program->operations()->Get(i)).c_str());
  }
  for (uint32_t i = 0; i < video->switches()->size(); ++i)
    printf("    %-4s %s in later runs\n",
           operationName(program, program->switches()->Get(i)->operation())
               .c_str(),
           partText(video->switches()->Get(i)).c_str());
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

void addVideos(Json &json, const bundle::Bundle *bundle,
               const bundle::VideoOverlays *overlays) {
  if (!overlays)
    return;
  uint32_t index = videoSegmentOf(bundle);
  json.key("video").beginObject().member("segment", index);
  json.member("size", bundle->segments()->Get(index)->size());
  json.member("num_programs", overlays->programs()->size()).endObject();
}

/// A number of f32 in as many digits as it has: 0.02, not 0.0199999996.
static double shortOf(float number) {
  return strtod(format("%.6g", double(number)).c_str(), nullptr);
}

static void addWindow(Json &json, const char *name,
                      const bundle::VideoWindow *window) {
  json.key(name).beginObject().member("num", window->num());
  json.member("den", window->den()).member("low", int64_t(window->low()));
  json.member("high", int64_t(window->high())).endObject();
}

static void addPart(Json &json, const bundle::VideoPart *part) {
  json.member("tiles", lowered(bundle::EnumNameVideoTiles(part->tiles())));
  if (part->kernel() != ownKernel)
    json.member("kernel", part->kernel());
  if (part->tiles() != bundle::VideoTiles_All)
    json.member("row_axis", part->row_axis());
  if (part->tiles() == bundle::VideoTiles_Cells)
    json.member("column_axis", part->column_axis());
}

void addVideo(Json &json, const bundle::Bundle *bundle,
              const bundle::VideoOverlays *overlays,
              const bundle::Program *program, bool summary) {
  const bundle::ProgramVideo *video = artifact::videoOf(overlays, program);
  if (!video)
    return;
  std::string newer = findNewerVideo(bundle, overlays, program);
  if (!newer.empty()) {
    json.member("newer_video", newer);
    return;
  }
  VideoSums sums(video);
  json.key("video").beginObject().member("reuse", reuseText(program));
  if (reuseOf(program) == bundle::VideoReuse_Bounded) {
    json.member("tolerance", shortOf(video->tolerance()));
    json.member("input_tolerance", shortOf(video->input_tolerance()));
    json.member("refresh", video->refresh());
    json.member("num_check_points", sums.checks);
  }
  json.member("arena_size", video->arena_size());
  json.member("num_sets", video->sets()->size());
  json.member("pixels", sums.pixels);
  json.member("num_kernels", video->kernels()->size());
  json.key("executes_by").beginObject();
  for (uint32_t i = 0; i <= bundle::VideoTiles_MAX; ++i)
    json.member(
        lowered(bundle::EnumNameVideoTiles(bundle::VideoTiles(i))).c_str(),
        sums.executes[i]);
  json.endObject();
  if (summary) {
    json.endObject();
    return;
  }
  json.objects("kernels", *video->kernels(), [&](const auto *kernel) {
    json.member("name", kernel->name()->str());
    json.member("entry", kernel->entry()).member("tiles", kernel->tiles());
  });
  json.objects("sets", *video->sets(), [&](const auto *set) {
    json.member("rows", set->rows()).member("columns", set->columns());
    json.objects("reads", *set->reads(), [&](const auto *read) {
      json.member("set", read->set()).member("all", read->all());
      if (read->all())
        return;
      addWindow(json, "rows", read->rows());
      addWindow(json, "columns", read->columns());
    });
  });
  json.objects("inputs", *video->inputs(), [&](const auto *input) {
    json.member("set", input->set()).member("place", input->place());
  });
  uint32_t number = 0;
  json.objects("executes", *video->executes(), [&](const auto *execute) {
    json.member("id", operationName(program, number++));
    json.member("set", execute->set());
    addPart(json, execute->part());
    // Weights lie where the program has them.
    json.key("places").beginArray();
    for (uint64_t place : *execute->places())
      if (place == ~uint64_t(0))
        json.value(int64_t(-1));
      else
        json.value(place);
    json.endArray();
    if (execute->check())
      json.member("check_place", execute->check()->place());
  });
  json.objects("switches", *video->switches(),
               [&](const auto *part) { addPart(json, part); });
  json.array("outputs", *video->outputs()).endObject();
}

} // namespace nnv12::tools
