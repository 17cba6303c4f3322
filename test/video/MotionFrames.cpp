//===- MotionFrames.cpp - Matches the frames of a clip ----------*- C++ -*-===//
//
//   motion-frames CLIP [OPTION...]
//
// Matches each frame with the one before and prints a line of JSON for it: the
// global motion, the share of blocks that are clean, the clean rectangles as
// [x, y, width, height], and the CPU time of matching in milliseconds.
//
//===----------------------------------------------------------------------===//
#include "tools/common/BlockMotion.h"
#include "tools/common/Clock.h"
#include "tools/common/Json.h"
#include "tools/common/Options.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/common/VideoInput.h"

#include <cstdio>

using namespace nnv12::tools;

namespace {

struct Arguments {
  VideoOptions video;
  MotionOptions motion;
  bool isLuma = false;
  unsigned block = 10, reach = 7, skip = 1, repeat = 1;
};

Arguments parse(int argc, char **argv) {
  Arguments result;
  Options options("motion-frames",
                  "matches each frame of a clip with the one before",
                  "  motion-frames clip.y4m --search diamond --skip 2\n");
  options.positional("CLIP", result.video.clip);
  options.text("video-size", "WIDTHxHEIGHT", result.video.size,
               "The clip is raw frames of that size, three bytes a pixel.");
  options.choice("search", {"none", "exhaustive", "three-step", "diamond"},
                 result.motion.search,
                 "How blocks are looked for. Default "
                 "diamond.");
  options.number("block", "N", result.block, 1, 64,
                 "Pixels of a block's side. Default 10.");
  options.real("threshold", "DB", result.motion.threshold,
               "PSNR above which blocks match. Default 20.");
  options.number("reach", "N", result.reach, 0, 64,
                 "Most pixels of a vector. Default 7.");
  options.number("skip", "N", result.skip, 1, 64,
                 "Look for one block of N each way. Default 1.");
  options.flag("keep-errors", result.motion.keepErrors,
               "Compute no error twice.");
  options.flag("luma", result.isLuma, "Match luma, not colours.");
  options.number("repeat", "N", result.repeat, 1, 1000,
                 "Match each frame N times, for the median. Default 1.");
  options.parse(argc, argv);
  result.motion.block = int(result.block);
  result.motion.reach = int(result.reach);
  result.motion.skip = int(result.skip);
  return result;
}

/// Luma of BT.601, from red, green and blue.
void toLuma(Frame &frame) {
  for (size_t i = 0; 3 * i < frame.pixels.size(); ++i) {
    const uint8_t *p = &frame.pixels[3 * i];
    frame.pixels[i] = uint8_t((77 * p[0] + 150 * p[1] + 29 * p[2] + 128) >> 8);
  }
  frame.pixels.resize(frame.pixels.size() / 3);
}

void print(uint64_t frame, const BlockMotion &motion, double time) {
  Json json;
  json.beginObject()
      .member("frame", frame)
      .member("dx", int64_t(motion.global.dx))
      .member("dy", int64_t(motion.global.dy))
      .member("matched", double(motion.numClean) / double(motion.numBlocks))
      .member("ms", time);
  json.key("clean").beginArray();
  for (const PixelRectangle &r : motion.clean) {
    json.beginArray();
    for (int n : {r.x, r.y, r.width, r.height})
      json.value(int64_t(n));
    json.endArray();
  }
  json.endArray().endObject();
  printf("%s\n", json.line().c_str());
}

} // namespace

int main(int argc, char **argv) {
  setToolName("motion-frames");
  Arguments given = parse(argc, argv);
  std::string error;
  std::unique_ptr<FrameSource> source = openFrames(given.video, error);
  failIf(error);
  Frame now, before;
  for (uint64_t count = 0; source->next(now, error); ++count) {
    int channels = given.isLuma ? 1 : 3;
    if (given.isLuma)
      toLuma(now);
    if (count) {
      Picture a = {before.pixels.data(), before.width, before.height, channels};
      Picture b = {now.pixels.data(), now.width, now.height, channels};
      std::vector<double> times;
      BlockMotion motion;
      for (unsigned i = 0; i < given.repeat; ++i) {
        double start = milliseconds(CLOCK_THREAD_CPUTIME_ID);
        motion = matchBlocks(a, b, given.motion);
        times.push_back(milliseconds(CLOCK_THREAD_CPUTIME_ID) - start);
      }
      print(count, motion, median(times));
    }
    std::swap(before, now);
  }
  failIf(error);
  finishOutput();
  return 0;
}
