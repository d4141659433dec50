#!/bin/sh
# An app in a shell: sends a device_control action and prints the reply. Needs mosquitto-clients.
#
#   examples/mqtt-app.sh DEVICE_ID [ACTION] [HOST] [PORT]
#
# TENDON_TOKEN is the app's token (default: the one in data/admin-token).
set -eu
device=${1:?the id of a device, such as 02:00:00:de:30:02}
action=${2:-volume_up}
host=${3:-127.0.0.1}
port=${4:-1883}
token=${TENDON_TOKEN:-$(cat data/admin-token)}
topic=tendon/devices/$device/control

# mosquitto_rr subscribes to the reply topic before it publishes, so it cannot miss the reply.
answer=$(mosquitto_rr -V mqttv311 -h "$host" -p "$port" -u app -P "$token" -W 10 -t "$topic" -e "$topic/reply" \
  -m "{\"type\":\"device_control\",\"action\":\"$action\",\"request_id\":\"req_$$\"}")
echo "$answer"
case $answer in *'"ok":true'*) ;; *) exit 1 ;; esac
