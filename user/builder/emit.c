/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hands findings to their takers, and knows which records the wanted findings depend
 * on. A finding without a taker costs one test of a mask.
 */
#include "builder/emit.h"
#include "builder/builder.h"
#include "builder/task.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The findings that records of a kind can lead to or change, as a mask of tags. */
static uint32_t tags_of_kind(unsigned kind)
{
	switch (kind) {
	case CLEW_KIND_WORK:
	case CLEW_KIND_BIO:
	case CLEW_KIND_LIMIT:
	case CLEW_KIND_REQUEST:
	case CLEW_KIND_WRITEBACK:
	case CLEW_KIND_JOURNAL:
		return BUILD_SLEEP_TAGS | BUILD_PAGE_TAGS | CLEW_FINDING_BIT(CLEW_FINDING_REQUEST) |
		       CLEW_FINDING_BIT(CLEW_FINDING_BELOW) | CLEW_FINDING_BIT(CLEW_FINDING_SERVED);
	case CLEW_KIND_EXTENT:
	case CLEW_KIND_PAGES:
		return BUILD_PAGE_TAGS;
	case CLEW_KIND_RING:
		return BUILD_SLEEP_TAGS | CLEW_FINDING_BIT(CLEW_FINDING_IDENTITY);
	case CLEW_KIND_REFILL:
		return BUILD_SLEEP_TAGS;
	case CLEW_KIND_LOCK:
		return CLEW_FINDING_BIT(CLEW_FINDING_SPIN);
	case CLEW_KIND_WHERE:
		return CLEW_FINDING_BIT(CLEW_FINDING_STAY) | CLEW_FINDING_BIT(CLEW_FINDING_TALLY);
	case CLEW_KIND_FUNCTION:
		return CLEW_FINDING_BIT(CLEW_FINDING_FRAME) |
		       CLEW_FINDING_BIT(CLEW_FINDING_ENTERED);
	default:
		/* Tasks' states and identities: everything depends on them. */
		return CLEW_FINDINGS_ALL;
	}
}

int build_takers_set(struct clew_builder *builder, const struct clew_finding_taker *takers,
		     size_t count)
{
	builder->takers = calloc(count + 1, sizeof(*builder->takers));
	if (!builder->takers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		builder->takers[i] = takers[i];
		builder->wanted |= takers[i].wants;
		builder->steps |= takers[i].step != NULL;
	}
	builder->taker_count = count;
	for (unsigned kind = 0; kind < 64; kind++)
		if (builder->wanted & tags_of_kind(kind))
			builder->needed_kinds |= 1ull << kind;
	return 0;
}

void build_takers_done(struct clew_builder *builder)
{
	free(builder->takers);
}

int build_emit(struct clew_builder *builder, struct clew_finding finding)
{
	uint32_t bit = CLEW_FINDING_BIT(finding.tag);

	for (size_t i = 0; i < builder->taker_count; i++) {
		const struct clew_finding_taker *taker = &builder->takers[i];
		int r = taker->wants & bit ? taker->take(taker->context, finding) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* The evidence of a finding, as good as the records are. */
static uint8_t evidence_of(const struct clew_builder *builder, uint8_t evidence)
{
	return builder->options.imported && evidence == CLEW_EVIDENCE_EXACT ? CLEW_EVIDENCE_OBSERVED
									    : evidence;
}

int build_send_edge(struct clew_builder *builder, struct clew_edge *edge)
{
	const struct task *task;

	if (!build_wants(builder, CLEW_FINDING_EDGE))
		return 0;
	edge->evidence = evidence_of(builder, edge->evidence);
	task = edge->from_comm[0] ? NULL : build_task_find(builder, edge->from);
	if (task)
		memcpy(edge->from_comm, task->comm, sizeof(edge->from_comm));
	task = edge->to_comm[0] ? NULL : build_task_find(builder, edge->to);
	if (task)
		memcpy(edge->to_comm, task->comm, sizeof(edge->to_comm));
	return build_emit(builder, (struct clew_finding){.tag = CLEW_FINDING_EDGE, .edge = edge});
}

struct clew_edge clew_edge_of_sleep(const struct clew_sleep *sleep)
{
	return (struct clew_edge){
		.from_at = sleep->from_at,
		.to_at = sleep->end,
		.from = sleep->from,
		.to = sleep->task,
		.type = (uint8_t)sleep->edge_type,
		.evidence = sleep->edge_evidence,
		.context = sleep->context,
		.operation = sleep->operation,
		.ends_sleep = true,
		.object = sleep->object,
		.links = sleep->links,
		.link_count = sleep->link_count,
		.and_count = sleep->and_count,
	};
}

int build_send_edge_of(struct clew_builder *builder, const struct clew_sleep *sleep)
{
	struct clew_edge edge = clew_edge_of_sleep(sleep);

	return sleep->edge_type < 0 ? 0 : build_send_edge(builder, &edge);
}

int build_send_sleep(struct clew_builder *builder, struct clew_sleep *sleep)
{
	int r = build_send_edge_of(builder, sleep);

	sleep->edge_evidence = evidence_of(builder, sleep->edge_evidence);
	if (r < 0)
		return r;
	return build_emit(builder,
			  (struct clew_finding){.tag = CLEW_FINDING_SLEEP, .sleep = sleep});
}
