#!/bin/sh
# The simulated home in a shell: with commands, and with the line protocol. Both use the same state.
#
#   examples/home-session.sh
set -eu
tendon="node $(dirname "$0")/../packages/cli/bin/tendon.js"
TENDON_DATA=$(mktemp -d)
export TENDON_DATA
trap 'rm -rf "$TENDON_DATA"' EXIT

$tendon home lights on salon
$tendon home presence set Ana Carlos

answers=$($tendon home --mcp <<'LINES'
{"type":"call","id":1,"tool":"list_lights_on","args":{}}
{"type":"call","id":2,"tool":"get_presence","args":{}}
{"type":"call","id":3,"tool":"set_alarm_state","args":{"armed":true}}
{"type":"call","id":4,"tool":"set_light_state","args":{"name":"attic","on":true}}
{"type":"quit"}
LINES
)
echo "$answers" | tail -n +2

test "$(echo "$answers" | tail -n +2)" = '{"type":"result","id":1,"ok":true,"result":{"on":["salon"]}}
{"type":"result","id":2,"ok":true,"result":{"present":true,"known_people":["Ana","Carlos"]}}
{"type":"result","id":3,"ok":true,"result":{"ok":true}}
{"type":"error","id":4,"ok":false,"error":"Luz '"'attic'"' no encontrada"}'

$tendon home status
test "$($tendon home status --json | grep -c '"alarm":true')" = 1
echo "as it should be"
