/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The model and the range coder. A number is coded as binary decisions: whether
 * it is 0, how many bits it has, then its bits from the highest on. Each
 * decision has a slot in each context, which learns the probability of a 1; a
 * mixer, which learns too, combines these probabilities.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "store/pack.h"

#define SLOT_BITS     19 /* at most, of a column */
#define SLOT_BITS_MIN 8
#define TEXT_BITS     20 /* at most, of all texts */
#define TEXT_BITS_MIN 14
#define SLOTS_A_ROW   256
#define TEXT_COLUMN   4095 /* all text is one column */
#define STRETCH_MAX   2047
#define WEIGHT	      26214 /* at first; 65536 is one */
#define RATE	      3
#define COUNT_MAX     60
#define SHOWN_BITS    12 /* bits of a number below the highest that are modelled */
#define EXACT_BITS    8	 /* numbers of at most that many bits are modelled as a whole */
#define LOW_BITS      5	 /* lowest bits of larger numbers, which are modelled separately */
#define LOW_LINE      0x40000000u
#define SEEN_BITS     14
#define MATCH_BYTES   4 /* bytes of text that are searched for in earlier texts */
#define MATCH_LONG    31

struct slot {
	int16_t chance; /* of a 1, of 65536, less half of that: all is zero at first */
	uint16_t count; /* how often it was used */
};

struct mixer {
	int32_t weights[STORE_CONTEXTS];
};

struct store_pack {
	struct slot slots[1 << SLOT_BITS]; /* of the current column; 16 are a cache line */
	struct slot text_slots[1 << TEXT_BITS];
	struct mixer mixers[4]; /* of the current column */
	struct mixer text_mixers[3];
	unsigned line_shift, text_shift;
	struct slot *lines[STORE_CONTEXTS];
	unsigned column;
	uint32_t bases[STORE_CONTEXTS];

	/* the range coder */
	uint64_t low;
	uint32_t range;
	uint32_t code;
	uint8_t held;	/* a byte that a carry may still reach .. */
	size_t pending; /* .. with that many bytes of 0xff behind it, itself included */
	const uint8_t *from, *from_end;
	uint8_t *bytes;
	size_t size, capacity;
	bool failed; /* no memory for the bytes */

	uint8_t *texts; /* all texts so far, from position 1 on */
	size_t text_size, text_capacity;
	uint32_t seen[1 << SEEN_BITS]; /* position of what followed these bytes */

	int16_t stretched[4096];       /* by 2048 + the upper 12 bits of a slot's chance */
	uint16_t squashed[4096];       /* by 2048 + what was stretched */
	uint16_t rates[COUNT_MAX + 1]; /* how far a chance moves, of 65536 */
};

/* ---- tables ---- */

/* 65536 / (1 + e^-x) at x = -8, -7.5, ... 8 */
static const uint16_t logistic[33] = {
	22,    36,    60,    98,    162,   267,	  440,	 724,	1179,  1950,  3108,
	4971,  7812,  11955, 17625, 24743, 32768, 40793, 47911, 53581, 57724, 60565,
	62428, 63586, 64357, 64812, 65096, 65269, 65374, 65438, 65476, 65500, 65514,
};

static void make_tables(struct store_pack *pack)
{
	unsigned next = 0;

	for (int x = 0; x < 4096; x++) {
		unsigned from = logistic[x >> 7], to = logistic[(x >> 7) + 1];

		pack->squashed[x] = from + ((to - from) * (x & 127) >> 7);
	}
	/* The inverse: the first x that reaches the chance. */
	for (unsigned chance = 0; chance < 4096; chance++) {
		while (next < 4095 && (unsigned)pack->squashed[next] >> 4 < chance)
			next++;
		pack->stretched[chance] = (int)next - 2048;
	}
	for (unsigned count = 0; count <= COUNT_MAX; count++)
		pack->rates[count] = 655360 / (10 * count + 16);
}

int store_pack_new(struct store_pack **ret_pack)
{
	/* Zero, and at the start of a cache line. A short stream touches little of it. */
	struct store_pack *pack = mmap(NULL, sizeof(*pack), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pack == MAP_FAILED)
		return -ENOMEM;
	make_tables(pack);
	*ret_pack = pack;
	return 0;
}

void store_pack_free(struct store_pack *pack)
{
	if (!pack)
		return;
	free(pack->bytes);
	free(pack->texts);
	munmap(pack, sizeof(*pack));
}

static void begin_mixers(struct mixer *mixers, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < STORE_CONTEXTS; j++)
			mixers[i].weights[j] = WEIGHT;
}

