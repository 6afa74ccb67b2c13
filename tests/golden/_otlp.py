# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Reads traces of OpenTelemetry in JSON and in protocol buffers, by what trace.proto says of the
fields, and receives them over HTTP.
"""
import collections
import gzip
import http.server
import json
import threading
import time

from _perfetto import fields, one

Span = collections.namedtuple(
    "Span", "trace id parent name start end attributes links resource kind status")


def value_of(value):
    return int(value["intValue"]) if "intValue" in value else value["stringValue"]


def attributes_of(listed):
    found = {a["key"]: value_of(a["value"]) for a in listed}
    assert len(found) == len(listed), "an attribute is there twice"
    return found


def from_json(data):
    found = []
    for part in json.loads(data)["resourceSpans"]:
        resource = attributes_of(part["resource"]["attributes"])
        for span in (s for scope in part["scopeSpans"] for s in scope["spans"]):
            links = [(link["traceId"], link["spanId"], attributes_of(link["attributes"]))
                     for link in span.get("links", [])]
            found.append(
                Span(span["traceId"], span["spanId"], span.get("parentSpanId"), span["name"],
                     int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]),
                     attributes_of(span["attributes"]), links, resource, span["kind"],
                     span["status"]["code"]))
    return found


def proto_attributes(listed):
    found = {}
    for attribute in map(fields, listed):
        value = fields(attribute[2][0])
        assert len(value) == 1, "a value of one type"
        found[attribute[1][0].decode()] = value[1][0].decode() if 1 in value else value[3][0]
    assert len(found) == len(listed), "an attribute is there twice"
    return found


def from_proto(data):
    found = []
    for part in map(fields, fields(data)[1]):
        resource = proto_attributes(fields(part[1][0])[1])
        for span in (fields(s) for scope in part[2] for s in fields(scope)[2]):
            assert len(span[1][0]) == 16 and len(span[2][0]) == 8, "sizes of ids"
            links = [(link[1][0].hex(), link[2][0].hex(), proto_attributes(link[4]))
                     for link in map(fields, span[13])]
            found.append(
                Span(span[1][0].hex(), span[2][0].hex(), span[4][0].hex() if 4 in span else None,
                     span[5][0].decode(), span[7][0], span[8][0], proto_attributes(span[9]), links,
                     resource, one(span, 6), one(fields(span[15][0]), 3)))
    return found


class Receiver:
    """
    Answers requests by a list of (status, headers, body); status 0 breaks the connection. The
    last one is for all that come later.
    """

    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append(
                    (time.monotonic(), self.path, dict(self.headers), gzip.decompress(body)))
                status, headers, answer = receiver.answers[0]
                if len(receiver.answers) > 1:
                    receiver.answers.pop(0)
                if not status:
                    self.connection.close()
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        class Server(http.server.HTTPServer):

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(.05, ))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
