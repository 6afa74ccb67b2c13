/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The description of the streams, in CTF's own language: the form of packets and of events' heads,
 * the events with their fields, the clock, and who recorded. Names, and the version of LTTng whose
 * names these are, are those by which readers know a trace of LTTng's kernel tracer.
 */
#include "export/ctf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"

#define UUID_VERSION 0x80u /* 8: made in a way of one's own */
#define UUID_VARIANT 0x80u

struct event {
	const char *name;
	struct ctf_field fields[CTF_FIELDS_MOST];
};

#define WAKE_FIELDS                                                                                \
	{                                                                                          \
		{"comm", CTF_NAME}, {"tid", CTF_I32}, {"prio", CTF_I32}, {"target_cpu", CTF_I32},  \
	}
#define TASK_FIELDS                                                                                \
	{                                                                                          \
		{"comm", CTF_NAME}, {"tid", CTF_I32}, {"prio", CTF_I32},                           \
	}
#define REQUEST_FIELDS                                                                             \
	{                                                                                          \
		{"dev", CTF_U32}, {"sector", CTF_U64}, {"nr_sector", CTF_U32}, {"bytes", CTF_U32}, \
			{"tid", CTF_I32}, {"rwbs", CTF_U32}, {"comm", CTF_NAME},                   \
	}

static const struct event events[] = {
	[CTF_SCHED_SWITCH] = {"sched_switch",
			      {{"prev_comm", CTF_NAME},
			       {"prev_tid", CTF_I32},
			       {"prev_prio", CTF_I32},
			       {"prev_state", CTF_I64},
			       {"next_comm", CTF_NAME},
			       {"next_tid", CTF_I32},
			       {"next_prio", CTF_I32}}},
	[CTF_SCHED_WAKING] = {"sched_waking", WAKE_FIELDS},
	[CTF_SCHED_WAKEUP] = {"sched_wakeup", WAKE_FIELDS},
	[CTF_SCHED_WAKEUP_NEW] = {"sched_wakeup_new", WAKE_FIELDS},
	[CTF_SCHED_FORK] = {"sched_process_fork",
			    {{"parent_comm", CTF_NAME},
			     {"parent_tid", CTF_I32},
			     {"parent_pid", CTF_I32},
			     {"parent_ns_inum", CTF_U32},
			     {"child_comm", CTF_NAME},
			     {"child_tid", CTF_I32},
			     {"child_pid", CTF_I32},
			     {"child_ns_inum", CTF_U32}}},
	[CTF_SCHED_EXIT] = {"sched_process_exit", TASK_FIELDS},
	[CTF_SCHED_FREE] = {"sched_process_free", TASK_FIELDS},
	[CTF_IRQ_ENTRY] = {"irq_handler_entry", {{"irq", CTF_I32}, {"name", CTF_TEXT}}},
	[CTF_IRQ_EXIT] = {"irq_handler_exit", {{"irq", CTF_I32}, {"ret", CTF_I32}}},
	[CTF_SOFTIRQ_ENTRY] = {"irq_softirq_entry", {{"vec", CTF_U32}}},
	[CTF_SOFTIRQ_EXIT] = {"irq_softirq_exit", {{"vec", CTF_U32}}},
	[CTF_TIMER_ENTRY] = {"timer_hrtimer_expire_entry",
			     {{"hrtimer", CTF_U64}, {"now", CTF_I64}, {"function", CTF_U64}}},
	[CTF_TIMER_EXIT] = {"timer_hrtimer_expire_exit", {{"hrtimer", CTF_U64}}},
	[CTF_IPI_ENTRY] = {"x86_irq_vectors_reschedule_entry", {{"vector", CTF_I32}}},
	[CTF_IPI_EXIT] = {"x86_irq_vectors_reschedule_exit", {{"vector", CTF_I32}}},
	[CTF_BLOCK_INSERT] = {"block_rq_insert", REQUEST_FIELDS},
	[CTF_BLOCK_ISSUE] = {"block_rq_issue", REQUEST_FIELDS},
	[CTF_BLOCK_COMPLETE] = {"block_rq_complete",
				{{"dev", CTF_U32},
				 {"sector", CTF_U64},
				 {"nr_sector", CTF_U32},
				 {"error", CTF_I32},
				 {"rwbs", CTF_U32}}},
	[CTF_STATEDUMP_START] = {"lttng_statedump_start", {}},
	[CTF_STATEDUMP_PROCESS] = {"lttng_statedump_process_state",
				   {{"tid", CTF_I32},
				    {"pid", CTF_I32},
				    {"ppid", CTF_I32},
				    {"name", CTF_NAME},
				    {"type", CTF_I32},
				    {"mode", CTF_I32},
				    {"submode", CTF_I32},
				    {"status", CTF_I32},
				    {"cpu", CTF_U32},
				    {"file_table_address", CTF_U64}}},
	[CTF_STATEDUMP_DISK] = {"lttng_statedump_block_device",
				{{"dev", CTF_U32}, {"diskname", CTF_TEXT}}},
	[CTF_STATEDUMP_END] = {"lttng_statedump_end", {}},
	[CTF_CLEW_WAIT] = {"clew_wait",
			   {{"tid", CTF_I32},
			    {"kind", CTF_TEXT},
			    {"object", CTF_TEXT},
			    {"call", CTF_TEXT},
			    {"holder", CTF_TEXT},
			    {"start", CTF_U64},
			    {"end", CTF_U64},
			    {"ended_by", CTF_TEXT},
			    {"context", CTF_TEXT},
			    {"evidence", CTF_TEXT},
			    {"blind", CTF_TEXT}}},
};

