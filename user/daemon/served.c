/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Charges waits for a disk to the groups whose requests were ahead. */
#include "daemon/served.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "daemon/sums.h"

/* A wait, and how many requests are served when it is charged. */
struct pending {
	struct served_wait wait;
	uint64_t due;
};

struct served_disk {
	uint32_t device;
	uint64_t served;				 /* that there ever were */
	uint64_t waits;					 /* that there ever were .. */
	uint64_t charged;				 /* .. and were charged */
	struct served_request requests[SERVED_REQUESTS]; /* a ring */
	struct pending pending[SERVED_WAITS];		 /* a ring */
};

static struct served_disk *find_disk(const struct served *served, uint32_t device)
{
	for (unsigned i = 0; i < served->count; i++)
		if (served->disks[i]->device == device)
			return served->disks[i];
	return NULL;
}

/*
 * Charges each group until the last of its requests ahead was over. Requests are looked at from the
 * last to end on, so the first one of a group is that one.
 */
static void charge_wait(const struct served *served, const struct served_disk *disk,
			const struct served_wait *wait)
{
	bool seen[SUMS_GROUPS_MOST] = {};

	for (uint64_t i = 0; i < disk->served && i < SERVED_REQUESTS; i++) {
		const struct served_request *request =
			&disk->requests[(disk->served - 1 - i) % SERVED_REQUESTS];
		uint64_t end = request->end < wait->to ? request->end : wait->to;

		if (request->end <= wait->from)
			return;
		if (request->queued >= wait->queued || request->task == wait->task ||
		    seen[request->group])
			continue;
		seen[request->group] = true;
		served->charge(served->context, wait, request->group, end - wait->from);
	}
}

static void charge_first(const struct served *served, struct served_disk *disk)
{
	charge_wait(served, disk, &disk->pending[disk->charged++ % SERVED_WAITS].wait);
}

static struct pending *first_pending(struct served_disk *disk)
{
	return disk->charged < disk->waits ? &disk->pending[disk->charged % SERVED_WAITS] : NULL;
}

int served_add(struct served *served, uint32_t device, const struct served_request *request)
{
	struct served_disk *disk = find_disk(served, device);
	const struct pending *pending;

	if (!disk && served->count == SERVED_DISKS)
		return 0;
	if (!disk) {
		disk = calloc(1, sizeof(*disk));
		if (!disk)
			return -ENOMEM;
		disk->device = device;
		served->disks[served->count++] = disk;
	}
	disk->requests[disk->served++ % SERVED_REQUESTS] = *request;
	while ((pending = first_pending(disk)) && pending->due <= disk->served)
		charge_first(served, disk);
	return 0;
}

void served_await(struct served *served, uint32_t device, const struct served_wait *wait)
{
	struct served_disk *disk = find_disk(served, device);

	if (!disk || wait->from >= wait->to)
		return;
	if (disk->waits - disk->charged == SERVED_WAITS)
		charge_first(served, disk);
	disk->pending[disk->waits++ % SERVED_WAITS] =
		(struct pending){.wait = *wait, .due = disk->served + SERVED_LATER};
}

void served_step(struct served *served, uint64_t now)
{
	for (unsigned i = 0; i < served->count; i++) {
		const struct pending *pending;

		while ((pending = first_pending(served->disks[i])) &&
		       pending->wait.to + SERVED_GRACE < now)
			charge_first(served, served->disks[i]);
	}
}

void served_done(struct served *served)
{
	for (unsigned i = 0; i < served->count; i++)
		free(served->disks[i]);
	*served = (struct served){};
}
