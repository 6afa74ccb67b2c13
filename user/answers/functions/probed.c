/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions as a person reads them: what a call would cost first, and what cannot be
 * probed last, by its reason.
 */
#include "answers/functions/probed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/style.h"
#include "format/text.h"
#include "format/wrap.h"
#include "symbol/code/signature.h"

#define NAMES_MOST 6 /* of functions that cannot be probed for one reason */

/* A function, and what a call of it costs. */
struct row {
	const struct clew_function_symbol *symbol;
	const struct clew_signature *signature;
	uint64_t cost;
};

static const struct {
	const char *word, *meaning;
} refusals[] = {
	{"vex", "begins with an AVX instruction, which the kernel would not run"},
	{"nop5", "begins with a nop that the kernel would turn into a call"},
	{"prefix", "begins with a prefix that the kernel refuses"},
	{"syscall", "begins with a system call, at which a probe ends the program"},
	{"int3", "begins with a breakpoint"},
	{"unknown", "begins with an instruction that is not known to be safe"},
	{"ifunc", "chooses another function when the program starts: probe that one"},
	{"go", "is a Go function: where its arguments are is not known"},
	{"no-range", "has no size"},
	{"undecodable", "has bytes that are no instructions"},
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (left->cost != right->cost)
		return left->cost > right->cost ? -1 : 1;
	return left->symbol->address < right->symbol->address ? -1 : 1;
}

static void print_name(FILE *out, const struct clew_function_symbol *symbol)
{
	clew_print_safe(out, symbol->demangled ?: symbol->name);
	if (symbol->version_count)
		fprintf(out, "%s@%s%s", clew_style_begin(CLEW_STYLE_QUIET), symbol->versions[0],
			clew_style_end(CLEW_STYLE_QUIET));
}

/* Arguments with the types that they can be read as; "?": they cannot. */
static void print_arguments(FILE *out, const struct clew_signature *signature)
{
	const char *result = signature->returns ? clew_value_type_word(&signature->result) : NULL;

	putc('(', out);
	for (size_t i = 0; i < signature->count; i++) {
		const struct clew_value_type *type = &signature->arguments[i];
		const char *word = clew_value_type_word(type);

		fputs(i ? ", " : "", out);
		clew_print_safe(out, type->name ?: "");
		fprintf(out, ":%s", word ?: "?");
	}
	putc(')', out);
	if (result)
		fprintf(out, " -> %s", result);
}

static void print_row(FILE *out, const struct row *row)
{
	static const char *const classes[] = {
		[CLEW_PROBE_EMULATED] = "emulated",
		[CLEW_PROBE_NOP5] = "nop",
		[CLEW_PROBE_STEPPED] = "stepped",
	};
	const struct clew_function_entry *entry = &row->symbol->entry;
	char place[40] = "", returns[32];

	if (entry->slid)
		snprintf(place, sizeof(place), " +%u%s", entry->slid,
			 entry->past_load ? ", past a load" : "");
	if (row->symbol->returns == CLEW_RETURN_TRAMPOLINE)
		snprintf(returns, sizeof(returns), "trampoline");
	else if (row->symbol->returns == CLEW_RETURN_NONE)
		snprintf(returns, sizeof(returns), "not seen");
	else
		snprintf(returns, sizeof(returns), "%zu exit%s", row->symbol->exit_count,
			 row->symbol->exit_count == 1 ? "" : "s");
	fprintf(out, "%11s  %-8s%-17s  %-10s  ", CLEW_DURATION(row->cost), classes[entry->class],
		place, returns);
	print_name(out, row->symbol);
	/* A name as it was written has types already. */
	if (row->signature && !row->symbol->demangled)
		print_arguments(out, row->signature);
	if (row->signature && row->signature->inlined)
		fprintf(out, ", inlined %ju time%s", (uintmax_t)row->signature->inlined,
			row->signature->inlined == 1 ? "" : "s");
	putc('\n', out);
}

/* Functions that cannot be probed, a line for each reason. */
static void print_refused(FILE *out, const struct clew_functions_shown *shown)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		size_t count = 0;

		for (size_t k = 0; k < shown->count; k++) {
			const struct clew_function_symbol *symbol = shown->list[k];

			if (!symbol->refused || strcmp(symbol->refused, refusals[i].word) != 0)
				continue;
			if (!count++)
				fprintf(out, "\nNot to be probed, as it %s:\n ",
					refusals[i].meaning);
			if (count > NAMES_MOST)
				continue;
			putc(' ', out);
			print_name(out, symbol);
			for (size_t n = 0; n < symbol->variant_count; n++)
				fprintf(out, "%s%s", n ? ", " : " (", symbol->variants[n]);
			fputs(symbol->variant_count ? ")" : "", out);
		}
		if (count > NAMES_MOST)
			fprintf(out, " and %zu more", count - NAMES_MOST);
		if (count)
			putc('\n', out);
	}
}

