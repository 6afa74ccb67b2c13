/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a capture from a list of records in words, for tests whose expected
 * answers are known to the nanosecond.
 *
 * Usage: make_capture FILE < LIST. A line of the list is one of
 *
 *	# comment
 *	meta KEY VALUE
 *	clock MONOTONIC BOOT WALL
 *	ledger CPU KIND SEEN FILTERED RESERVED READ STORED LOST MISSED
 *	cost USER_NS BPF_NS SAMPLED
 *	CPU KIND TIME FIELD=VALUE ..       (CPU "user": the user stream)
 *
 * KIND is a record's name in small letters; fields are those of records.h, for
 * "switch" and "state" those of the wait too (wait_flags for its flags), for "switch"
 * and "work" those of the cause (cause_kind ..). A value is
 * a number, names of the constants below joined by "|", or for `comm`, `path`, `text`
 * and `command` a text in double quotes, with \xNN for any byte; anything left out is 0,
 *`descriptor` and `call` are -1.
 */
#include "store/capture.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_LINE   4096
#define LONGEST_RECORD (LONGEST_LINE + 1024)

static const struct {
	const char *name;
	uint64_t value;
} constants[] = {
	{"preempt", CLEW_SWITCH_PREEMPT},
	{"sleep", CLEW_SWITCH_SLEEP},
	{"wait", CLEW_SWITCH_WAIT},
	{"dead", CLEW_SWITCH_DEAD},
	{"next_slept", CLEW_SWITCH_NEXT_SLEPT},
	{"next_new", CLEW_SWITCH_NEXT_NEW},
	{"stop", CLEW_STATE_STOP},
	{"runnable", CLEW_STATE_RUNNABLE},
	{"context_task", CLEW_WAKE_TASK},
	{"context_irq", CLEW_WAKE_IRQ},
	{"context_softirq", CLEW_WAKE_SOFTIRQ},
	{"context_timer", CLEW_WAKE_TIMER},
	{"cause", CLEW_SWITCH_CAUSE},
	{"throttled", CLEW_SWITCH_THROTTLED},
	{"by_irq", CLEW_CAUSE_IRQ},
	{"by_timer", CLEW_CAUSE_TIMER},
	{"by_request", CLEW_CAUSE_REQUEST},
	{"by_packet", CLEW_CAUSE_PACKET},
	{"reason_lock", CLEW_REASON_LOCK},
	{"reason_reclaim", CLEW_REASON_RECLAIM},
	{"reason_quota", CLEW_REASON_QUOTA},
	{"lock", CLEW_OBJECT_LOCK},
	{"cgroup", CLEW_OBJECT_CGROUP},
	{"timerfd", CLEW_OBJECT_TIMERFD},
	{"tty", CLEW_OBJECT_TTY},
	{"type_mutex", CLEW_LOCK_MUTEX},
	{"queue", CLEW_BIO_QUEUE},
	{"swap", CLEW_BIO_SWAP},
	{"fault", CLEW_WAIT_FLAG_FAULT},
	{"issue", CLEW_REQUEST_ISSUE},
	{"complete", CLEW_REQUEST_COMPLETE},
	{"dirty", CLEW_EXTENT_DIRTY},
	{"write", CLEW_EXTENT_WRITE},
	{"store", CLEW_EXTENT_STORE},
	{"drop", CLEW_EXTENT_DROP},
	{"ask", CLEW_EXTENT_ADD},
	{"use", CLEW_EXTENT_USE},
	{"again", CLEW_EXTENT_AGAIN},
	{"order", CLEW_WRITEBACK_QUEUE},
	{"start", CLEW_WRITEBACK_START},
	{"end", CLEW_WRITEBACK_END},
	{"background", CLEW_WRITEBACK_WAKE},
	{"inode_begin", CLEW_WRITEBACK_INODE_BEGIN},
	{"inode_end", CLEW_WRITEBACK_INODE_END},
	{"sync", CLEW_WRITEBACK_SYNC_ENTER},
	{"handle", CLEW_JOURNAL_HANDLE},
	{"await", CLEW_JOURNAL_AWAIT},
	{"commit_begin", CLEW_JOURNAL_COMMIT_BEGIN},
	{"commit_end", CLEW_JOURNAL_COMMIT_END},
	{"reason_function", CLEW_REASON_FUNCTION},
	{"reason_dirty", CLEW_REASON_DIRTY},
	{"reason_file_lock", CLEW_REASON_FILE_LOCK},
	{"device", CLEW_OBJECT_DEVICE},
	{"one", CLEW_FUTEX_WAKE_ONE},
	{"many", CLEW_FUTEX_WAKE_MANY},
	{"file_unlock", CLEW_FILE_UNLOCK},
	{"file", CLEW_OBJECT_FILE},
	{"pipe", CLEW_OBJECT_PIPE},
	{"socket", CLEW_OBJECT_SOCKET},
	{"eventfd", CLEW_OBJECT_EVENTFD},
	{"futex", CLEW_OBJECT_FUTEX},
	{"path", CLEW_OBJECT_PATH},
	{"child", CLEW_OBJECT_CHILD},
	{"mutex", CLEW_FUTEX_CLASS_MUTEX},
	{"detail", CLEW_WAIT_FLAG_DETAIL},
	{"iowait", CLEW_WAIT_FLAG_IOWAIT},
	{"kthread", CLEW_WAIT_FLAG_KTHREAD},
	{"exiting", CLEW_WAKE_EXITING},
	{"signal", CLEW_WAKE_SIGNAL},
	{"private", CLEW_WAKE_PRIVATE},
	{"deleted", CLEW_FILE_DELETED},
};

