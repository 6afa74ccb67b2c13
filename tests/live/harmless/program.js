// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Exceptions, a stack that overflows, promises, generators, workers and files.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const zlib = require('zlib');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');

function deep(depth) {
	if (!depth) throw new Error('deep');
	return deep(depth - 1) + 1;
}

function forever(depth) {
	return forever(depth + 1) + 1;
}

function* numbers(count) {
	for (let k = 0; k < count; k++) yield k * 7919 % 97;
}

function start(number) {
	return new Promise((resolve, reject) => {
		const worker = new Worker(__filename, { workerData: number });
		worker.on('message', resolve);
		worker.on('error', reject);
	});
}

async function main() {
	let caught = 0, overflowed = false;
	for (let depth = 0; depth < 500; depth++) {
		try { deep(depth % 50); } catch (error) { caught++; }
	}
	try { forever(0); } catch (error) { overflowed = error instanceof RangeError; }
	const sorted = [...numbers(500)].sort((a, b) => a - b).join('');
	const own = await fs.promises.readFile(__filename);
	const hash = crypto.createHash('sha256').update(zlib.gunzipSync(zlib.gzipSync(own))).digest('hex');
	const workers = await Promise.all([1, 2, 3].map(start));
	console.log(caught, overflowed, sorted.length, hash, workers);
}

if (isMainThread)
	main();
else
	parentPort.postMessage([...numbers(1000 * workerData)].reduce((a, b) => a + b));
