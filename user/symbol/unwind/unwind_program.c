/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs the programs of unwind information (DWARF 5, section 6.4.2), as far as the CFA, the frame
 * pointer and the return address need them. A rule that is not among those of maps/unwind.h becomes
 * NONE; so does the rest of a range whose program is not understood.
 */
#include "symbol/unwind/unwind_program.h"

#include <dwarf.h>
#include <string.h>

#include <clew/kernel/maps/unwind.h>

/* DWARF's numbers of registers: of the frame pointer, the stack pointer and, on arm64, of the
 * return address, which has no number elsewhere that a register has. */
#define REGISTER_RBP  6
#define REGISTER_RSP  7
#define REGISTER_X29  29
#define REGISTER_LINK 30
#define REGISTER_SP   31

#define STATES	   16 /* remembered at once */
#define OPCODE_LOW 0x3f
#define NONE	   CLEW_UNWIND_RULE(CLEW_UNWIND_NONE, 0, 0, 0)

/* The place of a caller's register. */
struct place {
	enum { PLACE_UNCHANGED, PLACE_AT_CFA, PLACE_UNDEFINED, PLACE_EXPRESSION, PLACE_OTHER } kind;
	int64_t offset;		 /* AT_CFA */
	const uint8_t *at, *end; /* EXPRESSION: the address */
};

struct registers {
	uint64_t cfa_register;
	int64_t cfa_offset;
	const uint8_t *cfa, *cfa_end; /* not NULL: an expression */
	struct place frame, back;     /* the frame pointer, the return address */
};

struct machine {
	const struct call_frame_range *range;
	const struct registers *initial; /* NULL: it is the program for them that runs */
	struct registers now, remembered[STATES];
	unsigned count; /* remembered */
	uint64_t address;
	int (*found)(void *context, uint64_t address, uint32_t rule); /* NULL: nobody asks */
	void *context;
	int r; /* what it returned last */
};

