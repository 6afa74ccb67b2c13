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
 * KIND is a record's name in small letters. Fields are the columns of the
 * schema; those of the wait may go without "wait_", except for wait_flags. A
 * value is a number, or names of the constants below joined by "|". For a text
 * it is in double quotes, with \xNN for any byte; `command` is a task's command
 * line, `words` an announcement's text. Anything left out is 0, `descriptor` and
 * `call` are -1.
 */
#include "../unit/record_columns.h"
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

static unsigned kind_of(const char *name)
{
	for (unsigned kind = 1; kind < CLEW_KIND_COUNT; kind++)
		if (store_shape(kind)->name && !strcmp(store_shape(kind)->name, name))
			return kind;
	fail("no kind of record", name);
}

/* The column of a field; those of the wait may go without "wait_". */
static const struct store_column *column_of(const struct store_kind *kind, const char *name)
{
	char of_wait[STORE_NAME_MAX + 1];

	snprintf(of_wait, sizeof(of_wait), "wait_%s", name);
	for (unsigned i = 0; i < kind->count; i++)
		if (!strcmp(kind->columns[i].name, name) || !strcmp(kind->columns[i].name, of_wait))
			return &kind->columns[i];
	fail("no field", name);
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

/* Sets a field of text. Each of the `words` that are announced, or of a
 * site, has a blank after it. */
static void set_text(struct clew_header *record, const struct store_kind *kind, const char *name,
		     const char *text)
{
	bool command = !strcmp(name, "command"), words = !strcmp(name, "words");
	bool announced = words && kind->id == CLEW_KIND_ANNOUNCE;
	const struct store_column *column = column_of(kind, command	? "command_line"
							    : announced ? "text"
									: name);
	char *to = (char *)record + column_offset(column, record);

	if (column->coding == STORE_TRIMMED) {
		strncpy(to, text, column->size - 1);
		return;
	}
	if (column->coding != STORE_TAIL)
		fail("no text field", name);
	memcpy(to, text, strlen(text));
	column_set(&kind->columns[column->reference], record, strlen(text) + command);
	for (char *at = to; words && at < to + strlen(text); at++)
		*at = *at == ' ' ? '\0' : *at;
}

/* Frames of a stack: numbers, or IMAGE:OFFSET, with commas between them. */
static void set_frames(struct clew_header *record, const struct store_kind *kind, char *text)
{
	const struct store_column *column = column_of(kind, "frames");
	uint64_t *frames = (uint64_t *)((char *)record + column_offset(column, record));
	size_t count = 0;
	char *save = NULL;

	for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *offset = strchr(word, ':');

		if (offset)
			*offset++ = '\0';
		frames[count] = number_of(word);
		if (offset)
			frames[count] = CLEW_FRAME_IN(frames[count], number_of(offset));
		count++;
	}
	column_set(&kind->columns[column->reference], record, count * sizeof(*frames));
}

/* Bytes by two hexadecimal digits each. */
static void set_bytes(void *record, const struct store_column *column, const char *text)
{
	uint8_t *to = (uint8_t *)record + column->offset;

	for (unsigned i = 0; i < column->size && sscanf(text, "%2hhx", to + i) == 1; i++)
		text += 2;
}

static void set_field(struct clew_header *record, const struct store_kind *kind, const char *name,
		      char *text)
{
	const struct store_column *column;

	if (!strcmp(name, "flags")) {
		record->flags = number_of(text);
		return;
	}
	if (!strcmp(name, "frames")) {
		set_frames(record, kind, text);
		return;
	}
	column = column_of(kind, name);
	if (column->coding == STORE_TRIMMED) {
		set_bytes(record, column, text);
		return;
	}
	if (column->type == STORE_BYTES || column->coding == STORE_LATEST)
		fail("no number", name);
	/* The cause goes behind a wait; where there is none, it is moved up in the end. */
	memcpy((char *)record + column->offset, &(uint64_t){number_of(text)}, column->member_size);
}

/* Once the flags are known: where there is no wait, its bytes are left out. */
static void close_up(struct clew_header *record)
{
	struct clew_wait *wait = (struct clew_wait *)((char *)record + sizeof(struct clew_switch));

	if (record->kind == CLEW_KIND_SWITCH && !(record->flags & CLEW_SWITCH_WAIT))
		memmove(wait, wait + 1, sizeof(struct clew_cause));
}

static void put_record(struct clew_writer *writer, unsigned stream, const struct store_kind *kind,
		       char *rest)
{
	_Alignas(8) char record[LONGEST_RECORD] = {0};
	struct clew_header *header = (struct clew_header *)record;
	char *save = NULL, *word = strtok_r(rest, " ", &save);
	int r;

	if (!word)
		fail("no time for", kind->name);
	if (kind->id == CLEW_KIND_SWITCH || kind->id == CLEW_KIND_STATE) {
		struct clew_wait *wait = (struct clew_wait *)(record + sizeof(struct clew_switch));

		((struct clew_switch *)record)->wake_descriptor = -1;
		((struct clew_switch *)record)->wake_call = CLEW_NO_CALL;
		wait->descriptor = -1;
		wait->call = CLEW_NO_CALL;
	}
	header->time = number_of(word);
	header->kind = kind->id;
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
			set_text(header, kind, name, value);
		} else {
			save = value + strcspn(value, " ");
			if (*save)
				*save++ = '\0';
			set_field(header, kind, name, value);
		}
		save += strspn(save, " ");
	}
	if (kind->id == CLEW_KIND_TASK) {
		struct clew_task_record *task = (struct clew_task_record *)record;

		if (!task->nspid_count)
			task->nspid_count = 1;
		task->nspid[0] = task->tid;
	}
	close_up(header);
	r = clew_writer_put(writer, stream, record, sizeof(record));
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
	struct clew_writer_options options = {.size = sizeof(options), .cpus = 32};
	struct clew_ledger_row rows[64] = {0};
	struct clew_cost cost = {0};
	struct clew_writer *writer;
	size_t row_count = 0;
	char line[LONGEST_LINE];
	static const _Atomic bool busy = true;
	bool quick = argc == 3 && !strcmp(argv[2], "--quick"), known = argc == 2 || quick;
	int r;

	if (quick) {
		options.quick = INT64_MAX;
		options.quick_stays = true;
		options.quick_busy = &busy;
	}
	r = known ? clew_writer_open(argv[1], &options, &writer) : -EINVAL;
	if (r < 0) {
		fprintf(stderr, "make_capture: %s\n",
			known ? strerror(-r) : "usage: make_capture FILE [--quick] < LIST");
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
				stream_of(cpu), kind_of(kind ?: ""), numbers[0],
				numbers[1],	numbers[2],	     numbers[3],
				numbers[4],	numbers[5],	     numbers[6]};
		} else {
			unsigned stream = stream_of(word);
			char *kind = strtok_r(NULL, " ", &rest);

			put_record(writer, stream, own_kind(kind_of(kind ?: "")), rest);
		}
	}
	clew_writer_ledger(writer, rows, row_count, &cost);
	r = clew_writer_close(writer);
	if (r < 0)
		fprintf(stderr, "make_capture: %s\n", strerror(-r));
	return r < 0 ? 3 : 0;
}
