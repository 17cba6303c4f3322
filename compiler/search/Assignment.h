//===- Assignment.h - A plan as the search changes it -----------*- C++ -*-===//
#ifndef NNV12_COMPILER_SEARCH_ASSIGNMENT_H
#define NNV12_COMPILER_SEARCH_ASSIGNMENT_H

#include "compiler/search/Simulator.h"

namespace nnv12::search {

/// A choice and a schedule as numbers that can be changed one by one: with all
/// numbers the schedule can be carried out.
struct Assignment {
  Choice choice;
  /// Where each layer is prepared: 0 = execute lane.
  std::vector<uint32_t> lane;
  /// Preparations of one lane are in order of their keys, then of their layers.
  /// By default a layer's number. On the execute lane a preparation stands
  /// before the first execute whose number is not below its key, its own at the
  /// latest.
  std::vector<double> key;

  /// Every layer prepared on the execute lane just before its execute.
  static Assignment onExecuteLane(Choice choice);

  /// One job for each preparation and each execute.
  void jobs(const Problem &problem, std::vector<std::vector<Job>> &lanes) const;
  Schedule schedule(const Problem &problem) const;
};

/// Jobs of whole preparations as single operations.
Schedule scheduleOf(const Problem &problem, const Choice &choice,
                    const std::vector<std::vector<Job>> &lanes);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_ASSIGNMENT_H