const struct ctf_field *ctf_fields(unsigned event)
{
	if (event < CTF_FIRST_CALL)
		return events[event].fields;
	return ctf_call_fields((event - CTF_FIRST_CALL) / 2, (event - CTF_FIRST_CALL) % 2);
}

static const char *meta(const struct ctf *it, const char *key)
{
	return clew_trace_meta(it->trace, key) ?: "";
}

/* The same capture always has the same identity. */
void ctf_identify(struct ctf *it)
{
	uint64_t parts[] = {clew_trace_start(it->trace), clew_trace_end(it->trace)};
	uint64_t hash = hash_text(hash_text(HASH_SEED, meta(it, "host")), meta(it, "kernel"));
	uint64_t halves[] = {hash_bytes(hash, parts, sizeof(parts)), 0};

	halves[1] = hash_mix(halves[0], parts[1]);
	memcpy(it->uuid, halves, sizeof(it->uuid));
	it->uuid[6] = (uint8_t)((it->uuid[6] & 0xfu) | UUID_VERSION);
	it->uuid[8] = (uint8_t)((it->uuid[8] & 0x3fu) | UUID_VARIANT);
}

static void print_uuid(FILE *out, const uint8_t *uuid)
{
	fputc('"', out);
	for (unsigned i = 0; i < CTF_UUID_SIZE; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	fputc('"', out);
}

/* A string in which nothing ends it or the line. */
static void print_string(FILE *out, const char *text)
{
	uint32_t character;

	fputc('"', out);
	while (*text) {
		size_t length = clew_utf8_length(text, &character);

		if (!length || character < 0x20 || character == 0x7f)
			fputs("\xef\xbf\xbd", out);
		else if (character == '"' || character == '\\')
			fprintf(out, "\\%c", (char)character);
		else
			fwrite(text, 1, length, out);
		text += length ?: 1;
	}
	fputc('"', out);
}

/* An entry of the environment. */
static void print_about(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\t%s = ", key);
	print_string(out, value);
	fputs(";\n", out);
}

static void print_trace(const struct ctf *it, FILE *out)
{
	fputs("/* CTF 1.8 */\n\n", out);
	for (unsigned size = 8; size <= 64; size *= 2)
		fprintf(out,
			"typealias integer { size = %u; align = 8; signed = false; } := uint%u_t;\n"
			"typealias integer { size = %u; align = 8; signed = true; } := int%u_t;\n",
			size, size, size, size);
	fputs("\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = ", out);
	print_uuid(out, it->uuid);
	fputs(";\n\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n"
	      "\t\tuint8_t  uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n\nenv {\n",
	      out);
	print_about(out, "hostname", meta(it, "host"));
	print_about(out, "domain", "kernel");
	print_about(out, "sysname", "Linux");
	print_about(out, "kernel_release", meta(it, "kernel"));
	print_about(out, "tracer_name", "lttng-modules");
	fputs("\ttracer_major = 2;\n\ttracer_minor = 13;\n\ttracer_patchlevel = 0;\n", out);
	print_about(out, "trace_name", "clew");
	fputs("};\n\n", out);
}

/* Times are of the monotonic clock; what it is behind the wall's is that of the first reading. */
static void print_clock(const struct ctf *it, FILE *out)
{
	const struct clew_capture_info *info = clew_trace_info(it->trace);
	const struct clew_clock *clock = info && info->clock_count ? &info->clocks[0] : NULL;
	uint64_t offset =
		clock && clock->wall > clock->monotonic ? clock->wall - clock->monotonic : 0;

	fprintf(out,
		"clock {\n\tname = \"monotonic\";\n\tdescription = \"Monotonic Clock\";\n"
		"\tfreq = 1000000000;\n\toffset = %" PRIu64 ";\n};\n\n",
		offset);
	for (unsigned size = 32; size <= 64; size *= 2)
		fprintf(out,
			"typealias integer {\n\tsize = %u; align = 8; signed = false;\n"
			"\tmap = clock.monotonic.value;\n} := uint%u_clock_monotonic_t;\n\n",
			size, size);
}

static void print_stream(FILE *out)
{
	fputs("struct packet_context {\n\tuint64_clock_monotonic_t timestamp_begin;\n"
	      "\tuint64_clock_monotonic_t timestamp_end;\n\tuint64_t content_size;\n"
	      "\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n"
	      "\tuint64_t events_discarded;\n\tuint32_t cpu_id;\n};\n\n"
	      "struct event_header_large {\n"
	      "\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
	      "\tvariant <id> {\n"
	      "\t\tstruct {\n\t\t\tuint32_clock_monotonic_t timestamp;\n\t\t} compact;\n"
	      "\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_monotonic_t timestamp;\n"
	      "\t\t} extended;\n\t} v;\n} align(8);\n\n"
	      "stream {\n\tid = 0;\n\tevent.header := struct event_header_large;\n"
	      "\tpacket.context := struct packet_context;\n};\n\n",
	      out);
}

/* As LTTng does, names of fields begin with an underscore that readers take away: without it some
 * would be words of the language. */
static void print_field(FILE *out, const struct ctf_field *field)
{
	static const char *const types[] = {[CTF_TEXT] = "string",
					    [CTF_I32] = "int32_t",
					    [CTF_U32] = "uint32_t",
					    [CTF_I64] = "int64_t",
					    [CTF_U64] = "uint64_t"};

	if (field->type == CTF_NAME)
		fprintf(out,
			"\t\tinteger { size = 8; align = 8; signed = false; encoding = UTF8; "
			"base = 10; } _%s[16];\n",
			field->name);
	else
		fprintf(out, "\t\t%s _%s;\n", types[field->type], field->name);
}

static void print_event(FILE *out, unsigned number, const char *prefix, const char *name)
{
	const struct ctf_field *field = ctf_fields(number);

	fprintf(out,
		"event {\n\tname = \"%s%s\";\n\tid = %u;\n\tstream_id = 0;\n"
		"\tfields := struct {\n",
		prefix, name, number);
	for (; field->type; field++)
		print_field(out, field);
	fputs("\t};\n};\n\n", out);
}

int ctf_metadata(const struct ctf *it)
{
	char *path;
	FILE *out;

	if (asprintf(&path, "%s/kernel/metadata", it->export->folder) < 0)
		return -ENOMEM;
	out = fopen(path, "we");
	free(path);
	if (!out)
		return -errno;
	print_trace(it, out);
	print_clock(it, out);
	print_stream(out);
	for (unsigned i = 0; i < CTF_FIRST_CALL; i++)
		print_event(out, i, "", events[i].name);
	for (unsigned i = 0; i < CTF_CALLS; i++) {
		if (!it->called[i])
			continue;
		print_event(out, CTF_FIRST_CALL + 2 * i, "syscall_entry_", clew_call_name(i));
		print_event(out, CTF_FIRST_CALL + 2 * i + 1, "syscall_exit_", clew_call_name(i));
	}
	errno = 0;
	return ferror(out) | fclose(out) ? -(errno ?: EIO) : 0;
}
