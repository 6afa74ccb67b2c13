/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last seconds of a rule. */
#include "live/window.h"

#include <errno.h>
#include <stdlib.h>

/* Seconds beyond the window that may have begun when it is looked at. */
#define AHEAD  4
#define DIGITS 3

int window_init(struct window *window, unsigned over)
{
	*window = (struct window){.over = over, .count = over + AHEAD};
	window->seconds = calloc(window->count, sizeof(*window->seconds));
	return window->seconds ? 0 : -ENOMEM;
}

void window_done(struct window *window)
{
	for (unsigned i = 0; window->seconds && i < window->count; i++)
		histogram_done(&window->seconds[i].lengths);
	free(window->seconds);
	*window = (struct window){};
}

/* NULL: that second lies back too far. */
static struct window_second *second_at(struct window *window, uint64_t number)
{
	struct window_second *second = &window->seconds[number % window->count];

	if (second->number > number)
		return NULL;
	if (second->number < number) {
		histogram_done(&second->lengths);
		*second =
			(struct window_second){.number = number, .lengths = histogram_new(DIGITS)};
	}
	return second;
}

static bool is_longer(const struct clew_slow *slow, const struct clew_slow *than)
{
	return slow->end - slow->start > than->end - than->start;
}

int window_add_length(struct window *window, const struct clew_slow *slow)
{
	struct window_second *second = second_at(window, slow->at / WINDOW_SECOND);

	if (!second)
		return 0;
	if (is_longer(slow, &second->longest))
		second->longest = *slow;
	return histogram_add(&second->lengths, slow->end - slow->start);
}

/* The part of an interval that lies between two times, ns. */
static uint64_t part_of(const struct clew_slow *slow, uint64_t from, uint64_t to)
{
	if (from < slow->start)
		from = slow->start;
	if (to > slow->end)
		to = slow->end;
	return from < to ? to - from : 0;
}

void window_add_parts(struct window *window, const struct clew_slow *slow)
{
	uint64_t last = slow->end / WINDOW_SECOND, first = slow->start / WINDOW_SECOND;

	if (first + window->count <= last)
		first = last - window->count + 1;
	for (uint64_t number = first; number <= last; number++) {
		struct window_second *second = second_at(window, number);

		if (!second)
			continue;
		second->ns += part_of(slow, number * WINDOW_SECOND, (number + 1) * WINDOW_SECOND);
		if (is_longer(slow, &second->longest))
			second->longest = *slow;
	}
}

/* The seconds of the window, of which some may have had nothing: the next from *at on, or NULL. */
static const struct window_second *next_second(const struct window *window, uint64_t end,
					       uint64_t *at)
{
	while (*at < end) {
		uint64_t number = (*at)++;
		const struct window_second *second = &window->seconds[number % window->count];

		if (second->number == number)
			return second;
	}
	return NULL;
}

static uint64_t first_second(const struct window *window, uint64_t end)
{
	return end > window->over ? end - window->over : 0;
}

int window_percentile(const struct window *window, uint64_t end, unsigned share,
		      struct window_value *ret_value)
{
	struct histogram all = histogram_new(DIGITS);
	const struct window_second *second;
	uint64_t at = first_second(window, end);
	int r = 0;

	*ret_value = (struct window_value){};
	while (r == 0 && (second = next_second(window, end, &at))) {
		if (!second->lengths.count)
			continue;
		r = histogram_merge(&all, &second->lengths);
		if (is_longer(&second->longest, &ret_value->longest))
			ret_value->longest = second->longest;
	}
	ret_value->ns = histogram_percentile(&all, share / 100.0);
	histogram_done(&all);
	return r;
}

struct window_value window_sum(const struct window *window, uint64_t end)
{
	struct window_value value = {};
	const struct window_second *second;
	uint64_t at = first_second(window, end);

	while ((second = next_second(window, end, &at))) {
		value.ns += second->ns;
		if (is_longer(&second->longest, &value.longest))
			value.longest = second->longest;
	}
	return value;
}

void window_value_add_open(const struct window *window, uint64_t end, const struct clew_slow *slow,
			   struct window_value *value)
{
	struct clew_slow seen = *slow;

	if (seen.start >= end * WINDOW_SECOND)
		return;
	seen.end = end * WINDOW_SECOND;
	seen.open = true;
	value->ns += part_of(&seen, first_second(window, end) * WINDOW_SECOND, seen.end);
	if (is_longer(&seen, &value->longest))
		value->longest = seen;
}
