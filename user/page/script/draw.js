/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Draws the timeline. Each lane becomes one line of an image, which is stretched to the lane's
 * height; text, the path of the chosen operation and the axis are drawn over it.
 */
const LABELS = 176, ROW = 19, PATH = 46, AXIS = 22;
const FONT = '11.5px system-ui, "DejaVu Sans", sans-serif';

function colours()
{
	const style = getComputedStyle(document.documentElement);
	const value = (name) => style.getPropertyValue(name).trim();
	const full = (hex) => hex.length === 4 ? "#" + [...hex.slice(1)].map((c) => c + c).join("") : hex;
	const classes = [];

	for (let k = 0; k < CLASSES; k++)
		classes.push(full(value("--k" + k)));
	return {classes, fg: value("--fg"), dim: value("--dim"), line: value("--line"),
		card: full(value("--card"))};
}

/* A pixel of an ImageData, little-endian. */
function pixelOf(hex)
{
	const n = parseInt(hex.slice(1), 16);

	return (0xff000000 | (n & 255) << 16 | (n >> 8 & 255) << 8 | n >> 16) >>> 0;
}

function mixed(hex, other, share)
{
	const part = (text, i) => parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);

	return "#" + [0, 1, 2].map((i) => Math.round(part(hex, i) * share + part(other, i) *
		(1 - share)).toString(16).padStart(2, "0")).join("");
}

/* Black or white, whichever reads better on a class. */
const inkOf = (k) => [0, 1, 3, 4].includes(k) ? "#fff" : "#111";

class Timeline {
	constructor(canvas, meta)
	{
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.meta = meta;
		this.from = 0;
		this.to = meta.length;
		this.rows = [];
		this.operation = null;
		this.onPath = new Set();
		this.band = null;
		this.image = null;
		this.stretched = document.createElement("canvas");
		this.needed = true;
		this.frames = [];
	}

	resize()
	{
		const ratio = window.devicePixelRatio || 1;

		this.width = this.canvas.clientWidth;
		this.height = AXIS + PATH + this.rows.length * ROW + 6;
		this.canvas.style.height = this.height + "px";
		this.canvas.width = this.width * ratio;
		this.canvas.height = this.height * ratio;
		this.needed = true;
	}

	x(at)
	{
		return LABELS + (at - this.from) / (this.to - this.from) * (this.width - LABELS);
	}

	time(x)
	{
		return this.from + (x - LABELS) / (this.width - LABELS) * (this.to - this.from);
	}

	rowAt(y)
	{
		const row = Math.floor((y - AXIS - PATH) / ROW);

		return row >= 0 && row < this.rows.length ? this.rows[row] : null;
	}

	draw()
	{
		const begun = performance.now(), g = this.context;
		const ratio = window.devicePixelRatio || 1;

		this.needed = false;
		this.colours = colours();
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = this.colours.card;
		g.fillRect(0, 0, this.width, this.height);
		g.textBaseline = "middle";
		this.drawAxis();
		this.drawLanes();
		this.drawGaps();
		if (this.operation)
			this.drawPath();
		if (this.band)
			this.drawBand();
		this.frames.push(performance.now() - begun);
	}

	drawAxis()
	{
		const g = this.context, step = this.axisStep();
		const operation = this.operation, range = this.to - this.from;
		const base = operation && range < this.meta.length / 3 ? operation.from : 0;

		g.font = FONT;
		for (let at = Math.ceil((this.from - base) / step) * step + base; at < this.to; at += step) {
			g.fillStyle = this.colours.line;
			g.fillRect(this.x(at), 0, 1, this.height);
			g.fillStyle = this.colours.dim;
			g.fillText((base && at >= base ? "+" : "") + duration(Math.round(at - base)),
				   this.x(at) + 4, 10);
		}
	}

	axisStep()
	{
		const least = (this.to - this.from) / 7, power = 10 ** Math.floor(Math.log10(least));

		return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
	}

	/* The pixel of a CPU's span: on the path, of the same process, or another. */
	cpuPixel(lane, i)
	{
		const other = lane.others[i], task = this.meta.lanes[other - 1];

		if (this.onPath.has(other))
			return this.pixels[RUNNING];
		return task && task.pid === this.ownPid ? this.halfPixel : this.greyPixel;
	}

