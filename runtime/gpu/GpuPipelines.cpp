//===- GpuPipelines.cpp - Pipelines of a bundle on a device ---------------===//
#include "runtime/gpu/GpuPipelines.h"

#include "artifact/GpuVerifier.h"
#include "artifact/ProgramView.h"
#include "artifact/SpirvVerifier.h"

#include <algorithm>
#include <cassert>

namespace nnv12::runtime {

using artifact::Fault;

/// As many go to the driver at once.
static constexpr uint32_t mostAtOnce = 16;

/// A pipeline that is about to be made.
struct GpuPipelines::Job {
  PipelineKey key;
  VkShaderModule module;
  VkPipelineLayout layout;
  VkSpecializationInfo constants;
  VkPipelineCreationFeedbackEXT feedback, stageFeedback;
  VkPipelineCreationFeedbackCreateInfoEXT feedbackInfo;
};

/// Vulkan promises little of any device: four storage buffers, say. The
/// verifier has seen to it that all of these are small numbers.
Lack GpuPipelines::findLack(const bundle::GpuPipeline *pipeline) const {
  const VkPhysicalDeviceLimits &limits = device_->facts().limits;
  const bundle::GpuExtent *local = pipeline->local();
  auto count = [](uint64_t features) {
    return static_cast<uint64_t>(__builtin_popcountll(features));
  };
  static constexpr char buffers[] = "storage buffers for its kernels",
                        sizes[] = "invocations along an axis of a workgroup";
  Lack lack;
  lack.need("number formats that its kernels use",
            count(pipeline->features() & device_->features()),
            count(pipeline->features()));
  lack.need(buffers, limits.maxPerStageDescriptorStorageBuffers,
            pipeline->bindings());
  lack.need(buffers, limits.maxDescriptorSetStorageBuffers,
            pipeline->bindings());
  lack.need("bytes of push constants", limits.maxPushConstantsSize,
            pipeline->push_words() * sizeof(uint32_t));
  lack.need("bytes of shared memory", limits.maxComputeSharedMemorySize,
            pipeline->shared());
  lack.need(sizes, limits.maxComputeWorkGroupSize[0], local->x());
  lack.need(sizes, limits.maxComputeWorkGroupSize[1], local->y());
  lack.need(sizes, limits.maxComputeWorkGroupSize[2], local->z());
  lack.need("invocations of a workgroup", limits.maxComputeWorkGroupInvocations,
            local->x() * local->y() * local->z());
  return lack;
}

bool GpuPipelines::create(const bundle::Bundle *bundle, const bundle::Gpu *gpu,
                          const uint8_t *image, GpuDevice &device,
                          const char *folder, Fault &fault) {
  bundle_ = bundle;
  image_ = image;
  device_ = &device;
  gpu_ = gpu;
  uint32_t count = gpu_->pipelines()->size();
  if (!lacks_.allocate(count) || !made_.allocate(count))
    return fault.set(Fault::OutOfMemory, "no memory for pipelines");
  for (uint32_t i = 0; i < count; ++i)
    lacks_[i] = findLack(gpu_->pipelines()->Get(i));
  artifact::Hasher hasher;
  for (const bundle::GpuModule *module : *gpu_->modules())
    hasher.update(module->digest()->data(), module->digest()->size());
  file_.open(folder, device_->cacheKey(), hasher.finish());
  makeCache();
  return true;
}

/// Without one, pipelines are made all the same.
void GpuPipelines::makeCache() {
  if (file_.isOff())
    return;
  auto info = makeStruct<VkPipelineCacheCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO);
  info.initialDataSize = file_.size();
  info.pInitialData = file_.size() ? file_.data() : nullptr;
  const Vulkan &vk = device_->vulkan();
  VkResult result =
      vk.CreatePipelineCache(device_->device(), &info, nullptr, &cache_);
  if (result && file_.size()) {
    file_.forget();
    info.initialDataSize = 0;
    info.pInitialData = nullptr;
    result = vk.CreatePipelineCache(device_->device(), &info, nullptr, &cache_);
  }
  if (result)
    cache_ = nullptr;
  else
    state_.store(file_.size() ? NNV12_GPU_CACHE_HIT : NNV12_GPU_CACHE_MISS,
                 std::memory_order_relaxed);
}