static void print_ways(FILE *out, const struct clew_functions_shown *shown)
{
	if (!strcmp(shown->returns, "all"))
		clew_print_folds(out,
				 "Returns are seen by the kernel's trampoline, unless a "
				 "function calls itself or does something with its return address: "
				 "%s.",
				 shown->why);
	else if (!strcmp(shown->returns, "closed"))
		clew_print_folds(out,
				 "Returns are seen by the kernel's trampoline where nothing that a "
				 "function calls can unwind the stack, else by a probe at each "
				 "exit: %s.",
				 shown->why);
	else if (!strcmp(shown->returns, "exits"))
		clew_print_folds(out, "Returns are seen by a probe at each exit: %s.", shown->why);
	else
		clew_print_folds(out, "Returns are not seen: %s.", shown->why);
}

static void print_object(FILE *out, const struct clew_functions_shown *shown, size_t probed)
{
	fputs(clew_style_begin(CLEW_STYLE_HEADING), out);
	clew_print_safe(out, shown->path);
	if (!shown->count && shown->carried.count) {
		fprintf(out, "%s: %zu probe%s that it carries\n",
			clew_style_end(CLEW_STYLE_HEADING), shown->carried.count,
			shown->carried.count == 1 ? "" : "s");
		return;
	}
	fprintf(out, "%s: %zu of its %zu functions asked for, %zu can be probed\n",
		clew_style_end(CLEW_STYLE_HEADING), shown->count, shown->about.count, probed);
	if (shown->about.debug_names)
		fputs("It is stripped: functions that it does not export have the names of its "
		      "debug file.\n",
		      out);
	else if (shown->about.stripped)
		fputs("It is stripped: only functions that it exports have names.\n", out);
}

int clew_functions_print(FILE *out, const struct clew_functions_shown *shown, bool ways,
			 const struct clew_probe_cost *cost)
{
	struct row *rows = calloc(shown->count + 1, sizeof(*rows));
	size_t probed = 0;
	bool inlined = false;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < shown->count; i++)
		if (!shown->list[i]->refused)
			rows[probed++] =
				(struct row){.symbol = shown->list[i],
					     .signature = shown->signatures[i],
					     .cost = clew_function_call_cost(shown->list[i], cost)};
	qsort(rows, probed, sizeof(*rows), compare_rows);
	print_object(out, shown, probed);
	if (ways)
		print_ways(out, shown);
	if (probed)
		fprintf(out, "\n%s%11s  %-25s  %-10s  %s%s\n", clew_style_begin(CLEW_STYLE_QUIET),
			"a call", "entry", "return", "function", clew_style_end(CLEW_STYLE_QUIET));
	for (size_t i = 0; i < probed; i++) {
		print_row(out, &rows[i]);
		inlined |= rows[i].signature && rows[i].signature->inlined;
	}
	if (inlined)
		fputs("\nInlined copies lie in other functions: these calls are not seen.\n", out);
	free(rows);
	print_refused(out, shown);
	return 0;
}

void clew_probe_cost_print(FILE *out, const struct clew_probe_cost *cost)
{
	clew_print_folds(
		out,
		"A probe takes %s at an instruction that the kernel emulates, %s at a nop of "
		"5 bytes, %s at one that it single-steps; the trampoline takes %s more%s.",
		CLEW_DURATION(cost->emulated), CLEW_DURATION(cost->nop5),
		CLEW_DURATION(cost->stepped), CLEW_DURATION(cost->trampoline),
		cost->measured ? ", on this machine"
			       : ": on another machine, as only root can measure it here");
}

void clew_function_cost_print(FILE *out, const struct clew_function_cost *cost)
{
	clew_print_folds(out,
			 "These are %ju probe%s. While they are there, each exec of a program that "
			 "maps the file takes about %s more, and each such process %s more memory.",
			 (uintmax_t)cost->probes, cost->probes == 1 ? "" : "s",
			 CLEW_DURATION(cost->exec_us * 1000), CLEW_BYTES(cost->process_kb * 1024));
}
