/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* JSON and text of the columns of waits (columns.h): items are struct clew_sleep. */
#ifndef CLEW_ANSWERS_WAITS_INTERNAL_H
#define CLEW_ANSWERS_WAITS_INTERNAL_H

#include "answers/columns.h"

void wait_json_task(struct clew_json *json, const struct clew_column *column, struct clew_row *row);
void wait_json_object(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row);
void wait_json_holders(struct clew_json *json, const struct clew_column *column,
		       struct clew_row *row);
void wait_json_coming(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row);
void wait_json_ended_by(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row);
void wait_json_other_end(struct clew_json *json, const struct clew_column *column,
			 struct clew_row *row);
void wait_json_frozen(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row);
void wait_json_held_back(struct clew_json *json, const struct clew_column *column,
			 struct clew_row *row);
void wait_json_remote(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row);
void wait_json_tried(struct clew_json *json, const struct clew_column *column,
		     struct clew_row *row);
void wait_json_deadlock(struct clew_json *json, const struct clew_column *column,
			struct clew_row *row);
void wait_json_slices(struct clew_json *json, const struct clew_column *column,
		      struct clew_row *row);
void wait_json_vain(struct clew_json *json, const struct clew_column *column, struct clew_row *row);
void wait_json_stack(struct clew_json *json, const struct clew_column *column,
		     struct clew_row *row);

void wait_print_start(FILE *out, const struct clew_row *row);
void wait_print_ns(FILE *out, const struct clew_row *row);
void wait_print_kind(FILE *out, const struct clew_row *row);
void wait_print_task(FILE *out, const struct clew_row *row);
void wait_print_call(FILE *out, const struct clew_row *row);
void wait_print_object(FILE *out, const struct clew_row *row);
void wait_print_since(FILE *out, const struct clew_row *row);
void wait_print_holders(FILE *out, const struct clew_row *row);
void wait_print_end(FILE *out, const struct clew_row *row);
void wait_print_other_end(FILE *out, const struct clew_row *row);
void wait_print_remote(FILE *out, const struct clew_row *row);
void wait_print_tried(FILE *out, const struct clew_row *row);
void wait_print_deadlock(FILE *out, const struct clew_row *row);
void wait_print_slices(FILE *out, const struct clew_row *row);
void wait_print_blind(FILE *out, const struct clew_row *row);

#endif
