/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys, mouse and links. The address keeps the view, so that a link shows the same. */
const MOST_ROWS = 16, MOST_FOUND = 30, LEAST_RANGE = 1000;

class Page {
	constructor(meta)
	{
		const box = document.getElementById("timeline");

		this.meta = meta;
		this.allRows = false;
		this.step = -1;
		this.tip = document.getElementById("tip");
		document.documentElement.classList.add("scripts");
		box.hidden = false;
		this.build(box);
		this.timeline = new Timeline(this.canvas, meta);
		this.why = new Why(meta, (step) => this.goToStep(step));
		this.listen();
		this.readAddress();
		this.loop();
	}

	build(box)
	{
		const tools = element("div", null, {class: "tools"});
		const legend = element("div", null, {class: "legend"});

		this.title = element("b");
		this.search = element("input", null, {placeholder: "find thread or object", size: 16,
						      "aria-label": "find thread or object"});
		this.whole = element("button", "Whole capture", {type: "button"});
		this.one = element("button", "This operation", {type: "button"});
		this.more = element("button", "All threads", {type: "button", "aria-pressed": "false"});
		this.found = element("ul", null, {class: "found"});
		this.canvas = element("canvas", null, {tabindex: "0", role: "img", title: "",
			"aria-label": "timeline; ? shows the keys"});
		this.live = element("p", "? shows the keys and the words", {class: "sub", style: "font-size:12px", "aria-live": "polite"});
		this.asks = element("button", "?", {type: "button", title: "the keys and the words"});
		this.help = makeHelp(this.meta.classes);
		tools.append(this.title, this.search, this.whole, this.one, this.more, this.asks);
		for (const k of CLASS_ORDER) {
			const item = element("span");

			item.append(element("i", null, {class: "k" + k}), this.meta.classes[k]);
			legend.append(item);
		}
		const other = element("span");

		other.append(element("i", null, {class: "else"}), "another thread on a CPU");
		legend.append(other);
		box.append(tools, this.found, this.canvas, legend, this.live);
	}

	/* ---- what is shown ---- */

	get operation()
	{
		return this.meta.operations[this.number] || null;
	}

	/* CPUs, the threads on the path with most time on it, then those with most spans. */
	chooseRows()
	{
		const cpus = this.meta.lanes.filter((lane) => lane.kind === "cpu");
		const times = new Map(), operation = this.operation;

		if (this.allRows || this.only) {
			this.timeline.rows = this.allRows ? this.meta.lanes : cpus.concat(this.only);
			this.timeline.resize();
			return;
		}
		if (operation) {
			times.set(operation.lane, Infinity);
			for (const [, length, , lane] of operation.segments)
				if (lane)
					times.set(lane, (times.get(lane) || 0) + length);
		}
		const path = [...times].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([lane]) =>
			this.meta.lanes[lane - 1]);
		const others = this.meta.lanes.filter((lane) => lane.kind !== "cpu" && !path.includes(lane))
			.sort((a, b) => b.spans - a.spans);