/*
 * Resets the slots, as many as `rows` need. Returns by how much a hash is
 * shifted to become a line.
 */
static unsigned begin_slots(struct slot *slots, size_t rows, unsigned least, unsigned most)
{
	unsigned bits = least;

	while (bits < most && (size_t)1 << bits < rows * SLOTS_A_ROW)
		bits++;
	memset(slots, 0, sizeof(*slots) << bits);
	return 32 - (bits - 4);
}

static void begin(struct store_pack *pack, size_t rows)
{
	pack->text_shift = begin_slots(pack->text_slots, rows, TEXT_BITS_MIN, TEXT_BITS);
	begin_mixers(pack->text_mixers, 3);
	pack->column = 0;
	pack->text_size = 1;
	memset(pack->seen, 0, sizeof(pack->seen));
	pack->low = 0;
	pack->range = UINT32_MAX;
}

void store_pack_begin(struct store_pack *pack, size_t rows)
{
	begin(pack, rows);
	pack->size = 0;
	pack->held = 0;
	pack->pending = 0;
	pack->failed = false;
}

static uint8_t next_byte(struct store_pack *pack)
{
	return pack->from < pack->from_end ? *pack->from++ : 0;
}

void store_unpack_begin(struct store_pack *pack, size_t rows, const uint8_t *bytes, size_t size)
{
	begin(pack, rows);
	pack->from = bytes;
	pack->from_end = bytes + size;
	pack->code = 0;
	for (unsigned i = 0; i < 4; i++)
		pack->code = pack->code << 8 | next_byte(pack);
}

/* ---- the range coder ---- */

static void put_byte(struct store_pack *pack, uint8_t byte)
{
	if (pack->size == pack->capacity) {
		size_t capacity = pack->capacity ? 2 * pack->capacity : 4096;
		uint8_t *bigger = realloc(pack->bytes, capacity);

		if (!bigger) {
			pack->failed = true;
			return;
		}
		pack->bytes = bigger;
		pack->capacity = capacity;
	}
	pack->bytes[pack->size++] = byte;
}

/*
 * Emits the top byte of `low`, once it is known whether a carry will reach it.
 */
static void shift_low(struct store_pack *pack)
{
	uint8_t carry = pack->low >> 32;

	if ((uint32_t)pack->low < 0xff000000u || carry || !pack->pending) {
		for (; pack->pending; pack->pending--) {
			put_byte(pack, pack->held + carry);
			pack->held = 0xff;
		}
		pack->held = (uint8_t)(pack->low >> 24);
	}
	pack->pending++;
	pack->low = (uint32_t)pack->low << 8;
}

static void put_bit(struct store_pack *pack, bool bit, uint32_t chance)
{
	uint32_t bound = (pack->range >> 16) * chance;

	if (bit) {
		pack->range = bound;
	} else {
		pack->low += bound;
		pack->range -= bound;
	}
	for (; pack->range < 1u << 24; pack->range <<= 8)
		shift_low(pack);
}

static bool get_bit(struct store_pack *pack, uint32_t chance)
{
	uint32_t bound = (pack->range >> 16) * chance;
	bool bit = pack->code < bound;

	if (bit) {
		pack->range = bound;
	} else {
		pack->code -= bound;
		pack->range -= bound;
	}
	for (; pack->range < 1u << 24; pack->range <<= 8)
		pack->code = pack->code << 8 | next_byte(pack);
	return bit;
}

/* At most 8 bits, coded as random ones. */
static void put_plain(struct store_pack *pack, unsigned value, unsigned bits)
{
	pack->range >>= bits;
	pack->low += (uint64_t)pack->range * value;
	for (; pack->range < 1u << 24; pack->range <<= 8)
		shift_low(pack);
}

static unsigned get_plain(struct store_pack *pack, unsigned bits)
{
	uint32_t value;

	pack->range >>= bits;
	value = pack->code / pack->range;
	if (value >= 1u << bits)
		value = (1u << bits) - 1;
	pack->code -= value * pack->range;
	for (; pack->range < 1u << 24; pack->range <<= 8)
		pack->code = pack->code << 8 | next_byte(pack);
	return value;
}

/* ---- the model ---- */

/*
 * Finds the lines of 16 slots for the next decisions, one line for each
 * context.
 */
