import type { I18n, Key } from "../../i18n/i18n.tsx";

/** The rooms of the demo's home, whose names are Spanish on the wire. */
const known: Readonly<Record<string, Extract<Key, `room.${string}`>>> = {
  salon: "room.salon",
  cocina: "room.cocina",
  dormitorio: "room.dormitorio",
  bano: "room.bano",
  garage: "room.garage",
};

/** A room's name in the reader's language. Names of one's own home stay as they are. */
export function roomName(t: I18n["t"], name: string): string {
  const key = Object.hasOwn(known, name) ? known[name] : undefined;
  return key === undefined ? name : t(key);
}
