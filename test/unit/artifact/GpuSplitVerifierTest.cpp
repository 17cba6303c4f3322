//===- GpuSplitVerifierTest.cpp - Split stretches that are refused --------===//
//
// test/unit/sample/SplitSample.h says what the overlay is that these damage.
//
//===----------------------------------------------------------------------===//
#include "artifact/Writer.h"
#include "test/unit/artifact/PatchedMetadata.h"
#include "test/unit/sample/SplitSample.h"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;

namespace {

/// A change of program 0 and of its overlay, and how the message about it
/// begins, behind "program 0: ".
struct SplitCase {
  const char *message;
  std::function<void(Program &, ProgramGpu &)> change;
};

std::string errorOfSplit(const std::function<void(Program &)> &change) {
  SplitSample sample;
  sample.bundle.programs.resize(1);
  change(sample.bundle.programs[0]);
  // A good bundle fails for want of the folder.
  std::string error = writeBundle(sample.bundle, "/nonexistent/a.nnv");
  size_t colon = error.find(": ");
  return error.find("No such file") != std::string::npos
             ? ""
             : error.substr(colon + 2);
}

template <size_t N> void expectSplitsRefused(const SplitCase (&cases)[N]) {
  for (const SplitCase &c : cases) {
    std::string error = errorOfSplit([&](Program &p) { c.change(p, *p.gpu); });
    EXPECT_EQ(error.find("program 0: " + std::string(c.message)), 0u)
        << "expected: " << c.message << "\nfound:    " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

/// A kernel like that of the sample's first execute, with another map.
uint32_t addKernel(Program &program, std::vector<TileMap> maps) {
  Kernel kernel = program.kernels[0];
  kernel.maps = std::move(maps);
  program.kernels.push_back(kernel);
  return uint32_t(program.kernels.size() - 1);
}

const SplitCase splitTables[] = {
    {"gpu: stretch 1: parts: found 0 of a Split stretch, expected one at least",
     [](Program &, ProgramGpu &g) { g.stretches[1].parts = {}; }},
    {"gpu: stretch 0: parts: found 2 of a Whole stretch, expected none",
     [](Program &, ProgramGpu &g) {
       g.stretches[0].parts = g.stretches[1].parts;
     }},
    {"gpu: stretch 0: touched: found some of a Whole stretch, expected none",
     [](Program &, ProgramGpu &g) {
       g.stretches[0].dispatches[1].touched = {{0, 256, 256, 1}};
     }},
    {"gpu: stretch 2: cold: found it set of a Split stretch, expected it for "
     "later runs",
     [](Program &, ProgramGpu &g) { g.stretches[2].cold = true; }},
    {"gpu: stretch 1: part 1: found kind 3, 0 in `after`, last_reader 0, "
     "expected 0 (Execute), none and 0",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].parts[1].kind = OperationKind::Transform;
     }},
    {"gpu: stretch 1: part 1: found kind 0, 1 in `after`",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].parts[1].after = {{LaneKind::Prepare, 0}};
     }},
    {"gpu: stretch 1: part 1: found kind 0, 0 in `after`, last_reader 1",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].parts[1].lastReader = true;
     }},
    {"gpu: stretch 1: part 0: found the operands of no execute of the stretch, "
     "expected those of one",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].parts[0].operands[0].offset = 64;
     }},
    {"gpu: stretch 1: part 0: found the operands of no execute",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].parts[0].operands.pop_back();
     }},
    {"gpu: stretch 1: part 0: found the operands of no execute",
     [](Program &, ProgramGpu &g) { g.stretches[1].parts[0].layer = "other"; }},
    {"gpu: stretch 1: part 1: found the operands of no execute",
     [](Program &, ProgramGpu &g) {
       std::swap(g.stretches[1].parts[0], g.stretches[1].parts[1]);
     }},
    {"gpu: stretch 1: part 1: found the operands of no execute",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].parts[1] = g.stretches[2].parts[0];
     }},
    {"gpu: stretch 1: part 0: kernel: found 3, expected less than 3",
     [](Program &, ProgramGpu &g) { g.stretches[1].parts[0].kernel = 3; }},
    {"gpu: stretch 1: part 0: kernel: found 2 operands, 1 of them written, "
     "expected 3 and 1",
     [](Program &, ProgramGpu &g) { g.stretches[1].parts[0].kernel = 2; }},
    {"gpu: stretch 1: part 0: kernel: found 3 operands, 2 of them written",
     [](Program &p, ProgramGpu &g) {
       uint32_t kernel = addKernel(p, {});
       p.kernels[kernel].outputs = 2;
       g.stretches[1].parts[0].kernel = kernel;
     }},
    {"gpu: stretch 1: part 0: tiles: found 2 to 5, expected one at least, of 4",
     [](Program &, ProgramGpu &g) { g.stretches[1].parts[0].tiles = 3; }},
    {"gpu: stretch 1: part 0: tiles: found 2 to 2",
     [](Program &, ProgramGpu &g) { g.stretches[1].parts[0].tiles = 0; }},
    {"gpu: stretch 1: part 0: found a kernel without tile maps, expected one "
     "with them",
     [](Program &p, ProgramGpu &g) {
       g.stretches[1].parts[0].kernel = addKernel(p, {});
     }},
    {"gpu: stretch 1: part 0: operand 0: found 256 bytes, expected all "
     "elements of its tile map",
     [](Program &p, ProgramGpu &g) {
       g.stretches[1].parts[0].kernel =
           addKernel(p, {{{{60, 1}}, {{{0}, {60}, {{0, 4, 15}}}}}});
     }},
    {"gpu: stretch 1: part 0: operand 0: found 256 bytes",
     [](Program &p, ProgramGpu &g) {
       g.stretches[1].parts[0].kernel =
           addKernel(p, {{{{16, 1}}, {{{0}, {16}, {{0, 4, 4}}}}}});
     }},
    // Operation 7 makes the weights of the first multiplication.
    {"gpu: stretch 1: part 1: operand 2: found Prepared bytes that operation 7 "
     "writes, expected it in `after` (it starts before its weights)",
     [](Program &, ProgramGpu &g) { g.stretches[1].after.resize(1); }},
    {"gpu: stretch 1: dispatch 0: touched 2: operand: found 3, expected 2 to 2",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[0].touched[2].operand = 3;
     }},
    {"gpu: stretch 1: dispatch 0: touched 1: operand: found 0, expected 1 to 2",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[0].touched[1].operand = 0;
     }},
    {"gpu: stretch 1: dispatch 0: touched 0: found 1 times 257 bytes, 256 "
     "apart, expected pieces of the operand's 256 bytes, one behind another",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[0].touched[0].bytes = 257;
     }},
    {"gpu: stretch 1: dispatch 0: touched 0: found 1 times 257 bytes, 512 "
     "apart",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[0].touched[0] = {0, 512, 257, 1};
     }},
    {"gpu: stretch 1: dispatch 0: touched 0: found 1 times 0 bytes",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[0].touched[0].bytes = 0;
     }},
    {"gpu: stretch 1: dispatch 0: touched 0: found 0 times 128 bytes",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[0].touched[0].count = 0;
     }},
    {"gpu: stretch 1: dispatch 0: touched 0: found 5 times 32 bytes, 64 apart",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[0].touched[0] = {0, 64, 32, 5};
     }},
    {"gpu: stretch 1: dispatch 0: touched 0: found it with too many pieces to "
     "check",
     [](Program &, ProgramGpu &g) {
       g.arenaSize += 2 << 20;
       GpuOperand &operand = g.stretches[1].dispatches[0].operands[0];
       operand.size = 2 << 20;
       g.stretches[1].dispatches[0].touched[0] = {0, 1, 1, (1 << 20) + 1};
     }},
};

