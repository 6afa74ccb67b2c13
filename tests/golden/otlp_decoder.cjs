// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Prints a request of OTLP in protocol buffers as JSON, by OpenTelemetry's own decoder.
// Usage: node otlp_decoder.cjs FOLDER-OF-MODULES FILE
const fs = require("fs");
const path = require("path");
const [, , modules, file] = process.argv;
const root = require(
    path.join(modules, "@opentelemetry/otlp-transformer/build/src/generated/root.js"));
const Request = root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const request = Request.decode(fs.readFileSync(file));
const wrong = Request.verify(Request.toObject(request));
if (wrong)
	throw new Error(wrong);
const document = Request.toObject(request, {longs : String, bytes : Buffer, enums : Number});
// Ids are hexadecimal in OTLP's JSON.
process.stdout.write(JSON.stringify(document, (key, value) => {
	return value && value.type === "Buffer" ? Buffer.from(value.data).toString("hex") : value;
}));