static inline void find_lines(struct store_pack *pack, struct slot *slots, unsigned shift,
			      uint32_t line)
{
	for (unsigned i = 0; i < STORE_CONTEXTS; i++) {
		uint32_t place = (pack->bases[i] + line * 0x9e3779b1u) * 0x85ebca6bu >> shift;

		pack->lines[i] = &slots[place << 4];
	}
}

static inline void find_number_lines(struct store_pack *pack, uint32_t line)
{
	find_lines(pack, pack->slots, pack->line_shift, line);
}

static inline void find_text_lines(struct store_pack *pack, uint32_t line)
{
	find_lines(pack, pack->text_slots, pack->text_shift, line);
}

/*
 * One decision, with the slot of this number in each line. `reading`: the bit
 * comes from the stream.
 */
static inline bool decide(struct store_pack *pack, bool reading, bool bit, struct mixer *mixer,
			  unsigned number)
{
	int32_t stretched[STORE_CONTEXTS], error;
	int64_t sum = 0;
	uint32_t chance;

	for (unsigned i = 0; i < STORE_CONTEXTS; i++) {
		stretched[i] = pack->stretched[2048 + (pack->lines[i][number].chance >> 4)];
		sum += (int64_t)mixer->weights[i] * stretched[i];
	}
	sum >>= 16;
	sum = sum > STRETCH_MAX ? STRETCH_MAX : sum < -STRETCH_MAX ? -STRETCH_MAX : sum;
	chance = pack->squashed[sum + 2048];

	if (reading)
		bit = get_bit(pack, chance);
	else
		put_bit(pack, bit, chance);

	error = (bit ? 65536 : 0) - (int32_t)chance;
	for (unsigned i = 0; i < STORE_CONTEXTS; i++) {
		struct slot *slot = &pack->lines[i][number];
		int32_t away = (bit ? 32767 : -32768) - slot->chance;

		mixer->weights[i] += (stretched[i] * error * RATE) >> 16;
		slot->chance += ((int64_t)away * pack->rates[slot->count]) >> 16;
		slot->count += slot->count < COUNT_MAX;
	}
	return bit;
}

/*
 * At most 4 bits, the highest first: a slot's number is a 1 followed by the
 * bits so far.
 */
static inline unsigned decide_bits(struct store_pack *pack, bool reading, unsigned value,
				   unsigned bits, struct mixer *mixer)
{
	unsigned number = 1;

	for (unsigned i = bits; i-- > 0;)
		number = number << 1 | decide(pack, reading, value >> i & 1, mixer, number);
	return number - (1u << bits);
}

void store_pack_column(struct store_pack *pack, size_t rows)
{
	pack->column++;
	pack->line_shift = begin_slots(pack->slots, rows, SLOT_BITS_MIN, SLOT_BITS);
	begin_mixers(pack->mixers, 4);
}

static void look(struct store_pack *pack, const uint64_t contexts[STORE_CONTEXTS])
{
	for (unsigned i = 0; i < STORE_CONTEXTS; i++) {
		uint64_t hash =
			(contexts[i] + (uint64_t)(pack->column * 8 + i) * 0x9e3779b97f4a7c15ull) *
			0xd6e8feb86659fd93ull;

		pack->bases[i] = (uint32_t)(hash >> 32);
	}
}

static inline uint64_t number(struct store_pack *pack, bool reading, uint64_t value)
{
	unsigned length = value ? 64 - __builtin_clzll(value) : 0, high, shown, left, low;

	find_number_lines(pack, 0);
	if (decide(pack, reading, !length, &pack->mixers[0], 0))
		return 0;
	high = decide_bits(pack, reading, (length - 1) >> 3, 3, &pack->mixers[1]);
	find_number_lines(pack, 1 + high);
	length =
		(high << 3 | decide_bits(pack, reading, (length - 1) & 7, 3, &pack->mixers[1])) + 1;
	left = length - 1;
	shown = left < SHOWN_BITS ? left : SHOWN_BITS;
	low = length > EXACT_BITS ? LOW_BITS : 0;
	if (shown + low > left)
		shown = left - low;
	if (reading)
		value = (uint64_t)1 << left;
	while (shown > 0) {
		unsigned bits = shown < 4 ? shown : 4;

		find_number_lines(pack, length << 13 | (uint32_t)(value >> left));
		left -= bits;
		shown -= bits;
		value |= (uint64_t)decide_bits(pack, reading, value >> left & ((1u << bits) - 1),
					       bits, &pack->mixers[2])
			 << left;
	}
	while (left > low) {
		unsigned bits = left - low < 8 ? left - low : 8;

		left -= bits;
		if (reading)
			value |= (uint64_t)get_plain(pack, bits) << left;
		else
			put_plain(pack, value >> left & ((1u << bits) - 1), bits);
	}
	/*
	 * Granularities of the clock and of addresses show in the lowest bits.
	 */
	if (low) {
		find_number_lines(pack, LOW_LINE);
		value |= (uint64_t)decide(pack, reading, value >> (LOW_BITS - 1) & 1,
					  &pack->mixers[3], 0)
			 << (LOW_BITS - 1);
		value |= decide_bits(pack, reading, value & ((1u << (LOW_BITS - 1)) - 1),
				     LOW_BITS - 1, &pack->mixers[3]);
	}
	return value;
}

