/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures how fast notation is read and written: makes a trace of so many lines as a capture's
 * looks (threads that wait, wake each other and call), reads it, writes it and reads
 * that, and says how much CPU time each took, as one JSON object.
 *
 * Usage: notation LINES
 */
#include <clew/notation.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

enum { THREADS = 256 };

/* The moment of a thread is never the same twice, so each line can be taken. */
static void make(FILE *out, unsigned lines)
{
	static const char *const kinds[] = {
		"futex", "read", "poll", "fsync object=\"file:/var/lib/data base/log\"", "sleep"};
	static unsigned long long clock[THREADS];
	unsigned long long end = 1000ull * lines;

	fputs("hierarchy processes\n", out);
	for (unsigned i = 0; i < THREADS; i++) {
		fprintf(out, "span worker-%u [0,%llu] in processes:server/pool\\ %u pid=%u\n",
			1000 + i, end, i % 16, i);
		clock[i] = i;
	}
	for (unsigned line = THREADS + 1, calls = 0; line < lines; line++) {
		unsigned a = pick(THREADS), b = pick(THREADS);
		unsigned long long from = clock[a] += 1000, to;

		switch (pick(16)) {
		case 0 ... 5:
			clock[a] += 500 + pick(400);
			fprintf(out, "wait worker-%u %llu..%llu %s\n", 1000 + a, from, clock[a],
				kinds[pick(5)]);
			break;
		case 6:
			clock[a] += 900;
			fprintf(out, "span worker-%u/query\\ %u [%llu,%llu]\n", 1000 + a, calls++,
				from, clock[a]);
			break;
		case 7 ... 8:
			fprintf(out, "mark worker-%u row@%llu\n", 1000 + a, from);
			break;
		default:
			to = clock[b] += 1000;
			fprintf(out, "dep unlock worker-%u@%llu -> worker-%u@%llu evidence=exact\n",
				1000 + a, from, 1000 + b, to);
		}
	}
	fputs("simplify\n", out);
}

static struct clew_model *load(const char *text, size_t length, double *ret_seconds)
{
	struct clew_model *model;
	char message[300];
	double begun = now();

	if (clew_notation_read(text, length, NULL, &model, message, sizeof(message)) < 0) {
		fprintf(stderr, "notation: %s\n", message);
		exit(3);
	}
	*ret_seconds = now() - begun;
	return model;
}

static size_t count_lines(const char *text, size_t length)
{
	size_t count = 0;

	for (const char *end = text + length; (text = memchr(text, '\n', (size_t)(end - text)));
	     text++)
		count++;
	return count;
}

int main(int argc, char **argv)
{
	char *text = NULL, *written = NULL, message[300];
	unsigned lines = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	double read_seconds, again_seconds, begun, write_seconds;
	size_t length, written_length;
	struct clew_model *model, *again;
	FILE *stream;

	if (lines <= THREADS) {
		fputs("Usage: notation LINES\n", stderr);
		return 2;
	}
	stream = open_memstream(&text, &length);
	if (!stream)
		return 3;
	make(stream, lines);
	fclose(stream);
	model = load(text, length, &read_seconds);
	stream = fopen("/dev/null", "we");
	if (!stream)
		return 3;
	begun = now();
	if (clew_notation_write(model, stream, message, sizeof(message)) < 0) {
		fprintf(stderr, "notation: %s\n", message);
		return 3;
	}
	write_seconds = now() - begun;
	fclose(stream);
	stream = open_memstream(&written, &written_length);
	if (!stream || clew_notation_write(model, stream, message, sizeof(message)) < 0)
		return 3;
	fclose(stream);
	again = load(written, written_length, &again_seconds);
	printf("{\"lines\":%zu,\"bytes\":%zu,\"read_seconds\":%.4f,\"written_lines\":%zu,\"write_"
	       "seconds\":%.4f,\"reread_seconds\":%.4f,"
	       "\"es\":%u,\"same\":%s}\n",
	       count_lines(text, length), length, read_seconds,
	       count_lines(written, written_length), write_seconds, again_seconds, model->es_count,
	       model->es_count == again->es_count &&
			       model->dependency_count == again->dependency_count
		       ? "true"
		       : "false");
	clew_model_free(model);
	clew_model_free(again);
	free(text);
	free(written);
	return 0;
}
