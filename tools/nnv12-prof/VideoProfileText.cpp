//===- VideoProfileText.cpp - Reuse between frames, as text ---------------===//
#include "tools/common/TextFormat.h"
#include "tools/nnv12-prof/VideoProfile.h"

#include <cinttypes>
#include <cstdio>

namespace nnv12::prof {

using tools::findLargest;
using tools::format;

static double partOf(double some, double all) {
  return all > 0 ? some / all : 0;
}

/// Where the time of a frame that reuses values goes.
static void printParts(const VideoProfile &profile) {
  double all = profile.mean(&VideoFrame::time), known = 0;
  std::string line;
  auto add = [&](const char *name, double time) {
    line += format("%s%s %.1f us (%.1f %%)", line.empty() ? "" : ", ", name,
                   time * 1e-3, 100 * partOf(time, all));
    known += time;
  };
  add("matching", profile.mean(&VideoFrame::matching));
  add("merging", profile.mean(&VideoFrame::merging));
  add("operations", profile.mean(&VideoFrame::operations));
  // The sets of pixels that changed, lists of tiles, copies of outputs.
  add("the rest", std::max(0.0, all - known));
  printf("mean of these: %s\n", line.c_str());
}

static void printLayers(const VideoProfile &profile, unsigned top) {
  const std::vector<VideoLayer> &all = profile.layers;
  std::vector<size_t> order =
      findLargest(all.size(), top ? top : all.size(), [&](size_t i) {
        return top ? all[i].time + all[i].merging : 0;
      });
  printf("%10s %10s %7s %7s %7s %8s %8s %8s  %-6s %-24s %s\n", "us", "plain us",
         "%", "tiles%", "merge", "skipped", "partial", "all", "by", "routine",
         "layer");
  for (size_t place : order) {
    const VideoLayer &layer = all[place];
    printf("%10.1f %10.1f %7.1f %7.1f %7.1f %8" PRIu64 " %8" PRIu64 " %8" PRIu64
           "  %-6s %-24s %s\n",
           layer.time * 1e-3, layer.plain * 1e-3,
           100 * partOf(layer.time, layer.plain), 100 * layer.tiles,
           layer.merging * 1e-3, layer.skipped, layer.partial, layer.whole,
           layer.parts.c_str(), layer.info.routine, layer.info.layer);
  }
  if (order.size() < all.size())
    printf("%10s %10s and %zu more operations\n", "", "",
           all.size() - order.size());
}

/// The layers that no frame can compute a part of, and their share.
static void printWhole(const VideoProfile &profile) {
  size_t count = 0;
  double time = 0, all = 0;
  for (const VideoLayer &layer : profile.layers) {
    all += layer.time;
    if (layer.parts != "whole")
      continue;
    ++count;
    time += layer.time;
  }
  printf("computed as a whole or not at all: %zu of %zu layers, %.1f us of a "
         "frame (%.1f %% of operations)\n",
         count, profile.layers.size(), time * 1e-3, 100 * partOf(time, all));
}

void printVideo(const std::string &path, const Bundle &bundle,
                const VideoProfile &profile, unsigned top) {
  nnv12_bundle_info info = bundle.info();
  uint64_t reused = profile.count(FrameKind::Reused);
  printf("%s: model '%s', %s, %u threads\n", path.c_str(), info.model,
         info.target, profile.threads);
  printf("%s: %zu frames of %dx%d: %" PRIu64 " reused values, %" PRIu64
         " computed all, %" PRIu64 " were plain runs",
         profile.clip.c_str(), profile.frames.size(), profile.width,
         profile.height, reused, profile.count(FrameKind::Whole),
         profile.count(FrameKind::Plain));
  if (profile.lost)
    printf("; %" PRIu64 " records lost", profile.lost);
  printf("\n");
  if (!reused) {
    printf("found no frame that reuses values: there is nothing to show of "
           "layers\n");
    return;
  }
  printf("frames that reused values: median %.3f ms, %.3f in a plain run; "
         "%.1f %% of the pixels changed, %.1f %% of the work was done\n",
         profile.median(&VideoFrame::time) * 1e-6,
         profile.median(&VideoFrame::plain) * 1e-6,
         100 * profile.mean(&VideoFrame::changed),
         100 * profile.stream.computed);
  printParts(profile);
  printWhole(profile);
  printLayers(profile, top);
}

} // namespace nnv12::prof
