// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who had what a victim waited for. A gap is a wait, and from when that ended a time
 * in the run queue. The wait of a lock goes to the holders that it names, or to who
 * released it; the wait for a request to the requests that were queued on the device
 * before it and not over. The run queue goes to the runs on the CPU that the victim
 * ran on next.
 */
#include "blame_internal.h"

#include <ctype.h>
#include <model/sort.h>
#include <string.h>

/* A device's requests in order of start, and how late one of them or of those before it ends. */
struct device {
	uint32_t root;
	uint32_t count;
	uint32_t *requests;
	clew_time *latest_end;
};

struct resources {
	struct blame *blame;
	struct map roots;   /* string of a name -> the first root span named so */
	uint32_t *cpus;	    /* root spans */
	uint32_t cpu_count; /* 0: the trace knows none */
	uint32_t *last_cpu; /* of each span, a hint */
	struct device *devices;
	uint32_t device_count;
	uint32_t *device_of; /* of a root span, CLEW_NONE none */
	uint32_t *rank_of;   /* of a request in its device */
};

static uint32_t root_named(const struct resources *resources, uint32_t string)
{
	const uint64_t *root = string == CLEW_NONE ? NULL : map_get(&resources->roots, string, 0);

	return root ? (uint32_t)*root : CLEW_NONE;
}

/* ---- locks ---- */

/* A word of a holder list, without its backslashes. What follows it stays at *at. */
static size_t take_word(const char **at, char *word, size_t size)
{
	size_t length = 0;

	while (**at == ' ')
		(*at)++;
	for (; **at && **at != ' ' && **at != ','; (*at)++) {
		if (**at == '\\' && (*at)[1])
			(*at)++;
		if (length + 1 < size)
			word[length++] = **at;
	}
	word[length] = 0;
	return length;
}