bool GpuPipelines::makeModule(const bundle::GpuPipeline *pipeline, Job &job,
                              Fault &fault) {
  const bundle::GpuModule *module = gpu_->modules()->Get(pipeline->module_());
  const bundle::Segment *segment = bundle_->segments()->Get(gpu_->code());
  artifact::SpirvInterface facts = {};
  facts.numWords = module->words();
  facts.bindings = pipeline->bindings();
  facts.written = pipeline->written();
  facts.pushWords = pipeline->push_words();
  facts.local[0] = pipeline->local()->x();
  facts.local[1] = pipeline->local()->y();
  facts.local[2] = pipeline->local()->z();
  facts.shared = pipeline->shared();
  facts.features = pipeline->features();
  facts.constants = job.key.constants;
  facts.numConstants = job.key.numConstants;
  artifact::Array<uint32_t> words;
  if (!words.allocate(facts.numWords))
    return fault.set(Fault::OutOfMemory, "no memory for a module");
  facts.words = words.data();
  memcpy(words.data(), image_ + segment->offset() + module->offset(),
         facts.numWords * sizeof(uint32_t));
  if (!artifact::verifyModule(gpu_, pipeline->module_(), words.data(), fault))
    return false;
  artifact::Array<uint64_t> scratch;
  if (!scratch.allocate(artifact::spirvScratchSize(facts) / sizeof(uint64_t) +
                        1))
    return fault.set(Fault::OutOfMemory, "no memory for a module");
  Fault why;
  if (!artifact::verifySpirv(facts, scratch.data(),
                             scratch.size() * sizeof(uint64_t), why))
    return fault.set(Fault::BadBundle, "module '%.100s': %.300s",
                     module->name()->c_str(), why.text);
  auto info = makeStruct<VkShaderModuleCreateInfo>(
      VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  info.codeSize = facts.numWords * sizeof(uint32_t);
  info.pCode = words.data();
  return device_->make(device_->vulkan().CreateShaderModule, info, job.module,
                       "vkCreateShaderModule", fault);
}

bool GpuPipelines::prepare(uint32_t index, Job &job, Fault &fault) {
  const bundle::GpuPipeline *pipeline = gpu_->pipelines()->Get(index);
  job = {};
  memcpy(job.key.module.bytes,
         gpu_->modules()->Get(pipeline->module_())->digest()->data(),
         sizeof job.key.module);
  job.key.bindings = pipeline->bindings();
  job.key.pushWords = pipeline->push_words();
  for (uint32_t constant : artifact::elementsOf(pipeline->constants()))
    job.key.constants[job.key.numConstants++] = constant;
  made_[index] = device_->find(job.key);
  if (made_[index])
    return true;
  VkDescriptorSetLayout set = device_->setLayout(job.key.bindings, fault);
  if (!set || !makeModule(pipeline, job, fault))
    return false;
  VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0,
                               job.key.pushWords *
                                   static_cast<uint32_t>(sizeof(uint32_t))};
  auto info = makeStruct<VkPipelineLayoutCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  info.setLayoutCount = 1;
  info.pSetLayouts = &set;
  info.pushConstantRangeCount = job.key.pushWords ? 1 : 0;
  info.pPushConstantRanges = &range;
  return device_->make(device_->vulkan().CreatePipelineLayout, info, job.layout,
                       "vkCreatePipelineLayout", fault);
}

/// Frees the objects that the device did not take over.
void GpuPipelines::finish(Job &job) {
  const Vulkan &vk = device_->vulkan();
  vk.DestroyShaderModule(device_->device(), job.module, nullptr);
  vk.DestroyPipelineLayout(device_->device(), job.layout, nullptr);
}

