//===- RoutineTable.cpp - Which routine fits which layer ------------------===//

#include "compiler/codegen/cpu/RoutineTable.h"
#include "compiler/codegen/cpu/CpuRoutine.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cassert>
#include <map>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

using Names = std::vector<std::string>;

std::string shaped(ArrayRef<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t d : shape)
    text += std::to_string(d) + "x";
  return text + "f32>";
}

/// A class of layers, as IR of one: an input %x, constant weights %w.
struct Sample {
  std::string input, weights, layer;
  std::string text() const {
    return "func.func @main(%x: " + input +
           ") {\n  %w = nn.constant dense<0.0> : " + weights +
           "\n  %y = " + layer + "\n  return\n}\n";
  }
};

Sample convolution(int64_t in, int64_t out, int64_t groups, int64_t kernel,
                   int64_t stride) {
  constexpr int64_t size = 28;
  int64_t pad = (kernel - 1) / 2;
  int64_t result = (size + 2 * pad - kernel) / stride + 1;
  Sample s{shaped({1, in, size, size}),
           shaped({out, in / groups, kernel, kernel}), ""};
  auto both = [](int64_t v) {
    std::string number = std::to_string(v);
    return "[" + number + ", " + number + "]";
  };
  s.layer = "nn.conv %x, %w strides " + both(stride) +
            " dilations [1, 1] pads " + both(pad) + ", " + both(pad) +
            " {groups = " + std::to_string(groups) + " : i64} : " + s.input +
            ", " + s.weights + " -> " + shaped({1, out, result, result});
  return s;
}

Sample transposed(int64_t in, int64_t out) {
  Sample s{shaped({1, in, 14, 14}), shaped({in, out, 2, 2}), ""};
  s.layer = "nn.conv_transpose %x, %w strides [2, 2] dilations [1, 1] pads "
            "[0, 0], [0, 0] output_padding [0, 0] : " +
            s.input + ", " + s.weights + " -> " + shaped({1, out, 28, 28});
  return s;
}

Sample product(int64_t rows, bool isConstant) {
  constexpr int64_t size = 256;
  std::string lhs = shaped({rows, size}), rhs = shaped({size, size});
  if (isConstant)
    return {lhs, rhs, "nn.matmul %x, %w : " + lhs + ", " + rhs + " -> " + lhs};
  // Any matrix that is no constant will do: the input itself.
  return {rhs, lhs, "nn.matmul %x, %x : " + rhs + ", " + rhs + " -> " + rhs};
}

Sample pool() {
  return {shaped({1, 32, 28, 28}), shaped({1}),
          "nn.pool max %x kernel [2, 2] strides [2, 2] dilations [1, 1] pads "
          "[0, 0], [0, 0] : " +
              shaped({1, 32, 28, 28}) + " -> " + shaped({1, 32, 14, 14})};
}

/// The registry's answers for samples.
class Table {
public:
  Table() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<nn::NNDialect, func::FuncDialect>();
  }
  void print(llvm::raw_ostream &os);

private:
  struct Forms {
    std::string input = "–", weights = "–", result = "–";
  };
  std::string cell(const Sample &sample);
  /// Remembers the layouts that a routine takes.
  void learn(const Routine &routine, Operation *layer) {
    LayoutRequest request = routine.layouts(layer);
    auto text = [](const std::optional<std::string> &tag) {
      return !tag           ? std::string("any")
             : tag->empty() ? "dense"
                            : "`" + *tag + "`";
    };
    Forms f;
    f.input = text(request.operands[0]);
    f.result = text(request.results[0]);
    if (auto form = routine.weightForm(layer))
      f.weights =
          "`" + form->name + "`, from " + text(request.operands[form->operand]);
    else if (layer->getNumOperands() > 1)
      f.weights = text(request.operands[1]);
    forms.try_emplace(routine.name().str(), f);
  }

  void printRoutines(llvm::raw_ostream &os);
  void printConvolutions(llvm::raw_ostream &os);
  void printOthers(llvm::raw_ostream &os) {
    const std::pair<const char *, Sample> rows[] = {
        {"matrix product with a constant, one row", product(1, true)},
        {"the same, 64 rows", product(64, true)},
        {"matrix product with a computed matrix", product(256, false)},
        {"transposed convolution 32 → 16", transposed(32, 16)},
        {"transposed convolution 32 → 1", transposed(32, 1)},
        {"pooling", pool()}};
    os << "| layer | routines |\n|---|---|\n";
    for (const auto &[title, sample] : rows)
      os << "| " << title << " | " << cell(sample) << " |\n";
  }

  MLIRContext context;
  std::map<std::string, Forms> forms;
};

/// The routine that `routine` is a variant of; null for a plain one.
const Routine *plainOf(const Routine &routine) {
  auto [plain, suffix] = routine.name().rsplit('.');
  return suffix.empty() ? nullptr : cpuRoutines().named(plain);
}

/// The layouts of the layer's input and result, and of its weights where they
/// stay as they are. "" where input and result have blocks of channels.
std::string signatureText(const LayoutRequest &request) {
  auto text = [](const std::optional<std::string> &tag) {
    return !tag ? std::string("any") : tag->empty() ? "dense" : "blocks";
  };
  std::string input = text(request.operands[0]),
              result = text(request.results[0]);
  if (input == "blocks" && result == input)
    return "";
  bool isPlain = request.operands.size() > 1 && request.operands[1] == "";
  return input + " → " + result + (isPlain ? ", weights dense" : "");
}

