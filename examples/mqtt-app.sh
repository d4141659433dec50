#!/bin/sh
# An app in a shell: turns a device up by one step and prints the answer. Needs mosquitto-clients.
#
#   examples/mqtt-app.sh DEVICE_ID [ACTION] [HOST] [PORT]
#
# TENDON_TOKEN is the app's token (default: data/admin-token).
set -eu
device=${1:?the id of a device, such as 02:00:00:de:30:02}
action=${2:-volume_up}
host=${3:-127.0.0.1}
port=${4:-1883}
token=${TENDON_TOKEN:-$(cat data/admin-token)}
topic=tendon/devices/$device/control
request=req_$$

# The answer is waited for before the question is asked, so that it cannot be missed.
answer=$(mktemp)
mosquitto_sub -h "$host" -p "$port" -u app -P "$token" -t "$topic/reply" -C 1 -W 10 >"$answer" &
waiting=$!
until mosquitto_pub -h "$host" -p "$port" -u app -P "$token" -t "$topic" \
  -m "{\"type\":\"device_control\",\"action\":\"$action\",\"request_id\":\"$request\"}"; do sleep 1; done
wait "$waiting"
cat "$answer"
grep -q '"ok":true' "$answer"
