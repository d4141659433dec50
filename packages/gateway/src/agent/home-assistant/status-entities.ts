import { isObject, type JsonObject } from "@tendon/protocol";
import type { Entity } from "./entities.ts";

/** Sensors of what the status reports. Boards leave out what they do not have. */
export function statusEntities(status: JsonObject | undefined): Entity[] {
  const battery = isObject(status?.["battery"]) ? status["battery"] : {};
  const chip = isObject(status?.["chip"]) ? status["chip"] : {};
  const sensor = (key: string, fields: JsonObject): Entity => ({
    key,
    platform: "sensor",
    state: "status",
    fields,
  });
  const diagnostic = { entity_category: "diagnostic" };
  return [
    ...(typeof battery["level"] === "number"
      ? [
          sensor("battery", {
            device_class: "battery",
            state_class: "measurement",
            unit_of_measurement: "%",
            ...diagnostic,
            value_template: "{{ value_json.battery.level }}",
          }),
        ]
      : []),
    ...(typeof battery["charging"] === "boolean"
      ? [
          {
            key: "charging",
            platform: "binary_sensor",
            state: "status" as const,
            fields: {
              device_class: "battery_charging",
              ...diagnostic,
              value_template: "{{ 'ON' if value_json.battery.charging else 'OFF' }}",
            },
          },
        ]
      : []),
    ...(typeof chip["temperature"] === "number"
      ? [
          sensor("chip_temp", {
            device_class: "temperature",
            unit_of_measurement: "°C",
            ...diagnostic,
            value_template: "{{ value_json.chip.temperature }}",
          }),
        ]
      : []),
  ];
}
