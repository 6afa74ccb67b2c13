/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaching to the functions of a file.
 *
 * A link cannot lose some of its probes, so that another one takes its place. Both are attached
 * for a while. The age in a cookie says which of them counts then (maps/function.h).
 */
#include "record/functions/traced_links.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "record/functions/probe.h"
#include "record/functions/probe_event.h"
#include "record/functions/traced_file.h"

static struct clew_probe_place *place_at(const struct vector *places, size_t index)
{
	return (struct clew_probe_place *)places->data + index;
}

static int append(struct vector *to, size_t item, const void *from, size_t count)
{
	int r;

	to->item = item;
	r = vector_reserve(to, to->count + count);
	if (r < 0)
		return r;
	if (count)
		memcpy((char *)to->data + to->count * item, from, count * item);
	to->count += count;
	return 0;
}

/* The same as a trace event. */
static int attach_event(struct traced_events *events, const struct bpf_program *program,
			int descriptor, bool returns, const struct vector *places,
			struct clew_probe_links *ret)
{
	struct clew_function_place at = {.event = ++events->count};

	*ret = (struct clew_probe_links){.multi = -1};
	for (size_t i = 0; i < places->count; i++) {
		uint32_t cookie = (uint32_t)place_at(places, i)->cookie;

		at.offset = place_at(places, i)->offset;
		if (bpf_map_update_elem(events->places, &at, &cookie, BPF_ANY))
			return -errno;
	}
	return clew_probe_event_attach(program, at.event, descriptor, returns, places->data,
				       places->count, ret);
}

/* Attaches to all of `places` in one link; the probes get the file's age. */
static int attach(struct traced_file *file, const struct bpf_program *program, int descriptor,
		  bool returns, struct vector *places, struct clew_probe_links *ret)
{
	for (size_t i = 0; i < places->count; i++) {
		struct clew_probe_place *place = place_at(places, i);

		place->cookie &= (1u << CLEW_FUNCTION_AGE_SHIFT) - 1;
		place->cookie |= (uint64_t)file->age << CLEW_FUNCTION_AGE_SHIFT;
	}
	if (file->events)
		return attach_event(file->events, program, descriptor, returns, places, ret);
	if (file->kernel)
		return clew_probe_attach_kernel(program, returns, places->data, places->count, ret);
	return clew_probe_attach_multi(program, descriptor, returns, places->data, places->count,
				       ret);
}

/* The probes of a file: each sort has links of its own. */
#define SORTS 3
struct sort {
	struct traced_probes *probes;
	bool returns;
};

static void list_sorts(struct traced_file *file, struct sort ret[SORTS])
{
	ret[0] = (struct sort){.probes = &file->entries};
	ret[1] = (struct sort){.probes = &file->points};
	ret[2] = (struct sort){.probes = &file->returns, .returns = true};
}

static int attach_planned(struct traced_file *file, const struct bpf_program *program,
			  int descriptor, const struct sort *sort)
{
	struct traced_probes *probes = sort->probes;
	struct clew_probe_links links;
	int r;

	if (!probes->planned.count)
		return 0;
	probes->links.item = sizeof(links);
	r = vector_reserve(&probes->links, probes->links.count + 1);
	if (r >= 0)
		r = attach(file, program, descriptor, sort->returns, &probes->planned, &links);
	if (r >= 0) {
		((struct clew_probe_links *)probes->links.data)[probes->links.count++] = links;
		r = append(&probes->attached, sizeof(struct clew_probe_place), probes->planned.data,
			   probes->planned.count);
	}
	probes->planned.count = 0;
	return r;
}

int traced_links_attach(struct traced_file *file, const struct bpf_program *program, int descriptor,
			bool again)
{
	struct sort sorts[SORTS];
	int r = 0;

	list_sorts(file, sorts);
	for (unsigned i = 0; r >= 0 && i < SORTS; i++)
		r = attach_planned(file, program, descriptor, &sorts[i]);
	if (r >= 0 && again && !file->kernel && file->descriptor < 0)
		file->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	return r;
}

int traced_links_take(struct traced_file *file, struct vector *old)
{
	struct sort sorts[SORTS];
	int r = 0;

	list_sorts(file, sorts);
	for (unsigned i = 0; r >= 0 && i < SORTS; i++) {
		struct vector *links = &sorts[i].probes->links;

		r = append(old, sizeof(struct clew_probe_links), links->data, links->count);
		if (r >= 0)
			links->count = 0;
	}
	return r;
}

/* Leaves those out whose function was dropped. */
static void leave_dropped(const struct traced *traced, struct vector *places)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->count; i++)
		if (!traced_dropped(traced, (uint32_t)(place_at(places, i)->cookie &
						       (CLEW_FUNCTION_RETURNS - 1))))
			*place_at(places, kept++) = *place_at(places, i);
	places->count = kept;
}

int traced_links_renew(const struct traced *traced, struct traced_file *file,
		       const struct bpf_program *program, struct vector *old)
{
	struct clew_probe_links links[SORTS] = {{.multi = -1}, {.multi = -1}, {.multi = -1}};
	struct sort sorts[SORTS];
	int r = 0;

	list_sorts(file, sorts);
	if ((file->descriptor < 0 && !file->kernel) || file->age == CLEW_FUNCTION_AGES)
		return -ENOTSUP;
	file->age++;
	for (unsigned i = 0; r >= 0 && i < SORTS; i++) {
		struct vector *attached = &sorts[i].probes->attached;

		leave_dropped(traced, attached);
		if (attached->count)
			r = attach(file, program, file->descriptor, sorts[i].returns, attached,
				   &links[i]);
	}
	if (r >= 0)
		r = traced_links_take(file, old);
	for (unsigned i = 0; r >= 0 && i < SORTS; i++)
		if (links[i].multi >= 0 || links[i].event)
			r = append(&sorts[i].probes->links, sizeof(links[i]), &links[i], 1);
	if (r < 0)
		clew_probe_detach(links, SORTS);
	return r;
}

void traced_links_done(struct traced_file *file)
{
	struct sort sorts[SORTS];

	list_sorts(file, sorts);
	for (unsigned i = 0; i < SORTS; i++) {
		vector_done(&sorts[i].probes->planned);
		vector_done(&sorts[i].probes->attached);
		vector_done(&sorts[i].probes->links);
	}
	if (file->descriptor >= 0)
		close(file->descriptor);
}
