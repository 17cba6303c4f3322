//===- Refused.cpp - Operators that are known and refused -----------------===//
//
// A refusal that says why is worth more than "unknown operator".
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"

using namespace llvm;
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

std::string importer::adviceFor(StringRef domain, StringRef op) {
  static constexpr std::pair<StringLiteral, StringLiteral> advice[] = {
      {"ai.onnx.contrib", "tokenise and decode outside of the model"},
      {"com.microsoft.extensions", "tokenise and decode outside of the model"},
      {"mmdeploy", "export for ONNX Runtime without operators of its own"},
      {"org.pytorch.aten", "export without the fallback to ATen"},
  };
  std::string text = "one of docs/ops.md";
  text += domain.empty() ? ", " : " or a function of the model, ";
  for (auto [known, remedy] : advice)
    if (domain == known)
      text += (remedy + ", ").str();
  if (op.ends_with("_TRT"))
    text += "an export with ONNX's operators in place of TensorRT's, ";
  return text + "an export to an older operator set, or --output NAME for a "
                "tensor before it";
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
