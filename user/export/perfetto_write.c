/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets, their times on the boot clock, and the strings that they refer to by number. */
#include "export/perfetto.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

uint64_t perfetto_time(const struct perfetto *it, uint64_t at)
{
	const struct perfetto_shift *shifts = it->shifts.data;
	size_t i = it->shifts.count;

	while (i > 1 && shifts[i - 1].since > at)
		i--;
	return i ? at + shifts[i - 1].ahead : at;
}

void perfetto_send(struct perfetto *it, enum perfetto_sequence sequence)
{
	proto_message(&it->packet, PACKET_INTERNED, &it->strings);
	proto_number(&it->packet, PACKET_SEQUENCE, sequence);
	if (it->packet.failed || it->strings.failed)
		it->error = -ENOMEM;
	else
		proto_write(&it->packet, 1, it->export->out);
	proto_clear(&it->packet);
	proto_clear(&it->strings);
}

uint64_t perfetto_string(struct perfetto *it, struct perfetto_strings *strings, unsigned field,
			 const char *text)
{
	size_t size = strlen(text), opened;
	uint64_t hash = hash_bytes(HASH_SEED, text, size), *known;
	uint32_t part = (uint32_t)size << 5 | field;

	known = map_get(&strings->numbers, hash, part);
	if (known)
		return *known;
	if (map_set(&strings->numbers, hash, part, ++strings->count) < 0)
		it->error = -ENOMEM;
	opened = proto_open(&it->strings, field);
	proto_number(&it->strings, 1, strings->count);
	proto_string(&it->strings, 2, text);
	proto_close(&it->strings, opened);
	return strings->count;
}
