/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions as JSON. */
#include "answers/functions/probed.h"

#include "symbol/code/signature.h"

static const char *const classes[] = {
	[CLEW_PROBE_EMULATED] = "emulated",
	[CLEW_PROBE_NOP5] = "nop5",
	[CLEW_PROBE_STEPPED] = "stepped",
};

static const char *const ways[] = {
	[CLEW_RETURN_TRAMPOLINE] = "trampoline",
	[CLEW_RETURN_EXITS] = "exits",
	[CLEW_RETURN_NONE] = "entry",
};

static void write_texts(struct clew_json *json, const char *key, const char *const *texts,
			size_t count)
{
	clew_json_array(json, key);
	for (size_t i = 0; i < count; i++)
		clew_json_string(json, NULL, texts[i]);
	clew_json_array_end(json);
}

static void write_entry(struct clew_json *json, const struct clew_function_symbol *symbol)
{
	const struct clew_function_entry *entry = &symbol->entry;

	if (symbol->refused) {
		clew_json_null(json, "entry");
		return;
	}
	clew_json_object(json, "entry");
	clew_json_unsigned(json, "at", symbol->address + entry->slid);
	clew_json_string(json, "class", classes[entry->class]);
	clew_json_unsigned(json, "slid_bytes", entry->slid);
	clew_json_bool(json, "past_load", entry->past_load);
	clew_json_unsigned(json, "below", entry->below);
	clew_json_array(json, "arguments");
	for (unsigned i = 0; i < 6; i++)
		if (entry->arguments >> i & 1)
			clew_json_unsigned(json, NULL, i);
	clew_json_array_end(json);
	clew_json_object_end(json);
}

static void write_exits(struct clew_json *json, const struct clew_function_symbol *symbol)
{
	uint64_t returns = 0, conditional = 0, indirect = 0, stepped = 0;

	for (size_t i = 0; i < symbol->exit_count; i++) {
		returns += symbol->exits[i].kind == CLEW_EXIT_RET;
		conditional += symbol->exits[i].kind == CLEW_EXIT_CONDITIONAL;
		indirect += symbol->exits[i].kind == CLEW_EXIT_INDIRECT;
		stepped += symbol->exits[i].class == CLEW_PROBE_STEPPED;
	}
	clew_json_object(json, "exits");
	clew_json_unsigned(json, "ret", returns);
	clew_json_unsigned(json, "jump", symbol->exit_count - returns);
	clew_json_unsigned(json, "conditional", conditional);
	clew_json_unsigned(json, "indirect", indirect);
	clew_json_unsigned(json, "stepped", stepped);
	clew_json_object_end(json);
}

static void write_type(struct clew_json *json, const char *key, const struct clew_value_type *type,
		       bool argument)
{
	clew_json_object(json, key);
	if (argument)
		clew_json_string(json, "name", type->name);
	clew_json_string(json, "type", clew_value_type_word(type));
	if (argument)
		clew_json_known(json, "argument", type->refused ? UINT8_MAX : type->argument,
				UINT8_MAX);
	clew_json_string(json, "refused", type->refused);
	clew_json_object_end(json);
}

/* The lines of debugging information about the function. */
static void write_signature(struct clew_json *json, const struct clew_signature *signature)
{
	if (!signature) {
		clew_json_null(json, "parameters");
		clew_json_null(json, "result");
		clew_json_null(json, "inlined");
		return;
	}
	clew_json_array(json, "parameters");
	for (size_t i = 0; i < signature->count; i++)
		write_type(json, NULL, &signature->arguments[i], true);
	clew_json_array_end(json);
	if (signature->returns)
		write_type(json, "result", &signature->result, false);
	else
		clew_json_null(json, "result");
	clew_json_unsigned(json, "inlined", signature->inlined);
}

static void write_function(struct clew_json *json, const struct clew_function_symbol *symbol,
			   const struct clew_signature *signature,
			   const struct clew_probe_cost *cost)
{
	clew_json_object(json, NULL);
	clew_json_string(json, "name", symbol->name);
	clew_json_string(json, "demangled", symbol->demangled);
	write_texts(json, "versions", symbol->versions, symbol->version_count);
	write_texts(json, "aliases", symbol->aliases, symbol->alias_count);
	clew_json_unsigned(json, "address", symbol->address);
	clew_json_unsigned(json, "size", symbol->size);
	clew_json_unsigned(json, "parts", symbol->parts);
	write_entry(json, symbol);
	clew_json_string(json, "returns", symbol->refused ? NULL : ways[symbol->returns]);
	clew_json_string(json, "why", symbol->why);
	write_exits(json, symbol);
	clew_json_bool(json, "closed", symbol->closed);
	clew_json_bool(json, "recursive", symbol->recursive);
	if (symbol->refused)
		clew_json_null(json, "cost_ns");
	else
		clew_json_unsigned(json, "cost_ns", clew_function_call_cost(symbol, cost));
	clew_json_string(json, "refused", symbol->refused);
	write_texts(json, "variants", symbol->variants, symbol->variant_count);
	write_signature(json, signature);
	clew_json_object_end(json);
}

void clew_functions_write(struct clew_json *json, const struct clew_functions_shown *shown,
			  const struct clew_probe_cost *cost)
{
	char id[2 * CLEW_BUILD_ID_MOST + 1] = "";

	for (size_t i = 0; i < shown->about.build_id_size; i++)
		sprintf(id + 2 * i, "%02x", shown->about.build_id[i]);
	clew_json_object(json, "object");
	clew_json_string(json, "path", shown->path);
	clew_json_string(json, "build_id", *id ? id : NULL);
	clew_json_bool(json, "stripped", shown->about.stripped);
	clew_json_bool(json, "debug_names", shown->about.debug_names);
	clew_json_string(json, "returns", shown->returns);
	clew_json_string(json, "why", shown->why);
	clew_json_object_end(json);
	clew_json_array(json, "functions");
	for (size_t i = 0; i < shown->count; i++)
		write_function(json, shown->list[i], shown->signatures[i], cost);
	clew_json_array_end(json);
	clew_carried_write(json, shown);
	clew_function_cost_write(json, &shown->cost);
}

void clew_probe_cost_write(struct clew_json *json, const struct clew_probe_cost *cost)
{
	clew_json_object(json, "calibration");
	clew_json_unsigned(json, "emulated_ns", cost->emulated);
	clew_json_unsigned(json, "nop5_ns", cost->nop5);
	clew_json_unsigned(json, "stepped_ns", cost->stepped);
	clew_json_unsigned(json, "return_ns", cost->trampoline);
	clew_json_bool(json, "measured", cost->measured);
	clew_json_object_end(json);
}

void clew_function_cost_write(struct clew_json *json, const struct clew_function_cost *cost)
{
	clew_json_object(json, "cost");
	clew_json_unsigned(json, "exec_us", cost->exec_us);
	clew_json_unsigned(json, "process_kb", cost->process_kb);
	clew_json_unsigned(json, "probes", cost->probes);
	clew_json_object_end(json);
}