const SplitCase splitFlows[] = {
    // Both together compute everything.
    {"gpu: stretch 1: found byte 320 of the arena written by its executes and "
     "read later, expected it in `out` or written by a part",
     [](Program &, ProgramGpu &g) { g.stretches[1].out[0].bytes = 64; }},
    {"gpu: stretch 1: found byte 384 of the arena written by its executes and "
     "read later",
     [](Program &, ProgramGpu &g) { g.stretches[1].parts.pop_back(); }},
    {"gpu: stretch 1: found byte 448 of the arena written by its executes and "
     "read later",
     [](Program &, ProgramGpu &g) { g.stretches[1].parts[1].tiles = 1; }},
    {"gpu: stretch 2: found byte 128 of output 0 written by its executes and "
     "read later",
     [](Program &, ProgramGpu &g) { g.stretches[2].parts.pop_back(); }},
    // An earlier value at the same place does not count.
    {"gpu: stretch 1: found byte 384 of the arena written by its executes and "
     "read later",
     [](Program &p, ProgramGpu &g) {
       for (Operation *operation : {&p.operations[0], &g.stretches[1].parts[0]})
         operation->operands[0].offset = 256;
       for (Operation *operation :
            {&p.operations[1], &p.switches[0].replacement})
         operation->operands[1].offset = 256;
       g.stretches[1].parts.pop_back();
     }},
    // And each byte once.
    {"gpu: stretch 1: part 1: found byte 320 of the arena written and handed "
     "back by the GPU, expected one of both",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].parts[1].tileBegin = 1;
       g.stretches[1].parts[1].tiles = 3;
     }},
    // The GPU may have written it.
    {"gpu: stretch 1: part 1: operand 1: found byte 256 of the arena read and "
     "handed back by the GPU, expected another place",
     [](Program &p, ProgramGpu &g) {
       for (Operation *operation : {&p.operations[0], &g.stretches[1].parts[0]})
         operation->operands[0].offset = 256;
       for (Operation *operation :
            {&p.operations[1], &p.switches[0].replacement,
             &g.stretches[1].parts[1]})
         operation->operands[1].offset = 256;
     }},
    // A CPU that computes the stretch again reads it.
    {"gpu: stretch 2: part 1: found byte 384 of the arena written, which is "
     "still needed as it was before the stretch, expected another place",
     [](Program &p, ProgramGpu &g) {
       for (Operation *operation :
            {&p.operations[3], &p.switches[1].replacement,
             &g.stretches[2].parts[1]})
         operation->operands[0].offset = 256;
       for (Operation *operation : {&p.operations[4], &g.stretches[2].parts[2]})
         operation->operands[1].offset = 256;
       g.stretches.resize(3);
     }},
    // And the GPU does: all that is copied in is needed.
    {"gpu: stretch 2: part 0: found byte 256 of the arena written",
     [](Program &p, ProgramGpu &g) {
       for (Operation *operation : {&p.operations[2], &g.stretches[2].parts[0]})
         operation->operands[0].offset = 256;
       for (Operation *operation :
            {&p.operations[3], &p.switches[1].replacement,
             &g.stretches[2].parts[1]})
         operation->operands[1].offset = 256;
       g.stretches[2].parts[0].tileBegin = 0;
       g.stretches[2].parts[0].tiles = 1;
     }},
    // Dispatches.
    {"gpu: stretch 2: dispatch 0: operand 1: found byte 384 of the GPU's arena "
     "read, expected it to be copied in, uploaded or written before",
     [](Program &, ProgramGpu &g) {
       g.stretches[2].dispatches[0].touched[1].bytes = 256;
     }},
    {"gpu: stretch 2: dispatch 0: operand 1: found byte 384 of the GPU's arena "
     "read",
     [](Program &, ProgramGpu &g) {
       std::vector<Touched> &touched = g.stretches[2].dispatches[0].touched;
       touched.erase(touched.begin() + 1);
     }},
    {"gpu: stretch 1: dispatch 1: operand 1: found byte 864 of the GPU's arena "
     "read",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[0].touched[0] = {0, 64, 32, 2};
       g.stretches[1].dispatches[1].touched[1] = {1, 96, 16, 2};
     }},
    {"gpu: stretch 1: dispatch 1: operand 0: found byte 384 of the arena "
     "written, expected it in `out`",
     [](Program &, ProgramGpu &g) {
       g.stretches[1].dispatches[1].touched.erase(
           g.stretches[1].dispatches[1].touched.begin());
     }},
    {"gpu: stretch 2: dispatch 1: operand 1: found byte 768 of the GPU's arena "
     "used by an earlier dispatch, one of both writing, expected a barrier "
     "between",
     [](Program &, ProgramGpu &g) {
       g.stretches[2].dispatches[1].barrier = false;
     }},
};

} // namespace

