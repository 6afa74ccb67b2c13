/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps from function to function, and places within functions, found by decoding exactly the
 * ranges that a function consists of.
 */
#include "symbol/code/derive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "symbol/code/function_internal.h"
#include "symbol/code/site.h"

#define BEHIND_MOST 64 /* bytes behind a call that a probe may slide */

/* The function that begins at an address; NULL: none does. */
static const struct range *function_at(const struct clew_functions *functions, uint64_t address)
{
	uint32_t number = functions_range_at(functions, address);
	const struct range *range = number == NO_RANGE ? NULL : &ranges_of(functions)[number];

	return range && range->start == address && range->owner == number && range->size &&
			       !range->undecodable
		       ? range
		       : NULL;
}

/* An instruction, by a walk of a function's parts. */
struct visit {
	const struct clew_functions *functions;
	const struct range *range; /* the part */
	uint64_t address;
	const uint8_t *code;
	size_t size; /* bytes from there to the part's end */
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* `visit` returns 0 to go on, or what the walk returns. */
static int walk(const struct clew_functions *functions, const struct range *function,
		int (*take)(void *context, const struct visit *visit), void *context)
{
	struct visit visit = {.functions = functions};
	ZydisDecoder decoder;
	int r = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (const struct range *part = function; !r;
	     part = &ranges_of(functions)[part->next_part]) {
		const uint8_t *code = part->segment->bytes + (part->start - part->segment->address);

		visit.range = part;
		for (uint64_t at = 0; !r && at < part->size; at += visit.instruction.length) {
			visit.address = part->start + at;
			visit.code = code + at;
			visit.size = part->size - at;
			if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, visit.code, visit.size,
							       &visit.instruction, visit.operands)))
				return -ENOENT;
			r = take(context, &visit);
		}
		if (part->next_part == NO_RANGE)
			break;
	}
	return r;
}

/* The address of code that an instruction takes, 0: none. */
static uint64_t taken_by(const struct visit *visit)
{
	const ZydisDecodedInstruction *instruction = &visit->instruction;
	const ZydisDecodedOperand *source = &visit->operands[1];
	uint64_t address = 0;

	if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA && source->mem.base == ZYDIS_REGISTER_RIP &&
	    source->mem.index == ZYDIS_REGISTER_NONE)
		address = visit->address + instruction->length + (uint64_t)source->mem.disp.value;
	else if (instruction->mnemonic == ZYDIS_MNEMONIC_MOV &&
		 source->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && visit->operands[0].size >= 32)
		address = source->imm.value.u;
	return functions_segment_at(visit->functions, address) ? address : 0;
}

#define TAKEN_MOST 64

struct taken {
	uint64_t list[TAKEN_MOST];
	size_t count;
};

/* Also those where no function begins: else a changed one would let the next have its number. */
static int take_address(void *context, const struct visit *visit)
{
	struct taken *taken = context;
	uint64_t address = taken_by(visit);

	for (size_t i = 0; address && i < taken->count; i++)
		if (taken->list[i] == address)
			return 0;
	if (address && taken->count < TAKEN_MOST)
		taken->list[taken->count++] = address;
	return 0;
}

static int find_taken(const struct clew_functions *functions, const struct range *function,
		      struct taken *ret)
{
	ret->count = 0;
	return walk(functions, function, take_address, ret);
}

/* The N-th function that a function leads to by a kind of flow; CALLEE: without a name, and
 * taking addresses; then it has to be the only one. */
static const struct range *follow_flow(const struct clew_functions *functions,
				       const struct range *function, enum clew_derive_step step,
				       unsigned number)
{
	bool callee = step == CLEW_DERIVE_CALLEE, calls = callee || step == CLEW_DERIVE_CALL;
	const struct flow *flows = functions->flows.data;
	const struct range *ranges = ranges_of(functions), *found = NULL;
	unsigned count = 0;

	for (const struct range *part = function;; part = &ranges[part->next_part]) {
		for (uint32_t i = part->flow; i < part->flow + part->flow_count; i++) {
			const struct range *target;
			struct taken taken;

			if (flows[i].target == NO_RANGE || !flows[i].to_start ||
			    (calls ? flows[i].kind != FLOW_CALL
				   : flows[i].kind != FLOW_JUMP &&
					     flows[i].kind != FLOW_CONDITIONAL))
				continue;
			target = function_at(functions, ranges[flows[i].target].start);
			if (!target || target == function || target == found)
				continue;
			if (!callee) {
				if (count++ == number)
					return target;
				continue;
			}
			if (target->kind != RANGE_HIDDEN ||
			    find_taken(functions, target, &taken) < 0 || !taken.count)
				continue;
			if (found)
				return NULL;
			found = target;
		}
		if (part->next_part == NO_RANGE)
			return callee ? found : NULL;
	}
}

