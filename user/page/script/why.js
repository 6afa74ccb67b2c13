/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The explanation of the chosen operation beside the timeline. Outlines are in the document
 * already; the steps become a list whose items can be clicked.
 */
const MOST_STEPS = 1500;

function element(tag, text, attributes)
{
	const made = document.createElement(tag);

	if (text !== undefined && text !== null)
		made.textContent = text;
	for (const [name, value] of Object.entries(attributes || {}))
		made.setAttribute(name, value);
	return made;
}

/* "postgres-123: was running" */
function wordsOfSegment(meta, segment)
{
	const task = meta.lanes[segment[3] - 1];

	return (task ? task.name + ": " : "") + meta.sentences[segment[4]];
}

class Why {
	constructor(meta, choose)
	{
		this.meta = meta;
		this.choose = choose; /* called with the number of a step */
		this.sections = [...document.querySelectorAll("details.why")];
		this.rows = [...document.querySelectorAll("#slowest tr")];
		this.filled = new Set();
	}

	show(number)
	{
		this.number = number;
		this.sections.forEach((section, i) => {
			section.hidden = i !== number;
			section.open = i === number;
		});
		this.rows.forEach((row, i) => row.setAttribute("aria-selected", i === number));
		if (!this.filled.has(number))
			this.fill(number);
		this.mark(-1);
	}

	fill(number)
	{
		const section = this.sections[number], steps = section.querySelector(".steps");
		const segments = this.meta.operations[number].segments;
		const list = element("ol", null, {class: "steps", tabindex: "0"});

		this.filled.add(number);
		steps.querySelector("pre").remove();
		segments.slice(0, MOST_STEPS).forEach((segment, i) => {
			const item = element("li");

			item.append(element("b", duration(segment[1])),
				    element("i", null, {class: "k" + segment[2]}),
				    element("span", wordsOfSegment(this.meta, segment) +
					    (segment[5] ? " [" + segment[5] + "]" : "")));
			item.addEventListener("click", () => this.choose(i));
			list.append(item);
		});
		if (segments.length > MOST_STEPS)
			list.append(element("li", "and " + (segments.length - MOST_STEPS) + " more"));
		steps.append(list);
		this.addSlider(section, number);
	}

	/* Marks the step that is shown; -1: none. */
	mark(step)
	{
		const items = this.sections[this.number].querySelectorAll("ol.steps li");

		items.forEach((item, i) => {
			if (i === step)
				item.setAttribute("aria-current", "true");
			else
				item.removeAttribute("aria-current");
		});
		if (step >= 0 && items[step] && this.sections[this.number].querySelector(".steps").open)
			items[step].scrollIntoView({block: "nearest"});
	}

	/* How long it would have taken if some of its time were shorter: at best, as something
	   else may then be waited for. */
	addSlider(section, number)
	{
		const operation = this.meta.operations[number], sums = new Array(CLASSES).fill(0);
		const box = element("div", null, {class: "whatif"});
		const choice = element("select", null, {"aria-label": "kind of time"});
		const slider = element("input", null, {type: "range", min: "0", max: "100",
						       value: "50", "aria-label": "how much of it stays"});
		const result = element("output");

		for (const segment of operation.segments)
			sums[segment[2]] += segment[1];
		this.meta.classes.forEach((name, k) => {
			if (sums[k] && k !== UNKNOWN)
				choice.append(element("option", name, {value: k}));
		});
		choice.value = sums.indexOf(Math.max(...sums.slice(1)));
		const say = () => {
			const cut = sums[choice.value] * (1 - slider.value / 100);

			result.textContent = " With " + slider.value + " % of it, at best " +
				duration(operation.to - operation.from - cut) + " instead of " +
				duration(operation.to - operation.from) + ".";
		};

		choice.addEventListener("change", say);
		slider.addEventListener("input", say);
		box.append("What if less were ", choice, " ", slider, result);
		say();
		section.append(box);
	}

	/* The text that is copied: what the panel says, and the command that gives it. */
	text()
	{
		const section = this.sections[this.number];
		const lines = [section.querySelector("summary").textContent];

		for (const item of section.querySelectorAll("ul.outline li"))
			lines.push([...item.children].map((it) => it.textContent).filter(Boolean).join("  "));
		lines.push(section.querySelector("code").textContent);
		return lines.join("\n") + "\n";
	}
}
