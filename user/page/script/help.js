/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `?` shows: the keys, and the words and colours of the page. */
const KEYS = [
	["\u2190 \u2192", "pan; dragging does, too"],
	["+ \u2212", "zoom; the wheel does, too"],
	["o O", "the next operation, the one before"],
	["n p", "the next step of its path, the one before"],
	["c", "who ended the wait of this step"],
	["0", "the whole operation"],
	["Home", "the whole capture"],
	["f", "find a thread or an object; Enter goes to it, Escape leaves"],
	["r", "all threads, or those that matter"],
	["shift and drag", "measure a time"],
	["y", "copy the explanation as text"],
	["?", "this help; Escape closes it"],
];
const WORDS = [
	["operation", "what a thread did from one wait for work to the next"],
	["critical path", "at each moment of an operation, the one thing that it waited for or did: " +
		"its pieces add up to its time"],
	["step", "a piece of the path; in brackets the dependency that led there, with weaker " +
		"evidence than exact after a comma"],
	["exact, observed, candidate", "how sure a dependency is: the kernel said it, it follows from " +
		"what was seen, or it is one of several that are possible"],
	["piece", "a time in which a thread was in one state"],
];
const CLASS_WORDS = [
	"the recording cannot show it", "it ran on a CPU", "it could run, and another had its CPU",
	"a lock that another had", "a file or a disk", "another task or another host",
	"memory that had to be freed or read", "there was no work for it",
	"its group had used up its CPU quota",
];

function helpTable(title, rows, mark)
{
	const part = element("section"), table = element("table");

	rows.forEach(([word, meaning], i) => {
		const row = element("tr"), cell = element("td");

		if (mark)
			cell.append(element("i", null, {class: "swatch " + mark(i)}));
		cell.append(word);
		row.append(cell, element("td", meaning));
		table.append(row);
	});
	part.append(element("h2", title), table);
	return part;
}

/* A dialog, closed; help.showModal() opens it. */
function makeHelp(classes)
{
	const dialog = element("dialog", null, {"aria-label": "keys and words"});
	const close = element("button", "Close", {type: "button"});
	const order = CLASS_ORDER;
	const colours = order.map((k) => [classes[k], CLASS_WORDS[k]]);

	close.addEventListener("click", () => dialog.close());
	dialog.append(close, helpTable("Keys", KEYS), helpTable("Words", WORDS),
		      helpTable("Colours", colours.concat([["another thread",
			"on a CPU's line: one that is not on the path"]]),
				(i) => i < order.length ? "k" + order[i] : "else"));
	document.body.append(dialog);
	return dialog;
}
