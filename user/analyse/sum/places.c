/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls that threads of a causal trace ran in. */
#include "analyse/sum/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "convert/stays.h"
#include "explain/running.h"

struct clew_segment clew_place_at(const struct clew_trace *places, const struct clew_model *model,
				  uint32_t span, clew_time from, clew_time to)
{
	struct clew_segment segment = {
		.task = clew_stays_serial(clew_span_root(model, span)),
		.start = (uint64_t)from,
		.end = (uint64_t)to,
		.kind = CLEW_SEGMENT_RUNNING,
	};

	clew_cut_by_stay(places, &segment);
	return segment;
}

static int keep(struct vector *kept, const struct clew_path_segment *segment)
{
	int r = vector_reserve(kept, kept->count + 1);

	if (r == 0)
		((struct clew_path_segment *)kept->data)[kept->count++] = *segment;
	return r;
}

int clew_places_cut(const struct clew_trace *places, const struct clew_model *model,
		    struct clew_path_segment **segments, size_t *count)
{
	struct vector kept = {.item = sizeof(struct clew_path_segment)};
	struct clew_path_segment *cut;
	int r = 0;

	for (size_t i = 0; i < *count && r == 0; i++) {
		struct clew_path_segment segment = (*segments)[i];
		clew_time end = segment.end;

		while (r == 0 && segment.kind == CLEW_SEGMENT_RUNNING && segment.start < end) {
			segment.end = (clew_time)clew_place_at(places, model, segment.span,
							       segment.start, end)
					      .end;
			r = keep(&kept, &segment);
			segment.start = segment.end;
		}
		if (r == 0 && segment.kind != CLEW_SEGMENT_RUNNING)
			r = keep(&kept, &segment);
	}
	cut = r == 0 && kept.count > *count ? malloc(kept.count * sizeof(*cut)) : NULL;
	if (cut) {
		memcpy(cut, kept.data, kept.count * sizeof(*cut));
		free(*segments);
		*segments = cut;
		*count = kept.count;
	} else if (r == 0 && kept.count > *count) {
		r = -ENOMEM;
	}
	vector_done(&kept);
	return r;
}

/* ---- sums ---- */

static bool is_alike(const struct clew_stay *a, const struct clew_stay *b)
{
	return a->call == b->call && a->reason == b->reason && a->evidence == b->evidence;
}

int clew_place_sums_merge(struct clew_place_sums *sums, const struct clew_place_sum *other)
{
	struct clew_place_sum *sum;
	int r;

	sums->sums.item = sizeof(*sum);
	r = vector_reserve(&sums->sums, sums->sums.count + 1);
	if (r < 0)
		return r;
	sum = sums->sums.data;
	for (size_t i = 0; i < sums->sums.count && !is_alike(&sum->stay, &other->stay); i++)
		sum++;
	if (sum == (struct clew_place_sum *)sums->sums.data + sums->sums.count) {
		*sum = (struct clew_place_sum){.stay = other->stay};
		sums->sums.count++;
	}
	sum->ns += other->ns;
	sum->faults += other->faults;
	sum->segments += other->segments;
	return 0;
}

int clew_place_sums_add(struct clew_place_sums *sums, const struct clew_trace *places,
			const struct clew_segment *segment, uint64_t ns)
{
	struct clew_place_sum sum = {
		.ns = ns,
		.segments = 1,
		.stay = segment->stay ? *segment->stay : (struct clew_stay){.call = CLEW_NO_CALL}};
	struct clew_running running;

	clew_running_find(places, &segment, 1, &running);
	if (!segment->stay && !running.faults)
		return 0;
	sum.faults = running.faults;
	return clew_place_sums_merge(sums, &sum);
}

static int longest_first(const void *left, const void *right)
{
	const struct clew_place_sum *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	if (a->stay.call != b->stay.call)
		return a->stay.call < b->stay.call ? -1 : 1;
	return a->stay.reason != b->stay.reason ? a->stay.reason - b->stay.reason
						: a->stay.evidence - b->stay.evidence;
}

const struct clew_place_sum *clew_place_sums_list(struct clew_place_sums *sums, size_t *ret_count)
{
	*ret_count = sums->sums.count;
	if (sums->sums.count > 1)
		qsort(sums->sums.data, sums->sums.count, sizeof(struct clew_place_sum),
		      longest_first);
	return sums->sums.data;
}

void clew_place_sums_done(struct clew_place_sums *sums)
{
	vector_done(&sums->sums);
}
