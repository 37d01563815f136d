"""The package against a running server, and against one of its own where a server has to misbehave."""

import datetime
import http.server
import json
import os
import secrets
import threading
import unittest

from heddle_client import Heddle, HeddleError, RunFailedError, send_webhook, sign_webhook, verify_webhook

URL = os.environ["HEDDLE_URL"]
HEDDLE = Heddle()


def node(id, type, **parameters):
    return {"id": id, "type": type, "data": {"parameters": parameters}}


def deployed(name, *nodes):
    """A pattern of nodes one after the other, deployed; the ids of the pattern and of the deployment."""
    edges = [{"source": one["id"], "target": next["id"]} for one, next in zip(nodes, nodes[1:])]
    pattern = HEDDLE.create_pattern({"name": name, "graphData": {"nodes": list(nodes), "edges": edges}})
    return pattern["id"], HEDDLE.deploy(pattern["id"])["deploymentId"]


class Peer:
    """A server that answers each request as the next of its answers says: status, headers, body."""

    def __init__(self, *answers):
        self.requests, remaining = [], list(answers)
        requests = self.requests

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                requests.append((self.command, self.path, self.headers))
                status, headers, body = remaining.pop(0)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer

            def log_message(self, *_):
                """Nobody reads it."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.client = Heddle(f"http://127.0.0.1:{self.server.server_port}", "hdl_peer")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def told(code):
    return json.dumps({"success": False, "error": {"code": code, "message": "not now"}}).encode()


JSON = {"Content-Type": "application/json"}


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        nodes = (
            node("start", "OnManual"),
            node("rest", "Wait", durationMs=300),
            node("end", "Return", value="{{ $input.n * 2 }}"),
        )
        _, cls.deployment = deployed("Python: doubling", *nodes)

    def test_is_waited_for_and_gives_its_output(self):
        self.assertEqual(HEDDLE.run(self.deployment, {"n": 21}, timeout=30), 42)

    def test_goes_on_when_it_is_waited_for_no_longer(self):
        run = HEDDLE.execute_deployment(self.deployment, {"eventData": {"n": 1}})["runId"]
        with self.assertRaises(HeddleError) as caught:
            HEDDLE.wait_for_run(self.deployment, run, timeout=0.05)
        self.assertEqual(caught.exception.code, "TIMEOUT")
        events = [event.event for event in HEDDLE.watch_run(self.deployment, run)]
        self.assertEqual((events[0], events[-1]), ("run", "run"))
        self.assertEqual(HEDDLE.wait_for_run(self.deployment, run)["output"], 2)

    def test_is_told_node_by_node(self):
        nodes = [node("start", "OnManual"), node("end", "Return", value=17)]
        graph = {"nodes": nodes, "edges": [{"source": "start", "target": "end"}]}
        code = HEDDLE.transpile_graph({"graphData": graph, "nodeDefinitions": {}, "trace": True})["code"]
        events = list(HEDDLE.test_run({"code": code}))
        self.assertIn("node", [event["type"] for event in events])
        self.assertEqual(events[-1]["result"]["output"], 17)

        _, deployment = deployed("Python: traced", *nodes)
        run = HEDDLE.execute_deployment(deployment, wait=True)["runId"]
        self.assertEqual(list(HEDDLE.trace_run(deployment, run))[-1]["replay"]["end"], "same")

    def test_is_told_with_others_of_its_deployment(self):
        told = threading.Event()

        def start():
            # Whatever starts before the stream is there is not told.
            while not told.wait(0.1):
                HEDDLE.execute_deployment(self.deployment, {"eventData": {"n": 1}})

        starting = threading.Thread(target=start)
        starting.start()
        try:
            events = HEDDLE.watch_runs(self.deployment)
            self.assertEqual(next(events).event, "change")
            events.close()
        finally:
            told.set()
            starting.join()

    def test_failing_is_an_exception_with_its_node(self):
        nodes = node("start", "OnManual"), node("stop", "Throw", message="no stock", code="NO_STOCK")
        with self.assertRaises(RunFailedError) as caught:
            HEDDLE.run(deployed("Python: failing", *nodes)[1])
        failed = caught.exception
        self.assertEqual((failed.code, failed.node_id, failed.run["status"]), ("NO_STOCK", "stop", "failure"))


class Requests(unittest.TestCase):
    def test_errors_have_what_the_server_says(self):
        with self.assertRaises(HeddleError) as caught:
            HEDDLE.get_pattern("01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")
        self.assertEqual((caught.exception.status, caught.exception.code), (404, "NOT_FOUND"))
        self.assertTrue(caught.exception.request_id)
        with self.assertRaises(HeddleError) as caught:
            HEDDLE.create_pattern({})
        self.assertEqual((caught.exception.code, caught.exception.details[0]["path"]), ("VALIDATION", "name"))
        with self.assertRaises(HeddleError) as caught:
            deployed("Python: broken", node("start", "OnManual"), node("end", "Return", value="{{ $input. }}"))
        self.assertEqual((caught.exception.code, caught.exception.details[0]["path"]), ("INVALID_GRAPH", "end"))

    def test_lists_go_on_from_page_to_page(self):
        # The server may have those of another time.
        mark = secrets.token_hex(4)
        for at in range(5):
            HEDDLE.create_pattern({"name": f"{mark} {at}"})
        names = [pattern["name"] for pattern in HEDDLE.iter_patterns(search=mark, limit=2, sort_by="name")]
        self.assertEqual(names, [f"{mark} {at}" for at in range(5)])
        earlier = datetime.datetime.now() - datetime.timedelta(days=1)
        self.assertEqual(list(HEDDLE.iter_workspace_runs(to=earlier)), [])

    def test_a_path_is_not_left_by_its_values(self):
        with self.assertRaises(ValueError):
            HEDDLE.get_pattern("..")

    def test_a_file_is_stored_and_read(self):
        file = HEDDLE.upload(b"a,b\n1,2\n", name="table.csv", type="text/csv")
        self.assertEqual((file["name"], file["type"], file["size"]), ("table.csv", "text/csv", 8))
        with HEDDLE.download(file["$file"]) as stored:
            self.assertEqual(stored.read(), b"a,b\n1,2\n")

    def test_a_busy_server_is_asked_again_and_nothing_is_sent_twice_that_may_have_arrived(self):
        answers = (
            (429, {**JSON, "Retry-After": "0"}, told("RATE_LIMITED")),
            (200, JSON, b'{"success": true, "data": [], "timestamp": ""}'),
            (503, JSON, told("UNAVAILABLE")),
        )
        with Peer(*answers) as peer:
            self.assertEqual(peer.client.list_workspaces(), [])
            with self.assertRaises(HeddleError) as caught:
                peer.client.create_workspace({"name": "Twice"})
            self.assertEqual(caught.exception.code, "UNAVAILABLE")
            self.assertEqual([method for method, *_ in peer.requests], ["GET", "GET", "POST"])

    def test_a_redirect_is_not_followed_with_the_key(self):
        with Peer((302, {"Location": "/elsewhere"}, b"")) as peer:
            with self.assertRaises(HeddleError) as caught:
                peer.client.list_workspaces()
            self.assertEqual((caught.exception.code, len(peer.requests)), ("HTTP_302", 1))


class Streams(unittest.TestCase):
    def test_what_happens_in_the_workspace_is_told_and_goes_on_after_an_id(self):
        last, events = None, []
        for event in HEDDLE.watch():
            last = event.id or last
            if event.event == "server":
                HEDDLE.create_pattern({"name": "Watched"})
            if event.event == "saved":
                break
        for event in HEDDLE.watch(last):
            events.append(event.event)
            if event.event == "missed":
                break
        self.assertIn("missed", events)

    def test_one_that_breaks_is_taken_up_where_it_was(self):
        def part(id):
            text = f': hello\r\nid: {id}\r\nevent: missed\r\ndata: {{"what":\rdata: "runs"}}\n\nevent: missed\ndata: half'
            return 200, {"Content-Type": "text/event-stream"}, text.encode()

        with Peer(part(1), part(2)) as peer:
            events = peer.client.watch()
            for id in ("1", "2"):
                event = next(events)
                self.assertEqual((event.id, event.data), (id, {"what": "runs"}))
            events.close()
            self.assertEqual([headers.get("Last-Event-ID") for *_, headers in peer.requests], [None, "1"])


class Webhooks(unittest.TestCase):
    def test_is_signed_and_its_event_starts_one_run(self):
        pattern, deployment = deployed(
            "Python: hook", node("hook", "OnWebhook"), node("end", "Return", value="{{ $input.body }}")
        )
        endpoint = HEDDLE.list_pattern_webhooks(pattern)["endpoints"][0]
        address = f"{URL}/webhooks/{endpoint['webhookId']}"
        signed = {"secret": endpoint["webhookSecret"], "idempotency_key": "order py-17"}
        first = send_webhook(address, {"order": "Zoë’s"}, **signed)
        self.assertEqual(first.status, 202)
        self.assertEqual(HEDDLE.wait_for_run(deployment, first.run_id)["output"], {"order": "Zoë’s"})
        again = send_webhook(address, {"order": "Zoë’s"}, **signed)
        self.assertEqual((again.status, again.run_id), (200, first.run_id))
        with self.assertRaises(HeddleError) as caught:
            send_webhook(address, {}, secret="another")
        self.assertEqual((caught.exception.status, caught.exception.code), (401, "SIGNATURE_INVALID"))

    def test_signatures_are_checked(self):
        text = "The quick brown fox jumps over the lazy dog"
        signature = sign_webhook("key", text)
        self.assertEqual(signature, "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8")
        self.assertTrue(verify_webhook("key", text.encode(), "sha256=" + signature.upper()))
        self.assertFalse(verify_webhook("key", "another text", signature))
        self.assertFalse(verify_webhook("key", "", "é"))
        self.assertFalse(verify_webhook("key", "", None))


if __name__ == "__main__":
    unittest.main()
