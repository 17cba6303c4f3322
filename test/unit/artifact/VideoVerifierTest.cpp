//===- VideoVerifierTest.cpp - Overlays for video that must be refused ----===//
//
// test/unit/sample/VideoSample.h says what the overlay is that these damage. It
// has, of its program 0, the sets and the places
//   x      0, at byte 0       e0, e1, ..   1, 2, .., at 256, 512, ..
// Check points lie at 1536.
//
//===----------------------------------------------------------------------===//
#include "artifact/Compatibility.h"
#include "artifact/Limits.h"
#include "artifact/Verifier.h"
#include "artifact/Writer.h"
#include "test/unit/artifact/BitFlips.h"
#include "test/unit/artifact/PatchedMetadata.h"
#include "test/unit/artifact/VideoFollower.h"
#include "test/unit/sample/GpuSample.h"
#include "test/unit/sample/VideoSample.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;
namespace fb = flatbuffers;

namespace {

constexpr uint32_t farReach = maxReach + 1;

/// A change of program 0, and how the message about it begins, behind "program
/// 0: video: ".
struct VideoCase {
  const char *message;
  std::function<void(ProgramVideo &, Program &)> change;
};

/// The fault that the writer finds in a changed sample; empty: none.
std::string errorOfVideo(const std::function<void(Bundle &)> &change) {
  VideoSample sample;
  change(sample.bundle);
  std::string error = writeBundle(sample.bundle, "/nonexistent/a.nnv");
  // A good bundle fails for want of the folder.
  if (error.find("No such file") != std::string::npos)
    return "";
  return error.substr(error.find(": ") + 2);
}

const VideoCase videoCases[] = {
    // All of it.
    {"arena: found 70368744177665 bytes, expected at most 2^46",
     [](ProgramVideo &v, Program &) { v.arenaSize = maxBytes + 1; }},
    {"inputs: found 2, expected the program's 1",
     [](ProgramVideo &v, Program &) { v.inputs.push_back(v.inputs[0]); }},
    {"outputs: found 0, expected the program's 1",
     [](ProgramVideo &v, Program &) { v.outputs.clear(); }},
    {"executes: found 4, expected the program's 5",
     [](ProgramVideo &v, Program &) { v.executes.pop_back(); }},
    {"switches: found 1, expected the program's 2",
     [](ProgramVideo &v, Program &) { v.switches.pop_back(); }},

    // Kernels.
    {"kernel 1: entry: found 4096, expected less than the code's",
     [](ProgramVideo &v, Program &) { v.kernels[1].entry = 4096; }},
    {"kernel 0: outputs: found 4, expected at most its 3 operands",
     [](ProgramVideo &v, Program &) { v.kernels[0].outputs = 4; }},
    {"kernel 0: scratch: found 1073741825 bytes, expected at most 2^30",
     [](ProgramVideo &v, Program &) { v.kernels[0].scratch = maxScratch + 1; }},
    {"kernel 1: tiles: found 2147483649, expected at most 2^31",
     [](ProgramVideo &v, Program &) { v.kernels[1].tiles = maxTiles + 1; }},
    {"kernel 1: tile map 0: cuts: found another number of tiles",
     [](ProgramVideo &v, Program &) { v.kernels[1].tiles = 5; }},

    // Sets.
    {"set 2: found 0 rows of 32, expected at least one pixel, and at most 2^26 "
     "of all sets",
     [](ProgramVideo &v, Program &) { v.sets[2].rows = 0; }},
    {"set 0: found 2 rows of 0, expected at least one pixel",
     [](ProgramVideo &v, Program &) { v.sets[0].columns = 0; }},
    {"set 5: found 4294967295 rows of 4294967295, expected",
     [](ProgramVideo &v, Program &) {
       v.sets[5].rows = v.sets[5].columns = ~0u;
     }},
    {"set 5: found 2097152 rows of 32, expected",
     [](ProgramVideo &v, Program &) { v.sets[5].rows = 1 << 21; }},
    {"set 1: reads: set: found 1, expected less than 1",
     [](ProgramVideo &v, Program &) { v.sets[1].reads[0].set = 1; }},
    {"set 0: reads: set: found 0, expected less than 0",
     [](ProgramVideo &v, Program &) { v.sets[0].reads = {{0, true}}; }},
    {"set 1: reads: found a window of 1 / 0, 0 to 0, expected numbers up to "
     "2^20, and a divisor that is not 0",
     [](ProgramVideo &v, Program &) { v.sets[1].reads[0].rows.den = 0; }},
    {"set 1: reads: found a window of 1 / 0, 0 to 0",
     [](ProgramVideo &v, Program &) { v.sets[1].reads[0].columns.den = 0; }},
    {"set 1: reads: found a window of 1048577 / 1, 0 to 0",
     [](ProgramVideo &v, Program &) {
       v.sets[1].reads[0].rows.num = farReach;
     }},
    {"set 1: reads: found a window of 1 / 1048577, 0 to 0",
     [](ProgramVideo &v, Program &) {
       v.sets[1].reads[0].rows.den = farReach;
     }},
    {"set 1: reads: found a window of 1 / 1, -1048577 to 0",
     [](ProgramVideo &v, Program &) {
       v.sets[1].reads[0].columns.low = -int32_t(farReach);
     }},
    {"set 1: reads: found a window of 1 / 1, 0 to 1048577",
     [](ProgramVideo &v, Program &) {
       v.sets[1].reads[0].columns.high = farReach;
     }},

    // Inputs and outputs.
    {"input 0: set: found 6, expected less than 6",
     [](ProgramVideo &v, Program &) { v.inputs[0].set = 6; }},
    {"input 0: set: found one that reads others, expected one that reads none",
     [](ProgramVideo &v, Program &) { v.inputs[0].set = 1; }},
    {"input 0: place: found 256 bytes at 1540, expected a multiple of 4, "
     "inside the arena's 1792",
     [](ProgramVideo &v, Program &) { v.inputs[0].place = 1540; }},
    {"input 0: place: found 256 bytes at 2, expected a multiple of 4, inside",
     [](ProgramVideo &v, Program &) { v.inputs[0].place = 2; }},
    {"output 0: place: found 256 bytes at 257, expected a multiple of 4, ",
     [](ProgramVideo &v, Program &) { v.outputs[0] = 257; }},
    {"output 0: place: found 256 bytes at 18446744073709551360, expected",
     [](ProgramVideo &v, Program &) { v.outputs[0] = ~uint64_t(255); }},
    {"input 0: pixels: found 2 pieces of 4 bytes in each of 64, expected the "
     "tensor's 256, each once, at most 2^32-1 in a pixel",
     [](ProgramVideo &v, Program &) { v.inputs[0].pixels.pieces = 2; }},
    {"input 0: pixels: found 1 pieces of 3 bytes in each of 64",
     [](ProgramVideo &v, Program &) { v.inputs[0].pixels.piece = 3; }},
    {"input 0: pixels: found 1 pieces of 0 bytes in each of 64",
     [](ProgramVideo &v, Program &) { v.inputs[0].pixels.piece = 0; }},
    {"input 0: pixels: found 9223372036854775808 pieces of 2 bytes",
     [](ProgramVideo &v, Program &) {
       v.inputs[0].pixels.pieces = uint64_t(1) << 63;
       v.inputs[0].pixels.piece = 2;
     }},
    {"input 0: pixels: found 1 pieces of 4 bytes in each of 60",
     [](ProgramVideo &v, Program &) { v.sets[0].columns = 30; }},
    {"input 0: pixels: found them outside of the tensor's 256 bytes",
     [](ProgramVideo &v, Program &) { v.inputs[0].pixels.row = 129; }},
    {"input 0: pixels: found them outside of the tensor's 256 bytes",
     [](ProgramVideo &v, Program &) { v.inputs[0].pixels.column = 5; }},
    {"input 0: pixels: found them outside of the tensor's 256 bytes",
     [](ProgramVideo &v, Program &) { v.inputs[0].pixels.row = ~uint64_t(0); }},
    {"input 0: pixels: found them outside of the tensor's 256 bytes",
     [](ProgramVideo &v, Program &) {
       v.inputs[0].pixels = {128, 4, 2, 3, 2};
     }},
    {"input 0: pixels: found them outside of the tensor's 256 bytes",
     [](ProgramVideo &v, Program &) {
       // Even where there is one piece: no sum may overflow.
       v.inputs[0].pixels.distance = maxBytes + 1;
     }},

    // Executes.
    {"execute 0: places: found 2, expected one for each of 3 operands",
     [](ProgramVideo &v, Program &) { v.executes[0].places.pop_back(); }},
    {"execute 0: operand 1: place: found none, expected one in the arena",
     [](ProgramVideo &v, Program &) {
       v.executes[0].places[1] = VideoExecute::asInProgram;
     }},
    {"execute 0: operand 2: place: found one for weights, expected none",
     [](ProgramVideo &v, Program &) { v.executes[0].places[2] = 0; }},
    {"execute 1: operand 2: place: found one for weights, expected none",
     [](ProgramVideo &v, Program &) { v.executes[1].places[2] = 0; }},
    {"execute 0: operand 0: place: found 256 bytes at 1600, expected a "
     "multiple of 64, inside the arena's 1792",
     [](ProgramVideo &v, Program &) { v.executes[0].places[0] = 1600; }},
    {"execute 2: operand 1: place: found 256 bytes at 544, expected a "
     "multiple of 64, inside the arena's 1792",
     [](ProgramVideo &v, Program &) { v.executes[2].places[1] = 544; }},
    {"execute 0: operand 1: place: found 256 bytes at 1556, expected a "
     "multiple of 4, inside the arena's 1792",
     [](ProgramVideo &v, Program &) { v.executes[0].places[1] = 1556; }},
    {"execute 2: set: found 1, expected 2 to 5",
     [](ProgramVideo &v, Program &) { v.executes[2].set = 1; }},
    {"execute 4: set: found 6, expected 4 to 5",
     [](ProgramVideo &v, Program &) { v.executes[4].set = 6; }},

    // Parts.
    {"execute 1: kernel: found 2, expected less than 2",
     [](ProgramVideo &v, Program &) { v.executes[1].part.kernel = 2; }},
    {"execute 4: kernel: found 3 operands, 1 written, expected the execute's",
     [](ProgramVideo &v, Program &) { v.executes[4].part.kernel = 0; }},
    {"execute 1: kernel: found 3 operands, 2 written, expected the execute's",
     [](ProgramVideo &v, Program &) {
       v.kernels[0].outputs = 2;
       v.kernels[0].maps.push_back(v.kernels[0].maps[0]);
     }},
    {"execute 2: tiles: found a kernel without one part of boxes, expected one "
     "part",
     [](ProgramVideo &v, Program &) { v.kernels[1].maps.clear(); }},
    {"execute 2: tiles: found a kernel without one part of boxes",
     [](ProgramVideo &v, Program &) {
       v.kernels[1].maps[0].parts.push_back({{0, 0}, {1, 1}, {}});
       v.kernels[1].tiles = 5;
     }},
    {"execute 2: row axis: found 2, expected less than 2",
     [](ProgramVideo &v, Program &) { v.executes[2].part.rowAxis = 2; }},
    {"execute 2: column axis: found 2, expected less than 2",
     [](ProgramVideo &v, Program &) { v.executes[2].part.columnAxis = 2; }},
    {"execute 2: row axis: found an extent of 32, expected 2",
     [](ProgramVideo &v, Program &) { v.executes[2].part.rowAxis = 1; }},
    {"execute 0: row axis: found an extent of 64, expected 2",
     [](ProgramVideo &v, Program &) {
       v.executes[0].part.tiles = VideoTiles::Rows;
     }},
    {"execute 1: row axis: found an extent of 2, expected 64",
     [](ProgramVideo &v, Program &) {
       v.executes[1].part.tiles = VideoTiles::Runs;
     }},
    {"execute 2: column axis: found an extent of 2, expected 32",
     [](ProgramVideo &v, Program &) { v.executes[2].part.columnAxis = 0; }},
    {"execute 2: column axis: found 0, that of rows, expected another",
     [](ProgramVideo &v, Program &) {
       v.sets[3].columns = 2;
       v.executes[2].part.columnAxis = 0;
     }},
    {"execute 2: row axis: found a part of it in the kernel's boxes, expected "
     "all of it",
     [](ProgramVideo &v, Program &) {
       TilePart &part = v.kernels[1].maps[0].parts[0];
       part.lo[0] = 1;
       part.cuts[0].count = 1;
       v.kernels[1].tiles = 2;
     }},
    {"execute 2: column axis: found a part of it in the kernel's boxes",
     [](ProgramVideo &v, Program &) {
       TilePart &part = v.kernels[1].maps[0].parts[0];
       part.hi[1] = 16;
       part.cuts[1].count = 1;
       v.kernels[1].tiles = 2;
     }},
    {"execute 1: row axis: found no cut of the kernel's boxes, expected one",
     [](ProgramVideo &v, Program &) {
       v.kernels[0].maps[0].parts[0].cuts = {{1, 2, 16}};
       v.kernels[0].tiles = 2;
     }},
    {"execute 2: column axis: found no cut of the kernel's boxes, expected one",
     [](ProgramVideo &v, Program &) {
       v.kernels[1].maps[0].parts[0].cuts = {{0, 2, 1}};
       v.kernels[1].tiles = 2;
     }},
    {"execute 4: tiles: found a part of the kernel's grid, expected all of it",
     [](ProgramVideo &, Program &p) { p.operations[4].tiles = 3; }},
    {"execute 0: tiles: found a part of the kernel's grid",
     [](ProgramVideo &, Program &p) {
       p.operations[0].tileBegin = 1;
       p.operations[0].tiles = 3;
     }},

    // Check points.
    {"execute 1: check point: place: found 256 bytes at 1600, expected a "
     "multiple of 64, inside the arena's 1792",
     [](ProgramVideo &v, Program &) { v.executes[1].check->place = 1600; }},
    {"execute 0: check point: place: found 256 bytes at 18446744073709551552",
     [](ProgramVideo &v, Program &) {
       v.executes[0].check->place = ~uint64_t(63);
     }},
    {"execute 2: check point: place: found 256 bytes at 1504, expected a "
     "multiple of 64",
     [](ProgramVideo &v, Program &) { v.executes[2].check->place = 1504; }},
    {"execute 1: check point: place: found 512, expected one beside the "
     "result's 256 bytes at 512",
     [](ProgramVideo &v, Program &) { v.executes[1].check->place = 512; }},
    {"execute 1: check point: place: found 320, expected one beside",
     [](ProgramVideo &v, Program &) { v.executes[1].check->place = 320; }},
    {"execute 1: check point: place: found 704, expected one beside",
     [](ProgramVideo &v, Program &) { v.executes[1].check->place = 704; }},
    {"execute 4: check point: place: found 256 bytes at 1538, expected a "
     "multiple of 4, inside",
     [](ProgramVideo &v, Program &) {
       v.executes[4].check->place = 1538;
       v.arenaSize += 64;
     }},
    {"execute 4: operand 0: place: found 256 bytes at 1274, expected a "
     "multiple of 4",
     [](ProgramVideo &v, Program &) { v.executes[4].places[0] = 1274; }},
    {"execute 1: check point: found 126 bytes, expected a multiple of 4",
     [](ProgramVideo &v, Program &) { v.executes[1].check->pixels.row = 126; }},
    {"execute 1: check point: found 2 bytes, expected a multiple of 4",
     [](ProgramVideo &v, Program &) {
       v.executes[1].check->pixels.column = 2;
     }},
    {"execute 1: check point: found 1 bytes, expected a multiple of 4",
     [](ProgramVideo &v, Program &) {
       v.executes[1].check->pixels.distance = 1;
     }},
    {"execute 0: check point: found 2 bytes, expected a multiple of 4",
     [](ProgramVideo &v, Program &) {
       v.executes[0].check->pixels.pieces = 2;
       v.executes[0].check->pixels.piece = 2;
     }},
    {"execute 1: check point: pixels: found 2 pieces of 4 bytes in each of 64, "
     "expected the tensor's 256",
     [](ProgramVideo &v, Program &) {
       v.executes[1].check->pixels.pieces = 2;
     }},
    {"execute 1: check point: pixels: found 1 pieces of 0 bytes in each of 64",
     [](ProgramVideo &v, Program &) { v.executes[1].check->pixels.piece = 0; }},
    {"execute 1: check point: pixels: found them outside of the tensor's 256 "
     "bytes",
     [](ProgramVideo &v, Program &) { v.executes[1].check->pixels.row = 132; }},
    {"execute 2: check point: pixels: found them outside of the tensor's 256",
     [](ProgramVideo &v, Program &) {
       v.executes[2].check->pixels.column = 8;
     }},
    {"execute 2: check point: pixels: found them outside of the tensor's 256",
     [](ProgramVideo &v, Program &) {
       v.executes[2].check->pixels.row = ~uint64_t(3);
     }},
    {"execute 2: check point: pixels: found them outside of the tensor's 256",
     [](ProgramVideo &v, Program &) {
       v.executes[2].check->pixels.distance = maxBytes + 4;
     }},
    {"execute 3: check point: found a result of 0 bytes, expected one in the "
     "arena",
     [](ProgramVideo &v, Program &p) {
       v.executes[3].check = v.executes[2].check;
       p.operations[3].operands[0].size = 0;
     }},

    // Tolerances.
    {"tolerance: found nan, expected a number from 0 to 1",
     [](ProgramVideo &v, Program &) { v.tolerance = NAN; }},
    {"tolerance: found -0.5, expected a number from 0 to 1",
     [](ProgramVideo &v, Program &) { v.tolerance = -0.5F; }},
    {"tolerance: found 2, expected a number from 0 to 1",
     [](ProgramVideo &v, Program &) { v.tolerance = 2; }},
    {"input tolerance: found inf, expected a number from 0 to 1",
     [](ProgramVideo &v, Program &) { v.inputTolerance = INFINITY; }},
    {"input tolerance: found nan, expected a number from 0 to 1",
     [](ProgramVideo &v, Program &) { v.inputTolerance = NAN; }},
    {"input tolerance: found -1.4013e-45, expected a number from 0 to 1",
     [](ProgramVideo &v, Program &) {
       v.inputTolerance = -std::numeric_limits<float>::denorm_min();
     }},

    // Switches.
    {"switch 0: check point: pixels: found 1 pieces of 4 bytes in each of 64, "
     "expected the tensor's 192",
     [](ProgramVideo &, Program &p) {
       p.switches[0].replacement.operands[0].size = 192;
     }},
    {"switch 1: check point: place: found 256 bytes at 1568, expected a "
     "multiple of 64",
     [](ProgramVideo &v, Program &p) {
       // As with the result's own place below.
       p.arenaSize += 64;
       p.operations[3].operands[0].offset += 32;
       p.operations[4].operands[1].offset += 32;
       v.arenaSize += 64;
       v.executes[3].check = v.executes[2].check;
       v.executes[3].check->place = 1568;
     }},
    {"switch 0: operands: found 2, expected the execute's 3",
     [](ProgramVideo &, Program &p) {
       Operation &replacement = p.switches[0].replacement;
       replacement.kernel = 2;
       replacement.operands.pop_back();
       replacement.after.clear();
     }},
    {"switch 0: operand 1: found another space, expected the execute's",
     [](ProgramVideo &, Program &p) {
       p.switches[0].replacement.operands[1] = p.operations[0].operands[2];
     }},
    {"switch 1: operand 0: place: found 256 bytes at 1312, expected a multiple "
     "of 64",
     [](ProgramVideo &v, Program &p) {
       // The execute's own result is in a part of the arena that kernels take
       // for less aligned.
       p.arenaSize += 64;
       p.operations[3].operands[0].offset += 32;
       p.operations[4].operands[1].offset += 32;
       v.executes[3].places[0] = 1312;
       v.arenaSize += 64;
     }},
    {"switch 0: row axis: found 2, expected less than 2",
     [](ProgramVideo &v, Program &) { v.switches[0].rowAxis = 2; }},
    {"switch 1: kernel: found 7, expected less than 2",
     [](ProgramVideo &v, Program &) { v.switches[1].kernel = 7; }},
};

using Change = std::function<void(PatchedMetadata &)>;

/// The fault of metadata that the writer does not make.
std::string errorOfPatchedVideo(const Change &change) {
  VideoSample sample;
  PatchedMetadata metadata(sample.bundle);
  change(metadata);
  Fault fault;
  bool good = metadata.verify(fault);
  EXPECT_EQ(good, fault.code == Fault::None);
  return fault.text;
}

} // namespace

