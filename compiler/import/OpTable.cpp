//===- OpTable.cpp - Which ONNX operators are imported, and how -----------===//

#include "compiler/import/OpTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cassert>
#include <set>

using namespace nnv12;
using namespace nnv12::importer;

static constexpr OpRows (*kFamilies[])() = {attentionOps,
                                            constantOps,
                                            controlOps,
                                            convOps,
                                            detectionOps,
                                            elementwiseOps,
                                            featureOps,
                                            fusedAttentionOps,
                                            imageOps,
                                            indexOps,
                                            linearAttentionOps,
                                            lossOps,
                                            matrixOps,
                                            nchwcOps,
                                            normOps,
                                            poolOps,
                                            qLinearOps,
                                            quantizeOps,
                                            randomOps,
                                            recurrentOps,
                                            reduceOps,
                                            refusedOps,
                                            sequenceOps,
                                            shapeOps,
                                            signalOps,
                                            textOps};

static std::string fullName(const OpRow &row) {
  return (*row.domain ? std::string(row.domain) + "." : std::string()) +
         row.name;
}

using Table = llvm::StringMap<llvm::SmallVector<const OpRow *, 2>>;

/// Whether the rows, oldest first, share no version.
[[maybe_unused]] static bool areApart(llvm::ArrayRef<const OpRow *> rows) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i]->since > rows[i]->until ||
        (i && rows[i - 1]->until >= rows[i]->since))
      return false;
  return true;
}

static const Table &table() {
  static const Table table = [] {
    Table t;
    for (OpRows (*family)() : kFamilies)
      for (const OpRow &row : family())
        t[fullName(row)].push_back(&row);
    for (auto &entry : t) {
      llvm::sort(entry.second, [](const OpRow *l, const OpRow *r) {
        return l->since < r->since;
      });
      assert(areApart(entry.second) && "one row serves a version");
    }
    return t;
  }();
  return table;
}

llvm::ArrayRef<const OpRow *> importer::findOp(llvm::StringRef name) {
  auto it = table().find(name);
  if (it == table().end())
    return {};
  return it->second;
}

/// Whole groups by their name, then single types.
static std::string describe(TypeSet types) {
  static constexpr std::pair<TypeSet, const char *> kGroups[] = {
      {kAny, "any"},
      {kAll, "all"},
      {kNumbers, "numbers"},
      {kFloats, "floats"},
      {kInts, "integers"},
      {kSigned, "signed integers"},
      {kUnsigned, "unsigned integers"},
      {kFloat8s, "8-bit floats"},
      {kSmallInts, "4- and 2-bit integers"}};
  std::string text;
  auto append = [&](const std::string &name) {
    text += (text.empty() || name.empty() ? "" : ", ") + name;
  };
  for (auto [group, name] : kGroups)
    if ((types & group) == group) {
      append(name);
      types &= ~group;
    }
  append(typeSetNames(types));
  return text;
}

/// The domains of all rows but ai.onnx, as a list of Markdown.
static std::string otherDomains() {
  std::set<llvm::StringRef> domains;
  for (const auto &entry : table())
    for (const OpRow *row : entry.second)
      if (*row->domain)
        domains.insert(row->domain);
  return llvm::join(
      llvm::map_range(domains,
                      [](llvm::StringRef d) { return "`" + d.str() + "`"; }),
      ", ");
}

void importer::printOpsTable(llvm::raw_ostream &os) {
  os << "# ONNX operators\n\n"
        "Written by `nnv12c --list-ops`; do not edit. The table has operators "
        "of the domain `ai.onnx`, operator sets 7 to\n"
     << latestOpset
     << " (older ones where they mean the same). Operators of other domains "
        "are named with it, and have its versions:\n"
     << otherDomains()
     << ".\n\n"
        "*Types* are the element types that the first tensor input may have. "
        "*All* leaves out the 8-, 4- and 2-bit ones,\n"
        "which are moved and cast but not computed with. *Any* has them, "
        "too.\n\n"
        "| operator | operator sets | types | limits |\n|---|---|---|---|\n";
  llvm::SmallVector<llvm::StringRef> names;
  for (const auto &entry : table())
    names.push_back(entry.first());
  llvm::sort(names);
  for (llvm::StringRef name : names) {
    for (const OpRow *row : findOp(name)) {
      os << "| " << name << " | " << row->since;
      if (row->until != row->since)
        os << "–" << row->until;
      os << " | " << describe(row->types) << " | " << row->note << " |\n";
    }
  }
}
