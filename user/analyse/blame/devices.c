/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the requests ahead of a victim's at a device: the submitters of the requests that were
 * queued there before the victim's and not yet over, and of those ahead of what was
 * asked for below it, on other devices. Whoever asked a device made of others is the
 * submitter of what it asked below, not the worker that did so.
 *
 * All that was queued before covers the wait from its beginning (or the request's, if
 * that is later), so that a submitter has it until the last of his requests was over:
 * each moment counts once against him, however many requests and devices it is.
 */
#include "analyse/blame/internal.h"

#include "base/sort.h"
#include <string.h>

/* A device's requests in order of start, and a tree over them: how late one of them ends. */
struct device {
	uint32_t root;
	uint32_t count;
	uint32_t leaves; /* a power of two; what is below node n is 2n and 2n+1, the leaves come
			    last */
	uint32_t *requests;
	clew_time *latest_end;
};

struct blame_devices {
	struct blame *blame;
	const struct map *roots;
	struct device *devices;
	uint32_t count;
	uint32_t *device_of; /* of a root span, CLEW_NONE none */
	uint32_t *rank_of;   /* of a request in its device, CLEW_NONE: it is no request */
	uint32_t *by_number; /* requests in order of their spans: that is what `below` counts */
	uint32_t *upper_of;  /* of a request: for which it was made, CLEW_NONE none */
	uint32_t request_count;
	clew_time *until; /* of a submitter: to when he was charged with this wait, INT64_MIN not
			     yet */
	struct vector charged; /* uint32_t: the submitters of which that was said */
};

/* Devices made of devices are a few layers high; deeper is only what nobody recorded. */
enum { MOST_LEVELS = 16 };

/* One wait for one request. */
struct behind {
	struct blame_devices *devices;
	const struct device *device;
	struct stretch wait;
	uint32_t victim;
	uint32_t rank;
	uint32_t kind;
	unsigned evidence;
};

/* The next of the numbers in a list of them. */
static bool take_number(const char **at, uint32_t *ret_number)
{
	char *end;
	unsigned long long number = strtoull(*at, &end, 10);

	if (end == *at || number >= CLEW_NONE)
		return false;
	*at = end;
	*ret_number = (uint32_t)number;
	return true;
}

/* The next request below one; `at` walks its list. CLEW_NONE: that was all. */
static uint32_t next_below(const struct blame_devices *devices, const char **at)
{
	uint32_t number;

	while (*at && take_number(at, &number))
		if (number < devices->request_count)
			return devices->by_number[number];
	return CLEW_NONE;
}

static const char *list_below(const struct blame_devices *devices, uint32_t request)
{
	const struct clew_model *model = devices->blame->model;

	return clew_model_attribute(model, model->spans[request].attributes, "below");
}

/* The task that asked for a request: the span that led to its start, or that it names; the request
 * itself if nobody is known. */
static uint32_t submitter_of(const struct blame_devices *devices, uint32_t request)
{
	const struct clew_model *model = devices->blame->model;
	uint32_t submitter = CLEW_NONE, trigger;
	const char *name;

	while (devices->upper_of[request] != CLEW_NONE)
		request = devices->upper_of[request];
	trigger = usable_trigger(model, model->spans[request].elementary.first);
	if (trigger != CLEW_NONE)
		return model->es[trigger].span;
	name = clew_model_attribute(model, model->spans[request].attributes, "submitter");
	if (name)
		submitter = blame_root_named(devices->roots, clew_model_find_string(model, name));
	if (submitter != CLEW_NONE && devices->blame->innermost)
		return blame_innermost(devices->blame, submitter, model->spans[request].start,
				       &(clew_time){0});
	return submitter == CLEW_NONE ? request : submitter;
}

