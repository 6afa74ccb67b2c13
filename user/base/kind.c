/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks up kinds of waits and types of dependencies in their tables, the only source. */
#include "base/kind.h"

#include <stdint.h>

static const uint16_t kind_traits[CLEW_WAIT_KIND_COUNT] = {
#define CLEW_WAIT_KIND(NAME, name, edge, time, style, had, traits) [CLEW_WAIT_##NAME] = (traits),
#define CLEW_SEGMENT_KIND(...)
#include <clew/wait_kinds.def>
};

static const uint8_t kind_edges[CLEW_WAIT_KIND_COUNT] = {
#define CLEW_WAIT_KIND(NAME, name, edge, ...) [CLEW_WAIT_##NAME] = CLEW_EDGE_##edge,
#define CLEW_SEGMENT_KIND(...)
#include <clew/wait_kinds.def>
};

static const uint8_t type_traits[CLEW_EDGE_TYPE_COUNT] = {
#define CLEW_EDGE_TYPE(NAME, name, relation, style, traits) [CLEW_EDGE_##NAME] = (traits),
#include <clew/edge_types.def>
};

bool clew_wait_kind_has(unsigned kind, unsigned traits)
{
	return kind < CLEW_WAIT_KIND_COUNT && kind_traits[kind] & traits;
}

bool clew_edge_type_has(unsigned type, unsigned traits)
{
	return type < CLEW_EDGE_TYPE_COUNT && type_traits[type] & traits;
}

enum clew_edge_type clew_wait_kind_edge(unsigned kind)
{
	return kind < CLEW_WAIT_KIND_COUNT ? kind_edges[kind] : CLEW_EDGE_WAKE;
}