/* A CFA that is somewhere in memory, or depends on the place within an entry of .plt. */
static uint32_t expression_rule(const struct registers *now, unsigned saved)
{
	static const uint8_t plt_begin[] = {DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and},
			     plt_end[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	struct call_frame_cursor cursor = {.at = now->cfa, .end = now->cfa_end};
	uint64_t base = call_frame_fixed(&cursor, 1, false), add = 0;
	int64_t offset = call_frame_signed(&cursor);

	if (cursor.bad || (base != DW_OP_breg6 && base != DW_OP_breg7) || offset % 8 ||
	    offset / 8 < INT16_MIN || offset / 8 > INT16_MAX)
		return NONE;
	if (base == DW_OP_breg7 && offset == 8 &&
	    (size_t)(cursor.end - cursor.at) == sizeof(plt_begin) + 1 + sizeof(plt_end) &&
	    !memcmp(cursor.at, plt_begin, sizeof(plt_begin)) &&
	    !memcmp(cursor.end - sizeof(plt_end), plt_end, sizeof(plt_end)) &&
	    cursor.at[sizeof(plt_begin)] >= DW_OP_lit0 &&
	    cursor.at[sizeof(plt_begin)] <= DW_OP_lit15)
		return CLEW_UNWIND_RULE(CLEW_UNWIND_PLT, saved,
					cursor.at[sizeof(plt_begin)] - DW_OP_lit0, 0);
	if (call_frame_fixed(&cursor, 1, false) != DW_OP_deref)
		return NONE;
	if (!cursor.bad && cursor.at < cursor.end) {
		if (*cursor.at++ != DW_OP_plus_uconst)
			return NONE;
		add = call_frame_unsigned(&cursor);
	}
	if (cursor.bad || cursor.at != cursor.end || add % 8 || add / 8 > 31)
		return NONE;
	return CLEW_UNWIND_RULE(base == DW_OP_breg6 ? CLEW_UNWIND_AT_RBP : CLEW_UNWIND_AT_RSP,
				saved, offset / 8, add / 8);
}

/* Where the caller's rbp is, as a rule has it; -1: a rule cannot. */
static int saved_rbp(const struct place *place)
{
	static const uint8_t at_rbp[] = {DW_OP_breg6, 0};

	switch (place->kind) {
	case PLACE_UNCHANGED:
	case PLACE_UNDEFINED: /* nobody uses it further up */
		return 0;
	case PLACE_AT_CFA:
		return place->offset % 8 || place->offset > -8 || place->offset < -8 * 254
			       ? -1
			       : (int)(-place->offset / 8);
	case PLACE_EXPRESSION:
		return place->end - place->at == sizeof(at_rbp) &&
				       !memcmp(place->at, at_rbp, sizeof(at_rbp))
			       ? CLEW_UNWIND_SAVED_AT_RBP
			       : -1;
	default:
		return -1;
	}
}

static bool is_arm64(const struct machine *machine)
{
	return machine->range->common->return_register == REGISTER_LINK;
}

/* The rule for a place that is so far above the CFA; -1 words: there is none. `pair`: the return
 * address is above it, in place of there. */
static uint32_t arm64_rule_at(const struct registers *now, bool pair, int64_t place)
{
	enum clew_unwind_kind kind =
		now->cfa_register == REGISTER_SP ? CLEW_UNWIND_RSP : CLEW_UNWIND_RBP;
	int64_t on_base = now->cfa_offset + place;

	if (place % 8)
		return NONE;
	if (place < 0 && place >= -8 * UINT8_MAX)
		return CLEW_UNWIND_RULE(kind, -place / 8, now->cfa_offset / 8,
					pair ? CLEW_UNWIND_PAIR_BELOW_CFA
					     : CLEW_UNWIND_LINK_BELOW_CFA);
	if (on_base < 0 || on_base > 8 * UINT8_MAX)
		return NONE;
	return CLEW_UNWIND_RULE(kind, on_base / 8, now->cfa_offset / 8,
				pair ? CLEW_UNWIND_PAIR_ON_BASE : CLEW_UNWIND_LINK_ON_BASE);
}

static uint32_t arm64_rule(const struct registers *now)
{
	const struct place *frame = &now->frame, *back = &now->back;

	if (now->cfa || (now->cfa_register != REGISTER_SP && now->cfa_register != REGISTER_X29) ||
	    now->cfa_offset % 8 || now->cfa_offset / 8 < INT16_MIN ||
	    now->cfa_offset / 8 > INT16_MAX)
		return NONE;
	if (back->kind == PLACE_UNCHANGED && frame->kind == PLACE_UNCHANGED)
		return CLEW_UNWIND_RULE(now->cfa_register == REGISTER_SP ? CLEW_UNWIND_RSP
									 : CLEW_UNWIND_RBP,
					0, now->cfa_offset / 8, CLEW_UNWIND_IN_LINK);
	if (back->kind != PLACE_AT_CFA)
		return NONE;
	if (frame->kind == PLACE_UNCHANGED)
		return arm64_rule_at(now, false, back->offset);
	return frame->kind == PLACE_AT_CFA && back->offset == frame->offset + 8
		       ? arm64_rule_at(now, true, frame->offset)
		       : NONE;
}

static uint32_t rule_of(const struct machine *machine)
{
	const struct registers *now = &machine->now;
	int saved = saved_rbp(&now->frame);

	if (machine->range->common->is_signal)
		return CLEW_UNWIND_RULE(CLEW_UNWIND_SIGNAL, 0, 0, 0);
	if (now->back.kind == PLACE_UNDEFINED)
		return CLEW_UNWIND_RULE(CLEW_UNWIND_END, 0, 0, 0);
	if (is_arm64(machine))
		return arm64_rule(now);
	if (saved < 0 || now->back.kind != PLACE_AT_CFA || now->back.offset != -8)
		return NONE;
	if (now->cfa)
		return expression_rule(now, (unsigned)saved);
	if ((now->cfa_register != REGISTER_RSP && now->cfa_register != REGISTER_RBP) ||
	    now->cfa_offset % 8 || now->cfa_offset / 8 < INT16_MIN ||
	    now->cfa_offset / 8 > INT16_MAX)
		return NONE;
	return CLEW_UNWIND_RULE(now->cfa_register == REGISTER_RSP ? CLEW_UNWIND_RSP
								  : CLEW_UNWIND_RBP,
				saved, now->cfa_offset / 8, 0);
}

static uint64_t frame_register(const struct machine *machine)
{
	return is_arm64(machine) ? REGISTER_X29 : REGISTER_RBP;
}

static void set_place(struct machine *machine, uint64_t number, struct place place)
{
	if (number == frame_register(machine))
		machine->now.frame = place;
	else if (number == machine->range->common->return_register)
		machine->now.back = place;
}

static void restore(struct machine *machine, uint64_t number)
{
	if (machine->initial)
		set_place(machine, number,
			  number == frame_register(machine) ? machine->initial->frame
							    : machine->initial->back);
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->now.cfa = NULL;
	machine->now.cfa_register = number;
	machine->now.cfa_offset = offset;
}

static struct place take_expression(struct call_frame_cursor *cursor)
{
	struct place place = {.kind = PLACE_EXPRESSION};
	uint64_t size = call_frame_unsigned(cursor);

	place.at = call_frame_skip(cursor, size);
	place.end = place.at ? place.at + size : NULL;
	return place;
}

/* An offset in units of the range's factor. Nonsense may overflow. */
static int64_t scale(const struct machine *machine, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)machine->range->common->data_factor);
}

