//===- PlanMemory.h - Which plan was fastest on this machine ----*- C++ -*-===//
//
// A file each, beside the profile of the machine (ProfileCache.h), named by the
// bundle of the plan that would be taken unseen: after any change of the model,
// of costs or of code that is another one.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_PLANMEMORY_H
#define NNV12_TOOLS_NNV12C_PLANMEMORY_H

#include <optional>
#include <string>

namespace nnv12 {

/// The result of a race of plans.
struct FastestPlan {
  std::string costs;                            ///< a name
  std::optional<unsigned> lanes = std::nullopt; ///< see PlanOptions
  double medianMs = 0, p90Ms = 0;               ///< of its cold runs
};

class PlanMemory {
public:
  /// For the bundle in file `bundle`, where plans have `lanes` if that is said.
  /// Without a folder nothing is remembered.
  PlanMemory(const std::string &folder, const std::string &bundle,
             std::optional<unsigned> lanes);

  /// Nothing where there is no file. If it is of no use, `error` becomes a line
  /// that says so.
  std::optional<FastestPlan> read(std::string &error) const;
  /// "" or a line that says why it could not be written.
  std::string write(const FastestPlan &plan) const;

private:
  std::string path; ///< "": none
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PLANMEMORY_H