bool GpuPipelines::makeSome(Job *jobs, const uint32_t *indices, uint32_t count,
                            Fault &fault) {
  VkSpecializationMapEntry entries[artifact::maxConstants];
  for (uint32_t i = 0; i < artifact::maxConstants; ++i)
    entries[i] = {i, static_cast<uint32_t>(i * sizeof(uint32_t)),
                  sizeof(uint32_t)};
  VkComputePipelineCreateInfo infos[mostAtOnce];
  VkPipeline pipelines[mostAtOnce] = {};
  uint32_t jobOf[mostAtOnce], wanted = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Job &job = jobs[i];
    if (made_[indices[i]])
      continue;
    jobOf[wanted] = i;
    VkComputePipelineCreateInfo &info = infos[wanted++] =
        makeStruct<VkComputePipelineCreateInfo>(
            VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = job.module;
    info.stage.pName = "main";
    info.layout = job.layout;
    if (job.key.numConstants) {
      job.constants = {job.key.numConstants, entries,
                       job.key.numConstants * sizeof(uint32_t),
                       job.key.constants};
      info.stage.pSpecializationInfo = &job.constants;
    }
    if (device_->hasFeedback()) {
      job.feedbackInfo.sType =
          VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO_EXT;
      job.feedbackInfo.pPipelineCreationFeedback = &job.feedback;
      job.feedbackInfo.pipelineStageCreationFeedbackCount = 1;
      job.feedbackInfo.pPipelineStageCreationFeedbacks = &job.stageFeedback;
      info.pNext = &job.feedbackInfo;
    }
  }
  if (wanted == 0)
    return true;
  const Vulkan &vk = device_->vulkan();
  bool good = check(vk.CreateComputePipelines(device_->device(), cache_, wanted,
                                              infos, nullptr, pipelines),
                    "vkCreateComputePipelines", fault);
  for (uint32_t i = 0; i < wanted; ++i) {
    Job &job = jobs[jobOf[i]];
    if (good) {
      const MadePipeline *done =
          device_->add(job.key, pipelines[i], job.layout);
      good = done || fault.set(Fault::OutOfMemory, "no memory for pipelines");
      if (done) {
        made_[indices[jobOf[i]]] = done;
        job.layout = nullptr;
        madeCount_.fetch_add(1, std::memory_order_relaxed);
        if (job.feedback.flags &
            VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT_EXT)
          cachedCount_.fetch_add(1, std::memory_order_relaxed);
        continue;
      }
    }
    vk.DestroyPipeline(device_->device(), pipelines[i], nullptr);
  }
  return good;
}

bool GpuPipelines::make(const uint32_t *indices, uint32_t count, Fault &fault) {
  Job jobs[mostAtOnce];
  bool good = true;
  for (uint32_t done = 0; good && done < count;) {
    uint32_t next = std::min(count - done, mostAtOnce), prepared = 0;
    while (good && prepared < next) {
      good = prepare(indices[done + prepared], jobs[prepared], fault);
      ++prepared;
    }
    good = good && makeSome(jobs, indices + done, next, fault);
    for (uint32_t i = 0; i < prepared; ++i)
      finish(jobs[i]);
    done += next;
  }
  return good;
}

void GpuPipelines::save() {
  if (!cache_ || madeCount_.load(std::memory_order_relaxed) == 0)
    return;
  const Vulkan &vk = device_->vulkan();
  size_t size = 0;
  if (vk.GetPipelineCacheData(device_->device(), cache_, &size, nullptr) ||
      size == 0)
    return;
  void *room = file_.room(size);
  if (room &&
      !vk.GetPipelineCacheData(device_->device(), cache_, &size, room) &&
      file_.write(size))
    state_.store(NNV12_GPU_CACHE_WRITTEN, std::memory_order_relaxed);
}

void GpuPipelines::destroy() {
  if (cache_)
    device_->vulkan().DestroyPipelineCache(device_->device(), cache_, nullptr);
  cache_ = nullptr;
}

} // namespace nnv12::runtime