		let rows = path.concat(others).slice(0, MOST_ROWS);
		if (this.extra && !rows.includes(this.extra))
			rows = path.concat(this.extra, others).slice(0, MOST_ROWS);
		this.timeline.rows = cpus.concat(rows);
		this.timeline.resize();
	}

	cpuRows()
	{
		return this.meta.lanes.filter((lane) => lane.kind === "cpu").length;
	}

	pick(number)
	{
		if (!this.meta.operations.length) {
			this.timeline.choose(null);
			this.chooseRows();
			this.view(0, this.meta.length);
			return;
		}
		this.number = Math.max(0, Math.min(this.meta.operations.length - 1, number));
		this.step = -1;
		this.only = null;
		this.timeline.choose(this.operation);
		this.why.show(this.number);
		this.chooseRows();
		this.showOperation();
	}

	showOperation()
	{
		const operation = this.operation;

		if (operation) {
			const margin = (operation.to - operation.from) * 0.04;

			this.view(operation.from - margin, operation.to + margin);
		}
	}

	view(from, to)
	{
		const length = this.meta.length, range = Math.min(length, Math.max(LEAST_RANGE, to - from));

		from = Math.max(0, Math.min(length - range, from));
		this.timeline.from = from;
		this.timeline.to = from + range;
		this.timeline.needed = true;
		this.title.textContent = range >= length * 0.999 ?
			"All " + duration(length) + ": CPUs and " + (this.timeline.rows.length - this.cpuRows()) +
				" of " + (this.meta.lanes.length - this.cpuRows()) + " threads" :
			duration(range) + " from +" + ((from + this.meta.offset) / 1e9).toFixed(6) + " s";
		clearTimeout(this.saving);
		this.saving = setTimeout(() => this.writeAddress(), 200);
	}

	zoom(factor, at)
	{
		const {from, to} = this.timeline;

		this.view(at - (at - from) * factor, at + (to - at) * factor);
	}

	pan(share)
	{
		const {from, to} = this.timeline, by = (to - from) * share;

		this.view(from + by, to + by);
	}

	goToStep(step)
	{
		const operation = this.operation;

		if (!operation || step < 0 || step >= operation.segments.length)
			return;
		const segment = operation.segments[step], margin = segment[1] * 0.6 + 2000;

		this.step = step;
		this.why.mark(step);
		this.view(segment[0] - margin, segment[0] + segment[1] + margin);
		this.live.textContent = duration(segment[1]) + " " + wordsOfSegment(this.meta, segment);
	}

	/* ---- the address ---- */

	writeAddress()
	{
		const {from, to} = this.timeline;

		history.replaceState(null, "", "#op=" + ((this.number || 0) + 1) + "&from=" +
			Math.round(from) + "&to=" + Math.round(to));
	}

	readAddress()
	{
		const hash = location.hash.slice(1), asked = new URLSearchParams(hash);
		const plain = /^op(\d+)$/.exec(hash);

		this.pick(((plain ? +plain[1] : +asked.get("op")) || 1) - 1);
		if (asked.has("from") && asked.has("to") && +asked.get("to") > +asked.get("from"))
			this.view(+asked.get("from"), +asked.get("to"));
	}

	/* ---- finding ---- */

	find(text)
	{
		const wanted = text.toLowerCase();
		const hits = !wanted ? [] : this.meta.lanes.filter((lane) =>
			(lane.name + " " + (lane.process || "")).toLowerCase().includes(wanted))
			.map((lane) => ({lane, words: lane.name + ", " + lane.spans + " pieces"}));

		if (wanted)
			hits.push(...this.findTexts(wanted));
		this.found.replaceChildren(...hits.slice(0, MOST_FOUND).map((hit) => {
			const item = element("li", hit.words, {tabindex: "0"});

			item.addEventListener("click", () => this.goToHit(hit));
			item.addEventListener("keydown", (event) => {
				if (event.key === "Enter")
					this.goToHit(hit);
			});
			return item;
		}));
		if (wanted && !hits.length)
			this.found.replaceChildren(element("li", "nothing has this in its name"));
		this.hits = hits;
	}

	/* Objects that were waited for: how often, and the longest wait. */
	findTexts(wanted)
	{
		const numbers = new Set(this.meta.texts.map((text, i) =>
			text.toLowerCase().includes(wanted) ? i : -1).filter((i) => i > 0));
		const found = new Map();

		if (!numbers.size)
			return [];
		for (const lane of this.meta.lanes)
			for (let i = 0; i < lane.spans; i++) {
				const text = lane.texts[i];

				if (!numbers.has(text))
					continue;
				const hit = found.get(text) || {text, count: 0, longest: -1};
				const length = lane.ends[i] - lane.starts[i];

				hit.count++;
				if (length > hit.longest)
					Object.assign(hit, {longest: length, lane, span: i});
				found.set(text, hit);
			}
		return [...found.values()].sort((a, b) => b.longest - a.longest).map((hit) => Object.assign(hit, {
			words: this.meta.texts[hit.text] + ": " + hit.count + " waits, the longest " +
				duration(hit.longest) + " of " + hit.lane.name}));
	}

	goToHit(hit)
	{
		const lane = hit.lane;
		const span = hit.span !== undefined ? hit.span : longestSpan(lane);

		this.extra = lane;
		this.only = hit.text === undefined ? null : this.lanesThatWaited(hit.text);
		this.chooseRows();
		if (span >= 0) {
			const margin = (lane.ends[span] - lane.starts[span]) * 0.6 + 2000;

			this.view(lane.starts[span] - margin, lane.ends[span] + margin);
		}
	}

	/* Shows the threads that waited for an object, the longest wait first. */
	lanesThatWaited(text)
	{
		const longest = (lane) => lane.texts.reduce((most, it, i) =>
			it === text ? Math.max(most, lane.ends[i] - lane.starts[i]) : most, -1);

		return this.meta.lanes.map((lane) => [longest(lane), lane]).filter(([ns]) => ns >= 0)
			.sort((a, b) => b[0] - a[0]).slice(0, MOST_ROWS).map(([, lane]) => lane);
	}

	/* Goes to what ended the wait of the chosen operation's thread at the left of the view. */
	followCause()
	{
		const own = this.operation && this.meta.lanes[this.operation.lane - 1];
		const segment = this.operation && this.operation.segments[Math.max(0, this.step)];

		if (!segment)
			return;
		const i = spanAfter(own, segment[0]), other = this.meta.lanes[own.others[i] - 1];

		if (!other) {
			this.live.textContent = "It is not known who ended this.";
			return;
		}
		this.extra = other;
		this.chooseRows();
		this.view(own.ends[i] - (this.timeline.to - this.timeline.from) / 2,
			  own.ends[i] + (this.timeline.to - this.timeline.from) / 2);
		this.live.textContent = other.name + " ended this: " + this.wordsOfSpan(own, segment[0]);
	}

	/* ---- the tip ---- */

	wordsAt(x, y)
	{
		const timeline = this.timeline, at = timeline.time(x);

		if (x < this.timeline.labels)
			return "";
		if (y >= AXIS && y < AXIS + PATH - 10 && this.operation) {
			const segment = this.operation.segments.find((it) => it[0] <= at && at < it[0] + it[1]);

			return segment ? duration(segment[1]) + " " + wordsOfSegment(this.meta, segment) +
				(segment[5] ? " [" + segment[5] + "]" : "") : "";
		}
		const lane = timeline.rowAt(y);

		return lane ? this.wordsOfSpan(lane, at) : "";
	}

	wordsOfSpan(lane, at)
	{
		const i = spanAfter(lane, at);

		if (i >= lane.spans || lane.starts[i] > at)
			return "";
		const other = this.meta.lanes[lane.others[i] - 1], length = duration(lane.ends[i] - lane.starts[i]);

		if (lane.kind === "cpu")
			return lane.name + ": " + (other ? other.name : "a thread that is not shown") + " " + length;
		return lane.name + ": " + this.meta.classes[lane.classes[i]] + " " + length +
			(lane.texts[i] ? " \u2014 " + this.meta.texts[lane.texts[i]] : "") +
			(other ? " \u2014 woken by " + other.name : "");
	}

	showTip(event)
	{
		const words = this.wordsAt(event.offsetX, event.offsetY);

		this.tip.hidden = !words;
		this.tip.textContent = words;
		this.tip.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - 450)) + "px";
		this.tip.style.top = event.clientY + 14 + "px";
	}

	/* ---- mouse and keys ---- */

	listen()
	{
		this.listenMouse();
		this.whole.addEventListener("click", () => this.view(0, this.meta.length));
		this.one.addEventListener("click", () => this.showOperation());
		this.more.addEventListener("click", () => this.toggleRows());
		this.asks.addEventListener("click", () => this.toggleHelp());
		document.querySelectorAll(".flame").forEach(listenToFlame);
		this.search.addEventListener("input", () => this.find(this.search.value));
		this.search.addEventListener("keydown", (event) => {
			if (event.key === "Enter" && this.hits && this.hits.length)
				this.goToHit(this.hits[0]);
			if (event.key === "Escape") {
				this.search.value = "";
				this.find("");
				this.canvas.focus();
			}
		});
		document.addEventListener("keydown", (event) => this.onKey(event));
		document.querySelectorAll("#slowest tr").forEach((row, i) => {
			row.addEventListener("click", (event) => {
				event.preventDefault();
				this.pick(i);
			});
		});
		addEventListener("hashchange", () => this.readAddress());
		addEventListener("resize", () => this.timeline.resize());
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
			this.timeline.needed = true;
		});
	}

	toggleHelp()
	{
		if (this.help.open)
			this.help.close();
		else
			this.help.showModal();
	}

	toggleRows()
	{
		this.allRows = !this.allRows;
		this.more.setAttribute("aria-pressed", this.allRows);
		this.chooseRows();
		this.view(this.timeline.from, this.timeline.to);
	}

	listenMouse()
	{
		const canvas = this.canvas;
		let drag = null;

		canvas.addEventListener("wheel", (event) => {
			event.preventDefault();
			if (event.shiftKey)
				this.pan((event.deltaY || event.deltaX) / 1500);
			else
				this.zoom(Math.exp(event.deltaY * 0.0015), this.timeline.time(event.offsetX));
		}, {passive: false});
		canvas.addEventListener("pointerdown", (event) => {
			const {from, to} = this.timeline;

			drag = {x: event.clientX, from, to, measures: event.shiftKey, moved: false};
			this.timeline.band = event.shiftKey ? [this.timeline.time(event.offsetX),
				this.timeline.time(event.offsetX)] : null;
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener("pointerup", (event) => {
			if (drag && drag.measures)
				this.live.textContent = this.measured();
			else if (drag && !drag.moved)
				this.clickAt(event.offsetX, event.offsetY);
			drag = null;
		});
		canvas.addEventListener("pointermove", (event) => {
			if (!drag) {
				this.showTip(event);
				return;
			}
			drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
			if (drag.measures) {
				this.timeline.band[1] = this.timeline.time(event.offsetX);
				this.timeline.needed = true;
			} else if (drag.moved) {
				const by = (drag.x - event.clientX) / (this.timeline.width - this.timeline.labels) * (drag.to - drag.from);

				this.view(drag.from + by, drag.to + by);
			}
		});
		canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
	}

	/* A click on the path's lane chooses the step; on a wait, who ended it gets a row. */
	clickAt(x, y)
	{
		const at = this.timeline.time(x), lane = this.timeline.rowAt(y);

		if (x >= this.timeline.labels && y >= AXIS && y < AXIS + PATH && this.operation)
			this.goToStep(this.operation.segments.findIndex((it) => it[0] <= at && at < it[0] + it[1]));
		else if (x >= this.timeline.labels && lane) {
			const other = this.meta.lanes[lane.others[spanAfter(lane, at)] - 1];

			if (other) {
				this.extra = other;
				this.chooseRows();
			}
			this.live.textContent = this.wordsAt(x, y);
		}
	}

	/* The time in the band, and what the threads in view did in it, added up by class. */
	measured()
	{
		const from = Math.min(...this.timeline.band), to = Math.max(...this.timeline.band);
		const sums = new Array(CLASSES).fill(0);

		for (const lane of this.timeline.rows)
			for (let i = spanAfter(lane, from); lane.kind !== "cpu" && i < lane.spans &&
			     lane.starts[i] < to; i++)
				sums[lane.classes[i]] += Math.min(to, lane.ends[i]) - Math.max(from, lane.starts[i]);
		return duration(to - from) + ", in which the threads above were: " + this.meta.classes
			.map((name, k) => [sums[k], name]).filter(([ns]) => ns > 0).sort((a, b) => b[0] - a[0])
			.map(([ns, name]) => name + " " + duration(ns)).join(", ");
	}

	async copy()
	{
		const text = this.why.text();

		try {
			await navigator.clipboard.writeText(text);
			this.live.textContent = "Copied.";
		} catch (error) {
			this.live.textContent = text;
		}
	}

	onKey(event)
	{
		const keys = {
			ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15),
			"+": () => this.zoom(0.6, (this.timeline.from + this.timeline.to) / 2),
			"=": () => this.zoom(0.6, (this.timeline.from + this.timeline.to) / 2),
			"-": () => this.zoom(1 / 0.6, (this.timeline.from + this.timeline.to) / 2),
			o: () => this.pick((this.number || 0) + 1), O: () => this.pick((this.number || 0) - 1),
			n: () => this.goToStep(this.step + 1), p: () => this.goToStep(this.step - 1),
			f: () => this.search.focus(), 0: () => this.showOperation(),
			Home: () => this.view(0, this.meta.length), y: () => this.copy(),
			r: () => this.toggleRows(), c: () => this.followCause(), "?": () => this.toggleHelp(),
		};
		const act = keys[event.key];

		if (!act || (this.help.open && event.key !== "?") || event.ctrlKey || event.metaKey || event.altKey ||
		    ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName))
			return;
		event.preventDefault();
		act();
	}

	loop()
	{
		if (this.timeline.needed)
			this.timeline.draw();
		requestAnimationFrame(() => this.loop());
	}
}

function longestSpan(lane)
{
	let best = -1;

	for (let i = 0; i < lane.spans; i++)
		if (best < 0 || lane.ends[i] - lane.starts[i] > lane.ends[best] - lane.starts[best])
			best = i;
	return best;
}

(async () => {
	const box = document.getElementById("timeline");

	try {
		window.clew = new Page(await readData());
		window.clew.ready = performance.now();
	} catch (error) {
		box.hidden = false;
		box.append(element("p", "The timeline needs a newer browser (" + error.message + ")."));
		console.error(error);
	}
})();
