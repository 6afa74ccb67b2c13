/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time for which a rule was met, in JSON. */
#include "words/slow.h"

void clew_slow_json(struct clew_json *json, const struct clew_slow *slow)
{
	clew_json_string(json, "kind", clew_slow_name(slow->kind));
	clew_json_unsigned(json, "start", slow->start);
	clew_json_unsigned(json, "end", slow->end);
	clew_json_unsigned(json, "ns", slow->end - slow->start);
	clew_json_bool(json, "open", slow->open);
	clew_json_unsigned(json, "at", slow->at);
	if (slow->value)
		clew_json_unsigned(json, "value", slow->value);
	else
		clew_json_null(json, "value");
}
