/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records with a live builder beside the capture file, then builds from the file, and
 * says what both found, as one JSON object: of each tag of findings how many there are
 * and the sum of their checksums, which does not depend on their order. Standard error says when
 * it is ready, which waits for a line of standard input, and when the recording is over.
 *
 * Usage: record_both CAPTURE SECONDS QUEUE_BYTES|0 [ROWS]
 * ROWS: the findings themselves go to ROWS.live and ROWS.file, a line each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "live/live.h"
#include "record/recorder.h"
#include "record/stream/kernel.h"
#include "store/capture.h"
#include "store/schema.h"

static const char *const tag_names[] = {"identity", "run",   "sleep", "ready",	 "edge",
					"request",  "below", "spin",  "pages",	 "touch",
					"stay",	    "tally", "frame", "entered", "served"};
_Static_assert(sizeof(tag_names) / sizeof(tag_names[0]) == CLEW_FINDING_COUNT, "a name for each");

/* ---- findings as text ---- */

struct row {
	char text[65536];
	size_t size;
};

struct found {
	uint64_t count[CLEW_FINDING_COUNT];
	uint64_t sum[CLEW_FINDING_COUNT];
	FILE *rows; /* NULL: not wanted */
	struct row row;
};

static void add_byte(struct row *row, char byte)
{
	if (row->size == sizeof(row->text)) {
		fprintf(stderr, "record_both: a finding is larger than a row\n");
		exit(3);
	}
	row->text[row->size++] = byte;
}

