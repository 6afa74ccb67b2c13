/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes programs' files: headers, symbols, versions, unwind tables, relocations, notes and
 * code. Whatever is in them: no crash; of a file that is taken every function lies in its
 * code, entry and exits lie in functions, and what is refused has a reason.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/functions/function_cost.h"
#include "symbol/code/closure.h"
#include "symbol/code/entry.h"
#include "symbol/code/function.h"
#include "symbol/code/probes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_function(const struct clew_function_symbol *symbol, size_t size)
{
	uint64_t last = 0;

	if (!symbol->name || !*symbol->name || !symbol->parts || !symbol->why)
		abort();
	if (symbol->refused)
		return;
	if (symbol->size > 4 * size + symbol->parts || symbol->entry.offset >= size ||
	    symbol->entry.offset != symbol->offset + symbol->entry.slid ||
	    symbol->entry.class > CLEW_PROBE_STEPPED)
		abort();
	if (symbol->returns == CLEW_RETURN_TRAMPOLINE && symbol->entry.below)
		abort();
	for (size_t i = 0; i < symbol->exit_count; i++) {
		const struct clew_function_exit *exit = &symbol->exits[i];

		if (exit->offset >= size || exit->offset < last || exit->kind > CLEW_EXIT_INDIRECT)
			abort();
		last = exit->offset;
	}
}

static void check_functions(struct clew_functions *functions, size_t size)
{
	const struct clew_function_symbol *const *found, *const *again;
	struct clew_function_cost cost;
	struct clew_functions_object about;
	size_t count, one;

	if (clew_functions_find(functions, NULL, &found, &count) < 0)
		abort();
	clew_functions_about(functions, &about);
	if (about.count != count || about.build_id_size > CLEW_BUILD_ID_MOST)
		abort();
	for (size_t i = 0; i < count; i++) {
		check_function(found[i], size);
		if (i && found[i]->address <= found[i - 1]->address)
			abort();
	}
	clew_function_cost(found, count, &cost);
	if (count && strcspn(found[0]->name, "*?[\\") == strlen(found[0]->name) &&
	    (clew_functions_find(functions, found[0]->name, &again, &one) < 0 || !one))
		abort();
	clew_functions_nearest(functions, "calls_otu");
	clew_functions_at(functions, size);
}

static int count_probe(void *context, const struct clew_probe *probe)
{
	struct clew_operand operands[CLEW_SITE_ARGUMENTS];

	clew_probe_arguments(probe, operands, CLEW_SITE_ARGUMENTS);
	*(size_t *)context += strlen(probe->provider) + strlen(probe->name);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int file = memfd_create("elf", MFD_CLOEXEC);
	struct clew_closure *closure;
	char why[CLEW_CLOSURE_WHY];
	struct clew_functions *functions;
	struct clew_entries *entries;
	struct clew_message message;
	size_t length = 0;
	int r;

	if (file < 0 || write(file, data, size) != (ssize_t)size)
		abort();
	r = clew_functions_open(file, "file", NULL, &functions, &message);
	if (r < 0 && (functions || strncmp(message.text, "file: ", strlen("file: ")) != 0))
		abort();
	if (r >= 0) {
		check_functions(functions, size);
		clew_functions_close(functions);
	}
	if (clew_entries_open(file, &entries) >= 0) {
		clew_entries_has(entries, size / 2);
		clew_entries_close(entries);
	}
	clew_probes_read(file, count_probe, &length);
	if (!clew_closure_new(&closure)) {
		clew_closure_file(closure, file, "file", why);
		clew_closure_free(closure);
	}
	close(file);
	return 0;
}