static int charge(const struct behind *behind, uint32_t ahead)
{
	struct blame_devices *devices = behind->devices;
	const struct clew_model *model = devices->blame->model;
	uint32_t submitter = submitter_of(devices, ahead);
	clew_time end = model->spans[ahead].end, from = behind->wait.from;
	int r;

	end = end < behind->wait.to ? end : behind->wait.to;
	if (devices->until[submitter] == INT64_MIN) {
		r = list_add(&devices->charged, submitter);
		if (r < 0)
			return r;
	}
	if (devices->until[submitter] > from)
		from = devices->until[submitter];
	if (end <= from)
		return 0;
	devices->until[submitter] = end;
	return blame_charge(
		devices->blame, behind->victim, submitter,
		&(struct charge){.ns = end - from,
				 .kind = behind->kind,
				 .resource = clew_model_string(
					 model, model->spans[behind->device->root].name),
				 .evidence = behind->evidence});
}

/* Charges those below a node that are ahead and not over, the latest first. */
static int charge_below(const struct behind *behind, uint32_t node, uint32_t first, uint32_t width)
{
	int r;

	if (first >= behind->rank || behind->device->latest_end[node] <= behind->wait.from)
		return 0;
	if (width == 1)
		return charge(behind, behind->device->requests[first]);
	r = charge_below(behind, 2 * node + 1, first + width / 2, width / 2);
	return r < 0 ? r : charge_below(behind, 2 * node, first, width / 2);
}

/* `upper`: what is the same for all levels. */
static int charge_level(const struct behind *upper, uint32_t request, unsigned level)
{
	struct blame_devices *devices = upper->devices;
	const struct clew_model *model = devices->blame->model;
	struct behind behind = *upper;
	const char *below = list_below(devices, request);
	uint32_t lower;
	int r;

	behind.rank = devices->rank_of[request];
	behind.device = &devices->devices[devices->device_of[model->spans[request].parent]];
	if (model->spans[request].start > behind.wait.from)
		behind.wait.from = model->spans[request].start;
	if (behind.wait.from >= behind.wait.to)
		return 0;
	r = charge_below(&behind, 1, 0, behind.device->leaves);
	while (r == 0 && level < MOST_LEVELS && (lower = next_below(devices, &below)) != CLEW_NONE)
		if (devices->upper_of[lower] == request)
			r = charge_level(upper, lower, level + 1);
	return r;
}

int blame_requests(struct blame_devices *devices, uint32_t victim, struct stretch wait,
		   uint32_t request, uint32_t kind, unsigned evidence)
{
	const struct behind behind = {.devices = devices,
				      .wait = blame_part_of(devices->blame, wait),
				      .victim = victim,
				      .kind = kind,
				      .evidence = evidence};
	const uint32_t *charged;
	int r;

	if (devices->rank_of[request] == CLEW_NONE)
		return 0;
	r = charge_level(&behind, request, 0);
	charged = devices->charged.data;
	for (size_t i = 0; i < devices->charged.count; i++)
		devices->until[charged[i]] = INT64_MIN;
	devices->charged.count = 0;
	return r;
}

bool blame_on_device(const struct blame_devices *devices, uint32_t span)
{
	return devices->device_of[blame_root_of(devices->blame->model, span)] != CLEW_NONE;
}

/* ---- indexes ---- */

static int index_device(struct blame_devices *devices, struct device *device)
{
	const struct clew_model *model = devices->blame->model;
	struct sort_key *keys, *spare;
	uint32_t kept = 0;

	for (uint32_t child = model->spans[device->root].first_child; child != CLEW_NONE;
	     child = model->spans[child].next_sibling)
		device->count++;
	for (device->leaves = 1; device->leaves < device->count;)
		device->leaves *= 2;
	device->requests = malloc(sizeof(*device->requests) * ((size_t)device->count + 1));
	device->latest_end = malloc(sizeof(*device->latest_end) * 2 * (size_t)device->leaves);
	keys = malloc(sizeof(*keys) * 2 * ((size_t)device->count + 1));
	if (!device->requests || !device->latest_end || !keys) {
		free(keys);
		return -ENOMEM;
	}
	spare = keys + device->count + 1;
	for (uint32_t child = model->spans[device->root].first_child; child != CLEW_NONE;
	     child = model->spans[child].next_sibling)
		keys[kept++] = (struct sort_key){
			.key = (uint64_t)model->spans[child].start ^ 1ull << 63, .index = child};
	sort_keys(keys, spare, kept);
	for (uint32_t i = 0; i < device->leaves; i++) {
		device->latest_end[device->leaves + i] =
			i < kept ? model->spans[keys[i].index].end : INT64_MIN;
		if (i >= kept)
			continue;
		device->requests[i] = keys[i].index;
		devices->rank_of[keys[i].index] = i;
	}
	for (uint32_t node = device->leaves; node-- > 1;) {
		clew_time left = device->latest_end[2 * node],
			  right = device->latest_end[2 * node + 1];

		device->latest_end[node] = left > right ? left : right;
	}
	free(keys);
	return 0;
}