#define FIELD(type, member)                                                                        \
	{                                                                                          \
#member, offsetof(struct type, member), sizeof(((struct type *)0)->member)         \
	}
#define WAIT_FIELD(member)                                                                         \
	{                                                                                          \
#member, sizeof(struct clew_switch) + offsetof(struct clew_wait, member),          \
			sizeof(((struct clew_wait *)0)->member)                                    \
	}

#define CAUSE_FIELD(base, member)                                                                  \
	{                                                                                          \
		"cause_" #member, (base) + offsetof(struct clew_cause, member),                    \
			sizeof(((struct clew_cause *)0)->member)                                   \
	}
#define CAUSE_FIELDS(base)                                                                         \
	CAUSE_FIELD(base, kind), CAUSE_FIELD(base, object), CAUSE_FIELD(base, time),               \
		CAUSE_FIELD(base, expires), CAUSE_FIELD(base, task)

struct field {
	const char *name;
	size_t offset;
	size_t size;
};

static const struct field switch_fields[] = {
	FIELD(clew_switch, prev),
	FIELD(clew_switch, next),
	FIELD(clew_switch, prev_state),
	FIELD(clew_switch, wake_time),
	FIELD(clew_switch, waker),
	FIELD(clew_switch, wake_context),
	FIELD(clew_switch, wake_flags),
	FIELD(clew_switch, wake_operation),
	FIELD(clew_switch, wake_object_kind),
	FIELD(clew_switch, wake_object),
	FIELD(clew_switch, wake_descriptor),
	FIELD(clew_switch, wake_call),
	WAIT_FIELD(object),
	WAIT_FIELD(device),
	WAIT_FIELD(owner),
	WAIT_FIELD(descriptor),
	WAIT_FIELD(call),
	WAIT_FIELD(object_kind),
	WAIT_FIELD(futex_class),
	WAIT_FIELD(futex_operation),
	WAIT_FIELD(argument),
	{"wait_flags", sizeof(struct clew_switch) + offsetof(struct clew_wait, flags), 1},
	WAIT_FIELD(reason),
	/* Behind a wait; where there is none, it is moved up in the end. */
	CAUSE_FIELDS(sizeof(struct clew_switch) + sizeof(struct clew_wait)),
	{NULL, 0, 0},
};
static const struct field task_fields[] = {
	FIELD(clew_task_record, task),
	FIELD(clew_task_record, process),
	FIELD(clew_task_record, parent),
	FIELD(clew_task_record, executable),
	FIELD(clew_task_record, executable_device),
	FIELD(clew_task_record, tid),
	FIELD(clew_task_record, pid),
	FIELD(clew_task_record, pid_namespace),
	FIELD(clew_task_record, task_flags),
	FIELD(clew_task_record, start_time),
	{NULL, 0, 0},
};
static const struct field life_fields[] = {
	FIELD(clew_life, task), FIELD(clew_life, other), FIELD(clew_life, value), {NULL, 0, 0}};
