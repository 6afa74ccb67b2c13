/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the cause in a wake's record to links: a request that completed, a work item and
 * the task that queued it, the sender of a packet, a timer. An address is resolved as
 * of the moment it was recorded; by now it may belong to another object.
 */
#include "builder/cause.h"
#include "builder/block.h"
#include "builder/builder.h"
#include "builder/task.h"
#include "builder/wake.h"
#include "builder/work.h"

#define PACKET_PROCESSED 100000 /* ns, at most between the wake and the data that it let go */

static void add_link(struct links *links, enum clew_evidence evidence, struct clew_link link)
{
	link.evidence = evidence;
	if (links->count < BUILD_LINKS)
		links->of[links->count++] = link;
}

/* The reason for which a packet's data had waited, as the flags of its link. */
static uint8_t held_by(const struct clew_cause *cause)
{
	static const uint8_t held[] = {
		[CLEW_PACKET_DELAYED] = CLEW_HELD_DELAYED_ACK,
		[CLEW_PACKET_NAGLE] = CLEW_HELD_NAGLE,
		[CLEW_PACKET_WINDOW] = CLEW_HELD_WINDOW,
		[CLEW_PACKET_RESENT] = CLEW_HELD_LOST,
		[CLEW_PACKET_FILTERED] = CLEW_HELD_FILTERED,
		[CLEW_PACKET_REFUSED] = CLEW_HELD_REFUSED,
	};

	return cause->packet < sizeof(held) ? (uint8_t)(held[cause->packet] << CLEW_LINK_HELD_SHIFT)
					    : 0;
}

/*
 * A sender that slept as its data left had written it before it fell asleep. The packet that
 * let the data go may have woken the sender just before: it cannot write meanwhile, as the socket
 * is locked while a packet is processed.
 */
static uint64_t held_since(const struct clew_builder *builder, const struct clew_cause *cause)
{
	const struct task *sender = held_by(cause) ? build_task_find(builder, cause->task) : NULL;

	if (!sender)
		return 0;
	if (cause->packet >= CLEW_PACKET_RESENT)
		return cause->time;
	if (sender->state == TASK_SLEEPING && sender->since < cause->time)
		return sender->since;
	return sender->slept_from && sender->slept_from < cause->time &&
			       cause->time <= sender->slept_until + PACKET_PROCESSED
		       ? sender->slept_from
		       : 0;
}

/* The step that a packet was. Without a sender it is an acknowledgement that was put off. */
static void add_packet(const struct clew_builder *builder, const struct clew_cause *cause,
		       struct links *links)
{
	bool waited = cause->packet >= CLEW_PACKET_WAITED && cause->packet <= CLEW_PACKET_REFUSED;

	if (build_nobody(cause->task) && cause->packet != CLEW_PACKET_DELAYED)
		return;
	add_link(links, waited ? CLEW_EVIDENCE_OBSERVED : CLEW_EVIDENCE_EXACT,
		 (struct clew_link){.kind = CLEW_LINK_PACKET,
				    .at = cause->time,
				    .begin = held_since(builder, cause),
				    .task = build_nobody(cause->task) ? CLEW_NO_TASK : cause->task,
				    .flags = held_by(cause)});
}

void build_cause_links(struct clew_builder *builder, const struct clew_cause *cause, uint64_t at,
		       struct links *links)
{
	const struct request *request;

	switch (cause->kind) {
	case CLEW_CAUSE_REQUEST:
		request = build_request_at(builder, cause->object, at);
		if (request)
			add_link(links, CLEW_EVIDENCE_EXACT, build_request_link(request, at));
		break;
	case CLEW_CAUSE_PACKET:
		add_packet(builder, cause, links);
		break;
	case CLEW_CAUSE_TIMER:
		add_link(links, CLEW_EVIDENCE_EXACT,
			 (struct clew_link){
				 .kind = CLEW_LINK_TIMER,
				 .number = cause->object,
				 .begin = cause->expires,
				 .end = cause->expires +
					(cause->expires && build_nobody(cause->task) ? cause->late
										     : 0),
				 .at = build_nobody(cause->task) ? 0 : cause->time,
				 .task = build_nobody(cause->task) || cause->time == 0
						 ? CLEW_NO_TASK
						 : cause->task,
			 });
		break;
	case CLEW_CAUSE_IRQ:
	case CLEW_CAUSE_SOFTIRQ:
	case CLEW_CAUSE_IPI:
		add_link(links, CLEW_EVIDENCE_EXACT,
			 (struct clew_link){.kind = cause->kind, .number = cause->object});
		break;
	default:
		break;
	}
}

void build_links(struct clew_builder *builder, const struct wake *wake, struct links *ret_links)
{
	ret_links->count = 0;
	if (wake->time == 0)
		return;
	if (wake->own) {
		ret_links->of[0] = *wake->own;
		ret_links->of[0].evidence = CLEW_EVIDENCE_OBSERVED;
		ret_links->count = 1;
	} else if (wake->cause.kind != CLEW_CAUSE_NONE) {
		build_cause_links(builder, &wake->cause, wake->time, ret_links);
	} else if (wake->context == CLEW_WAKE_TASK && wake->waker != CLEW_NO_TASK) {
		const struct task *waker = build_task_find(builder, wake->waker);

		if (waker && waker->worker)
			build_work_links(waker, wake->time, ret_links);
	}
}
