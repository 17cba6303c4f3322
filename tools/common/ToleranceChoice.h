//===- ToleranceChoice.h - Which tolerances a clip allows -------*- C++ -*-===//
//
// Reuse between the frames of a video is worth something where it saves work
// and answers are not too old, and where its worst frame is much nearer to the
// full answer than that of the usual way, leaving out frames.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_COMMON_TOLERANCECHOICE_H
#define NNV12_TOOLS_COMMON_TOLERANCECHOICE_H

#include "tools/common/VideoAges.h"

#include <optional>
#include <string>

namespace nnv12::tools {

/// As in nnv12_stream_options.
struct Tolerances {
  float input = 0, value = 0;
  uint32_t refresh = 0;
};

/// Tolerances that let nothing stay but copies of pixels.
constexpr float copiesAlone = 0.001F;
/// All that are tried: the strictest first.
std::vector<Tolerances> tolerancesToTry();

/// The results of tolerances on a clip.
struct ToleranceTrial {
  Tolerances tolerances;
  double saved = 0; ///< part of the work, 0 to 1
  AnswerAge age;
  AnswerAge skipping; ///< where as much is saved by leaving out frames
};

/// Frames of a clip that tell anything: two of each half.
constexpr unsigned fewestFrames = 4;
/// The part of the work that has to be saved at least. As much is lost again by
/// comparing, and by small tiles.
constexpr double leastSaved = 0.2;
/// No answer can be asked to be younger than those to a picture with noise.
constexpr double mostOfNoise = 1.3;
/// The largest worst frame, as a part of that of leaving out frames.
constexpr double mostOfSkipping = 0.5;

/// The age up to which tolerances are taken. `noise`: that of answers to
/// pictures with -1, 0 or 1 levels added.
double ageLimit(double maxAge, double noise);

/// The number of the trial that saves most work within the limits; of equal
/// ones the youngest, then the first. None where no trial is within.
std::optional<size_t>
chooseTolerances(const std::vector<ToleranceTrial> &trials, double limit);
/// One line that says why there is none: "found …, expected …".
std::string whyNone(const std::vector<ToleranceTrial> &trials, double limit);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_TOLERANCECHOICE_H