TEST(GpuSplitVerifier, RefusesTables) { expectSplitsRefused(splitTables); }
TEST(GpuSplitVerifier, RefusesFlows) { expectSplitsRefused(splitFlows); }

TEST(GpuSplitVerifier, Takes) {
  const SplitCase good[] = {
      {"the sample", [](Program &, ProgramGpu &) {}},
      {"a part in two",
       [](Program &, ProgramGpu &g) {
         std::vector<Operation> &parts = g.stretches[1].parts;
         parts.insert(parts.begin(), parts[0]);
         parts[0].tiles = 1;
         parts[1].tileBegin = 3;
         parts[1].tiles = 1;
       }},
      {"a part that computes more than it needs to",
       [](Program &, ProgramGpu &g) {
         g.stretches[1].parts[0].tileBegin = 1;
         g.stretches[1].parts[0].tiles = 3;
       }},
      {"a part by another kernel",
       [](Program &p, ProgramGpu &g) {
         uint32_t kernel =
             addKernel(p, {{{{64, 1}}, {{{0}, {64}, {{0, 8, 8}}}}}});
         p.kernels[kernel].tiles = 8;
         g.stretches[1].parts[0].kernel = kernel;
         g.stretches[1].parts[0].tileBegin = 4;
         g.stretches[1].parts[0].tiles = 4;
       }},
      {"the part of a switch's replacement",
       [](Program &p, ProgramGpu &g) {
         Operation &part = g.stretches[1].parts[1];
         part.operands = p.switches[0].replacement.operands;
         g.stretches[1].after.push_back(p.switches[0].replacement.after[0]);
       }},
      {"weights that the upload waits for",
       [](Program &, ProgramGpu &g) { g.stretches[1].after.resize(2); }},
      {"dispatches that touch different bytes of one memory",
       [](Program &, ProgramGpu &g) {
         std::vector<Dispatch> &all = g.stretches[1].dispatches;
         all.insert(all.begin(), 2, all[0]);
         for (uint64_t i : {0, 1}) {
           all[i].operands[0] = {GpuSpace::Arena, 0, g.arenaSize + 256 * i,
                                 768};
           all[i].touched[0] = {0, 512, 256, 2};
           all[i].barrier = false;
         }
         g.arenaSize += 1024;
       }},
      {"an execute that only the GPU computes a part of: nobody reads the rest",
       [](Program &, ProgramGpu &g) {
         g.stretches[1].parts.erase(g.stretches[1].parts.begin());
       }},
  };
  for (const SplitCase &c : good)
    EXPECT_EQ(errorOfSplit([&](Program &p) { c.change(p, *p.gpu); }), "")
        << c.message;
}

