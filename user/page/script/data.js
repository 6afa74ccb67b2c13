/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the data that user/page/data.c and lanes.h describe. */
"use strict";

const SPAN_SIZE = 13;
const UNKNOWN = 0, RUNNING = 1, READY = 2, IDLE = 7, CLASSES = 9;
const CLASS_ORDER = [1, 2, 8, 3, 4, 5, 6, 7, 0]; /* as they are listed */

function bytesOfBase64(text)
{
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

async function inflate(bytes)
{
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));

	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* One lane: typed arrays with a start and an end (ns), a class, a text and another lane each. */
function readLane(meta, lane, raw, at)
{
	const n = lane.spans, number = (column, i) => (raw[at + column * n + i] |
		raw[at + (column + 1) * n + i] << 8 | raw[at + (column + 2) * n + i] << 16 |
		raw[at + (column + 3) * n + i] << 24) >>> 0;
	const starts = new Float64Array(n), ends = new Float64Array(n);
	const texts = new Uint16Array(n), others = new Uint16Array(n);
	let end = 0;

	for (let i = 0; i < n; i++) {
		starts[i] = (end + number(0, i)) * meta.unit;
		end += number(0, i) + number(4, i);
		ends[i] = end * meta.unit;
		texts[i] = raw[at + 9 * n + i] | raw[at + 10 * n + i] << 8;
		others[i] = raw[at + 11 * n + i] | raw[at + 12 * n + i] << 8;
	}
	return Object.assign(lane, {starts, ends, texts, others,
				    classes: raw.subarray(at + 8 * n, at + 9 * n)});
}

async function readData()
{
	const meta = JSON.parse(document.getElementById("meta").textContent);
	const raw = await inflate(bytesOfBase64(document.getElementById("spans").textContent));
	let at = 0;

	for (const lane of meta.lanes) {
		readLane(meta, lane, raw, at);
		at += SPAN_SIZE * lane.spans;
	}
	meta.lanes.forEach((lane, i) => { lane.number = i; });
	return meta;
}

/* The first span of a lane that ends after a moment; the lane's length: none does. */
function spanAfter(lane, at)
{
	let low = 0, high = lane.starts.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (lane.ends[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* "12.3 ms" */
function duration(ns)
{
	for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"]])
		if (Math.abs(ns) >= unit)
			return (ns / unit).toPrecision(3) + " " + name;
	return Math.round(ns) + " ns";
}