static const struct field rename_fields[] = {FIELD(clew_rename, task), {NULL, 0, 0}};
static const struct field file_fields[] = {FIELD(clew_file_record, inode),
					   FIELD(clew_file_record, device),
					   FIELD(clew_file_record, mount_namespace),
					   FIELD(clew_file_record, generation),
					   {NULL, 0, 0}};
static const struct field text_fields[] = {FIELD(clew_text_record, hash), {NULL, 0, 0}};
static const struct field gap_fields[] = {
	FIELD(clew_gap, from), FIELD(clew_gap, count), {NULL, 0, 0}};
static const struct field socket_fields[] = {
	FIELD(clew_socket_record, inode),     FIELD(clew_socket_record, family),
	FIELD(clew_socket_record, type),      FIELD(clew_socket_record, local_port),
	FIELD(clew_socket_record, peer_port), {NULL, 0, 0},
};
static const struct field cgroup_fields[] = {FIELD(clew_cgroup_record, id), {NULL, 0, 0}};
static const struct field work_fields[] = {
	FIELD(clew_work, work),
	FIELD(clew_work, function),
	FIELD(clew_work, queued),
	FIELD(clew_work, worker),
	FIELD(clew_work, queuer),
	FIELD(clew_work, context),
	CAUSE_FIELDS(offsetof(struct clew_work, cause)),
	{NULL, 0, 0},
};
static const struct field bio_fields[] = {
	FIELD(clew_bio, bio),	      FIELD(clew_bio, sector),	   FIELD(clew_bio, bytes),
	FIELD(clew_bio, device),      FIELD(clew_bio, inode),	   FIELD(clew_bio, index),
	FIELD(clew_bio, file_device), FIELD(clew_bio, operation),  FIELD(clew_bio, parent),
	FIELD(clew_bio, task),	      FIELD(clew_bio, contiguous), {NULL, 0, 0},
};
static const struct field request_fields[] = {
	FIELD(clew_request, request),	FIELD(clew_request, sector), FIELD(clew_request, bio),
	FIELD(clew_request, allocated), FIELD(clew_request, bytes),  FIELD(clew_request, device),
	FIELD(clew_request, operation), FIELD(clew_request, task),   {NULL, 0, 0},
};
static const struct field lock_fields[] = {
	FIELD(clew_lock, begin), FIELD(clew_lock, lock), FIELD(clew_lock, task),
	FIELD(clew_lock, owner), FIELD(clew_lock, type), {NULL, 0, 0},
};
static const struct field extent_fields[] = {
	FIELD(clew_extent, begin),
	FIELD(clew_extent, inode),
	FIELD(clew_extent, offset),
	FIELD(clew_extent, bytes),
	FIELD(clew_extent, device),
	FIELD(clew_extent, task),
	{NULL, 0, 0},
};
static const struct field pages_fields[] = {
	FIELD(clew_pages, bio),
	FIELD(clew_pages, inode),
	FIELD(clew_pages, offset),
	FIELD(clew_pages, bytes),
	FIELD(clew_pages, at),
	FIELD(clew_pages, device),
	{NULL, 0, 0},
};
static const struct field writeback_fields[] = {
	FIELD(clew_writeback, work), FIELD(clew_writeback, inode),  FIELD(clew_writeback, device),
	FIELD(clew_writeback, task), FIELD(clew_writeback, reason), {NULL, 0, 0},
};
static const struct field journal_fields[] = {
	FIELD(clew_journal, transaction),
	FIELD(clew_journal, inode),
	FIELD(clew_journal, block),
	FIELD(clew_journal, value),
	FIELD(clew_journal, device),
	FIELD(clew_journal, task),
	{NULL, 0, 0},
};
static const struct field announce_fields[] = {FIELD(clew_announce, task),
					       FIELD(clew_announce, token),
					       FIELD(clew_announce, event),
					       {NULL, 0, 0}};