int store_pack_number(struct store_pack *pack, const uint64_t contexts[STORE_CONTEXTS],
		      uint64_t value)
{
	look(pack, contexts);
	number(pack, false, value);
	return pack->failed ? -ENOMEM : 0;
}

uint64_t store_unpack_number(struct store_pack *pack, const uint64_t contexts[STORE_CONTEXTS])
{
	look(pack, contexts);
	return number(pack, true, 0);
}

static int text_reserve(struct store_pack *pack, size_t more)
{
	size_t need = pack->text_size + more;
	uint8_t *bigger;

	if (need <= pack->text_capacity)
		return 0;
	bigger = realloc(pack->texts, 2 * need);
	if (!bigger)
		return -ENOMEM;
	pack->texts = bigger;
	pack->text_capacity = 2 * need;
	return 0;
}

/*
 * A byte has as contexts the bytes before it in its text, and a guess: the byte
 * that followed them last time, in any text of the chunk.
 */
static inline int text(struct store_pack *pack, bool reading, uint64_t context, uint8_t *bytes,
		       size_t size)
{
	unsigned column = pack->column, length = 0;
	size_t match = 0; /* position of the guess, 0 none */
	uint64_t last = 0;
	int r;

	r = text_reserve(pack, size);
	if (r < 0)
		return r;
	pack->column = TEXT_COLUMN;
	for (size_t i = 0; i < size; i++) {
		struct mixer *mixer = &pack->text_mixers[length == 0 ? 0 : length < 16 ? 1 : 2];
		unsigned byte = reading ? 0 : bytes[i], high;
		uint64_t contexts[STORE_CONTEXTS] = {context << 24 ^ (last & 0xffffff), last & 0xff,
						     last & 0xffffffff};
		uint32_t *seen;

		if (match)
			contexts[3] = pack->texts[match] |
				      (length < MATCH_LONG ? length : MATCH_LONG) << 8;
		look(pack, contexts);
		find_text_lines(pack, 0);
		high = decide_bits(pack, reading, byte >> 4, 4, mixer);
		find_text_lines(pack, 1 + high);
		byte = high << 4 | decide_bits(pack, reading, byte & 15, 4, mixer);
		if (reading)
			bytes[i] = byte;

		if (match && pack->texts[match] == byte) {
			match++;
			length++;
		} else {
			match = length = 0;
		}
		pack->texts[pack->text_size++] = byte;
		last = last << 8 | byte;
		if (i + 1 < MATCH_BYTES)
			continue;
		seen = &pack->seen[(uint32_t)last * 0x9e3779b1u >> (32 - SEEN_BITS)];
		if (!match && *seen) {
			match = *seen;
			length = 1;
		}
		*seen = pack->text_size;
	}
	pack->column = column;
	return pack->failed ? -ENOMEM : 0;
}

int store_pack_text(struct store_pack *pack, uint64_t context, const uint8_t *bytes, size_t size)
{
	return text(pack, false, context, (uint8_t *)bytes, size);
}

int store_unpack_text(struct store_pack *pack, uint64_t context, uint8_t *bytes, size_t size)
{
	return text(pack, true, context, bytes, size);
}

size_t store_pack_size(const struct store_pack *pack)
{
	return pack->size + pack->pending;
}

int store_pack_end(struct store_pack *pack, const uint8_t **ret_bytes, size_t *ret_size)
{
	/*
	 * Among all equivalent values, the one with most zeros at its end, which
	 * can be left out.
	 */
	pack->low = (pack->low + 0xffffff) & ~0xffffffull;
	for (unsigned i = 0; i < 5; i++)
		shift_low(pack);
	while (pack->size && !pack->bytes[pack->size - 1])
		pack->size--;
	*ret_bytes = pack->bytes;
	*ret_size = pack->size;
	return pack->failed ? -ENOMEM : 0;
}
