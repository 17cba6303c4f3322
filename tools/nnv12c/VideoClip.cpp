//===- VideoClip.cpp - Tolerances of reuse by a user's clip ---------------===//

#include "tools/nnv12c/VideoClip.h"

#include "tools/common/ToleranceChoice.h"
#include "tools/common/VideoInput.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace nnv12;
namespace json = llvm::json;

std::string nnv12::checkClip(const std::string &clip) {
  if (clip == "-")
    return "--video-clip: found '-', expected a file or a folder, which can be "
           "read again";
  tools::VideoOptions options;
  options.clip = clip;
  std::string error;
  std::unique_ptr<tools::FrameSource> source =
      tools::openFrames(options, error);
  tools::Frame frame;
  unsigned frames = 0;
  while (source && source->next(frame, error))
    ++frames;
  if (error.empty() && frames < tools::fewestFrames)
    error = clip + ": --video-clip: found " + std::to_string(frames) +
            " frames, expected " + std::to_string(tools::fewestFrames) +
            " or more";
  return error;
}

namespace {
/// A trial in the report of nnv12-bench.
class ReportedTrial {
public:
  /// `half`: its name in the report.
  ReportedTrial(const json::Object &report, llvm::StringRef half,
                int64_t number) {
    of = report.getObject(half);
    const json::Array *trials = of ? of->getArray("trials") : nullptr;
    if (trials && number >= 0 && size_t(number) < trials->size())
      trial = (*trials)[size_t(number)].getAsObject();
  }
  bool isThere() const { return trial != nullptr; }
  double number(llvm::StringRef name) const {
    return trial->getNumber(name).value_or(0);
  }
  std::string text() const {
    return llvm::formatv(
               "{0:f0} % of the work saved, age {1:f2}, worst frame {2}; "
               "leaving out frames {3:f2}, {4}; noise {5:f2}",
               100 * number("saved"), number("age"), few(number("worst")),
               number("skipping_age"), few(number("skipping_worst")),
               of->getNumber("noise_age").value_or(0))
        .str();
  }

private:
  /// Two digits.
  static std::string few(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.2g", value);
    return text;
  }
  const json::Object *of, *trial = nullptr;
};
} // namespace

std::string nnv12::findTolerances(const std::string &bundle,
                                  const ClipOptions &options,
                                  const TemporaryFolder &folder,
                                  ClipTolerances &tolerances) {
  std::string file = folder.file("trials.json");
  std::string fault = runSubprogram(
      "nnv12-bench",
      {bundle, "--video", options.path, "--max-age",
       llvm::formatv("{0}", options.maxAge).str(), "--json", file},
      /*showsProgress=*/true);
  if (!fault.empty())
    return fault;
  auto buffer = llvm::MemoryBuffer::getFile(file);
  auto report =
      buffer ? llvm::expectedToOptional(json::parse((*buffer)->getBuffer()))
             : std::nullopt;
  const json::Object *object = report ? report->getAsObject() : nullptr;
  if (!object)
    return "nnv12-bench: found no report of its trials";
  if (auto reason = object->getString("reason"))
    return "--max-age: " + reason->str() + ": reuse does not pay on this clip";
  ReportedTrial first(*object, "first_half",
                      object->getInteger("chosen").value_or(-1)),
      second(*object, "second_half", 0);
  if (!first.isThere() || !second.isThere())
    return "nnv12-bench: found no chosen trial in its report";
  tolerances.input = float(first.number("input_tolerance"));
  tolerances.value = float(first.number("tolerance"));
  tolerances.refresh = uint32_t(first.number("refresh"));
  double time = object->getNumber("cpu_ms").value_or(0),
         plain = object->getNumber("plain_cpu_ms").value_or(0);
  tolerances.report = llvm::formatv(
      "  clip       tolerances {0:f3} of the input, {1:f3} of "
      "values; of {2} frames one computes all\n"
      "             first half: {3}\n"
      "             second half: {4}\n"
      "             CPU time of a frame there: {5:f2} ms, of a "
      "plain one {6:f2} ms{7}\n",
      tolerances.input, tolerances.value, tolerances.refresh, first.text(),
      second.text(), time, plain,
      time < plain ? "" : ": reuse takes more time than it saves");
  if (tolerances.value <= tools::copiesAlone)
    tolerances.report +=
        "             it reuses copies alone, as --video exact "
        "does with no bit changed\n";
  return "";
}
