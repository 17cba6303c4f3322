//===- FlatPlan.h - A bundle's plan, flattened for showing ------*- C++ -*-===//
#ifndef NNV12_TOOLS_PAGE_FLATPLAN_H
#define NNV12_TOOLS_PAGE_FLATPLAN_H

#include "bundle_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::tools {

/// The name of an enumerator as people and scripts read it.
std::string lowered(std::string name);
/// "read", "decode", "transform" or "execute": how trace files and pictures
/// call a stage, too.
std::string stageName(bundle::OperationKind kind);
std::string codecName(bundle::Codec codec);
std::string coreName(bundle::CoreKind core);
std::string laneName(bundle::LaneKind kind);
std::string memoryName(bundle::MemoryKind kind);

/// "e5" for execute 5, "p3" for preparation 3, "g2" for preparation 2 of the
/// GPU: the name of operation `number` of the program for people and scripts.
std::string operationName(const bundle::Program *program, uint32_t number);

/// The names of a list of operations; none where there is no list.
std::vector<std::string>
operationNames(const bundle::Program *program,
               const flatbuffers::Vector<uint32_t> *numbers);

struct PlannedOperation {
  const bundle::Program *program;
  const bundle::Operation *operation;
  const bundle::Kernel *kernel; ///< null: the stage has none
  bool isPreparation;
  uint32_t index; ///< counts the program's preparations or executes
  uint32_t lane = 0;
  bool background = false; ///< done after the lane's queue, for a switch
  uint32_t switchedTo = UINT32_MAX; ///< index of the switch that replaces it

  std::string name() const {
    return (isPreparation ? "p" : "e") + std::to_string(index);
  }
  /// Bytes that it brings in: of the file for a read, compressed ones for a
  /// decode, all that a kernel reads as weights for the others.
  uint64_t bytesIn() const;
  /// Bytes of prepared weights that it writes.
  uint64_t bytesPrepared() const;
  /// Nothing that a bundle says of times is verified.
  bool isPredicted() const {
    return operation->predicted_end() != 0 &&
           operation->predicted_end() >= operation->predicted_start();
  }
};

/// The plan of a program that this version understands. Operations lane by
/// lane, each lane in the order of its queue, backgrounds last. A program
/// without lanes is shown as one execute lane.
struct Plan {
  Plan(const bundle::Target *target, const bundle::Program *program);

  struct Lane {
    bundle::LaneKind kind;
    bundle::CoreKind core;
  };
  const bundle::Target *target;
  std::vector<Lane> lanes;
  std::vector<PlannedOperation> operations;
  /// By the program's number: where in `operations` it is.
  std::vector<uint32_t> places;
  bool isPredicted = false; ///< some operation has predicted times
};

/// "1.24 MB", "310 B": for people.
std::string bytesText(uint64_t bytes);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_PAGE_FLATPLAN_H
