//===- PlanPage.h - A bundle's plan and profile as a web page ---*- C++ -*-===//
#ifndef NNV12_TOOLS_PAGE_PLANPAGE_H
#define NNV12_TOOLS_PAGE_PLANPAGE_H

#include "tools/page/FlatPlan.h"

#include <string>

namespace nnv12::tools {

/// A complete event of a trace. Times are microseconds from the start of the
/// first event.
struct TraceEvent {
  uint32_t lane = 0;
  std::string layer; ///< the event's name where it is no operation
  /// "read", "decode", "transform", "execute"; "device", "pipeline", "upload"
  /// or "record" for a GPU's preparations; or "other".
  std::string stage;
  double start = 0, duration = 0;
  bool stolen = false;
  uint32_t index = UINT32_MAX; ///< as the trace numbers it, if it does
  /// Index into Plan::operations; UINT32_MAX: none that the plan knows.
  uint32_t planned = UINT32_MAX;
  std::string id; ///< a GPU's preparation: "g7", as the plan calls it
};

/// The contents of a page. Names come from the model: foreign text.
struct PlanPage {
  std::string bundlePath;
  uint64_t bundleSize;
  std::string model;
  const bundle::GpuOverlays *overlays; ///< null: none of the program
  const bundle::Program *program;
  const Plan &plan;
  std::string tracePath = {}; ///< empty: none
  std::vector<TraceEvent> trace = {};
  std::vector<TraceEvent> warmRun = {}; ///< a typical one; empty: none
  /// JSON of nnv12-prof, with which the page has more tabs; empty: none.
  std::string profile = {};
  /// The bundle's property nnv12.precision: JSON, as far as it is good; empty:
  /// none.
  std::string precision = {};
  /// Names of the lanes of events; empty: as those of the plan.
  std::vector<std::string> lines = {};
};

/// One HTML file that needs no other: style, script and data are inside.
std::string makePage(const PlanPage &page);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_PAGE_PLANPAGE_H
