//===- nnv12-tune.cpp - Measures a device for the planner -----------------===//
#include "tools/common/Files.h"
#include "tools/common/Options.h"
#include "tools/common/Report.h"
#include "tools/nnv12-tune/Tuner.h"

#include <cstdio>

using namespace nnv12;
using namespace nnv12::tools;
using namespace nnv12::tune;

static constexpr char overview[] =
    "measures, on the device that it runs on, what nnv12c must know to plan "
    "for it: each kernel of tuning bundles (nnv12c --emit tuning) on each kind "
    "of core, storage, memory, and what neighbouring threads cost each other. "
    "Writes a device profile for nnv12c --profile";

static constexpr char examples[] =
    R"(  nnv12c model.onnx --emit tuning --target aarch64 -o model.tune.nnv
  nnv12-tune model.tune.nnv -o phone.json             (on the phone)
  nnv12c model.onnx --profile phone.json -o model.nnv
      kernels of this model as fast as they are on the phone
  nnv12-tune other.tune.nnv --base phone.json -o phone.json
      adds another model's kernels to a profile of this device
  nnv12c --emit tuning --gpu -o gpu.tune.nnv
  nnv12-tune --gpu gpu.tune.nnv -o device.json
      the GPU, for nnv12c --gpu --gpu-profile device.json
  nnv12-tune --gpu gpu.tune.nnv --gpu-beside model.tune.nnv -o device.json
      and what it and the CPU lose while both compute
)";

static TuneOptions parseOptions(int argc, char **argv) {
  TuneOptions result;
  Options options("nnv12-tune", overview, examples);
  options.positionals("TUNING.nnv", result.bundles);
  options.output(
      "o", "PROFILE.json", result.output,
      "Where to write the device profile. Required. May be that of --base, "
      "but none of the bundles.");
  options.text(
      "base", "PROFILE.json", result.base,
      "Take what is known of this device from an earlier profile, measure "
      "kernels alone, and add them.");
  options.number(
      "repeat", "N", result.repeat, 1, 1000,
      "Runs of each kernel, after one that does not count; the median is "
      "taken. Where all kernels take less than a fifth of a second they run "
      "that long instead of once. Default 9.");
  options.reals(
      "threads", "LIST", result.threads,
      "Numbers of threads to measure with, e.g. 1,2,4; what lies between two "
      "of them is interpolated. Default: powers of two up to the number of big "
      "cores, and that number.");
  options.text(
      "storage", "FOLDER", result.storage,
      "Where models will be stored: read speed is measured there. Default: the "
      "profile's folder.");
  options.number(
      "storage-size", "MB", result.storageMB, 4, 4096,
      "Size of the file that is written and read there. Default 64.");
  options.text("name", "NAME", result.name,
               "The device's name, for people. Default: its CPU.");
  options.flag("gpu", result.gpu,
               "Measure the GPU alone, by a bundle of nnv12c --emit tuning "
               "--gpu, and write it into the profile of --base, or into that "
               "of an ordinary CPU.");
  options.number("gpu-units", "N", result.units, 1, 65536,
                 "With --gpu: compute units that it has, where data sheets say "
                 "so. Default: as in --base, else they are counted with the "
                 "groups that each runs.");
  options.number(
      "gpu-seconds", "N", result.seconds, 1, 3600,
      "With --gpu: the time there is. Of a GPU that is too slow for all "
      "kernels, as software is, those that take longest are left out; a driver "
      "that gives no answer is taken to hang. Default 150.");
  options.text("gpu-beside", "TUNING.nnv", result.besides,
               "With --gpu: also run kernels of this CPU, by a tuning bundle "
               "made without --gpu, on --threads, and kernels of the GPU at "
               "once. Plans may split layers between both only by a profile "
               "that knows how much slower they are then.");
  options.text("gpu-samples", "FILE", result.samples,
               "With --gpu: also write what was measured of each kernel, for "
               "--gpu-refit.");
  options.text("gpu-refit", "FILE", result.refit,
               "With --gpu: measure nothing, but fit the profile to what "
               "--gpu-samples wrote.");
  options.flag("allow-software-gpu", result.allowSoftware,
               "With --gpu: take a GPU that is software.");
  options.text("vulkan-library", "FILE", result.vulkanLibrary,
               "With --gpu: the library of Vulkan. Default: libvulkan.so.1.");
  options.parse(argc, argv);
  if (result.output.empty())
    fail("-o: found nothing, expected where to write the profile");
  if (result.gpu && result.bundles.size() != 1)
    fail("--gpu: found " + std::to_string(result.bundles.size()) +
         " bundles, expected one");
  return result;
}

/// The profile to add to: that of --base, or that of an ordinary CPU.
static device::DeviceProfile openProfile(const TuneOptions &options,
                                         const Tuner &tuner) {
  if (options.base.empty()) {
    std::string target = tuner.target();
    bool isX86 = target.compare(0, 6, "x86-64") == 0;
    device::DeviceProfile profile =
        device::builtinProfile(isX86 ? "x86-64" : "aarch64", target);
    profile.kernels.clear();
    return profile;
  }
  std::string error;
  auto base = device::readProfile(options.base, error);
  if (!base)
    fail(error);
  error = tuner.refusal(*base);
  if (!error.empty())
    fail(options.base + ": " + error);
  return std::move(*base);
}

int main(int argc, char **argv) {
  TuneOptions options = parseOptions(argc, argv);
  // All that may be wrong with the arguments comes before anything is measured.
  std::unique_ptr<Tuner> tuner =
      options.gpu ? deviceTuner(options) : coreTuner(options);
  checkOutput(options.output);
  device::DeviceProfile profile = openProfile(options, *tuner);
  tuner->measure(profile);
  if (!options.name.empty())
    profile.name = options.name;
  failIf(device::writeProfile(profile, options.output));
  printf("%s: ", options.output.c_str());
  tuner->report(profile);
  finishOutput();
  return 0;
}