TEST(VideoVerifier, TakesTheSample) {
  EXPECT_EQ(errorOfVideo([](Bundle &) {}), "");
  for (size_t tiles : {1, 3, 4, 100}) {
    VideoSample sample(tiles);
    PatchedMetadata metadata(sample.bundle);
    Fault fault;
    EXPECT_TRUE(metadata.verify(fault)) << fault.text;
    for (uint32_t i = 0; i < 3; ++i)
      EXPECT_EQ(findOutside(metadata.bundle(), metadata.program(i),
                            metadata.video(i)),
                "");
  }
}

TEST(VideoVerifier, RefusesTables) {
  for (const VideoCase &c : videoCases) {
    std::string error = errorOfVideo([&](Bundle &bundle) {
      c.change(*bundle.programs[0].video, bundle.programs[0]);
    });
    EXPECT_EQ(error.find("program 0: video: " + std::string(c.message)), 0u)
        << "expected: " << c.message << "\nfound:    " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

/// Numbers at their limits.
TEST(VideoVerifier, TakesTheMost) {
  EXPECT_EQ(errorOfVideo([](Bundle &b) {
              ProgramVideo &v = *b.programs[0].video;
              v.arenaSize = maxBytes;
              v.outputs[0] = maxBytes - 256;
              v.executes[4].places[0] = maxBytes - 256;
              VideoWindow most = {maxReach, maxReach, -int32_t(maxReach),
                                  int32_t(maxReach)};
              v.sets[1].reads[0].rows = v.sets[1].reads[0].columns = most;
              v.sets[1].reads[0].rows.num = 0;
              // Check points right in front of results and right behind them,
              // and on top of an operand: its values may be any.
              v.executes[1].check->place = 256;
              v.executes[2].check->place = 768 + 256;
              v.executes[4].check->place = 12;
              v.tolerance = 1;
              v.inputTolerance = -0.0F;
              v.refresh = ~0U;
              // The set of no execute, and of no input.
              v.sets.push_back({1, uint32_t(maxPixels - 6 * 64)});
            }),
            "");
}

TEST(VideoVerifier, RefusesWhatNoWriterMakes) {
  using Metadata = PatchedMetadata;
  for (uint32_t index : {0, 3})
    EXPECT_EQ(errorOfPatchedVideo([&](Metadata &m) {
                Metadata::patch<uint32_t>(m.videoOverlay(1)->head(),
                                          bundle::OverlayHead::VT_INDEX, index);
              }),
              "program 1: video: index: found " + std::to_string(index) +
                  ", expected at least 1, less than 3");
  EXPECT_EQ(errorOfPatchedVideo([](Metadata &m) {
              Metadata::patch<uint32_t>(m.videoOverlay()->head(),
                                        bundle::OverlayHead::VT_PROCESSOR, 1);
            }),
            "program 0: overlay 0: processor: found 1, expected less than 1");
  EXPECT_EQ(errorOfPatchedVideo([](Metadata &m) {
              Metadata::patch<uint32_t>(m.videoOverlay(1),
                                        bundle::Overlay::VT_SEGMENT, 0);
            }),
            "program 1: overlay 0: segment: found 0, expected one of kind 3 "
            "(Overlays)");
  // Without a processor beside the CPU it is no kernel of the target at all.
  EXPECT_EQ(errorOfPatchedVideo([](Metadata &m) {
              Metadata::patch<uint32_t>(m.video()->kernels()->Get(1),
                                        bundle::Kernel::VT_PROCESSOR, 1);
            }),
            "program 0: video: kernel 1: processor: found 1, expected 0, the "
            "CPU");
}

/// Every number of the overlay, and every offset, at its extremes. An overlay
/// that is taken stays inside.
TEST(VideoVerifier, EveryNumberAtItsExtremes) {
  VideoSample sample;
  sample.bundle.programs.resize(1);
  PatchedMetadata metadata(sample.bundle);
  const AlignedCopy &image = metadata.videoImage();
  size_t taken = 0, refused = 0;
  auto tryAll = [&](auto zero) {
    using Number = decltype(zero);
    const Number bit = 1;
    for (size_t at = 0; at + sizeof zero <= image.size; at += sizeof zero) {
      Number old;
      memcpy(&old, image.data + at, sizeof old);
      std::vector<Number> numbers = {0, 1, 2, 3, 4, 16, 31, 32, 33, 64, 255};
      for (Number more : {Number(~zero), Number(Number(~zero) >> 1),
                          Number(Number(~zero) - 1), Number(old + 1),
                          Number(old - 1), Number(old * 2), Number(old / 2)})
        numbers.push_back(more);
      for (unsigned shift : {20, 26, 31, 32, 46, 63})
        if (shift < 8 * sizeof zero)
          for (int step : {-1, 0, 1})
            numbers.push_back(Number((bit << shift) + Number(step)));
      for (Number number : numbers) {
        memcpy(image.data + at, &number, sizeof number);
        Fault fault, why;
        bool good = metadata.verifyVideo(fault);
        (good ? taken : refused) += number != old;
        // One for newer readers is left alone.
        if (good && isUnderstood(metadata.bundle(), metadata.videos(),
                                 metadata.program(), 0, why))
          EXPECT_EQ(findOutside(metadata.bundle(), metadata.program(),
                                metadata.video()),
                    "")
              << sizeof number << " bytes at " << at << ": " << uint64_t(number)
              << ", not " << uint64_t(old);
        else
          EXPECT_EQ(std::string(fault.text).find('\n'), std::string::npos);
      }
      memcpy(image.data + at, &old, sizeof old);
    }
  };
  tryAll(uint8_t());
  tryAll(uint32_t());
  tryAll(uint64_t());
  EXPECT_GT(taken, image.size);
  EXPECT_GT(refused, image.size);
}

TEST(VideoVerifier, EveryBitFlipped) {
  TemporaryFolder folder;
  VideoSample sample;
  sample.bundle.programs.resize(1);
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  expectFlipsBehindTheDigestAreHarmless(readFile(folder.file("a.nnv")));
}

/// Parts of a later version: the program stays as it is, without a stream.
TEST(VideoVerifier, OverlaysForNewerReadersAreLeftAlone) {
  constexpr auto patch8 = [](auto *table, fb::voffset_t field, uint8_t value) {
    PatchedMetadata::patch<uint8_t>(table, field, value);
  };
  const std::pair<const char *, Change> cases[] = {
      {"start 0: kind: found 2, expected at most 1",
       [&](PatchedMetadata &m) {
         patch8(m.videoOverlay()->head(), bundle::OverlayHead::VT_START, 2);
       }},
      {"reuse 0: kind: found 2, expected at most 1",
       [&](PatchedMetadata &m) {
         patch8(m.videoOverlay()->head(), bundle::OverlayHead::VT_REUSE, 2);
       }},
      {"execute 2: tiles: found 4, expected at most 3",
       [&](PatchedMetadata &m) {
         patch8(m.video()->executes()->Get(2)->part(),
                bundle::VideoPart::VT_TILES, 4);
       }},
      {"switch 1: tiles: found 255, expected at most 3",
       [&](PatchedMetadata &m) {
         patch8(m.video()->switches()->Get(1), bundle::VideoPart::VT_TILES,
                255);
       }},
  };
  for (const auto &[message, change] : cases) {
    VideoSample sample;
    PatchedMetadata metadata(sample.bundle);
    change(metadata);
    // Other faults of it do not matter then.
    PatchedMetadata::patch<uint32_t>(metadata.video()->sets()->Get(0),
                                     bundle::VideoSet::VT_ROWS, 0);
    Fault fault, why;
    EXPECT_TRUE(metadata.verify(fault)) << message << ": " << fault.text;
    const bundle::Bundle *bundle = metadata.bundle();
    auto isKnown = [&](uint32_t program) {
      return isUnderstood(bundle, metadata.videos(), metadata.program(program),
                          program, why);
    };
    EXPECT_TRUE(isUnderstood(bundle, 0, why)) << why.text;
    EXPECT_TRUE(isKnown(1)) << why.text;
    EXPECT_FALSE(isKnown(0));
    EXPECT_EQ(
        std::string(why.text).find("program 0: video: " + std::string(message)),
        0u)
        << why.text;
    EXPECT_EQ(why.code, Fault::Unsupported);
  }
}

/// Needs a key, and so is not looked at. The programs need none.
TEST(VideoVerifier, SealedOverlays) {
  VideoSample sample;
  PatchedMetadata metadata(sample.bundle);
  const bundle::Segment *segment =
      metadata.bundle()->segments()->Get(metadata.videoOverlay()->segment());
  PatchedMetadata::patch<uint8_t>(segment, bundle::Segment::VT_SEAL, 1);
  Fault fault;
  EXPECT_TRUE(metadata.verifyMetadata(fault)) << fault.text;
  EXPECT_TRUE(isUnderstood(metadata.bundle(), 0, fault)) << fault.text;
  EXPECT_EQ(videoOverlayOf(metadata.bundle(), metadata.program()), nullptr);
  EXPECT_EQ(videoOverlayIn(metadata.bundle()), nullptr);
  EXPECT_EQ(videoOverlaysIn(metadata.bundle(), nullptr), nullptr);
  EXPECT_TRUE(verifyVideoIn(metadata.bundle(), nullptr, fault)) << fault.text;
}

/// Each has a segment of its own, and none needs the other.
TEST(VideoVerifier, BesideAnOverlayForAGpu) {
  TemporaryFolder folder;
  GpuSample sample;
  addVideo(sample.bundle);
  // Programs with both, with one, and with none.
  sample.bundle.programs[1].gpu.reset();
  sample.bundle.programs[2].video.reset();
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  std::vector<unsigned char> file = readFile(folder.file("a.nnv"));
  AlignedCopy image(file);
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  ASSERT_EQ(gpuOverlayIn(read)->segment() + 1, videoOverlayIn(read)->segment());
  const bundle::VideoOverlays *videos = videoOverlaysIn(read, image.data);
  EXPECT_EQ(videos->programs()->size(), 2u);
  EXPECT_EQ(gpuOverlaysIn(read, image.data)->programs()->size(), 2u);
  auto video = [&](uint32_t i) {
    return videoOf(videos, read->programs()->Get(i));
  };
  EXPECT_EQ(video(0), videos->programs()->Get(0));
  EXPECT_EQ(video(1), videos->programs()->Get(1));
  EXPECT_EQ(video(2), nullptr);
  for (uint32_t i = 0; i < 2; ++i)
    EXPECT_EQ(findOutside(read, read->programs()->Get(i), video(i)), "");
  // Damage of either is found in it alone.
  auto damaged = [&](const bundle::Overlay *overlay) {
    const bundle::Segment *segment = read->segments()->Get(overlay->segment());
    image.data[segment->offset() + segment->size() - 1] ^= 1;
    Fault of[2];
    bool gpu = verifyOverlaysIn(read, image.data, of[0]),
         isVideo = verifyVideoIn(read, image.data, of[1]);
    image.data[segment->offset() + segment->size() - 1] ^= 1;
    return std::pair(gpu ? "" : std::string(of[0].text),
                     isVideo ? "" : std::string(of[1].text));
  };
  EXPECT_EQ(damaged(gpuOverlayIn(read)),
            std::pair(std::string("segment 4 (Overlays): digest does not match "
                                  "(damaged)"),
                      std::string()));
  EXPECT_EQ(damaged(videoOverlayIn(read)),
            std::pair(std::string(), std::string("segment 5 (Overlays): digest "
                                                 "does not match (damaged)")));
}
