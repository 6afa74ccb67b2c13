/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sleep from its gap, its attributes, and the dependency that ends it. What is not
 * said is what capture_waits.c leaves out.
 */
#include "convert/back.h"
#include <errno.h>
#include <string.h>

/* A file that only a name is known of is told by its name. */
static int name_file(struct back *back, struct clew_object *object, const char *path)
{
	char bytes[sizeof(struct clew_file_record) + CLEW_PATH_SIZE] = {0};
	struct clew_file_record *record = (struct clew_file_record *)bytes;
	size_t length = strnlen(path, CLEW_PATH_SIZE - 1);

	for (size_t i = 0; i < length; i++)
		object->number = (object->number ^ (unsigned char)path[i]) * 0x100000001b3ull;
	object->number >>= 1;
	record->header.kind = CLEW_KIND_FILE;
	record->inode = object->number;
	record->path_size = (uint16_t)(length + 1);
	memcpy(record + 1, path, length);
	return trace_take(back->trace, (struct clew_finding){.tag = CLEW_FINDING_IDENTITY,
							     .identity = &record->header});
}

/* Written by hand: "KIND:NAME", where a number in the name is the object's. */
static int object_by_name(struct back *back, const char *name, struct clew_object *object)
{
	const char *at = name;
	uint64_t number = 0;

	if (object->kind == CLEW_OBJECT_FILE)
		return name_file(back, object, name);
	if (at[0] == '0' && at[1] == 'x') {
		for (at += 2; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
			number = number << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
		object->number = number;
	} else if (scan_value_number(&at, &number)) {
		object->number = number;
	}
	return 0;
}

int back_object(struct back *back, const struct values *values, struct clew_object *ret_object)
{
	struct clew_object object = {.descriptor = -1};
	const char *text = values->of[CAPTURE_OBJECT], *colon = text ? strchr(text, ':') : NULL,
		   *device = values->of[CAPTURE_DEV];
	uint64_t number = 0;
	int kind = text ? capture_object_kind(text, colon ? (size_t)(colon - text) : strlen(text))
			: CLEW_OBJECT_NONE,
	    r = 0;

	/* A kind of one's own says nothing that an answer could show. */
	object.kind = kind < 0 ? CLEW_OBJECT_NONE : (uint8_t)kind;
	if (values->of[CAPTURE_ID])
		r = back_number(back, "id", values->of[CAPTURE_ID], &object.number);
	else if (!back->from_capture && colon)
		r = object_by_name(back, colon + 1, &object);
	if (r == 0 && device && !scan_value_device(&device, &object.device))
		return back_fail(back, "dev=%.40s: this is no MAJOR:MINOR",
				 values->of[CAPTURE_DEV]);
	if (r == 0 && values->of[CAPTURE_FD]) {
		r = back_number(back, "fd", values->of[CAPTURE_FD], &number);
		object.descriptor = (int32_t)(uint32_t)number;
	}
	if (r == 0 && values->of[CAPTURE_OP]) {
		r = back_number(back, "op", values->of[CAPTURE_OP], &number);
		object.futex_operation = (uint8_t)number;
	}
	object.shared = values->of[CAPTURE_SHARED] != NULL;
	*ret_object = object;
	return r;
}

static int evidence_of(const char *word)
{
	for (int i = 0; i < CLEW_EVIDENCE_COUNT; i++)
		if (!strcmp(clew_evidence_name((unsigned)i), word))
			return i;
	return -1;
}

static int take_holder(struct back *back, const struct clew_sleep *sleep, const char **rows)
{
	struct clew_holder *holder;
	char word[CLEW_COMM_SIZE + 64];
	int evidence;

	if (vector_reserve(&back->holders, back->holders.count + 1) < 0)
		return -ENOMEM;
	holder = (struct clew_holder *)back->holders.data + back->holders.count++;
	*holder = (struct clew_holder){.from = sleep->start, .to = sleep->end};
	if (!scan_value_word(rows, word, sizeof(word)))
		return back_fail(back, "holder=: a row begins with a thread's name");
	holder->task = back_serial(back, word);
	if (!scan_value_number(rows, &holder->from))
		return 0;
	if (!scan_value_number(rows, &holder->to) || !scan_value_word(rows, word, sizeof(word)))
		return back_fail(
			back,
			"holder: behind a name and a start there must be an end and the evidence");
	evidence = evidence_of(word);
	if (evidence < 0)
		return back_fail(back, "holder: '%s' is no evidence", word);
	holder->evidence = (uint8_t)evidence;
	holder->barged = scan_value_word(rows, word, sizeof(word));
	return 0;
}

static int take_link(struct back *back, struct clew_sleep *sleep, const char **rows)
{
	struct clew_link link = {0};
	uint64_t kind, flags;
	char evidence[16], task[CLEW_COMM_SIZE + 64], worker[CLEW_COMM_SIZE + 64];
	bool further = **rows == '+';
	int value;

	*rows += further;
	if (!scan_value_number(rows, &kind) || !scan_value_number(rows, &link.at) ||
	    !scan_value_number(rows, &link.begin) || !scan_value_number(rows, &link.end) ||
	    !scan_value_number(rows, &link.number) || !scan_value_number(rows, &flags) ||
	    !scan_value_word(rows, evidence, sizeof(evidence)) ||
	    !scan_value_word(rows, task, sizeof(task)) ||
	    !scan_value_word(rows, worker, sizeof(worker)))
		return back_fail(back,
				 "links=%.40s: a row is six numbers, the evidence and two names",
				 *rows);
	value = evidence_of(evidence);
	if (value < 0)
		return back_fail(back, "links: '%s' is no evidence", evidence);
	if (kind > CLEW_LINK_PACKET && kind != CLEW_LINK_WORK)
		return back_fail(back, "links: there is no step of kind %llu",
				 (unsigned long long)kind);
	link.kind = (uint8_t)kind;
	link.flags = (uint8_t)flags;
	link.evidence = (uint8_t)value;
	link.task = back_serial(back, task);
	link.worker = back_serial(back, worker);
	if (vector_reserve(&back->links, back->links.count + 1) < 0)
		return -ENOMEM;
	((struct clew_link *)back->links.data)[back->links.count++] = link;
	if (further)
		sleep->and_count++;
	else
		sleep->link_count++;
	return 0;
}

static int take_rows(struct back *back, const struct values *values, struct clew_sleep *sleep)
{
	const char *rows = values->of[CAPTURE_HOLDER];
	int r = 0;

	back->holders.count = 0;
	if (rows) {
		do
			r = take_holder(back, sleep, &rows);
		while (r == 0 && scan_value_row(&rows));
	}
	sleep->holders = back->holders.data;
	sleep->holder_count = (uint32_t)back->holders.count;
	return r;
}

/* The requests that a dependency comes from, where nothing else is said of the steps. */
static int take_requests(struct back *back, const struct values *values, uint32_t dependency,
			 struct clew_sleep *sleep)
{
	const struct clew_model *model = back->model;
	const struct clew_range *origins = &model->dependencies[dependency].origins;
	struct clew_link *links;
	unsigned count = 0;

	if (vector_reserve(&back->links, origins->count) < 0)
		return -ENOMEM;
	links = back->links.data;
	for (uint32_t i = 0; i < origins->count && count < UINT16_MAX; i++) {
		uint32_t span = model->es[model->origins[origins->first + i]].span;

		if (span >= back->first_request &&
		    back->request_of[span - back->first_request] != CLEW_NONE)
			links[count++] = (struct clew_link){
				.number = back->request_of[span - back->first_request]};
	}
	if (count == 0)
		return 0;
	/* Each as the requests themselves say, whose numbers stay. */
	for (unsigned i = 0; i < count; i++)
		links[i] = capture_request_link(back->trace->requests.data, links, count, i);
	back->links.count = count;
	sleep->link_count = 1;
	sleep->and_count = (uint16_t)(count - 1);
	if (!values->of[CAPTURE_FROM_TASK])
		sleep->from = links[0].task;
	if (!values->of[CAPTURE_FROM])
		sleep->from_at = links[0].at;
	return 0;
}

static int take_links(struct back *back, const struct values *values, uint32_t dependency,
		      struct clew_sleep *sleep)
{
	const char *rows = values->of[CAPTURE_LINKS];
	int r = 0;

	back->links.count = 0;
	if (!rows && back->from_capture && dependency != CLEW_NONE &&
	    sleep->edge_type == CLEW_EDGE_REQUEST) {
		r = take_requests(back, values, dependency, sleep);
	} else if (rows && strcmp(rows, "-") != 0) {
		do
			r = take_link(back, sleep, &rows);
		while (r == 0 && scan_value_row(&rows));
	}
	sleep->links = back->links.data;
	return r;
}

/* -1: there is none of that name. */
static int type_of(const struct back *back, const char *name)
{
	const struct vector *own = &back->trace->own_types;

	for (size_t i = 0; i < own->count; i++)
		if (!strcmp(((const char *const *)own->data)[i], name))
			return (int)(CLEW_EDGE_TYPE_COUNT + i);
	return clew_edge_type_from_name(name);
}

/* From whom and when the wake came, by the dependency and by what the wait says besides. */
static int take_edge(struct back *back, const struct values *values, uint32_t dependency,
		     struct clew_sleep *sleep)
{
	const struct clew_model *model = back->model;
	uint32_t trigger =
		dependency == CLEW_NONE ? CLEW_NONE : clew_model_trigger(model, dependency);
	uint32_t span = trigger == CLEW_NONE ? CLEW_NONE : model->es[trigger].span;
	const char *evidence = values->of[CAPTURE_EVIDENCE];
	int type = -1, r = 0;

	if (span != CLEW_NONE) {
		uint8_t own = back->edge_types[model->dependencies[dependency].type];

		type = own == UINT8_MAX ? -1 : own;
		sleep->from = back->is_device[span] ? CLEW_NO_TASK : back->serials[span];
		sleep->from_at = back->is_device[span] ? 0 : (uint64_t)model->es[trigger].end;
	}
	if (type >= 0 && !evidence)
		evidence = clew_model_attribute(model, model->dependencies[dependency].attributes,
						"evidence");
	if (values->of[CAPTURE_EDGE])
		type = type_of(back, values->of[CAPTURE_EDGE]);
	sleep->edge_type = (int8_t)type;
	if (type < 0)
		sleep->from = sleep->from_at = 0;
	if (values->of[CAPTURE_FROM_TASK])
		sleep->from = back_serial(back, values->of[CAPTURE_FROM_TASK]);
	if (values->of[CAPTURE_FROM])
		r = back_number(back, "from", values->of[CAPTURE_FROM], &sleep->from_at);
	if (type >= 0 && evidence) {
		int value = evidence_of(evidence);

		if (value < 0)
			return back_fail(back, "evidence=%.40s: there is no such word", evidence);
		sleep->edge_evidence = (uint8_t)value;
	}
	return r;
}

static int context_of(struct back *back, const struct values *values, unsigned kind, bool by_edge,
		      uint8_t *ret_context)
{
	const char *word = values->of[CAPTURE_CONTEXT];

	if (word) {
		for (unsigned i = 0; i <= CLEW_WAKE_WORK; i++)
			if (!strcmp(clew_context_name(i), word)) {
				*ret_context = (uint8_t)i;
				return 0;
			}
		return back_fail(back, "context=%.40s: there is no such word", word);
	}
	*ret_context = by_edge ? CLEW_WAKE_TASK : CLEW_WAKE_UNKNOWN;
	/* Written by hand, a wait that nobody ends is ended by time itself, or by a device. */
	if (!by_edge && !back->from_capture)
		*ret_context = kind == CLEW_WAIT_SLEEP ? CLEW_WAKE_TIMER : CLEW_WAKE_IRQ;
	return 0;
}

static int take_times(struct back *back, const struct values *values, uint64_t start, uint64_t end,
		      bool by_edge, struct clew_sleep *sleep)
{
	uint64_t implied_end = end, implied_raw = 0, number;
	const char *until = values->of[CAPTURE_UNTIL];
	int r = 0;

	sleep->switch_in = end;
	if (until && !strcmp(until, "open"))
		sleep->switch_in = CLEW_TIME_OPEN;
	else if (until)
		r = back_number(back, "until", until, &sleep->switch_in);
	if (by_edge && sleep->link_count == 0) {
		implied_raw = sleep->from_at;
		implied_end = implied_raw > start ? implied_raw : start;
		if (!back->from_capture && implied_end > end)
			implied_end = end;
	}
	sleep->end = implied_end;
	if (r == 0 && values->of[CAPTURE_RUNQUEUE]) {
		r = back_number(back, "runqueue", values->of[CAPTURE_RUNQUEUE], &number);
		sleep->end = number < end ? end - number : 0;
		if (sleep->end < sleep->start)
			sleep->end = sleep->start;
	}
	if (r == 0 && values->of[CAPTURE_ENDED])
		r = back_number(back, "ended", values->of[CAPTURE_ENDED], &sleep->end);
	if (sleep->open & CLEW_OPEN_END)
		sleep->end = sleep->switch_in = CLEW_TIME_OPEN;
	else if (!implied_raw && !(by_edge && sleep->link_count == 0) &&
		 sleep->context != CLEW_WAKE_UNKNOWN)
		implied_raw = sleep->end;
	sleep->raw_end = implied_raw;
	if (r == 0 && values->of[CAPTURE_RAW_AT])
		r = back_number(back, "raw_at", values->of[CAPTURE_RAW_AT], &sleep->raw_end);
	return r;
}

static int take_rest(struct back *back, const struct values *values, struct clew_sleep *sleep,
		     uint32_t *call_id)
{
	uint64_t number = 0;
	int r = 0;

	sleep->call = CLEW_NO_CALL;
	if (values->of[CAPTURE_CALL])
		sleep->call = (uint16_t)clew_call_from_name(values->of[CAPTURE_CALL]);
	sleep->call_id = *call_id + 1;
	if (values->of[CAPTURE_CALL_ID] && !strcmp(values->of[CAPTURE_CALL_ID], "same")) {
		sleep->call_id = *call_id;
	} else if (values->of[CAPTURE_CALL_ID]) {
		r = back_number(back, "call_id", values->of[CAPTURE_CALL_ID], &number);
		sleep->call_id = (uint32_t)number;
	}
	*call_id = sleep->call_id;
	if (r == 0 && values->of[CAPTURE_OPERATION]) {
		r = back_number(back, "operation", values->of[CAPTURE_OPERATION], &number);
		sleep->operation = (uint8_t)number;
	}
	if (r == 0 && values->of[CAPTURE_EPOLL]) {
		r = back_number(back, "epoll", values->of[CAPTURE_EPOLL], &number);
		sleep->poller = (uint16_t)number;
	}
	if (r == 0 && values->of[CAPTURE_FLAGS]) {
		r = back_number(back, "flags", values->of[CAPTURE_FLAGS], &number);
		sleep->flags = (uint8_t)number;
	}
	sleep->blind = values->of[CAPTURE_BLIND] != NULL;
	return r;
}

/* As if no dependency of these types had been seen. */
static void drop(const struct back *back, struct clew_sleep *sleep)
{
	if (back->drop_types >> CLEW_EDGE_UNLOCK & 1)
		sleep->holder_count = 0;
	if (sleep->edge_type < 0 || !(back->drop_types >> sleep->edge_type & 1))
		return;
	sleep->edge_type = -1;
	sleep->context = CLEW_WAKE_UNKNOWN;
	sleep->ended_by = sleep->from = CLEW_NO_TASK;
	sleep->from_at = 0;
	sleep->link_count = sleep->and_count = 0;
}

int back_sleep(struct back *back, uint32_t serial, unsigned kind, const struct values *values,
	       uint64_t start, uint64_t end, uint32_t dependency, uint32_t *call_id)
{
	struct clew_sleep sleep = {.start = start,
				   .task = serial,
				   .kind = (uint8_t)kind,
				   .number = back->sleep_number++};
	const char *open = values->of[CAPTURE_OPEN], *ended_by = values->of[CAPTURE_ENDED_BY];
	bool by_edge;
	int r = back_object(back, values, &sleep.object);

	if (open)
		sleep.open = !strcmp(open, "both")  ? CLEW_OPEN_BOTH
			     : !strcmp(open, "end") ? CLEW_OPEN_END
						    : CLEW_OPEN_START;
	if (r == 0 && values->of[CAPTURE_SINCE])
		r = back_number(back, "since", values->of[CAPTURE_SINCE], &sleep.start);
	if (r == 0)
		r = take_edge(back, values, dependency, &sleep);
	by_edge = dependency != CLEW_NONE && sleep.edge_type >= 0;
	if (r == 0)
		r = take_links(back, values, dependency, &sleep);
	if (r == 0)
		r = context_of(back, values, kind, by_edge, &sleep.context);
	if (r == 0)
		r = take_times(back, values, start, end, by_edge, &sleep);
	if (r == 0)
		r = take_rest(back, values, &sleep, call_id);
	if (r == 0)
		r = take_rows(back, values, &sleep);
	if (r < 0)
		return r;
	sleep.ended_by = by_edge ? sleep.from : CLEW_NO_TASK;
	if (ended_by)
		sleep.ended_by = back_serial(back, ended_by);
	drop(back, &sleep);
	return trace_take(back->trace,
			  (struct clew_finding){.tag = CLEW_FINDING_SLEEP, .sleep = &sleep});
}
