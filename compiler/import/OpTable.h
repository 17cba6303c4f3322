//===- OpTable.h - Which ONNX operators are imported, and how ---*- C++ -*-===//
//
// Each operator family has a file in ops/ that ends in its rows. A row serves
// an operator in a range of operator set versions; docs/ops.md is printed from
// them.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_IMPORT_OPTABLE_H
#define NNV12_COMPILER_IMPORT_OPTABLE_H

#include "compiler/import/Node.h"
#include "compiler/import/TypeSet.h"
#include "llvm/Support/raw_ostream.h"

namespace nnv12::importer {

/// Newest operator set that is known.
inline constexpr int latestOpset = 28;
/// Newest operator set of ai.onnx.ml that is known.
inline constexpr int latestMlOpset = 5;

struct OpRow {
  const char *name;
  int since;
  /// Element types accepted for the first tensor input; 0 where the operator
  /// has no such input or checks by itself.
  TypeSet types;
  void (*handler)(Node &);
  /// The refusals and limits, for the table.
  const char *note = "";
  int until = latestOpset;
  /// The domain whose operator set versions `since` and `until` count; "" is
  /// ai.onnx.
  const char *domain = "";
};

/// The row of an operator of ONNX Runtime's own, as its optimiser and the
/// exporters that aim at it write them (its page ContribOperators).
constexpr OpRow microsoftOp(const char *name, TypeSet types,
                            void (*handler)(Node &), const char *note = "") {
  return {name, 1, types, handler, note, latestOpset, "com.microsoft"};
}

/// The row of an operator that its layout optimiser writes.
constexpr OpRow nchwcOp(const char *name, void (*handler)(Node &),
                        const char *note = "") {
  return {name, 1, kFloat32, handler, note, latestOpset, "com.microsoft.nchwc"};
}

/// The row of an operator of ai.onnx.ml, all of whose versions are alike.
constexpr OpRow mlOp(const char *name, TypeSet types, void (*handler)(Node &),
                     const char *note = "") {
  return {name, 1, types, handler, note, latestMlOpset, "ai.onnx.ml"};
}

using OpRows = llvm::ArrayRef<OpRow>;

OpRows attentionOps();
OpRows constantOps();
OpRows controlOps();
OpRows convOps();
OpRows detectionOps();
OpRows elementwiseOps();
OpRows featureOps();
OpRows fusedAttentionOps();
OpRows imageOps();
OpRows indexOps();
OpRows linearAttentionOps();
OpRows lossOps();
OpRows matrixOps();
OpRows nchwcOps();
OpRows normOps();
OpRows poolOps();
OpRows qLinearOps();
OpRows quantizeOps();
OpRows randomOps();
OpRows recurrentOps();
OpRows reduceOps();
OpRows refusedOps();
OpRows sequenceOps();
OpRows shapeOps();
OpRows signalOps();
OpRows textOps();

/// All rows of an operator, oldest first; empty for an unknown one. An operator
/// of another domain than ai.onnx is named with it:
/// ai.onnx.preview.FlexAttention.
llvm::ArrayRef<const OpRow *> findOp(llvm::StringRef name);

/// Imports an operator of which only a run tells the size of some input. False
/// if there is no rule for it (ops/CountedRules.cpp): its handler has to know
/// such inputs by itself. A fault is true.
bool importCounted(Node &n, const OpRow &row);

/// The part of a message that says what to do about an unknown operator.
std::string adviceFor(llvm::StringRef domain, llvm::StringRef op);

/// Writes docs/ops.md: operator, operator set versions, element types, notes.
void printOpsTable(llvm::raw_ostream &os);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPTABLE_H
