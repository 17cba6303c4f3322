//===- Profile.h - Profiles as text, JSON and tables ------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_PROFILE_H
#define NNV12_TOOLS_NNV12_PROF_PROFILE_H

#include "tools/nnv12-prof/Model.h"
#include "tools/nnv12-prof/VideoProfile.h"

namespace nnv12::prof {

/// For people: runs, threads, the cold run, and the `top` operations that take
/// longest (0: all, in their order).
void printProfile(const std::string &path, const Bundle &bundle,
                  const Profile &profile, unsigned top);

/// The name of the wait before an operation of the execute lane.
std::string nameOfWait(const Bundle &bundle, uint32_t operation);

/// All of it, for programs.
std::string profileJson(const std::string &path, const Bundle &bundle,
                        const Profile &profile);

/// One line for each kernel of the bundle that ran, with commas between: its
/// features and its times, as tables from which latencies are predicted
/// (nnPerf, section 5.3). `withHead`: begins with the names of the columns.
std::string kernelTable(const std::string &path, const Bundle &bundle,
                        const Profile &profile, bool withHead);

/// One HTML file that needs no other, with the plan, the first run, a typical
/// warm run, and the profile.
std::string profilePage(const std::string &path, const StoredProgram &stored,
                        const Bundle &bundle, const tools::Recorded &recorded,
                        const Profile &profile);
/// The same with the plan, and the reuse between frames of a clip.
std::string videoPage(const std::string &path, const StoredProgram &stored,
                      const Bundle &bundle, const VideoProfile &profile);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_PROFILE_H