	choosePixels()
	{
		const {classes, card, dim} = this.colours;

		this.pixels = classes.map(pixelOf);
		this.halfPixel = pixelOf(mixed(classes[RUNNING], card, 0.5));
		this.greyPixel = pixelOf(mixed(dim, card, 0.6));
		this.ownPid = this.operation && this.meta.lanes[this.operation.lane - 1].pid;
	}

	fillByLevel(line, lane, level, scale)
	{
		for (let x = 0; x < line.length; x++) {
			const k = classOfBuckets(level, this.from + x * scale, this.from + (x + 1) * scale);

			if (k >= 0)
				line[x] = this.pixels[k];
		}
	}

	fillBySpans(line, lane, scale)
	{
		const cpu = lane.kind === "cpu";

		for (let i = spanAfter(lane, this.from); i < lane.starts.length &&
		     lane.starts[i] < this.to; i++) {
			const from = Math.max(0, Math.floor((lane.starts[i] - this.from) / scale));
			const to = Math.min(line.length,
				Math.max(from + 1, Math.round((lane.ends[i] - this.from) / scale)));
			const pixel = cpu ? this.cpuPixel(lane, i) : this.pixels[lane.classes[i]];

			line.fill(pixel, from, to);
		}
	}

	drawLanes()
	{
		const g = this.context, width = Math.max(1, Math.round(this.width - LABELS));
		const scale = (this.to - this.from) / width, rows = this.rows;

		if (!rows.length)
			return;
		if (!this.image || this.image.width !== width || this.image.height !== rows.length) {
			this.image = new ImageData(width, rows.length);
			this.stretched.width = width;
			this.stretched.height = rows.length;
		}
		const all = new Uint32Array(this.image.data.buffer);

		this.choosePixels();
		all.fill(0);
		rows.forEach((lane, i) => {
			const line = all.subarray(i * width, (i + 1) * width);
			const level = levelFor(lane, this.meta.length, scale);

			if (level)
				this.fillByLevel(line, lane, level, scale);
			else
				this.fillBySpans(line, lane, scale);
		});
		this.stretched.getContext("2d").putImageData(this.image, 0, 0);
		g.imageSmoothingEnabled = false;
		rows.forEach((lane, i) => this.drawRow(lane, i, width));
	}

	drawRow(lane, i, width)
	{
		const g = this.context, y = AXIS + PATH + i * ROW;
		const own = this.operation && lane.number === this.operation.lane - 1;

		g.drawImage(this.stretched, 0, i, width, 1, LABELS, y + 3, this.width - LABELS, ROW - 6);
		if (lane.kind === "cpu")
			this.drawNames(lane, y);
		g.font = (own ? "600 " : "") + FONT;
		g.fillStyle = own ? this.colours.fg : this.colours.dim;
		g.fillText(lane.name, 6, y + ROW / 2 + 1, LABELS - 12);
	}

	/* The names of tasks on a CPU, where there is room. */
	drawNames(lane, y)
	{
		const g = this.context;

		if (levelFor(lane, this.meta.length, (this.to - this.from) / (this.width - LABELS)))
			return;
		g.font = FONT;
		for (let i = spanAfter(lane, this.from); i < lane.starts.length &&
		     lane.starts[i] < this.to; i++) {
			const a = Math.max(LABELS, this.x(lane.starts[i]));
			const b = Math.min(this.width, this.x(lane.ends[i]));
			const task = this.meta.lanes[lane.others[i] - 1];

			if (b - a < 60 || !task)
				continue;
			g.fillStyle = this.onPath.has(lane.others[i]) ? "#fff" : this.colours.fg;
			this.clipped(a, y, b - a - 2, ROW, () => g.fillText(task.name, a + 4, y + ROW / 2 + 0.5));
		}
	}

	clipped(x, y, width, height, paint)
	{
		const g = this.context;

		g.save();
		g.beginPath();
		g.rect(x, y, width, height);
		g.clip();
		paint();
		g.restore();
	}

