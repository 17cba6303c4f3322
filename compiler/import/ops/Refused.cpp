//===- Refused.cpp - Operators that are known and refused -----------------===//
//
// A refusal that says why is worth more than "unknown operator".
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"

using namespace nnv12;
using namespace nnv12::importer;

static constexpr const char *kRandom = "refused: results must be reproducible; "
                                       "draw the numbers outside of the model";
static constexpr const char *kString = "refused: strings have no tensor type";
static constexpr const char *kUnsupported = "refused: not supported yet";

static void refuse(Node &n) {
  for (const OpRow *row : findOp(n.op()))
    if (n.opset() >= row->since && n.opset() <= row->until)
      return n.fail("an operator that is " + llvm::Twine(row->note));
}

OpRows importer::refusedOps() {
  constexpr int L = kLatestOpset;
  static const OpRow rows[] = {
      {"Bernoulli", 15, L, 0, refuse, kRandom},
      {"ImageDecoder", 20, L, 0, refuse, kUnsupported},
      {"MaxRoiPool", 1, L, 0, refuse, kUnsupported},
      {"Multinomial", 7, L, 0, refuse, kRandom},
      {"RandomNormal", 1, L, 0, refuse, kRandom},
      {"RandomNormalLike", 1, L, 0, refuse, kRandom},
      {"RandomUniform", 1, L, 0, refuse, kRandom},
      {"RandomUniformLike", 1, L, 0, refuse, kRandom},
      {"RegexFullMatch", 20, L, 0, refuse, kString},
      {"StringConcat", 20, L, 0, refuse, kString},
      {"StringNormalizer", 10, L, 0, refuse, kString},
      {"StringSplit", 20, L, 0, refuse, kString},
  };
  return rows;
}
