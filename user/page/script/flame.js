/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A click on a frame of a flame graph makes it as wide as the graph; on one above it, goes back. */
function listenToFlame(flame)
{
	const frames = [...flame.children].map((item) => ({
		item, left: parseFloat(item.style.left), width: parseFloat(item.style.width),
		top: parseFloat(item.style.top),
	}));

	const show = (chosen) => frames.forEach((it) => {
		const above = it.top < chosen.top && it.left <= chosen.left + 1e-3 &&
			it.left + it.width >= chosen.left + chosen.width - 1e-3;
		const inside = it.top >= chosen.top && it.left >= chosen.left - 1e-3 &&
			it.left + it.width <= chosen.left + chosen.width + 1e-3;

		it.item.hidden = !above && !inside;
		it.item.classList.toggle("above", above);
		it.item.style.left = above ? "0%" : (it.left - chosen.left) / chosen.width * 100 + "%";
		it.item.style.width = above ? "100%" : it.width / chosen.width * 100 + "%";
	});

	for (const it of frames)
		it.item.addEventListener("click", () => show(it.top ? it : {left: 0, width: 100, top: 0}));
}