/// An overlay whose parts are of a later version is left alone.
TEST(GpuSplitVerifier, LaterPartsAreForNewerReaders) {
  const std::pair<const char *, std::function<void(const bundle::Operation *)>>
      cases[] = {{"stretch 1: kind of a part: found 4, expected at most 3",
                  [](const bundle::Operation *part) {
                    PatchedMetadata::patch<uint8_t>(
                        part, bundle::Operation::VT_KIND, 4);
                  }},
                 {"stretch 1: space of an operand: found 4, expected at most 3",
                  [](const bundle::Operation *part) {
                    PatchedMetadata::patch<uint8_t>(
                        part->operands()->Get(1), bundle::Operand::VT_SPACE, 4);
                  }}};
  for (const auto &[message, change] : cases) {
    SplitSample sample;
    PatchedMetadata metadata(sample.bundle);
    change(metadata.overlay()->stretches()->Get(1)->parts()->Get(1));
    Fault fault, why;
    EXPECT_TRUE(metadata.verify(fault)) << fault.text;
    EXPECT_FALSE(isUnderstood(metadata.bundle(), metadata.overlays(),
                              metadata.program(), 0, why));
    EXPECT_EQ(
        std::string(why.text).find("program 0: gpu: " + std::string(message)),
        0u)
        << why.text;
  }
}

//===----------------------------------------------------------------------===//
// The rules of memory against a simulation, byte by byte
//===----------------------------------------------------------------------===//