bool clew_derive_is_function(struct clew_functions *functions, uint64_t address)
{
	return function_at(functions, address);
}

int clew_derive_step(struct clew_functions *functions, enum clew_derive_step step, unsigned number,
		     uint64_t *address)
{
	const struct range *function = function_at(functions, *address), *found = NULL;
	struct taken taken;

	if (!function)
		return -ENOENT;
	if (step == CLEW_DERIVE_CODE) {
		if (find_taken(functions, function, &taken) >= 0 && number < taken.count)
			found = function_at(functions, taken.list[number]);
	} else {
		found = follow_flow(functions, function, step, number);
	}
	if (!found)
		return -ENOENT;
	*address = found->start;
	return 0;
}

/* ---- places ---- */

int clew_derive_entry(struct clew_functions *functions, uint64_t address, unsigned registers,
		      struct clew_derive_spot *ret, const char **ret_why)
{
	const struct range *function = function_at(functions, address);
	struct clew_function_entry entry;

	if (!function)
		return -ENOENT;
	functions->kept = registers;
	functions->twice = true;
	*ret_why = function_enter(functions, function, false, &entry);
	functions->kept = 0;
	functions->twice = false;
	if (*ret_why)
		return -ENOTSUP;
	*ret = (struct clew_derive_spot){
		.offset = entry.offset, .below = entry.below, .class = entry.class};
	return 0;
}

int clew_derive_exits(struct clew_functions *functions, uint64_t address,
		      struct clew_derive_spot **ret, size_t *ret_count, const char **ret_why)
{
	const struct range *function = function_at(functions, address);
	struct clew_function_symbol symbol = {};
	int r = function ? function_leave(functions, function, &symbol) : -ENOENT;

	*ret = NULL;
	*ret_count = 0;
	if (r < 0)
		return r;
	if (functions->go || symbol.endless || !symbol.exit_count ||
	    symbol.returns == CLEW_RETURN_NONE) {
		*ret_why = symbol.why;
		return -ENOTSUP;
	}
	*ret = calloc(symbol.exit_count, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < symbol.exit_count; i++)
		(*ret)[i] = (struct clew_derive_spot){.offset = symbol.exits[i].offset,
						      .class = symbol.exits[i].class,
						      .is_exit = true,
						      .exit = symbol.exits[i]};
	*ret_count = symbol.exit_count;
	return 0;
}

#define BEFORE_MOST 24 /* instructions before a call that are looked at */

/* An instruction before the call. */
struct before {
	uint64_t address, offset;
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[3];
	bool emulated;
};

struct call_search {
	unsigned left;	 /* calls to pass */
	bool direct;	 /* direct calls count, else indirect ones */
	uint64_t target; /* direct: those of that function; 0: all */
	bool behind;	 /* the place behind it is wanted */
	bool found;	 /* the call was met: this is behind it */
	unsigned registers;
	uint64_t from; /* of the place behind it */
	const char *why;
	struct clew_derive_spot *spot;
	bool has_spot; /* there is one, unless a better one follows */
	struct before before[BEFORE_MOST];
	size_t count; /* of instructions so far: the last ones are in `before` */
};

static int number_of(ZydisRegister reg)
{
	int number = (int)ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) -
		     ZYDIS_REGISTER_RAX;

	return number >= 0 && number < CLEW_DERIVE_REGISTERS ? number : -1;
}

/* Registers that a function has to leave as they are: bx, bp, r12 to r15. */
static bool is_kept(unsigned number)
{
	return number == 3 || number == 5 || number >= 12;
}

/* The value of a register before an instruction that writes it. False: it is not known. */
static bool value_before(const struct before *before, struct clew_derive_spot *spot,
			 unsigned wanted)
{
	const ZydisDecodedOperand *source = &before->operands[1];
	const ZydisDecodedInstruction *instruction = &before->instruction;
	int64_t add = spot->registers[wanted].add;
	int from = -1;

	if (before->operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    before->operands[0].size != 64 ||
	    number_of(before->operands[0].reg.value) != spot->registers[wanted].from)
		return false;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_MOV &&
	    source->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		from = number_of(source->reg.value);
	} else if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA &&
		   source->mem.index == ZYDIS_REGISTER_NONE) {
		from = number_of(source->mem.base);
		add += source->mem.disp.value;
	}
	if (from < 0 || add > INT16_MAX || add < INT16_MIN)
		return false;
	spot->registers[wanted].from = (uint8_t)from;
	spot->registers[wanted].add = (int32_t)add;
	return true;
}

static bool writes(const struct before *before, unsigned number)
{
	for (unsigned i = 0; i < before->instruction.operand_count && i < 3; i++)
		if (before->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    before->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    number_of(before->operands[i].reg.value) == (int)number)
			return true;
	return false;
}

