//===- Refused.cpp - Operators that are known and refused -----------------===//
//
// A refusal that says why is worth more than "unknown operator".
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"

using namespace nnv12;
using namespace nnv12::importer;

static constexpr const char *randomNote =
    "refused: results must be reproducible; "
    "draw the numbers outside of the model";
static constexpr const char *stringNote =
    "refused: strings have no tensor type";
static constexpr const char *unsupportedNote = "refused: not supported yet";

static constexpr const char *classicalNote =
    "refused: no layer of a network; "
    "--output NAME takes a tensor before it as the output";

static void refuse(Node &n) {
  for (const OpRow &row : refusedOps())
    if (n.op() == row.name)
      return n.fail("an operator that is " + llvm::Twine(row.note));
}

static constexpr OpRow classical(const char *name) {
  return mlOp(name, 0, refuse, classicalNote);
}

OpRows importer::refusedOps() {
  static const OpRow rows[] = {
      classical("CastMap"),
      classical("CategoryMapper"),
      classical("DictVectorizer"),
      classical("FeatureVectorizer"),
      classical("Imputer"),
      classical("LabelEncoder"),
      classical("LinearClassifier"),
      classical("LinearRegressor"),
      classical("OneHotEncoder"),
      classical("SVMClassifier"),
      classical("SVMRegressor"),
      classical("TreeEnsemble"),
      classical("TreeEnsembleClassifier"),
      classical("TreeEnsembleRegressor"),
      classical("ZipMap"),
      {"ImageDecoder", 20, 0, refuse, unsupportedNote},
      {"MaxRoiPool", 1, 0, refuse, unsupportedNote},
      {"Multinomial", 7, 0, refuse, randomNote},
      {"RegexFullMatch", 20, 0, refuse, stringNote},
      {"StringConcat", 20, 0, refuse, stringNote},
      {"StringNormalizer", 10, 0, refuse, stringNote},
      {"StringSplit", 20, 0, refuse, stringNote},
  };
  return rows;
}