static const struct field refill_fields[] = {FIELD(clew_refill, cgroup), {NULL, 0, 0}};

static const struct shape {
	const char *name;
	unsigned kind;
	const struct field *fields;
	size_t size;
} shapes[] = {
	{"switch", CLEW_KIND_SWITCH, switch_fields, sizeof(struct clew_switch)},
	{"state", CLEW_KIND_STATE, switch_fields, sizeof(struct clew_switch)},
	{"task", CLEW_KIND_TASK, task_fields, sizeof(struct clew_task_record)},
	{"fork", CLEW_KIND_FORK, life_fields, sizeof(struct clew_life)},
	{"exec", CLEW_KIND_EXEC, life_fields, sizeof(struct clew_life)},
	{"exit", CLEW_KIND_EXIT, life_fields, sizeof(struct clew_life)},
	{"rename", CLEW_KIND_RENAME, rename_fields, sizeof(struct clew_rename)},
	{"file", CLEW_KIND_FILE, file_fields, sizeof(struct clew_file_record)},
	{"socket", CLEW_KIND_SOCKET, socket_fields, sizeof(struct clew_socket_record)},
	{"text", CLEW_KIND_TEXT, text_fields, sizeof(struct clew_text_record)},
	{"gap", CLEW_KIND_GAP, gap_fields, sizeof(struct clew_gap)},
	{"wake", CLEW_KIND_WAKE, NULL, 0},
	{"cgroup", CLEW_KIND_CGROUP, cgroup_fields, sizeof(struct clew_cgroup_record)},
	{"work", CLEW_KIND_WORK, work_fields, sizeof(struct clew_work)},
	{"bio", CLEW_KIND_BIO, bio_fields, sizeof(struct clew_bio)},
	{"request", CLEW_KIND_REQUEST, request_fields, sizeof(struct clew_request)},
	{"lock", CLEW_KIND_LOCK, lock_fields, sizeof(struct clew_lock)},
	{"refill", CLEW_KIND_REFILL, refill_fields, sizeof(struct clew_refill)},
	{"announce", CLEW_KIND_ANNOUNCE, announce_fields, sizeof(struct clew_announce)},
	{"extent", CLEW_KIND_EXTENT, extent_fields, sizeof(struct clew_extent)},
	{"pages", CLEW_KIND_PAGES, pages_fields, sizeof(struct clew_pages)},
	{"writeback", CLEW_KIND_WRITEBACK, writeback_fields, sizeof(struct clew_writeback)},
	{"journal", CLEW_KIND_JOURNAL, journal_fields, sizeof(struct clew_journal)},
};

static unsigned line_number;

static void __attribute__((noreturn)) fail(const char *what, const char *word)
{
	fprintf(stderr, "make_capture: line %u: %s '%s'\n", line_number, what, word);
	exit(2);
}

static uint64_t number_of(char *text)
{
	uint64_t value = 0;
	char *save = NULL, *end;

	for (char *word = strtok_r(text, "|", &save); word; word = strtok_r(NULL, "|", &save)) {
		size_t i = 0, count = sizeof(constants) / sizeof(constants[0]);
		uint64_t number = strtoull(word, &end, 0);

		if (end != word && !*end) {
			value |= number;
			continue;
		}
		while (i < count && strcmp(constants[i].name, word))
			i++;
		if (i == count)
			fail("no constant", word);
		value |= constants[i].value;
	}
	return value;
}