/* Follows the registers that are wanted back over an instruction. False: one is lost there. */
static bool go_back(const struct call_search *search, const struct before *before,
		    struct clew_derive_spot *spot)
{
	bool is_call = before->instruction.meta.category == ZYDIS_CATEGORY_CALL;

	if (!is_call && before->instruction.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
		return false;
	/* More operands than are kept are hidden ones. */
	if (!is_call && before->instruction.operand_count > 3 &&
	    before->instruction.meta.category != ZYDIS_CATEGORY_BINARY &&
	    before->instruction.meta.category != ZYDIS_CATEGORY_LOGICAL)
		return false;
	for (unsigned i = 0; i < CLEW_DERIVE_REGISTERS; i++) {
		if (!(search->registers >> i & 1))
			continue;
		if (is_call ? !is_kept(spot->registers[i].from)
			    : writes(before, spot->registers[i].from) &&
				      !value_before(before, spot, i))
			return false;
	}
	return true;
}

/* Looks for a better place than the call that was just met. */
static void look_before(const struct call_search *search, const struct visit *visit)
{
	struct clew_derive_spot spot = {.class = CLEW_PROBE_EMULATED, .moved = true};
	uint64_t next = visit->address;

	for (unsigned i = 0; i < CLEW_DERIVE_REGISTERS; i++)
		spot.registers[i].from = (uint8_t)i;
	for (size_t i = search->count; i > 0 && search->count - i < BEFORE_MOST; i--) {
		const struct before *before = &search->before[(i - 1) % BEFORE_MOST];

		/* A jump that leads here does not come by. */
		if (before->address + before->instruction.length != next ||
		    functions_is_target(visit->range->segment, next) ||
		    !go_back(search, before, &spot))
			return;
		if (before->emulated) {
			spot.offset = before->offset;
			*search->spot = spot;
			return;
		}
		next = before->address;
	}
}

static void note_before(struct call_search *search, const struct visit *visit)
{
	struct before *before = &search->before[search->count++ % BEFORE_MOST];

	*before = (struct before){
		.address = visit->address,
		.offset = visit->address - visit->range->segment->address +
			  visit->range->segment->offset,
		.instruction = visit->instruction,
		.emulated = clew_site_kind(visit->code, visit->size) == CLEW_SITE_SAFE &&
			    clew_site_emulated(visit->code, visit->size,
					       visit->functions->options.long_nops_stepped),
	};
	memcpy(before->operands, visit->operands, sizeof(before->operands));
}

/* 1: no better place follows. */
static int take_spot(struct call_search *search, const struct visit *visit)
{
	const struct clew_functions *functions = visit->functions;
	enum clew_site_kind kind = clew_site_kind(visit->code, visit->size);
	bool emulated =
		clew_site_emulated(visit->code, visit->size, functions->options.long_nops_stepped);

	if (kind != CLEW_SITE_SAFE) {
		search->why = clew_site_word(kind);
		return search->has_spot ? 1 : 0;
	}
	if (!search->has_spot || emulated)
		*search->spot = (struct clew_derive_spot){
			.offset = visit->address - visit->range->segment->address +
				  visit->range->segment->offset,
			.class = emulated ? CLEW_PROBE_EMULATED : CLEW_PROBE_STEPPED,
		};
	search->has_spot = true;
	return emulated;
}

/* True if the place may be behind this instruction, too. */
static bool may_pass(const struct call_search *search, const struct visit *visit)
{
	const ZydisDecodedInstruction *instruction = &visit->instruction;

	if (instruction->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
	    instruction->mnemonic == ZYDIS_MNEMONIC_RET ||
	    instruction->mnemonic == ZYDIS_MNEMONIC_SYSCALL)
		return false;
	for (unsigned i = 0; i < instruction->operand_count; i++) {
		const ZydisDecodedOperand *operand = &visit->operands[i];
		int number;

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		number = number_of(operand->reg.value);
		if (number >= 0 && search->registers >> number & 1)
			return false;
	}
	return true;
}

/* True for a call of the kind that is looked for. */
static bool is_counted(const struct call_search *search, const struct visit *visit)
{
	const ZydisDecodedInstruction *instruction = &visit->instruction;

	return instruction->meta.category == ZYDIS_CATEGORY_CALL &&
	       instruction->raw.imm[0].is_relative == search->direct &&
	       (!search->target ||
		visit->address + instruction->length + (uint64_t)visit->operands[0].imm.value.s ==
			search->target);
}

static int search_call(void *context, const struct visit *visit)
{
	struct call_search *search = context;

	if (search->found) {
		if (visit->address != search->from &&
		    (functions_is_target(visit->range->segment, visit->address) ||
		     visit->address - search->from > BEHIND_MOST))
			return 1;
		return take_spot(search, visit) || !may_pass(search, visit);
	}
	if (!is_counted(search, visit) || search->left--) {
		note_before(search, visit);
		return 0;
	}
	search->found = true;
	search->from = visit->address + visit->instruction.length;
	if (search->behind)
		return 0;
	take_spot(search, visit);
	if (!search->has_spot || search->spot->class != CLEW_PROBE_EMULATED)
		look_before(search, visit);
	return 1;
}

int clew_derive_call(struct clew_functions *functions, uint64_t address, unsigned number,
		     bool direct, bool behind, unsigned registers, struct clew_derive_spot *ret,
		     const char **ret_why)
{
	const struct range *function = function_at(functions, address);
	struct call_search search = {.left = number,
				     .direct = direct,
				     .behind = behind,
				     .registers = registers,
				     .spot = ret};

	if (!function)
		return -ENOENT;
	walk(functions, function, search_call, &search);
	if (search.has_spot)
		return 0;
	*ret_why = search.why ?: "it has no such call";
	return search.why ? -ENOTSUP : -ENOENT;
}

/* True if a part of a function calls the function of that range. */
static bool calls(const struct clew_functions *functions, const struct range *function,
		  uint32_t target)
{
	const struct flow *flows = functions->flows.data;
	const struct range *ranges = ranges_of(functions);

	for (const struct range *part = function;; part = &ranges[part->next_part]) {
		for (uint32_t i = part->flow; i < part->flow + part->flow_count; i++)
			if (flows[i].kind == FLOW_CALL && flows[i].target == target &&
			    flows[i].to_start)
				return true;
		if (part->next_part == NO_RANGE)
			return false;
	}
}

/* Adds the places of a function's calls. */
static int add_calls(const struct clew_functions *functions, const struct range *function,
		     const struct call_search *wanted, struct vector *spots, const char **ret_why)
{
	for (unsigned number = 0;; number++) {
		struct clew_derive_spot spot;
		struct call_search search = *wanted;

		search.left = number;
		search.spot = &spot;
		walk(functions, function, search_call, &search);
		if (!search.found)
			return 0;
		if (!search.has_spot) {
			*ret_why = search.why ?: "nothing behind a call of it can be probed";
			return -ENOTSUP;
		}
		if (vector_reserve(spots, spots->count + 1) < 0)
			return -ENOMEM;
		((struct clew_derive_spot *)spots->data)[spots->count++] = spot;
	}
}

int clew_derive_callers(struct clew_functions *functions, uint64_t address, bool behind,
			unsigned registers, struct clew_derive_spot **ret, size_t *ret_count,
			const char **ret_why)
{
	const struct range *function = function_at(functions, address);
	const struct call_search wanted = {
		.direct = true, .target = address, .behind = behind, .registers = registers};
	struct vector spots = {.item = sizeof(struct clew_derive_spot)};
	uint32_t target = functions_range_at(functions, address);
	int r = function ? 0 : -ENOENT;

	for (size_t i = 0; r >= 0 && i < functions->ranges.count; i++) {
		const struct range *caller = &ranges_of(functions)[i];

		if (function_at(functions, caller->start) == caller &&
		    calls(functions, caller, target))
			r = add_calls(functions, caller, &wanted, &spots, ret_why);
	}
	if (r >= 0 && !spots.count) {
		*ret_why = "nothing calls it";
		r = -ENOTSUP;
	}
	if (r < 0)
		vector_done(&spots);
	*ret = r < 0 ? NULL : spots.data;
	*ret_count = r < 0 ? 0 : spots.count;
	return r;
}

/* ---- thunks ---- */

struct thunk {
	unsigned number; /* the register */
	bool fits;
};

static int take_thunk(void *context, const struct visit *visit)
{
	const ZydisDecodedInstruction *instruction = &visit->instruction;
	struct thunk *thunk = context;

	if (instruction->mnemonic == ZYDIS_MNEMONIC_ENDBR64)
		return 0;
	thunk->fits = instruction->mnemonic == ZYDIS_MNEMONIC_JMP &&
		      visit->operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		      number_of(visit->operands[0].reg.value) == (int)thunk->number;
	return 1;
}

int clew_derive_thunk(struct clew_functions *functions, unsigned number, uint64_t *ret_address)
{
	bool found = false;

	for (size_t i = 0; i < functions->ranges.count; i++) {
		const struct range *range = &ranges_of(functions)[i];
		struct thunk thunk = {.number = number};

		if (function_at(functions, range->start) != range)
			continue;
		walk(functions, range, take_thunk, &thunk);
		if (!thunk.fits)
			continue;
		if (found)
			return -EMLINK;
		*ret_address = range->start;
		found = true;
	}
	return found ? 0 : -ENOENT;
}