/* A request that is below several belongs to the first: what merged them cannot be parted. */
static void join_levels(struct blame_devices *devices)
{
	const struct clew_model *model = devices->blame->model;

	for (uint32_t span = 0; span < model->span_count; span++)
		if (devices->rank_of[span] != CLEW_NONE)
			devices->by_number[devices->request_count++] = span;
	for (uint32_t i = 0; i < devices->request_count; i++) {
		const char *below = list_below(devices, devices->by_number[i]);
		uint32_t lower;

		/* A lower one is made later and so numbered: there are no circles. */
		while ((lower = next_below(devices, &below)) != CLEW_NONE)
			if (devices->upper_of[lower] == CLEW_NONE && lower > devices->by_number[i])
				devices->upper_of[lower] = devices->by_number[i];
	}
}

static int index_all(struct blame_devices *devices, uint32_t hierarchy)
{
	const struct clew_model *model = devices->blame->model;

	for (uint32_t root = model->first_root; root != CLEW_NONE;
	     root = model->spans[root].next_sibling) {
		struct device *grown;
		int r;

		if (clew_model_category_of(model, root, hierarchy) == CLEW_NONE)
			continue;
		grown = reallocarray(devices->devices, devices->count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		devices->devices = grown;
		grown[devices->count] = (struct device){.root = root};
		devices->device_of[root] = devices->count++;
		r = index_device(devices, &grown[devices->count - 1]);
		if (r < 0)
			return r;
	}
	join_levels(devices);
	return 0;
}

int blame_devices_new(struct blame *blame, const struct map *roots,
		      struct blame_devices **ret_devices)
{
	uint32_t hierarchy = hierarchy_named(blame->model, "devices");
	size_t spans = blame->model->span_count;
	struct blame_devices *devices;

	*ret_devices = NULL;
	if (hierarchy == CLEW_NONE)
		return 0;
	devices = calloc(1, sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	*ret_devices = devices;
	devices->blame = blame;
	devices->roots = roots;
	devices->charged.item = sizeof(uint32_t);
	devices->device_of = malloc(sizeof(uint32_t) * (spans + 1));
	devices->rank_of = malloc(sizeof(uint32_t) * (spans + 1));
	devices->by_number = malloc(sizeof(uint32_t) * (spans + 1));
	devices->upper_of = malloc(sizeof(uint32_t) * (spans + 1));
	devices->until = malloc(sizeof(clew_time) * (spans + 1));
	if (!devices->device_of || !devices->rank_of || !devices->by_number || !devices->upper_of ||
	    !devices->until)
		return -ENOMEM;
	for (size_t span = 0; span < spans; span++) {
		devices->device_of[span] = devices->rank_of[span] = devices->upper_of[span] =
			CLEW_NONE;
		devices->until[span] = INT64_MIN;
	}
	return index_all(devices, hierarchy);
}

void blame_devices_free(struct blame_devices *devices)
{
	if (!devices)
		return;
	for (uint32_t i = 0; i < devices->count; i++) {
		free(devices->devices[i].requests);
		free(devices->devices[i].latest_end);
	}
	free(devices->devices);
	free(devices->device_of);
	free(devices->rank_of);
	free(devices->by_number);
	free(devices->upper_of);
	free(devices->until);
	vector_done(&devices->charged);
	free(devices);
}
