"""Consume a topic from Python over HTTP, with the standard library only.

    node http-server.ts                                     # the server, in another terminal
    python3 python-consumer.py http://127.0.0.1:4680 orders billing

A message is acknowledged after it was processed. One that raises an exception is returned with the error and comes again later.
If this program dies, its messages come again when their lease expires.
"""

import json
import signal
import sys
import urllib.request

url, topic, group = sys.argv[1:4]
stopping = False


def stop(_signal, _frame):
    global stopping
    stopping = True


def post(path, body):
    request = urllib.request.Request(
        url + path,
        json.dumps(body).encode(),
        # With tokens: "authorization": "Bearer …"
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        body = response.read()
        return json.loads(body) if body else None  # settling has nothing to say


def handle(message):
    payload = message["payload"]
    if payload["total"] < 0 and message["attempt"] == 1:
        raise ValueError("negative total")
    print(f"{group}: order {payload['orderId']} for {payload['total']}, attempt {message['attempt']}", flush=True)


def error_of(exception):
    return {"name": type(exception).__name__, "message": str(exception)}


def process(messages, receipt):
    acks, nacks = [], []
    for message in messages:
        try:
            handle(message)
            acks.append(message["id"])
        except Exception as exception:  # whatever it is, this message is tried again and the others go on
            nacks.append({"id": message["id"], "error": error_of(exception), "delay": "100ms"})
    # Repeating this is safe, so a program may retry it when the answer is lost.
    post("/api/v1/settle", {"receipt": receipt, "acks": acks, "nacks": nacks})


signal.signal(signal.SIGINT, stop)
signal.signal(signal.SIGTERM, stop)
print("waiting for messages", flush=True)
while not stopping:
    # Waits up to a second for the first message, and claims up to ten for half a minute.
    pulled = post(
        f"/api/v1/topics/{topic}/pull",
        {"group": group, "from": "beginning", "max": 10, "waitMs": 1000, "lease": "30s"},
    )
    if pulled["receipt"] is not None:
        process(pulled["messages"], pulled["receipt"])
print("stopped", flush=True)