/* In hexadecimal, and not by printf, which the live thread would be too slow with. */
static void add_number(struct row *row, uint64_t number)
{
	int shift = 60;

	add_byte(row, ' ');
	while (shift && !(number >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		add_byte(row, "0123456789abcdef"[number >> shift & 15]);
}

static void add_name(struct row *row, const char *name)
{
	add_byte(row, ' ');
	for (size_t i = 0; i < CLEW_COMM_SIZE && name[i]; i++)
		add_byte(row, name[i]);
}

#define ADD(...)                                                                                   \
	do {                                                                                       \
		const uint64_t numbers_[] = {__VA_ARGS__};                                         \
                                                                                                   \
		for (size_t i_ = 0; i_ < sizeof(numbers_) / sizeof(numbers_[0]); i_++)             \
			add_number(row, numbers_[i_]);                                             \
	} while (0)

static void add_object(struct row *row, const struct clew_object *object)
{
	ADD(object->number, object->device, (uint32_t)object->descriptor, object->kind,
	    object->futex_operation, object->shared);
}

static void add_links(struct row *row, const struct clew_link *links, size_t count)
{
	add_number(row, count);
	for (size_t i = 0; i < count; i++)
		ADD(links[i].at, links[i].begin, links[i].end, links[i].number, links[i].task,
		    links[i].worker, links[i].device, links[i].kind, links[i].flags,
		    links[i].evidence);
}

static void add_identity(struct row *row, const struct clew_header *record)
{
	const uint8_t *bytes = (const uint8_t *)record;
	size_t size = store_record_size(record, SIZE_MAX);

	ADD(record->time, record->cpu, record->kind, record->flags);
	for (size_t i = sizeof(*record); i < size; i++)
		add_number(row, bytes[i]);
}

static void add_sleep(struct row *row, const struct clew_sleep *sleep)
{
	ADD(sleep->start, sleep->end, sleep->raw_end, sleep->switch_in, sleep->task,
	    sleep->ended_by, sleep->call_id, sleep->call, sleep->kind, sleep->context, sleep->open,
	    sleep->flags, (uint8_t)sleep->edge_type, sleep->edge_evidence, sleep->from,
	    sleep->from_at, sleep->blind, sleep->operation, sleep->poller, sleep->number);
	add_object(row, &sleep->object);
	add_number(row, sleep->holder_count);
	for (size_t i = 0; i < sleep->holder_count; i++)
		ADD(sleep->holders[i].task, sleep->holders[i].evidence, sleep->holders[i].barged,
		    sleep->holders[i].from, sleep->holders[i].to);
	add_number(row, sleep->link_count);
	add_links(row, sleep->links, (size_t)sleep->link_count + sleep->and_count);
}

static void add_edge(struct row *row, const struct clew_edge *edge)
{
	ADD(edge->from_at, edge->to_at, edge->from, edge->to, edge->type, edge->evidence,
	    edge->context, edge->operation, edge->ends_sleep, edge->choice, edge->weight,
	    edge->own);
	add_object(row, &edge->object);
	add_number(row, edge->link_count);
	add_links(row, edge->links, (size_t)edge->link_count + edge->and_count);
	add_name(row, edge->from_comm);
	add_name(row, edge->to_comm);
}

static void add_request(struct row *row, const struct clew_block_request *request)
{
	ADD(request->sector, request->queued, request->issued, request->completed, request->reused,
	    request->inode, request->index, request->number, request->bytes, request->device,
	    request->operation, request->file_device, request->submitter, request->reason_task,
	    request->reason, request->swap);
}

static void add_pages(struct row *row, const struct clew_page_extent *pages)
{
	ADD(pages->inode, pages->offset, pages->bytes, pages->sector, pages->dirtied,
	    pages->writer_count, pages->later_count, pages->request, pages->device, pages->evidence,
	    pages->known);
	for (size_t i = 0; i < pages->writer_count; i++)
		add_number(row, pages->writers[i]);
}

static void add_finding(struct row *row, struct clew_finding finding)
{
	const struct clew_touch *touch = finding.touch;
	const struct clew_spin *spin = finding.spin;
	const struct clew_stay *stay = finding.stay;
	const struct clew_tally *tally = finding.tally;
	const struct clew_frame *frame = finding.frame;
	const struct clew_run *run = finding.run;

	switch (finding.tag) {
	case CLEW_FINDING_IDENTITY:
		add_identity(row, finding.identity);
		break;
	case CLEW_FINDING_RUN:
		ADD(run->start, run->end, run->task, run->cpu, run->ended, run->open_start);
		break;
	case CLEW_FINDING_SLEEP:
		add_sleep(row, finding.sleep);
		break;
	case CLEW_FINDING_READY:
		ADD(finding.ready->start, finding.ready->end, finding.ready->task);
		break;
	case CLEW_FINDING_EDGE:
		add_edge(row, finding.edge);
		break;
	case CLEW_FINDING_REQUEST:
	case CLEW_FINDING_SERVED:
		add_request(row, finding.request);
		break;
	case CLEW_FINDING_BELOW:
		ADD(finding.below->upper, finding.below->lower);
		break;
	case CLEW_FINDING_SPIN:
		ADD(spin->start, spin->end, spin->lock, spin->task, spin->holder, spin->type);
		break;
	case CLEW_FINDING_PAGES:
		add_pages(row, finding.pages);
		break;
	case CLEW_FINDING_TOUCH:
		ADD(touch->begin, touch->end, touch->inode, touch->offset, touch->bytes,
		    touch->device, touch->task, touch->event);
		break;
	case CLEW_FINDING_STAY:
		ADD(stay->start, stay->end, stay->task, stay->call, stay->reason, stay->evidence);
		break;
	case CLEW_FINDING_TALLY:
		ADD(tally->start, tally->end, tally->task, tally->what, tally->number);
		break;
	case CLEW_FINDING_FRAME:
	case CLEW_FINDING_ENTERED:
		ADD(frame->start, frame->end, frame->self, frame->probe, frame->task,
		    frame->end_task, frame->function, frame->number, frame->parent, frame->depth,
		    frame->closed, frame->flags, frame->values_size, frame->returned_size,
		    frame->unread);
		break;
	case CLEW_FINDING_COUNT:
		break;
	}
}

static int take_finding(void *context, struct clew_finding finding)
{
	struct found *found = context;
	uint64_t sum = 0xcbf29ce484222325ull;

	found->row.size = 0;
	add_finding(&found->row, finding);
	for (size_t i = 0; i < found->row.size; i++)
		sum = (sum ^ (uint8_t)found->row.text[i]) * 0x100000001b3ull;
	found->count[finding.tag]++;
	found->sum[finding.tag] += sum;
	if (found->rows)
		fprintf(found->rows, "%s%.*s\n", tag_names[finding.tag], (int)found->row.size,
			found->row.text);
	return 0;
}

static struct clew_finding_taker taker_of(struct found *found)
{
	return (struct clew_finding_taker){
		.wants = CLEW_FINDINGS_ALL, .take = take_finding, .context = found};
}

static void print_found(const char *name, const struct found *found)
{
	printf("\"%s\":{", name);
	for (unsigned tag = 0; tag < CLEW_FINDING_COUNT; tag++)
		printf("%s\"%s\":[%" PRIu64 ",\"%" PRIx64 "\"]", tag ? "," : "", tag_names[tag],
		       found->count[tag], found->sum[tag]);
	printf("}");
}

/* ---- the two ways ---- */

static int fail(const char *what, int error, const char *message)
{
	fprintf(stderr, "record_both: %s: %s\n", what,
		message && message[0] ? message : strerror(-error));
	return 3;
}

static int record(const char *path, double seconds, size_t queue_size, struct found *found)
{
	struct clew_finding_taker findings = taker_of(found);
	struct clew_live_options live_options = {.size = sizeof(live_options),
						 .cpus = clew_kernel_cpus(),
						 .queue_size = queue_size,
						 .takers = &findings,
						 .taker_count = 1};
	struct clew_record_taker records;
	struct clew_recorder_options options = {
		.output = path, .takers = &records, .taker_count = 1};
	const struct timespec tick = {.tv_nsec = 100000000};
	struct clew_recorder_summary summary;
	struct clew_live_summary live_summary;
	struct clew_recorder *recorder;
	struct clew_message message;
	struct clew_live *live;
	int r;

	r = clew_live_new(&live_options, &live);
	if (r < 0)
		return fail("live builder", r, NULL);
	records = clew_live_taker(live);
	r = clew_recorder_open(&options, &recorder, &message);
	if (r < 0)
		return fail("open", r, message.text);
	fputs("ready\n", stderr);
	getchar();
	r = clew_recorder_start(recorder, &message);
	if (r == 0)
		r = clew_recorder_keep(recorder, &message);
	for (double at = 0; r == 0 && at < seconds; at += 0.1) {
		nanosleep(&tick, NULL);
		r = clew_recorder_tick(recorder);
	}
	if (r < 0)
		return fail("recording", r, NULL);
	r = clew_recorder_stop(recorder, &summary, &message);
	if (r < 0)
		return fail("stop", r, message.text);
	fputs("recorded\n", stderr);
	r = clew_live_finish(live, &live_summary);
	clew_live_free(live);
	if (r < 0)
		return fail("live builder", r, NULL);
	printf("\"records\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"balanced\":%s,\"fed\":%" PRIu64
	       ",\"missed\":%" PRIu64 ",\"late\":%" PRIu64 ",",
	       summary.records, summary.lost, summary.balanced ? "true" : "false",
	       live_summary.records, live_summary.missed, live_summary.late);
	return 0;
}

static int build_from_file(const char *path, struct found *found)
{
	struct clew_builder_options options = {.size = sizeof(options)};
	struct clew_finding_taker findings = taker_of(found);
	const struct clew_header *header;
	struct clew_builder *builder;
	struct clew_reader *reader;
	char message[256] = "";
	uint64_t count = 0;
	int r;

	r = clew_reader_open(path, &reader, message, sizeof(message));
	if (r < 0)
		return fail("capture", r, message);
	options.start = clew_reader_info(reader)->start;
	r = clew_builder_new(&options, &findings, 1, &builder);
	if (r < 0)
		return fail("builder", r, NULL);
	while (r >= 0 && (r = clew_reader_next(reader, &header)) > 0) {
		count++;
		r = clew_builder_feed(builder, header);
	}
	if (r >= 0)
		r = clew_builder_finish(builder, clew_reader_info(reader)->end);
	clew_builder_free(builder);
	clew_reader_close(reader);
	if (r < 0)
		return fail("build", r, NULL);
	printf("\"read\":%" PRIu64 ",", count);
	return 0;
}

static FILE *open_rows(const char *path, const char *name)
{
	char whole[4096];

	snprintf(whole, sizeof(whole), "%s.%s", path, name);
	return fopen(whole, "we");
}

int main(int argc, char **argv)
{
	static struct found live, file;
	int r;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "Usage: record_both CAPTURE SECONDS QUEUE_BYTES|0 [ROWS]\n");
		return 2;
	}
	if (argc == 5) {
		live.rows = open_rows(argv[4], "live");
		file.rows = open_rows(argv[4], "file");
		if (!live.rows || !file.rows)
			return fail(argv[4], -errno, NULL);
	}
	printf("{");
	r = record(argv[1], atof(argv[2]), strtoul(argv[3], NULL, 10), &live);
	if (r == 0)
		r = build_from_file(argv[1], &file);
	if (r)
		return r;
	print_found("live", &live);
	printf(",");
	print_found("file", &file);
	printf("}\n");
	if (live.rows)
		return fclose(live.rows) || fclose(file.rows) ? fail(argv[4], -errno, NULL) : 0;
	return 0;
}