	/* Hatching where records were lost. */
	drawGaps()
	{
		const g = this.context;

		g.strokeStyle = this.colours.fg;
		g.globalAlpha = 0.5;
		for (const [from, to] of this.meta.gaps) {
			const a = Math.max(LABELS, this.x(from)), b = Math.min(this.width, Math.max(this.x(to), this.x(from) + 2));

			if (b <= LABELS || a >= this.width)
				continue;
			this.clipped(a, AXIS + PATH, b - a, this.height, () => {
				for (let x = a - this.height; x < b; x += 7) {
					g.beginPath();
					g.moveTo(x, this.height);
					g.lineTo(x + this.height, 0);
					g.stroke();
				}
			});
		}
		g.globalAlpha = 1;
	}

	drawPath()
	{
		const g = this.context, operation = this.operation;

		g.font = "600 " + FONT;
		g.fillStyle = this.colours.fg;
		g.fillText("Critical path", 6, AXIS + 14);
		g.font = FONT;
		g.fillStyle = this.colours.dim;
		g.fillText("of " + this.meta.lanes[operation.lane - 1].name, 6, AXIS + 29, LABELS - 12);
		this.clipped(LABELS, 0, this.width - LABELS, this.height, () => {
			for (const segment of operation.segments)
				this.drawSegment(segment);
			this.drawJumps();
			g.strokeStyle = this.colours.fg;
			g.setLineDash([3, 3]);
			g.lineWidth = 1;
			for (const at of [operation.from, operation.to]) {
				g.beginPath();
				g.moveTo(this.x(at) + 0.5, AXIS);
				g.lineTo(this.x(at) + 0.5, this.height);
				g.stroke();
			}
			g.setLineDash([]);
		});
	}

	/* A segment in the path's own lane, with words where there is room. */
	drawSegment([start, length, k, lane])
	{
		const g = this.context, a = this.x(start), b = this.x(start + length);
		const task = this.meta.lanes[lane - 1];

		if (b < LABELS || a > this.width)
			return;
		g.fillStyle = this.colours.classes[k];
		g.fillRect(a, AXIS + 4, Math.max(1, b - a), 30);
		if (b - a < 46)
			return;
		const left = Math.max(a, LABELS);

		g.fillStyle = inkOf(k);
		this.clipped(left, AXIS, b - left - 3, 34, () => {
			g.font = "600 " + FONT;
			g.fillText(task ? task.name : "", left + 5, AXIS + 13);
			g.font = FONT;
			g.fillText(this.meta.classes[k] + " " + duration(length), left + 5, AXIS + 26);
		});
	}

	/* A line through the threads on the path, with the type of each jump. */
	drawJumps()
	{
		const g = this.context, labelled = new Set();
		let before = null;

		g.strokeStyle = this.colours.fg;
		for (const [start, length, , lane, , type] of this.operation.segments) {
			const row = this.rows.findIndex((it) => it.number === lane - 1);
			const a = this.x(start), b = this.x(start + length);
			const y = AXIS + PATH + row * ROW + ROW / 2;

			if (row < 0 || b < LABELS || a > this.width)
				continue;
			g.lineWidth = 2;
			g.beginPath();
			g.moveTo(a, y);
			g.lineTo(Math.max(b, a + 1), y);
			g.stroke();
			if (before !== null && Math.abs(before - y) > 2) {
				g.lineWidth = 1.5;
				g.beginPath();
				g.moveTo(a, before);
				g.lineTo(a, y);
				g.stroke();
				if (type && !labelled.has(lane)) {
					labelled.add(lane);
					this.drawLabel(type, a + 7, (before + y) / 2);
				}
			}
			before = y;
		}
	}

	drawLabel(text, x, y)
	{
		const g = this.context;

		g.font = "600 " + FONT;
		g.fillStyle = this.colours.card;
		g.fillRect(x, y - 7, g.measureText(text).width + 6, 14);
		g.fillStyle = this.colours.fg;
		g.fillText(text, x + 3, y + 0.5);
	}

	drawBand()
	{
		const g = this.context, a = this.x(Math.min(...this.band)), b = this.x(Math.max(...this.band));

		g.globalAlpha = 0.15;
		g.fillStyle = this.colours.fg;
		g.fillRect(a, AXIS, b - a, this.height);
		g.globalAlpha = 1;
		this.drawLabel(duration(Math.abs(this.band[1] - this.band[0])), a + 4, AXIS + 8);
	}
}
