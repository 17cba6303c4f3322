// ONNX Runtime behind a line protocol, for comparisons: one session in one process.
//
//   node ort.js MODULES MODEL.onnx THREADS NAME=FILE.npy...
//
// MODULES is the node_modules folder that holds onnxruntime-node. Commands come on
// standard input, one a line; each is answered by one line of JSON:
//   run N      runs N times                {"ns": [nanoseconds of each run]}
//   save DIR   writes DIR/output_I.npy     {"outputs": [{"name", "dims", "type"}]}
//
// The binding is called directly, without the promise that the package wraps around
// it, and outputs are written to tensors made before: the times hold as little of
// JavaScript as can be had.
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");

const [modules, model, threads, ...inputs] = process.argv.slice(2);
const {Tensor} = require(path.join(modules, "onnxruntime-common"));
const {binding, initOrt} = require(path.join(modules, "onnxruntime-node/dist/binding"));

// NumPy's element types, ONNX Runtime's names for them and JavaScript's arrays.
const TYPES = [
  ["<f4", "float32", Float32Array], ["<f8", "float64", Float64Array],
  ["<f2", "float16", Uint16Array], ["|i1", "int8", Int8Array],
  ["|u1", "uint8", Uint8Array], ["<i2", "int16", Int16Array],
  ["<u2", "uint16", Uint16Array], ["<i4", "int32", Int32Array],
  ["<u4", "uint32", Uint32Array], ["<i8", "int64", BigInt64Array],
  ["<u8", "uint64", BigUint64Array], ["|b1", "bool", Uint8Array],
];

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const wide = bytes[6] >= 2; // version 2 has a 4-byte header length
  const start = (wide ? 12 : 10) + (wide ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.toString("latin1", 10, start);
  const descr = /'descr':\s*'([^']+)'/.exec(header)[1];
  if (/'fortran_order':\s*True/.test(header)) throw new Error(`${file}: not in C order`);
  const dims = /'shape':\s*\(([^)]*)\)/.exec(header)[1].split(",").filter(s => s.trim()).map(Number);
  const type = TYPES.find(t => t[0] === descr);
  if (!type) throw new Error(`${file}: element type ${descr} is not known`);
  const data = new type[2](bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length));
  return new Tensor(type[1], data, dims);
}

function writeNpy(file, tensor) {
  const descr = TYPES.find(t => t[1] === tensor.type)[0];
  const shape = tensor.dims.length === 1 ? `${tensor.dims[0]},` : tensor.dims.join(", ");
  let header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
  header += " ".repeat(63 - (10 + header.length) % 64) + "\n";
  const prefix = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 0, 0]);
  prefix.writeUInt16LE(header.length, 8);
  const d = tensor.data;
  fs.writeFileSync(file, Buffer.concat(
      [prefix, Buffer.from(header, "latin1"), Buffer.from(d.buffer, d.byteOffset, d.byteLength)]));
}

initOrt();
const session = new binding.InferenceSession();
session.loadModel(model, {
  intraOpNumThreads: Number(threads), interOpNumThreads: 1, executionMode: "sequential",
  graphOptimizationLevel: "all", logSeverityLevel: 3,
  extra: {session: {set_denormal_as_zero: "1"}},
});
const feeds = {};
for (const input of inputs) {
  const at = input.lastIndexOf("=");
  feeds[input.slice(0, at)] = readNpy(input.slice(at + 1));
}
const names = session.outputMetadata.map(o => o.name);
const empty = () => Object.fromEntries(names.map(n => [n, null]));
const fetches = session.run(feeds, empty(), {}); // run once to learn the shapes

readline.createInterface({input: process.stdin}).on("line", line => {
  const [command, argument] = line.split(/ (.*)/);
  if (command === "run") {
    const ns = [];
    for (let i = 0; i < Number(argument); ++i) {
      const start = process.hrtime.bigint();
      session.run(feeds, fetches, {});
      ns.push(Number(process.hrtime.bigint() - start));
    }
    console.log(JSON.stringify({ns}));
  } else if (command === "save") {
    const result = session.run(feeds, empty(), {});
    names.forEach((n, i) => writeNpy(path.join(argument, `output_${i}.npy`), result[n]));
    console.log(JSON.stringify({
      outputs: names.map(n => ({name: n, dims: result[n].dims, type: result[n].type}))}));
  } else {
    console.log(JSON.stringify({error: `unknown command '${command}'`}));
  }
});
