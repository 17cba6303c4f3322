//===- PlanPage.h - A bundle's plan as a web page ---------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_INSPECT_PLANPAGE_H
#define NNV12_TOOLS_NNV12_INSPECT_PLANPAGE_H

#include "tools/nnv12-inspect/TraceFile.h"

#include <string>

namespace nnv12::tools {

/// What a page shows. Names come from the model: foreign text.
struct PlanPage {
  std::string bundlePath;
  uint64_t bundleSize;
  std::string model;
  const bundle::Program *program;
  const Plan &plan;
  std::string tracePath; ///< empty: none
  std::vector<TraceEvent> trace;
};

/// One HTML file that needs no other: style, script and data are inside.
std::string makePage(const PlanPage &page);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_NNV12_INSPECT_PLANPAGE_H
