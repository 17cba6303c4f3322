//===- GpuFuzzer.cpp - Sessions of overlays that are changed --------------===//
//
// The bytes decide on changes in the tables of a GPU, on the kind of device,
// and on how the session runs: an attacker who must fit the digests can make
// all of them. For any tables the session runs. Where a verifier refuses them
// the results are the CPU's, and where none does, the device, which is a mock,
// is not asked for anything that it could not do.
//
//===----------------------------------------------------------------------===//
#include "artifact/Compatibility.h"
#include "artifact/ProgramView.h"
#include "runtime/include/nnv12.h"
#include "test/fuzz/Choices.h"
#include "test/fuzz/WrittenBundle.h"
#include "test/unit/gpu/MockVulkan.h"
#include "test/unit/gpu/RangesSample.h"
#include "test/unit/sample/SplitSample.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <iterator>

using namespace nnv12;
using namespace nnv12::test;

static MockVulkan &mockVulkan() {
  void *library = dlopen(NNV12_MOCK_VULKAN, RTLD_NOW | RTLD_LOCAL);
  expect(library, "no mock");
  auto get = reinterpret_cast<MockVulkan *(*)()>(dlsym(library, "mockVulkan"));
  return *get();
}

namespace {

/// Bytes that hold numbers: a table's own, or a vector's.
struct Place {
  size_t begin, size; ///< in the image
};

/// A bundle, and where its overlay's tables lie.
class Image {
public:
  explicit Image(const artifact::Bundle &source) {
    bytes = written(source);
    const bundle::Bundle *bundle = metadataOf(bytes);
    const bundle::GpuOverlays *overlays =
        artifact::gpuOverlaysIn(bundle, bytes.data());
    addGpu(overlays->gpu());
    for (const bundle::ProgramGpu *overlay : *overlays->programs())
      addProgram(overlay);
    for (const bundle::Program *program : *bundle->programs())
      for (const bundle::Overlay *overlay : *program->overlays()) {
        addTable(overlay);
        addTable(overlay->head());
      }
  }

  /// A copy with some numbers changed, and digests that fit.
  std::vector<unsigned char> change(Choices &choices) const {
    std::vector<unsigned char> result = bytes;
    for (uint64_t i = choices.from(1, 4); i-- > 0;) {
      const Place &place = choices.of(places);
      static constexpr size_t widths[] = {1, 4, 8};
      size_t width = std::min(choices.of(widths), place.size);
      size_t at = place.begin + choices.below(place.size / width) * width;
      uint64_t value = 0;
      memcpy(&value, &result[at], width);
      switch (choices.below(4)) {
      case 0:
        value += choices.from(0, 8) - 4;
        break;
      case 1:
        value += (choices.from(0, 8) - 4) * 256;
        break;
      case 2:
        value = choices.below(16);
        break;
      case 3:
        value = choices.number();
        break;
      }
      memcpy(&result[at], &value, width);
    }
    fitDigests(result.data());
    return result;
  }

  std::vector<unsigned char> bytes;

private:
  void add(const void *begin, size_t size) {
    if (size)
      places.push_back(
          {size_t(static_cast<const unsigned char *>(begin) - bytes.data()),
           size});
  }
  /// The table's own bytes, references to others included.
  template <typename Table> void addTable(const Table *table) {
    const auto *begin = reinterpret_cast<const uint8_t *>(table);
    const uint8_t *fields =
        begin - flatbuffers::ReadScalar<flatbuffers::soffset_t>(begin);
    add(begin, flatbuffers::ReadScalar<uint16_t>(fields + 2));
  }
  template <typename Vector> void addNumbers(const Vector *vector) {
    if (vector)
      add(vector->Data(), vector->size() * sizeof(*vector->data()));
  }

  void addGpu(const bundle::Gpu *gpu) {
    addTable(gpu);
    for (const bundle::GpuModule *module : *gpu->modules())
      addTable(module);
    for (const bundle::GpuPipeline *pipeline : *gpu->pipelines()) {
      addTable(pipeline);
      addNumbers(pipeline->constants());
    }
  }
  void addProgram(const bundle::ProgramGpu *gpu) {
    addTable(gpu);
    for (const bundle::Memory *memory : *gpu->memories())
      addTable(memory);
    for (const bundle::Boundary *boundary : *gpu->boundaries()) {
      addTable(boundary);
      addTable(boundary->host());
    }
    for (const bundle::GpuPreparation *preparation : *gpu->preparations()) {
      addTable(preparation);
      addNumbers(preparation->pipelines());
      addNumbers(preparation->after());
      if (preparation->uploads())
        for (const bundle::Upload *upload : *preparation->uploads()) {
          addTable(upload);
          addTable(upload->source());
        }
    }
    for (const bundle::Lane *lane : *gpu->lanes()) {
      addTable(lane);
      addNumbers(lane->queue());
    }
    for (const bundle::Stretch *stretch : *gpu->stretches()) {
      addTable(stretch);
      addNumbers(stretch->after());
      for (const auto *list : {stretch->in(), stretch->out()})
        for (const bundle::Rows *rows : *list)
          addTable(rows);
      for (const bundle::Dispatch *dispatch : *stretch->dispatches()) {
        addTable(dispatch);
        addNumbers(dispatch->push());
        for (const bundle::GpuOperand *operand : *dispatch->operands())
          addTable(operand);
        for (const bundle::Touched *touched :
             artifact::elementsOf(dispatch->touched()))
          addTable(touched);
      }
      for (const bundle::Operation *part :
           artifact::elementsOf(stretch->parts())) {
        addTable(part);
        for (const bundle::Operand *operand : *part->operands())
          addTable(operand);
      }
    }
    addNumbers(gpu->warm());
  }

