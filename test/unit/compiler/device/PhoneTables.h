//===- PhoneTables.h - The tables of the paper, simulated -------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_DEVICE_PHONETABLES_H
#define NNV12_TEST_UNIT_COMPILER_DEVICE_PHONETABLES_H

#include "Networks.h"

namespace nnv12::device {

/// A profile that comes with nnv12; ends the process if there is no such one.
DeviceProfile shippedProfile(const std::string &name);

/// Finishes of a model, milliseconds, without and with each part of NNV12.
struct Ablation {
  double none, k, kc, kcp, warm, bound;
};
/// `model`: "ResNet-50" or "GoogLeNet". Computed once.
const Ablation &ablation(const std::string &phone, const std::string &model);

/// Markdown tables, in docs/results/phones.md.
std::string table1();
std::string table2();
std::string figure13();
/// In docs/search.md: Algorithm 1 alone beside the whole search.
std::string searchTable();

} // namespace nnv12::device

#endif // NNV12_TEST_UNIT_COMPILER_DEVICE_PHONETABLES_H