static const struct shape *shape_of(const char *name)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (!strcmp(shapes[i].name, name))
			return &shapes[i];
	fail("no kind of record", name);
}

/* Turns each \xNN into its byte, in place. */
static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		unsigned byte;

		if (sscanf(text, "\\x%2x", &byte) == 1) {
			*out++ = byte;
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

static unsigned stream_of(char *text)
{
	return strcmp(text, "user") ? (unsigned)number_of(text) : CLEW_STREAM_USER;
}

/* Text behind a record, with its size in the record. */
static size_t append(char *record, size_t size, size_t size_offset, const char *text,
		     size_t text_size)
{
	uint16_t stored = text_size;

	memcpy(record + size, text, text_size);
	memcpy(record + size_offset, &stored, sizeof(stored));
	return size + text_size;
}

/* Sets what is no number. Returns the record's new size. */
static size_t set_text(char *record, const struct shape *shape, size_t size, const char *name,
		       const char *text)
{
	if (!strcmp(name, "comm")) {
		size_t offset = shape->kind == CLEW_KIND_TASK
					? offsetof(struct clew_task_record, comm)
					: offsetof(struct clew_rename, comm);

		strncpy(record + offset, text, CLEW_COMM_SIZE - 1);
		return size;
	}
	if (!strcmp(name, "path"))
		return append(record, size,
			      shape->kind == CLEW_KIND_CGROUP
				      ? offsetof(struct clew_cgroup_record, path_size)
				      : offsetof(struct clew_file_record, path_size),
			      text, strlen(text));
	if (!strcmp(name, "text"))
		return append(record, size, offsetof(struct clew_text_record, text_size), text,
			      strlen(text));
	if (!strcmp(name, "command"))
		return append(record, size, offsetof(struct clew_task_record, command_line_size),
			      text, strlen(text) + 1);
	/* With a blank after each word. */
	if (!strcmp(name, "words")) {
		size = append(record, size, offsetof(struct clew_announce, size), text,
			      strlen(text));
		for (char *at = record + size - strlen(text); at < record + size; at++)
			*at = *at == ' ' ? '\0' : *at;
		return size;
	}
	fail("no text field", name);
}

static void set_field(char *record, const struct shape *shape, const char *name, char *text)
{
	const struct field *field = shape->fields;
	uint64_t value;

	if (!strcmp(name, "flags")) {
		((struct clew_header *)record)->flags = number_of(text);
		return;
	}
	while (field->name && strcmp(field->name, name))
		field++;
	if (!field->name)
		fail("no field", name);
	value = number_of(text);
	memcpy(record + field->offset, &value, field->size);
}

static void put_record(struct clew_writer *writer, unsigned stream, const struct shape *shape,
		       char *rest)
{
	_Alignas(8) char record[LONGEST_RECORD] = {0};
	struct clew_header *header = (struct clew_header *)record;
	struct clew_wait *wait = (struct clew_wait *)(record + sizeof(struct clew_switch));
	size_t size = shape->size;
	char *save = NULL, *word = strtok_r(rest, " ", &save);
	int r;

	if (!word)
		fail("no time for", shape->name);
	if (shape->fields == switch_fields) {
		((struct clew_switch *)record)->wake_descriptor = -1;
		((struct clew_switch *)record)->wake_call = CLEW_NO_CALL;
		wait->descriptor = -1;
		wait->call = CLEW_NO_CALL;
	}
	header->time = number_of(word);
	header->kind = shape->kind;
	header->cpu = stream == CLEW_STREAM_USER ? CLEW_STREAM_USER : stream;
	while (save && *save) {
		char *name = save, *value = strchr(save, '=');

		if (!value)
			fail("no value for", name);
		*value++ = '\0';
		if (*value == '"') {
			save = strchr(++value, '"');
			if (!save)
				fail("no end of the text", value);
			*save++ = '\0';
			unescape(value);
			size = set_text(record, shape, size, name, value);
		} else {
			save = value + strcspn(value, " ");
			if (*save)
				*save++ = '\0';
			set_field(record, shape, name, value);
		}
		save += strspn(save, " ");
	}
	if (shape->kind == CLEW_KIND_TASK) {
		struct clew_task_record *task = (struct clew_task_record *)record;

		task->nspid_count = 1;
		task->nspid[0] = task->tid;
	}
	if (shape->fields == switch_fields && header->flags & CLEW_SWITCH_WAIT)
		size += sizeof(*wait);
	if (shape->kind == CLEW_KIND_SWITCH && header->flags & CLEW_SWITCH_CAUSE) {
		memmove(record + size, wait + 1, sizeof(struct clew_cause));
		size += sizeof(struct clew_cause);
	}
	r = clew_writer_put(writer, stream, record, size);
	if (r < 0)
		fail("not written", strerror(-r));
}

/* Numbers of a line, up to `count`. */
static void read_numbers(char *rest, uint64_t *numbers, size_t count)
{
	char *save = NULL, *word = strtok_r(rest, " ", &save);

	for (size_t i = 0; i < count; i++, word = strtok_r(NULL, " ", &save)) {
		if (!word)
			fail("a number is missing in", rest);
		numbers[i] = number_of(word);
	}
}

int main(int argc, char **argv)
{
	struct clew_writer_options options = {.size = sizeof(options), .cpus = 4};
	struct clew_ledger_row rows[64] = {0};
	struct clew_cost cost = {0};
	struct clew_writer *writer;
	size_t row_count = 0;
	char line[LONGEST_LINE];
	int r = argc == 2 ? clew_writer_open(argv[1], &options, &writer) : -EINVAL;

	if (r < 0) {
		fprintf(stderr, "make_capture: %s\n",
			argc == 2 ? strerror(-r) : "usage: make_capture FILE < LIST");
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *word, *rest = NULL;
		uint64_t numbers[8];

		line_number++;
		line[strcspn(line, "\n")] = '\0';
		word = strtok_r(line, " ", &rest);
		if (!word || *word == '#')
			continue;
		if (!strcmp(word, "meta")) {
			char *key = strtok_r(NULL, " ", &rest);

			clew_writer_meta(writer, key ?: "", rest);
		} else if (!strcmp(word, "clock")) {
			read_numbers(rest, numbers, 3);
			clew_writer_clock(writer,
					  &(struct clew_clock){numbers[0], numbers[1], numbers[2]});
		} else if (!strcmp(word, "cost")) {
			read_numbers(rest, numbers, 3);
			cost = (struct clew_cost){numbers[0], numbers[1], numbers[2]};
		} else if (!strcmp(word, "ledger")) {
			char *cpu = strtok_r(NULL, " ", &rest), *kind = strtok_r(NULL, " ", &rest);
			struct clew_ledger_row *row = &rows[row_count++ % 64];

			read_numbers(rest, numbers, 7);
			*row = (struct clew_ledger_row){
				stream_of(cpu), shape_of(kind)->kind, numbers[0],
				numbers[1],	numbers[2],	      numbers[3],
				numbers[4],	numbers[5],	      numbers[6]};
		} else {
			unsigned stream = stream_of(word);
			char *kind = strtok_r(NULL, " ", &rest);

			put_record(writer, stream, shape_of(kind ?: ""), rest);
		}
	}
	clew_writer_ledger(writer, rows, row_count, &cost);
	r = clew_writer_close(writer);
	if (r < 0)
		fprintf(stderr, "make_capture: %s\n", strerror(-r));
	return r < 0 ? 3 : 0;
}
