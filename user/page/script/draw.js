/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Draws the timeline. Each lane becomes one line of an image, which is stretched to the lane's
 * height; text, the path of the chosen operation and the axis are drawn over it.
 */
const WIDE_LABELS = 176, NARROW_LABELS = 104, NARROW = 560, ROW = 19, PATH = 46, AXIS = 22;
const AXIS_SPACE = 12; /* least pixels between two labels of the axis */
const FONT = '11.5px system-ui, "DejaVu Sans", sans-serif';

function colours()
{
	const style = getComputedStyle(document.documentElement);
	const value = (name) => style.getPropertyValue(name).trim();
	const full = (hex) => hex.length === 4 ? "#" + [...hex.slice(1)].map((c) => c + c).join("") : hex;
	const classes = [];

	for (let k = 0; k < CLASSES; k++)
		classes.push(full(value("--k" + k)));
	return {classes, fg: value("--fg"), dim: value("--dim"), line: value("--line"), other: full(value("--else")),
		card: full(value("--card"))};
}

/* A pixel of an ImageData, little-endian. */
function pixelOf(hex)
{
	const n = parseInt(hex.slice(1), 16);

	return (0xff000000 | (n & 255) << 16 | (n >> 8 & 255) << 8 | n >> 16) >>> 0;
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
		this.labels = this.width < NARROW ? NARROW_LABELS : WIDE_LABELS;
		this.height = AXIS + PATH + this.rows.length * ROW + 6;
		this.canvas.style.height = this.height + "px";
		this.canvas.width = this.width * ratio;
		this.canvas.height = this.height * ratio;
		this.needed = true;
	}

	x(at)
	{
		return this.labels + (at - this.from) / (this.to - this.from) * (this.width - this.labels);
	}

	time(x)
	{
		return this.from + (x - this.labels) / (this.width - this.labels) * (this.to - this.from);
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

	/* Where the axis begins to count: an operation that is seen from near, or the capture. */
	axisBase()
	{
		const operation = this.operation, range = this.to - this.from;

		return operation && range < this.meta.length / 3 ? operation.from : 0;
	}

	/* The label of a moment, with as many digits as tell it from the next one. */
	axisLabel(at, step)
	{
		const [unit, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]].find(([size]) =>
			size <= Math.max(Math.abs(at), step) * 1.001) || [1, "ns"];
		const digits = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-6));

		return (at > 0 && this.axisBase() ? "+" : "") + (at / unit).toFixed(digits) + " " + name;
	}

	/* The moments with a label, and their labels: as many as have room. */
	axisMarks()
	{
		const g = this.context, base = this.axisBase(), range = this.to - this.from;
		const room = this.width - this.labels, power = 10 ** Math.floor(Math.log10(range)) / 1000;
		const steps = [1, 10, 100, 1000].flatMap((n) => [1, 2, 5].map((k) => n * k * power));
		const marks = (step) => {
			const found = [];

			for (let at = Math.ceil((this.from - base) / step) * step; at + base < this.to; at += step)
				found.push({at: at + base, text: this.axisLabel(at, step)});
			return found;
		};

		g.font = FONT;
		for (const step of steps.filter((it) => it * 12 > range)) {
			const found = marks(step), width = step / range * room;

			if (found.every((it) => g.measureText(it.text).width + AXIS_SPACE <= width))
				return found;
		}
		return [];
	}

	drawAxis()
	{
		const g = this.context;

		this.axis = this.axisMarks().map((mark) => ({x: this.x(mark.at) + 4, text: mark.text}));
		this.axis.forEach(({x, text}) => {
			g.fillStyle = this.colours.line;
			g.fillRect(x - 4, 0, 1, this.height);
			g.fillStyle = this.colours.dim;
			/* The last one may have no room any more. */
			if (x + g.measureText(text).width <= this.width)
				g.fillText(text, x, 10);
		});
	}

	choosePixels()
	{
		this.pixels = this.colours.classes.map(pixelOf);
		/* A CPU has two classes: a thread of the path ran, or another one. */
		this.cpuPixels = this.pixels.map(() => pixelOf(this.colours.other));
		this.cpuPixels[RUNNING] = this.pixels[RUNNING];
	}

	/* Sets the operation whose path is drawn; without one, all threads have the full colour. */
	choose(operation)
	{
		this.operation = operation;
		this.onPath = new Set(operation ? operation.segments.map((it) => it[3]) : []);
		for (const lane of this.meta.lanes.filter((it) => it.kind === "cpu")) {
			lane.classes = Uint8Array.from(lane.others, (other) =>
				!operation || (other && this.onPath.has(other)) ? RUNNING : READY);
			lane.levels = null;
		}
		this.needed = true;
	}

	fillByLevel(line, lane, level, scale)
	{
		const pixels = lane.kind === "cpu" ? this.cpuPixels : this.pixels;

		for (let x = 0; x < line.length; x++) {
			const k = classOfBuckets(level, this.from + x * scale, this.from + (x + 1) * scale);

			if (k >= 0)
				line[x] = pixels[k];
		}
	}

	fillBySpans(line, lane, scale)
	{
		const pixels = lane.kind === "cpu" ? this.cpuPixels : this.pixels;

		for (let i = spanAfter(lane, this.from); i < lane.starts.length &&
		     lane.starts[i] < this.to; i++) {
			const from = Math.max(0, Math.floor((lane.starts[i] - this.from) / scale));
			const to = Math.min(line.length,
				Math.max(from + 1, Math.round((lane.ends[i] - this.from) / scale)));

			line.fill(pixels[lane.classes[i]], from, to);
		}
	}

	drawLanes()
	{
		const g = this.context, width = Math.max(1, Math.round(this.width - this.labels));
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

		g.drawImage(this.stretched, 0, i, width, 1, this.labels, y + 3, this.width - this.labels, ROW - 6);
		if (lane.kind === "cpu")
			this.drawNames(lane, y);
		g.font = (own ? "600 " : "") + FONT;
		g.fillStyle = own ? this.colours.fg : this.colours.dim;
		g.fillText(lane.name, 6, y + ROW / 2 + 1, this.labels - 12);
	}

	/* The names of tasks on a CPU, where there is room. */
	drawNames(lane, y)
	{
		const g = this.context;

		if (levelFor(lane, this.meta.length, (this.to - this.from) / (this.width - this.labels)))
			return;
		g.font = FONT;
		for (let i = spanAfter(lane, this.from); i < lane.starts.length &&
		     lane.starts[i] < this.to; i++) {
			const a = Math.max(this.labels, this.x(lane.starts[i]));
			const b = Math.min(this.width, this.x(lane.ends[i]));
			const task = this.meta.lanes[lane.others[i] - 1];

			if (b - a < 60 || !task)
				continue;
			g.fillStyle = lane.classes[i] === RUNNING ? "#fff" : "#111";
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
			const a = Math.max(this.labels, this.x(from)), b = Math.min(this.width, Math.max(this.x(to), this.x(from) + 2));

			if (b <= this.labels || a >= this.width)
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
		g.fillText("of " + this.meta.lanes[operation.lane - 1].name, 6, AXIS + 29, this.labels - 12);
		this.clipped(this.labels, 0, this.width - this.labels, this.height, () => {
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

		if (b < this.labels || a > this.width)
			return;
		g.fillStyle = this.colours.classes[k];
		g.fillRect(a, AXIS + 4, Math.max(1, b - a), 30);
		if (b - a < 46)
			return;
		const left = Math.max(a, this.labels);

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

			if (row < 0 || b < this.labels || a > this.width)
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
