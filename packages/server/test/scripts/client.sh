#!/usr/bin/env bash
# Consumes a topic with nothing but curl and sed.   client.sh <url> <topic> hang|settle
set -euo pipefail
url=$1 topic=$2 mode=$3

post() {
  curl --silent --show-error --request POST --header 'content-type: application/json' "$@"
}

field() { # the value of a field of plain text or a number, from JSON on one line
  sed -E "s/.*\"$1\":\"?([^\",}]*)\"?.*/\1/"
}

pulled=$(post --data '{"consumer":"shell","waitMs":30000}' "$url/api/v1/topics/$topic/pull")
receipt=$(field receipt <<<"$pulled")
[ "$receipt" != null ] || { echo 'nothing came'; exit 1; }
payload=$(sed -E 's/.*"payload":(\{[^}]*\}).*/\1/' <<<"$pulled")
echo "claimed version $(field version <<<"$pulled") payload $payload"

if [ "$mode" = hang ]; then
  read -r <> <(:) # works on it, for ever; without a process that would outlive this one
fi

status=$(post --output /dev/null --write-out '%{http_code}' --data "{\"receipt\":\"$receipt\",\"acks\":\"all\"}" "$url/api/v1/settle")
echo "settled $status"
[ "$status" = 204 ]