  std::vector<Place> places;
};

class Session {
public:
  Session(const std::vector<unsigned char> &image,
          nnv12_session_options options, const nnv12_gpu_options &gpu)
      : copy(image) {
    options.gpu = &gpu;
    if (nnv12_bundle_open_memory(copy.data, copy.size, nullptr, &bundle,
                                 &error))
      return;
    expect(nnv12_session_create(bundle, &options, &session, &error) == NNV12_OK,
           error.message);
  }
  ~Session() {
    nnv12_session_close(session);
    nnv12_bundle_close(bundle);
  }
  Session(const Session &) = delete;
  bool isOpen() const { return bundle; }

  std::vector<unsigned char> run() {
    const nnv12_tensor_info &in = *nnv12_bundle_input(bundle, 0);
    const nnv12_tensor_info &out = *nnv12_bundle_output(bundle, 0);
    std::vector<float> x(in.byte_size / sizeof(float));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i * 31 % 97) / 7;
    std::vector<unsigned char> y(out.byte_size, 0xee);
    nnv12_input input = NNV12_INPUT(x.data(), in.byte_size);
    nnv12_output output = NNV12_OUTPUT(y.data(), out.byte_size);
    expect(nnv12_session_run(session, &input, 1, &output, 1, &error) ==
               NNV12_OK,
           error.message);
    return y;
  }
  nnv12_session_info info() const {
    nnv12_session_info result = {};
    result.struct_size = sizeof result;
    nnv12_session_get_info(session, &result);
    return result;
  }

private:
  AlignedCopy copy;
  nnv12_bundle *bundle = nullptr;
  nnv12_session *session = nullptr;
  nnv12_error error = {};
};

nnv12_session_options sessionOptions() {
  nnv12_session_options options = NNV12_SESSION_OPTIONS_INIT;
  options.mode = NNV12_MODE_COLD; // switches of the sample change results
  options.oversubscribe = 1;
  return options;
}

nnv12_gpu_options gpuOptions(nnv12_gpu_mode mode) {
  nnv12_gpu_options options = NNV12_GPU_OPTIONS_INIT;
  options.mode = mode;
  options.vulkan_library = NNV12_MOCK_VULKAN;
  options.cache_dir = "";
  options.allow_software = 1;
  return options;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The samples' weights are compressed.
  static const bool hasZstd = dlopen("libzstd.so.1", RTLD_NOW) != nullptr;
  if (!hasZstd)
    return 0;
  static MockVulkan &mock = mockVulkan();
  static const Image images[] = {Image(GpuSample().bundle),
                                 Image(RangesSample().bundle),
                                 Image(SplitSample().bundle)};
  static std::vector<unsigned char> expected[std::size(images)];

  Choices choices(data, size);
  uint64_t which = choices.below(std::size(images));
  if (expected[which].empty())
    expected[which] = Session(images[which].bytes, sessionOptions(),
                              gpuOptions(NNV12_GPU_OFF))
                          .run();

  mock.reset();
  MockDevice &device = mock.devices[0];
  static constexpr VkPhysicalDeviceType types[] = {
      VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
      VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, VK_PHYSICAL_DEVICE_TYPE_CPU};
  device.type = choices.of(types);
  device.timeline = !choices.oneIn(4);
  device.coherent = !choices.oneIn(4);
  device.import = !choices.oneIn(4);
  if (choices.oneIn(4))
    device.makeLeast();
  // Larger overlays are not this machine's.
  device.largestAllocation = 4 << 20;

  nnv12_session_options options = sessionOptions();
  nnv12_gpu_options gpu = gpuOptions(NNV12_GPU_WAIT);
  options.threads = uint32_t(choices.from(1, 2));
  gpu.threads = uint32_t(choices.from(1, 2));
  options.preparation_threads =
      choices.oneIn(2) ? NNV12_NO_PREPARATION_THREADS : 0;
  {
    Session session(images[which].change(choices), options, gpu);
    for (int run = 0; session.isOpen() && run < 2; ++run) {
      std::vector<unsigned char> result = session.run();
      nnv12_session_info info = session.info();
      // An overlay of another kind or segment is passed over.
      expect(info.gpu_state >= NNV12_GPU_READY ||
                 info.gpu_state == NNV12_GPU_NONE,
             "the GPU is not waited for");
      expect(info.gpu_state == NNV12_GPU_READY || *info.gpu_reason,
             "no reason is said");
      expect(info.gpu_stretches_taken || result == expected[which],
             "not the CPU's results");
    }
  }
  nnv12_gpu_release();
  expect(mock.objectsLeft().empty(), "objects of Vulkan are left");
  for (const std::string &mistake : mock.mistakes())
    expect(false, mistake.c_str());
  return 0;
}