/// Short names of the routines by their signatures, the preferred one bold.
std::string Table::cell(const Sample &sample) {
  auto module = parseSourceString<ModuleOp>(sample.text(), &context);
  if (!module)
    llvm::report_fatal_error(llvm::Twine("routine table: ") + sample.text());
  Block &block =
      cast<func::FuncOp>(module->getBody()->front()).getBody().front();
  Operation *layer = &*std::next(block.begin());
  auto shortName = [](const Routine &routine) {
    StringRef name = routine.name();
    name.consume_back(".nChw16c");
    StringRef rest = name.split('.').second;
    return (rest.empty() ? name : rest).str();
  };
  const Routine *preferred = cpuRoutines().preferred(layer);
  auto bold = [&] { return "**" + shortName(*preferred) + "**"; };
  std::vector<std::pair<std::string, Names>> signatures;
  for (const Routine *routine : cpuRoutines().all())
    if (routine->matches(layer)) {
      learn(*routine, layer);
      if (plainOf(*routine) || routine->isFallback())
        continue;
      std::string text = signatureText(routine->layouts(layer));
      auto known = llvm::find_if(
          signatures, [&](auto &signature) { return signature.first == text; });
      if (known == signatures.end())
        known = signatures.insert(known, {text, {}});
      known->second.push_back(routine == preferred ? bold()
                                                   : shortName(*routine));
    }
  if (signatures.empty())
    return bold();
  Names texts;
  for (auto &[signature, names] : signatures)
    texts.push_back((signature.empty() ? "" : signature + ": ") +
                    llvm::join(names, ", "));
  return llvm::join(texts, "; ");
}

void Table::printConvolutions(llvm::raw_ostream &os) {
  struct Class {
    const char *title;
    int64_t in, out, groups;
  };
  const Class classes[] = {{"3 → 32", 3, 32, 1},
                           {"64 → 64", 64, 64, 1},
                           {"24 → 40", 24, 40, 1},
                           {"32 → 3", 32, 3, 1},
                           {"64 → 64, 4 groups", 64, 64, 4},
                           {"32, depthwise", 32, 32, 32},
                           {"48 → 48, 6 groups", 48, 48, 6},
                           {"60 → 60, 5 groups", 60, 60, 5}};
  os << "| kernel | stride |";
  for (const Class &c : classes)
    os << ' ' << c.title << " |";
  os << "\n|---|---|";
  for (size_t i = 0; i < std::size(classes); ++i)
    os << "---|";
  os << '\n';
  for (int64_t kernel : {1, 2, 3, 4, 5, 7})
    for (int64_t stride : {1, 2, 3}) {
      os << "| " << kernel << 'x' << kernel << " | "
         << (stride == 3 ? std::string("3 and more") : std::to_string(stride))
         << " |";
      for (const Class &c : classes)
        os << ' ' << cell(convolution(c.in, c.out, c.groups, kernel, stride))
           << " |";
      os << '\n';
    }
}

void Table::printRoutines(llvm::raw_ostream &os) {
  os << "| routine | what it is | input | weights | result |\n"
        "|---|---|---|---|---|\n";
  for (const Routine *routine : cpuRoutines().all()) {
    if (plainOf(*routine))
      continue;
    const Forms &f = forms[routine->name().str()];
    os << "| `" << routine->name() << "` | " << routine->summary() << " | "
       << f.input << " | " << f.weights << " | " << f.result << " |\n";
  }
  os << "\nVariants differ in parameters only and are candidates beside the "
        "plain "
        "routine:\n\n| variant | of | what differs |\n|---|---|---|\n";
  llvm::MapVector<std::pair<StringRef, StringRef>, Names> variants;
  for (const Routine *routine : cpuRoutines().all())
    if (const Routine *plain = plainOf(*routine))
      variants[{routine->name().rsplit('.').second, routine->summary()}]
          .push_back("`" + plain->name().str() + "`");
  for (auto &[variant, names] : variants)
    os << "| `." << variant.first << "` | " << llvm::join(names, ", ") << " | "
       << variant.second << " |\n";
}

void Table::print(llvm::raw_ostream &os) {
  // The matrices first: they teach the layouts that the list of routines names.
  std::string convolutions, others;
  llvm::raw_string_ostream first(convolutions), second(others);
  printConvolutions(first);
  printOthers(second);
  os << "# Routines\n\n"
        "Written by `nnv12c --list-routines`; do not edit. A routine is one "
        "way to compute a layer. Several may be\n"
        "candidates of one layer; the plan takes what the objective favours "
        "([Adding a routine](adding-a-routine.md)).\n\n"
        "## All routines\n\n"
        "In order of preference. Layouts are oneDNN's tags: `aBcd16b` is N, "
        "C/16, H, W, 16 channels. Tags are those of\n"
        "two spatial dimensions.\n\n";
  printRoutines(os);
  os << "\n## Convolutions\n\n"
        "The table has what the registry offers for convolutions f32 of 28x28 "
        "pixels, padded by half a kernel, by channels\n"
        "in → out (after Figure 5 of the NNV12 paper). In front of routines "
        "stands their signature, the layouts of input and\n"
        "result, unless both are in blocks of channels. The preferred routine, "
        "in **bold**, decides on the signature, unless\n"
        "[the whole net does](selection.md); those of the same signature are "
        "candidates of the plan. `element` computes all\n"
        "of them and is named where it is alone. Whether a Winograd routine "
        "matches depends on the size of the result too.\n\n";
  os << convolutions << "\n## Other layers\n\n" << others;
}

} // namespace

void codegen::printRoutineTable(llvm::raw_ostream &os) { Table().print(os); }
