//===- RepeatOperation.cpp - Has a bundle compute an operation twice ------===//
//
//   repeat-operation BUNDLE OUT --operation I [--percent P]
//
// Writes OUT, in which execute I is followed by one that computes the first P
// percent of its tiles again. The results are the same; the layer takes longer
// by a known amount.
//
//===----------------------------------------------------------------------===//
#include "artifact/Writer.h"
#include "test/unit/sample/StoredBundle.h"
#include "tools/common/Files.h"
#include "tools/common/Options.h"
#include "tools/common/Report.h"

#include <algorithm>

using namespace nnv12::artifact;
using namespace nnv12::tools;

static constexpr char overview[] =
    "writes a bundle in which an operation is followed by one that computes "
    "the first of its tiles again. For tests";

static constexpr char examples[] =
    R"(  repeat-operation model.nnv slower.nnv --operation 7 --percent 3
)";

/// An operation's operands must still be there when it has run.
static bool readsWhatItWrites(const Operation &operation, uint32_t written) {
  for (size_t i = 0; i < written; ++i)
    for (size_t k = written; k < operation.operands.size(); ++k) {
      const Operand &a = operation.operands[i], &b = operation.operands[k];
      if (a.space == b.space && a.index == b.index &&
          a.offset < b.offset + b.size && b.offset < a.offset + a.size)
        return true;
    }
  return false;
}

/// The first part of the same operation's tiles.
static Operation firstTiles(const std::string &path, const Program &program,
                            Operation operation, unsigned percent) {
  if (readsWhatItWrites(operation, program.kernels[operation.kernel].outputs))
    fail(path + ": target " + program.target + ": operation '" +
         operation.layer + "': found it reading what it writes, expected one " +
         "that gives the same when it runs again");
  if (operation.tiles)
    operation.tiles = std::max<uint64_t>(1, operation.tiles * percent / 100);
  return operation;
}

/// Executes behind `index` have the next number.
static void renumber(std::vector<OperationId> &ids, uint32_t index) {
  for (OperationId &id : ids)
    if (id.kind == LaneKind::Execute && id.index > index)
      ++id.index;
}

static void repeat(const std::string &path, Program &program, uint32_t index,
                   unsigned percent) {
  if (index >= program.operations.size())
    fail("--operation: found '" + std::to_string(index) + "', expected less " +
         "than the " + std::to_string(program.operations.size()) +
         " of target " + program.target);
  Operation again =
      firstTiles(path, program, program.operations[index], percent);
  program.operations.insert(program.operations.begin() + index + 1, again);
  for (auto *operations : {&program.operations, &program.preparations})
    for (Operation &operation : *operations)
      renumber(operation.after, index);

  OperationId first = {LaneKind::Execute, index};
  OperationId second = {LaneKind::Execute, index + 1};
  for (Lane &lane : program.lanes) {
    renumber(lane.queue, index);
    auto at = std::find(lane.queue.begin(), lane.queue.end(), first);
    if (at != lane.queue.end())
      lane.queue.insert(at + 1, second);
  }

  // Where the operation changes to another kernel its repetition does, too.
  std::vector<Switch> added;
  for (Switch &change : program.switches) {
    renumber(change.replacement.after, index);
    if (change.operation == index)
      added.push_back(
          {index + 1, firstTiles(path, program, change.replacement, percent)});
    else if (change.operation > index)
      ++change.operation;
  }
  program.switches.insert(program.switches.end(), added.begin(), added.end());
}

int main(int argc, char **argv) {
  std::vector<std::string> paths;
  static constexpr unsigned none = ~0u;
  unsigned operation = none, percent = 100;
  Options options("repeat-operation", overview, examples);
  options.positionals("BUNDLE.nnv", paths);
  options.number("operation", "I", operation, 0, none - 1,
                 "The number of the execute, in each of the bundle's programs. "
                 "Required.");
  options.number("percent", "P", percent, 1, 100,
                 "How many of its tiles are computed again, at least one. "
                 "Default 100.");
  options.parse(argc, argv);
  if (paths.size() != 2)
    fail("found " + std::to_string(paths.size()) +
         " files, expected a bundle and the one to write");
  if (operation == none)
    fail("--operation: found none, expected the number of an execute");
  noteInput(paths[0]);
  nnv12::test::StoredBundle stored;
  std::string error = stored.read(paths[0]);
  if (!error.empty())
    fail(error);
  checkOutput(paths[1]);
  for (Program &program : stored.bundle.programs) {
    // A GPU's part counts executes as well.
    program.gpu.reset();
    repeat(paths[0], program, operation, percent);
  }
  error = writeBundle(stored.bundle, paths[1]);
  if (!error.empty())
    fail(error);
  return 0;
}
