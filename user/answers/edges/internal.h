/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures and functions that the files about dependencies share. */
#ifndef CLEW_ANSWERS_EDGES_INTERNAL_H
#define CLEW_ANSWERS_EDGES_INTERNAL_H

#include <stdio.h>

#include "answers/edges/edges.h"

/* A group as a row, which is that of its first edge. */
struct edge_row {
	struct edge_words *words;
	const struct edge_group *group;
};

struct edge_end {
	uint32_t serial;
	uint64_t at;
	char comm[CLEW_COMM_SIZE + 1]; /* as of that moment */
};

struct edge_end edge_destination(const struct clew_edge *edge);
/* Origin i: first the edge's own, then those of the other requests that had to complete. */
struct edge_end edge_origin(const struct clew_trace *trace, const struct clew_edge *edge, size_t i);
size_t edge_origin_count(const struct clew_edge *edge);
void edge_json_end(struct clew_json *json, const struct clew_trace *trace,
		   const struct edge_end *end);
void edge_print_end(FILE *out, const struct clew_trace *trace, const struct edge_end *end);

void edge_json_from(struct clew_json *json, const struct clew_column *column, struct clew_row *row);
void edge_json_to(struct clew_json *json, const struct clew_column *column, struct clew_row *row);
void edge_json_object(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row);
void edge_json_candidates(struct clew_json *json, const struct clew_column *column,
			  struct clew_row *row);
void edge_json_relation_word(struct clew_json *json, const struct clew_column *column,
			     struct clew_row *row);
void edge_json_bridged(struct clew_json *json, const struct clew_column *column,
		       struct clew_row *row);
void edge_json_description(struct clew_json *json, const struct clew_column *column,
			   struct clew_row *row);
void edge_json_stack(struct clew_json *json, const struct clew_column *column,
		     struct clew_row *row);

void edge_print_time(FILE *out, const struct clew_row *row);
void edge_print_type(FILE *out, const struct clew_row *row);
void edge_print_from(FILE *out, const struct clew_row *row);
void edge_print_to(FILE *out, const struct clew_row *row);
void edge_print_object(FILE *out, const struct clew_row *row);
void edge_print_evidence(FILE *out, const struct clew_row *row);

#endif
