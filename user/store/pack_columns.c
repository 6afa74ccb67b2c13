/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Residuals of a column in a packed stream, and the contexts of each. */
#include <string.h>

#include "store/columns.h"

#define STEPS 12		    /* for each number, see store_rest() */
#define NEW   0x8000000000000000ull /* set in the contexts of a RECENT column's new values */

struct view {
	const uint64_t *context, *reference; /* by row, or NULL */
	uint64_t before, before_that;	     /* residuals of the rows before */
};

static struct view view_of(const struct store_work *work, const struct store_job *job)
{
	const struct store_column *column = job->column;
	struct view view = {0};

	if (column->context != STORE_NONE)
		view.context = store_column_of(work, column->context);
	/*
	 * A residual near another number, such as a time, does not depend on
	 * that number: it is no context.
	 */
	if (column->reference != STORE_NONE && column->reference != job->number &&
	    column->coding != STORE_BEFORE && column->coding != STORE_NEAR)
		view.reference = store_column_of(work, column->reference);
	return view;
}

/* Long residuals are of one class if they have the same length. */
static inline uint64_t class_of(uint64_t residual)
{
	return residual < 256 ? residual : 320u - __builtin_clzll(residual);
}

static inline void contexts_of(const struct store_work *work, const struct view *view, uint32_t row,
			       uint64_t contexts[STORE_CONTEXTS])
{
	uint64_t left = class_of(work->left[row]), context = view->context ? view->context[row] : 0;
	uint64_t context_before = view->context && row ? view->context[row - 1] : 0;

	contexts[0] = 0;
	contexts[1] = view->before << 16 | view->before_that;
	contexts[2] = view->reference ? view->reference[row]
				      : context_before << 48 | view->before << 32 | left << 16;
	contexts[3] = context << 16 | left;
}

static inline void advance(struct view *view, uint64_t residual)
{
	view->before_that = view->before;
	view->before = class_of(residual);
}

static void keep_left(struct store_work *work, const struct store_job *job)
{
	if (job->count < job->rows)
		memset(work->left, 0, job->rows * sizeof(*work->left));
	for (size_t i = 0; i < job->count; i++)
		work->left[job->present[i]] = work->residuals[i];
}

int store_pack_residuals(struct store_work *work, const struct store_job *job,
			 struct store_pack *pack)
{
	bool recent = job->column->coding == STORE_RECENT;
	const uint64_t *extra = work->residuals + job->count;
	struct view view = view_of(work, job);
	int r = 0;

	store_pack_column(pack, job->count);
	for (size_t i = 0; i < job->count && r == 0; i++) {
		uint64_t contexts[STORE_CONTEXTS], residual = work->residuals[i];

		contexts_of(work, &view, job->present[i], contexts);
		r = store_pack_number(pack, contexts, residual);
		if (recent && !residual && r == 0) {
			for (unsigned j = 0; j < STORE_CONTEXTS; j++)
				contexts[j] ^= NEW;
			r = store_pack_number(pack, contexts, *extra++);
		}
		advance(&view, residual);
		store_rest(work, STEPS);
	}
	keep_left(work, job);
	return r;
}

int store_unpack_residuals(struct store_work *work, const struct store_job *job,
			   struct store_pack *pack, size_t *ret_extra)
{
	bool recent = job->column->coding == STORE_RECENT;
	uint64_t *extra = work->residuals + job->count;
	struct view view = view_of(work, job);

	store_pack_column(pack, job->count);
	for (size_t i = 0; i < job->count; i++) {
		uint64_t contexts[STORE_CONTEXTS], residual;

		contexts_of(work, &view, job->present[i], contexts);
		residual = work->residuals[i] = store_unpack_number(pack, contexts);
		if (recent && !residual) {
			for (unsigned j = 0; j < STORE_CONTEXTS; j++)
				contexts[j] ^= NEW;
			*extra++ = store_unpack_number(pack, contexts);
		}
		advance(&view, residual);
	}
	*ret_extra = extra - (work->residuals + job->count);
	keep_left(work, job);
	return 0;
}
