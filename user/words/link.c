/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps on the way to a wake. */
#include "words/link.h"

#include <inttypes.h>

#include "format/text.h"
#include "words/object.h"
#include "words/task.h"

static const char *const kinds[] = {
	[CLEW_LINK_IRQ] = "irq",   [CLEW_LINK_SOFTIRQ] = "softirq", [CLEW_LINK_TIMER] = "timer",
	[CLEW_LINK_IPI] = "ipi",   [CLEW_LINK_REQUEST] = "request", [CLEW_LINK_PACKET] = "packet",
	[CLEW_LINK_WORK] = "work",
};

/* As the kernel numbers them. */
static const char *const vectors[] = {
	"hi",	    "timer",   "net_tx", "net_rx",  "block",
	"irq_poll", "tasklet", "sched",	 "hrtimer", "rcu",
};

static const struct {
	const char *name, *words;
} helds[] = {
	[CLEW_HELD_DELAYED_ACK] = {"delayed-ack",
				   "held back by TCP until the delayed acknowledgement"},
	[CLEW_HELD_NAGLE] = {"nagle", "held back by TCP until what was sent before was "
				      "acknowledged (Nagle's rule)"},
	[CLEW_HELD_WINDOW] = {"window", "held back by TCP until the receiver had room for it"},
	[CLEW_HELD_LOST] = {"lost", "whose packet was lost on the way"},
	[CLEW_HELD_FILTERED] = {"filtered",
				"whose packet was lost on the way: a packet filter of this machine "
				"dropped it"},
	[CLEW_HELD_REFUSED] = {"refused", "whose packet a packet filter of this machine refused"},
	[CLEW_HELD_QUEUE] = {"accept-queue",
			     "where the accept queue was full, until TCP asked again"},
	[CLEW_HELD_UNANSWERED] = {"unanswered", "which did not answer, until TCP asked again"},
};

const char *clew_held_name(enum clew_held held)
{
	return helds[held].name;
}

void clew_print_held(FILE *out, enum clew_held held, const struct clew_sleep *sleep)
{
	const struct clew_link *link = sleep->links;

	fprintf(out, ", %s", helds[held].words);
	if (clew_held_lost(held) && held < CLEW_HELD_QUEUE && sleep->link_count &&
	    sleep->end > link->at)
		fprintf(out, "; sent again within %s", CLEW_DURATION(sleep->end - link->at));
}

bool clew_print_lost(FILE *out, const struct clew_sleep *sleep)
{
	const struct clew_link *link = sleep->links;

	if (!sleep->link_count || link->kind != CLEW_LINK_PACKET ||
	    !clew_held_lost(CLEW_LINK_HELD(link)))
		return false;
	clew_print_held(out, CLEW_LINK_HELD(link), sleep);
	return true;
}

struct clew_object clew_link_object(const struct clew_link *link)
{
	return (struct clew_object){
		.kind = link->kind == CLEW_LINK_REQUEST ? CLEW_OBJECT_REQUEST
			: link->kind == CLEW_LINK_TIMER ? CLEW_OBJECT_TIMER
							: CLEW_OBJECT_WORK,
		.number = link->number,
		.descriptor = -1,
	};
}

/* The driver of an interrupt, the name of a softirq; NULL unknown. */
static const char *interrupt_name(const struct clew_trace *trace, const struct clew_link *link)
{
	if (link->kind == CLEW_LINK_IRQ)
		return clew_trace_text(trace, CLEW_TEXT_IRQ | link->number);
	return link->number < sizeof(vectors) / sizeof(vectors[0]) ? vectors[link->number] : NULL;
}

static void json_link(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_sleep *sleep, const struct clew_link *link)
{
	struct clew_object object = clew_link_object(link);

	clew_json_object(json, NULL);
	clew_json_string(json, "kind",
			 link->kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[link->kind] : NULL);
	switch (link->kind) {
	case CLEW_LINK_IRQ:
	case CLEW_LINK_SOFTIRQ:
		clew_json_unsigned(json, "number", link->number);
		clew_json_string(json, "name", interrupt_name(trace, link));
		break;
	case CLEW_LINK_REQUEST:
	case CLEW_LINK_WORK:
	case CLEW_LINK_TIMER:
		clew_json_object_of(json, "object", trace, &object, sleep);
		break;
	}
	clew_json_known(json, "at", link->at, 0);
	clew_json_task_fields(json, trace, link->task, link->at);
	if (link->kind == CLEW_LINK_WORK) {
		clew_json_unsigned(json, "begun", link->begin);
		clew_json_object(json, "worker");
		clew_json_task_fields(json, trace, link->worker, link->begin);
		clew_json_object_end(json);
		clew_json_bool(json, "rescuer", link->flags & CLEW_LINK_RESCUER);
	}
	clew_json_object_end(json);
}

void clew_json_links(struct clew_json *json, const struct clew_trace *trace,
		     const struct clew_sleep *sleep)
{
	clew_json_array(json, "through");
	for (uint32_t i = 0; i < sleep->link_count; i++)
		json_link(json, trace, sleep, &sleep->links[i]);
	clew_json_array_end(json);
}

void clew_json_slices(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_sleep *sleep)
{
	const struct clew_retried *retried = clew_trace_retried(trace, sleep);

	clew_json_unsigned(json, "slices", retried ? retried->slices : 1);
	clew_json_bool(json, "retried", retried);
	clew_json_bool(json, "in_exchange", clew_trace_in_exchange(trace, sleep));
}

bool clew_print_first_link(FILE *out, const struct clew_trace *trace,
			   const struct clew_sleep *sleep)
{
	const struct clew_link *link = sleep->links;
	struct clew_object object;
	const char *name;

	if (sleep->link_count == 0)
		return false;
	object = clew_link_object(link);
	switch (link->kind) {
	case CLEW_LINK_REQUEST:
		fputs("the end of ", out);
		clew_print_object(out, trace, &object, sleep);
		return true;
	case CLEW_LINK_WORK:
		clew_print_object(out, trace, &object, sleep);
		fputs(" on ", out);
		clew_print_task(out, trace, link->worker, link->begin);
		return true;
	case CLEW_LINK_TIMER:
		fputs("a timer", out);
		name = clew_trace_text(trace, link->number);
		if (name) {
			fputs(" (", out);
			clew_print_safe(out, name);
			fputc(')', out);
		}
		return true;
	case CLEW_LINK_PACKET:
		fputs("a packet", out);
		return true;
	case CLEW_LINK_IRQ:
		name = interrupt_name(trace, link);
		fprintf(out, "interrupt %" PRIu64, link->number);
		if (name) {
			fputs(" of ", out);
			clew_print_safe(out, name);
		}
		return true;
	case CLEW_LINK_SOFTIRQ:
		name = interrupt_name(trace, link);
		fprintf(out, "softirq %s", name ? name : "unknown");
		return true;
	default:
		return false;
	}
}

void clew_print_timer(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_link *link = sleep->links;

	if (clew_is_own_timeout(trace, sleep)) {
		fputs("its timeout", out);
	} else if (link->task == CLEW_NO_TASK) {
		clew_print_first_link(out, trace, sleep);
	} else {
		fputs("a timer that ", out);
		if (link->task == sleep->task)
			fputs("it", out);
		else
			clew_print_task(out, trace, link->task, link->at);
		fputs(" had armed", out);
	}
}
