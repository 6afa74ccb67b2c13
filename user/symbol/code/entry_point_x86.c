/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a function's entry is probed. A stepped probe costs twenty times one that the
 * kernel emulates, so the probe slides to the first instruction that is emulated, if
 * all before it always run, and write nothing but registers that no argument is in that
 * was asked for. Behind a load the page fault that it may end in is not in the function.
 *
 * A function of Go first compares its stack with what it needs. Where that is too small, it is
 * entered anew on a larger one: the probe is behind the comparison, which is passed once a call.
 */
#include <Zydis/Zydis.h>

#include "arch/registers.h"
#include "symbol/code/function_internal.h"
#include "symbol/code/site.h"

#define BELOW_MOST UINT16_MAX

struct walk {
	const struct clew_functions *functions;
	const struct range *range;
	ZydisDecoder decoder;
	bool past_load;
	bool all_endbr;	 /* nothing but endbr64 was passed */
	bool keep_stack; /* the return address has to be where the stack pointer points */
	uint32_t below;
	unsigned intact;  /* bits of arguments */
	unsigned written; /* bits of registers, by the machine's numbers */
};

/* The machine's number of a register, or of no general one. */
static int number_of(ZydisRegister reg)
{
	return (int)ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) -
	       ZYDIS_REGISTER_RAX;
}

static bool is_stack_pointer(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) ==
	       ZYDIS_REGISTER_RSP;
}

/* sub $N,%rsp or lea -N(%rsp),%rsp: the bytes, 0: it is neither. */
static uint32_t stack_taken(const ZydisDecodedInstruction *instruction,
			    const ZydisDecodedOperand *operands)
{
	int64_t bytes = 0;

	if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    operands[0].reg.value != ZYDIS_REGISTER_RSP)
		return 0;
	if (instruction->mnemonic == ZYDIS_MNEMONIC_SUB &&
	    operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		bytes = operands[1].imm.value.s;
	else if (instruction->mnemonic == ZYDIS_MNEMONIC_ADD &&
		 operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		bytes = -operands[1].imm.value.s;
	else if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA &&
		 operands[1].mem.base == ZYDIS_REGISTER_RSP &&
		 operands[1].mem.index == ZYDIS_REGISTER_NONE)
		bytes = -operands[1].mem.disp.value;
	return bytes > 0 && bytes <= BELOW_MOST ? (uint32_t)bytes : 0;
}

/* Instructions that compute and move, and can fail only where they load. */
static bool is_plain(const ZydisDecodedInstruction *instruction)
{
	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_MISC:
		return instruction->mnemonic == ZYDIS_MNEMONIC_LEA;
	case ZYDIS_CATEGORY_BINARY:
		return instruction->mnemonic != ZYDIS_MNEMONIC_DIV &&
		       instruction->mnemonic != ZYDIS_MNEMONIC_IDIV;
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_ROTATE:
	case ZYDIS_CATEGORY_CMOV:
	case ZYDIS_CATEGORY_SETCC:
	case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_CONVERT:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_CET:
	case ZYDIS_CATEGORY_SSE:
	case ZYDIS_CATEGORY_LOGICAL_FP:
	case ZYDIS_CATEGORY_AVX:
	case ZYDIS_CATEGORY_AVX2:
	case ZYDIS_CATEGORY_AVX512:
		return true;
	default:
		return false;
	}
}

/* Goes behind an instruction; false: no entry may be there. */
static bool pass(struct walk *walk, const ZydisDecodedInstruction *instruction,
		 const ZydisDecodedOperand *operands)
{
	uint32_t taken = stack_taken(instruction, operands);

	if (!is_plain(instruction))
		return false;
	walk->all_endbr &= instruction->mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	walk->below += taken;
	if (walk->below > BELOW_MOST || (walk->keep_stack && taken))
		return false;
	for (unsigned i = 0; i < instruction->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		int number, argument;

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN) {
			if (writes)
				return false;
			/* A thread's own block is always there. */
			walk->past_load |= operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ &&
					   operand->mem.segment != ZYDIS_REGISTER_FS;
		}
		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || !writes)
			continue;
		if (is_stack_pointer(operand->reg.value) && !taken)
			return false;
		number = number_of(operand->reg.value);
		if (number >= 0 && number < 16)
			walk->written |= 1u << number;
		argument = clew_register_argument(number);
		if (argument >= 0)
			walk->intact &= ~(1u << argument);
	}
	return !(walk->functions->options.arguments & ~walk->intact) &&
	       !(walk->functions->kept & walk->written) &&
	       !(walk->past_load && walk->functions->options.strict_entry);
}

