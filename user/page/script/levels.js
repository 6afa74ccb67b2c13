/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Levels of detail: buckets of time, each with the share of every class in 255ths, so that a
 * lane of a million spans is drawn as fast as one of a hundred. Buckets are fixed in time:
 * what they show does not flicker while the view moves.
 */
const FEW_SPANS = 1024; /* a lane with fewer has no levels */

/* The finest level: about four spans a bucket. */
function finestLevel(lane, length)
{
	let count = 8;

	while (count * 4 < lane.starts.length)
		count *= 2;
	const width = length / count, sums = new Float32Array(count * CLASSES);

	for (let i = 0; i < lane.starts.length; i++) {
		const end = lane.ends[i];
		let at = lane.starts[i], bucket = Math.min(count - 1, Math.floor(at / width));

		while (at < end && bucket < count) {
			const until = Math.min(end, (bucket + 1) * width);

			sums[bucket * CLASSES + lane.classes[i]] += until - at;
			at = until;
			bucket++;
		}
	}
	const shares = new Uint8Array(sums.length);

	/* A class with any time stays visible. */
	for (let i = 0; i < sums.length; i++)
		shares[i] = sums[i] > 0 ? Math.max(1, Math.min(255, sums[i] / width * 255)) : 0;
	return {width, count, shares};
}

function coarserLevel(fine)
{
	const count = fine.count / 2, shares = new Uint8Array(count * CLASSES);

	for (let i = 0; i < count; i++)
		for (let k = 0; k < CLASSES; k++)
			shares[i * CLASSES + k] = (fine.shares[2 * i * CLASSES + k] +
				fine.shares[(2 * i + 1) * CLASSES + k] + 1) >> 1;
	return {width: fine.width * 2, count, shares};
}

/* The levels of a lane, the finest first; made when they are first needed. */
function levelsOf(lane, length)
{
	if (lane.levels)
		return lane.levels;
	lane.levels = [];
	if (lane.starts.length >= FEW_SPANS) {
		lane.levels.push(finestLevel(lane, length));
		while (lane.levels[lane.levels.length - 1].count > 8)
			lane.levels.push(coarserLevel(lane.levels[lane.levels.length - 1]));
	}
	return lane.levels;
}

/* The coarsest level whose buckets are no wider than a pixel; null: draw spans. */
function levelFor(lane, length, nsPerPixel)
{
	let chosen = null;

	for (const level of levelsOf(lane, length)) {
		if (level.width > nsPerPixel)
			break;
		chosen = level;
	}
	return chosen;
}

/* The class with most time in from..to; idle counts half, so that work is seen. -1: none. */
function classOfBuckets(level, from, to)
{
	const sums = [0, 0, 0, 0, 0, 0, 0, 0];
	const first = Math.max(0, Math.floor(from / level.width));
	const last = Math.min(level.count, Math.max(first + 1, Math.floor(to / level.width)));
	let best = -1;

	for (let i = first; i < last; i++)
		for (let k = 0; k < CLASSES; k++)
			sums[k] += level.shares[i * CLASSES + k];
	sums[IDLE] /= 2;
	for (let k = 0; k < CLASSES; k++)
		if (sums[k] > (best < 0 ? 0 : sums[best]))
			best = k;
	return best;
}
