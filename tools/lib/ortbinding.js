// ONNX Runtime's binding, called directly: without the promise that the package
// wraps around it.
//
// MODULES is the node_modules folder that holds onnxruntime-node.
"use strict";
const path = require("path");
const {readNpy} = require("./npy");

/// {binding, Tensor}, initialised.
function load(modules) {
  const {Tensor} = require(path.join(modules, "onnxruntime-common"));
  const {binding, initOrt} =
      require(path.join(modules, "onnxruntime-node/dist/binding"));
  initOrt();
  return {binding, Tensor};
}

/// A session's options: what a program gets that sets nothing but the number of
/// threads and that denormals are flushed, and `more`. `session`: entries of
/// its configuration, without "session." before their names.
function options(threads, more, session) {
  return {
    intraOpNumThreads: Number(threads),
    interOpNumThreads: 1,
    executionMode: "sequential",
    logSeverityLevel: 3,
    ...more,
    extra: {session: {set_denormal_as_zero: "1", ...session}},
  };
}

/// Inputs of a run from words NAME=FILE.npy.
function readFeeds(words, Tensor) {
  const feeds = {};
  for (const word of words) {
    const at = word.lastIndexOf("=");
    feeds[word.slice(0, at)] = readNpy(word.slice(at + 1), Tensor);
  }
  return feeds;
}

module.exports = {
  load,
  options,
  readFeeds
};