namespace {

constexpr size_t arenaBytes = 1024, allBytes = arenaBytes + 256;
constexpr uint64_t tensor = 256, unit = 64; ///< bytes; of a tile

/// Which execute wrote each byte of the arena and of the output; -1: none.
using ByteTags = std::array<int, allBytes>;

/// A program of five executes, one after another, and a split stretch.
struct Problem {
  size_t result[5], operand[5]; ///< places; `allBytes`: not followed
  uint32_t first, end;
  struct Part {
    uint32_t execute, begin, end;
  };
  std::vector<Part> parts;
  uint64_t out[5]; ///< bytes of each 256 that the GPU hands back

  bool isOut(size_t byte) const { return byte % tensor < out[byte / tensor]; }

  /// Bytes that are read by executes from `from` on before one writes them, or
  /// are of the output.
  std::array<bool, allBytes> neededFrom(uint32_t from) const {
    std::array<bool, allBytes> needed = {}, written = {};
    for (uint32_t i = from; i < 5; ++i) {
      for (size_t b = 0; b < tensor && operand[i] < allBytes; ++b)
        needed[operand[i] + b] |= !written[operand[i] + b];
      for (size_t b = 0; b < tensor; ++b)
        written[result[i] + b] = true;
    }
    for (size_t b = arenaBytes; b < allBytes; ++b)
      needed[b] |= !written[b];
    return needed;
  }

  ByteTags runUntil(uint32_t last) const {
    ByteTags tags;
    tags.fill(-1);
    for (uint32_t i = 0; i < last; ++i)
      std::fill_n(tags.begin() + long(result[i]), tensor, int(i));
    return tags;
  }