/* "NAME", or rows of "NAME FROM TO EVIDENCE" in order of holding, a comma between them. */
static int charge_holders(struct resources *resources, uint32_t victim, struct stretch wait, const char *holders, uint32_t kind,
			  const char *object)
{
	const struct clew_model *model = resources->blame->model;
	char word[512];

	for (const char *at = holders; *at;) {
		struct stretch held = wait;
		uint32_t holder;
		int r;

		take_word(&at, word, sizeof(word));
		holder = root_named(resources, clew_model_find_string(model, word));
		if (take_word(&at, word, sizeof(word)) && isdigit((unsigned char)word[0])) {
			held.from = (clew_time)strtoull(word, NULL, 10);
			if (take_word(&at, word, sizeof(word)))
				held.to = (clew_time)strtoull(word, NULL, 10);
		}
		while (*at && *at != ',')
			take_word(&at, word, sizeof(word));
		at += *at == ',';
		if (holder == CLEW_NONE)
			continue;
		held.from = held.from < wait.from ? wait.from : held.from;
		held.to = held.to > wait.to ? wait.to : held.to;
		r = blame_charge(resources->blame, victim, holder, held.to - held.from, kind, object);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- devices ---- */

/* Who asked for a request: the span that led to its start, or that it names; the request itself if nobody is known. */
static uint32_t submitter_of(const struct resources *resources, uint32_t request)
{
	const struct clew_model *model = resources->blame->model;
	uint32_t trigger = usable_trigger(model, model->spans[request].elementary.first), submitter = CLEW_NONE;
	const char *name;

	if (trigger != CLEW_NONE)
		return model->es[trigger].span;
	name = clew_model_attribute(model, model->spans[request].attributes, "submitter");
	if (name)
		submitter = root_named(resources, clew_model_find_string(model, name));
	return submitter == CLEW_NONE ? request : submitter;
}

static int charge_requests(struct resources *resources, uint32_t victim, struct stretch wait, uint32_t request, uint32_t kind)
{
	const struct clew_model *model = resources->blame->model;
	const struct device *device = &resources->devices[resources->device_of[model->spans[request].parent]];
	const char *name = clew_model_string(model, model->spans[device->root].name);

	if (model->spans[request].start > wait.from)
		wait.from = model->spans[request].start;
	for (uint32_t i = resources->rank_of[request]; i-- > 0 && device->latest_end[i] > wait.from;) {
		const struct clew_span *ahead = &model->spans[device->requests[i]];
		clew_time to = ahead->end < wait.to ? ahead->end : wait.to;
		int r;

		if (ahead->end <= wait.from)
			continue;
		r = blame_charge(resources->blame, victim, submitter_of(resources, device->requests[i]), to - wait.from, kind, name);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- CPUs ---- */

/* The thread that runs in an ES of a CPU: the one that the last mark up to its start names. */
static uint32_t task_of(const struct resources *resources, uint32_t run)
{
	const struct clew_model *model = resources->blame->model;
	const struct clew_range *range = &model->spans[model->es[run].span].elementary;
	uint32_t end = range->first + range->count, first = model->es[range->first].mark, low = first;
	uint32_t high = end < model->es_count ? model->es[end].mark : model->mark_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->marks[middle].at <= model->es[run].start)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? root_named(resources, model->marks[low - 1].label) : CLEW_NONE;
}

static bool runs_at(const struct resources *resources, uint32_t cpu, uint32_t task, clew_time at)
{
	const struct clew_model *model = resources->blame->model;
	const struct clew_range *range = &model->spans[cpu].elementary;
	uint32_t run = clew_model_es_at(model, cpu, at);

	for (; run != CLEW_NONE && run < range->first + range->count && model->es[run].start <= at; run++)
		if (task_of(resources, run) == task)
			return true;
	return false;
}

/* The CPU that a thread runs on at a moment; CLEW_NONE: not known. */
static uint32_t cpu_at(struct resources *resources, uint32_t task, clew_time at)
{
	uint32_t *last = &resources->last_cpu[task];

	if (*last != CLEW_NONE && runs_at(resources, *last, task, at))
		return *last;
	for (uint32_t i = 0; i < resources->cpu_count; i++)
		if (resources->cpus[i] != *last && runs_at(resources, resources->cpus[i], task, at))
			return *last = resources->cpus[i];
	return CLEW_NONE;
}

static int charge_cpu(struct resources *resources, uint32_t victim, struct stretch wait)
{
	const struct clew_model *model = resources->blame->model;
	uint32_t cpu = cpu_at(resources, victim, wait.to), run, end;

	if (cpu == CLEW_NONE)
		return 0;
	run = clew_model_es_at(model, cpu, wait.from);
	end = model->spans[cpu].elementary.first + model->spans[cpu].elementary.count;
	for (; run != CLEW_NONE && run < end && model->es[run].start < wait.to; run++) {
		clew_time from = model->es[run].start > wait.from ? model->es[run].start : wait.from;
		clew_time to = model->es[run].end < wait.to ? model->es[run].end : wait.to;
		uint32_t task = task_of(resources, run);
		int r = 0;

		if (task != CLEW_NONE)
			r = blame_charge(resources->blame, victim, task, to - from, CLEW_SEGMENT_RUNQUEUE,
					 clew_model_string(model, model->spans[cpu].name));
		if (r < 0)
			return r;
	}
	return 0;
}

/* The time in the run queue before an ES. */
static struct stretch in_runqueue(const struct blame *blame, uint32_t es)
{
	const struct clew_model *model = blame->model;
	struct stretch wait = {model->es[es].start, model->es[es].start};
	uint32_t trigger;

	if (!clew_model_is_first(model, es)) {
		wait.from = gap_ready(model, es);
	} else {
		trigger = usable_trigger(model, es);
		if (trigger != CLEW_NONE)
			wait.from = model->es[trigger].end;
	}
	return wait;
}

/* ---- all of it ---- */

static int charge_es(struct resources *resources, uint32_t es)
{
	const struct clew_model *model = resources->blame->model;
	uint32_t victim = model->es[es].span, trigger = usable_trigger(model, es), row = model->es[es].wait, kind = CLEW_WAIT_UNKNOWN;
	const char *holders = NULL, *object = NULL;
	struct stretch queue = in_runqueue(resources->blame, es), wait;
	int r = 0;

	if (resources->cpu_count && queue.from < queue.to)
		r = charge_cpu(resources, victim, queue);
	if (clew_model_is_first(model, es) || r < 0)
		return r;
	wait = (struct stretch){model->es[es - 1].end, queue.from};
	if (wait.from >= wait.to)
		return 0;
	if (row != CLEW_NONE) {
		kind = model->waits[row].kind;
		object = clew_model_attribute(model, model->waits[row].attributes, "object");
		holders = clew_model_attribute(model, model->waits[row].attributes, "holder");
	}
	if (holders)
		return charge_holders(resources, victim, wait, holders, kind, object);
	if (trigger == CLEW_NONE)
		return 0;
	if ((kind == CLEW_WAIT_FUTEX || kind == CLEW_WAIT_LOCK) &&
	    !strcmp(clew_model_string(model, model->types[model->dependencies[model->es[es].in].type]), "unlock"))
		return blame_charge(resources->blame, victim, model->es[trigger].span, wait.to - wait.from, kind, object);
	if (resources->rank_of && resources->rank_of[model->es[trigger].span] != CLEW_NONE)
		return charge_requests(resources, victim, wait, model->es[trigger].span, kind);
	return 0;
}

static int index_requests(struct resources *resources, struct device *device)
{
	const struct clew_model *model = resources->blame->model;
	uint32_t count = 0, kept = 0;
	struct sort_key *keys, *spare;
	clew_time latest = INT64_MIN;

	for (uint32_t child = model->spans[device->root].first_child; child != CLEW_NONE; child = model->spans[child].next_sibling)
		count++;
	device->requests = malloc(sizeof(*device->requests) * ((size_t)count + 1));
	device->latest_end = malloc(sizeof(*device->latest_end) * ((size_t)count + 1));
	keys = malloc(sizeof(*keys) * ((size_t)count + 1));
	spare = malloc(sizeof(*spare) * ((size_t)count + 1));
	if (!device->requests || !device->latest_end || !keys || !spare) {
		free(keys);
		free(spare);
		return -ENOMEM;
	}
	for (uint32_t child = model->spans[device->root].first_child; child != CLEW_NONE; child = model->spans[child].next_sibling)
		keys[kept++] = (struct sort_key){.key = (uint64_t)model->spans[child].start ^ 1ull << 63, .index = child};
	sort_keys(keys, spare, count);
	for (uint32_t i = 0; i < count; i++) {
		device->requests[i] = keys[i].index;
		resources->rank_of[keys[i].index] = i;
		latest = model->spans[keys[i].index].end > latest ? model->spans[keys[i].index].end : latest;
		device->latest_end[i] = latest;
	}
	device->count = count;
	free(keys);
	free(spare);
	return 0;
}

static int prepare(struct resources *resources)
{
	const struct clew_model *model = resources->blame->model;
	uint32_t spans = model->span_count, cpus = hierarchy_named(model, "cpus"), devices = hierarchy_named(model, "devices");
	int r = 0;

	resources->cpus = malloc(sizeof(*resources->cpus) * ((size_t)spans + 1));
	resources->last_cpu = malloc(sizeof(*resources->last_cpu) * ((size_t)spans + 1));
	resources->device_of = malloc(sizeof(*resources->device_of) * ((size_t)spans + 1));
	if (!resources->cpus || !resources->last_cpu || !resources->device_of)
		return -ENOMEM;
	for (uint32_t span = 0; span < spans; span++)
		resources->last_cpu[span] = resources->device_of[span] = CLEW_NONE;
	if (devices != CLEW_NONE) {
		resources->rank_of = malloc(sizeof(*resources->rank_of) * ((size_t)spans + 1));
		if (!resources->rank_of)
			return -ENOMEM;
		for (uint32_t span = 0; span < spans; span++)
			resources->rank_of[span] = CLEW_NONE;
	}
	for (uint32_t root = model->first_root; root != CLEW_NONE && r == 0; root = model->spans[root].next_sibling) {
		if (!map_get(&resources->roots, model->spans[root].name, 0))
			r = map_set(&resources->roots, model->spans[root].name, 0, root);
		if (cpus != CLEW_NONE && clew_model_category_of(model, root, cpus) != CLEW_NONE)
			resources->cpus[resources->cpu_count++] = root;
		if (devices != CLEW_NONE && clew_model_category_of(model, root, devices) != CLEW_NONE) {
			struct device *grown = reallocarray(resources->devices, resources->device_count + 1, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			resources->devices = grown;
			grown[resources->device_count] = (struct device){.root = root};
			resources->device_of[root] = resources->device_count++;
			if (r == 0)
				r = index_requests(resources, &grown[resources->device_count - 1]);
		}
	}
	return r;
}

int blame_resources(struct blame *blame)
{
	struct resources resources = {.blame = blame};
	const struct clew_model *model = blame->model;
	int r = prepare(&resources);

	for (uint32_t es = 0; es < model->es_count && r == 0; es++)
		if (blame->victims[model->es[es].span])
			r = charge_es(&resources, es);
	/* What runs on a device is no CPU's. */
	for (uint32_t span = 0; span < model->span_count && resources.device_count; span++) {
		uint32_t root = span;

		while (model->spans[root].parent != CLEW_NONE)
			root = model->spans[root].parent;
		blame->antagonists[span] = blame->antagonists[span] && resources.device_of[root] == CLEW_NONE;
	}
	if (r == 0 && !resources.cpu_count)
		r = blame_running(blame, CLEW_SEGMENT_RUNQUEUE, in_runqueue);
	for (uint32_t i = 0; i < resources.device_count; i++) {
		free(resources.devices[i].requests);
		free(resources.devices[i].latest_end);
	}
	free(resources.devices);
	free(resources.device_of);
	free(resources.rank_of);
	free(resources.cpus);
	free(resources.last_cpu);
	map_done(&resources.roots);
	return r;
}
