import { type Device, isObject, type JsonObject } from "@tendon/protocol";
import { isoTime } from "../clock.ts";

/** The part of a status that device lists show. A device may send any value under these names. */
export function vitalsOf(at: number, { battery, network }: JsonObject): Device["vitals"] {
  const level = isObject(battery) ? battery["level"] : undefined;
  const signal = isObject(network) ? network["signal"] : undefined;
  const charging = isObject(battery) && battery["charging"] === true;
  if (typeof level !== "number" && typeof signal !== "string") return null;
  return {
    at: isoTime(at),
    battery: typeof level === "number" ? { level, charging } : null,
    signal: typeof signal === "string" ? signal.slice(0, 32) : null,
  };
}