  /// The fault that it has; empty: none.
  const char *fault() const {
    ByteTags before = runUntil(first), wanted = runUntil(end), found = before;
    std::array<bool, allBytes> after = neededFrom(end), written = {};
    for (const Part &part : parts)
      for (size_t b = part.begin * unit; b < part.end * unit; ++b) {
        found[result[part.execute] + b] = int(part.execute);
        written[result[part.execute] + b] = true;
      }
    for (size_t b = 0; b < allBytes; ++b)
      if (isOut(b))
        found[b] = wanted[b];
    for (size_t b = 0; b < allBytes; ++b)
      if (after[b] && wanted[b] >= int(first) && found[b] != wanted[b])
        return "missing";
    // Does the CPU get the same if it computes the stretch again?
    ByteTags again = before;
    for (size_t b = 0; b < allBytes; ++b)
      if (written[b] || isOut(b))
        again[b] = -2;
    const char *repeated = "";
    for (uint32_t i = first; i < 5; ++i) {
      for (size_t b = 0; b < tensor && operand[i] < allBytes; ++b)
        if (again[operand[i] + b] == -2)
          repeated = "needed";
      std::fill_n(again.begin() + long(result[i]), tensor, int(i));
    }
    for (size_t b = arenaBytes; b < allBytes; ++b)
      if (again[b] == -2)
        repeated = "needed";
    if (*repeated)
      return repeated;
    for (size_t b = 0; b < allBytes; ++b)
      if (written[b] && isOut(b))
        return "twice";
    for (const Part &part : parts)
      for (size_t b = 0; b < tensor && operand[part.execute] < allBytes; ++b)
        if (isOut(operand[part.execute] + b))
          return "read";
    return "";
  }
};

Problem invent(std::mt19937 &random) {
  auto below = [&](uint32_t end) { return random() % end; };
  Problem p;
  for (uint32_t i = 0; i < 5; ++i) {
    p.result[i] = below(8) ? below(4) * tensor : below(13) * unit;
    p.operand[i] = i == 0 ? allBytes : p.result[i - 1];
    if (i && below(8) == 0)
      p.operand[i] = below(13) * unit;
  }
  p.result[4] = arenaBytes;
  p.first = below(5);
  p.end = p.first + 1 + below(5 - p.first);
  uint32_t at = below(5);
  for (uint32_t i = p.first; i < p.end; ++i) {
    uint32_t begin = below(6) ? at : below(4);
    if (begin < 4 && below(12))
      p.parts.push_back({i, begin, below(12) ? 4 : begin + 1});
  }
  if (p.parts.empty())
    p.parts.push_back({p.first, 3, 4});
  // The GPU hands back all that the parts leave, so that many are good.
  ByteTags wanted = p.runUntil(p.end), found;
  found.fill(-1);
  for (const Problem::Part &part : p.parts)
    std::fill(found.begin() + long(p.result[part.execute] + part.begin * unit),
              found.begin() + long(p.result[part.execute] + part.end * unit),
              int(part.execute));
  std::array<bool, allBytes> after = p.neededFrom(p.end);
  for (uint32_t block = 0; block < 5; ++block) {
    p.out[block] = 0;
    for (size_t b = block * tensor; b < (block + 1) * tensor; ++b)
      if (after[b] && wanted[b] >= int(p.first) && found[b] != wanted[b])
        p.out[block] = b % tensor + 1;
    if (below(12) == 0)
      p.out[block] = below(17) * 16;
  }
  return p;
}

/// Writes the problem down in a sample's program.
void apply(const Problem &problem, Program &program) {
  ProgramGpu &gpu = *program.gpu;
  auto place = [&](Operation &operation, uint32_t i) {
    if (i < 4)
      operation.operands[0].offset = problem.result[i];
    if (problem.operand[i] < arenaBytes)
      operation.operands[1].offset = problem.operand[i];
  };
  for (uint32_t i = 0; i < 5; ++i)
    place(program.operations[i], i);
  for (Switch &change : program.switches)
    place(change.replacement, change.operation);
  gpu.boundaries.clear();
  for (uint64_t block = 0; block < 4; ++block)
    gpu.boundaries.push_back(
        {{Space::Arena, 0, block * tensor, tensor}, block * tensor});
  gpu.boundaries.push_back({program.operations[4].operands[0], arenaBytes});
  Stretch stretch{problem.first, problem.end - problem.first};
  stretch.kind = StretchKind::Split;
  stretch.cold = false;
  stretch.after = {GpuSample::id(GpuSample::RecordAll),
                   GpuSample::id(GpuSample::UploadFirst),
                   GpuSample::id(GpuSample::UploadSecond)};
  for (const Problem::Part &part : problem.parts) {
    Operation operation = program.operations[part.execute];
    operation.after = {};
    operation.tileBegin = part.begin;
    operation.tiles = part.end - part.begin;
    stretch.parts.push_back(operation);
  }
  for (uint32_t block = 0; block < 5; ++block)
    if (uint64_t bytes = problem.out[block]) {
      Dispatch dispatch{problem.first,
                        2,
                        {{GpuSpace::Boundary, block, 0, tensor},
                         {GpuSpace::Prepared, 0, 0, tensor}},
                        {4, 1, 1}};
      dispatch.touched = {{0, tensor, bytes, 1}};
      stretch.dispatches.push_back(dispatch);
      stretch.out.push_back({block, 0, bytes});
    }
  gpu.stretches = {stretch};
  gpu.warm = {0};
  gpu.preparations.resize(GpuSample::RecordAll + 1);
  gpu.lanes[0].queue = {GpuSample::id(GpuSample::Device),
                        GpuSample::id(GpuSample::Arithmetic),
                        GpuSample::id(GpuSample::RecordAll)};
  gpu.lanes[1].queue.resize(3);
}

} // namespace

TEST(GpuSplitVerifier, AgreesWithASimulation) {
  std::mt19937 random(1);
  std::map<std::string, unsigned> times;
  for (int i = 0; i < 3000; ++i) {
    Problem problem = invent(random);
    std::string expected = problem.fault();
    std::string error =
        errorOfSplit([&](Program &program) { apply(problem, program); });
    static const std::pair<const char *, const char *> kinds[] = {
        {"written by its executes and read later", "missing"},
        {"still needed as it was before", "needed"},
        {"written and handed back", "twice"},
        {"read and handed back", "read"}};
    std::string found = error;
    for (const auto &[text, kind] : kinds)
      if (error.find(text) != std::string::npos)
        found = kind;
    // One with several faults is refused for any of them.
    ASSERT_EQ(found.empty(), expected.empty())
        << i << ": expected '" << expected << "', found '" << error << "'";
    if (expected == "missing" || expected.empty()) {
      ASSERT_EQ(found, expected) << i << ": " << error;
    }
    ++times[found];
  }
  for (const char *kind : {"", "missing", "needed", "twice", "read"})
    EXPECT_GE(times[kind], 100u) << kind;
  EXPECT_EQ(times.size(), 5u);
}
