import { benchVoice } from "../voice.mjs";

const relay = "bare relay";
const direct = "without a relay";

const rows = [
  {
    name: "voice-websocket-cpu",
    title: "50 conversations, boards over WebSocket: CPU a packet",
    unit: "µs",
    clock: "cpu",
    better: "less",
    baseline: relay,
  },
  {
    name: "voice-websocket-p50",
    title: "50 conversations, boards over WebSocket: p50 of the way round",
    unit: "ms",
    better: "less",
    baseline: direct,
  },
  {
    name: "voice-mqtt-cpu",
    title: "50 conversations, boards over MQTT and UDP: CPU a packet",
    unit: "µs",
    clock: "cpu",
    better: "less",
    baseline: relay,
  },
  {
    name: "voice-mqtt-p50",
    title: "50 conversations, boards over MQTT and UDP: p50 of the way round",
    unit: "ms",
    better: "less",
    baseline: direct,
  },
];

const scales = { full: { count: 50, seconds: 2, rounds: 5 }, quick: { count: 50, seconds: 1, rounds: 3 } };

async function run({ scale, log, results }) {
  const { bare, ...ours } = await benchVoice({ ...scales[scale], print: log });
  for (const [transport, slices] of Object.entries(ours)) {
    const lost = slices.reduce((all, slice) => all + slice.lost, 0);
    const sent = slices.reduce((all, slice) => all + slice.sent, 0);
    results[`voice-${transport}-cpu`] = {
      values: slices.map(({ cpuEach }) => cpuEach),
      baselines: bare.map(({ cpuEach }) => cpuEach),
      detail: `${sent} packets, ${lost} lost`,
    };
    results[`voice-${transport}-p50`] = {
      values: slices.map(({ p50 }) => p50),
      baselines: slices.map(({ p50, added50 }) => p50 - added50),
      detail: `p99 ${Math.max(...slices.map(({ p99 }) => p99)).toFixed(1)} ms in the worst round`,
    };
  }
}

export const voice = { name: "voice", title: "Conversations", rows, run };
