//===- Preparer.cpp - Makes a GPU ready like a session --------------------===//
#include "tools/nnv12-tune/Preparer.h"

#include "tools/common/Clock.h"
#include "tools/common/Report.h"

#include <thread>

namespace nnv12::tune {

using artifact::Fault;
using runtime::GpuDevice;
using tools::fail;
using tools::milliseconds;

void Preparer::refuse(const Fault &fault) const {
  fail(of.path() + ": " + fault.text);
}

Preparer::Preparer(const DispatchBundle &bundle, const runtime::GpuWish &wish,
                   const char *cacheFolder)
    : of(bundle) {
  Fault fault;
  double start = milliseconds();
  device_ = GpuDevice::acquire(wish, /*folder=*/"", fault);
  if (!device_)
    fail(std::string("no GPU to measure: ") + fault.text);
  startMs_ = milliseconds() - start;
  runtime::GpuMemory::Sizes sizes = {};
  for (const bundle::Memory *memory : *of.overlay().memories())
    (memory->kind() == bundle::MemoryKind_Arena ? sizes.arena
                                                : sizes.prepared) =
        memory->size();
  const bundle::Bundle *metadata = of.loaded().metadata();
  if (!memory_.create(*device_, sizes, nullptr, nullptr, fault) ||
      !pipelines_.create(metadata, &of.gpu(), of.loaded().image(), *device_,
                         cacheFolder, fault) ||
      !uploads.create(of.loaded().loaded(), {nullptr, nullptr}, *device_,
                      memory_, fault) ||
      (device_->isSoftware() &&
       !warmUp.create(&of.gpu(), *device_, memory_, pipelines_, fault)))
    refuse(fault);
  for (uint32_t i = 0; i < of.gpu().pipelines()->size(); ++i)
    if (!pipelines_.lack(i))
      usable.push_back(i);
  if (usable.empty()) {
    runtime::Lack lack = pipelines_.lack(0);
    fail(of.path() + ": " + device_->name() + " lacks " + lack.what +
         " for all kernels: found " + std::to_string(lack.found) +
         ", expected " + std::to_string(lack.expected));
  }
}

Preparer::~Preparer() {
  warmUp.destroy();
  uploads.destroy();
  pipelines_.destroy();
  memory_.destroy();
  device_->release();
}

/// Each `stride`th pipeline.
double Preparer::makeSome(size_t first, size_t stride) {
  Fault fault;
  double start = milliseconds();
  for (size_t i = first; i < usable.size(); i += stride)
    if (!pipelines_.make(&usable[i], 1, fault) ||
        (device_->isSoftware() && !warmUp.run(&usable[i], 1, fault)))
      refuse(fault);
  return milliseconds() - start;
}

double Preparer::makePipelines(unsigned threads) {
  double start = milliseconds();
  std::vector<std::thread> others;
  for (unsigned i = 0; i < threads; ++i)
    others.emplace_back([this, i, threads] { makeSome(i, threads); });
  for (std::thread &other : others)
    other.join();
  return (milliseconds() - start) / double(usable.size());
}

double Preparer::upload() {
  Fault fault;
  uint64_t bytes = 0;
  double start = milliseconds();
  for (const bundle::GpuPreparation *preparation : *of.overlay().preparations())
    for (uint32_t i = 0;
         preparation->uploads() && i < preparation->uploads()->size(); ++i) {
      const bundle::Upload *upload = preparation->uploads()->Get(i);
      if (!uploads.upload(upload, fault))
        refuse(fault);
      bytes += upload->size();
    }
  return double(bytes) / (milliseconds() - start);
}

} // namespace nnv12::tune