static void set_entry(const struct walk *walk, uint64_t at, enum clew_probe_class class,
		      struct clew_function_entry *ret)
{
	*ret = (struct clew_function_entry){
		.offset = walk->range->start - walk->range->segment->address +
			  walk->range->segment->offset + at,
		.class = class,
		.past_load = walk->past_load,
		.slid = (uint16_t)at,
		.below = (uint16_t)walk->below,
		.arguments = (uint8_t)walk->intact,
	};
}

/* The class of a probe here; false: there may be none. */
static bool class_here(const struct walk *walk, const uint8_t *code, size_t size,
		       enum clew_probe_class *ret)
{
	enum clew_site_kind kind = clew_site_kind(code, size);
	bool stepped = walk->functions->options.long_nops_stepped;

	/* The kernel's replacement writes below the stack pointer, where nothing is yet. */
	if (kind == CLEW_SITE_NOP5 && walk->all_endbr) {
		*ret = stepped || !clew_site_is_nop(code, size) ? CLEW_PROBE_STEPPED
								: CLEW_PROBE_NOP5;
		return true;
	}
	*ret = clew_site_emulated(code, size, stepped) ? CLEW_PROBE_EMULATED : CLEW_PROBE_STEPPED;
	return kind == CLEW_SITE_SAFE;
}

/* True for what comes before the comparison: the stack pointer that is needed is computed. */
static bool is_go_need(const ZydisDecodedInstruction *instruction,
		       const ZydisDecodedOperand *operands)
{
	switch (instruction->mnemonic) {
	case ZYDIS_MNEMONIC_JB: /* no stack is as large */
		return true;
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_SUB:
		return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       (operands[0].reg.value == ZYDIS_REGISTER_R12 ||
			operands[0].reg.value == ZYDIS_REGISTER_R13);
	default:
		return false;
	}
}

/* cmp 0x10(%r14),REGISTER: with the end of the goroutine's stack, or that for code with little. */
static bool is_go_comparison(const ZydisDecodedInstruction *instruction,
			     const ZydisDecodedOperand *operands)
{
	return instruction->mnemonic == ZYDIS_MNEMONIC_CMP &&
	       operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       operands[1].mem.base == ZYDIS_REGISTER_R14 &&
	       operands[1].mem.index == ZYDIS_REGISTER_NONE &&
	       (operands[1].mem.disp.value == 0x10 || operands[1].mem.disp.value == 0x18);
}

/* The bytes of a function of Go before which it may be entered anew; 0: it has no comparison. */
static uint64_t go_stack_check(const struct walk *walk, const uint8_t *code)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	bool compared = false;

	for (uint64_t at = 0; at < walk->range->size; at += instruction.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&walk->decoder, code + at,
						       walk->range->size - at, &instruction,
						       operands)))
			return 0;
		if (compared)
			return instruction.mnemonic == ZYDIS_MNEMONIC_JBE ? at + instruction.length
									  : 0;
		compared = is_go_comparison(&instruction, operands);
		if (!compared && !is_go_need(&instruction, operands))
			return 0;
	}
	return 0;
}

const char *function_enter(const struct clew_functions *functions, const struct range *range,
			   bool keep_stack, struct clew_function_entry *ret)
{
	const uint8_t *code = range->segment->bytes + (range->start - range->segment->address);
	struct walk walk = {.functions = functions,
			    .range = range,
			    .all_endbr = true,
			    .keep_stack = keep_stack,
			    .intact = (1u << CLEW_REGISTER_ARGUMENTS) - 1};
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction instruction;
	uint64_t first = 0;
	bool found = false;

	ZydisDecoderInit(&walk.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (functions->go && !functions->twice)
		first = go_stack_check(&walk, code);
	walk.all_endbr = !first;
	for (uint64_t at = first; at < range->size && at <= UINT16_MAX; at += instruction.length) {
		enum clew_probe_class class;

		/* A jump to the start is an activation of its own. */
		if (at && functions_is_target(range->segment, range->start + at))
			break;
		if (class_here(&walk, code + at, range->size - at, &class)) {
			/* The first that may be probed at all, unless a better one follows. */
			if (!found || class != CLEW_PROBE_STEPPED)
				set_entry(&walk, at, class, ret);
			found = true;
			if (class != CLEW_PROBE_STEPPED)
				break;
		}
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&walk.decoder, code + at, range->size - at,
						       &instruction, operands)) ||
		    !pass(&walk, &instruction, operands))
			break;
	}
	return found ? NULL : clew_site_word(clew_site_kind(code, range->size));
}