static struct place at_cfa(const struct machine *machine, uint64_t offset)
{
	return (struct place){.kind = PLACE_AT_CFA, .offset = scale(machine, offset)};
}

static bool advance(struct machine *machine, uint64_t steps)
{
	const struct call_frame_range *range = machine->range;
	uint64_t bytes, next;

	if (__builtin_mul_overflow(steps, range->common->code_factor, &bytes) ||
	    __builtin_add_overflow(machine->address, bytes, &next))
		return false;
	if (bytes && machine->found && machine->address - range->start < range->size)
		machine->r = machine->found(machine->context, machine->address, rule_of(machine));
	machine->address = next;
	return machine->r >= 0;
}

static bool remember(struct machine *machine)
{
	if (machine->count == STATES)
		return false;
	machine->remembered[machine->count++] = machine->now;
	return true;
}

static bool recall(struct machine *machine)
{
	if (!machine->count)
		return false;
	machine->now = machine->remembered[--machine->count];
	return true;
}

/* An instruction about one register. False: it is none. */
static bool run_register(struct machine *machine, struct call_frame_cursor *cursor, uint8_t opcode)
{
	uint64_t number;

	switch (opcode) {
	case DW_CFA_offset_extended:
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		break;
	default:
		return false;
	}
	number = call_frame_unsigned(cursor);
	if (opcode == DW_CFA_offset_extended) {
		set_place(machine, number, at_cfa(machine, call_frame_unsigned(cursor)));
	} else if (opcode == DW_CFA_offset_extended_sf) {
		set_place(machine, number, at_cfa(machine, (uint64_t)call_frame_signed(cursor)));
	} else if (opcode == DW_CFA_restore_extended) {
		restore(machine, number);
	} else if (opcode == DW_CFA_undefined) {
		set_place(machine, number, (struct place){.kind = PLACE_UNDEFINED});
	} else if (opcode == DW_CFA_same_value) {
		set_place(machine, number, (struct place){.kind = PLACE_UNCHANGED});
	} else if (opcode == DW_CFA_expression) {
		set_place(machine, number, take_expression(cursor));
	} else {
		if (opcode == DW_CFA_val_expression)
			take_expression(cursor);
		else
			call_frame_unsigned(cursor);
		set_place(machine, number, (struct place){.kind = PLACE_OTHER});
	}
	return true;
}

