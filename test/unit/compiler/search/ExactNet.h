//===- ExactNet.h - The cheapest choice by trying all -----------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_SEARCH_EXACTNET_H
#define NNV12_TEST_UNIT_COMPILER_SEARCH_EXACTNET_H

#include "compiler/search/Net.h"

#include <string>

namespace nnv12::search {

/// The least cost of a net by trying all signatures and, for each value, all
/// ways to give each schema one source: the oracle of dprs(). For small nets.
double exactNetCost(const Net &net);

/// Adds up a choice: "" if each layer finds its operands in the schemas that it
/// reads, each copy is made once, from one that exists and for a reader, each
/// output is there, and the cost is right.
std::string checkNetChoice(const Net &net, const NetChoice &choice);

} // namespace nnv12::search

#endif // NNV12_TEST_UNIT_COMPILER_SEARCH_EXACTNET_H
