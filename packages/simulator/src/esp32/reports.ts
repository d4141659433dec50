import type { Board, Network } from "./board.ts";
import { type ByteText, fromText, wire } from "./byte-text.ts";
import { type JsonValue, printJson } from "./cjson-print.ts";
import type { DeviceState } from "./device-state.ts";

/** Displays up to this height have no theme. */
const themeless = 64;

/** The text of self.get_device_status. */
export function deviceStatus(board: Board, state: DeviceState, brightness: number): ByteText {
  const screen: Record<string, JsonValue> = {};
  if (board.backlight) screen["brightness"] = brightness;
  if (board.screen !== undefined && board.screen.height > themeless)
    screen["theme"] = state.get("theme") ?? "";
  const report: Record<string, JsonValue> = {
    audio_speaker: { volume: state.get("volume") ?? 0 },
    screen,
  };
  const level = state.get("battery.level");
  if (level !== undefined) report["battery"] = { level, charging: state.get("battery.charging") ?? false };
  report["network"] = networkStatus(board.network, state);
  const temperature = state.get("chip.temperature");
  if (temperature !== undefined && board.network.type === "wifi") report["chip"] = { temperature };
  return printJson(report);
}

function networkStatus(network: Network, state: DeviceState): JsonValue {
  switch (network.type) {
    case "wifi":
      return { type: "wifi", ssid: network.ssid, signal: wifiSignal(rssiOf(network.rssi, state)) };
    case "cellular":
      return { type: "cellular", carrier: network.carrier, signal: network.signal };
    case "ethernet":
      return {
        type: "ethernet",
        state: "connected",
        ...(network.ip === undefined ? {} : { ip: network.ip }),
      };
  }
}

function wifiSignal(rssi: number): string {
  if (rssi >= -60) return "strong";
  return rssi >= -70 ? "medium" : "weak";
}

function rssiOf(initial: number, state: DeviceState): number {
  return state.number("network.rssi") ?? initial;
}

/**
 * The text of self.get_system_info, which is also the body of an OTA request. Built without escaping, as on the device: a
 * quote in the network's name breaks it.
 */
export function systemInfo(board: Board, state: DeviceState): ByteText {
  const mac = fromText(board.mac);
  const version = fromText(board.firmware);
  const { width, height, monochrome } = board.screen ?? { width: 0, height: 0, monochrome: false };
  const display = wire`{"monochrome":${fromText(String(monochrome))},"width":${width},"height":${height}}`;
  const chip = wire`"chip_model_name":"esp32s3","chip_info":{"model":9,"cores":2,"revision":2,"features":18}`;
  const built = wire`"compile_time":"Jan  1 2026T00:00:00Z","idf_version":"v6.0","elf_sha256":"${fromText("0".repeat(64))}"`;
  const application = wire`{"name":"xiaozhi","version":"${version}",${built}}`;
  const head = wire`"version":2,"language":"en-US","flash_size":16777216,"minimum_free_heap_size":"8000000"`;
  const identity = wire`"mac_address":"${mac}","uuid":"${fromText(board.clientId)}"`;
  const tail = wire`"ota":{"label":"ota_0"},"display":${display},"board":${boardInfo(board, state)}`;
  return wire`{${head},${identity},${chip},"application":${application},"partition_table": [${partitions()}],${tail}}`;
}

function partitions(): ByteText {
  const table = [
    { label: "nvs", type: 1, subtype: 2, address: 0x9000, size: 0x4000 },
    { label: "otadata", type: 1, subtype: 0, address: 0xd000, size: 0x2000 },
    { label: "ota_0", type: 0, subtype: 16, address: 0x20000, size: 0x3f0000 },
    { label: "ota_1", type: 0, subtype: 17, address: 0x410000, size: 0x3f0000 },
  ];
  return table.map((entry) => printJson(entry)).join(",") as ByteText;
}

function boardInfo(board: Board, state: DeviceState): ByteText {
  const name = fromText(board.name);
  const head = wire`"type":"${name}","name":"${name}","manufacturer":"tendon"`;
  const mac = fromText(board.mac);
  const { network } = board;
  switch (network.type) {
    case "wifi": {
      const place = wire`"ssid":"${fromText(network.ssid)}","rssi":${rssiOf(network.rssi, state)},"channel":6`;
      return wire`{${head},${place},"ip":"192.0.2.10","mac":"${mac}"}`;
    }
    case "cellular": {
      const modem = wire`"carrier":"${fromText(network.carrier)}","csq":"25","imei":"000000000000000","iccid":"0"`;
      return wire`{${head},"revision":"1",${modem},"cereg":{}}`;
    }
    case "ethernet": {
      const ip = network.ip === undefined ? wire`` : wire`"ip":"${fromText(network.ip)}",`;
      return wire`{${head},"network":"ethernet",${ip}"mac":"${mac}"}`;
    }
  }
}