/* An instruction about the CFA. False: it is none. */
static bool run_cfa(struct machine *machine, struct call_frame_cursor *cursor, uint8_t opcode)
{
	struct registers *now = &machine->now;
	struct place place;
	uint64_t number;

	switch (opcode) {
	case DW_CFA_def_cfa:
		number = call_frame_unsigned(cursor);
		set_cfa(machine, number, (int64_t)call_frame_unsigned(cursor));
		return true;
	case DW_CFA_def_cfa_sf:
		number = call_frame_unsigned(cursor);
		set_cfa(machine, number, scale(machine, (uint64_t)call_frame_signed(cursor)));
		return true;
	case DW_CFA_def_cfa_register:
		set_cfa(machine, call_frame_unsigned(cursor), now->cfa_offset);
		return true;
	case DW_CFA_def_cfa_offset:
		now->cfa_offset = (int64_t)call_frame_unsigned(cursor);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		now->cfa_offset = scale(machine, (uint64_t)call_frame_signed(cursor));
		return true;
	case DW_CFA_def_cfa_expression:
		place = take_expression(cursor);
		now->cfa = place.at;
		now->cfa_end = place.end;
		return true;
	default:
		return false;
	}
}

/* An instruction whose operand is not in its own byte. False: it is not understood. */
static bool run_extended(struct machine *machine, struct call_frame_cursor *cursor, uint8_t opcode)
{
	switch (opcode) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
		return advance(machine, call_frame_fixed(cursor, 1, false));
	case DW_CFA_advance_loc2:
		return advance(machine, call_frame_fixed(cursor, 2, false));
	case DW_CFA_advance_loc4:
		return advance(machine, call_frame_fixed(cursor, 4, false));
	case DW_CFA_GNU_window_save: /* of arm64: the return address is signed from here on, or is
					not; signatures are always taken off */
		return machine->range->common->return_register == REGISTER_LINK;
	case DW_CFA_remember_state:
		return remember(machine);
	case DW_CFA_restore_state:
		return recall(machine);
	case DW_CFA_GNU_args_size:
		call_frame_unsigned(cursor);
		return true;
	default:
		return run_register(machine, cursor, opcode) || run_cfa(machine, cursor, opcode);
	}
}

/* False: something is not understood, or the taker wants no more. */
static bool run(struct machine *machine, const uint8_t *program, const uint8_t *end)
{
	struct call_frame_cursor cursor = {.at = program, .end = end};
	bool good = true;

	while (good && cursor.at < cursor.end) {
		uint8_t opcode = *cursor.at++, low = opcode & OPCODE_LOW;

		switch (opcode & ~OPCODE_LOW) {
		case DW_CFA_advance_loc:
			good = advance(machine, low);
			break;
		case DW_CFA_offset:
			set_place(machine, low, at_cfa(machine, call_frame_unsigned(&cursor)));
			break;
		case DW_CFA_restore:
			restore(machine, low);
			break;
		default:
			good = run_extended(machine, &cursor, opcode);
		}
	}
	return good && !cursor.bad;
}

int unwind_program_run(const struct call_frame_range *range,
		       int (*found)(void *context, uint64_t address, uint32_t rule), void *context)
{
	struct machine machine = {.range = range, .address = range->start};
	struct registers initial;
	bool good;

	if (!range->program || !run(&machine, range->common->program, range->common->program_end))
		return found(context, range->start, NONE);
	initial = machine.now;
	machine.initial = &initial;
	machine.count = 0;
	machine.address = range->start;
	machine.found = found;
	machine.context = context;
	good = run(&machine, range->program, range->program_end);
	if (machine.r < 0 || machine.address - range->start >= range->size)
		return machine.r;
	return found(context, machine.address, good ? rule_of(&machine) : NONE);
}
